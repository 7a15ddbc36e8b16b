"""Active allocation: episodes go to the conditions and tasks in which a loss is still open.

A round holds the next start of every task, with all open conditions of that start and its control. Which cells
(condition, task) are open depends on completed rounds only, so that neither the number of workers nor an interruption
changes the episodes of a run. After each round

- a condition is decided if its loss is significant at this time (`HorizonTest`, with Holm's correction), or if the
  remaining starts would show a loss worth finding with a probability below 5 %; cells that have lost three starts more
  than they have gained stay open;
- a task is left out in which next to no episode succeeds, and a cell in which none of eight episodes has failed: a loss
  can hardly appear there.

The test is valid however the starts are chosen, so the verdicts need no further correction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome
from assay.runs.schedulers.plan import Scheduler
from assay.runs.schedulers.until import ALPHA, interval, start_order
from assay.runs.store import PlannedEpisode, Store
from assay.support.stats.horizon import HorizonTest
from assay.support.stats.power import NAMED
from assay.support.stats.significance import holm

LOSS = 0.2
"""Loss worth finding, as a difference of success rates."""
FUTILE = 0.05
"""Probability of finding such a loss below which a condition is decided."""
SUSPECT = 3
"""Number of starts, losses minus gains, from which a cell stays open although its condition is decided."""
MIN_ROUNDS = 2
"""Rounds before a condition or a task is left out: a single start of a task says nothing about other starts."""
NEVER = 0.02
"""Success rate of all episodes of a task up to which it is left out."""
UNBROKEN = 8
"""Number of episodes without a failure after which a cell is left out: under the loss, its probability is 17 %."""

Cell = tuple[str, str]
"""Condition and task."""
Result = tuple[Sequence[bool], bool | None]
"""Successes of a start's episodes, and of its control; None if that is missing or ended in an error."""


class Allocation:
    """State of an allocation: decides after each round which cells get the next start."""

    def __init__(self, planned: Mapping[Cell, int]) -> None:
        """``planned``: number of starts of each cell, including the cells of the control."""
        self.rounds = max(planned.values(), default=0)
        self.verdicts: dict[str, str] = {}
        """Verdict on each decided condition."""
        self._left = dict(planned)
        self._tests = {condition: HorizonTest() for condition, _ in planned if condition != CONTROL}
        self._played: Counter[Cell] = Counter()
        """Episodes by cell; with an empty condition or task, of all of them."""
        self._succeeded: Counter[Cell] = Counter()
        self._lost: Counter[Cell] = Counter()
        self._hopeless: set[str] = set()
        self._completed = 0

    def open_cells(self) -> set[Cell]:
        """Return the cells, without those of the control, that get the next start."""
        return {
            (condition, task)
            for (condition, task), left in self._left.items()
            if left > 0 and condition != CONTROL and condition not in self.verdicts
            if self._completed < MIN_ROUNDS or self._succeeded["", task] > NEVER * self._played["", task]
            if condition not in self._hopeless or self._lost[condition, task] >= SUSPECT
            if not UNBROKEN <= self._played[condition, task] == self._succeeded[condition, task]
        }

    def complete(self, results: Mapping[Cell, Result]) -> None:
        """Count the results of a round, by cell in the order of their starts, and decide conditions."""
        remaining = self.rounds - self._completed
        by_condition: dict[str, list[int]] = {}
        for (condition, task), (successes, control) in results.items():
            self._left[condition, task] -= 1
            for cell in ((condition, task), ("", task), (condition, "")):
                self._played[cell] += len(successes)
                self._succeeded[cell] += sum(successes)
            if condition != CONTROL and successes and control is not None:
                # One control counts once, however many wordings are compared with it.
                by_condition.setdefault(condition, []).append(successes[0] - control)
                self._lost[condition, task] += control - successes[0]
        for condition, signs in by_condition.items():
            for place, sign in enumerate(signs):
                self._tests[condition].see(sign, len(signs) * remaining - place)
        self._completed += 1
        self._decide()

    def _decide(self) -> None:
        names = list(self._tests)
        for condition, p in zip(names, holm([self._tests[name].p for name in names]), strict=True):
            if p < NAMED:
                self.verdicts.setdefault(condition, "loss")
        if self._completed < MIN_ROUNDS:
            return
        # A loss is at most as large as the success of the controls; one success and one failure are added.
        loss = min(LOSS, (self._succeeded[CONTROL, ""] + 1) / (self._played[CONTROL, ""] + 2))
        level = NAMED / max(1, len(names) - list(self.verdicts.values()).count("loss"))
        remaining = Counter[str]()
        for cell in self.open_cells():
            remaining[cell[0]] += self._left[cell]
        for condition, left in remaining.items():
            if self._tests[condition].power(level, left, loss) < FUTILE:
                self._hopeless.add(condition)
        still_open = {condition for condition, _ in self.open_cells()}
        planned = {condition for (condition, _), left in self._left.items() if left > 0}
        for condition in planned.difference(still_open, [CONTROL]):
            self.verdicts.setdefault(condition, "no loss found")


