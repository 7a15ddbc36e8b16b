"""Success under instructions that do not request the task: nonsense, or another task."""

from __future__ import annotations

from collections.abc import Iterator

from assay.measures.findings import Evidence, FlawTest, Profiles, Untested, p_above_tolerated
from assay.measures.flaws import Flaw
from assay.measures.frames import guessable
from assay.measures.measure import Measure
from assay.measures.result import MeasureError
from assay.measures.run_data import RunData
from assay.measures.success.drops import DROPS, Drop
from assay.support.stats.intervals import wilson_interval


def nonsense(run: RunData) -> Drop:
    """Return the nonsense or counterfactual condition in which the task's goal is reached least often.

    Guessable instructions are excluded: following them does not show that they were ignored.
    """
    guessed = set(guessable(run.frame)["condition"])
    drops = [
        drop
        for drop in run.result(DROPS)
        if not drop.plausible
        and drop.family.startswith("words")
        and drop.group.get("condition") not in guessed
    ]
    if all(drop.control == 0 for drop in drops):
        raise MeasureError(
            "no episode has a nonsense or counterfactual instruction and a control that succeeds"
        )
    return min(drops, key=lambda drop: drop.perturbed)


def _test_nonsense(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test success under nonsense, for runs without trajectories."""
    for run, profile in profiles:
        drop = profile.get(NONSENSE)
        if drop is None or profile.get("memorisation") is not None:
            continue
        independent = int(drop.perturbed * drop.starts + 1e-9)  # episodes of one start may be identical
        p, interval = (
            p_above_tolerated(independent, drop.starts),
            wilson_interval(drop.perturbed, drop.starts),
        )
        (condition,) = drop.group.values()
        hits = drop.both + drop.only_perturbed
        evidence = Evidence(
            run, NONSENSE.name, str(condition), drop.perturbed, interval, p, hits=hits, count=drop.pairs
        )
        least = p_above_tolerated(drop.starts, drop.starts)
        yield FlawTest(Flaw.IGNORES_WORDS, (evidence,), p, interval, least_p=least)
    yield Untested(Flaw.IGNORES_WORDS, NONSENSE.name)


NONSENSE = Measure(
    "nonsense",
    "How often the task's goal is reached although the instruction does not ask for it.",
    nonsense,
    tests=_test_nonsense,
)
