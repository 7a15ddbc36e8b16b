"""Exports episodes as Rerun ``.rrd`` files, one per episode: ``rerun FOLDER/*.rrd`` shows them side by side.

episode           instruction and outcome
camera            images of the scene, rendered by replaying the actions
world/path        path of the end effector, coloured by outcome
world/hand        position of the end effector
world/things      initial positions of the objects
action, gripper   values at each step
goal/...          truth of each atom of the goal over time
"""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import rerun as rr
import rerun.blueprint as rrb
from PIL import Image

from assay.errors import RunError
from assay.extensions.interop.exporting.exporters import (
    ExportedEpisode,
    read_episodes,
    replaying,
    report_written,
    select_rows,
)
from assay.runs.store import Store

STEP = "step"
"""Name of the timeline, which counts control steps."""
IMAGE_INTERVAL = 5
"""Number of control steps between two images."""
COLOURS = {"success": (38, 130, 72), "failure": (188, 52, 44), "error": (190, 120, 20)}
ACTIONS = ("x", "y", "z", "rx", "ry", "rz", "gripper")


def write_recordings(store: Store, folder: Path, episodes: str, most: int | None, images: bool) -> str:
    """Write episodes to a folder and return a one-line summary.

    Images are rendered by replaying the recorded actions, which takes about as long as the episodes did.
    """
    rows, left_out = select_rows(store, episodes, most)
    if images and store.meta.get("imported"):
        raise RunError(f"{store.path}: imported runs cannot be replayed to render images; use --no-images")
    folder.mkdir(parents=True, exist_ok=True)
    for episode in read_episodes(store, rows):
        row = episode.row
        recording = rr.RecordingStream("assay", recording_id=row["key"])
        name = f"{episode.spec.task.replace('/', '-')}_{episode.spec.seed:03d}_{row['key'][:8]}.rrd"
        recording.save(folder / name, default_blueprint=_blueprint(images))
        recording.send_recording_name(f"{episode.spec.task} {row['condition']} {row['outcome']}")
        lines = [f"## {row['outcome']}", f"*{row['instruction']}*", ""]
        lines += [f"- {name}: {row[name]}" for name in ("task", "condition", "seed", "steps", "key")]
        lines += [f"- error: {row['error']}"] if row["error"] else []
        about = rr.TextDocument("\n".join(lines), media_type="text/markdown")
        recording.log("episode", about, static=True)
        _log_trajectory(recording, episode)
        for atom, intervals in json.loads(row.get("truth") or "{}").items():
            truth = np.zeros(int(row["steps"]) + 1)  # 0 or 1 after each step
            for first, last in intervals:
                truth[first:last] = 1.0
            _log_series(recording, f"goal/{rr.escape_entity_path_part(atom)}", [atom], truth)
        if images:
            with replaying(episode, store) as (env, _, observations):
                for observation in observations:
                    if observation.step % IMAGE_INTERVAL == 0 or observation is observations[-1]:
                        file = BytesIO()
                        Image.fromarray(env.frame(observation)).save(file, "JPEG", quality=85)
                        image = rr.EncodedImage(contents=file.getvalue(), media_type="image/jpeg")
                        recording.set_time(STEP, sequence=observation.step)
                        recording.log("camera", image)
        recording.flush()
        recording.disconnect()
    return report_written(folder, len(rows), left_out)


def _blueprint(images: bool) -> rrb.Blueprint:
    """Return the layout of the viewer."""
    camera = [rrb.Spatial2DView(origin="camera", name="camera")] if images else []
    return rrb.Blueprint(
        rrb.Horizontal(
            rrb.Vertical(*camera, rrb.Spatial3DView(origin="world", name="end-effector path")),
            rrb.Vertical(
                rrb.TextDocumentView(origin="episode", name="episode"),
                rrb.TimeSeriesView(origin="goal", name="goal"),
                rrb.TimeSeriesView(origin="action", name="action"),
                rrb.TimeSeriesView(origin="gripper", name="gripper"),
            ),
        ),
        collapse_panels=True,
    )


def _log_series(recording: rr.RecordingStream, entity: str, names: list[str], values: np.ndarray) -> None:
    recording.log(entity, rr.SeriesLines(names=names), static=True)
    recording.send_columns(
        entity,
        indexes=[rr.TimeColumn(STEP, sequence=np.arange(len(values)))],
        columns=rr.Scalars.columns(scalars=values.astype(float)),
    )


def _log_trajectory(recording: rr.RecordingStream, episode: ExportedEpisode) -> None:
    path, actions = episode.trajectory.end_effector, episode.trajectory.actions
    if len(path):
        colour = COLOURS[episode.row["outcome"]]
        recording.log("world/path", rr.LineStrips3D([path], colors=[colour]), static=True)
        recording.send_columns(
            "world/hand",
            indexes=[rr.TimeColumn(STEP, sequence=np.arange(len(path)))],
            columns=rr.Points3D.columns(positions=path, radii=np.full(len(path), 0.012)),
        )
        _log_series(recording, "gripper", ["opening, m"], episode.trajectory.gripper)
    if len(actions):
        width = actions.shape[1]
        names = list(ACTIONS) if width == len(ACTIONS) else [str(column) for column in range(width)]
        _log_series(recording, "action", names, actions)
    positions = json.loads(episode.row.get("initial_positions") or "{}")
    if positions:
        points = rr.Points3D(list(positions.values()), labels=list(positions), radii=0.01)
        recording.log("world/things", points, static=True)
