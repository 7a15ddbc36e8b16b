"""Cost of writing the same words differently: with a full stop, in capitals, ..."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assay.measures.findings import FlawTest, Profiles, Shows, Untested, loss, one_sided_p
from assay.measures.flaws import Flaw
from assay.measures.measure import Measure
from assay.measures.sample_size import least_one_sided, telling
from assay.measures.success.drops import Drop, drop_evidence, drops, pool_drops
from assay.support.stats.significance import SURE, holm

LABEL = "surface"
"""Label of episodes whose instruction is written differently: the form."""


def _test_forms(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test the cost of all forms together, and of each form, the costliest first."""
    runs = tuple(run for run, profile in profiles if profile.get(SURFACE) is not None)
    by_form: dict[str, list[Drop]] = {}
    for _, profile in profiles:
        for drop in profile.get(SURFACE) or ():
            by_form.setdefault(str(drop.group[LABEL]), []).append(drop)
    forms = [(form, drop) for form, parts in by_form.items() if (drop := pool_drops(parts)).control]
    if not forms:
        return
    adjusted = holm([one_sided_p(drop.change, drop.p) for _, drop in forms])
    ranked = sorted(zip(adjusted, forms, strict=True), key=lambda entry: (entry[0], entry[1][1].change))
    evidence = tuple(
        replace(
            drop_evidence(runs, SURFACE.name, form, drop),
            shows=Shows.LOSS if p < SURE and drop.interval.high < 0 else Shows.NOTHING,
        )
        for p, (form, drop) in ranked
    )
    together = pool_drops([drop for _, drop in forms])
    worst = ranked[0][1][1] if evidence[0].shows is Shows.LOSS else together
    # Two tests, of a small loss in all forms and of a large one in a single form: the smaller p counts, doubled.
    p = min(1.0, 2 * min(one_sided_p(together.change, together.p), ranked[0][0]))
    least = 2 * least_one_sided(telling(together.table))
    yield FlawTest(Flaw.SURFACE, evidence, p, loss(worst.interval), least_p=least)


SURFACE = Measure(
    "surface",
    "Paired difference to the control if the same words are written differently, by form.",
    lambda run: drops(run.frame, (LABEL,), stopped=run.stopped),
    needs=(LABEL,),
    tests=_test_forms,
)
