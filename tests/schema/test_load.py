"""What a Load and its terms refuse to be."""

from __future__ import annotations

from typing import Any

import pytest

from weighbridge.schema.load import ActivationBlock, Load, ParameterGroup, Term
from weighbridge.units import Quantity


def estimated(value: float, unit: str) -> Quantity:
    return Quantity(value=value, unit=unit, origin="estimated")


SECONDS = estimated(0.3, "seconds")


def test_a_term_states_demand_or_seconds() -> None:
    with pytest.raises(ValueError, match="neither demand nor seconds"):
        Term(kind="read", per="sample")


def test_observed_seconds_name_the_machine_they_were_observed_on() -> None:
    with pytest.raises(ValueError, match="no reference machine"):
        Term(kind="compute", per="step", observed=SECONDS)

    assert Term(kind="compute", per="step", observed=SECONDS, reference="old-box").demand is None


def test_what_was_observed_is_in_seconds() -> None:
    with pytest.raises(ValueError, match="observed in bytes"):
        Term(kind="read", per="step", observed=estimated(1, "bytes"), reference="old-box")


@pytest.mark.parametrize(
    ("kind", "unit"),
    [("operator", "bytes"), ("traffic", "flops"), ("open", "bytes"), ("decode", "count"), ("read", "count")],
)
def test_a_demand_is_in_the_unit_of_its_kind(kind: Any, unit: str) -> None:
    with pytest.raises(ValueError, match=f"is in {unit}, not in"):
        Term(kind=kind, per="sample", demand=estimated(1, unit))


def test_unknown_sizes_of_parameters_stay_unknown_and_negative_ones_are_refused() -> None:
    assert ParameterGroup(kind="dense", parameters=7).stored_bytes is None
    with pytest.raises(ValueError, match="-7 parameters"):
        ParameterGroup(kind="dense", parameters=-7)


def test_activations_are_in_bytes() -> None:
    with pytest.raises(ValueError, match="saved_bytes is in count"):
        ActivationBlock(name="b", saved_bytes=estimated(3, "count"))


def test_a_batch_is_a_count() -> None:
    with pytest.raises(ValueError, match="samples_per_step"):
        Load(name="l", made_from="run", samples_per_step=SECONDS)
