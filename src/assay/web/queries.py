"""Queries for browsing a run: pages of episodes, one episode, differences to another run.

SQL with limits, never whole tables, over a read-only connection that does not disturb a writer.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.episodes.spec import CONTROL, EpisodeSpec, Label
from assay.errors import AssayError
from assay.runs.rows import COUNTED, DETAILS
from assay.runs.store import Store, attach, read_connection
from assay.support.plugins import load_plugins

PAGE = 50
"""Episodes on one page."""
MOST_VALUES = 40
"""Maximum number of values of a label that is offered as a filter; one with more is a measurement."""
OUTCOMES = ("success", "failure", "error", "waiting")

_FROM = f"""
FROM specs LEFT JOIN stopped USING (condition) LEFT JOIN episodes USING (id)
WHERE {COUNTED}
"""
_COLUMNS = """
specs.id, key, condition, task, seed, labels, spec, outcome, instruction, steps, seconds, decisions, touched,
moved, truth, error
"""
_CLAUSES = {
    "condition": "condition = :condition",
    "task": "task = :task",
    "outcome": "outcome = :outcome",
    "object": "CAST(json_extract(labels, '$.object') AS TEXT) = :object",
    "action": "CAST(json_extract(labels, '$.action') AS TEXT) = :action",
}
_LABEL = """
CASE json_type(labels, :label) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'
     ELSE CAST(json_extract(labels, :label) AS TEXT) END = :value
