"""``recording-ID.sqlite``, as vla-eval (the VLA evaluation harness) writes it.

    eval_metadata(eval_id, safe_name, metadata)     of each benchmark: its settings, the server's own words
    episode_results(sid, eid, eval_id, task_name, episode_id, status, metrics, steps, elapsed_sec, context, ...)
    step_rows(sid, eid, step_id, fields)            of each step: action, state, reward, success, as far as recorded

LIBERO's benchmarks record the executed action (7) and the state after it (8): position of the hand, metres, its
orientation, positions of both fingers. ``episode_id`` is the number of LIBERO's stored initial state.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.episodes import Outcome, Trajectory, no_trajectory
from assay.errors import one_line
from assay.extensions.interop.formats.reported_names import named
from assay.extensions.interop.formats.results import Evaluation, Kind, ReportedEpisode
from assay.tasks.formats import ReleaseError

TOOL = "vla-eval"
STATUS = {"success": Outcome.SUCCESS, "fail": Outcome.FAILURE, "error": Outcome.ERROR}
TABLES = {"episode_results", "eval_metadata", "step_rows"}
STATE = 8
"""Numbers of a state: position 3, orientation 3, fingers 2."""


def read(file: Path) -> tuple[Evaluation, ...]:
    """The one evaluation of a recording. Raises ReleaseError where it is none."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            about = {
                name: json.loads(text)
                for name, text in db.execute("SELECT eval_id, metadata FROM eval_metadata")
            }
            rows = db.execute(
                "SELECT sid, eid, eval_id, task_name, episode_id, status, metrics, steps, elapsed_sec, context, "
                "failure_reason, failure_detail FROM episode_results ORDER BY rowid"
            ).fetchall()
            found: dict[tuple[str, str, int, str], ReportedEpisode] = {}
            for row in rows:
                episode = _episode(db, row, about)
                which = (episode.task, episode.condition, episode.trial, episode.variant)
                if which not in found or found[which].outcome is Outcome.ERROR:  # it was tried again
                    found[which] = episode
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(f"{file}: not a recording of vla-eval: {one_line(error, 120)}") from None
    if not found:
        raise ReleaseError(f"{file}: has no episode")
    episodes = tuple(found.values())
    return (
        Evaluation(
            TOOL,
            _policy(about),
            episodes,
            settings=_settings(about),
            stored=all(episode.task in tasks.built_in_ids() for episode in episodes),
            remarks=tuple(_remarks(episodes)),
        ),
    )


def _episode(db: sqlite3.Connection, row: tuple[Any, ...], about: dict[str, Any]) -> ReportedEpisode:
    sid, eid, evaluation, told, number, status, metrics, steps, seconds, context, *broke = row
    kwargs = json.loads(context or "{}")
    suite = str(kwargs.get("suite") or _benchmark(about.get(evaluation, {})))
    which = named(suite, str(told), kwargs.get("category"), kwargs.get("difficulty_level"))
    path = _trajectory(db, sid, eid)
    labels = {
        name: value
        for name, value in json.loads(metrics or "{}").items()
        if name != "success" and isinstance(value, int | float)
    }
    return ReportedEpisode(
        task=which.task,
        trial=int(number),
        outcome=STATUS[status],
        condition=which.condition,
        change=which.change,
        variant=which.variant,
        steps=len(path.actions) or int(steps or 0),
        seconds=float(seconds or 0.0),
        instruction=str(kwargs.get("instruction") or told),
        error=_reason(*broke) if status == "error" else "",
        trajectory=path,
        labels={**which.labels, **labels},
    )


def _reason(phase: str | None, detail: str | None) -> str:
    """Why an episode broke: the last line of what the harness kept."""
    lines = (detail or "").strip().splitlines()
    return one_line(": ".join(part for part in (phase, lines[-1] if lines else "") if part) or "error")


def _trajectory(db: sqlite3.Connection, sid: str, eid: str) -> Trajectory:
    """Where the hand went and what it was told, as far as every step says it."""
    query = "SELECT fields FROM step_rows WHERE sid = ? AND eid = ? ORDER BY step_id"
    steps = [json.loads(fields) for (fields,) in db.execute(query, (sid, eid))]
    nothing = no_trajectory()
    actions, states = (_array([step.get(name) for step in steps]) for name in ("action", "state"))
    hand, gripper = nothing.end_effector, nothing.gripper
    if states is not None and states.shape[1] == STATE:
        hand, gripper = states[:, :3], states[:, 6] - states[:, 7]
    return Trajectory(hand, gripper, nothing.actions if actions is None else actions)


def _array(rows: list[Any]) -> np.ndarray | None:
    """Rows of numbers, (steps, n); None where a step has none, or another number of them."""
    if not rows or any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
        return None
    array = np.asarray(rows, np.float32)
    return array if array.ndim == 2 and np.isfinite(array).all() else None


def _remarks(episodes: tuple[ReportedEpisode, ...]) -> list[str]:
    whole = [episode for episode in episodes if episode.outcome is not Outcome.ERROR]
    without = sum(not len(each.trajectory.end_effector) for each in whole)
    if not without:
        return []
    some = "" if without == len(whole) else f" of {without} of {len(whole)} episodes"
    return [
        f"the recording has no states{some}: nothing can be said of paths there (recording.record_step: true)"
    ]


def _benchmark(about: dict[str, Any]) -> str:
    """What a benchmark is called: the last part of its address."""
    return str(about.get("benchmark", "")).rpartition(":")[2]


def _policy(about: dict[str, Any]) -> str:
    """What the server calls itself, if it does."""
    for each in about.values():
        server = each.get("server_info") or {}
        for name in ("model", "model_name", "model_server"):
            if isinstance(server.get(name), str):
                return str(server[name])
    return ""


def _settings(about: dict[str, Any]) -> dict[str, object]:
    """What holds for all episodes, as the harness keeps it."""
    for each in about.values():
        params = (each.get("config") or {}).get("params") or {}
        kept = {name: value for name, value in params.items() if isinstance(value, str | int | float | bool)}
        return {**kept, "harness_version": each.get("harness_version"), "mode": each.get("mode")}
    return {}


def _recognises(path: Path, head: bytes) -> bool:
    if not head.startswith(b"SQLite format 3\0"):
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return {name for (name,) in db.execute("SELECT name FROM sqlite_master")} >= TABLES
    except sqlite3.Error:
        return False


VLA_EVAL = Kind("vla-eval's recording (recording-*.sqlite)", _recognises, read)
