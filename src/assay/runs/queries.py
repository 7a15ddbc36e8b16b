"""Questions about a run for people who browse it: some of its episodes, one, what differs from another run.

SQL with limits, no whole tables, over a connection that only reads: a driver that writes is not disturbed.
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
from assay.runs.rows import COUNTED
from assay.runs.store import Store, attached, read_connection
from assay.support.plugins import load_plugins

PAGE = 50
"""Episodes on one page."""
MOST_VALUES = 40
"""A label with more values is a measurement, and nothing to choose from."""
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
"""What episodes can be sorted by; equal ones are in the plan's order. ``diverges`` is told by whoever asks."""
DESCENDING = "-"
"""Before the name of what is sorted by: the other way round."""
_DIFFERING = """
FROM specs JOIN episodes USING (id)
JOIN other.specs theirs ON theirs.key = specs.key JOIN other.episodes those ON those.id = theirs.id
WHERE episodes.outcome <> those.outcome AND (:condition = '' OR specs.condition = :condition)
"""


class NotFoundError(AssayError):
    """There is nothing of that name."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a page reads: a run's store, and a connection for questions the store does not answer."""

    store: Store
    _db: sqlite3.Connection

    def rows(self, question: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """What a query gives; all of it, so that nothing stays open."""
        return self._db.execute(question, values or {}).fetchall()

    def tell(self, name: str, value: Callable[[int], float | None]) -> None:
        """Let questions use a number for each episode's id."""
        self._db.create_function(name, 1, value)

    @contextmanager
    def beside(self, path: Path) -> Iterator[None]:
        """Make another run's tables available as ``other.specs`` and so on."""
        with Store.reading(path), attached(self._db, path):
            yield


@contextmanager
def reading(path: Path) -> Iterator[Run]:
    """Open a run for as long as one page needs it. Raises RunError, or sqlite3's errors, where it is none."""
    with Store.reading(path) as store, closing(read_connection(path, timeout=10)) as db:
        load_plugins(store.meta.get("plugins", ()))  # what is missing is told by the report
        yield Run(store, db)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which episodes are asked for; empty means all."""

    condition: str = ""
    task: str = ""
    outcome: str = ""
    object: str = ""
    action: str = ""
    label: str = ""
    """name=value"""
    says: str = ""
    """Words that the instruction holds, in any order."""

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
class Row:
    """A planned episode, and what happened if it has been done."""

    id: int
    key: str
    condition: str
    task: str
    seed: int
    labels: dict[str, Label]
    spec: str
    """As canonical JSON."""
    outcome: str | None
    instruction: str
    steps: int
    seconds: float
    decisions: int
    touched: str | None
    moved: str | None
    truth: dict[str, list[tuple[int, int]]]
    """When each atom of the goal was true: steps [first, last)."""
    error: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the episodes asked for."""

    rows: tuple[Row, ...]
    total: int
    number: int
    """Which page it is, from 1."""
    size: int
    """Episodes on a page."""

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.total // self.size))

    @property
    def before(self) -> int:
        """How many episodes come before these."""
        return (self.number - 1) * self.size


@dataclass(frozen=True, slots=True)
class Place:
    """Where an episode stands among those asked for."""

    previous: str | None
    """The key of the one before it."""
    next: str | None
    number: int
    """From 1; 0 where it is not among them."""
    total: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be chosen from in a run."""

    conditions: tuple[str, ...]
    tasks: tuple[str, ...]
    objects: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Values as texts, by name; those with few values."""


@dataclass(frozen=True, slots=True)
class Differing:
    """An episode that ended otherwise in the other run."""

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
    """Some of the episodes that differ."""

    rows: tuple[Differing, ...]
    total: int
    next: int | None
    """Ask for those after this id to go on."""


def page(run: Run, filters: Filters, sort: str = "", number: int = 1, size: int = PAGE) -> Page:
    """A page of the episodes asked for, sorted; the last one where there are fewer."""
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
    """What is sorted by, and which way."""
    return SORTS[sort.removeprefix(DESCENDING)], "DESC" if sort.startswith(DESCENDING) else "ASC"


def one(run: Run, key: str) -> Row:
    """The planned episode of that key. Raises NotFoundError."""
    rows = run.rows(
        f"SELECT {_COLUMNS} FROM specs LEFT JOIN episodes USING (id) WHERE key = :key", {"key": key}
    )
    if not rows:
        raise NotFoundError(f"the run has no episode '{key[:40]}'")
    return _row(rows[0])


def control_of(run: Run, row: Row) -> Row | None:
    """The recorded control of an episode: the first unperturbed one of its task and seed."""
    if row.condition == CONTROL:
        return None
    rows = run.rows(
        f"SELECT {_COLUMNS} FROM specs JOIN episodes USING (id) "
        "WHERE condition = :control AND task = :task AND seed = :seed ORDER BY specs.id LIMIT 1",
        {"control": CONTROL, "task": row.task, "seed": row.seed},
    )
    return _row(rows[0]) if rows else None


def traceback_of(run: Run, row: Row) -> str:
    """Where in somebody's own code an episode broke; empty where nothing did."""
    rows = run.rows("SELECT lines FROM traceback WHERE id = :id", {"id": row.id})
    return json.loads(rows[0][0]) if rows else ""


def clipped_of(run: Run, row: Row) -> int:
    """How many actions of an episode were cut to [-1, 1]."""
    rows = run.rows("SELECT cut FROM clipped WHERE id = :id", {"id": row.id})
    return int(rows[0][0]) if rows else 0


def events_of(run: Run, row: Row) -> list[dict[str, Any]]:
    """What was to happen during an episode, and whether and when it did; empty where nothing was."""
    rows = run.rows("SELECT happened FROM events WHERE id = :id", {"id": row.id})
    return json.loads(rows[0][0]) if rows else []


def contacts_of(run: Run, row: Row) -> dict[str, list[tuple[int, int]]]:
    """When the robot touched each thing, steps [first, last), in the order of the first touches."""
    rows = run.rows("SELECT intervals FROM contacts WHERE id = :id", {"id": row.id})
    found = json.loads(rows[0][0]) if rows else None
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Conduct:
    """How an episode went, beyond success; what is not known is None."""

    stages: dict[str, dict[str, int | None]] | None = None
    """When each atom of the goal came to which stage, control steps."""
    progress: float | None = None
    """0 to 1."""
    side_effects: dict[str, Any] | None = None
    """As `SideEffects` is in JSON."""
    aftermath: dict[str, Any] | None = None
    """As `Aftermath` is in JSON."""


def conduct_of(run: Run, row: Row) -> Conduct:
    """How an episode went, beyond success."""
    found = run.rows(
        "SELECT reached, score, effects, after FROM specs LEFT JOIN stages USING (id) LEFT JOIN progress USING (id) "
        "LEFT JOIN side_effects USING (id) LEFT JOIN aftermath USING (id) WHERE specs.id = :id",
        {"id": row.id},
    )
    return Conduct(*(None if cell is None else json.loads(cell) for cell in found[0])) if found else Conduct()


def place_of(run: Run, row: Row, filters: Filters, sort: str = "") -> Place:
    """Where an episode stands among those asked for, and its neighbours there."""
    where, values = filters.clause()
    by, way = _order(sort)
    order = f"OVER (ORDER BY {by} IS NULL, {by} {way}, specs.id)"
    rows = run.rows(
        "SELECT previous, next, number, total FROM (SELECT specs.id AS id, "
        f"lag(key) {order} AS previous, lead(key) {order} AS next, row_number() {order} AS number, "
        f"count(*) OVER () AS total {_FROM}{where}) WHERE id = :id",
        values | {"id": row.id},
    )
    return Place(*rows[0]) if rows else Place(None, None, 0, 0)


def differing(run: Run, second: Path, condition: str = "", after: int = 0) -> DifferingPage:
    """The episodes of a run whose outcome is another in the second one, errors included."""
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


def spec_of(row: Row) -> EpisodeSpec:
    """The spec of an episode. Raises SpecError where the file holds something else."""
    return EpisodeSpec.from_json(row.spec, row.labels)


def choices(path: Path) -> Choices:
    """What a run's episodes can be filtered by."""
    with reading(path) as run:
        return _choices(path, path.stat().st_ino, run.store.planned)


@lru_cache(maxsize=64)
def _choices(path: Path, file: int, planned: int) -> Choices:
    """Kept until the plan grows: it never changes otherwise."""
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


def _row(row: tuple[Any, ...]) -> Row:
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
    return Row(
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
