"""The Python API: run experiments, load and report runs, compare them, step a task by hand.

    import assay

    run = assay.run("pro", policy="python:mine:Policy", tasks="libero_goal", seeds=range(10))
    for finding in run.diagnose():
        print(finding)

running     execute experiments: run, evaluate, duel, search, audit; judge two runs: gate
recorded    recorded runs: load_run, compare, Run
stepping    single tasks: load_task, make_env
tracking    experiment trackers
"""

from __future__ import annotations

from assay.api.recorded import Episodes, RecordedEpisode, Run, compare, load_run
from assay.api.running import Audit, Evaluated, SearchResult, audit, evaluate, gate, run, search
from assay.api.stepping import TaskEnv, load_task, make_env
from assay.runs.options import RunOptions, Seeds
from assay.runs.schedulers.duel import duel

__all__ = [
    "Audit",
    "Episodes",
    "Evaluated",
    "RecordedEpisode",
    "Run",
    "RunOptions",
    "SearchResult",
    "Seeds",
    "TaskEnv",
    "audit",
    "compare",
    "duel",
    "evaluate",
    "gate",
    "load_run",
    "load_task",
    "make_env",
    "run",
    "search",
]
