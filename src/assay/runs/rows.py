"""The tables of a run file: their schema, and the conversion between rows and specs, episodes and trajectories."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import BaseModel, Field, JsonValue, field_validator

from assay.episodes.episode import Episode, Trajectory
from assay.episodes.spec import Label

APPLICATION = 0x41535359
"""SQLite application id of run files: "ASSY"."""
VERSION = 2
"""Version of the schema."""
MAX_VALUES_PER_STEP = 64
"""Maximum number of values that a trajectory stores per control step."""
_BLOCK = 10_000
"""Number of rows that are converted to a data frame at a time."""
DETAILS = {
    "initial_positions": "positions",
    "contacts": "intervals",
    "clipped": "cut",
    "traceback": "lines",
    "inference": "milliseconds",
    "events": "happened",
    "stages": "reached",
    "progress": "score",
    "side_effects": "effects",
    "aftermath": "after",
}
"""Tables with one JSON value per episode, and the column that holds it."""
KNOWN_IF_EMPTY = frozenset({"contacts", "clipped", "stages", "progress"})
"""Tables of `DETAILS` in which an empty value or 0 carries information."""
DETAIL_TABLES = "".join(
    f"CREATE TABLE {table} (id INTEGER PRIMARY KEY REFERENCES specs, {column} TEXT NOT NULL);\n"
    for table, column in DETAILS.items()
)
UNCOUNTED = "uncounted"
"""Name of the table of planned episodes that do not count, because their condition was decided before them."""
DETAIL_TABLES += f"CREATE TABLE {UNCOUNTED} (id INTEGER PRIMARY KEY REFERENCES specs);\n"
COUNTED = f"(last IS NULL OR key <= last) AND specs.id NOT IN (SELECT id FROM {UNCOUNTED})"
"""SQL condition for whether an episode counts, for queries that join ``stopped`` with ``specs``."""
SPEC = "key, experiment, condition, task, seed, scene, spec, labels"
EPISODE = "outcome, instruction, steps, seconds, decisions, images, attempts, touched, moved, truth, error, transient"
INVALID = """
SELECT count(*) FROM specs LEFT JOIN episodes USING (id)
WHERE NOT (json_valid(spec) AND json_valid(labels) AND json_valid(coalesce(truth, '{}')))
   OR json_type(labels) != 'object'
   OR coalesce(outcome, 'error') NOT IN ('success', 'failure', 'error')
"""
"""SQL query for the number of planned or recorded episodes that cannot be decoded."""
SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE specs (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    condition TEXT NOT NULL,
    task TEXT NOT NULL,
    seed INTEGER NOT NULL,
    scene TEXT NOT NULL,
    spec TEXT NOT NULL,
    labels TEXT NOT NULL
);
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY REFERENCES specs,
    outcome TEXT NOT NULL,
    instruction TEXT NOT NULL,
    steps INTEGER NOT NULL,
    seconds REAL NOT NULL,
    decisions INTEGER NOT NULL,
    images INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    touched TEXT,
    moved TEXT,
    truth TEXT NOT NULL,
    error TEXT NOT NULL,
    transient INTEGER NOT NULL
);
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY REFERENCES specs,
    steps INTEGER NOT NULL,
    end_effector BLOB NOT NULL,
    gripper BLOB NOT NULL,
    actions BLOB NOT NULL
);
{DETAIL_TABLES}CREATE TABLE stopped (condition TEXT PRIMARY KEY, last TEXT NOT NULL, rule TEXT NOT NULL) WITHOUT ROWID;
COMMIT;
"""