"""
SORTS = {
    "": "specs.id",
    "task": "task",
    "condition": "condition",
    "seed": "seed",
    "outcome": "coalesce(outcome, '')",
    "steps": "coalesce(steps, -1)",
    "diverges": "diverges(specs.id)",
}
"""Sort keys; ties keep plan order. ``diverges`` is supplied by the caller."""
DESCENDING = "-"
"""Prefix of a sort key for descending order."""
_DIFFERING = """
FROM specs JOIN episodes USING (id)
JOIN other.specs theirs ON theirs.key = specs.key JOIN other.episodes those ON those.id = theirs.id
WHERE episodes.outcome <> those.outcome AND (:condition = '' OR specs.condition = :condition)
"""


class NotFoundError(AssayError):
    """Raised for a run or episode that does not exist."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenRun:
    """A run opened for a page: its store, and a connection for further queries."""

    store: Store
    _db: sqlite3.Connection

    def rows(self, question: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query, so that no cursor stays open."""
        return self._db.execute(question, values or {}).fetchall()

    def tell(self, name: str, value: Callable[[int], float | None]) -> None:
        """Make a number per episode id available to queries."""
        self._db.create_function(name, 1, value)

    @contextmanager
    def beside(self, path: Path) -> Iterator[None]:
        """Make another run's tables available as ``other.specs`` and so on."""
        with Store.reading(path), attach(self._db, path):
            yield


@contextmanager
def reading(path: Path) -> Iterator[OpenRun]:
    """Open a run for one page. Raises RunError, or sqlite3's errors."""
    with Store.reading(path) as store, closing(read_connection(path, timeout=10)) as db:
        load_plugins(store.meta.get("plugins", ()))  # the report lists missing ones
        yield OpenRun(store, db)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of episodes; an empty filter admits all."""

    condition: str = ""
    task: str = ""
    outcome: str = ""
    object: str = ""
    action: str = ""
    label: str = ""
    """Label and value, as ``name=value``."""
    says: str = ""
    """Words of the instruction, in any order."""

    def clause(self) -> tuple[str, dict[str, str]]:
        """The condition in SQL, and its values."""
        given: dict[str, str] = {name: getattr(self, name) for name in _CLAUSES if getattr(self, name) != ""}
        clauses = [_CLAUSES[name] for name in given]
        if self.outcome == "waiting":
            clauses = [clause for clause in clauses if clause != _CLAUSES["outcome"]] + ["outcome IS NULL"]
        elif not self.outcome:
            clauses.append("outcome IS NOT NULL")
        for number, word in enumerate(self.says.split()):
            plain = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            clauses.append(f"instruction LIKE :word{number} ESCAPE '\\'")
            given[f"word{number}"] = f"%{plain}%"
        if self.label:
            name, _, value = self.label.partition("=")
            clauses.append(_LABEL)
            given |= {"label": f'$."{name.replace(chr(34), "")}"', "value": value}
        return "".join(f" AND {clause}" for clause in clauses), given


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """A planned episode, with its result if it has been executed."""

    id: int
    key: str
    condition: str
    task: str
    seed: int
    labels: dict[str, Label]
    spec: str
    """Spec as canonical JSON."""
    outcome: str | None
    instruction: str
    steps: int
    seconds: float
    decisions: int
    touched: str | None
    moved: str | None
    truth: dict[str, list[tuple[int, int]]]
    """Intervals in which each atom of the goal held: steps [first, last)."""
    error: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of episodes."""

    rows: tuple[EpisodeRow, ...]
    total: int
    number: int
    """Number of the page, from 1."""
    size: int
    """Episodes on a page."""

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return max(1, -(-self.total // self.size))

    @property
    def before(self) -> int:
        """Number of episodes before this page."""
        return (self.number - 1) * self.size


@dataclass(frozen=True, slots=True)
class EpisodePosition:
    """The position of an episode among the filtered ones."""

    previous: str | None
    """Key of the previous episode."""
    next: str | None
    number: int
    """Position, from 1; 0 if the episode is not among the filtered ones."""
    total: int


@dataclass(frozen=True, slots=True)
class Choices:
    """Values that episodes of a run can be filtered by."""

    conditions: tuple[str, ...]
    tasks: tuple[str, ...]
    objects: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Values as text by label, for labels with few values."""


@dataclass(frozen=True, slots=True)
class Differing:
    """An episode with another outcome in the other run."""

    id: int
    key: str
    condition: str
    task: str
    seed: int
    instruction: str
    first: str
    """Its outcome in the first run."""
    second: str
    plausible: bool = True
    """Whether success is expected."""


@dataclass(frozen=True, slots=True)
class DifferingPage:
    """A page of episodes that differ."""

    rows: tuple[Differing, ...]
    total: int
    next: int | None
    """Id after which the next page starts."""


def page(run: OpenRun, filters: Filters, sort: str = "", number: int = 1, size: int = PAGE) -> Page:
    """A page of filtered and sorted episodes; the last one if there are fewer."""
    where, values = filters.clause()
    (total,) = run.rows(f"SELECT count(*) {_FROM}{where}", values)[0]
    number = max(1, min(number, -(-total // size)))
    by, way = _order(sort)
    rows = run.rows(
        f"SELECT {_COLUMNS} {_FROM}{where} ORDER BY {by} IS NULL, {by} {way}, specs.id "
        f"LIMIT {size} OFFSET {(number - 1) * size}",
        values,
    )
    return Page(tuple(map(_row, rows)), total, number, size)


def _order(sort: str) -> tuple[str, str]:
    """Sort expression and direction."""
    return SORTS[sort.removeprefix(DESCENDING)], "DESC" if sort.startswith(DESCENDING) else "ASC"


def one(run: OpenRun, key: str) -> EpisodeRow:
    """Return the planned episode with that key. Raises NotFoundError."""
    rows = run.rows(
        f"SELECT {_COLUMNS} FROM specs LEFT JOIN episodes USING (id) WHERE key = :key", {"key": key}
    )
    if not rows:
        raise NotFoundError(f"the run has no episode '{key[:40]}'")
    return _row(rows[0])


def control_of(run: OpenRun, row: EpisodeRow) -> EpisodeRow | None:
    """The recorded control of an episode: the first unperturbed one of its task and seed."""
    if row.condition == CONTROL:
        return None
    rows = run.rows(
        f"SELECT {_COLUMNS} FROM specs JOIN episodes USING (id) "
        "WHERE condition = :control AND task = :task AND seed = :seed ORDER BY specs.id LIMIT 1",
        {"control": CONTROL, "task": row.task, "seed": row.seed},
    )
    return _row(rows[0]) if rows else None


def detail(run: OpenRun, row: EpisodeRow, table: str) -> Any:
    """The value of an episode in one of the tables of details; None if it has none."""
    rows = run.rows(f"SELECT {DETAILS[table]} FROM {table} WHERE id = :id", {"id": row.id})
    return json.loads(rows[0][0]) if rows else None


@dataclass(frozen=True, slots=True)
class EpisodeConduct:
    """Conduct of an episode beyond success; None for unrecorded values."""

    stages: dict[str, dict[str, int | None]] | None = None
    """Control step at which each atom of the goal reached each stage."""
    progress: float | None = None
    """Progress, 0 to 1."""
    side_effects: dict[str, Any] | None = None
    """Side effects, as `SideEffects` in JSON."""
    aftermath: dict[str, Any] | None = None
    """State after success, as `Aftermath` in JSON."""


def place_of(run: OpenRun, row: EpisodeRow, filters: Filters, sort: str = "") -> EpisodePosition:
    """The position of an episode among the filtered ones, and its neighbours."""
    where, values = filters.clause()
    by, way = _order(sort)
    order = f"OVER (ORDER BY {by} IS NULL, {by} {way}, specs.id)"
    rows = run.rows(
        "SELECT previous, next, number, total FROM (SELECT specs.id AS id, "
        f"lag(key) {order} AS previous, lead(key) {order} AS next, row_number() {order} AS number, "
        f"count(*) OVER () AS total {_FROM}{where}) WHERE id = :id",
        values | {"id": row.id},
    )
    return EpisodePosition(*rows[0]) if rows else EpisodePosition(None, None, 0, 0)


def differing(run: OpenRun, second: Path, condition: str = "", after: int = 0) -> DifferingPage:
    """Episodes whose outcome differs in the second run, errors included."""
    values = {"condition": condition, "after": after}
    with run.beside(second):
        rows = run.rows(
            "SELECT specs.id, specs.key, specs.condition, specs.task, specs.seed, episodes.instruction, "
            "episodes.outcome, those.outcome, coalesce(json_extract(specs.labels, '$.plausible'), 1) <> 0 "
            f"{_DIFFERING} AND specs.id > :after "
            f"ORDER BY specs.id LIMIT {PAGE + 1}",
            values,
        )
        total = run.rows(f"SELECT count(*) {_DIFFERING}", values)[0][0]
    found = tuple(Differing(*row) for row in rows[:PAGE])
    return DifferingPage(found, total, found[-1].id if len(rows) > PAGE else None)


def spec_of(row: EpisodeRow) -> EpisodeSpec:
    """The spec of an episode. Raises SpecError if it is invalid."""
    return EpisodeSpec.from_json(row.spec, row.labels)


def choices(path: Path) -> Choices:
    """Values that a run's episodes can be filtered by."""
    with reading(path) as run:
        return _choices(path, path.stat().st_ino, run.store.planned)


@lru_cache(maxsize=64)
def _choices(path: Path, file: int, planned: int) -> Choices:
    """Return the filter values of a run, cached until the plan grows."""
    with reading(path) as run:
        conditions = tuple(name for name, _ in run.store.conditions())
        tasks = tuple(name for (name,) in run.rows("SELECT task FROM specs GROUP BY task ORDER BY min(id)"))
        texts = run.rows("SELECT labels FROM specs GROUP BY labels ORDER BY min(id)")
    values: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for (text,) in texts:
        for name, value in json.loads(text).items():
            if len(values[name]) <= MOST_VALUES:
                values[name][value if isinstance(value, str) else json.dumps(value)] = None
    few = {name: tuple(found) for name, found in values.items() if len(found) <= MOST_VALUES}
    return Choices(conditions, tasks, few.pop("object", ()), few.pop("action", ()), few)


def _row(row: tuple[Any, ...]) -> EpisodeRow:
    (
        number,
        key,
        condition,
        task,
        seed,
        labels,
        spec,
        outcome,
        instruction,
        steps,
        seconds,
        decisions,
        *seen,
    ) = row
    touched, moved, truth, error = seen
    return EpisodeRow(
        id=number,
        key=key,
        condition=condition,
        task=task,
        seed=seed,
        labels=json.loads(labels),
        spec=spec,
        outcome=outcome,
        instruction=instruction or "",
        steps=int(steps or 0),
        seconds=float(seconds or 0.0),
        decisions=int(decisions or 0),
        touched=touched,
        moved=moved,
        truth=json.loads(truth or "{}"),
        error=error or "",
    )
