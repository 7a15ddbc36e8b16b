"""A search from its beginning to its end: along each axis of each task, then small changes together; into one run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.api.searches.pairs import Pair, notes_on, pairs_of, remembered, search_of, share
from assay.api.searches.play import Round
from assay.api.searches.together import Together
from assay.episodes import Policy
from assay.errors import ExperimentError, RunError
from assay.experiments.axes import AXES, Axis
from assay.experiments.base import Variant
from assay.experiments.search import FRESH, variant
from assay.experiments.search import search as whole_grid
from assay.measures.run_data import RunData
from assay.measures.world.thresholds import META, Thresholds, WorstCase, thresholds, worst_cases
from assay.runs.driver import Ending
from assay.runs.execute import Observer, opened, request
from assay.runs.executor import Player
from assay.runs.store import Store
from assay.runs.work import Options, Work, plugins_used, prepare
from assay.support.console import number_of
from assay.support.plugins import plugins_of
from assay.support.stats.thresholds import ALPHA, LEVEL
from assay.support.streams import stream
from assay.tasks import Task

LEAST_COMBINED = 30
"""Episodes that are needed for each task to find changes that break it together, and to confirm one."""
SEEDS = tuple(range(200))
"""Starts that are drawn from, if nobody says."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of a search, and where it is kept."""

    thresholds: Thresholds
    cases: tuple[WorstCase, ...]
    path: Path
    played: int
    """Episodes that the run has."""
    refused: int
    """Episodes that were not played because the oracle has not solved their scene."""
    left: int
    """Searches that the same command would go on with; 0 where all are over."""
    notes: tuple[str, ...] = ()
    """What could not be searched, a sentence each."""
    reason: str = ""
    """Why it ended early, if the policy was away."""

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain JSON types."""
        from assay.support.stats.result import plain

        return {
            "run": str(self.path),
            "played": self.played,
            "refused": self.refused,
            "left": self.left,
            "notes": list(self.notes),
            "thresholds": plain(self.thresholds),
            "worst_cases": plain(self.cases),
        }


def search(
    policy: str | Policy | Player,
    axes: Sequence[str],
    path: Path,
    options: Options,
    *,
    budget: int | None = None,
    combine: int = 0,
    level: float = LEVEL,
    confidence: float = 1 - ALPHA,
    guided: bool = True,
    label: str | None = None,
    observer: Observer | None = None,
) -> Searched | None:
    """Search along axes; the same again goes on. None where the observer did not approve.

    ``budget``: the most episodes along axes, controls among them; ``combine``: the most besides, for changes together.
    ``guided=False`` plays magnitudes and combinations at random, for comparison. Raises AssayError.
    """
    observer = observer or Observer()
    if not isinstance(policy, str):
        if options.workers:
            raise RunError("a policy that is an object acts in this process: workers must be 0")
        options = replace(options, workers=0)
    if options.workers is None:
        options = replace(options, workers=os.cpu_count() or 1)
    for name, part in (("level", level), ("confidence", confidence)):
        if not 0 < part < 1:
            raise RunError(
                f"{name} {part:g}: valid: between 0 and 1, such as {0.5 if name == 'level' else 0.95:g}"
            )
    chosen = [AXES[name] for name in _once(axes)]
    seeds = options.seeds or SEEDS
    work = prepare(whole_grid(()), replace(options, seeds=seeds[:1]))
    work = replace(work, options=replace(options, seeds=seeds))
    tasks = work.design.choose(options.tasks)
    pairs, cannot = pairs_of(tasks, chosen, level, 1 - confidence)
    share(pairs, budget, level, 1 - confidence)
    _check_combined(combine, tasks, chosen)
    for pair in pairs:
        if not guided:
            pair.threshold.chance = stream("search", "random", pair.task.id, pair.axis.name)
    asked = request(_sketched(work, pairs, combine), policy, path, label)
    if not observer.approve(asked.work, path, asked.address):
        return None
    with opened(asked) as store:
        _check_same(store, path, level=level, confidence=confidence, guided=guided)

        def told() -> None:
            known = {"level": level, "confidence": confidence, "guided": guided}
            store.describe(**{META: known | remembered(store, pairs, cannot)})

        told()
        together = Together(pairs, tasks, combine, guided, level, 1 - confidence, seeds)
        searches = [search_of(pair, seeds) for pair in pairs]
        observer.began(store, sum(pair.threshold.budget for pair in pairs) + combine)
        play = Round(store, asked, observer, searches, together.ready)
        ending = play.play(None if isinstance(policy, str) else policy)
        told()
        notes = [*notes_on(pairs), *together.notes]
        return _searched(store, path, ending, notes, len(play.refused))


def _once(names: Sequence[str]) -> list[str]:
    if not names:
        raise ExperimentError(f"no axis is named; valid: {', '.join(AXES)}")
    if len(set(names)) < len(names):
        raise ExperimentError(f"axes {', '.join(names)}: each is named once")
    return list(names)


def _check_combined(combine: int, tasks: Sequence[Task], axes: Sequence[Axis]) -> None:
    if combine and len(axes) < 2:
        raise RunError("changes can be combined along two axes or more")
    if combine and combine < LEAST_COMBINED * len(tasks):
        raise RunError(
            f"{combine} episodes for combinations are too few for {number_of(len(tasks), 'task')}; valid: 0, or "
            f"{LEAST_COMBINED * len(tasks)} or more"
        )


def _sketched(work: Work, pairs: Sequence[Pair], combine: int) -> Work:
    """The work with as many episodes as may be played: nobody knows yet which, but they can be reckoned with."""
    design = replace(work.design, seeds=())
    count = sum(pair.threshold.budget for pair in pairs) + combine
    tasks = list({pair.task.id: pair.task for pair in pairs}.values())
    options = work.options
    assert options.seeds is not None
    seeds = options.seeds[: max(1, count // (2 * len(tasks)))]
    top = {task.id: [pair for pair in pairs if pair.task.id == task.id] for task in tasks}

    def variants(task: Task) -> Iterable[Variant]:
        return [variant({pair.axis.name: pair.ladder[-1]}, 0) for pair in top[task.id][:1]]

    specs = replace(design, variants=variants).plan(
        tasks, seeds, pack=work.pack, initial=options.initial, steps=options.steps, replan=options.replan
    )
    chosen = list(specs)[:count]
    used = {each.module: each for each in plugins_of(pair.axis.changes for pair in pairs)}
    used |= {each.module: each for each in plugins_used(design, design, work.pack, chosen)}
    return replace(work, specs=chosen, plugins=tuple(used[name] for name in sorted(used)))


def _check_same(store: Store, path: Path, **asked: object) -> None:
    """Raise RunError where a file's search was another."""
    known = store.meta.get(META)
    if known is None:
        return
    for name, value in asked.items():
        if known[name] != value:
            raise RunError(
                f"{path} was searched with {name} {known[name]}, not {value}: choose another --out"
            )


def _searched(store: Store, path: Path, ending: Ending, notes: Sequence[str], refused: int) -> Searched:
    data = RunData(store, with_paths=False)
    found = thresholds(data)
    cases = worst_cases(data) if data.has(FRESH) else ()
    return Searched(found, cases, path, store.done, refused, ending.left, tuple(notes), ending.reason)
