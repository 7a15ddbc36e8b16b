"""The smallest change that breaks a policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api.choices import Seeds, chosen, selection
from assay.episodes import Policy
from assay.errors import ExperimentError, RunError
from assay.runs.execute import Observer, default_path

if TYPE_CHECKING:
    from assay.api.searches.run import Searched


def search(
    policy: str | Policy,
    axes: str | Iterable[str] = "distance",
    *,
    tasks: str | Iterable[str] | None = None,
    budget: int | None = None,
    combine: int = 0,
    level: float = 0.5,
    confidence: float = 0.95,
    seeds: Seeds | None = None,
    guided: bool = True,
    out: str | Path | None = None,
    label: str | None = None,
    workers: int | None = None,
    assets: str | None = None,
    states: str | Path | None = None,
    steps: int | None = None,
    replan: int | None = None,
    certified: bool | None = None,
    retry_errors: bool = False,
    timeout: float = 1800.0,
    observer: Observer | None = None,
) -> Searched | None:
    """Find the smallest change along each axis at which a policy loses success, task by task, with an interval.

    ``budget``: the most episodes, controls among them; 30 for each task and axis by default. ``combine``: the most
    besides, for small changes that break the policy together. ``level``: of the starts that succeed unchanged, the
    share that must be kept; ``confidence``: of each interval. ``guided=False`` plays at random, for comparison. The
    same call goes on where it stopped. The other parameters are those of `run`. None where the observer did not
    approve of so much work.
    """
    from assay.api.searches.run import search as searched

    if out is None:
        if not isinstance(policy, str):
            raise RunError("search: a policy that is an object needs out, a file")
        out = default_path("search", policy)
    options = replace(
        chosen(tasks, seeds, None, assets, states),
        steps=steps,
        replan=replan,
        workers=workers,
        certified=certified,
        retry_errors=retry_errors,
        timeout=timeout,
    )
    named = selection(axes, ExperimentError, "axes", "'distance,delay'") or ""
    return searched(
        policy,
        [name for each in named.split(",") if (name := each.strip())],
        Path(out),
        options,
        budget=budget,
        combine=combine,
        level=level,
        confidence=confidence,
        guided=guided,
        label=label,
        observer=observer,
    )