MOST = (
    "CASE WHEN effects IS NOT NULL "
    "THEN (SELECT CAST(coalesce(max(value), 0) AS REAL) FROM json_each(effects, '$.{}')) END"
)
"""SQL expression for an episode's largest value of one side effect over all objects; 0 if there is none."""
_START = "coalesce(json_extract(spec, '$.start'), seed)"
_RECORDED = "FROM specs JOIN episodes USING (id) LEFT JOIN stopped USING (condition)"
OUTCOMES = f"""
SELECT key, condition, task, seed, {_START}, instruction, outcome, json_extract(labels, '$.plausible') IS NOT 0
{_RECORDED} WHERE {COUNTED} ORDER BY specs.id
"""
"""SQL query for the columns that success rates and comparisons need."""
FRAME = f"""
SELECT specs.id, key, experiment, condition, task, seed,
       {_START} AS start,
       labels, instruction, outcome, steps, seconds, decisions, images, attempts, touched, moved, truth, error,
       positions, intervals, (SELECT CAST(cut AS INTEGER) FROM clipped WHERE clipped.id = specs.id),
       (SELECT happened FROM events WHERE events.id = specs.id),
       reached, CAST(score AS REAL), json_extract(after, '$.holds'),
       {MOST.format("moved")}, {MOST.format("tilted")},
       {MOST.format("opened")}, {MOST.format("forces")},
       CASE WHEN effects IS NOT NULL THEN (SELECT CAST(total(value) AS INTEGER) FROM json_each(effects, '$.arm')) END,
       json_extract(effects, '$.path'), json_extract(effects, '$.jerk'), effects
{_RECORDED} LEFT JOIN initial_positions USING (id)
LEFT JOIN contacts USING (id) LEFT JOIN stages USING (id) LEFT JOIN progress USING (id)
LEFT JOIN side_effects USING (id) LEFT JOIN aftermath USING (id)
WHERE {COUNTED} ORDER BY specs.id
"""
MAX_LABEL = 1e12
"""Largest magnitude of a number in a label; sums of its square stay finite and exact enough."""
_LOWEST = 1e-6
"""Smallest value of a label by which measures divide."""
_NUMBERS = {
    "pd": (-MAX_LABEL, MAX_LABEL),
    "chance": (0, 1),
    "best": (0, MAX_LABEL),
    "distance": (-MAX_LABEL, MAX_LABEL),
    "rung": (-MAX_LABEL, MAX_LABEL),
    "reference_steps": (_LOWEST, MAX_LABEL),
    "limit_factor": (_LOWEST, MAX_LABEL),
}
"""Numeric labels that measures use, and their valid ranges; ``MAX_LABEL`` limits all other numbers."""
_FLAGS = ("plausible", "guessable", "milder")
_EMPTY_LABELS = dict.fromkeys(_NUMBERS, pl.Float64()) | dict.fromkeys(_FLAGS, pl.Boolean())
"""Column types for labels without a value in any episode of a run; labels not listed here are text."""
_NAMES = (
    "id key experiment condition task seed start labels instruction outcome steps seconds decisions images attempts "
    "touched moved truth error initial_positions contacts clipped events stages progress lasts bystander_moved "
    "bystander_tilted left_open peak_force arm_contact path_length jerk side_effects"
)
_INTEGERS = "id seed start steps decisions images attempts clipped lasts arm_contact"
_FLOATS = "seconds progress bystander_moved bystander_tilted left_open peak_force path_length jerk"
COLUMNS: dict[str, type[pl.DataType]] = dict.fromkeys(_NAMES.split(), pl.String)
COLUMNS |= dict.fromkeys(_INTEGERS.split(), pl.Int64) | dict.fromkeys(_FLOATS.split(), pl.Float64)
"""Columns of a data frame of episodes, in the order of the query.

Those from ``stages`` on are null if the world does not record them: the step at which each atom reached each stage
(JSON); progress, 0 to 1; whether success lasts, 0 or 1; the largest displacement (metres) and tilt (degrees) of
objects that the goal does not name, and the largest opening of a drawer, door or knob (1 is LIBERO's threshold for
open); the largest force of the robot on an object (newtons); the number of control steps in which the arm touched
something; path length (metres) and jerk (m/s^3) of the end effector; all side effects (JSON).
"""

MAX_META_ROWS = 1_000
MAX_META_BYTES = 32 * 2**20
"""Maximum size of the table ``meta``, about 300,000 refused episodes; also of any single value in a run file."""
_Text = Annotated[str, Field(max_length=10_000)] | None


class _World(BaseModel):
    name: str
    continuous: bool = True
    start_columns: list[str] = []
    demonstrator: str | None = None
    clips: int = 0

    @field_validator("start_columns")
    @classmethod
    def _are_labels(cls, names: list[str]) -> list[str]:
        if reserved := set(names) & (COLUMNS.keys() - {"instruction"}):
            raise ValueError(f"{min(reserved)} is a column of every run; expected labels, or instruction")
        return names


class _Plugin(BaseModel):
    module: str


class _Latency(BaseModel):
    steps: int
    median_ms: float
    ms: list[float]
    by: str


class _Shard(BaseModel):
    number: int
    of: int
    plan: str


class _Shards(BaseModel):
    of: Annotated[int, Field(le=1_000_000)]
    there: list[int]


class Metadata(BaseModel, extra="allow"):
    """Types of the values in the table ``meta``; used to validate them only."""

    experiment: _Text = None
    policy: _Text = None
    label: _Text = None
    pack: _Text = None
    pack_digest: _Text = None
    started: _Text = None
    host: _Text = None
    states_folder: _Text = None
    world: _World | None = None
    settings: dict[str, JsonValue] | None = None
    policy_metadata: dict[str, JsonValue] | None = None
    policy_identity: dict[str, JsonValue] | None = None
    plugins: list[_Plugin] = []
    conditions: list[str] = []
    merged: list[str] = []
    resumed: list[dict[str, JsonValue]] = []
    refused: list[tuple[str, str, int, str]] = []
    latency: _Latency | None = None
    shard: _Shard | None = None
    shards: _Shards | None = None
    expected: int = 0
    search: dict[str, JsonValue] = {}
    duel: dict[str, JsonValue] = {}


