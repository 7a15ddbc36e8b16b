"""`assay export --to TOOL`: selects the exporter by name, and the episodes to export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from assay import __version__
from assay.api.tracking import PROJECT, export, load_tracker
from assay.episodes import Episode, EpisodeSpec, Outcome, Trajectory, world_of
from assay.episodes.world import Env
from assay.errors import RunError, did_you_mean
from assay.measures.summary import NOT_EXPECTED, summarise
from assay.runs.replay import replay
from assay.runs.store import Store
from assay.support.extras import require
from assay.support.files import replacing
from assay.support.plugins import registered_addresses

DEFAULT_IMAGE_SIZE = 256
"""Height and width of images, in pixels, as in the training data of LIBERO policies."""
DEFAULT_MAX_EPISODES = 50
"""Default number of episodes in exports with images, which take time and disk space."""


@dataclass(frozen=True, slots=True, eq=False)
class ExportedEpisode:
    """A stored episode with its trajectory."""

    row: dict[str, Any]
    """Row of the episode in `Store.frame`."""
    spec: EpisodeSpec
    trajectory: Trajectory


def select_rows(store: Store, episodes: str, most: int | None) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the selected episodes, evenly spaced if there are too many, and the number omitted.

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


def read_episodes(store: Store, rows: list[dict[str, Any]]) -> Iterator[ExportedEpisode]:
    """Yield the episodes for some rows with their trajectories, except those whose trajectory cannot be read."""
    for row in rows:
        spec = store.specs([row["id"]])[0]
        for _, trajectory in store.trajectories([row["id"]]):
            yield ExportedEpisode(row, spec, trajectory)


@contextmanager
def replaying(episode: ExportedEpisode, store: Store) -> Iterator[tuple[Env, Episode, list[Any]]]:
    """Replay an episode, and yield the environment, the replayed episode and its observations."""
    env = world_of(episode.spec.task).open(store.states)
    observations: list[Any] = []
    error = str(episode.row["error"]) if episode.row["outcome"] == Outcome.ERROR else ""
    try:
        again = replay(env, episode.spec, episode.trajectory.actions, error=error, watch=observations.append)
        yield env, again, observations
    finally:
        env.close()


def report_written(folder: Path, count: int, left_out: int) -> str:
    """Return a one-line summary of the exported episodes."""
    return f"{count} episodes written to {folder}" + (
        f" ({left_out} omitted because of --most)" if left_out else ""
    )


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
        raise RunError(f"{file}: expected a YAML file, such as .eval_results/assay.yaml")
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
    return f"{len(results)} conditions written to {file}"


def export_to(
    tool: str,
    store: Store,
    out: Path | None = None,
    episodes: str = "all",
    most: int | None = None,
    *,
    images: bool = True,
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
            "" if count == store.done else " (the others had already been sent)"
        )
    examples = {"rerun": "episodes.rerun", "lerobot": "rollouts", "hf": ".eval_results/assay.yaml"}
    if tool not in examples:
        tools = [*registered_addresses("tracker"), *examples]
        raise RunError(f"--to '{tool}': {did_you_mean(tool, tools, most=9)}")
    if out is None:
        raise RunError(f"--to {tool} needs --out, such as {examples[tool]}")
    if tool == "hf":
        return _export_hf(store, out, dataset)
    if tool == "lerobot":
        from assay.extensions.interop.exporting.lerobot_datasets import write_rollouts

        return write_rollouts(store, out, episodes, most, size)
    require("rerun", "exporting to Rerun needs the package rerun-sdk", RunError)
    from assay.extensions.interop.exporting.rerun_files import write_recordings

    return write_recordings(store, out, episodes, most, images)
