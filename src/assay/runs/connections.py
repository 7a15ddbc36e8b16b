"""Connections to run files: opened for writing or reading, checked, and with what is damaged concealed.

Older formats are brought to the present one, or shown under the present names of their tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from assay.errors import RunError
from assay.runs import format_1
from assay.runs.rows import ADDED, APPLICATION, SCHEMA, SINCE, UNCOUNTED, VERSION
from assay.runs.signature import signature
from assay.runs.soundness import Damage, conceal, examine
from assay.support.files import locked, replacing
from assay.support.files.locks import PATIENCE

SUFFIX = ".assay"
TABLES = ("specs", "episodes", "trajectories", *SINCE)
"""Those with one row for each planned episode, or at most one."""
_KEPT = 256
"""Runs whose damage is remembered until they change."""


def lock_file(path: Path) -> Path:
    """What whoever writes a run holds locked.

    Beside the run: closing a descriptor of the run itself would drop the locks that SQLite holds on it.
    """
    return path.with_name(f".{path.name}.lock")


def write_connection(path: Path, patience: float = PATIENCE) -> tuple[sqlite3.Connection, Damage, ExitStack]:
    """A connection that writes a run, made if it is not there; closing the last value closes it and unlocks the run.

    Raises RunError if somebody else writes it, and does not end within ``patience`` seconds.
    """
    if path.suffix != SUFFIX:
        raise RunError(f"{path}: a run's file ends in {SUFFIX}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(locked(lock_file(path), patience))
        except BlockingIOError:
            raise RunError(f"{path}: another process is writing this run") from None
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None
        if not path.exists() or not path.stat().st_size:
            _make(path)
        connection = sqlite3.connect(path.absolute().as_uri(), uri=True, isolation_level=None, timeout=60)
        held.enter_context(closing(connection))
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.executescript(SCHEMA)
            _check(path, connection)
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = NORMAL")
            if connection.execute("PRAGMA user_version").fetchone()[0] == format_1.VERSION:
                format_1.upgrade(connection, VERSION)
            connection.executescript(ADDED)
            damage = examine(connection, tables_of())
            if damage:
                conceal(connection, damage, tables_of())
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise RunError(f"{path}: not a run, or damaged: {error}") from None
        if mode != "wal":
            raise RunError(
                f"{path}: SQLite cannot share memory here (a network drive?): choose another place"
            )
        return connection, damage, held.pop_all()


def _make(path: Path) -> None:
    """A run without a plan; it is there whole or not at all, so that a killed command leaves none that is no run."""
    with replacing(path, database=True) as unfinished:
        try:
            with closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
                connection.executescript(SCHEMA)
        except sqlite3.DatabaseError as error:  # no room, for example
            raise RunError(f"{path}: cannot be made: {error}") from None


def read_connection(path: Path, *, timeout: float = 60.0) -> tuple[sqlite3.Connection, Damage]:
    """A connection that only reads a run, the sound rows of it, under the present names of its tables.

    Raises RunError.
    """
    if path.is_dir():
        raise RunError(f"{path} is a folder; valid: a run in it, NAME{SUFFIX}")
    if not path.is_file():
        raise RunError(f"{path}: there is no such run")
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=timeout, isolation_level=None
        )
        _check(path, connection)
        sources = tables_of(connection)
        for table, source in sources.items():
            if source != _table(table):
                connection.execute(f"CREATE TEMP VIEW {table} AS {source}")
        if connection.execute("PRAGMA user_version").fetchone()[0] == format_1.VERSION:
            format_1.view_meta(connection)
        if not _has(connection, "main", UNCOUNTED):
            connection.execute(f"CREATE TEMP VIEW {UNCOUNTED} AS SELECT 0 AS id WHERE 0")
        damage = _damage_of(path, connection, sources)
        if damage:
            conceal(connection, damage, sources)
    except (
        sqlite3.DatabaseError,
        UnicodeDecodeError,
    ) as error:  # what SQLite says of a schema may be no text
        raise RunError(f"{path}: not a run, or damaged: {error}") from None
    return connection, damage


@contextmanager
def attached(connection: sqlite3.Connection, path: Path, damage: Damage) -> Iterator[None]:
    """Let a connection read another run's sound rows as ``their_specs``, ``their_episodes`` and so on."""
    connection.execute("ATTACH ? AS other", (f"{path.absolute().as_uri()}?mode=ro",))
    theirs = tables_of(connection, "other")
    try:
        conceal(connection, damage, theirs, "their_")
        yield
    finally:
        for table in theirs:
            connection.execute(f"DROP VIEW IF EXISTS temp.their_{table}")
        connection.execute("DETACH other")


_examined: dict[Path, tuple[tuple[int, ...], Damage]] = {}


def _damage_of(path: Path, connection: sqlite3.Connection, sources: Mapping[str, str]) -> Damage:
    """What of a run is damaged; looked for once, until the run changes."""
    now = signature(path)
    known = _examined.get(path)
    if known is None or known[0] != now:
        while len(_examined) >= _KEPT:
            _examined.pop(next(iter(_examined)), None)
        _examined[path] = known = (now, examine(connection, sources))
    return known[1]


def _table(table: str, database: str = "main") -> str:
    return f"SELECT * FROM {database}.{table}"


def tables_of(connection: sqlite3.Connection | None = None, database: str = "main") -> dict[str, str]:
    """Queries that give the tables of a run; of a connection, as far as the file has them."""
    if connection is None:
        return {table: _table(table) for table in TABLES}
    (version,) = connection.execute(f"PRAGMA {database}.user_version").fetchone()
    found = {table: _table(table, database) for table in TABLES}
    found |= format_1.sources(connection, database) if version == format_1.VERSION else {}
    return found | {
        table: f"SELECT 0 AS id, '' AS {column} WHERE 0"
        for table, column in SINCE.items()
        if not _has(connection, database, table)
    }


def _has(connection: sqlite3.Connection, database: str, table: str) -> bool:
    """Whether a run has a table: older ones lack some."""
    named = f"SELECT count(*) FROM {database}.sqlite_master WHERE name = ?"
    return bool(connection.execute(named, (table,)).fetchone()[0])


def _check(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise RunError(f"{path}: not a run of Assay")
    foreign = connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE '%virtual%'"
    ).fetchone()
    if foreign is not None:  # what runs when a table is read or written; runs have none
        raise RunError(f"{path}: not a run of Assay: it has the {foreign[0]} {str(foreign[1])[:40]!r}")
    for table in TABLES:
        named = "SELECT sql LIKE '%without%rowid%' FROM sqlite_master WHERE name = ?"
        keys = connection.execute(f"SELECT name, type FROM pragma_table_info('{table}') WHERE pk").fetchall()
        loose = connection.execute(named, (table,)).fetchone()
        if loose is not None and (loose[0] or keys != [("id", "INTEGER")]):
            raise RunError(f"{path}: not a run of Assay: the ids of its {table} may be anything")
    if version not in (format_1.VERSION, VERSION):
        raise RunError(
            f"{path}: a run of format {version}; this version of Assay reads formats 1 to {VERSION}"
        )
