"""The verbs estimate, fit and machines, as a user and as a stranger call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

TASK = ("qwen2.5-7b", "--batch", "2", "--sequence", "1024", "--lora", "16", "--checkpointing", "full")


def test_a_task_that_fits_is_code_0_with_memory_step_and_advice(command) -> None:
    seen = command("estimate", *TASK, "--gpu", "A100-SXM4-80GB")
    assert (seen.code, seen.err) == (0, "")
    for word in ("fits on 1 x A100-SXM4-80GB", "allocated", "reserved", "MFU", "Largest batch", "weights"):
        assert word in seen.out


def test_a_task_that_does_not_fit_is_code_1_and_says_what_would(command) -> None:
    seen = command("estimate", "llama-3.1-70b", "-b", "1", "-s", "512", "--gpu", "L4")
    assert seen.code == 1
    assert "does not fit" in seen.out


def test_the_json_document_says_the_same(command) -> None:
    seen = command("estimate", *TASK, "--gpu", "A100-SXM4-80GB", "--json")
    document = json.loads(seen.out)
    assert document["schema"] == "weighbridge.estimate/1"
    assert document["counted_parameters"] == 7_615_616_512
    assert document["fit"]["memory"]["fits"] is True
    device = document["fit"]["memory"]["device_bytes"]
    assert device["low"] < device["value"] < device["high"]


def test_chinese_is_spoken_when_asked_for(command) -> None:
    seen = command("estimate", *TASK, "--gpu", "A100-SXM4-80GB", "--lang", "zh")
    assert "装得下" in seen.out
    assert "优化器状态" in seen.out


def test_the_memory_is_drawn_into_a_file_and_not_over_one(command, tmp_path: Path) -> None:
    assert command("estimate", *TASK, "--gpu", "L40S", "--svg", "memory.svg").code == 0
    drawn = (tmp_path / "memory.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "weights" in drawn
    seen = command("estimate", *TASK, "--gpu", "L40S", "--svg", "memory.svg")
    assert seen.code == 2
    assert (tmp_path / "memory.svg").read_text(encoding="utf-8") == drawn


def test_the_page_holds_both_languages_and_asks_nothing_of_the_network(command, tmp_path: Path) -> None:
    assert command("estimate", *TASK, "--gpu", "L40S", "--html", "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Largest batch a card" in page
    assert "每卡最大批大小" in page
    assert page.count("<svg") == 4
    assert "src=" not in page
    assert "Content-Security-Policy" in page


def test_fit_shows_every_card_and_why(command) -> None:
    seen = command("fit", *TASK, "--json")
    document = json.loads(seen.out)
    rows = {row["gpu"]: row for row in document["cards"]}
    assert seen.code == 0
    assert len(rows) > 60
    assert rows["H200-SXM-141GB"]["verdict"] == "fits"
    assert rows["RTX-2080-Ti"]["verdict"] != "fits"
    assert document["reference"] in rows


def test_fit_is_code_1_when_no_card_can(command) -> None:
    options = ("-b", "1", "-s", "512", "--precision", "bf16", "--optimizer", "adamw")
    seen = command("fit", "llama-3.1-405b", *options, "--gpu", "L4", "--gpu", "L40S")
    assert seen.code == 1
    assert "cannot fit" in seen.out


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_tables_hold_at_80_columns(command, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    estimated = ("estimate", *TASK, "--gpu", "RTX-PRO-6000-Blackwell-Server")
    for words in (estimated, ("fit", *TASK), ("machines",), ("machines", "L40S")):
        seen = command(*words, "--lang", lang)
        assert max(cell_len(line) for line in seen.out.splitlines()) <= 80


def test_machines_lists_cards_with_their_mark_and_one_with_every_source(
    command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert "H200-SXM-141GB" in command("machines").out
    seen = command("machines", "L40S")
    assert "memory_bandwidth_bytes_per_second" in seen.out
    assert json.loads(command("machines", "L40S", "--json").out)["id"] == "L40S"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("estimate", "llama-9", "--gpu", "L4"), "Nearest names"),
        (("estimate", "llama-3.1-8b", "--gpu", "H100"), "say which"),
        (("estimate", "llama-3.1-8b", "--gpu", "L4"), "batch, sequence"),
        (("estimate", "llama-3.1-8b", "--gpu", "L4", "--batch=-3"), "whole number"),
        (("estimate", "llama-3.1-8b", "--gpu", "L4", "--tp", "3"), "attention heads"),
        (("estimate", "llama-3.1-8b", "--gpu", "L4", "--gpus", "8", "--tp", "3"), "cannot be divided"),
        (("estimate", "llama-3.1-8b", "--gpu", "L4", "--lora", "8", "--qlora", "8"), "exclude"),
        (("estimate", "missing.yaml", "--gpu", "L4"), "no file"),
        (("fit", "resnet-50", "-b", "4"), "image_size"),
        (("machines", "teapot"), "No GPU"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_code_2(command, words: tuple[str, ...], sentence: str) -> None:
    seen = command(*words)
    assert (seen.code, seen.out) == (2, "")
    assert sentence in seen.err
    assert len(seen.err.strip().splitlines()) == 1


def test_what_does_not_fit_is_timed_only_as_if_it_did(command) -> None:
    words = ("llama-3.1-8b", "--gpu", "RTX-4090", "--batch", "1", "--sequence", "4096")
    refused = command("estimate", *words)
    assert refused.code == 1
    assert "One optimizer step, if it fitted" in refused.out
