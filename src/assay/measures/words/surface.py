"""What it costs to write the same words otherwise: with a full stop, in capitals, ..."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assay.measures.enough import least_one_sided, telling
from assay.measures.evidence import Among, FlawTest, Shows, Untested, drop_evidence, loss, one_sided_p
from assay.measures.flaws import Flaw
from assay.measures.measure import Measure
from assay.measures.success.drops import Drop, drops, pooled
from assay.support.stats.significance import SURE, holm


def ways_to_write_it(among: Among) -> Iterator[FlawTest | Untested]:
    """What all forms cost together, and each of them, the one that costs most first."""
    runs = tuple(run for run, profile in among if profile.get(SURFACE) is not None)
    by_form: dict[str, list[Drop]] = {}
    for _, profile in among:
        for drop in profile.get(SURFACE) or ():
            by_form.setdefault(str(drop.group[LABEL]), []).append(drop)
    found = [(form, drop) for form, parts in by_form.items() if (drop := pooled(parts)).control]
    if not found:
        return
    adjusted = holm([one_sided_p(drop.change, drop.p) for _, drop in found])
    ranked = sorted(zip(adjusted, found, strict=True), key=lambda each: (each[0], each[1][1].change))
    evidence = tuple(
        replace(
            drop_evidence(runs, SURFACE.name, form, drop),
            shows=Shows.LOSS if p < SURE and drop.interval.high < 0 else Shows.NOTHING,
        )
        for p, (form, drop) in ranked
    )
    together = pooled([drop for _, drop in found])
    worst = ranked[0][1][1] if evidence[0].shows is Shows.LOSS else together
    # Two tests, of a small loss in all forms and of a large one in a single form: the surer one counts, doubled.
    p = min(1.0, 2 * min(one_sided_p(together.change, together.p), ranked[0][0]))
    yield FlawTest(
        Flaw.SURFACE, evidence, p, loss(worst.interval), least_p=2 * least_one_sided(telling(together.table))
    )


LABEL = "surface"
"""The label of episodes whose instruction is written otherwise: in which respect."""
SURFACE = Measure(
    "surface",
    "The paired difference to the control where the same words are written otherwise, by how.",
    lambda run: drops(run.frame, (LABEL,), stopped=run.stopped),
    needs=(LABEL,),
    tests="assay.measures.words.surface:ways_to_write_it",
)
