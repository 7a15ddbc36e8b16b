"""What a researcher scripts: run experiments, open and read runs, compare them, step a task by hand.

    import assay

    run = assay.run("pro", policy="python:mine:Policy", tasks="libero_goal", seeds=range(10))
    for finding in run.diagnose():
        print(finding)

`assay run` and the demo go through this.

running         play experiments: run, evaluate
recorded        runs that were made: open, compare, Run
versus          one policy against another: duel, gate
searching       the smallest change that breaks a policy: search
auditing        what an experiment cannot see: audit, audit_states
stepping        single tasks: load_task, make_env
choices         tasks, seeds and conditions, as all of them take them
"""

from __future__ import annotations

from assay.api.auditing import Audit, audit, audit_states
from assay.api.choices import Seeds
from assay.api.recorded import Episodes, RecordedEpisode, Run, compare, open
from assay.api.running import Evaluated, evaluate, run
from assay.api.searching import search
from assay.api.stepping import TaskEnv, load_task, make_env
from assay.api.versus import duel, gate

__all__ = [
    "Audit",
    "Episodes",
    "Evaluated",
    "RecordedEpisode",
    "Run",
    "Seeds",
    "TaskEnv",
    "audit",
    "audit_states",
    "compare",
    "duel",
    "evaluate",
    "gate",
    "load_task",
    "make_env",
    "open",
    "run",
    "search",
]
