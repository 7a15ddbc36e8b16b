"""Imports result files of vla-eval, lerobot-eval and LIBERO-PRO's evaluation.

``recording-ID.sqlite`` of vla-eval::

    eval_metadata(eval_id, safe_name, metadata)     settings of each benchmark and the server's description
    episode_results(sid, eid, eval_id, task_name, episode_id, status, metrics, steps, elapsed_sec, context, ...)
    step_rows(sid, eid, step_id, fields)            action, state, reward, success of each step, if recorded

LIBERO's benchmarks record the executed action (7) and the state after it (8): position of the end effector in
metres, its orientation, and finger positions. ``episode_id`` is the number of LIBERO's stored initial state.

``eval_info.json`` of lerobot-eval, in the order of LIBERO's stored initial states::

    {"per_task": [{"task_group": "libero_goal", "task_id": 3, "metrics": {"successes": [true, false], ...}}], ...}
    {"per_episode": [{"episode_ix": 0, "success": true, "sum_reward": 1.0}], ...}       up to lerobot 0.3

``episodes.jsonl`` of LIBERO-PRO (``libero.evaluation.eval``), one object per line::

    {"policy": "openvla", "base_suite": "libero_goal", "effective_suite": "libero_goal_temp", "perturbation_type":
     "position", "task": "turn_on_the_stove", "prompt": "...", "init_state_id": 0, "success": true, "steps": 97, ...}

``action_trace_path`` is the path of an optional file with one JSON object per step: ``libero_action`` (7),
``before_eef_pos`` and ``after_eef_pos`` (3, metres), ``before_gripper_qpos`` and ``after_gripper_qpos`` (2).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.episodes import CONTROL, Episode, Outcome, Trajectory, no_trajectory
from assay.episodes.perturbation import changed_by
from assay.errors import one_line
from assay.extensions.interop.importing import reported
from assay.extensions.interop.importing.reported import Evaluation, ReportedEpisode, TaskCondition
from assay.support.files import DATABASE
from assay.tasks.formats import ReleaseError, text_of

VLA_EVAL_STATUS = {"success": Outcome.SUCCESS, "fail": Outcome.FAILURE, "error": Outcome.ERROR}
STATE_SIZE = 8
"""Length of a state: position (3), orientation (3) and finger positions (2)."""
PRO_REGULAR_ENDS = ("success", "max_steps")
"""Termination reasons of LIBERO-PRO's episodes that ended without an error."""
LEROBOT_REMARK = (
    "lerobot's file has no steps, trajectories or instructions, so only success rates are reported"
)
PRO_REMARK = (
    "the file has no action traces, so trajectories are not analysed (diagnostics.action_trace.enabled=true records "
    "them)"
)


