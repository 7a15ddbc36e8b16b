"""A run's tables: their schema, and how specs, episodes and paths become rows and come back."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import polars as pl

from assay.episodes.episode import Episode, Trajectory
from assay.episodes.spec import EpisodeSpec, Label, key_of
from assay.runs.soundness import FURTHEST, KINDS, MOST_STEPS, fitted, labels_of

APPLICATION = 0x41535359
"""Marks the file as ours: "ASSY"."""
MOST_NUMBERS = 64
"""Of one control step in a trajectory: the numbers of an action are fewer."""
VERSION = 2
"""Of the schema. Version 1 is that of Assay 0.1.0: see `format_1`."""

SINCE = {
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
"""Tables that older runs of this format lack, and the column of each, JSON: where the things that a task is about
stood at the start, when the robot touched what, how many actions were cut, where somebody's code broke, how long
each decision took, which events happened when, how far each atom of the goal came and the episode as a whole, what
was done besides, and whether success lasts."""
KNOWN_IF_EMPTY = frozenset({"contacts", "clipped", "stages", "progress"})
"""Those in which nothing, or 0, is something that is known."""
ADDED = "".join(
    f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY REFERENCES specs, {column} TEXT NOT NULL);\n"
    for table, column in SINCE.items()
)
UNCOUNTED = "uncounted"
"""The table of planned episodes that came, or would come, after their condition was decided. Older runs lack it: of a
decided condition they have all episodes whose keys are not greater than ``last``."""
ADDED += f"CREATE TABLE IF NOT EXISTS {UNCOUNTED} (id INTEGER PRIMARY KEY REFERENCES specs);\n"
COUNTED = f"(last IS NULL OR key <= last) AND specs.id NOT IN (SELECT id FROM {UNCOUNTED})"
"""Whether an episode counts, in a query that joins ``stopped`` with ``specs``."""
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
{ADDED}CREATE TABLE stopped (condition TEXT PRIMARY KEY, last TEXT NOT NULL, rule TEXT NOT NULL) WITHOUT ROWID;
COMMIT;
"""

MOST = (
    "CASE WHEN effects IS NOT NULL "
    "THEN (SELECT CAST(coalesce(max(value), 0) AS REAL) FROM json_each(effects, '$.{}')) END"
)
"""The largest value of an object within an episode's side effects; 0 where it is empty."""
FRAME = f"""
SELECT specs.id, key, experiment, condition, task, seed,
       coalesce(json_extract(spec, '$.start'), seed) AS start,
       labels, instruction, outcome, steps, seconds, decisions, images, attempts, touched, moved, truth, error,
       positions, intervals, (SELECT CAST(cut AS INTEGER) FROM clipped WHERE clipped.id = specs.id),
       (SELECT happened FROM events WHERE events.id = specs.id),
       reached, CAST(score AS REAL), json_extract(after, '$.holds'),
       {MOST.format("moved")}, {MOST.format("tilted")},
       {MOST.format("opened")}, {MOST.format("forces")},
       CASE WHEN effects IS NOT NULL THEN (SELECT CAST(total(value) AS INTEGER) FROM json_each(effects, '$.arm')) END,
       json_extract(effects, '$.path'), json_extract(effects, '$.jerk'), effects
FROM specs JOIN episodes USING (id) LEFT JOIN stopped USING (condition) LEFT JOIN initial_positions USING (id)
LEFT JOIN contacts USING (id) LEFT JOIN stages USING (id) LEFT JOIN progress USING (id)
LEFT JOIN side_effects USING (id) LEFT JOIN aftermath USING (id)
WHERE {COUNTED} ORDER BY specs.id
"""
DTYPES = {"bool": pl.Boolean, "text": pl.String, "number": pl.Float64}
"""Of labels that no episode has a value of, by what they are."""
COLUMNS = {
    "id": pl.Int64,
    "key": pl.String,
    "experiment": pl.String,
    "condition": pl.String,
    "task": pl.String,
    "seed": pl.Int64,
    "start": pl.Int64,
    "labels": pl.String,
    "instruction": pl.String,
    "outcome": pl.String,
    "steps": pl.Int64,
    "seconds": pl.Float64,
    "decisions": pl.Int64,
    "images": pl.Int64,
    "attempts": pl.Int64,
    "touched": pl.String,
    "moved": pl.String,
    "truth": pl.String,
    "error": pl.String,
    "initial_positions": pl.String,
    "contacts": pl.String,
    "clipped": pl.Int64,
    "events": pl.String,
    "stages": pl.String,
    "progress": pl.Float64,
    "lasts": pl.Int64,
    "bystander_moved": pl.Float64,
    "bystander_tilted": pl.Float64,
    "left_open": pl.Float64,
    "peak_force": pl.Float64,
    "arm_contact": pl.Int64,
    "path_length": pl.Float64,
    "jerk": pl.Float64,
    "side_effects": pl.String,
}
"""Of a frame, in the order of the query.

Those from ``stages`` on are null in older runs, and where a world does not know them: when each atom came to which
stage (JSON); progress, 0 to 1; whether success lasts, 0 or 1; of things that the goal does not name the largest
displacement (metres) and tilt (degrees), and how far a drawer, a door or a knob was opened (1: as far as LIBERO calls
open); the largest force of the robot on a thing (newton); control steps in which the arm touched something; the end
effector's path (metres) and jerk (m/s^3); all side effects (JSON)."""


