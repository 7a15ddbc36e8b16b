"""Policies with one flaw each in the experiment `events`: does the diagnosis name that flaw, and no other?

Every episode is simulated; this takes some minutes.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from assay import tasks
from assay.experiments import load_experiment
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import profile
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.store import Store
from bench.figure import Figure

PLANTED = {
    "oracle": Flaw.NOTHING,
    "glance": Flaw.NO_SECOND_LOOK,
    "deaf": Flaw.NOT_LISTENING,
    "unstoppable": Flaw.CANNOT_STOP,
}
TASKS = "libero_goal/8,libero_goal/2"
CONDITIONS = "moved,changed,cancelled,distractor"
"""One condition for each required reaction: observe again, read the instruction again, stop, continue."""
SEEDS = range(4)
"""Eight starts; with fewer, an exact test of four hypotheses cannot reach significance."""


def measure() -> list[Figure]:
    return [_judged(policy, flaw) for policy, flaw in PLANTED.items()]


def _judged(policy: str, planted: Flaw) -> Figure:
    """Count the differences between planted and reported flaws."""
    with TemporaryDirectory() as folder:
        found = _found(policy, Path(folder) / f"{policy}.assay")
    said = ", ".join(sorted(f"'{each}'" for each in found)) or "no finding"
    return Figure(
        f"events, {policy} ('{planted}'): wrong or missing findings",
        len(found ^ {planted}),
        "findings",
        0,
        note=f"found: {said}",
    )


def _found(policy: str, file: Path) -> set[str]:
    """Return the flaws reported for a run."""
    specs = load_experiment("events").only(CONDITIONS).plan(tasks.resolve(TASKS), SEEDS)
    runner = EpisodeRunner(WorkerConfig(policy))
    with Store.writing(file) as run:
        run.plan(specs)
        for waiting in sorted(run.todo(), key=lambda each: each.scene):
            (spec,) = run.specs([waiting.number])
            run.append(waiting.number, runner.run(spec))
        findings = diagnose(profile(run))
    runner.close()
    return {each.flaw for each in findings if each.verdict is Verdict.FOUND}
