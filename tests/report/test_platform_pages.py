"""Platforms as text: every figure with its mark, in both languages, within the width."""

from __future__ import annotations

import pytest

from weighbridge.facts import PlatformFact, find_platform, load_platforms
from weighbridge.i18n import Language
from weighbridge.report.cells import cell_length
from weighbridge.report.platforms import platform_lines, platforms_lines


def page(name: str, language: Language = "en", width: int = 120) -> str:
    platform = find_platform(name)
    assert platform is not None
    return "\n".join(line.plain for line in platform_lines(platform, language, width=width))


@pytest.mark.parametrize("platform", load_platforms(()), ids=lambda platform: platform.id)
def test_every_platform_has_a_page_in_both_languages(platform: PlatformFact) -> None:
    languages: tuple[Language, ...] = ("en", "zh")
    for language in languages:
        told = platform_lines(platform, language, width=100)

        assert f"{platform.maximum_watts * 3.412:,.0f} BTU/h" in "\n".join(line.plain for line in told)
        assert max(cell_length(line.plain) for line in told) <= 100


def test_a_page_shows_ranges_disks_in_decimal_units_and_the_mark() -> None:
    told = page("XE9680")

    assert "2,800 W \u2013 3,200 W  C" in told
    assert "8 x H100-SXM5-80GB or H200-SXM-141GB or MI300X" in told
    assert "3.84 TB" in page("DGX H100")


def test_fields_that_are_unsure_for_one_reason_share_a_sentence() -> None:
    assert "Unsure (maximum_watts, rack_units, supplies)" in page("XE9680")
    assert "Every figure is unsure" in page("Atlas 800T A2")


def test_air_is_asked_for_where_air_cools() -> None:
    assert "CFM" in page("DGX B200")
    assert "CFM" not in page("XE9680L")


def test_a_rack_says_how_many_nodes_it_has() -> None:
    assert page("GB200 NVL72").startswith("GB200-NVL72: 18 nodes of 4 x GB200")


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_has_a_row_for_each_platform(width: int) -> None:
    told = "\n".join(line.plain for line in platforms_lines(load_platforms(()), "zh", width=width))

    assert [platform.id for platform in load_platforms(()) if platform.id not in told] == []
    assert ("mlperf_systems" in told) == (width == 160)
