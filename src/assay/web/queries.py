"""Queries for browsing a run: pages of episodes, one episode, and differences from another run.

The queries are SQL with limits and never read whole tables. They use a read-only connection that does not disturb a
writer.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from assay.episodes.spec import CONTROL, Label
from assay.errors import AssayError
from assay.runs.rows import COUNTED, DETAILS
from assay.runs.store import Store, attach, read_connection
from assay.support.plugins import load_plugins

PAGE = 50
"""Number of episodes per page."""
MOST_VALUES = 40
"""Maximum number of values of a label offered as a filter; a label with more is considered a measurement."""
OUTCOMES = ("success", "failure", "error", "waiting")

_FROM = f"""
FROM specs LEFT JOIN stopped USING (condition) LEFT JOIN episodes USING (id)
WHERE {COUNTED}
"""
_COLUMNS = [
    *("specs.id", "key", "condition", "task", "seed", "labels", "spec", "outcome"),
    *("coalesce(instruction, '')", "coalesce(steps, 0)", "coalesce(seconds, 0.0)", "coalesce(decisions, 0)"),
    *("touched", "moved", "truth", "coalesce(error, '')"),
]
"""Columns of an `EpisodeRow`, in the order of its fields."""
_SELECT = f"SELECT {', '.join(_COLUMNS)}"
_CLAUSES = {
    "condition": "condition = :condition",
    "task": "task = :task",
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
}
"""ORDER BY expressions by sort key; ties keep plan order."""
DESCENDING = "-"
"""Prefix of a sort key for descending order."""
_DIFFERING = """
FROM specs JOIN episodes USING (id)
JOIN other.specs theirs ON theirs.key = specs.key JOIN other.episodes those ON those.id = theirs.id
WHERE episodes.outcome <> those.outcome AND (:condition = '' OR specs.condition = :condition)
"""


class NotFoundError(AssayError):
    """Raised when a run or an episode does not exist."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenRun:
    """Run opened for a page: its store, and a connection for further queries."""

    store: Store
    db: sqlite3.Connection

    def rows(self, question: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query, leaving no cursor open."""
        return self.db.execute(question, values or {}).fetchall()

    def records(self, question: str, values: Mapping[str, object]) -> list[dict[str, Any]]:
        """Return all rows of a query as dictionaries by column name."""
        cursor = self.db.execute(question, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def reading(path: Path) -> Iterator[OpenRun]:
    """Open a run for one page. Raises RunError or sqlite3.Error."""
    with Store.reading(path) as store, closing(read_connection(path, timeout=10)) as db:
        load_plugins(store.meta.get("plugins", ()))  # the report lists missing ones
        yield OpenRun(store, db)


Text = Annotated[str, Field(max_length=300)]


class Filters(BaseModel):
    """Filter and sort order of episodes, as query parameters of a page; an empty filter admits all episodes."""

    model_config = ConfigDict(frozen=True)

    condition: Text = ""
    task: Text = ""
    outcome: Literal["", "success", "failure", "error", "waiting"] = ""
    object: Text = ""
    action: Text = ""
    label: Text = ""
    """Label and value, as ``name=value``."""
    says: Text = ""
    """Words that the instruction must contain, in any order."""
    sort: Annotated[str, Field(pattern=f"^(-?({'|'.join(filter(None, SORTS))}))?$")] = ""

    def query(self, **more: int | str) -> str:
        """Return the query string for a URL."""
        return urlencode({name: value for name, value in (dict(self) | more).items() if value != ""})

    def sorted_by(self, name: str) -> str:
        """Return the query string that sorts by a column, in descending order if the page is already sorted by it."""
        return self.query(sort=f"{DESCENDING}{name}" if self.sort == name else name)

    def direction(self, name: str) -> str:
        """Return the value of ``aria-sort`` for a column."""
        return {name: "ascending", f"{DESCENDING}{name}": "descending"}.get(self.sort, "none")

    @property
    def active(self) -> bool:
        """Whether the filter is not empty."""
        return bool(self.query(sort=""))

    def clause(self) -> tuple[str, dict[str, str]]:
        """Return the WHERE condition in SQL and its parameters."""
        given: dict[str, str] = {name: value for name in _CLAUSES if (value := getattr(self, name))}
        clauses = [_CLAUSES[name] for name in given]
        if self.outcome in ("", "waiting"):
            clauses.append("outcome IS NULL" if self.outcome else "outcome IS NOT NULL")
        else:
            clauses.append("outcome = :outcome")
            given["outcome"] = self.outcome
        for number, word in enumerate(self.says.split()):
            plain = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            clauses.append(f"instruction LIKE :word{number} ESCAPE '\\'")
            given[f"word{number}"] = f"%{plain}%"
        if self.label:
            name, _, value = self.label.partition("=")
            clauses.append(_LABEL)
            given |= {"label": f'$."{name.replace(chr(34), "")}"', "value": value}
        return "".join(f" AND {clause}" for clause in clauses), given

    def order(self) -> str:
        """Return the ORDER BY clause; episodes without a value come last."""
        by = SORTS[self.sort.removeprefix(DESCENDING)]
        way = "DESC" if self.sort.startswith(DESCENDING) else "ASC"
        return f"ORDER BY {by} IS NULL, {by} {way}, specs.id"


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """Planned episode, with its result if it has been executed."""

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
    """Intervals of steps [first, last) in which each atom of the goal was true."""
    error: str


def read_page(run: OpenRun, filters: Filters, number: int = 1, size: int = PAGE) -> dict[str, Any]:
    """Return a page of filtered and sorted episodes, or the last page if the requested one does not exist.

    The page has ``rows``, its ``number`` from 1, the number of episodes ``before`` it, the ``total`` number of
    episodes, and ``page_count``.
    """
    where, values = filters.clause()
    (total,) = run.rows(f"SELECT count(*) {_FROM}{where}", values)[0]
    page_count = max(1, -(-total // size))
    number = min(number, page_count)
    before = (number - 1) * size
    rows = run.rows(f"{_SELECT} {_FROM}{where} {filters.order()} LIMIT {size} OFFSET {before}", values)
    page = {"rows": [*map(_decode, rows)], "total": total, "number": number, "before": before}
    return page | {"page_count": page_count}


def read_episode(run: OpenRun, key: str) -> EpisodeRow:
    """Return the planned episode with the given key. Raises NotFoundError if none exists."""
    rows = run.rows(f"{_SELECT} FROM specs LEFT JOIN episodes USING (id) WHERE key = :key", {"key": key})
    if not rows:
        raise NotFoundError(f"the run has no episode '{key[:40]}'")
    return _decode(rows[0])


def read_control(run: OpenRun, row: EpisodeRow) -> EpisodeRow | None:
    """Return the recorded control of an episode: the first unperturbed episode with the same task and seed."""
    if row.condition == CONTROL:
        return None
    rows = run.rows(
        f"{_SELECT} FROM specs JOIN episodes USING (id) "
        "WHERE condition = :control AND task = :task AND seed = :seed ORDER BY specs.id LIMIT 1",
        {"control": CONTROL, "task": row.task, "seed": row.seed},
    )
    return _decode(rows[0]) if rows else None


def read_detail(run: OpenRun, row: EpisodeRow, table: str) -> Any:
    """Return the value stored for an episode in one of the detail tables, or None if it has no value."""
    rows = run.rows(f"SELECT {DETAILS[table]} FROM {table} WHERE id = :id", {"id": row.id})
    return json.loads(rows[0][0]) if rows else None


def locate(run: OpenRun, row: EpisodeRow, filters: Filters) -> dict[str, Any]:
    """Return the position of an episode among the filtered episodes.

    The result has the keys of the ``previous`` and ``next`` episodes, its ``number``, and the ``total``. The number
    counts from 1; it is 0 if the episode is filtered out.
    """
    where, values = filters.clause()
    order = f"OVER ({filters.order()})"
    rows = run.records(
        "SELECT previous, next, number, total FROM (SELECT specs.id AS id, "
        f"lag(key) {order} AS previous, lead(key) {order} AS next, row_number() {order} AS number, "
        f"count(*) OVER () AS total {_FROM}{where}) WHERE id = :id",
        values | {"id": row.id},
    )
    return rows[0] if rows else {"previous": None, "next": None, "number": 0, "total": 0}


def read_differing(run: OpenRun, second: Path, condition: str = "", after: int = 0) -> dict[str, Any]:
    """Return a page of the episodes whose outcome differs in the second run, including errors.

    The page has ``rows``, their ``total`` number, and ``next``, the id after which the next page starts.
    """
    values = {"condition": condition, "after": after}
    with Store.reading(second), attach(run.db, second):
        rows = run.records(
            "SELECT specs.id, specs.key, specs.condition, specs.task, specs.seed, episodes.instruction, "
            "episodes.outcome AS first, those.outcome AS second, "
            "coalesce(json_extract(specs.labels, '$.plausible'), 1) <> 0 AS plausible "
            f"{_DIFFERING} AND specs.id > :after ORDER BY specs.id LIMIT {PAGE + 1}",
            values,
        )
        total = run.rows(f"SELECT count(*) {_DIFFERING}", values)[0][0]
    return {
        "rows": rows[:PAGE],
        "total": total,
        "next": rows[PAGE - 1]["id"] if len(rows) > PAGE else None,
    }


def read_choices(path: Path) -> dict[str, Any]:
    """Return the values by which the episodes of a run can be filtered: conditions, tasks, objects, actions, labels.

    ``labels`` contains the values, as text, of each label that has few values.
    """
    with reading(path) as run:
        conditions = tuple(name for name, _ in run.store.conditions())
        tasks = tuple(name for (name,) in run.rows("SELECT task FROM specs GROUP BY task ORDER BY min(id)"))
        texts = run.rows("SELECT labels FROM specs GROUP BY labels ORDER BY min(id)")
    labels: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for (text,) in texts:
        for name, value in json.loads(text).items():
            if len(labels[name]) <= MOST_VALUES:
                labels[name][value if isinstance(value, str) else json.dumps(value)] = None
    few = {name: tuple(values) for name, values in labels.items() if len(values) <= MOST_VALUES}
    return {
        "conditions": conditions,
        "tasks": tasks,
        "objects": few.pop("object", ()),
        "actions": few.pop("action", ()),
        "labels": few,
    }


def _decode(row: tuple[Any, ...]) -> EpisodeRow:
    """Return a row of `_COLUMNS` with its JSON decoded."""
    values = list(row)
    for place in (_COLUMNS.index("labels"), _COLUMNS.index("truth")):
        values[place] = json.loads(values[place] or "{}")
    return EpisodeRow(*values)