def read_vla_eval(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluation in a vla-eval recording. Raises ReleaseError."""
    episodes: dict[tuple[str, str, int, str], ReportedEpisode] = {}
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            metadata = {
                name: json.loads(text)
                for name, text in db.execute("SELECT eval_id, metadata FROM eval_metadata")
            }
            rows = db.execute(
                "SELECT sid, eid, eval_id, task_name, episode_id, status, metrics, steps, elapsed_sec, context, "
                "failure_reason, failure_detail FROM episode_results ORDER BY rowid"
            ).fetchall()
            for row in rows:
                episode = _vla_eval_episode(db, row, metadata)
                key = (episode.name.task, episode.name.condition, episode.trial, episode.name.variant)
                if key not in episodes or episodes[key].episode.outcome is Outcome.ERROR:
                    episodes[key] = episode  # a retry replaces an error
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(f"{file}: not a vla-eval recording: {one_line(error, 120)}") from None
    _require_episodes(file, episodes)
    records = [result.episode for result in episodes.values()]
    finished = [record for record in records if record.outcome is not Outcome.ERROR]
    without = sum(not len(record.trajectory.end_effector) for record in finished)
    some = "" if without == len(finished) else f" for {without} of {len(finished)} episodes"
    remark = (
        f"the recording has no states{some}, so trajectories are not analysed (recording.record_step: true records "
        "them)"
    )
    first: dict[str, Any] = next(iter(metadata.values()), {})
    server, names = first.get("server_info") or {}, ("model", "model_name", "model_server")
    parameters = (first.get("config") or {}).get("params") or {}
    settings = {
        name: value for name, value in parameters.items() if isinstance(value, str | int | float | bool)
    }
    return (
        Evaluation(
            "vla-eval",
            next((server[name] for name in names if isinstance(server.get(name), str)), ""),
            tuple(episodes.values()),
            settings={**settings, "harness_version": first.get("harness_version"), "mode": first.get("mode")},
            stored=all(result.name.task in tasks.built_in_ids() for result in episodes.values()),
            remarks=(remark,) if without else (),
        ),
    )


def _vla_eval_episode(
    db: sqlite3.Connection, row: tuple[Any, ...], metadata: dict[str, Any]
) -> ReportedEpisode:
    sid, eid, evaluation, task_name, number, status, metrics, steps, seconds, context, phase, detail = row
    arguments = json.loads(context or "{}")
    benchmark = str(metadata.get(evaluation, {}).get("benchmark", "")).rpartition(":")[2]
    name = reported.parse_names(
        str(arguments.get("suite") or benchmark),
        str(task_name),
        arguments.get("category"),
        arguments.get("difficulty_level"),
    )
    path = _vla_eval_trajectory(db, sid, eid)
    labels = {
        name: value
        for name, value in json.loads(metrics or "{}").items()
        if name != "success" and isinstance(value, int | float)
    }
    last_line = (detail or "").strip().splitlines()[-1:]
    error = one_line(": ".join(part for part in (phase, *last_line) if part) or "error")
    return ReportedEpisode(
        replace(name, labels={**name.labels, **labels}),
        int(number),
        Episode(
            VLA_EVAL_STATUS[status],
            len(path.actions) or int(steps or 0),
            path,
            str(arguments.get("instruction") or task_name),
            seconds=float(seconds or 0.0),
            error=error if status == "error" else "",
        ),
    )


def _vla_eval_trajectory(db: sqlite3.Connection, sid: str, eid: str) -> Trajectory:
    """Return the trajectory of an episode; its path or actions are empty unless recorded for every step."""
    query = "SELECT fields FROM step_rows WHERE sid = ? AND eid = ? ORDER BY step_id"
    steps = [json.loads(fields) for (fields,) in db.execute(query, (sid, eid))]

    def column(name: str) -> np.ndarray | None:
        rows = [step.get(name) for step in steps]
        if not rows or any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
            return None
        array = np.asarray(rows, np.float32)
        return array if array.ndim == 2 and np.isfinite(array).all() else None

    empty = no_trajectory()
    actions, states = column("action"), column("state")
    path, gripper = empty.end_effector, empty.gripper
    if states is not None and states.shape[1] == STATE_SIZE:
        path, gripper = states[:, :3], states[:, 6] - states[:, 7]
    return Trajectory(path, gripper, empty.actions if actions is None else actions)


def read_lerobot(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluation in lerobot's ``eval_info.json``. Raises ReleaseError."""
    episodes: list[ReportedEpisode] = []

    def add(task: str, trial: int, success: object, reward: float | None) -> None:
        if not isinstance(success, bool | int | float) or success not in (0, 1):
            raise ValueError(f"{task}, episode {trial}: success is {success!r:.40}; expected true or false")
        outcome = Outcome.SUCCESS if success else Outcome.FAILURE
        name = TaskCondition(task, labels={} if reward is None else {"sum_reward": float(reward)})
        episodes.append(ReportedEpisode(name, trial, Episode(outcome, 0, no_trajectory())))

    try:
        content = json.loads(text_of(file))
        if "per_task" not in content:  # the episodes of one task, which the file does not name
            for row in content["per_episode"]:
                add("task", int(row["episode_ix"]), row["success"], row["sum_reward"])
        for row in content.get("per_task", ()):
            suite, number, metrics = str(row["task_group"]), row["task_id"], row["metrics"]
            task = reported.find_task(str(number), suite) or f"{suite}/{number}"
            rewards = metrics.get("sum_rewards") or ()
            for trial, success in enumerate(metrics["successes"]):
                add(task, trial, success, rewards[trial] if trial < len(rewards) else None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error!s:.80}"
        raise ReleaseError(f"{file}: not lerobot's eval_info.json: {reason}") from None
    _require_episodes(file, episodes)
    return (Evaluation("lerobot-eval", "", tuple(episodes), stored=True, remarks=(LEROBOT_REMARK,)),)


def read_libero_pro(file: Path) -> tuple[Evaluation, ...]:
    """Return the evaluations in LIBERO-PRO's ``episodes.jsonl``, one per policy. Raises ReleaseError."""
    by_policy: dict[str, list[ReportedEpisode]] = {}
    for number, line in enumerate(text_of(file).splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
                by_policy.setdefault(str(row["policy"]), []).append(_libero_pro_episode(row, file.parent))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                reason = one_line(error, 80)
                raise ReleaseError(f"{file}: line {number}: not a LIBERO-PRO episode: {reason}") from None
    _require_episodes(file, by_policy)
    return tuple(
        Evaluation(
            "LIBERO-PRO",
            policy,
            tuple(episodes),
            stored=True,
            remarks=()
            if any(len(result.episode.trajectory.actions) for result in episodes)
            else (PRO_REMARK,),
        )
        for policy, episodes in by_policy.items()
    )


def _libero_pro_episode(row: dict[str, Any], folder: Path) -> ReportedEpisode:
    condition, change = CONTROL, ""
    if (kind := str(row["perturbation_type"])) not in ("", "none"):
        parts = [reported.PRO_TYPES.get(part, part) for part in kind.split("+")]
        condition = f"libero-pro/{'+'.join(parts)}"
        change = changed_by(reported.PRO_CHANGES.get(part, part) for part in parts)
    suite, name = str(row["base_suite"]), str(row["task"])
    reason = str(row.get("termination_reason") or "")
    outcome = Outcome.SUCCESS if row["success"] is True else Outcome.FAILURE
    if outcome is Outcome.FAILURE and reason not in PRO_REGULAR_ENDS:
        outcome = Outcome.ERROR
    path = _libero_pro_trajectory(str(row.get("action_trace_path") or ""), folder)
    variant = "" if condition == CONTROL else str(row["effective_suite"])
    return ReportedEpisode(
        TaskCondition(reported.find_task(name, suite) or f"{suite}/{name}", condition, change, variant),
        int(row["init_state_id"]),
        Episode(
            outcome,
            len(path.actions) or int(row["steps"]),
            path,
            str(row["prompt"]),
            seconds=float(row["duration_seconds"]),
            decisions=int(row["policy_query_count"]),
            error=reason if outcome is Outcome.ERROR else "",
        ),
    )


def _libero_pro_trajectory(path: str, folder: Path) -> Trajectory:
    """Read a trace file from its recorded path or the folder of ``episodes.jsonl``; empty if it is missing."""
    places = (Path(path), folder / path, folder / "action_traces" / Path(path).name) if path else ()
    file = next((place for place in places if place.is_file()), None)
    steps = [json.loads(line) for line in text_of(file).splitlines() if line.strip()] if file else []
    if not steps:
        return no_trajectory()

    def column(name: str) -> np.ndarray:
        return np.asarray([step[name] for step in steps], np.float32)

    positions = np.vstack([column("before_eef_pos"), column("after_eef_pos")[-1:]])
    fingers = np.vstack([column("before_gripper_qpos"), column("after_gripper_qpos")[-1:]])
    return Trajectory(positions, fingers[:, 0] - fingers[:, 1], column("libero_action"))


def _contains(*keys: bytes) -> Callable[[Path, bytes], bool]:
    """Return a function that recognises JSON files that begin with an object and contain one of the keys."""
    return lambda path, head: head.lstrip().startswith(b"{") and any(key in head for key in keys)


def _require_episodes(file: Path, episodes: object) -> None:
    if not episodes:
        raise ReleaseError(f"{file} contains no episodes")


HARNESS_FORMATS = (
    reported.ResultFormat(
        "vla-eval recording (recording-*.sqlite)",
        lambda path, head: head.startswith(DATABASE),
        read_vla_eval,
    ),
    reported.ResultFormat(
        "lerobot-eval's eval_info.json", _contains(b'"per_task"', b'"per_episode"'), read_lerobot
    ),
    reported.ResultFormat("LIBERO-PRO's episodes.jsonl", _contains(b'"init_state_id"'), read_libero_pro),
)
