"""LIBERO-PRO: remaining success of memorising policies, and whether a report names flaws from its five changes alone.

The release is read from the folder in ``ASSAY_SHARED``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import assay
from assay import tasks
from assay.episodes import CONTROL, task_of
from assay.experiments import load_experiment
from assay.extensions.papers.libero_pro.paper import SUITES as LEADERBOARD
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.perturb.world.exchange import MIN_EXCHANGE_M, goal_objects
from assay.perturb.world.ground import Ground
from bench.figure import Figure

DIMENSIONS = "object,position,semantic,task,environment"
TASKS = {"pro": ("libero_goal/1,libero_goal/6,libero_goal/8", 5), "libero-pro": ("libero_goal", 5)}
"""Tasks and seeds; more tasks for the release, because the oracle does not solve all entries of a task."""
PLANTED = {
    "oracle": ({Flaw.NOTHING}, set()),
    "replay": ({Flaw.MEMORISES}, set()),
    "nearest": ({Flaw.POSITION}, {Flaw.ROOM}),
    "keyword": ({Flaw.OTHER_TASKS, Flaw.UNKNOWN_NAMES}, set()),
    "colour": ({Flaw.OBJECT, Flaw.APPEARANCE}, set()),
}
"""Policy -> correct names of its flaw and of the consequences, such as different object positions in other rooms."""
SUITES = "libero_goal,libero_spatial"
FORGETS = {"replay": "position", "keyword": "task", "semantic": "task"}
"""Policy -> the dimension in which almost none of its success remains."""


def measure() -> list[Figure]:
    release = Path(os.environ.get("ASSAY_SHARED", "../shared")) / "libero_pro"
    designs = {"pro": "pro?experiments=false"}
    if release.is_dir():
        designs["libero-pro"] = f"libero-pro?folder={release}"
    figures = [_moved(suite) for suite in tasks.suites() if suite in LEADERBOARD]
    return [*figures, *(figure for name, design in designs.items() for figure in _figures(name, design))]


def _moved(suite: str) -> Figure:
    """Return the largest distance by which an exchange of positions moves an object of interest."""
    design, far = load_experiment("pro").only("position"), []
    for task in tasks.suite(suite):
        before = Ground(task.scene, snug=True).spots
        for spec in design.plan([task], range(5)):
            if spec.condition != CONTROL:
                after = Ground(task_of(spec).scene, snug=True).spots
                far.append(max(before[name].distance(after[name]) for name in goal_objects(task)))
    what = f"largest displacement of an object of interest in {suite}, pro/position"
    return Figure(
        what,
        100 * float(np.median(far)),
        "cm (median)",
        100 * MIN_EXCHANGE_M,
        at_most=False,
        note=f"n = {len(far)}",
    )


def _figures(name: str, design: str) -> Iterator[Figure]:
    right, told = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for policy, (flaws, consequences) in PLANTED.items():
            out = Path(folder) / f"{policy}.assay"
            run = assay.run(
                design,
                policy,
                tasks=TASKS[name][0],
                seeds=TASKS[name][1],
                conditions=DIMENSIONS,
                certified=True,
                out=out,
                progress=False,
            )
            found = {each.flaw for each in run.diagnose() if each.verdict is Verdict.FOUND}
            right += bool(found & flaws) and found <= flaws | consequences
            told.append(f"{policy}: {', '.join(sorted(found)) or 'nothing'}")
            if policy == "oracle":
                yield _solved(name, run)
        for policy, dimension in FORGETS.items():
            out = Path(folder) / f"{policy}-{dimension}.assay"
            run = assay.run(
                design, policy, tasks=SUITES, seeds=1, conditions=dimension, out=out, progress=False
            )
            yield _left(name, run, policy, dimension)
    yield Figure(
        f"policies whose planted flaw is named, and none for the oracle ({name})",
        right,
        f"of {len(PLANTED)}",
        len(PLANTED),
        at_most=False,
        note="; ".join(told),
    )


def _left(name: str, run: assay.Run, policy: str, dimension: str) -> Figure:
    rows = run.frame()
    mine = rows.filter((rows["condition"] == f"{name}/{dimension}") & (rows["outcome"] != "error"))
    share = 100 * float((mine["outcome"] == "success").mean() or 0.0)
    return Figure(f"{policy} on {name}/{dimension}", share, "% success", 5.0, note=f"n = {len(mine)}")


def _solved(name: str, run: assay.Run) -> Figure:
    rows = run.frame()
    mine = rows.filter((rows["condition"] != "control") & (rows["outcome"] != "error"))
    share = 100 * float((mine["outcome"] == "success").mean() or 0.0)
    what = f"success of the oracle on the certified scenes of {name}"
    return Figure(what, share, "% success", 95.0, at_most=False, note=f"n = {len(mine)}")
