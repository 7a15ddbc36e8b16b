"""What the cells of a run's file may hold: checked when it is opened, so that nobody above has to.

A file comes from another machine, a failing disk, somebody else. Every cell of the plan, of the episodes and of what
belongs to them is held to its type, its range and its shape; a spec must have the key that its text gives. What does
not fit is *damaged*: a spec or an episode is left out, and so is a value that an episode can do without, such as one
label; labels of one name that are of several types are read as texts. `conceal` puts views in front of the tables,
under their names, so that every query reads the sound rows alone; a sound file has none and costs nothing more.
Trajectories are checked as they are read.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, JsonValue, TypeAdapter

from assay.episodes.episode import Outcome
from assay.episodes.latency import MOST_LATENCY, WhileWaiting
from assay.episodes.spec import Label, key_of

MOST_STEPS = 10_000_000
"""Of an episode; more is no episode of anybody's."""
LARGEST = 2**63 - 1
"""The largest whole number of a table's column."""
FURTHEST = 1e6
"""Metres; nothing stands or goes farther."""

Count = Annotated[int, Field(strict=True, ge=0, le=MOST_STEPS)]
Span = Annotated[
    tuple[Count, Count], AfterValidator(lambda span: span if span[0] <= span[1] else _refuse("ends first"))
]
Metres = Annotated[float, Field(ge=-FURTHEST, le=FURTHEST)]
Milliseconds = Annotated[float, Field(ge=0, le=1e12)]
Whole = Annotated[int, Field(strict=True, ge=-LARGEST, le=LARGEST)]
Plain = Annotated[bool, Field(strict=True)] | Whole | FiniteFloat | str | None

Amount = Annotated[float, Field(ge=0, le=1e9)]


class _SideEffects(BaseModel, extra="allow"):
    """What `SideEffects` is as JSON."""

    moved: dict[str, Amount]
    tilted: dict[str, Annotated[float, Field(ge=0, le=180)]]
    opened: dict[str, Amount]
    forces: dict[str, Amount]
    arm: dict[str, Count]
    path: Amount
    jerk: Amount


class _Aftermath(BaseModel, extra="allow"):
    steps: Count
    holds: Annotated[bool, Field(strict=True)]
    rest: Annotated[bool, Field(strict=True)]


class _Happened(BaseModel, extra="allow"):
    """An event of an episode."""

    event: str
    due: Count | None
    step: Count | None
    told: str = ""


_LABELS: TypeAdapter[dict[str, Label]] = TypeAdapter(dict[str, Plain])
_LABEL: TypeAdapter[Label] = TypeAdapter(Plain)
_SPANS: TypeAdapter[Any] = TypeAdapter(dict[str, list[Span]])
CELLS: dict[str, TypeAdapter[Any]] = {
    "initial_positions": TypeAdapter(dict[str, tuple[Metres, Metres, Metres]]),
    "contacts": _SPANS,
    "clipped": TypeAdapter(Count),
    "traceback": TypeAdapter(str),
    "inference": TypeAdapter(list[Milliseconds]),
    "events": TypeAdapter(list[_Happened]),
    "stages": TypeAdapter(dict[str, dict[str, Count | None]]),
    "progress": TypeAdapter(Annotated[float, Field(ge=0, le=1)]),
    "side_effects": TypeAdapter(_SideEffects),
    "aftermath": TypeAdapter(_Aftermath),
}
"""What the JSON of a table beside the episodes must be."""
KINDS: dict[str, str] = {
    **dict.fromkeys(("plausible", "guessable", "milder"), "bool"),
    **dict.fromkeys(("axis", "change", "action", "object", "asked_from", "named"), "text"),
    **dict.fromkeys(
        ("pd", "chance", "best", "distance", "rung", "reference_steps", "limit_factor"), "number"
    ),
}
"""Labels that measures know by name, and what they are."""


class _Spec(BaseModel, extra="forbid", strict=True):
    """The plain fields of a spec's canonical JSON."""

    condition: str
    initial: Literal["sampled", "stored"]
    latency: Annotated[int, Field(ge=1, le=MOST_LATENCY)] = 0
    pack: str
    perturbations: list[dict[str, JsonValue]]
    replan: Annotated[int, Field(ge=1, le=MOST_STEPS)] | None
    seed: Whole
    start: Whole | None = None
    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)] | None
    suite: str
    task: str
    while_waiting: WhileWaiting = "play"


class _Plugin(BaseModel, extra="allow"):
    module: str
    digest: str | None = None


class _Shard(BaseModel, extra="allow", strict=True):
    number: Annotated[int, Field(ge=1, le=100_000)]
    of: Annotated[int, Field(ge=1, le=100_000)]
    plan: str


