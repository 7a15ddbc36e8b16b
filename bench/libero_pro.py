"""LIBERO-PRO: what memorisers still succeed in, and whether a report names flaws from its five changes alone.

The release is run where its tables are: the folder that ``ASSAY_SHARED`` names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import assay
from assay.measures import Flaw, Verdict
from bench.figure import Figure

DIMENSIONS = "object,position,semantic,task,environment"
TASKS = "libero_goal/1,libero_goal/6,libero_goal/8"
SEEDS = {"pro": 5, "libero-pro": 3}
"""The release has several entries of each dimension for a task."""
PLANTED = {
    "oracle": {Flaw.NOTHING},
    "replay": {Flaw.MEMORISES},
    "nearest": {Flaw.POSITION},
    "keyword": {Flaw.OTHER_TASKS, Flaw.UNKNOWN_NAMES},
    "colour": {Flaw.OBJECT, Flaw.APPEARANCE},
}
"""Policies, and what their flaw may rightly be called."""
FORGETS = {"replay": "position", "keyword": "task"}
"""Policies, and the dimension in which almost nothing of their success is left."""


def measure() -> list[Figure]:
    release = Path(os.environ.get("ASSAY_SHARED", "../shared")) / "libero_pro"
    designs = {"pro": f"pro?experiments=false&conditions={DIMENSIONS}"}
    if release.is_dir():
        designs["libero-pro"] = f"libero-pro?folder={release}&conditions={DIMENSIONS}"
    return [figure for name, design in designs.items() for figure in _figures(name, design)]


def _figures(name: str, design: str) -> Iterator[Figure]:
    right, told = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for policy, flaws in PLANTED.items():
            out = Path(folder) / f"{policy}.assay"
            run = assay.run(
                design, policy, tasks=TASKS, seeds=SEEDS[name], certified=True, out=out, progress=False
            )
            found = {each.flaw for each in run.diagnose() if each.verdict is Verdict.FOUND}
            right += bool(found & flaws) if flaws != {Flaw.NOTHING} else found <= {Flaw.NOTHING}
            told.append(f"{policy}: {', '.join(sorted(found)) or 'nothing'}")
            if dimension := FORGETS.get(policy):
                yield _left(name, run, policy, dimension)
            if policy == "oracle":
                yield _solved(name, run)
    yield Figure(
        f"policies whose planted flaw is named, and no flaw of the oracle ({name})",
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
    what = f"oracle on what is certified of {name}"
    return Figure(what, share, "% success", 95.0, at_most=False, note=f"n = {len(mine)}")
