"""`assay export --to TOOL`: exporters to Hugging Face and to a LeRobotDataset, and the built-in experiment trackers.

A LeRobotDataset contains the episodes, including failures. Each frame has LeRobot's ``next.success``, ``next.done`` and
``next.reward``. Images are rendered by replaying the recorded actions, and rotated as in evaluations. The packages of
trackers (Weights & Biases, Trackio) are imported on first use.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from assay import __version__
from assay.api.tracking import PROJECT, TrackedEpisode, TrackedRun, export, load_tracker
from assay.episodes import LIBERO, Outcome, world_name, world_of
from assay.errors import RunError, did_you_mean
from assay.measures.summary import NOT_EXPECTED, Summary, summarise
from assay.runs.replay import replay
from assay.runs.store import Store
from assay.support.console import number_of
from assay.support.files import replacing, scratch_folder
from assay.support.images import Orientation
from assay.support.plugins import registered_addresses
from assay.tasks.formats.lerobot import ACTION, STATE, VECTORS, robot_state
from assay.tasks.formats.lerobot_writer import RecordedEpisode, record_images, write_dataset

NEXT_COLUMNS = {"next.reward": pl.Float32(), "next.done": pl.Boolean(), "next.success": pl.Boolean()}
"""Columns that describe the result of each frame's action, with their types."""

DEFAULT_MAX_EPISODES = 50
"""Default maximum number of exported episodes; it is low because rendering videos takes time and disk space."""


def _select_rows(store: Store, episodes: str, most: int | None) -> tuple[list[dict[str, Any]], int]:
    """Return the selected rows (evenly spaced episodes if there are too many) and the number of omitted ones.

    ``episodes`` is ``all``, ``failures``, or comma-separated keys; ``most`` is the maximum number.
    Raises RunError if no episode is selected or a key is ambiguous.
    """
    frame = store.frame()
    if episodes == "failures":
        frame = frame.filter(pl.col("outcome") == Outcome.FAILURE)
    elif episodes != "all":
        keys = [key.strip() for key in episodes.split(",") if key.strip()]
        for key in keys:
            if sum(stored.startswith(key) for stored in frame["key"]) != 1:
                raise RunError(
                    f"{store.path}: expected exactly one recorded episode with a key that begins with '{key}'; "
                    "pass all, failures, or keys (assay export RUN --csv - lists them)"
                )
        frame = frame.filter(pl.any_horizontal([pl.col("key").str.starts_with(key) for key in keys]))
    if not len(frame):
        raise RunError(f"{store.path}: no episodes to export (--episodes {episodes})")
    rows = frame.to_dicts()
    count = min(most or DEFAULT_MAX_EPISODES, len(rows))
    return [rows[number * len(rows) // count] for number in range(count)], len(rows) - count


def write_rollouts(store: Store, folder: Path, selection: str, most: int | None, size: int) -> str:
    """Write episodes to a new folder and return a one-line summary.

    Raises RunError if the folder is not empty or the episodes cannot be replayed.
    """
    if size < 16 or size % 2:  # the codec's limits
        raise RunError(f"--size {size}: expected an even number >= 16")
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder}: the folder is not empty; choose a new one")
    if store.meta.get("imported"):
        raise RunError(f"{store.path}: imported runs cannot be replayed to render images")
    rows, left_out = _select_rows(store, selection, most)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent, ".assay-") as scratch:
        episodes = tuple(
            _record(row, trajectory.actions, store, size, Path(scratch) / str(row["id"]))
            for row in rows
            for _, trajectory in store.trajectories([row["id"]])
            if row["steps"]
        )
        if not episodes:
            raise RunError(f"{store.path}: no episode has any steps")
        dataset = Path(scratch) / "dataset"
        pack = str(store.meta["pack"])
        write_dataset(dataset, episodes, pack=pack, size=size, extra_columns=NEXT_COLUMNS)
        if folder.exists():
            folder.rmdir()
        shutil.move(dataset, folder)
    omitted = f" ({left_out} omitted because of --most)" if left_out else ""
    return f"{number_of(len(episodes), 'episode')} written to {folder}{omitted}"


def _record(
    row: Mapping[str, Any], actions: np.ndarray, store: Store, size: int, scratch: Path
) -> RecordedEpisode:
    """Replay the episode described by a row and render its images."""
    spec = store.specs([row["id"]])[0]
    if world_name(spec.task) != LIBERO:
        raise RunError(f"{spec.task}: only episodes in LIBERO's world can be exported as a LeRobotDataset")
    scratch.mkdir()
    observations: list[Any] = []
    error = str(row["error"]) if row["outcome"] == Outcome.ERROR else ""
    with closing(world_of(spec.task).open(store.states)) as env:
        again = replay(env, spec, actions, error=error, watch=observations.append)
        if again.steps != row["steps"] or again.outcome != row["outcome"]:
            raise RunError(
                f"{store.path}: the replay of {row['key'][:8]} differs from the record "
                f"({again.outcome} after {again.steps} steps, not {row['outcome']} after {row['steps']})"
            )
        del observations[len(actions) :]
        clips, stats = record_images(observations, size, Orientation.ROTATED, scratch)
    is_last = np.arange(len(actions)) == len(actions) - 1
    succeeds = is_last & (row["outcome"] == Outcome.SUCCESS)
    columns = {
        ACTION: np.clip(actions, -1.0, 1.0),
        STATE: np.array([robot_state(observation) for observation in observations]),
        "next.reward": succeeds.astype(np.float32),
        "next.done": is_last,
        "next.success": succeeds,
    }
    return RecordedEpisode(
        task=spec.task,
        seed=spec.seed,
        instruction=str(row["instruction"]),
        frames=pl.DataFrame(columns, schema={**VECTORS, **NEXT_COLUMNS}),
        clips=clips,
        image_stats=stats,
        labels={name: str(row[name]) for name in ("condition", "outcome", "key")},
    )


