"""Is a flaw the consequence of another? Asked of the episodes in which it shows, not of two numbers.

A policy that plays back a trajectory fails where things were moved. Then the failures are the episodes whose path is
the control's, and without them there is no loss left. Where nothing was moved, as in another light, a playback fails no
more than before, so that memory explains nothing.
"""

from __future__ import annotations

import polars as pl

from assay.measures.evidence import HARMLESS, FlawTest
from assay.measures.flaws import CONSEQUENCES, Flaw, shown_by
from assay.support.stats.significance import SURE, binomial_at_least

BY_PATH = (Flaw.MEMORISES, Flaw.IGNORES_WORDS)
"""Causes that show in the paths of the very episodes."""
MOST = 0.5
"""The share of the failures that must be the cause's own."""
MISJUDGED = 0.1
"""The share of playbacks that may not look like the control: its own spread leaves out one in twenty."""


def explains(cause: FlawTest, other: FlawTest, rows: pl.DataFrame | None) -> bool:
    """Whether one flaw that was found brings about another one.

    ``rows``: task, start, change, success, control_success, alike (the path is the control's; null where that was not
    judged), elsewhere (something stands elsewhere than in the control), of all perturbed episodes that have a control.
    """
    if other.flaw not in CONSEQUENCES.get(cause.flaw, ()):
        return False
    by_size = cause.covers(other)
    if cause.flaw not in BY_PATH or other.flaw == Flaw.IGNORES_WORDS or rows is None:
        return by_size
    mine = rows.filter(
        pl.col("change").map_elements(
            lambda change: shown_by(change) == (other.flaw,), return_dtype=pl.Boolean
        )
    )
    lost = mine.filter((pl.col("control_success") == 1) & (pl.col("success") == 0))
    judged = mine.drop_nulls("alike")
    if not len(judged):
        return by_size and bool(len(lost)) and bool(lost["elsewhere"].all())
    failures = judged.filter((pl.col("control_success") == 1) & (pl.col("success") == 0))
    if not len(failures) or failures["alike"].mean() < MOST:  # type: ignore[operator]
        return False
    # Had memory been the only flaw, what was not played back would fail as often as controls do, and some of what was
    # played back would not look like it.
    again, usual = float(judged["alike"].mean()), float(mine["control_success"].mean())  # type: ignore[arg-type]
    expected = (1 - again) * (1 - usual) + again * MISJUDGED
    others = int((~failures["alike"]).sum())
    return others <= HARMLESS * len(judged) or binomial_at_least(others, len(judged), expected) >= SURE
