"""GPU samples: units, devices, clocks; what has no value stays unknown."""

from __future__ import annotations

import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_pieces import Pieces, data_of, fixture, hold, public, read, sniff

from weighbridge.readers.nvidia_smi_columns import key_of, read_header
from weighbridge.readers.nvidia_smi_csv import NvidiaSmiCsv, read_clock
from weighbridge.units import GIB, MIB

READER = NvidiaSmiCsv()
NOON = 1714557600.0  # 2024-05-01 10:00:00


def test_rows_of_two_gpus_carry_their_index_and_units() -> None:
    pieces = fixture(READER, "two_gpus_one_idle")
    assert pieces.column("device") == [0, 1] * 4
    assert pieces.column("gpu_busy_share") == [0.9, 0.0, 0.91, 0.0, 0.92, 0.0, 0.93, 0.0]
    assert pieces.column("device_bytes")[:2] == [10000 * MIB, 4 * MIB]
    assert pieces.column("power_watts")[:2] == [140.5, 16.25]
    assert pieces.column("at_seconds")[:3] == [NOON, NOON + 0.002, NOON + 1]


def test_a_stamp_without_a_zone_is_local_time() -> None:
    facts = fixture(READER, "two_gpus_one_idle").facts
    assert facts["clock"] == "local"
    assert facts["hardware.gpus"] == 2
    assert facts["hardware.gpu_name"] == "NVIDIA A10"
    assert facts["hardware.gpu_memory_bytes"] == 23028 * MIB
    assert facts["details.sample_interval_seconds"] == 1.0


def test_cells_without_a_value_are_unknown_and_never_nought() -> None:
    pieces = fixture(READER, "cells_without_a_value")
    assert pieces.column("gpu_busy_share") == [0.0, 0.97, None, None]
    assert pieces.column("device_bytes") == [3 * MIB, 9001 * MIB, None, None]
    assert pieces.column("temperature_celsius") == [45.0, 50.0, None, None]
    assert pieces.column("memory_busy_share") == [None] * 4
    assert pieces.column("power_limit_watts") == [None] * 4
    assert pieces.column("pcie_generation") == [1, 3, None, 3]
    assert pieces.column("ecc_uncorrected") == [0, None, 2, None]


def test_the_old_name_of_the_throttle_mask_is_known() -> None:
    pieces = fixture(READER, "cells_without_a_value")
    assert set(pieces.column("throttle_reasons")) == {"0x0000000000000004"}
    assert pieces.facts["environment.driver"] == "470.82.01"
    assert pieces.detail("first_row.clocks_throttle_reasons.active") == "0x0000000000000004"


def test_a_home_made_logger_counts_in_mib_and_unix_seconds() -> None:
    pieces = fixture(READER, "home_made_unix_time")
    assert pieces.column("at_seconds")[0] == NOON + 0.25
    assert pieces.facts["clock"] == "utc"
    assert pieces.column("gpu_busy_share") == [0.0, 0.55, 0.61, 0.07]
    assert pieces.column("device_total_bytes") == [15360 * MIB] * 4
    assert pieces.detail("units_in_values") is False
    # It may have logged one GPU of several.
    assert "hardware.gpus" not in pieces.facts


def test_without_an_index_the_place_in_the_round_tells_the_gpu() -> None:
    pieces = fixture(READER, "no_index_three_per_round")
    assert pieces.column("device") == [0, 1, 2] * 4
    assert pieces.facts["hardware.gpus"] == 3
    assert pieces.detail("sample_interval_seconds") == pytest.approx(2.0)


def test_a_row_lost_from_a_round_does_not_shift_the_others() -> None:
    lines = data_of(READER, "no_index_three_per_round").splitlines(keepends=True)
    del lines[5]
    pieces = read(READER, b"".join(lines))
    assert pieces.column("device") == [0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 2]


def test_a_round_cut_before_it_is_known_leaves_the_device_unknown_and_never_wrong() -> None:
    data = data_of(READER, "no_index_three_per_round")
    whole = read(READER, data).column("device")
    for place in range(data.index(b"\n") + 1, len(data)):
        cut = read(READER, data[:place])
        if cut.samples:
            assert all(
                found in (None, full) for found, full in zip(cut.column("device"), whole, strict=False)
            )


@settings(max_examples=80)
@given(
    gpus=st.integers(1, 16),
    rounds=st.integers(8, 20),
    interval=st.floats(1.0, 30.0),
    within=st.floats(0.0, 0.01),
)
def test_rounds_of_any_size_are_found(gpus: int, rounds: int, interval: float, within: float) -> None:
    rows = [
        f"{NOON + number * interval + gpu * within:.6f}, {gpu}\n"
        for number in range(rounds)
        for gpu in range(gpus)
    ]
    pieces = read(READER, ("timestamp, utilization.gpu [%]\n" + "".join(rows)).encode())
    assert pieces.column("device") == list(range(gpus)) * rounds


