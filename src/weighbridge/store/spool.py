"""Rows of one table on their way to Parquet: a bounded JSON-lines spool that is turned over when it is full.

One line holds one batch, column by column, so that encoding costs little per row and nothing is kept in
memory. No file stays open between batches: a source of a thousand runs needs a thousand spools at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import WorkspaceError
from weighbridge.schema.columns import TRAIN, Cell, Column, Columns
from weighbridge.store.engine import ask, connect, file_literal, literal
from weighbridge.store.files import writing

if TYPE_CHECKING:
    import duckdb

# Keeps the memory of a turnover under 300 MiB; about a million bytes of Parquet come out of it.
TURNOVER_BYTES: Final = 16 * 2**20
BATCH_ROWS: Final = 8192
_BUFFER_BYTES: Final = 2**18
_LARGEST_LINE_BYTES: Final = 64 * 2**20
_BIGGEST_INTEGER: Final = 2**63
_BIGGEST_NUMBER: Final = 2**1023


class Spool:
    """Collects the rows of ``table`` and leaves ``<table>-<n>.parquet`` files in ``part``."""

    def __init__(self, table: str, columns: Sequence[Column], folder: Path, part: Path) -> None:
        self.table = table
        self.columns = {column.name: column.type for column in columns}
        self.rows = 0
        self.unusable = 0
        self._file = folder / f"{table}.jsonl"
        self._folder = folder
        self._part = part
        self._buffer = bytearray()
        self._spooled_bytes = 0
        self._seen: set[str] = set()
        self._files = 0

    def add(self, columns: Columns, rows: int) -> None:
        """Raises ValueError for an unknown column or a list of another length: a mistake of the caller."""
        for name, values in columns.items():
            if name not in self.columns:
                raise ValueError(f"{self.table} has no column {name!r}")
            if len(values) != rows:
                raise ValueError(f"{self.table}.{name} has {len(values)} values for {rows} rows")
        for start in range(0, rows, BATCH_ROWS):
            end = min(start + BATCH_ROWS, rows)
            self._add_batch(
                {
                    name: values if rows <= BATCH_ROWS else values[start:end]
                    for name, values in columns.items()
                },
                end - start,
            )

    def _add_batch(self, columns: Columns, rows: int) -> None:
        self._buffer += _encode({"row": self.rows, "rows": rows, **columns})
        self._buffer += b"\n"
        self._seen.update(columns)
        self.rows += rows
        if len(self._buffer) >= _BUFFER_BYTES:
            self._flush()
        if self._spooled_bytes >= TURNOVER_BYTES:
            # One thread: two are hardly faster on batches of this size and take 100 MiB more.
            with connect(self._folder / "duckdb", threads=1) as connection:
                self._turn_over(connection)

    def finish(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Turn what is left into Parquet."""
        self._flush()
        if self._spooled_bytes:
            self._turn_over(connection)

    def _flush(self) -> None:
        with writing(self._file), self._file.open("ab") as file:
            file.write(self._buffer)
        self._spooled_bytes += len(self._buffer)
        self._buffer.clear()

    def _turn_over(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._flush()
        target = self._part / f"{self.table}-{self._files}.parquet"
        if not self._convert(connection, target):
            self._mend()
            if not self._convert(connection, target):
                raise AssertionError(f"mended rows of {self.table} still do not fit")
        self._file.unlink()
        self._spooled_bytes = 0
        self._seen.clear()
        self._files += 1

    def _convert(self, connection: duckdb.DuckDBPyConnection, target: Path) -> bool:
        """Write the spool as Parquet; False when a value does not fit its column's type."""
        import duckdb

        try:
            ask(connection, self._copy(target), place=target)
        except WorkspaceError as error:
            if isinstance(error.__cause__, duckdb.InvalidInputException | duckdb.ConversionException):
                return False
            raise
        return True

    def _copy(self, target: Path) -> str:
        seen = [name for name in self.columns if name in self._seen]
        listed = ", ".join(f"{name}: '{self.columns[name]}[]'" for name in seen)
        unnested = ", ".join(
            ["unnest(range(row, row + rows)) AS row", *(f"unnest({name}) AS {name}" for name in seen)]
        )
        picked = ", ".join(["row", *(self._pick(name, name in self._seen) for name in self.columns)])
        return (
            f"COPY (SELECT {picked} FROM (SELECT {unnested} FROM read_json({file_literal(self._file)},"
            f" format = 'newline_delimited', hive_partitioning = false,"
            f" maximum_object_size = {_LARGEST_LINE_BYTES},"
            f" columns = {{row: 'BIGINT', rows: 'BIGINT', {listed}}})))"
            f" TO {literal(str(target))} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
        )

    def _pick(self, name: str, seen: bool) -> str:
        if name == "phase":
            return f"coalesce(phase, '{TRAIN}') AS phase" if seen else f"'{TRAIN}' AS phase"
        if not seen:
            return f"CAST(NULL AS {self.columns[name]}) AS {name}"
        # An integer of 400 digits reads as infinity; unknown is the only honest value for it.
        return (
            f"CASE WHEN isfinite({name}) THEN {name} END AS {name}"
            if self.columns[name] == "DOUBLE"
            else name
        )

    def _mend(self) -> None:
        """Replace what does not fit its column (a number beyond 64 bits, a word) by unknown."""
        import msgspec

        mended = self._file.with_suffix(".mended")
        with writing(self._file):
            with self._file.open("rb") as lines, mended.open("wb") as output:
                for line in lines:
                    output.write(
                        msgspec.json.encode(dict(self._mend_batch(msgspec.json.decode(line)))) + b"\n"
                    )
            mended.replace(self._file)

    def _mend_batch(self, batch: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, values in batch.items():
            if name in ("row", "rows"):
                yield name, values
                continue
            fitting = [value if _fits(value, self.columns[name]) else None for value in values]
            self.unusable += fitting.count(None) - values.count(None)
            yield name, fitting


def _fits(value: Cell, kind: str) -> bool:
    if kind == "VARCHAR":
        return isinstance(value, str)
    if isinstance(value, int):
        return abs(value) < (_BIGGEST_INTEGER if kind == "BIGINT" else _BIGGEST_NUMBER)
    return isinstance(value, float) and (kind == "DOUBLE" or abs(value) < _BIGGEST_INTEGER)


def _encode(batch: dict[str, Any]) -> bytes:
    import msgspec

    try:
        return msgspec.json.encode(batch)
    except UnicodeEncodeError:
        # Names with bytes that are no UTF-8 arrive as lone surrogates.
        return msgspec.json.encode({name: _plain(value) for name, value in batch.items()})


def _plain(values: Any) -> Any:
    if not isinstance(values, Sequence):
        return values
    return [item.encode("utf-8", "replace").decode() if isinstance(item, str) else item for item in values]
