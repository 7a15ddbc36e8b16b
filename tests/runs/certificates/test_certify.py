"""Real certificates, by the demonstrator itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from assay import tasks
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.perturb.world.objects import Remove, Resize
from assay.perturb.world.position import Displace
from assay.runs.certificates import (
    CertificateCache,
    ClaimVerdict,
    admit,
    certify,
    claim,
    claims,
    summarise,
)
from assay.runs.executor import Died, Event
from assay.runs.schedulers.plan import Scheduler

SUITE = Experiment(
    "some",
    "Some changes.",
    variants=lambda task: (
        Variant("said", (Say("do it"),)),
        Variant("moved", (Displace(0.03),)),
        Variant("larger", (Resize(1.2),)),
        Variant("gone", (Remove("akita_black_bowl_1"),)),
    ),
)
PLAN = list(SUITE.plan([tasks.load("libero_goal/7")], (0,)))


def test_certificates_are_made_once_and_decide_what_is_served(cache: CertificateCache, here: Any):
    wanted = list(claims(PLAN))
    assert len(wanted) == 4, "the reworded episode has its control's"
    assert certify(wanted, cache, here).left == 0 and None not in map(cache.get, wanted)
    control, said, moved, larger, gone = (cache.get(claim(spec)) for spec in PLAN)
    assert control == said and control is not None and control.verdict is ClaimVerdict.SOLVED
    assert moved is not None and 0 < moved.steps < 300
    assert larger is not None and larger.verdict is ClaimVerdict.UNPLACED and "is a fixture" in larger.why
    assert gone is not None and gone.verdict is ClaimVerdict.NOTHING
    admitted, refused = admit(PLAN, cache)
    assert [spec.condition for spec in admitted] == ["control", "said", "moved", "gone"]
    assert [refusal.condition for refusal in refused] == ["larger"]
    *_, whole = summarise(PLAN, cache)
    assert (whole.scenes, whole.certified, whole.nothing, sum(whole.refused.values())) == (4, 2, 1, 1)
    assert whole.steps == [control.steps, moved.steps]


def test_death_of_a_worker_does_not_judge_the_scene(cache: CertificateCache):
    class Deadly:
        workers = 1

        def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
            while batch := source.take(None):
                yield from (Died(number, "the worker died: SIGSEGV") for number, _ in batch)

    wanted = list(claims(PLAN[:1]))
    assert certify(wanted, cache, Deadly()).left == 0
    assert cache.get(wanted[0]) is None, "it is tried again the next time"
    admitted, refused = admit(PLAN[:1], cache)
    assert not admitted and "worker died" in refused[0].reason
