"""What a search found, as files: tables, the figure, videos of what failed."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from assay.api.searches.run import Searched
from assay.episodes import Outcome, world_of
from assay.experiments.search import AXIS, MAGNITUDE
from assay.measures.world.thresholds import AxisThreshold, cases_table, thresholds_figure, thresholds_table
from assay.runs.episode_video import video_file
from assay.runs.replay import write_video
from assay.runs.store import Store

VIDEOS = "videos"


def write(found: Searched, folder: Path, videos: int) -> dict[str, str]:
    """Write tables (CSV, Markdown, LaTeX), the figure (SVG) and videos; returns the videos by key of their episode."""
    folder.mkdir(parents=True, exist_ok=True)
    made = _videos(found, folder / VIDEOS, videos)
    for table in (thresholds_table(found.thresholds), cases_table(found.cases, videos=made)):
        if table is not None:
            for suffix, text in (
                ("csv", table.as_csv()),
                ("md", table.as_markdown()),
                ("tex", table.as_latex()),
            ):
                (folder / f"{table.name}.{suffix}").write_text(text, encoding="utf-8")
    if found.thresholds.found:
        drawing = thresholds_figure(found.thresholds)
        (folder / f"{drawing.name}.svg").write_text(drawing.file, encoding="utf-8")
    return made


def _videos(found: Searched, folder: Path, most: int) -> dict[str, str]:
    """Videos of confirmed cases, then of the smallest changes that failed along each axis."""
    keys = [case.example for case in found.cases if case.confirmed]
    made: dict[str, str] = {}
    if not most or not found.played:
        return made
    with Store.reading(found.path) as store:
        frame = store.frame()
        keys += [key for each in found.thresholds.found if (key := _example(frame, each))]
        for key in keys[:most]:
            row = frame.row(by_predicate=pl.col("key") == key, named=True)
            (spec,) = store.specs([row["id"]])
            actions = next(trajectory.actions for _, trajectory in store.trajectories([row["id"]]))
            path = video_file(folder, spec, row["outcome"])
            env = world_of(spec.task).open(store.states)
            try:
                write_video(env, spec, actions, path)
            finally:
                env.close()
            made[key] = f"{VIDEOS}/{path.name}"
    return made


def _example(frame: pl.DataFrame, each: AxisThreshold) -> str:
    """A failure at the smallest magnitude at which there is one, not below what is known to be kept; empty if none."""
    if not each.points:  # where no change was played, episodes have no axis
        return ""
    rows = frame.filter(
        (pl.col("task") == each.task)
        & (pl.col(AXIS) == each.axis)
        & (pl.col("outcome") == Outcome.FAILURE)
        & (pl.col(MAGNITUDE) > (each.kept or 0.0))
    ).sort(MAGNITUDE, "id")
    return str(rows["key"][0]) if len(rows) else ""