def test_without_an_index_uuids_are_numbered_as_they_appear() -> None:
    assert fixture(READER, "no_index_but_uuid").column("device") == [0, 1] * 3


def test_a_header_before_every_sample_is_no_row() -> None:
    pieces = fixture(READER, "header_before_every_sample")
    assert pieces.column("gpu_busy_share") == [0.5, 0.51, 0.52, 0.53]
    assert pieces.trouble == {}


def test_another_header_later_gives_the_columns_their_new_places() -> None:
    first = b"index, utilization.gpu [%]\n0, 50 %\n"
    pieces = read(READER, first + b"index, memory.used [MiB], utilization.gpu [%]\n0, 100 MiB, 60 %\n")
    assert pieces.column("gpu_busy_share") == [0.5, 0.6]
    assert pieces.column("device_bytes") == [None, 100 * MIB]


def test_a_file_without_header_gives_what_units_tell_and_no_more() -> None:
    pieces = fixture(READER, "headerless_with_units")
    assert pieces.column("gpu_busy_share")[:2] == [0.9, 0.0]
    assert pieces.column("device") == [0, 1] * 4
    assert pieces.column("power_watts")[0] == 140.5
    # Used, free and total look alike.
    assert pieces.known("device_bytes") == []
    assert pieces.trouble == {"no_header": 1}


def test_bare_numbers_without_a_header_are_not_claimed() -> None:
    assert sniff(READER, b"2024/05/01 10:00:00.000, 0, NVIDIA A10, 90, 10000, 23028\n") == 0.0
    assert sniff(READER, b"1,2,3\n4,5,6\n") == 0.0


def test_figures_without_units_take_those_of_the_header() -> None:
    pieces = fixture(READER, "nounits")
    assert pieces.column("gpu_busy_share") == [0.8, 0.81, 0.82]
    assert pieces.column("sm_clock_hertz") == [1.41e9] * 3
    assert pieces.column("device_bytes") == [4000 * MIB] * 3
    assert pieces.column("throttle_reasons") == ["0x0000000000000001"] * 3


def test_a_logger_that_writes_shares_and_bytes_is_understood() -> None:
    pieces = fixture(READER, "home_made_share_and_bytes")
    assert pieces.column("gpu_busy_share") == [0.0, 0.5, 0.975, 1.0]
    assert pieces.column("device_bytes")[0] == GIB
    assert pieces.column("device_total_bytes") == [24 * GIB] * 4


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        ("gpu_util,memory_used,memory_total", "50,6.5,15.0", 6.5 * GIB),
        ("gpu_util,memory_used_mb,memory_total_mb", "50,6500,15360", 6500 * MIB),
        ("gpu_util,gpu_memory_used (GB)", "50,6.5", 6.5 * GIB),
        ("gpu_util,memory_used,gpu_memory_used", "50,30000,6500", 6500 * MIB),
        ("gpu_util,memory_used", "50,6.5", None),
    ],
)
def test_memory_is_in_the_unit_that_fits_or_unknown(header: str, cells: str, expected: float | None) -> None:
    pieces = read(READER, f"time,{header}\n{NOON},{cells}\n".encode())
    assert pieces.column("device_bytes") == [expected]


def test_in_mig_mode_the_busy_share_is_unknown() -> None:
    pieces = fixture(READER, "mig_has_no_utilisation")
    assert pieces.known("gpu_busy_share") == []
    assert pieces.column("device_bytes") == [5000 * MIB, 5001 * MIB, 5002 * MIB]
    assert pieces.detail("first_row.mig.mode.current") == "Enabled"


def test_broken_rows_are_counted_and_the_cut_one_is_told() -> None:
    pieces = fixture(READER, "rows_broken_and_cut")
    assert len(pieces.samples) == 8
    assert pieces.trouble == {"bad_row": 1, "cut": 1}
    assert pieces.detail("bad_rows") == 2


def test_the_last_cell_of_a_cut_row_is_not_believed() -> None:
    pieces = read(
        READER,
        b"timestamp, index, utilization.gpu [%], memory.used [MiB]\n2024/05/01 10:00:00.000, 0, 90, 100",
    )
    assert pieces.column("gpu_busy_share") == [0.9]
    assert pieces.column("device_bytes") == [None]


def test_serials_bus_ids_and_hosts_are_not_kept_in_details() -> None:
    data = (
        b"timestamp, serial, uuid, pci.bus_id, hostname, utilization.gpu [%]\n"
        b"2024/05/01 10:00:00.000, 0324018, GPU-1234, 00000000:04:00.0, node17, 5 %\n"
    )
    pieces = read(READER, data)
    assert not {"0324018", "GPU-1234", "00000000:04:00.0", "node17"} & set(map(str, pieces.facts.values()))
    assert pieces.column("host") == ["node17"]