class _Shards(BaseModel, extra="allow", strict=True):
    of: Annotated[int, Field(ge=1, le=100_000)]
    there: list[Annotated[int, Field(ge=1, le=100_000)]]


class _World(BaseModel, extra="allow", strict=True):
    name: str
    continuous: bool = True
    start_columns: list[str] = []
    demonstrator: str | None = None
    clips: Annotated[int, Field(ge=0, le=1000)] = 0


class _Rule(BaseModel, extra="allow"):
    rule: str
    episodes: Count
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]


_OBJECT: TypeAdapter[Any] = TypeAdapter(dict[str, JsonValue])
_TEXTS: TypeAdapter[Any] = TypeAdapter(list[str])
_META: dict[str, TypeAdapter[Any]] = {
    **dict.fromkeys(("experiment", "policy", "pack", "label", "started", "states_folder"), TypeAdapter(str)),
    **dict.fromkeys(("settings", "policy_metadata", "policy_identity"), _OBJECT),
    **dict.fromkeys(("conditions", "merged", "mended"), _TEXTS),
    "plugins": TypeAdapter(list[_Plugin]),
    "refused": TypeAdapter(list[tuple[str, str, Whole, str]]),
    "resumed": TypeAdapter(list[dict[str, JsonValue]]),
    "world": TypeAdapter(_World),
    "expected": TypeAdapter(Count),
    "shard": TypeAdapter(_Shard),
    "shards": TypeAdapter(_Shards),
}
"""What values of the meta table must be that something hangs on; others may be any JSON."""
_ANY: TypeAdapter[Any] = TypeAdapter(JsonValue)
_RULE: TypeAdapter[Any] = TypeAdapter(_Rule)

LABELS = "labels"
"""The part of a spec of which single values can be left out."""
LIST = "damaged"
"""The table of what is left out, on a connection to a damaged run: part and id."""
SPEC = "key, experiment, condition, task, seed, scene, spec, labels"
EPISODE = "outcome, instruction, steps, seconds, decisions, images, attempts, touched, moved, truth, error, transient"
_SPEC_TYPES = (str, str, str, str, int, str, str, str)
_TEXT_OR_NONE = (str, type(None))
_EPISODE_TYPES = frozenset(
    (str, str, int, seconds, int, int, int, touched, moved, str, str, int)
    for seconds in (float, int)
    for touched in _TEXT_OR_NONE
    for moved in _TEXT_OR_NONE
)
_OUTCOMES = frozenset(map(str, Outcome))
_NOT_UNICODE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Damage:
    """What of a run's file is left out."""

    rows: dict[str, dict[int, str]] = field(
        default_factory=lambda: {part: {} for part in ("specs", "episodes", LABELS, *CELLS)}
    )
    """Table, or `LABELS` -> id -> what is wrong; all are there from the start, as threads share this."""
    lenient: bool = False
    """Whether it has text that is no UTF-8."""

    def __bool__(self) -> bool:
        return any(self.rows.values())

    @property
    def episodes(self) -> dict[str, int]:
        """Why episodes are left out, and how many, by reason."""
        found = Counter((self.rows["specs"] | self.rows["episodes"]).values())
        return dict(sorted(found.items()))

    @property
    def values(self) -> dict[str, int]:
        """Tables beside the episodes of which values are left out, and how many."""
        return {table: len(found) for table, found in self.rows.items() if table in CELLS and found}


def examine(db: sqlite3.Connection, sources: Mapping[str, str]) -> Damage:
    """What of a run is damaged; ``sources`` are the queries that give its tables under their present names."""
    try:
        return _examined(db, sources)
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    db.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    found = _examined(db, sources, lenient=True)
    found.lenient = True
    return found


def conceal(db: sqlite3.Connection, damage: Damage, sources: Mapping[str, str], prefix: str = "") -> None:
    """Let every query on this connection read the sound rows alone: views under the tables' names.

    With a ``prefix`` the views, and the list of what they leave out, have it before their names.
    """
    for table in sources:
        db.execute(f"DROP VIEW IF EXISTS temp.{prefix}{table}")
    if damage.lenient:
        db.text_factory = lambda raw: raw.decode(errors="replace")
    db.execute(f"DROP TABLE IF EXISTS temp.{prefix}{LIST}")
    db.execute(
        f"CREATE TEMP TABLE {prefix}{LIST} (part TEXT, id INTEGER, PRIMARY KEY (part, id)) WITHOUT ROWID"
    )
    db.executemany(
        f"INSERT INTO temp.{prefix}{LIST} VALUES (?, ?)",
        [(table, number) for table, found in damage.rows.items() for number in found],
    )
    for table, source in sources.items():
        needed = ("specs",) if table == "specs" else ("specs", "episodes", table)
        parts = ", ".join(f"'{each}'" for each in needed)
        db.execute(
            f"CREATE TEMP VIEW {prefix}{table} AS SELECT * FROM ({source}) "
            f"WHERE id NOT IN (SELECT id FROM temp.{prefix}{LIST} WHERE part IN ({parts}))"
        )


