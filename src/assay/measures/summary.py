"""A run in few numbers: success for each condition, and what the changes cost together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.episodes import CONTROL
from assay.measures.frames import plausible
from assay.measures.result import MeasureError
from assay.measures.success.drops import drops
from assay.measures.success.rates import rates
from assay.runs.store import Store

NOT_EXPECTED = "success is not expected"


@dataclass(frozen=True, slots=True)
class ConditionRate:
    """How often the episodes of a condition succeeded."""

    condition: str
    successes: int
    episodes: int
    """Successes and failures; errors are left out."""
    errors: int
    rate: float
    """From 0 to 1."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    is_expected: bool = True
    """Whether a policy that understands its task succeeds; it cannot where it is told nonsense, say."""

    def __str__(self) -> str:
        apart = "" if self.is_expected else f"; {NOT_EXPECTED}"
        return (
            f"{self.condition}: {100 * self.rate:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f}; "
            f"n = {self.episodes}{apart})"
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Changed episodes against their controls, all conditions together."""

    change: float
    """Success when changed less that of the controls: negative where it fell."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    pairs: int

    def __str__(self) -> str:
        points = (100 * each for each in (self.change, self.low, self.high))
        return "drop: {:+.1f} points ({:+.1f} to {:+.1f}; {} pairs)".format(*points, self.pairs)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a dashboard, a training loop or a model card shows of a run."""

    rates: Mapping[str, ConditionRate]
    """By condition, in the plan's order; those without an episode that counts are left out."""
    drop: Cost | None
    """Over changes after which success is expected; None where nothing was changed, or no control fits."""
    episodes: int
    """Recorded, errors included."""
    errors: int

    @property
    def control(self) -> ConditionRate | None:
        """Success with nothing changed."""
        return self.rates.get(CONTROL)

    def metrics(self, prefix: str = "assay/") -> dict[str, float]:
        """Flat numbers for a logger: ``assay/rate/control``, ``assay/low/control``, ``assay/drop``, ..."""
        found: dict[str, float] = {}
        for name, share in self.rates.items():
            found |= {
                f"{prefix}rate/{name}": share.rate,
                f"{prefix}low/{name}": share.low,
                f"{prefix}high/{name}": share.high,
                f"{prefix}episodes/{name}": share.episodes,
            }
        if self.drop is not None:
            found |= {
                f"{prefix}drop": self.drop.change,
                f"{prefix}drop_low": self.drop.low,
                f"{prefix}drop_high": self.drop.high,
            }
        return found | {f"{prefix}errors": float(self.errors)}

    def __str__(self) -> str:
        lines = [str(rate) for rate in self.rates.values()]
        if self.errors:
            lines.append(
                f"ended in an error, and count in no rate: {self.errors} of {self.episodes} episodes"
            )
        return "\n".join([*lines, *([] if self.drop is None else [str(self.drop)])])


def summarise(store: Store) -> Summary:
    """A run in few numbers."""
    return summary_of(store.frame(), store.stopped)


def summary_of(frame: pl.DataFrame, stopped: Mapping[str, Mapping[str, Any]] | None = None) -> Summary:
    """The recorded episodes of a run, as ``Store.frame`` has them, in few numbers."""
    shares = {}
    sensible = set(plausible(frame)["condition"]) if len(frame) else set()
    for each in rates(frame, stopped=stopped) if len(frame) else ():
        if each.rate is not None and each.interval is not None:
            name = str(each.group["condition"])
            shares[name] = ConditionRate(
                name,
                each.successes,
                each.count,
                each.errors,
                each.rate,
                each.interval.low,
                each.interval.high,
                name in sensible,
            )
    errors = int((frame["outcome"] == "error").sum()) if len(frame) else 0
    return Summary(shares, _cost(frame, stopped or {}), len(frame), errors)


def _cost(frame: pl.DataFrame, stopped: Mapping[str, object]) -> Cost | None:
    rows = plausible(frame).with_columns(all_changes=pl.lit("all")) if len(frame) else frame
    try:
        (drop,) = drops(rows, ("all_changes",), resampling=False, stopped=tuple(stopped))
    except MeasureError:
        return None
    return Cost(drop.change, drop.interval.low, drop.interval.high, drop.pairs)