DEFAULT_IMAGE_SIZE = 256
"""Height and width of images, in pixels, as in the training data of LIBERO policies."""


def _export_hf(store: Store, file: Path, dataset: str) -> str:
    """Write results for Hugging Face's model pages to a file in ``.eval_results/`` of a model's repository.

        - dataset: {id: ..., task_id: pro/position}
          value: 63.3
          date: '2026-11-17'
          source: {name: Assay}
          notes: success in %; 95 % interval 52.1 to 73.2, n = 80; ...

    A benchmark is a dataset on the Hub; its leaderboard collects the results under the dataset's id.
    """
    if dataset.count("/") != 1 or not all(dataset.split("/")):
        raise RunError(f"--dataset '{dataset}': expected the id of a dataset on the Hub, OWNER/NAME")
    if file.suffix not in (".yaml", ".yml"):
        raise RunError(f"{file}: expected a YAML file, for example .eval_results/assay.yaml")
    meta, results = store.meta, []
    for rate in summarise(store).rates.values():
        caveat = f"{NOT_EXPECTED} in this condition, so a high value is not desirable; "
        errors = f", {rate.errors} errors excluded" if rate.errors else ""
        notes = (
            f"{'' if rate.is_expected else caveat}success in %; "
            f"95 % interval {100 * rate.low:.1f} to {100 * rate.high:.1f}, n = {rate.episodes}{errors}; "
            f"experiment {meta.get('experiment')}, policy {meta.get('label') or meta.get('policy')}, "
            f"assets {meta.get('pack')}"
        )
        results.append(
            {
                "dataset": {"id": dataset, "task_id": rate.condition},
                "value": round(100 * rate.rate, 1),
                "date": str(meta.get("started") or datetime.now(UTC).isoformat())[:10],
                "source": {"name": f"Assay {__version__}"},
                "notes": notes,
            }
        )
    if not results:
        raise RunError(f"{store.path}: no condition has an episode that finished without an error")
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as unfinished:
        unfinished.write_text(yaml.safe_dump(results, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return f"{number_of(len(results), 'condition')} written to {file}"


def export_to(
    tool: str,
    store: Store,
    out: Path | None = None,
    episodes: str = "all",
    most: int | None = None,
    *,
    size: int = DEFAULT_IMAGE_SIZE,
    project: str = PROJECT,
    dataset: str = "",
) -> str:
    """Export a run to a tool or tracker and return a one-line summary. Raises RunError.

    Options that do not apply to the tool are ignored.
    """
    if tool in registered_addresses("tracker"):
        count = export(store, load_tracker(tool)(), project)
        return f"{count} episodes sent to {tool}" + (
            "" if count == store.done else " (the other episodes had already been sent)"
        )
    examples = {"lerobot": "rollouts", "hf": ".eval_results/assay.yaml"}
    if tool not in examples:
        tools = [*registered_addresses("tracker"), *examples]
        raise RunError(f"--to '{tool}': {did_you_mean(tool, tools, most=9)}")
    if out is None:
        raise RunError(f"--to {tool} needs --out, for example {examples[tool]}")
    if tool == "hf":
        return _export_hf(store, out, dataset)
    return write_rollouts(store, out, episodes, most, size)


def _values(row: TrackedEpisode) -> dict[str, Any]:
    """Return the numeric and text fields of an episode that are logged."""
    return {**row.scalars(), **{f"episode/{name}": value for name, value in row.texts().items()}}


class Wandb:
    """A W&B run with one step per episode, and a table of success rates at the end.

    ``WANDB_MODE=offline`` needs no account; ``wandb sync`` uploads the run later.
    """

    def __init__(self) -> None:
        self._wandb: Any = importlib.import_module("wandb")

    def start(self, about: TrackedRun) -> int:
        """Start a run, or resume the run with the same id, and return its next step."""
        self._run = self._wandb.init(
            project=about.project,
            name=about.name,
            id=about.id,
            config=dict(about.config),
            resume="allow",
            dir=str(about.folder),
        )
        return int(self._run.step)

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        self._run.log(_values(row), step=row.number)

    def finish(self, summary: Summary) -> None:
        """Log success rates with intervals and end the run."""
        table = self._wandb.Table(columns=["condition", "rate", "low", "high", "episodes", "errors"])
        for rate in summary.rates.values():
            table.add_data(rate.condition, rate.rate, rate.low, rate.high, rate.episodes, rate.errors)
        self._run.summary.update(summary.metrics("final/"))
        self._run.log({"conditions": table})
        self._run.finish()


class Trackio:
    """A run in Trackio, Hugging Face's local dashboard (``trackio show --project assay``)."""

    def __init__(self) -> None:
        self._trackio: Any = importlib.import_module("trackio")
        self._last_step: int | None = None

    def start(self, about: TrackedRun) -> int:
        """Start a run, or resume the run with the same name, and return its next step."""
        storage = importlib.import_module("trackio.sqlite_storage").SQLiteStorage
        name = f"{about.name}-{about.id[:8]}"
        last = storage.get_max_step_for_run(about.project, name)
        self._run = self._trackio.init(
            project=about.project,
            name=name,
            config={key: value for key, value in about.config.items() if not key.startswith("_")},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return 0 if last is None else int(last) + 1

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        self._last_step = row.number
        self._run.log(_values(row), step=row.number)

    def finish(self, summary: Summary) -> None:
        """Log success rates with intervals at the step of the last episode and end the run."""
        if self._last_step is not None:
            self._run.log(summary.metrics("final/"), step=self._last_step)
        self._trackio.finish()
