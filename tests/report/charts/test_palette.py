"""Colours: one for each phase, readable on light and dark, and told apart without hue."""

from __future__ import annotations

import itertools

import pytest

from weighbridge.report.charts.palette import (
    PHASES,
    ROLES,
    SAME_AS,
    chart_css,
    colour_of,
    contrast,
    role_of,
    text_on,
)

STEP_PHASES = ("data_wait", "host_to_device", "compute", "communication", "optimizer", "unattributed")


def protanopia(colour: str) -> tuple[float, float, float]:
    """How a person without red cones sees it (Vienot, Brettel, Mollon 1999), linear RGB."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = red**2.2, green**2.2, blue**2.2
    return (
        0.11238 * red + 0.88762 * green,
        0.11238 * red + 0.88762 * green,
        0.00401 * red - 0.00401 * green + blue,
    )


def test_contrast_of_black_and_white_is_twenty_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)


def test_no_two_phases_share_a_colour() -> None:
    for side in ("light", "dark"):
        colours = [getattr(colour, side) for colour in PHASES.values()]
        assert len(set(colours)) == len(colours)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(STEP_PHASES, 2)))
def test_phases_of_a_step_are_told_apart_without_red_cones(one: str, other: str) -> None:
    first, second = protanopia(PHASES[one].light), protanopia(PHASES[other].light)

    assert max(abs(a - b) for a, b in zip(first, second, strict=True)) > 0.1


@pytest.mark.parametrize("name", PHASES)
def test_a_label_on_a_phase_can_be_read(name: str) -> None:
    for colour in (PHASES[name].light, PHASES[name].dark):
        assert contrast(text_on(colour), colour) >= 4.5


@pytest.mark.parametrize("name", ["ink", "quiet", "alarm", "good"])
def test_text_can_be_read_on_the_ground(name: str) -> None:
    assert contrast(ROLES[name].light, ROLES["ground"].light) >= 4.5
    assert contrast(ROLES[name].dark, ROLES["ground"].dark) >= 4.5


def test_an_unknown_phase_is_drawn_as_what_nobody_accounts_for() -> None:
    assert role_of("something_new") == "unattributed"
    assert colour_of("exposed_communication") == PHASES["communication"]


def test_every_second_name_leads_to_a_colour() -> None:
    assert set(SAME_AS.values()) <= PHASES.keys() | ROLES.keys()


def test_the_rules_cover_every_colour_and_both_grounds() -> None:
    css = chart_css()

    assert all(f".wb-f-{name}{{" in css and f".wb-s-{name}{{" in css for name in PHASES | ROLES)
    assert "prefers-color-scheme:dark" in css
    assert PHASES["data_wait"].dark in css
