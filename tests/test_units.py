"""Quantities, sizes with their units, and how numbers are printed; values worked out by hand."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.errors import InputError
from weighbridge.units import (
    BYTE_UNITS,
    FORMATTERS,
    Quantity,
    finite,
    format_bytes,
    format_decimal_bytes,
    format_seconds,
    format_share,
    format_significant,
    format_times,
    format_value,
    parse_bytes,
)

sizes = st.integers(min_value=0, max_value=10**15)
numbers = st.floats(min_value=1e-6, max_value=1e12)


def printed_number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("80 GB", 80_000_000_000),
        ("80 GiB", 85_899_345_920),
        ("81559 MiB", 85_520_809_984),
        ("1.21GiB", 1_299_227_607),
        ("512 kB", 512_000),
        ("1,024 KiB", 1_048_576),
        ("0 B", 0),
        (" 3.84 TB ", 3_840_000_000_000),
        ("1 TiB", 1_099_511_627_776),
    ],
)
def test_a_size_is_read_in_the_unit_that_it_names(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["80", "", "GB", "80 G", "80 gb", "eighty GB", "-1 GB", "80 GB/s", "1e3 MB", "nan B"]
)
def test_a_size_without_a_plain_unit_is_refused_and_quoted_back(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_bytes(text)

    assert caught.value.code == "units.bytes_without_unit"
    assert caught.value.params == {"text": text}


def test_decimal_and_binary_units_are_never_the_same_size() -> None:
    assert BYTE_UNITS["GiB"] / BYTE_UNITS["GB"] == pytest.approx(1.073741824)
    assert BYTE_UNITS["TiB"] / BYTE_UNITS["TB"] == pytest.approx(1.099511627776)
    assert len({BYTE_UNITS[name] for name in ("KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")}) == 8


@given(count=st.integers(min_value=0, max_value=10**6), unit=st.sampled_from(sorted(BYTE_UNITS)))
def test_whole_sizes_are_read_exactly(count: int, unit: str) -> None:
    assert parse_bytes(f"{count:,} {unit}") == count * BYTE_UNITS[unit]


@given(sizes)
def test_a_binary_size_reads_back_within_its_three_digits_and_says_a_binary_unit(size: int) -> None:
    text = format_bytes(size)

    assert text.endswith(("iB", " B"))
    assert parse_bytes(text) == pytest.approx(size, rel=0.0051)


@given(sizes)
def test_a_decimal_size_reads_back_within_its_three_digits_and_never_says_a_binary_unit(size: int) -> None:
    text = format_decimal_bytes(size)

    assert "i" not in text
    assert parse_bytes(text) == pytest.approx(size, rel=0.0051)


@pytest.mark.parametrize(
    ("size", "binary", "decimal"),
    [
        (0, "0 B", "0 B"),
        (999, "999 B", "999 B"),
        (85_899_345_920, "80.0 GiB", "85.9 GB"),
        (80_000_000_000, "74.5 GiB", "80.0 GB"),
        (11_534_336, "11.0 MiB", "11.5 MB"),
        (1_073_741_823, "1.00 GiB", "1.07 GB"),
    ],
)
def test_one_size_printed_in_both_kinds_of_unit(size: int, binary: str, decimal: str) -> None:
    assert (format_bytes(size), format_decimal_bytes(size)) == (binary, decimal)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234.5, "1,230"),
        (0.04567, "0.0457"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (-56.78, "-56.8"),
        (1_000_000, "1,000,000"),
    ],
)
def test_three_significant_digits_without_an_exponent(value: float, text: str) -> None:
    assert format_significant(value) == text


@given(numbers)
def test_a_printed_number_is_within_half_a_unit_of_its_third_digit(value: float) -> None:
    assert printed_number(format_significant(value)) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0000123, "12.3 \u00b5s"),
        (0.0123, "12.3 ms"),
        (0.9996, "1.00 s"),
        (1.41, "1.41 s"),
        (59.94, "59.9 s"),
        (185, "3 min 05 s"),
        (3599.7, "1 h 00 min"),
        (20340, "5 h 39 min"),
        (853_200, "9 d 21 h"),
        (-185, "-3 min 05 s"),
    ],
)
def test_a_duration_is_printed_in_the_unit_a_person_would_use(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@given(st.floats(min_value=0, max_value=1e9))
def test_the_smaller_of_two_units_never_makes_a_whole_larger_one(seconds: float) -> None:
    pair = re.fullmatch(r"\d+ (d|h|min) (\d\d) (h|min|s)", format_seconds(seconds))

    if pair is not None:
        assert int(pair[2]) < {"h": 24, "min": 60, "s": 60}[pair[3]]


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0.0 %"), (0.0423, "4.2 %"), (0.0996, "10 %"), (0.83, "83 %"), (1, "100 %")]
)
def test_a_share_is_printed_as_per_cent_with_a_decimal_where_it_matters(share: float, text: str) -> None:
    assert format_share(share) == text


@pytest.mark.parametrize(
    ("factor", "text"), [(1, "\u00d71.00"), (5.882, "\u00d75.88"), (12.34, "\u00d712.3")]
)
def test_a_speed_up_is_printed_with_a_real_multiplication_sign(factor: float, text: str) -> None:
    assert format_times(factor) == text


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("count", 12345.0, "12,345"),
        ("watts", 631.95, "632 W"),
        ("celsius", 71.4, "71 \u00b0C"),
        ("bytes_per_second", 1.21e9, "1.21 GB/s"),
        ("per_second", 14.2, "14.2 /s"),
        ("flops", 5.3e19, "53.0 EFLOP"),
        ("flops_per_second", 9.89e14, "989 TFLOP/s"),
        ("operations_per_second", 1.979e15, "1.98 POP/s"),
        ("transfers_per_second", 4.8e9, "4,800 MT/s"),
        ("hertz", 1.98e9, "1.98 GHz"),
        ("hertz", 50.0, "50.0 Hz"),
        ("metres", 0.897, "0.897 m"),
        ("kilograms", 142.4, "142.4 kg"),
        ("decibels", 65.0, "65 dB"),
        ("amperes", 32.0, "32 A"),
        ("volts", 220.0, "220 V"),
        ("ohms", 4.0, "4 \u03a9"),
        ("rack_units", 8.0, "8 U"),
    ],
)
def test_every_other_unit_prints_itself(unit: str, value: float, text: str) -> None:
    assert format_value(value, unit) == text


@given(unit=st.sampled_from(sorted(FORMATTERS)), value=numbers)
def test_every_registered_unit_prints_any_positive_number(unit: str, value: float) -> None:
    assert any(character.isdigit() for character in format_value(value, unit))


def test_a_unit_that_nobody_registered_is_not_printed_bare() -> None:
    with pytest.raises(KeyError):
        format_value(1.0, "furlongs")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_quantity_that_is_no_number_is_unknown_and_says_so(number: float) -> None:
    quantity = Quantity(value=number, unit="seconds", origin="imported")

    assert quantity.value is None
    assert quantity.missing == "not_read"
    assert finite(number) is None


def test_unknown_is_not_zero() -> None:
    assert Quantity(value=0.0, unit="bytes", origin="measured").missing is None
    assert finite(0.0) == 0.0
    assert finite(None) is None


def test_a_reason_for_being_unknown_is_kept() -> None:
    quantity = Quantity(value=None, unit="bytes", origin="imported", missing="not_printed")

    assert quantity.missing == "not_printed"


def test_an_interval_without_a_value_is_an_answer() -> None:
    quantity = Quantity(value=None, unit="times", origin="estimated", low=1.0, high=5.9)

    assert quantity.missing is None


def test_an_open_interval_keeps_the_end_that_is_known() -> None:
    quantity = Quantity(value=None, unit="times", origin="estimated", low=1.0, high=math.inf)

    assert (quantity.low, quantity.high) == (1.0, None)
    assert quantity.missing is None
