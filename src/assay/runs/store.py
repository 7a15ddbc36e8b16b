"""The store: an entire run in one SQLite file, ``NAME.assay``.

specs              planned episodes, in plan order
episodes           recorded episodes; an episode is stored completely or not at all
trajectories       end-effector path and actions, compressed
initial_positions  positions of the task's objects at the start
contacts           intervals in which the robot touched each object
clipped            number of actions clipped to [-1, 1]
traceback          traceback of an error in user code
events             events during the episode: due and actual step
inference          inference times in milliseconds, as reported by a policy server
stages             step at which each atom of the goal reached each stage
progress           progress, 0 to 1
side_effects       effects beyond the goal
aftermath          whether success lasts
stopped            conditions that were decided early, and by which rule
meta               provenance: one JSON value per name

The database is in WAL mode while it is written, and a single file once it is closed. Only one process can write at a
time. Opening a file checks its application id, schema version and integrity, and that every row can be decoded. Lists
of runs skip the integrity check, which reads the whole file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import ValidationError

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Traits, Trajectory, world_of
from assay.episodes.episode import Aftermath, SideEffects
from assay.episodes.perturbation import changed_by, kinds
from assay.episodes.spec import REPEAT_STRIDE, Label, key_of
from assay.errors import RunError
from assay.runs.options import Retry
from assay.runs.rows import (
    APPLICATION,
    COLUMNS,
    COUNTED,
    DETAILS,
    EPISODE,
    FRAME,
    INVALID,
    KNOWN_IF_EMPTY,
    MAX_META_BYTES,
    MAX_META_ROWS,
    OUTCOMES,
    SCHEMA,
    SPEC,
    UNCOUNTED,
    VERSION,
    Clipping,
    Metadata,
    pack,
    read_rows,
    read_trajectory,
    to_storable,
    with_labels,
)
from assay.support.console import number_of
from assay.support.files import FULL, PATIENCE, file_lock, replacing
from assay.tasks.checks import validation_reason

SUFFIX = ".assay"
RESERVE_BYTES = 512 * 2**10
"""Disk space that a writer reserves in its lock file: enough to move the log into the run when the disk is full."""
_LOG_PAGES = 64
"""Number of pages in the log above which they are moved into the run; half of the reserve."""


class PlannedEpisode(NamedTuple):
    """A planned episode, and its outcome if it has been executed."""

    number: int
    key: str
    scene: str
    condition: str
    task: str = ""
    seed: int = 0
    outcome: Outcome | None = None
    progress: float | None = None
    """Progress from 0 to 1, or None if unknown."""


class Store(AbstractContextManager["Store"]):
    """An open run file, returned by `Store.writing` or `Store.reading`; a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection, held: ExitStack | None = None) -> None:
        self.path = path
        self._db = connection
        self._held = held
        self._unreadable: set[int] = set()
        """Ids of episodes whose trajectories were requested but could not be decoded."""

    @classmethod
    def writing(cls, path: Path, patience: float = PATIENCE) -> Store:
        """Open a run for writing, creating the file if it does not exist.

        Raises RunError if another process is writing to it and does not finish within ``patience`` seconds.
        """
        if path.suffix != SUFFIX or path.is_dir():
            kind = "is a folder" if path.is_dir() else "is not the name of a run file"
            raise RunError(f"{path} {kind}: expected a file name that ends in {SUFFIX}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            try:
                held.enter_context(file_lock(lock_file(path), patience))
                lock_file(path).write_bytes(os.urandom(RESERVE_BYTES))  # not zeros, which may take no space
            except BlockingIOError:
                raise RunError(f"{path}: another process is writing to this run") from None
            except OSError as error:
                raise _explain(path, error, "cannot be written") from None
            if not path.exists() or not path.stat().st_size:
                # Atomically, so that a killed command leaves no invalid file.
                with replacing(path, database=True) as unfinished:
                    try:
                        with closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
                            connection.executescript(SCHEMA)
                    except sqlite3.DatabaseError as error:
                        raise _explain(path, error, "cannot be created") from None
            connection = sqlite3.connect(path.absolute().as_uri(), uri=True, isolation_level=None, timeout=60)
            held.enter_context(closing(connection))
            try:
                _check(path, connection)
                try:
                    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                    connection.execute("PRAGMA synchronous = NORMAL")
                    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
                    connection.execute(f"PRAGMA journal_size_limit = {RESERVE_BYTES}")
                    # Read once: SQLite opens the log on first access, and cannot checkpoint one that was never opened.
                    connection.execute("SELECT name FROM meta").fetchall()
                except sqlite3.OperationalError:  # the disk is full
                    _shrink_reserve(path, 0)
                    connection.execute("PRAGMA journal_mode = DELETE")
                    raise
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                raise _explain(path, error, "not a run, or damaged") from None
            if mode != "wal":
                raise RunError(
                    f"{path}: SQLite cannot share memory here (a network drive?); choose another folder"
                )
            return cls(path, connection, held.pop_all())

    @classmethod
    def scratch(cls) -> Store:
        """Return a run in a temporary SQLite file, which disappears with the process."""
        connection = sqlite3.connect("", isolation_level=None)
        connection.executescript(SCHEMA)
        return cls(Path(f"scratch{SUFFIX}"), connection)

    @classmethod
    def reading(cls, path: Path, *, whole: bool = True) -> Store:
        """Open a run for reading; another process may be writing to it. Raises RunError.

        Without ``whole``, SQLite's check of the whole file is skipped, so that damage may raise sqlite3.Error later.
        """
        return cls(path, read_connection(path, whole=whole))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close the store, and make it a single file if it was written. SQLite errors are raised as RunError."""
        try:
            if self._held is None:
                self._db.close()
            else:
                with self._held:
                    try:
                        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    except sqlite3.OperationalError:  # the disk is full
                        _shrink_reserve(self.path, 0)
                        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    with suppress(
                        sqlite3.OperationalError
                    ):  # it is being read: WAL until the next writer closes
                        self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as closing_error:
            error = error or closing_error
        if isinstance(error, sqlite3.Error):
            raise _explain(self.path, error, "damaged, or not accessible") from error

    # -- meta

    @property
    def meta(self) -> dict[str, Any]:
        """Provenance: experiment, policy, assets, versions, settings."""
        try:
            meta = {name: json.loads(value) for name, value in self._db.execute("SELECT * FROM meta")}
            Metadata.model_validate(meta)
        except ValidationError as error:
            raise RunError(f"{self.path}: damaged: its metadata: {validation_reason(error)}") from None
        except (ValueError, TypeError, RecursionError, sqlite3.DatabaseError) as error:
            raise RunError(f"{self.path}: damaged: its metadata cannot be read: {error}") from None
        return meta

    @property
    def world(self) -> Traits:
        """Traits of the run's world."""
        traits = self.meta.get("world")
        if traits is not None:
            return Traits.from_json(traits)
        row = self._db.execute("SELECT task FROM specs LIMIT 1").fetchone()
        return world_of("" if row is None else str(row[0])).traits

    @property
    def states(self) -> Path | None:
        """Folder of stored initial states, if one was given."""
        folder = self.meta.get("states_folder")
        return None if folder is None else Path(folder)

    def describe(self, **values: object) -> None:
        """Set values in the meta table."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR REPLACE INTO main.meta VALUES (?, ?)",
                [(name, json.dumps(to_storable(value))) for name, value in values.items()],
            )
            _check_meta(self.path, self._db)

    def clear(self) -> None:
        """Delete the provenance and plan of a run without episodes."""
        assert not self.done, "episodes are never deleted"
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for table in ("meta", UNCOUNTED, "stopped", "specs", "trajectories", *DETAILS):
                self._db.execute(f"DELETE FROM main.{table}")

    # -- the plan

    def plan(self, specs: Iterable[EpisodeSpec], place: Callable[[EpisodeSpec], int] | None = None) -> None:
        """Add specs to the plan, in one transaction, unless they are already in it.

        ``place`` gives each spec's position in the plan, from 0; without it, specs are appended.
        """
        rows, labels, written = [], dict[str, Label](), "{}"
        for spec in specs:
            if spec.labels is not labels:  # seeds share them
                labels, written = spec.labels, json.dumps(to_storable(dict(spec.labels)), sort_keys=True)
            text, number = spec.to_json(), None if place is None else place(spec) + 1
            start = (spec.experiment, spec.condition, spec.task, spec.seed)
            rows.append((number, key_of(text), *start, spec.scene_key, text, written))
        self.add_plan(rows)

    def add_plan(self, rows: Iterable[tuple[object, ...]]) -> None:
        """Add rows (id, or None for the next free id; columns ``SPEC``) whose key is not yet in the plan."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                f"INSERT OR IGNORE INTO main.specs (id, {SPEC}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
            self._reserve()
        _, length, moved = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if self._held is not None and length == moved:
            _shrink_reserve(self.path, RESERVE_BYTES)

    def _reserve(self) -> None:
        """Reserve the disk space by which a transaction makes the run larger. Raises RunError if the disk is full."""
        if self._held is None:
            return
        (size,) = self._db.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()
        more = size - self.path.stat().st_size
        try:
            with lock_file(self.path).open("ab") as reserve:
                for _ in range(RESERVE_BYTES, more, RESERVE_BYTES):
                    reserve.write(os.urandom(RESERVE_BYTES))
        except OSError as error:
            raise _explain(self.path, error, "cannot be written") from None

    def plan_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of the plan: the id, followed by the columns ``SPEC``."""
        return self._db.execute(f"SELECT id, {SPEC} FROM specs ORDER BY id").fetchall()

    @property
    def planned(self) -> int:
        """Number of planned episodes."""
        return int(self._db.execute("SELECT count(*) FROM specs").fetchone()[0])

    @property
    def done(self) -> int:
        """Number of recorded episodes."""
        return int(self._db.execute("SELECT count(*) FROM episodes").fetchone()[0])

    def conditions(self) -> list[tuple[str, int]]:
        """Return each condition and its number of planned episodes, in plan order."""
        return list(
            self._db.execute("SELECT condition, count(*) FROM specs GROUP BY condition ORDER BY min(id)")
        )

    def todo(self, *, retry: Retry = "transient") -> list[PlannedEpisode]:
        """Return planned episodes that have not been executed, in plan order, except those of decided conditions.

        ``retry`` adds episodes that ended in an error: only those whose policy server was unreachable
        (``transient``), all of them (``errors``), or none (``nothing``).
        """
        redo = {"transient": "transient", "errors": "outcome = 'error'", "nothing": "0"}[retry]
        rows = self._db.execute(
            "SELECT id, key, scene, condition, task, seed FROM specs LEFT JOIN episodes USING (id) "
            f"LEFT JOIN stopped USING (condition) WHERE last IS NULL AND (outcome IS NULL OR {redo}) "
            "ORDER BY id"
        )
        return [PlannedEpisode(*row) for row in rows]

    def outcomes(self) -> list[PlannedEpisode]:
        """Return every planned episode with its outcome, in plan order."""
        rows = self._db.execute(
            "SELECT id, key, scene, condition, task, seed, outcome, CAST(score AS REAL) FROM specs "
            "LEFT JOIN episodes USING (id) LEFT JOIN progress USING (id) ORDER BY id"
        )
        episodes = (PlannedEpisode(*row) for row in rows)
        return [row._replace(outcome=row.outcome and Outcome(row.outcome)) for row in episodes]

    def repeated_controls(self) -> tuple[int, int]:
        """Return the number of starts with repeated controls, and of those whose repetitions differ in outcome."""
        by_start = (
            "SELECT COUNT(DISTINCT outcome) AS kinds FROM specs JOIN episodes USING (id) "
            "WHERE condition = ? AND outcome != ? GROUP BY task, seed % ? HAVING COUNT(*) > 1"
        )
        row = self._db.execute(
            f"SELECT COUNT(*), COUNT(*) FILTER (WHERE kinds > 1) FROM ({by_start})",
            (CONTROL, Outcome.ERROR, REPEAT_STRIDE),
        ).fetchone()
        return int(row[0]), int(row[1])

    def specs(self, ids: Sequence[int] | None = None) -> list[EpisodeSpec]:
        """Return planned specs by their ids, or all of them in plan order."""
        if ids is None:
            rows = self._db.execute("SELECT spec, labels FROM specs ORDER BY id").fetchall()
            return [EpisodeSpec.from_json(text, json.loads(labels)) for text, labels in rows]
        marks = ",".join("?" * len(ids))
        rows = self._db.execute(f"SELECT id, spec, labels FROM specs WHERE id IN ({marks})", ids).fetchall()
        specs = {number: EpisodeSpec.from_json(text, json.loads(labels)) for number, text, labels in rows}
        return [specs[number] for number in ids]

    def recorded(self) -> Iterator[EpisodeSpec]:
        """Yield the specs of recorded episodes, without labels."""
        for (text,) in self._db.execute("SELECT spec FROM specs JOIN episodes USING (id)"):
            yield EpisodeSpec.from_json(text, {})

    # -- episodes

    def append(self, number: int, episode: Episode) -> None:
        """Record an episode of a planned spec in one transaction."""
        row = {name: getattr(episode, name) for name in EPISODE.split(", ")}
        row |= {name: to_storable(row[name]) for name in ("outcome", "instruction", "error")}
        row["truth"] = json.dumps(episode.truth)
        path = episode.trajectory
        packed = map(pack, (path.end_effector, path.gripper, path.actions))
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(
                f"INSERT OR REPLACE INTO main.episodes (id, {EPISODE}) VALUES (?{', ?' * len(row)})",
                (number, *row.values()),
            )
            self._db.execute(
                "INSERT OR REPLACE INTO main.trajectories VALUES (?, ?, ?, ?, ?)",
                (number, episode.steps, *packed),
            )
            for table in DETAILS:
                self._db.execute(f"DELETE FROM main.{table} WHERE id = ?", (number,))
                value = getattr(episode, table)
                value = to_storable(value) if isinstance(value, str) else value
                value = asdict(value) if isinstance(value, SideEffects | Aftermath) else value
                if value or (table in KNOWN_IF_EMPTY and value is not None):
                    self._db.execute(f"INSERT INTO main.{table} VALUES (?, ?)", (number, json.dumps(value)))

    def record(self, spec: EpisodeSpec, episode: Episode) -> None:
        """Record an episode, planned or not, unless it has already been recorded without an error."""
        self.plan([spec])
        number, outcome = self._db.execute(
            "SELECT specs.id, outcome FROM specs LEFT JOIN episodes USING (id) WHERE key = ?", (spec.key,)
        ).fetchone()
        if outcome in (None, "error"):
            self.append(number, episode)

    def stop(self, condition: str, counted: Collection[str], rule: dict[str, object]) -> None:
        """Record that a condition is decided by the episodes with the keys ``counted``.

        Its other episodes, which workers were still executing at that time, are omitted from the data frame.
        """
        planned = self._db.execute("SELECT id, key FROM specs WHERE condition = ?", (condition,)).fetchall()
        counting = set(counted)
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(
                "INSERT OR REPLACE INTO main.stopped VALUES (?, ?, ?)",
                (condition, "~", json.dumps(rule)),  # sorts after every key
            )
            self._db.executemany(
                f"INSERT OR IGNORE INTO {UNCOUNTED} VALUES (?)",
                [(number,) for number, key in planned if key not in counting],
            )

    @property
    def stopped(self) -> dict[str, dict[str, Any]]:
        """Conditions that were decided early, with the rule and its evidence."""
        rows = self._db.execute("SELECT condition, rule FROM stopped")
        return {condition: json.loads(rule) for condition, rule in rows}

    def frame(self) -> pl.DataFrame:
        """Return the recorded episodes, one per row, in plan order, with labels as columns. Raises RunError."""
        with self._decoding():
            frame = with_labels(read_rows(self._db.execute(FRAME), COLUMNS))
        # The kind of change of an episode is its label, or else derived from its perturbations.
        label = pl.col("change").cast(pl.String) if "change" in frame.columns else pl.lit(None, pl.String)
        frame = frame.with_columns(change=label)
        missing = set(frame.filter(pl.col("change").is_null() & (pl.col("condition") != CONTROL))["id"])
        if not missing:
            return frame
        changes: dict[int, str | None] = {}
        classes = kinds()
        for number, text in self._db.execute("SELECT id, spec FROM specs"):
            if number in missing:
                used = [part.get("kind") for part in json.loads(text).get("perturbations", ())]
                known = [classes[kind].change for kind in used if kind in classes]
                changes[number] = (changed_by(known) or None) if len(known) == len(used) else None
        derived = pl.col("id").replace_strict(changes, default=None, return_dtype=pl.String)
        return frame.with_columns(change=pl.coalesce("change", derived))

    def outcome_frame(self) -> pl.DataFrame:
        """Return only the columns of `frame` that a success rate needs, which takes a fraction of the memory.

        The column ``plausible`` is true unless the label of that name is false.
        """
        names = ("key", "condition", "task", "seed", "start", "instruction", "outcome")
        columns = {name: COLUMNS[name] for name in names} | {"plausible": pl.Int64}
        with self._decoding():
            rows = read_rows(self._db.execute(OUTCOMES), columns)
        return rows.with_columns(pl.col("plausible").cast(pl.Boolean))

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except (TypeError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
            reason = str(error).partition("\n")[0]
            raise RunError(f"{self.path}: damaged: an episode cannot be decoded: {reason}") from None

    @property
    def damage(self) -> list[str]:
        """List the requested data that could not be decoded, one line each."""
        count = len(self._unreadable)
        return [f"trajectories of {number_of(count, 'episode')} cannot be read"] if count else []

    def counts(self) -> pl.DataFrame:
        """Return planned, done, success, failure and error counts per condition, and whether success is expected."""
        rows = self._db.execute(
            "SELECT condition, count(*), count(outcome), sum(outcome IS 'success'), "
            "sum(outcome IS 'failure'), sum(outcome IS 'error'), "
            "max(json_extract(labels, '$.plausible') IS NOT 0) "
            "FROM specs LEFT JOIN stopped USING (condition) LEFT JOIN episodes ON episodes.id = specs.id "
            f"AND {COUNTED} GROUP BY condition ORDER BY min(specs.id)"
        ).fetchall()
        names = ("planned", "done", "success", "failure", "error")
        return pl.DataFrame(
            rows,
            schema={"condition": pl.String} | dict.fromkeys(names, pl.Int64) | {"success_expected": pl.Int64},
            orient="row",
        ).with_columns(pl.col("success_expected").cast(pl.Boolean))

    def reasons(self) -> dict[str, int]:
        """Return errors and their frequencies, most frequent first."""
        return dict(
            self._db.execute(
                "SELECT error, count(*) FROM episodes WHERE outcome = 'error' GROUP BY error "
                "ORDER BY count(*) DESC, error"
            )
        )

    def seconds(self) -> tuple[int, float]:
        """Return the number of episodes recorded without an error, and their total duration in seconds."""
        row = self._db.execute(
            "SELECT count(*), coalesce(sum(seconds), 0) FROM episodes WHERE outcome <> 'error' AND seconds > 0"
        ).fetchone()
        return int(row[0]), float(row[1])

    def tracebacks(self) -> dict[str, str]:
        """Return the first traceback for each error in `reasons` that was raised by user code."""
        rows = self._db.execute(
            "SELECT error, lines, min(id) FROM episodes JOIN traceback USING (id) WHERE outcome = 'error' "
            "GROUP BY error ORDER BY min(id)"
        )
        return {error: json.loads(lines) for error, lines, _ in rows}

    def clipping(self) -> Clipping:
        """Return how many actions were outside [-1, 1] and were clipped, and in how many episodes."""
        row = self._db.execute(
            "SELECT count(*), coalesce(sum(CAST(cut AS INTEGER) > 0), 0), "
            "coalesce(sum(CAST(cut AS INTEGER)), 0), coalesce(sum(steps), 0) "
            "FROM episodes JOIN clipped USING (id)"
        ).fetchone()
        return Clipping(*map(int, row))

    def add_all(self, other: Store) -> None:
        """Add another run's plan and episodes; an episode already recorded here without an error is kept."""
        with attach(self._db, other.path), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(
                f"INSERT OR IGNORE INTO main.specs ({SPEC}) SELECT {SPEC} FROM other.specs ORDER BY id"
            )
            self._db.execute(
                "CREATE TEMP TABLE taken AS SELECT mine.id AS mine, theirs.id AS theirs "
                "FROM other.specs theirs JOIN other.episodes USING (id) "
                "JOIN main.specs mine ON mine.key = theirs.key "
                "LEFT JOIN main.episodes known ON known.id = mine.id "
                "WHERE known.outcome IS NULL OR known.outcome = 'error'"
            )
            parts = {"episodes": EPISODE, "trajectories": "steps, end_effector, gripper, actions", **DETAILS}
            for table, columns in parts.items():
                self._db.execute(f"DELETE FROM main.{table} WHERE id IN (SELECT mine FROM taken)")
                self._db.execute(
                    f"INSERT INTO main.{table} (id, {columns}) "
                    f"SELECT mine, {columns} FROM taken JOIN other.{table} ON id = theirs"
                )
            self._db.execute("DROP TABLE taken")

    def trajectories(self, ids: Iterable[int] | None = None) -> Iterator[tuple[int, Trajectory]]:
        """Yield the trajectories of recorded episodes by id, except those that cannot be decoded; see `damage`."""
        if ids is None:
            ids = [number for (number,) in self._db.execute("SELECT id FROM trajectories ORDER BY id")]
        for number in ids:  # one query each: an open one would keep a writer from closing
            try:
                row = self._db.execute(
                    "SELECT steps, end_effector, gripper, actions FROM trajectories WHERE id = ?", (number,)
                ).fetchone()
                path = None if row is None else read_trajectory(*row)
            except sqlite3.OperationalError:  # in use, not damaged
                raise
            except (sqlite3.DatabaseError, zlib.error, ValueError, TypeError, ZeroDivisionError):
                self._unreadable.add(number)
            else:
                if path is not None:
                    yield number, path


def _explain(path: Path, error: Exception, problem: str) -> RunError:
    """Return the error to raise for an error of the system or of SQLite, which may mean that the disk is full."""
    codes = getattr(error, "sqlite_errorcode", None), getattr(error, "errno", None)
    if {*codes} & {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, *FULL}:
        return RunError(f"{path}: the disk is full; free some space and run the command again")
    return RunError(f"{path}: {problem}: {getattr(error, 'strerror', None) or error}")


def _shrink_reserve(path: Path, size: int) -> None:
    with suppress(OSError):  # the lock file was deleted
        os.truncate(lock_file(path), size)


def lock_file(path: Path) -> Path:
    """Return the lock file of a run, which a process locks while it writes to the run.

    The run itself cannot be locked: closing one of its descriptors would release the locks that SQLite holds on it.
    """
    return path.with_name(f".{path.name}.lock")


def signature(path: Path) -> tuple[int, ...]:
    """Return a value that changes whenever a run is written to."""
    numbers: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            status = file.stat()
            numbers += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(numbers)


def read_connection(path: Path, *, timeout: float = 60.0, whole: bool = True) -> sqlite3.Connection:
    """Return a read-only connection to a run, all of which is checked if ``whole``. Raises RunError."""
    if path.is_dir():
        raise RunError(f"{path} is a folder; pass a run in it, NAME{SUFFIX}")
    if not path.is_file():
        raise RunError(f"{path}: the run does not exist")
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=timeout, isolation_level=None
        )
        _check(path, connection, whole=whole)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: not a run, or damaged: {error}") from None
    return connection


@contextmanager
def attach(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Attach another run to a connection as the database ``other``, for reading."""
    connection.execute("ATTACH ? AS other", (f"{path.absolute().as_uri()}?mode=ro",))
    try:
        yield
    finally:
        connection.execute("DETACH other")


_checked: dict[Path, tuple[int, ...]] = {}
"""Signatures of the files whose content has been checked; a file is checked again only after a change."""


def _check(path: Path, connection: sqlite3.Connection, *, whole: bool = True) -> None:
    """Raise RunError unless a file is a run of this version whose rows can be decoded; limit the size of values.

    ``whole``: whether to check all pages of the file as well.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_META_BYTES)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise RunError(f"{path}: not a run created by Assay")
    if version != VERSION:
        raise RunError(
            f"{path}: the run has format {version}, but this version of Assay reads format {VERSION}"
        )
    foreign = connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE '%virtual%'"
    ).fetchone()
    if foreign is not None:  # triggers and views execute SQL of the file when it is read or written
        raise RunError(
            f"{path}: not a run created by Assay: it has the {foreign[0]} {str(foreign[1])[:40]!r}"
        )
    _check_meta(path, connection)
    if _checked.get(path) == (now := signature(path)):
        return
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if whole else "ok"
    (invalid,) = connection.execute(INVALID).fetchone()
    if problem != "ok" or invalid:
        rows = f"{number_of(invalid, 'row')} cannot be decoded"
        raise RunError(f"{path}: damaged: {rows if problem == 'ok' else problem}")
    if whole:
        _checked[path] = now


def _check_meta(path: Path, connection: sqlite3.Connection) -> None:
    """Raise RunError if the metadata of a run is too large to be read and printed quickly."""
    rows, size = connection.execute(
        "SELECT count(*), total(length(CAST(name AS BLOB)) + length(CAST(value AS BLOB))) "
        "FROM (SELECT * FROM main.meta LIMIT ?)",
        (MAX_META_ROWS + 1,),
    ).fetchone()
    if rows > MAX_META_ROWS or size > MAX_META_BYTES:
        raise RunError(
            f"{path}: not a run, or damaged: its metadata exceeds {MAX_META_ROWS:,} values or {MAX_META_BYTES:,} bytes"
        )
