"""The loader: the shipped tables, the user's folders on top, and errors that name the place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge import i18n
from weighbridge.errors import InputError
from weighbridge.facts import find_gpu, load_gpus
from weighbridge.facts.load import ENVIRONMENT, SHIPPED, read_gpus

ENTRY = """
- id: {id}
  vendor: NVIDIA
  architecture: Test
  memory_type: HBM3
  memory_gigabytes: {memory}
  form: PCIe
  sources: [stamped sheet]
  confidence: B
"""


def write(folder: Path, name: str, *entries: str, head: str = "read_on: 2026-11-30\ngpus:") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(head + "".join(entries), encoding="utf-8")
    return file


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_gpus(path)
    return caught.value


def test_the_shipped_tables_hold_the_cards_on_sale_and_those_of_old_logs() -> None:
    ids = [gpu.id for gpu in load_gpus(())]

    assert len(ids) == len(set(ids))
    assert {"H100-SXM5-80GB", "GTX-1080-Ti"} <= set(ids)


def test_an_overlay_adds_a_card(tmp_path: Path) -> None:
    write(tmp_path, "mine.yaml", ENTRY.format(id="Z900", memory=64))

    known = {gpu.id: gpu for gpu in load_gpus((tmp_path,))}

    assert known["Z900"].memory_gigabytes == 64
    assert known["Z900"].read_on == "2026-11-30"
    assert len(known) == len(load_gpus(())) + 1


def test_an_overlay_replaces_an_entry_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path, "mine.yaml", ENTRY.format(id="T4", memory=17))

    t4 = next(gpu for gpu in load_gpus((tmp_path,)) if gpu.id == "T4")

    assert t4.memory_gigabytes == 17
    assert t4.power_watts is None


def test_the_environment_names_the_folders_and_the_finder_sees_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a", "one.yaml", ENTRY.format(id="Z901", memory=64))
    write(tmp_path / "b", "two.yaml", ENTRY.format(id="Z901", memory=96))
    monkeypatch.setenv(ENVIRONMENT, os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))

    gpu = find_gpu("NVIDIA Z901")

    assert gpu is not None
    assert gpu.memory_gigabytes == 96


@given(sizes=st.lists(st.integers(1, 999), min_size=1, max_size=4))
def test_the_last_folder_wins(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    root = tmp_path_factory.mktemp("overlays")
    for index, size in enumerate(sizes):
        write(root / str(index), "f.yaml", ENTRY.format(id="Z902", memory=size))

    found = [
        gpu for gpu in load_gpus(tuple(root / str(index) for index in range(len(sizes)))) if gpu.id == "Z902"
    ]

    assert [gpu.memory_gigabytes for gpu in found] == [sizes[-1]]


def test_a_file_about_other_things_adds_nothing(tmp_path: Path) -> None:
    assert read_gpus(write(tmp_path, "prices.yaml", head="prices: []\n")) == ()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_gpus((tmp_path / "absent",))

    assert caught.value.code == "facts.no_folder"


def test_a_misspelt_field_is_refused_with_file_line_and_entry(tmp_path: Path) -> None:
    good = ENTRY.format(id="Z1", memory=1)
    file = write(tmp_path, "f.yaml", good, good.replace("Z1", "Z2") + "  power_wats: 300\n")

    error = refused(file)

    assert error.code == "facts.unknown_field"
    assert error.params["file"] == str(file)
    assert (error.params["line"], error.params["id"], error.params["field"]) == (12, "Z2", "power_wats")


def test_a_misspelt_inner_field_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "f.yaml", ENTRY.format(id="Z1", memory=1) + "  pcie: {generation: 4, lane: 16}\n")

    assert refused(file).params["field"] == "pcie.lane"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("memory_gigabytes: lots", "memory_gigabytes"),
        ("memory_gigabytes: [1]", "memory_gigabytes"),
        ("confidence: D", "confidence"),
        ("sources: one", "sources"),
    ],
)
def test_a_value_of_the_wrong_kind_names_the_field(tmp_path: Path, change: str, named: str) -> None:
    field = change.partition(":")[0]
    lines = [
        line for line in ENTRY.format(id="Z1", memory=1).splitlines() if not line.strip().startswith(field)
    ]
    error = refused(write(tmp_path, "f.yaml", "\n".join([*lines, f"  {change}", ""])))

    assert error.code == "facts.bad_field"
    assert named in str(error.params["reason"])


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, "f.yaml", ENTRY.format(id="Z1", memory=1).replace("  form: PCIe\n", ""))

    assert "form" in str(refused(file).params["reason"])


def test_a_file_without_a_date_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "f.yaml", ENTRY.format(id="Z1", memory=1), head="gpus:")

    assert "read_on" in str(refused(file).params["reason"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"gpus:\n- id: [", "facts.not_yaml"),
        (b"- a\n- b\n", "facts.not_a_mapping"),
        (b"", "facts.not_a_mapping"),
        (b"gpus: 7\n", "facts.not_a_list"),
        (b"gpus:\n- 7\n", "facts.not_an_entry"),
        (b"gpus:\n- id: a\n  id: b\n", "facts.repeated_key"),
        (b"gpus: &a\n- *a\n", "facts.too_deep"),
        (b"gpus:\n- id: !!binary aGk=\n", "facts.odd_value"),
        (b"gpus:\n- id: \xff\xfe\n", "facts.not_utf8"),
    ],
)
def test_a_broken_file_is_one_sentence_that_names_it(tmp_path: Path, text: bytes, code: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(text)

    error = refused(file)

    assert error.code == code
    for language in i18n.LANGUAGES:
        assert str(file) in i18n.speak(code, language, **error.params)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "absent.yaml").code == "facts.cannot_read"


def test_an_entry_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    entry = ENTRY.format(id="Z1", memory=1)

    assert refused(write(tmp_path, "f.yaml", entry, entry)).code == "facts.repeated_entry"


def test_the_shipped_files_are_found_beside_the_code() -> None:
    assert (SHIPPED / "gpus.yaml").is_file()