def to_storable(value: object) -> object:
    """Convert a value for SQLite and JSON: non-finite numbers become None, and lone surrogates are replaced."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {to_storable(name): to_storable(part) for name, part in value.items()}
    return [to_storable(part) for part in value] if isinstance(value, list | tuple) else value


def read_rows(cursor: sqlite3.Cursor, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return the rows of a query, converted in blocks: as Python objects they take several times the memory."""
    blocks: list[pl.DataFrame] = []
    while (rows := cursor.fetchmany(_BLOCK)) or not blocks:
        blocks.append(pl.DataFrame(rows, schema=columns, orient="row"))
    return blocks[0] if len(blocks) == 1 else pl.concat(blocks, rechunk=True)


def with_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a data frame of episodes in which each label is a column. Raises ValueError for an invalid label."""
    texts = [text for text in frame["labels"].unique().to_list() if text != "{}"]
    labels: list[dict[str, Label]] = [json.loads(text) for text in texts]
    for name, value in (item for label in labels for item in label.items()):
        if isinstance(value, list | dict):
            raise ValueError(
                f"the label '{name[:40]}' is {value!s:.20}; expected a text, a number or a Boolean"
            )
        low, high = _NUMBERS.get(name, (-MAX_LABEL, MAX_LABEL))
        if isinstance(value, int | float) and not low <= value <= high:
            raise ValueError(f"the label '{name[:40]}' is {str(value)[:20]}; expected {low:g} to {high:g}")
        if name in _FLAGS and not isinstance(value, bool | None):
            raise ValueError(f"the label '{name}' is {str(value)[:20]!r}; expected true or false")
    names = sorted({name for label in labels for name in label})
    if not names:
        return frame.drop("labels")
    columns: dict[str, list[Label]] = {}
    for name in names:  # text if any value is text, numbers if any is not a Boolean
        columns[name] = values = [label.get(name) for label in labels]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1:
            kind = str if str in kinds else float if float in kinds else int
            columns[name] = [None if value is None else kind(value) for value in values]
    table = pl.DataFrame({"labels": texts} | columns, strict=False)
    unknown = [name for name in names if table[name].dtype == pl.Null]
    table = table.with_columns(pl.col(name).cast(_EMPTY_LABELS.get(name, pl.String())) for name in unknown)
    return frame.join(table, on="labels", how="left", maintain_order="left").drop("labels")


def read_trajectory(steps: int, *blobs: bytes) -> Trajectory:
    """Decode a trajectory from its row. Raises ValueError, TypeError or zlib.error if the data is damaged."""
    parts = []
    for blob in blobs:
        unpacking = zlib.decompressobj()
        # Bounded: a few bytes could expand to gigabytes.
        raw = unpacking.decompress(blob, 4 * (steps + 1) * MAX_VALUES_PER_STEP)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise ValueError("its trajectory has more values than its number of steps allows")
        parts.append(np.ascontiguousarray(np.frombuffer(raw, np.uint8).reshape(4, -1).T).view("<f4").ravel())
        if not np.isfinite(parts[-1]).all():
            raise ValueError("its trajectory contains non-finite numbers")
    positions, gripper, actions = parts
    # Imported logs have no position after the last action, or no trajectory.
    count = steps if len(gripper) in (0, steps) else len(gripper) - 1
    width = len(actions) // count if len(actions) else 7
    path = Trajectory(positions.reshape(-1, 3), gripper, actions.reshape(-1, width))
    if len(path.end_effector) not in (0, len(gripper)) or len(path.actions) not in (0, count):
        raise ValueError("the arrays of its trajectory differ in length")
    return path


def pack(values: np.ndarray) -> bytes:
    """Compress float32 numbers; bytes of equal significance are stored together, which saves much more space."""
    raw = np.ascontiguousarray(values, dtype="<f4")
    return zlib.compress(raw.view(np.uint8).reshape(-1, 4).T.tobytes(), 6)


MANY_CLIPPED = 0.1
"""Fraction of clipped actions above which a warning is printed."""


class Clipping(NamedTuple):
    """Actions outside [-1, 1], which the robot's controller clips."""

    episodes: int
    """Number of episodes in worlds that clip actions."""
    affected: int
    """Number of episodes with a clipped action."""
    cut: int
    """Number of clipped actions."""
    actions: int

    @classmethod
    def of(cls, episodes: Iterable[Episode]) -> Self:
        """Count the clipped actions of episodes."""
        counts = [(episode.clipped, episode.steps) for episode in episodes if episode.clipped is not None]
        clipped = [count for count, _ in counts]
        return cls(len(counts), sum(map(bool, clipped)), sum(clipped), sum(steps for _, steps in counts))

    @property
    def warning(self) -> str:
        """Warning if many actions were clipped, otherwise empty."""
        if not self.actions or self.cut / self.actions < MANY_CLIPPED:
            return ""
        return (
            f"{100 * self.cut / self.actions:.0f} % of the actions ({self.cut:,} of {self.actions:,}, in "
            f"{self.affected:,} of {self.episodes:,} episodes) were outside [-1, 1] and were clipped: does the policy "
            "return normalised actions? (docs/policies.md, Pitfalls)"
        )
