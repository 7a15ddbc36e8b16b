"""The store: all of a run in one SQLite file, ``NAME.assay``.

specs              what is planned, in the order of the plan
episodes           what happened; an episode is there whole or not at all
trajectories       the end effector's path and the actions, compressed
initial_positions  where the things that the task is about stood at the start
contacts           when the robot touched what
clipped            how many actions of an episode were cut to [-1, 1]
traceback          where somebody's own code broke
events             what was to happen during an episode, and when it did
inference          how long each decision took, milliseconds, as a policy server says
stages             when each atom of the goal came to which stage
progress           how far the episode came, 0 to 1
side_effects       what was done besides what was asked for
aftermath          whether success lasts
stopped            conditions that were decided before their end, and by which rule
meta               who, what, where: one JSON value for each name

WAL while it is written; a single file when it is closed. One writer at a time.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

import polars as pl

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Traits, Trajectory, world_of
from assay.episodes.conduct import Aftermath, SideEffects
from assay.episodes.perturbation import changed_by, known_kind
from assay.errors import RunError
from assay.runs.clipping import Clipping
from assay.runs.connections import SUFFIX, TABLES, attached, read_connection, tables_of, write_connection
from assay.runs.rows import (
    COLUMNS,
    COUNTED,
    FRAME,
    KNOWN_IF_EMPTY,
    SCHEMA,
    SINCE,
    UNCOUNTED,
    cleaned,
    episode_row,
    spec_rows,
    storable,
    trajectory_of,
    trajectory_row,
    with_labels,
)
from assay.runs.soundness import (
    CELLS,
    EPISODE,
    LABELS,
    LIST,
    SPEC,
    Damage,
    as_stored,
    examine,
    labels_of,
    meta_of,
    rules_of,
)
from assay.support.console import number_of
from assay.support.files.locks import PATIENCE

_AFTER_ALL = "~"
"""Greater than every key."""


Retry = Literal["transient", "errors", "nothing"]
"""Which episodes that ended in an error a resumed run tries again."""


class Waiting(NamedTuple):
    """A planned episode that is not done."""

    number: int
    key: str
    scene: str
    condition: str
    task: str = ""
    seed: int = 0


class Store:
    """An open run file, made by ``Store.writing`` or ``Store.reading``; a context manager."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        damage: Damage | None = None,
        held: ExitStack | None = None,
    ) -> None:
        self.path = path
        self.damage = damage or Damage()
        """What of the file is left out."""
        self._db = connection
        self._held = held
        self.unread: set[int] = set()
        """Episodes whose paths were asked for and could not be read."""

    @classmethod
    def writing(cls, path: Path, patience: float = PATIENCE) -> Store:
        """Open a run for writing; made if it is not there.

        Raises RunError if somebody else writes it, and does not end within ``patience`` seconds.
        """
        connection, damage, held = write_connection(path, patience)
        return cls(path, connection, damage, held)

    @classmethod
    def scratch(cls) -> Store:
        """A run that nobody keeps: SQLite's own temporary file, gone with the process however that ends."""
        connection = sqlite3.connect("", isolation_level=None)
        connection.executescript(SCHEMA)
        return cls(Path(f"scratch{SUFFIX}"), connection)

    @classmethod
    def reading(cls, path: Path) -> Store:
        """Open a run for reading, also while it is being written."""
        connection, damage = read_connection(path)
        return cls(path, connection, damage)

    def close(self) -> None:
        """Close; what was written becomes a single file."""
        if self._held is None:
            self._db.close()
            return
        with self._held:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with suppress(sqlite3.OperationalError):  # somebody reads it: WAL until the next writer closes
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._held = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; a page of the file that SQLite could not read, or use, is a RunError to whoever opened it."""
        try:
            self.close()
        except sqlite3.Error as closing:
            error = error or closing
        if isinstance(error, sqlite3.Error):
            raise RunError(f"{self.path}: its file is damaged, or cannot be used: {error}") from error

    # -- meta

    @property
    def meta(self) -> dict[str, Any]:
        """Who, what, where."""
        return meta_of(as_stored(self._db, "name", "value", "meta"))[0]

    @property
    def version(self) -> int:
        """Of the file's format."""
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @property
    def world(self) -> Traits:
        """What measures must know of the world it was played in."""
        told = self.meta.get("world")
        if told is not None:
            return Traits.from_json(told)
        row = self._db.execute("SELECT task FROM specs LIMIT 1").fetchone()  # a run of Assay 0.1.0
        return world_of("" if row is None else str(row[0])).traits

    @property
    def states(self) -> Path | None:
        """The folder of stored initial states that it was begun with, if one was named."""
        folder = self.meta.get("states_folder")
        return None if folder is None else Path(folder)

    def describe(self, **values: object) -> None:
        """Set values of the meta table."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO main.meta VALUES (?, ?)",
                [(name, json.dumps(cleaned(value))) for name, value in values.items()],
            )

    def lost_meta(self, fresh: Mapping[str, object]) -> dict[str, object]:
        """Values that a command knows, of those that are damaged here.

        Where a name is damaged, nobody can tell which it was: then all that are missing.
        """
        known, damaged = meta_of(as_stored(self._db, "name", "value", "meta"))
        sure = all(name.isidentifier() for name in damaged)
        return {
            name: value
            for name, value in fresh.items()
            if name in damaged or (not sure and name not in known)
        }

    def mend_meta(self, fresh: Mapping[str, object]) -> list[str]:
        """Put values that a command knows in the place of damaged ones, and forget other damaged ones; their names."""
        rows = as_stored(self._db, "name", "value", "meta")
        known, damaged = meta_of(rows)
        if not damaged:
            return []
        lost = self.lost_meta(fresh)
        with self._transaction():
            for name, _ in rows:
                if name not in known:
                    self._db.execute(
                        "DELETE FROM main.meta WHERE CAST(name AS BLOB) = CAST(? AS BLOB)", (name,)
                    )
        self.describe(**lost)
        return list(lost)

    def clear(self) -> None:
        """Forget what a run without an episode was for: its meta and its plan."""
        assert not self.held, "episodes are never forgotten"
        with self._transaction():
            for table in ("meta", UNCOUNTED, "stopped", *TABLES):
                self._db.execute(f"DELETE FROM main.{table}")
            if self.damage:
                self._db.execute(f"DELETE FROM temp.{LIST}")
        self.damage = Damage()

    # -- the plan

    def plan(self, specs: Iterable[EpisodeSpec], place: Callable[[EpisodeSpec], int] | None = None) -> int:
        """Add specs to the plan, in one transaction, unless they are there; returns how many are new.

        ``place`` says where each stands in the order of the plan, from 0; without it each stands after those before it.
        """
        several = list(specs)
        places = (None if place is None else place(each) + 1 for each in several)
        return self.add_plan((number, *row) for number, row in zip(places, spec_rows(several), strict=True))

    def add_plan(self, rows: Iterable[tuple[object, ...]]) -> int:
        """Add rows of plans, unless they are there: id (None for the next one) and what `spec_rows` gives.

        Where the row of a spec is damaged, it is mended.
        """
        before = self.planned
        with self._transaction():
            if self.damage.rows["specs"]:
                rows = self._mended(rows)
            self._db.executemany(
                f"INSERT OR IGNORE INTO main.specs (id, {SPEC}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
        return self.planned - before

    def _mended(self, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
        """Put rows in the place of damaged ones with their key; the others are given on."""
        damaged = self.damage.rows["specs"]
        which = f"SELECT id FROM temp.{LIST} WHERE part = 'specs'"
        known = dict(self._db.execute(f"SELECT key, id FROM main.specs WHERE id IN ({which})"))
        for row in rows:
            number = known.get(row[1])
            if number not in damaged:
                if row[0] not in damaged:
                    yield row
                    continue
                number = row[0]
                for table in TABLES:  # of which spec these are, nobody can tell any more
                    self._db.execute(f"DELETE FROM main.{table} WHERE id = ?", (number,))
            self._db.execute(
                f"INSERT OR REPLACE INTO main.specs (id, {SPEC}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, *row[1:]),
            )
            self._db.execute(f"DELETE FROM temp.{LIST} WHERE part = 'specs' AND id = ?", (number,))
            del damaged[number]

    def plan_rows(self) -> list[tuple[Any, ...]]:
        """The rows of the plan: id and what `spec_rows` gives."""
        return self._db.execute(f"SELECT id, {SPEC} FROM specs ORDER BY id").fetchall()

    @property
    def planned(self) -> int:
        """How many episodes are planned."""
        return int(self._db.execute("SELECT count(*) FROM specs").fetchone()[0])

    @property
    def done(self) -> int:
        """How many have been recorded."""
        return int(self._db.execute("SELECT count(*) FROM episodes").fetchone()[0])

    @property
    def held(self) -> int:
        """How many episodes the file holds, damaged ones among them."""
        return int(self._db.execute("SELECT count(*) FROM main.episodes").fetchone()[0])

    def conditions(self) -> list[tuple[str, int]]:
        """Each condition and how many episodes it has in the plan, in the plan's order."""
        return list(
            self._db.execute("SELECT condition, count(*) FROM specs GROUP BY condition ORDER BY min(id)")
        )

    def todo(self, *, retry: Retry = "transient") -> list[Waiting]:
        """Every planned episode that is not done, in the plan's order; those of decided conditions left out.

        Of those that ended in an error, ``transient`` counts the ones whose policy server was away as not done,
        ``errors`` counts all of them so, ``nothing`` none.
        """
        redo = {"transient": "transient", "errors": "outcome = 'error'", "nothing": "0"}[retry]
        rows = self._db.execute(
            "SELECT id, key, scene, condition, task, seed FROM specs LEFT JOIN episodes USING (id) "
            f"LEFT JOIN stopped USING (condition) WHERE last IS NULL AND (outcome IS NULL OR {redo}) "
            "ORDER BY id"
        )
        return [Waiting(*row) for row in rows]

    def outcomes(self, condition: str) -> list[tuple[str, str, int, Outcome | None]]:
        """Key, task, seed and outcome of every planned episode of a condition, by key."""
        rows = self._db.execute(
            "SELECT key, task, seed, outcome FROM specs LEFT JOIN episodes USING (id) WHERE condition = ? "
            "ORDER BY key",
            (condition,),
        )
        return [(*which, None if outcome is None else Outcome(outcome)) for *which, outcome in rows]

    def progress(self) -> dict[str, float]:
        """How far each recorded episode came, 0 to 1, by key, as far as that is known."""
        rows = self._db.execute("SELECT key, CAST(score AS REAL) FROM specs JOIN progress USING (id)")
        return dict(rows.fetchall())

    def specs(self, ids: Sequence[int]) -> list[EpisodeSpec]:
        """Planned specs by their ids."""
        marks = ",".join("?" * len(ids))
        found = {
            number: EpisodeSpec.from_json(text, labels_of(labels))
            for number, text, labels in self._db.execute(
                f"SELECT id, spec, labels FROM specs WHERE id IN ({marks})", ids
            ).fetchall()
        }
        return [found[number] for number in ids]

    def recorded(self) -> Iterator[EpisodeSpec]:
        """The specs whose episodes have been recorded, without labels."""
        for (text,) in self._db.execute("SELECT spec FROM specs JOIN episodes USING (id)"):
            yield EpisodeSpec.from_json(text, {})

    def all_specs(self) -> list[EpisodeSpec]:
        """Every planned spec, in the plan's order."""
        rows = self._db.execute("SELECT spec, labels FROM specs ORDER BY id")
        return [EpisodeSpec.from_json(text, labels_of(labels)) for text, labels in rows]

    def number_of(self, spec: EpisodeSpec) -> int:
        """The number of an episode in the plan, which it is added to if it is not there."""
        self.plan([spec])
        return int(self._db.execute("SELECT id FROM specs WHERE key = ?", (spec.key,)).fetchone()[0])

    # -- episodes

    def append(self, number: int, episode: Episode) -> None:
        """Record an episode of a planned spec: one transaction."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO main.episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, *episode_row(episode)),
            )
            self._db.execute(
                "INSERT OR REPLACE INTO main.trajectories VALUES (?, ?, ?, ?, ?)",
                (number, *trajectory_row(episode)),
            )
            for table in SINCE:
                self._db.execute(f"DELETE FROM main.{table} WHERE id = ?", (number,))
                known = getattr(episode, table)
                known = storable(known) if isinstance(known, str) else known
                known = asdict(known) if isinstance(known, SideEffects | Aftermath) else known
                if known or (table in KNOWN_IF_EMPTY and known is not None):
                    self._db.execute(f"INSERT INTO main.{table} VALUES (?, ?)", (number, json.dumps(known)))
            if self.damage:
                self._db.execute(f"DELETE FROM {LIST} WHERE id = ? AND part <> 'specs'", (number,))
                for table in ("episodes", *CELLS):
                    self.damage.rows[table].pop(number, None)

    def stop(self, condition: str, counted: Collection[str], rule: dict[str, object]) -> None:
        """Record that a condition is decided by the episodes with the keys ``counted``.

        Others of its episodes, which workers were performing meanwhile, stay out of the frame.
        """
        planned = self._db.execute("SELECT id, key FROM specs WHERE condition = ?", (condition,)).fetchall()
        known = set(counted)
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO main.stopped VALUES (?, ?, ?)",
                (condition, _AFTER_ALL, json.dumps(rule)),
            )
            self._db.executemany(
                f"INSERT OR IGNORE INTO {UNCOUNTED} VALUES (?)",
                [(number,) for number, key in planned if key not in known],
            )

    @property
    def stopped(self) -> dict[str, dict[str, Any]]:
        """Conditions that were decided before their end: the rule and what it saw."""
        return rules_of(as_stored(self._db, "condition", "rule", "stopped"))[0]

    def frame(self) -> pl.DataFrame:
        """The recorded episodes, one row each, in the plan's order; labels are columns of their own."""
        rows = self._db.execute(FRAME).fetchall()
        return self._with_changes(with_labels(pl.DataFrame(rows, schema=COLUMNS, orient="row")))

    def _with_changes(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame with what each episode changes: from its perturbations, where no label says it."""
        told = pl.col("change").cast(pl.String) if "change" in frame.columns else pl.lit(None, pl.String)
        frame = frame.with_columns(change=told)
        untold = frame.filter(pl.col("change").is_null() & (pl.col("condition") != CONTROL))["id"].to_list()
        if not untold:
            return frame
        known = self._db.execute("SELECT id, spec FROM specs WHERE condition <> ?", (CONTROL,))
        missing = set(untold)
        found = {number: _change(text) for number, text in known if number in missing}
        derived = pl.col("id").replace_strict(found, default=None, return_dtype=pl.String)
        return frame.with_columns(change=pl.coalesce("change", derived))

    def damaged(self) -> list[str]:
        """What of the file is damaged and left out, in a few words each; trajectories, if they were asked for."""
        episodes = Counter((self.damage.rows["episodes"] | self.damage.rows["specs"]).values())
        left = [f"{number_of(count, 'episode')} left out: {why}" for why, count in sorted(episodes.items())]
        left += [
            f"{table.replace('_', ' ')} of {number_of(len(found), 'episode')} left out"
            for table, found in self.damage.rows.items()
            if table in CELLS and found
        ]
        for names, count in sorted(Counter(self.damage.rows[LABELS].values()).items()):
            left.append(
                f"{number_of(count, 'episode')} without the label {names}: of a type that it cannot be"
            )
        meta = meta_of(as_stored(self._db, "name", "value", "meta"))[1]
        rules = rules_of(as_stored(self._db, "condition", "rule", "stopped"))[1]
        left += [f"what it says of its {name} left out" for name in meta]
        left += [f"the rule that stopped {condition} left out" for condition in rules]
        if self.unread:
            left.append(f"trajectories of {number_of(len(self.unread), 'episode')} cannot be read")
        return left

    def verified(self) -> list[str]:
        """What of all that was written would be left out when it is read; nothing, unless others' values were."""
        self.damage = examine(self._db, tables_of())
        return self.damaged()

    def counts(self) -> pl.DataFrame:
        """Per condition: planned, done, success, failure, error; whether success is expected there."""
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
        """What broke, and how often, the most frequent first."""
        return dict(
            self._db.execute(
                "SELECT error, count(*) FROM episodes WHERE outcome = 'error' GROUP BY error "
                "ORDER BY count(*) DESC, error"
            )
        )

    def broken(self) -> set[int]:
        """The ids of episodes that ended in an error."""
        return {number for (number,) in self._db.execute("SELECT id FROM episodes WHERE outcome = 'error'")}

    def is_judged(self, number: int) -> bool:
        """Whether an episode of the plan has been recorded that is no error."""
        found = self._db.execute("SELECT outcome <> 'error' FROM episodes WHERE id = ?", (number,)).fetchone()
        return bool(found and found[0])

    @property
    def judged(self) -> int:
        """How many have been recorded that are no errors."""
        return int(self._db.execute("SELECT count(*) FROM episodes WHERE outcome <> 'error'").fetchone()[0])

    def seconds(self) -> tuple[int, float]:
        """How many episodes were recorded without an error, and how long they took together, seconds."""
        row = self._db.execute(
            "SELECT count(*), coalesce(sum(seconds), 0) FROM episodes WHERE outcome <> 'error' AND seconds > 0"
        ).fetchone()
        return int(row[0]), float(row[1])

    def tracebacks(self) -> dict[str, str]:
        """Where somebody's own code broke: what broke, as `reasons` has it -> the first traceback of it."""
        rows = self._db.execute(
            "SELECT error, lines, min(id) FROM episodes JOIN traceback USING (id) WHERE outcome = 'error' "
            "GROUP BY error ORDER BY min(id)"
        )
        return {error: json.loads(lines) for error, lines, _ in rows}

    def clipping(self) -> Clipping:
        """How many actions were cut to [-1, 1], in how many episodes."""
        row = self._db.execute(
            "SELECT count(*), coalesce(sum(CAST(cut AS INTEGER) > 0), 0), "
            "coalesce(sum(CAST(cut AS INTEGER)), 0), coalesce(sum(steps), 0) "
            "FROM episodes JOIN clipped USING (id)"
        ).fetchone()
        return Clipping(*map(int, row))

    def add_all(self, other: Store) -> None:
        """Add another run's plan and episodes; an episode that is here already, and no error, stays."""
        with attached(self._db, other.path, other.damage), self._transaction():
            self._db.execute(
                f"INSERT OR IGNORE INTO main.specs ({SPEC}) SELECT {SPEC} FROM their_specs ORDER BY id"
            )
            self._db.execute(
                "CREATE TEMP TABLE taken AS SELECT mine.id AS mine, theirs.id AS theirs "
                "FROM their_specs theirs JOIN their_episodes USING (id) "
                "JOIN main.specs mine ON mine.key = theirs.key "
                "LEFT JOIN main.episodes known ON known.id = mine.id "
                "WHERE known.outcome IS NULL OR known.outcome = 'error'"
            )
            parts = {"episodes": EPISODE, "trajectories": "steps, end_effector, gripper, actions", **SINCE}
            for table, columns in parts.items():
                self._db.execute(
                    f"INSERT OR REPLACE INTO main.{table} (id, {columns}) "
                    f"SELECT mine, {columns} FROM taken JOIN their_{table} ON id = theirs"
                )
            self._db.execute("DROP TABLE taken")

    def trajectories(self, ids: Iterable[int] | None = None) -> Iterator[tuple[int, Trajectory]]:
        """The trajectories of recorded episodes, by id; those that cannot be are added to ``unread``."""
        if ids is None:
            ids = [number for (number,) in self._db.execute("SELECT id FROM trajectories ORDER BY id")]
        for number in ids:  # one query each: an open one would keep a writer from closing
            try:
                row = self._db.execute(
                    "SELECT steps, end_effector, gripper, actions FROM trajectories WHERE id = ?", (number,)
                ).fetchone()
                path = None if row is None else trajectory_of(*row)
            except sqlite3.OperationalError:  # in use, not damaged
                raise
            except (sqlite3.DatabaseError, zlib.error, ValueError, TypeError, ZeroDivisionError):
                self.unread.add(number)
            else:
                if path is not None:
                    yield number, path

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _change(spec: str) -> str | None:
    """What the perturbations of a spec's JSON change, if all of them are known here."""
    try:
        kinds = [known_kind(str(each.get("kind"))) for each in json.loads(spec)["perturbations"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return changed_by(kind.change for kind in kinds if kind is not None) or None if all(kinds) else None