def labels_of(text: object) -> dict[str, Label]:
    """An episode's labels. Raises ValueError."""
    found = _labels(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("labels that are no JSON object")
    return dict(found[0])


def fitted(several: Iterable[Mapping[str, Label]]) -> list[dict[str, Label]]:
    """The labels of a run, each name of one type: texts where some are, numbers where some are no yes or no.

    Labels that measures know by name, and that are something else, are None.
    """
    several = list(several)
    texts, mixed = as_texts(several), _half_numbers(several)

    def fit(name: str, value: Label) -> Label:
        if value is None or (known := KINDS.get(name)) not in (None, "text", _kind(name, value)):
            return None
        if name in texts:
            return str(value)
        number = known == "number" or (known is None and name in mixed)
        return int(value) if isinstance(value, bool) and number else value

    return [{name: fit(name, value) for name, value in each.items()} for each in several]


def _half_numbers(several: Iterable[Mapping[str, Label]]) -> set[str]:
    """The names of labels that are yes or no in some places, and numbers in others."""
    found: defaultdict[str, set[bool]] = defaultdict(set)
    for each in several:
        for name, value in each.items():
            if isinstance(value, int | float):
                found[name].add(isinstance(value, bool))
    return {name for name, kinds in found.items() if len(kinds) > 1}


def as_texts(labels: Iterable[Mapping[str, Label]]) -> set[str]:
    """The names of labels of which some values are texts and others are not: in one run, all must be texts."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for label in labels:
        for name, value in label.items():
            if value is not None:
                kinds[name].add(_kind(name, value))
    return {
        name
        for name, found in kinds.items()
        if (len(found) > 1 and name not in KINDS) or (KINDS.get(name) == "text" and found != {"text"})
    }


def as_stored(db: sqlite3.Connection, name: str, value: str, table: str) -> list[tuple[object, object]]:
    """Names and values of a table as the bytes that it has: one that is no UTF-8 must not hide the others."""
    rows = db.execute(f"SELECT CAST({name} AS BLOB), CAST({value} AS BLOB) FROM {table}").fetchall()
    return [(_decoded(name), value) for name, value in rows]


def _decoded(raw: object) -> object:
    try:
        return raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        return raw


def meta_of(rows: Iterable[tuple[object, object]]) -> tuple[dict[str, Any], list[str]]:
    """The values of a run's meta table, and the names of those that are damaged."""
    found: dict[str, Any] = {}
    damaged = []
    for name, value in rows:
        shown = name if isinstance(name, str) and _is_text(name) else repr(name)[:40]
        try:
            if shown is not name or not isinstance(value, str | bytes):
                raise ValueError
            _META.get(shown, _ANY).validate_json(value)
            read = _ANY.validate_json(value)
            json.dumps(read, allow_nan=False)  # which JSON has no number for
            found[shown] = read
        except (ValueError, RecursionError):
            damaged.append(shown)
    return found, damaged


def rules_of(rows: Iterable[tuple[object, object]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The rules by which conditions were stopped, and what they saw; and the conditions whose rule is damaged."""
    found: dict[str, dict[str, Any]] = {}
    damaged = []
    for condition, text in rows:
        if isinstance(condition, str) and _is_text(condition) and _fits(_RULE, text):
            found[condition] = _OBJECT.validate_json(text)  # type: ignore[arg-type]
        else:
            damaged.append(repr(condition)[:40])
    return found, damaged


def _examined(db: sqlite3.Connection, sources: Mapping[str, str], *, lenient: bool = False) -> Damage:
    for question in (
        "SELECT name, value FROM meta LIMIT 0",
        "SELECT condition, last, rule FROM stopped LIMIT 0",
        f"SELECT id, steps, end_effector, gripper, actions FROM ({sources['trajectories']}) LIMIT 0",
    ):
        db.execute(question)  # what is not there cannot be left out: it raises
    damage = Damage()
    specs = damage.rows["specs"]
    known = set()
    for number, *cells in db.execute(f"SELECT id, {SPEC} FROM ({sources['specs']})"):
        known.add(number)
        if (why := _foreign(cells, lenient) or _spec_fault(cells)) is not None:
            specs[number] = why
        elif unfit := _unfit(cells[-1]):
            damage.rows[LABELS][number] = unfit
    for number, *cells in db.execute(f"SELECT id, {EPISODE} FROM ({sources['episodes']})"):
        if (why := _foreign(cells, lenient) or _episode_fault(cells)) is not None:
            damage.rows["episodes"][number] = why
        elif number not in known:
            damage.rows["episodes"][number] = "an episode that is not planned"
    for table, adapter in CELLS.items():
        if table in sources:
            for number, cell in db.execute(sources[table]):
                if not _fits(adapter, cell):
                    damage.rows[table][number] = f"its {table.replace('_', ' ')}"
    return damage


def _spec_fault(cells: list[Any]) -> str | None:
    """What is wrong with a row of the plan."""
    key, experiment, condition, task, seed, _, spec, labels = cells
    if tuple(map(type, cells)) != _SPEC_TYPES:
        return "a cell of its spec has a wrong type"
    if _labels(labels) is None:
        return "labels that are no JSON object"
    if key != key_of(spec):
        return "a spec that does not have its key"
    said = _said(spec.replace(f'"seed":{seed},', '"seed":0,', 1))  # seeds of one condition share the rest
    if said is None:
        return "a spec that is none"
    named = f'"seed":{seed},' in spec
    return None if said == (experiment, condition, task) and named else "a spec that is another's"


def _episode_fault(cells: list[Any]) -> str | None:
    """What is wrong with a recorded episode."""
    outcome, _, steps, seconds, decisions, images, attempts, _, _, truth, _, transient = cells
    if isinstance(outcome, str) and outcome not in _OUTCOMES:
        return f"the outcome {outcome[:40].encode(errors='replace').decode()!r}"
    if tuple(map(type, cells)) not in _EPISODE_TYPES:
        return "a cell of its record has a wrong type"
    if not all(0 <= count <= MOST_STEPS for count in (steps, decisions, images, attempts)):
        return "a count that cannot be"
    if not (0 <= seconds < 1e9 and transient in (0, 1)):
        return "a number that cannot be"
    return None if _fits(_SPANS, truth) else "when its goal was true is not told"


@lru_cache(maxsize=4096)
def _said(spec: str) -> tuple[str, str, str] | None:
    """Experiment, condition and task of a spec's text; None where it is none."""
    try:
        plain = _Spec.model_validate_json(spec)
    except (ValueError, RecursionError):
        return None
    return plain.suite, plain.condition, plain.task


def _foreign(cells: list[Any], lenient: bool) -> str | None:
    """Whether a row has text that is no Unicode; one that was read strictly has none."""
    return None if not lenient or all(map(_is_text, cells)) else "text that is no Unicode"


@lru_cache(maxsize=4096)
def _unfit(text: str) -> str:
    """The names of labels, with commas, that are no plain value or not what measures know under their name."""
    found, lost = _labels(text) or ({}, ())
    other = [
        name
        for name, value in found.items()
        if value is not None and KINDS.get(name) not in (None, "text", _kind(name, value))
    ]
    return ", ".join(repr(name)[:40] for name in sorted({*lost, *other}))


def _kind(name: str, value: Label) -> str:
    """What a label is; yes and no are numbers, unless they are known to be neither more nor less."""
    if isinstance(value, bool) and KINDS.get(name) == "bool":
        return "bool"
    return "text" if isinstance(value, str) else "number"


@lru_cache(maxsize=4096)
def _labels(text: str) -> tuple[dict[str, Label], tuple[str, ...]] | None:
    """Labels, which many specs share, and the names of those that are no plain values; None where it is no object."""
    try:
        found = _LABELS.validate_json(text)
    except (ValueError, RecursionError):
        try:
            raw = _OBJECT.validate_json(text)
            json.dumps(raw, allow_nan=False)  # which SQLite's JSON may not read
        except (ValueError, RecursionError):
            return None
        found = {name: _LABEL.validate_python(value) for name, value in raw.items() if _is_plain(value)}
        return _named(found), tuple(name for name in raw if name not in _named(found))
    return _named(found), tuple(found.keys() - _named(found).keys())


def _named(labels: dict[str, Label]) -> dict[str, Label]:
    """Labels without one that is called as the column that they come from."""
    return {name: value for name, value in labels.items() if name != LABELS}


def _is_plain(value: object) -> bool:
    try:
        _LABEL.validate_python(value)
    except ValueError:
        return False
    return True


def _fits(adapter: TypeAdapter[Any], cell: object) -> bool:
    """Whether a cell is JSON of a shape; a number that SQLite keeps as one is its own JSON."""
    try:
        adapter.validate_json(str(cell) if isinstance(cell, int | float) else cell)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _is_text(value: object) -> bool:
    return not isinstance(value, str) or value.isascii() or not _NOT_UNICODE.search(value)


def _refuse(why: str) -> Any:
    raise ValueError(why)
