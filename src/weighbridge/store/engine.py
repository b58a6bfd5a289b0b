"""DuckDB, opened so that it stays small, quiet and offline, and its errors put into our words.

Holds the only SQL that knows where files lie; the questions themselves are in ``view`` and ``closing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import WorkspaceError
from weighbridge.schema.columns import SAMPLE_COLUMNS, STEP_COLUMNS, Column
from weighbridge.store.files import says_full
from weighbridge.store.layout import SAMPLES, STEPS, table_files

if TYPE_CHECKING:
    import duckdb

TABLES: Final[dict[str, tuple[Column, ...]]] = {STEPS: STEP_COLUMNS, SAMPLES: SAMPLE_COLUMNS}


def connect(temporary: Path, *, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """An empty database in memory; what does not fit goes to ``temporary``, which DuckDB makes if needed."""
    import duckdb

    connection = duckdb.connect(
        config={
            "memory_limit": "512MB",
            "threads": threads,
            "temp_directory": str(temporary),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    connection.execute("SET enable_progress_bar = false")
    return connection


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def file_literal(path: Path) -> str:
    """A path as an SQL string that names this one file, whatever wildcards its folders' names hold."""
    return literal("".join(f"[{sign}]" if sign in "[*?" else sign for sign in str(path)))


def ask(connection: duckdb.DuckDBPyConnection, query: str, *, place: Path) -> list[tuple[Any, ...]]:
    """Run a query. Raises WorkspaceError that names ``place`` when its files cannot be read."""
    import duckdb

    try:
        return connection.execute(query).fetchall()
    except duckdb.Error as error:
        if says_full(str(error)):
            raise WorkspaceError("store.disk_full", path=str(place)) from error
        reason = str(error).strip().partition("\n")[0]
        raise WorkspaceError("store.cannot_query", path=str(place), reason=reason) from error


def open_tables(connection: duckdb.DuckDBPyConnection, parts: Sequence[Path]) -> None:
    """Lay the views ``steps`` and ``samples`` over the files of ``parts``; a missing column is NULL.

    Files of an older version lack columns that were added later; a run without samples has no file at all.
    """
    for table, columns in TABLES.items():
        files = [file for part in parts for file in table_files(part, table)]
        place = files[0] if files else (parts[0] if parts else Path(table))
        source, present = "(SELECT 1) WHERE false", set[str]()
        if files:
            listed = ", ".join(file_literal(file) for file in files)
            # A folder called "a=b" above the workspace must not turn into a column.
            source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
            present = {row[0] for row in ask(connection, f"DESCRIBE SELECT * FROM {source}", place=place)}
        picked = ", ".join(
            name if name in present else f"CAST(NULL AS {kind}) AS {name}"
            for name, kind in (("row", "BIGINT"), *((column.name, column.type) for column in columns))
        )
        ask(connection, f"CREATE VIEW {table} AS SELECT {picked} FROM {source}", place=place)
