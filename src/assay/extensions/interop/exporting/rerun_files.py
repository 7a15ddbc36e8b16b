"""Episodes as Rerun's ``.rrd`` files, one each: ``rerun FOLDER/*.rrd`` shows them side by side.

episode           what was asked for, and how it ended
camera            what the world shows, from the recorded actions played again
world/path        where the hand went, coloured by the outcome; world/hand where it is; world/things at the start
action, gripper   over the steps
goal/...          when each atom of the goal was true
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rerun as rr
import rerun.blueprint as rrb
from PIL import Image

from assay.episodes import world_of
from assay.errors import RunError
from assay.extensions.interop.exchange.selection import Kept, chosen, kept
from assay.runs.replay import replay
from assay.runs.store import Store

APPLICATION = "assay"
STEP = "step"
"""The timeline: control steps."""
EVERY = 5
"""Steps between two images."""
COLOURS = {"success": (38, 130, 72), "failure": (188, 52, 44), "error": (190, 120, 20)}
ACTIONS = ("x", "y", "z", "rx", "ry", "rz", "gripper")


def write(
    store: Store, folder: Path, *, which: str = "all", most: int | None = None, images: bool = True
) -> tuple[int, int]:
    """Write episodes into a folder; returns how many, and how many were left out.

    ``images`` are drawn by playing the recorded actions again, which takes about as long as the episodes did.
    """
    rows, left = chosen(store, which, most)
    if images and store.meta.get("imported"):
        raise RunError(f"{store.path}: was imported, and nothing of it can be drawn; valid: --no-images")
    folder.mkdir(parents=True, exist_ok=True)
    for each in kept(store, rows):
        _write(each, folder / f"{each.name}.rrd", store, images)
    return len(rows), left


def _write(episode: Kept, file: Path, store: Store, images: bool) -> None:
    recording = rr.RecordingStream(APPLICATION, recording_id=episode.row["key"])
    recording.save(file, default_blueprint=blueprint(images))
    recording.send_recording_name(f"{episode.spec.task} {episode.row['condition']} {episode.row['outcome']}")
    recording.log("episode", rr.TextDocument(_words(episode), media_type="text/markdown"), static=True)
    _log_path(recording, episode)
    _log_goal(recording, episode)
    if images:
        for step, picture in _pictures(episode, store):
            recording.set_time(STEP, sequence=step)
            recording.log("camera", rr.EncodedImage(contents=picture, media_type="image/jpeg"))
    recording.flush()
    recording.disconnect()


def blueprint(images: bool = True) -> rrb.Blueprint:
    """How the viewer lays an episode out."""
    seen = [rrb.Spatial2DView(origin="camera", name="camera")] if images else []
    return rrb.Blueprint(
        rrb.Horizontal(
            rrb.Vertical(*seen, rrb.Spatial3DView(origin="world", name="path of the hand")),
            rrb.Vertical(
                rrb.TextDocumentView(origin="episode", name="episode"),
                rrb.TimeSeriesView(origin="goal", name="goal"),
                rrb.TimeSeriesView(origin="action", name="action"),
                rrb.TimeSeriesView(origin="gripper", name="gripper"),
            ),
        ),
        collapse_panels=True,
    )


def _log_path(recording: rr.RecordingStream, episode: Kept) -> None:
    path, colour = episode.trajectory, COLOURS[episode.row["outcome"]]
    hand, actions = path.end_effector, path.actions
    if len(hand):
        recording.log("world/path", rr.LineStrips3D([hand], colors=[colour]), static=True)
        recording.send_columns(
            "world/hand",
            indexes=[rr.TimeColumn(STEP, sequence=np.arange(len(hand)))],
            columns=rr.Points3D.columns(positions=hand, radii=np.full(len(hand), 0.012)),
        )
        recording.send_columns(
            "gripper",
            indexes=[rr.TimeColumn(STEP, sequence=np.arange(len(path.gripper)))],
            columns=rr.Scalars.columns(scalars=path.gripper.astype(float)),
        )
        recording.log("gripper", rr.SeriesLines(names=["opening, m"]), static=True)
    if len(actions):
        names = ACTIONS if actions.shape[1] == len(ACTIONS) else [str(at) for at in range(actions.shape[1])]
        recording.log("action", rr.SeriesLines(names=list(names)), static=True)
        recording.send_columns(
            "action",
            indexes=[rr.TimeColumn(STEP, sequence=np.arange(len(actions)))],
            columns=rr.Scalars.columns(scalars=actions.astype(float)),
        )
    things = json.loads(episode.row.get("initial_positions") or "{}")
    if things:
        recording.log(
            "world/things", rr.Points3D(list(things.values()), labels=list(things), radii=0.01), static=True
        )


def _log_goal(recording: rr.RecordingStream, episode: Kept) -> None:
    """Each atom of the goal as 0 or 1 over the steps."""
    steps = int(episode.row["steps"])
    for atom, intervals in json.loads(episode.row.get("truth") or "{}").items():
        truth = np.zeros(steps + 1)
        for first, last in intervals:
            truth[first:last] = 1.0
        name = f"goal/{rr.escape_entity_path_part(atom)}"
        recording.log(name, rr.SeriesLines(names=[atom]), static=True)
        recording.send_columns(
            name,
            indexes=[rr.TimeColumn(STEP, sequence=np.arange(steps + 1))],
            columns=rr.Scalars.columns(scalars=truth),
        )


def _pictures(episode: Kept, store: Store) -> Iterator[tuple[int, bytes]]:
    """What the world shows every few steps: step and JPEG."""
    env = world_of(episode.spec.task).open(store.states)
    seen: list[Any] = []
    try:
        error = str(episode.row["error"]) if episode.row["outcome"] == "error" else ""
        replay(env, episode.spec, episode.trajectory.actions, error=error, watch=seen.append)
        for observation in seen:
            if observation.step % EVERY == 0 or observation is seen[-1]:
                written = io.BytesIO()
                Image.fromarray(env.frame(observation)).save(written, "JPEG", quality=85)
                yield observation.step, written.getvalue()
    finally:
        env.close()


def _words(episode: Kept) -> str:
    row = episode.row
    lines = [f"## {row['outcome']}", f"*{row['instruction']}*", ""]
    lines += [f"- {name}: {row[name]}" for name in ("task", "condition", "seed", "steps", "key")]
    return "\n".join([*lines, *([f"- error: {row['error']}"] if row["error"] else [])])