@pytest.mark.parametrize(
    ("text", "at", "zoned"),
    [
        ("2024/05/01 10:00:00.250", NOON + 0.25, False),
        ("2024-05-01T10:00:00", NOON, False),
        ("2024-05-01T12:00:00+02:00", NOON, True),
        ("2024-05-01 10:00:00Z", NOON, True),
        ("1714557600.5", NOON + 0.5, True),
        ("1714557600500", NOON + 0.5, True),
        ("12.5", None, False),
        ("10:00:00", None, False),
        ("yesterday", None, False),
        ("2024/13/45 10:00:00.250", None, False),
    ],
)
def test_clocks_are_read(text: str, at: float | None, zoned: bool) -> None:
    found, _, is_zoned = read_clock(text)
    assert found == at
    assert is_zoned is zoned


@pytest.mark.parametrize(
    ("name", "key", "unit"),
    [
        ("utilization.gpu [%]", "utilization_gpu", "%"),
        (" memory.used [MiB]", "memory_used", "mib"),
        ("GPU Memory Used (MB)", "gpu_memory_used", "mb"),
        ("power_draw_w", "power_draw", "w"),
        ("gpu_util_percent", "gpu_util", "percent"),
        ("train/loss", "train_loss", None),
    ],
)
def test_names_are_taken_apart(name: str, key: str, unit: str | None) -> None:
    assert key_of(name) == (key, unit)


def test_a_column_of_percentages_is_no_index() -> None:
    header = read_header("time,gpu_percent,gpu_temp")
    assert header is not None
    assert "index" not in header.places
    assert header.places["gpu_busy"] == 1


def test_other_tables_are_left_alone() -> None:
    assert sniff(READER, b"epoch,time,train/box_loss,lr/pg0\n1,2,3,4\n") == 0.0
    assert sniff(READER, b"pid, process_name, used_gpu_memory [MiB]\n1, python, 100 MiB\n") < 0.5
    assert sniff(READER, b"timestamp,cpu_percent,memory_used\n1,2,3\n") < 0.5


def test_public_files_give_the_manifest_s_figures(shared: Path) -> None:
    compared: set[str] = set()
    for name, facts, pieces in public(shared, READER, "nvidia_smi_csv"):
        compared |= hold(name, facts, figures(pieces, facts))
    assert {"n_rows", "n_columns", "interval_s", "gpus", "memory.used", "power.draw"} <= compared


def figures(pieces: Pieces, facts: dict[str, object]) -> dict[str, object]:
    def spread(column: str, scale: float) -> dict[str, float]:
        values = [value * scale for value in pieces.known(column)]
        return {
            "mean": round(statistics.fmean(values), 2),
            "max": max(values),
            "min": min(values),
            "share_zero": round(values.count(0) / len(values), 3),
        }

    def busy(device: int) -> float:
        return (
            statistics.fmean(row["gpu_busy_share"] for row in pieces.samples if row["device"] == device) * 100
        )

    def interval() -> float:
        clocks = [row["at_seconds"] for row in pieces.samples if row["device"] == 0]
        return statistics.median(later - earlier for earlier, later in pairwise(clocks))

    found: dict[str, object] = {
        "header": lambda: pieces.detail("header").split(", "),
        "n_columns": lambda: pieces.detail("columns"),
        "n_rows": lambda: len(pieces.samples),
        "n_bad_rows": lambda: pieces.detail("bad_rows"),
        "n_gpus": lambda: len(set(pieces.column("device"))),
        "gpus": lambda: pieces.facts["hardware.gpus"],
        "mean_util_gpu0": lambda: busy(0),
        "mean_util_gpu1": lambda: busy(1),
        "interval_s": interval,
        "units_in_values": lambda: pieces.detail("units_in_values"),
        "max_memory_used_MiB": lambda: max(pieces.known("device_bytes")) / MIB,
        "driver_version": lambda: pieces.facts["environment.driver"],
    }
    statistics_of = {
        "utilization.gpu": ("gpu_busy_share", 100),
        "utilization.memory": ("memory_busy_share", 100),
        "memory.total": ("device_total_bytes", 1 / MIB),
        "memory.used": ("device_bytes", 1 / MIB),
        "gpu_utilization": ("gpu_busy_share", 100),
        "memory_used": ("device_bytes", 1 / MIB),
    }
    for key, expected in facts.items():
        if isinstance(expected, dict):
            found[key] = lambda key=key: spread(*statistics_of[key])
        elif f"details.first_row.{key}" in pieces.facts:
            found[key] = lambda key=key: pieces.detail(f"first_row.{key}")
    return found