class AllocatingScheduler(Scheduler):
    """Executes rounds of an `Allocation`; errors count as executed, but inform about nothing."""

    def __init__(
        self, store: Store, wanted: Iterable[PlannedEpisode], waiting: Iterable[PlannedEpisode]
    ) -> None:
        """``waiting``: all episodes not executed yet; ``wanted``: those of them to execute."""
        super().__init__(store, ())
        self._wanted = list(wanted)
        wanted_keys = {entry.key for entry in self._wanted}
        left = {entry.key for entry in waiting}
        self._starts: dict[tuple[str, str, int], list[str]] = {}  # (condition, task, seed) -> keys, sorted
        self._outcomes: dict[str, Outcome] = {}
        for episode in sorted(store.outcomes(), key=lambda episode: episode.key):
            is_recorded = episode.outcome is not None and episode.key not in left
            if is_recorded or episode.key in wanted_keys:
                start = episode.condition, episode.task, episode.seed
                self._starts.setdefault(start, []).append(episode.key)
            if is_recorded and episode.outcome is not None:
                self._outcomes[episode.key] = episode.outcome
        self._seeds = sorted({seed for *_, seed in self._starts})
        self._allocation = Allocation(Counter(start[:2] for start in self._starts))
        self._decided = set(store.stopped)
        self._requested: set[str] = set()
        self._advance()

    def record(self, number: int, episode: Episode) -> EpisodeSpec:
        """Store an executed episode, and start the next round after the last one of a round."""
        spec = super().record(number, episode)
        self._outcomes[spec.key] = episode.outcome
        self._requested.discard(spec.key)
        if not self._requested:
            self._advance()
        return spec

    def _advance(self) -> None:
        """Complete the rounds whose episodes are recorded, and add the episodes of the next one."""
        while self._seeds:
            seed, cells = self._seeds[0], self._allocation.open_cells()
            cells = {cell for cell in cells if (*cell, seed) in self._starts}
            cells |= {(CONTROL, task) for _, task in cells if (CONTROL, task, seed) in self._starts}
            keys = {key for cell in cells for key in self._starts[*cell, seed]}
            self._requested = keys - self._outcomes.keys()
            if self._requested:
                self.add(entry for entry in self._wanted if entry.key in self._requested)
                return
            self._seeds.pop(0)
            results: dict[Cell, Result] = {}
            for condition, task in sorted(cells, key=lambda cell: start_order(cell[1], seed)):
                control = next(iter(self._successes(CONTROL, task, seed)), None)
                results[condition, task] = self._successes(condition, task, seed), control
            self._allocation.complete(results)
            for condition, verdict in self._allocation.verdicts.items():
                if condition not in self._decided:
                    self._stop(condition, verdict)

    def _successes(self, condition: str, task: str, seed: int) -> list[bool]:
        outcomes = (self._outcomes[key] for key in self._starts.get((condition, task, seed), ()))
        return [outcome is Outcome.SUCCESS for outcome in outcomes if outcome is not Outcome.ERROR]

    def _stop(self, condition: str, verdict: str) -> None:
        self._decided.add(condition)
        keys = [key for start, keys in self._starts.items() if start[0] == condition for key in keys]
        counted = [key for key in keys if key in self._outcomes]
        outcomes = Counter(self._outcomes[key] for key in counted)
        successes, count = outcomes[Outcome.SUCCESS], outcomes.total() - outcomes[Outcome.ERROR]
        low, high = interval(successes, count)
        rule = {"rule": f"allocate: {verdict}", "rounds": self._allocation.rounds, "alpha": ALPHA}
        rule |= {"successes": successes, "episodes": count, "low": low, "high": high}
        self._store.stop(condition, counted, rule)
