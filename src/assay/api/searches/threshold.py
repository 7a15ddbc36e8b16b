"""The search along one axis of one task: start by start, until the threshold is known or the budget used up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from assay.api.searches.asking import UNCHANGED, Procedure, certified, played
from assay.support.stats.thresholds import ALPHA, LEVEL, Evidence

FLOOR = 5
"""After so many starts of which no control succeeded, a task is given up: there is nothing to lose."""
REFUSED = 4
"""A rung is given up when so many starts were refused there, and more than twice as many as were certified."""
BARREN = 8
"""After so many starts at which the demonstrator solved nothing, a task is given up, unless it solved some before."""


@dataclass(slots=True)
class Threshold:
    """One axis of one task: how it is searched, and what is known."""

    axis: str
    rungs: int
    budget: int
    """The most episodes, controls among them."""
    level: float = LEVEL
    alpha: float = ALPHA
    chance: np.random.Generator | None = None
    """Rungs are drawn from it, two for each start: for comparison. None for those that tell most."""
    starts: int = 0
    """Whose control was played, and did not break."""
    succeeded: int = 0
    """... and succeeded."""
    episodes: int = 0
    given_up: list[int] = field(default_factory=list)
    """Rungs at which hardly any start can be solved."""
    ended: str = ""
    """Why it ended: settled, budget, controls, refused, starts; empty while it goes on."""
    evidence: Evidence = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = Evidence(self.rungs, self.level, self.alpha)

    def search(self, seeds: Iterable[int]) -> Procedure:
        """Play starts until the threshold is known as well as it can be, or the budget is used up."""
        refused: Counter[int] = Counter()
        solved: Counter[int] = Counter()
        barren = 0
        for seed in seeds:
            playable = [rung for rung in range(self.rungs) if rung not in self.given_up]
            if self.evidence.settled(playable):
                self.ended = "settled"
                return
            rungs = self._next(playable)
            if self.episodes + 1 + len(rungs) > self.budget:
                self.ended = "budget"
                return
            items = {rung: (seed, ((self.axis, rung),)) for rung in rungs}
            can = yield from certified(tuple(items.values()))
            for rung in rungs:
                (solved if items[rung] in can else refused)[rung] += 1
                if refused[rung] >= REFUSED and refused[rung] > 2 * solved[rung]:
                    self.given_up.append(rung)
            rungs = tuple(rung for rung in rungs if items[rung] in can)
            if not rungs:
                barren += 1
                if barren >= BARREN and not solved:
                    self.ended = "refused"
                    return
                continue
            control = (seed, UNCHANGED)
            self.episodes += 1
            usual = (yield from played((control,)))[control]
            if usual is None:
                continue
            self.starts += 1
            if not usual:
                if self.starts >= FLOOR and not self.succeeded:
                    self.ended = "controls"
                    return
                continue
            self.succeeded += 1
            self.episodes += len(rungs)
            found = yield from played(tuple(items[rung] for rung in rungs))
            outcomes = {rung: found[items[rung]] for rung in rungs}
            self.evidence.see({rung: won for rung, won in outcomes.items() if won is not None})
        self.ended = "starts"

    def _next(self, playable: list[int]) -> tuple[int, ...]:
        if self.chance is None:
            return self.evidence.next(playable)
        size = min(2, len(playable))
        return tuple(sorted(int(each) for each in self.chance.choice(playable, size=size, replace=False)))
