"""Summary of a run: success in each condition, and the combined cost of all changes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import polars as pl

from assay.measures.frames import plausible
from assay.measures.result import MeasureError
from assay.measures.success.drops import Drop, drops
from assay.measures.success.rates import rates
from assay.runs.store import Store

NOT_EXPECTED = "success is not expected"


@dataclass(frozen=True, slots=True)
class ConditionRate:
    """Success rate in a condition."""

    condition: str
    successes: int
    episodes: int
    """Number of successes and failures, excluding errors."""
    errors: int
    rate: float
    """Success rate, 0 to 1."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    is_expected: bool = True
    """Whether success is expected of a policy that understands its task.

    False for a nonsense instruction, for example.
    """

    def __str__(self) -> str:
        apart = "" if self.is_expected else f"; {NOT_EXPECTED}"
        return (
            f"{self.condition}: {100 * self.rate:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f}; "
            f"n = {self.episodes}{apart})"
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """Main results of a run for a dashboard, a training loop or a model card."""

    rates: Mapping[str, ConditionRate]
    """Success rate by condition, in plan order; conditions in which all episodes ended in an error are left out."""
    drop: Drop | None
    """Cost of all changes after which success is expected; None if there are no perturbed episodes or no controls."""
    episodes: int
    """Number of recorded episodes, including errors."""
    errors: int

    def metrics(self, prefix: str = "assay/") -> dict[str, float]:
        """Return flat numbers for a logger: ``assay/rate/control``, ``assay/low/control``, ``assay/drop``, ..."""
        numbers: dict[str, float] = {}
        for name, rate in self.rates.items():
            for field in ("rate", "low", "high", "episodes"):
                numbers[f"{prefix}{field}/{name}"] = getattr(rate, field)
        if self.drop is not None:
            numbers |= {
                f"{prefix}drop": self.drop.change,
                f"{prefix}drop_low": self.drop.interval.low,
                f"{prefix}drop_high": self.drop.interval.high,
            }
        return numbers | {f"{prefix}errors": float(self.errors)}

    def describe_drop(self) -> str:
        """Return the drop and its interval on one line; empty if the drop is not known."""
        if self.drop is None:
            return ""
        ends = self.drop.interval.low, self.drop.interval.high
        points = (100 * value for value in (self.drop.change, *ends))
        return "drop: {:+.1f} points ({:+.1f} to {:+.1f}; {} pairs)".format(*points, self.drop.pairs)

    def __str__(self) -> str:
        lines = [str(rate) for rate in self.rates.values()]
        if self.errors:
            lines.append(f"excluded because of errors: {self.errors} of {self.episodes} episodes")
        return "\n".join(filter(None, [*lines, self.describe_drop()]))


def summarise(store: Store) -> Summary:
    """Summarise the recorded episodes of a run."""
    frame, stopped = store.frame(), store.stopped
    if not len(frame):
        return Summary({}, None, 0, 0)
    shares = {}
    sensible = plausible(frame)
    for rate in rates(frame, stopped=stopped):
        if rate.rate is not None and rate.interval is not None:
            name = str(rate.group["condition"])
            counts = rate.successes, rate.count, rate.errors, rate.rate
            is_expected = name in sensible["condition"]
            shares[name] = ConditionRate(name, *counts, rate.interval.low, rate.interval.high, is_expected)
    drop = None
    with suppress(MeasureError):
        rows = sensible.with_columns(all_changes=pl.lit("all"))
        (drop,) = drops(rows, ("all_changes",), resampling=False, stopped=stopped)
    return Summary(shares, drop, len(frame), int((frame["outcome"] == "error").sum()))
