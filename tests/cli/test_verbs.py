"""Every verb as a user calls it: what it prints, where, with which code, in both languages."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from cli_samples import CANNOT_SAY, COMPUTE_BOUND, DATA_BOUND

from weighbridge.cli.main import VERBS


def chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


@pytest.mark.parametrize("verb", [verb for verb, _ in VERBS])
def test_every_verb_has_help_in_both_languages(command, verb: str) -> None:
    english, other = command(verb, "--help"), command(verb, "--help", "--lang", "zh")
    assert (english.code, other.code) == (0, 0)
    assert "Usage:" in english.out
    assert not chinese(english.out)
    assert "用法：" in other.out


def test_a_verb_that_does_not_exist_is_told_with_those_that_do(command) -> None:
    seen = command("dignose")
    assert (seen.code, seen.out) == (2, "")
    assert all(verb in seen.err for verb, _ in VERBS)


def test_a_data_bound_log_is_code_0_and_says_that_more_gpus_would_not_help(command) -> None:
    seen = command("diagnose", DATA_BOUND)
    assert seen.code == 0
    assert "Training waits for data" in seen.out
    assert "More GPUs in this machine would not help" in seen.out.replace("\n", " ")
    assert "Nothing was kept" in seen.err


def test_a_log_that_cannot_say_is_code_3(command) -> None:
    assert command("diagnose", CANNOT_SAY).code == 3
    assert command("diagnose", CANNOT_SAY, COMPUTE_BOUND).code == 0


def test_one_run_as_json_is_one_diagnosis_document(command) -> None:
    seen = command("diagnose", DATA_BOUND, "--json")
    document = json.loads(seen.out)
    assert document["schema"] == "weighbridge.diagnosis/1"
    assert document["verdict"] == "data"


def test_several_runs_as_json_are_one_document_too(command) -> None:
    document = json.loads(command("diagnose", DATA_BOUND, COMPUTE_BOUND, "--json").out)
    assert document["schema"] == "weighbridge.diagnoses/1"
    assert [one["verdict"] for one in document["diagnoses"]] == ["data", "compute"]


def test_standard_input_is_read_like_a_file(command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DATA_BOUND.read_bytes())))
    assert "Training waits for data" in command("diagnose", "-").out


def test_the_main_job_with_a_workspace(command, tmp_path: Path) -> None:
    assert command("init").code == 0
    imported = json.loads(command("import", DATA_BOUND, COMPUTE_BOUND, "--json").out)
    assert [file["state"] for file in imported["files"]] == ["imported", "imported"]
    again = json.loads(command("import", DATA_BOUND, "--json").out)
    assert [file["state"] for file in again["files"]] == ["already_there"]
    runs = json.loads(command("runs", "--json").out)["runs"]
    assert len(runs) == 2
    assert "Training waits for data" in command("diagnose", "detection").out
    assert command("brief", "detection", "--lang", "zh").code == 0
    assert "训练负载说明" in (tmp_path / "training-load-brief-zh.html").read_text(encoding="utf-8")


def test_import_without_a_workspace_says_how_to_make_one(command) -> None:
    seen = command("import", DATA_BOUND)
    assert seen.code == 2
    assert "weighbridge init" in seen.err


def test_a_name_that_is_neither_file_nor_run_is_told(command) -> None:
    seen = command("diagnose", "nowhere.log")
    assert seen.code == 2
    assert "nowhere.log" in seen.err


def test_a_report_is_not_overwritten_without_force(command, tmp_path: Path) -> None:
    target = tmp_path / "报告 1.html"
    assert command("diagnose", DATA_BOUND, "--html", target).code == 0
    before = target.read_text(encoding="utf-8")
    assert command("diagnose", COMPUTE_BOUND, "--html", target).code == 2
    assert target.read_text(encoding="utf-8") == before
    assert command("diagnose", COMPUTE_BOUND, "--html", target, "--force").code == 0
    assert target.read_text(encoding="utf-8") != before
    assert [path.name for path in tmp_path.iterdir()] == ["报告 1.html"]


def test_a_report_into_a_folder_that_is_not_there_stops_before_the_work(command, tmp_path: Path) -> None:
    seen = command("diagnose", DATA_BOUND, "--html", tmp_path / "no" / "x.html")
    assert (seen.code, seen.out) == (2, "")


def test_a_docx_brief_says_which_part_is_missing(command) -> None:
    seen = command("brief", DATA_BOUND, "-o", "brief.docx")
    assert seen.code == 2
    assert "docs" in seen.err


def test_doctor_says_what_is_there_and_what_is_not(command) -> None:
    document = json.loads(command("doctor", "--json").out)
    states = {check["name"]: check["state"] for check in document["checks"]}
    assert states["duckdb"] == "fine"
    assert states["workspace"] == "missing"
    assert chinese(command("doctor", "--lang", "zh").out)


def test_the_demo_ends_by_naming_its_report(command, tmp_path: Path) -> None:
    seen = command("demo")
    assert seen.code == 0
    last = seen.err.strip().splitlines()[-1]
    assert last.endswith("weighbridge-demo.html")
    page = (tmp_path / "demo-out" / "weighbridge-demo.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("Waiting for data", "卡在数据供给", "Cannot say"))


def test_facts_of_the_workspace_add_to_the_catalogue(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_FACTS", "")
    assert command("init").code == 0
    (tmp_path / ".weighbridge" / "facts").mkdir()
    own = tmp_path / ".weighbridge" / "facts" / "own.yaml"
    own.write_text("gpus:\n  - {id: OURS-48, vendor: Acme}\n", encoding="utf-8")
    seen = command("machines", "OURS-48")
    assert seen.code == 2
    assert "own.yaml" in seen.err
    own.unlink()
    assert command("machines", "L40S").code == 0