def spec_rows(specs: Iterable[EpisodeSpec]) -> Iterator[tuple[object, ...]]:
    """Rows of specs, without their ids."""
    labels: dict[str, Label] = {}
    written = "{}"
    for spec in specs:
        if spec.labels is not labels:  # seeds share them
            labels, written = spec.labels, json.dumps(cleaned(dict(spec.labels)), sort_keys=True)
        text = spec.to_json()
        yield (
            key_of(text),
            spec.experiment,
            spec.condition,
            spec.task,
            spec.seed,
            spec.scene_key,
            text,
            written,
        )


def episode_row(episode: Episode) -> tuple[object, ...]:
    """A row of episodes, without its id."""
    return (
        episode.outcome.value,
        storable(episode.instruction),
        episode.steps,
        episode.seconds,
        episode.decisions,
        episode.images,
        episode.attempts,
        episode.touched,
        episode.moved,
        json.dumps(episode.truth),
        storable(episode.error),
        int(episode.transient),
    )


def storable(text: str) -> str:
    """A text of anybody's as a file can hold it: what is no Unicode is replaced."""
    return text.encode(errors="replace").decode()


def cleaned(value: object) -> object:
    """A value of anybody's as JSON can hold it: no number that is not finite, no text that is no Unicode."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {cleaned(name): cleaned(each) for name, each in value.items()}
    return [cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def trajectory_row(episode: Episode) -> tuple[object, ...]:
    """A row of trajectories, without its id."""
    path = episode.trajectory
    return (episode.steps, *map(_packed, (path.end_effector, path.gripper, path.actions)))


def with_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with its labels as columns of their own."""
    texts = frame["labels"].unique().to_list()
    texts = [text for text in texts if text != "{}"]
    labels = dict(zip(texts, fitted(labels_of(text) for text in texts), strict=True))
    names = sorted({name for label in labels.values() for name in label})
    if not names:
        return frame.drop("labels")
    table = pl.DataFrame(
        [{"labels": text} | {name: each.get(name) for name in names} for text, each in labels.items()],
        infer_schema_length=None,
    )
    unknown = [name for name in names if table[name].dtype == pl.Null]  # no episode has a value
    table = table.with_columns(pl.col(name).cast(DTYPES[KINDS.get(name, "text")]) for name in unknown)
    return frame.join(table, on="labels", how="left", maintain_order="left").drop("labels")


def trajectory_of(steps: int, *blobs: bytes) -> Trajectory:
    """A trajectory from its row. Raises ValueError, TypeError or zlib's error for what is damaged."""
    if not 0 <= steps <= MOST_STEPS:
        raise ValueError(f"{steps} steps")
    positions, gripper, actions = (_unpacked(blob, (steps + 1) * MOST_NUMBERS) for blob in blobs)
    # Imported logs have no position after the last action, or no trajectory.
    count = steps if len(gripper) in (0, steps) else len(gripper) - 1
    width = len(actions) // count if len(actions) else 7
    found = Trajectory(positions.reshape(-1, 3), gripper, actions.reshape(-1, width))
    if len(found.end_effector) not in (0, len(gripper)) or len(found.actions) not in (0, count):
        raise ValueError("its parts do not fit together")
    if not max(np.abs(positions).max(initial=0), np.abs(gripper).max(initial=0)) <= FURTHEST:
        raise ValueError("positions where nothing is")
    return found


def _packed(values: np.ndarray) -> bytes:
    """float32 numbers, the bytes of equal weight side by side, which compress far better."""
    raw = np.ascontiguousarray(values, dtype="<f4")
    return zlib.compress(raw.view(np.uint8).reshape(-1, 4).T.tobytes(), 6)


def _unpacked(blob: bytes, most: int) -> np.ndarray:
    """What `_packed` was given, at most so many numbers: a few bytes may stand for gigabytes."""
    unpacking = zlib.decompressobj()
    raw = unpacking.decompress(blob, 4 * most)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("not so many numbers as it has steps")
    values = np.ascontiguousarray(np.frombuffer(raw, np.uint8).reshape(4, -1).T).view("<f4").ravel()
    if not np.isfinite(values).all():
        raise ValueError("numbers that are not finite")
    return values
