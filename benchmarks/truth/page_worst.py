"""The strata that stay bad, each beside the reason that is known for it (reasons.yaml)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from truth.figures import Figure, Stratum, macro, strata
from truth.page_words import Words, share, signed, table

WORST = 10


def worst(figures: Sequence[Figure], reasons: list[dict[str, str]], words: Words) -> list[str]:
    """The worst strata, then those of any size that a reason names, by the counter where it matters."""
    counted = _by_counter(figures)
    shown = sorted(counted, key=lambda item: -item[1].median)[:WORST]
    names = {(counter, stratum.name) for counter, stratum in shown}
    small = _by_counter(figures, macro_only=False)
    shown += [
        item
        for item in sorted(small, key=lambda item: -item[1].median)
        if (item[0], item[1].name) not in names and _reason(item[1].name, reasons)
    ][:WORST]
    rows = []
    for counter, stratum in shown:
        reason = _reason(stratum.name, reasons)
        label = (
            stratum.name if counter == "seconds" else f"{stratum.name}{words('comma')}{words(f'g.{counter}')}"
        )
        said = reason[words.language] if reason else words("not_examined")
        numbers = (share(stratum.median), share(stratum.p90), signed(stratum.signed))
        rows.append((label, str(stratum.rows), *numbers, said))
    names_of = ("stratum", "rows", "median", "p90", "signed", "reason")
    return table([words(f"h.{name}") for name in names_of], rows)


def _by_counter(figures: Sequence[Figure], *, macro_only: bool = True) -> list[tuple[str, Stratum]]:
    choose: Callable[[Sequence[Figure]], list[Stratum]] = strata if macro_only else _of_any_size
    return [
        (counter, stratum)
        for counter in sorted({figure.counter for figure in figures})
        for stratum in choose([figure for figure in figures if figure.counter == counter])
    ]


def _of_any_size(figures: Sequence[Figure]) -> list[Stratum]:
    groups: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        if figure.predicted is not None:
            groups[figure.stratum].append(figure)
    found = []
    for name, group in groups.items():
        rows = macro(group)
        assert rows.row_median is not None
        assert rows.row_p90 is not None
        assert rows.signed is not None
        found.append(Stratum(name, len(group), rows.row_median, rows.row_p90, rows.signed))
    return found


def _reason(stratum: str, reasons: Sequence[dict[str, str]]) -> dict[str, str] | None:
    return next((reason for reason in reasons if re.match(reason["stratum"], stratum)), None)
