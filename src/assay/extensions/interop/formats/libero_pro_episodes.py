"""``episodes.jsonl``, as LIBERO-PRO's own evaluation (``libero.evaluation.eval``) writes it: one object a line.

    {"policy": "openvla", "base_suite": "libero_goal", "effective_suite": "libero_goal_temp", "perturbation_type":
     "position", "task": "turn_on_the_stove", "prompt": "...", "init_state_id": 0, "success": true, "steps": 97, ...}

``action_trace_path`` names a file of one object a step, if traces were asked for: ``libero_action`` (7),
``before_eef_pos`` and ``after_eef_pos`` (3, metres), ``before_gripper_qpos`` and ``after_gripper_qpos`` (2).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes import CONTROL, Outcome, Trajectory, no_trajectory
from assay.errors import one_line
from assay.extensions.interop.formats.reported_names import pro_condition
from assay.extensions.interop.formats.results import Evaluation, Kind, ReportedEpisode, known_task
from assay.tasks.formats import ReleaseError, text_of

TOOL = "LIBERO-PRO"
ENDED = ("success", "max_steps")
"""Reasons for which an episode ends that are no error."""
UNTRACED = "no action traces: nothing can be said of paths (diagnostics.action_trace.enabled=true)"


def read(file: Path) -> tuple[Evaluation, ...]:
    """The evaluations of a file, one for each policy. Raises ReleaseError where a line is no episode."""
    found: dict[str, list[ReportedEpisode]] = {}
    for number, line in enumerate(text_of(file).splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
                found.setdefault(str(row["policy"]), []).append(_episode(row, file.parent))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ReleaseError(
                    f"{file}: line {number}: no episode of LIBERO-PRO: {one_line(error, 80)}"
                ) from None
    if not found:
        raise ReleaseError(f"{file}: has no episode")
    return tuple(
        Evaluation(
            TOOL,
            policy,
            tuple(episodes),
            stored=True,
            remarks=() if any(len(episode.trajectory.actions) for episode in episodes) else (UNTRACED,),
        )
        for policy, episodes in found.items()
    )


def _episode(row: dict[str, Any], folder: Path) -> ReportedEpisode:
    condition, change = pro_condition(str(row["perturbation_type"]))
    suite, name = str(row["base_suite"]), str(row["task"])
    reason = str(row.get("termination_reason") or "")
    outcome = Outcome.SUCCESS if row["success"] is True else Outcome.FAILURE
    if outcome is Outcome.FAILURE and reason not in ENDED:
        outcome = Outcome.ERROR
    path = _trace(str(row.get("action_trace_path") or ""), folder)
    return ReportedEpisode(
        task=known_task(name, suite) or f"{suite}/{name}",
        trial=int(row["init_state_id"]),
        outcome=outcome,
        condition=condition,
        change=change,
        variant="" if condition == CONTROL else str(row["effective_suite"]),
        steps=len(path.actions) or int(row["steps"]),
        seconds=float(row["duration_seconds"]),
        decisions=int(row["policy_query_count"]),
        instruction=str(row["prompt"]),
        error=reason if outcome is Outcome.ERROR else "",
        trajectory=path,
    )


def _trace(path: str, folder: Path) -> Trajectory:
    """The path of an episode, if its file is here: where it says, or beside the list of episodes."""
    places = (Path(path), folder / path, folder / "action_traces" / Path(path).name) if path else ()
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return no_trajectory()
    steps = [json.loads(line) for line in text_of(file).splitlines() if line.strip()]
    if not steps:
        return no_trajectory()

    def column(name: str) -> np.ndarray:
        return np.asarray([step[name] for step in steps], np.float32)

    hand = np.vstack([column("before_eef_pos"), column("after_eef_pos")[-1:]])
    fingers = np.vstack([column("before_gripper_qpos"), column("after_gripper_qpos")[-1:]])
    return Trajectory(hand, fingers[:, 0] - fingers[:, 1], column("libero_action"))


def _recognises(path: Path, head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"perturbation_type"' in head and b'"init_state_id"' in head


LIBERO_PRO = Kind("LIBERO-PRO's episodes.jsonl", _recognises, read)
