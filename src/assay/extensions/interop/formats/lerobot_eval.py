"""``eval_info.json``, as ``lerobot-eval`` writes it.

    {"per_task": [{"task_group": "libero_goal", "task_id": 3, "metrics": {"successes": [true, false], ...}}], ...}

lerobot 0.3 and older have ``{"per_episode": [{"episode_ix": 0, "success": true, "seed": 1000}], "aggregated": {...}}``.
Episodes are in the order of their seeds, which is that of LIBERO's stored initial states.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.episodes import Outcome
from assay.extensions.interop.formats.results import Evaluation, Kind, ReportedEpisode, known_task
from assay.tasks.formats import ReleaseError, text_of

TOOL = "lerobot-eval"
SILENT = "lerobot's file has neither steps nor trajectories nor instructions: it says how often, not how"


def read(file: Path) -> tuple[Evaluation, ...]:
    """The one evaluation of a file. Raises ReleaseError where it is none."""
    try:
        content = json.loads(text_of(file))
        episodes = tuple(_tasks(content["per_task"]) if "per_task" in content else _alone(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReleaseError(
            f"{file}: not lerobot's eval_info.json: {type(error).__name__}: {error!s:.80}"
        ) from None
    if not episodes:
        raise ReleaseError(f"{file}: has no episode")
    return (Evaluation(TOOL, "", episodes, stored=True, remarks=(SILENT,)),)


def _tasks(rows: list[dict[str, Any]]) -> list[ReportedEpisode]:
    found = []
    for row in rows:
        group, number, metrics = str(row["task_group"]), row["task_id"], row["metrics"]
        task = known_task(str(number), group) or f"{group}/{number}"
        rewards = metrics.get("sum_rewards") or ()
        for trial, success in enumerate(metrics["successes"]):
            labels = {"sum_reward": float(rewards[trial])} if trial < len(rewards) else {}
            found.append(_episode(task, trial, success, labels))
    return found


def _alone(content: dict[str, Any]) -> list[ReportedEpisode]:
    """The episodes of one task, which the file does not name."""
    return [
        _episode("task", int(row["episode_ix"]), row["success"], {"sum_reward": float(row["sum_reward"])})
        for row in content["per_episode"]
    ]


def _episode(task: str, trial: int, success: object, labels: dict[str, float]) -> ReportedEpisode:
    if not isinstance(success, bool | int | float) or success not in (0, 1):
        raise ValueError(f"{task}, episode {trial}: success is {success!r:.40}")
    outcome = Outcome.SUCCESS if success else Outcome.FAILURE
    return ReportedEpisode(task, trial, outcome, labels=labels)


def _recognises(path: Path, head: bytes) -> bool:
    if not head.lstrip().startswith(b"{"):
        return False
    return any(word in head for word in (b'"per_task"', b'"per_episode"'))


LEROBOT = Kind("lerobot-eval's eval_info.json", _recognises, read)
