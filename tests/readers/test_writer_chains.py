"""Writers of one file told apart by the order that each of them keeps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.readers.writer_chains import OPEN_CHAINS, Chains


def chain_of(records: list[tuple[int, float]], chains: Chains | None = None) -> list[int]:
    """Which chain (numbered by its beginning) each record went to."""
    chains = chains or Chains()
    numbers: dict[int, int] = {}
    found = []
    for step, elapsed in records:
        chain = chains.follow(100, step, elapsed) or chains.begin(100, step, elapsed)
        found.append(numbers.setdefault(id(chain), len(numbers)))
    return found


def test_one_writer_is_one_chain() -> None:
    assert chain_of([(10, 24.0), (20, 47.0), (30, 71.0)]) == [0, 0, 0]


def test_two_writers_at_the_same_steps_are_told_apart_by_their_pace() -> None:
    records = [(10, 30.0), (10, 40.0), (20, 60.0), (20, 80.0), (30, 120.0), (30, 90.0)]
    chains = Chains()
    assert chain_of(records, chains) == [0, 1, 0, 1, 1, 0]
    assert chains.interleaved == 2


def test_a_resume_is_another_start_and_no_second_writer() -> None:
    chains = Chains()
    assert chain_of([(10, 30.0), (20, 60.0), (30, 90.0), (20, 35.0), (30, 65.0), (40, 95.0)], chains) == [
        0,
        0,
        0,
        1,
        1,
        1,
    ]
    assert chains.starts == 2
    assert chains.interleaved == 0


def test_jobs_of_other_lengths_are_never_one() -> None:
    chains = Chains()
    first = chains.begin(100, 10, 30.0)
    assert chains.follow(200, 20, 60.0) is None
    assert chains.follow(100, 20, 60.0) is first


def test_starts_without_end_stay_bounded() -> None:
    chains = Chains()
    for number in range(1000):
        chains.begin(number, 1, 1.0)
    assert len(chains.open) == OPEN_CHAINS
    assert chains.starts == 1000


@dataclass(frozen=True)
class Writer:
    pace: int
    records: int
    every: int

    def lines(self) -> list[tuple[int, float]]:
        return [(n * self.every, float(n * self.every * self.pace)) for n in range(1, self.records + 1)]


@settings(max_examples=300)
@given(
    paces=st.lists(st.integers(1, 60), min_size=2, max_size=3, unique=True),
    records=st.integers(2, 40),
    every=st.sampled_from([1, 5, 10]),
    data=st.data(),
)
def test_every_record_goes_to_the_writer_that_wrote_it(
    paces: list[int], records: int, every: int, data: st.DataObject
) -> None:
    writers = [Writer(pace, records, every).lines() for pace in paces]
    order = data.draw(st.permutations([number for number in range(len(paces)) for _ in range(records)]))
    waiting = [iter(lines) for lines in writers]
    file = [(number, next(waiting[number])) for number in order]
    chains = chain_of([record for _, record in file])
    # Each chain holds the records of one writer, and its steps never jump.
    by_chain: dict[int, list[tuple[int, tuple[int, float]]]] = {}
    for chain, line in zip(chains, file, strict=True):
        by_chain.setdefault(chain, []).append(line)
    for lines in by_chain.values():
        assert len({number for number, _ in lines}) == 1
        assert all(after[1][0] - before[1][0] == every for before, after in pairwise(lines))
