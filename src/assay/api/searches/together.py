"""Changes together: searched for in a task when all its axes are known."""

from __future__ import annotations

from collections.abc import Sequence

from assay.api.searches.combination import Combination
from assay.api.searches.pairs import Pair
from assay.api.searches.play import Search
from assay.support.console import number_of
from assay.support.streams import stream
from assay.tasks import Task


class Together:
    """Begins the search for changes together of a task when all its axes are known."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        tasks: Sequence[Task],
        budget: int,
        guided: bool,
        level: float,
        alpha: float,
        seeds: Sequence[int],
    ) -> None:
        self._pairs, self._seeds, self._guided = pairs, seeds, guided
        self._waiting = list(tasks) if budget else []
        self._each = budget // max(1, len(tasks))
        self._level, self._alpha = level, alpha
        self._begun_with: dict[str, Combination] = {}
        self._without: list[str] = []

    @property
    def notes(self) -> list[str]:
        """What must be said of tasks in which nothing was combined, or nothing confirmed."""
        said = [
            f"{task}: {number_of(found.proposals, 'combination')} played, none of them known to fail"
            for task, found in self._begun_with.items()
            if found.ended and not any(case.confirmed for case in found.cases)
        ]
        return [*self._without, *said]

    def ready(self) -> list[Search]:
        """Searches of tasks whose axes are all known by now."""
        found = []
        for task in list(self._waiting):
            mine = [pair for pair in self._pairs if pair.task.id == task.id]
            if all(pair.threshold.ended for pair in mine):
                self._waiting.remove(task)
                found += self._begun(task, mine)
        return found

    def _begun(self, task: Task, pairs: Sequence[Pair]) -> list[Search]:
        kept = {pair.axis.name: ends[0] for pair in pairs if (ends := pair.threshold.evidence.interval)}
        kept = {axis: rungs for axis, rungs in kept.items() if rungs}
        if len(kept) < 2:
            self._without.append(
                f"{task.id}: nothing is combined: of {len(kept)} axes it is known that success is kept "
                "somewhere; two are needed"
            )
            return []
        searched = Combination(
            kept,
            self._each,
            stream("search", "combination", task.id),
            self._guided,
            self._level,
            self._alpha,
        )
        self._begun_with[task.id] = searched
        ladders = {pair.axis.name: pair.ladder for pair in pairs}
        return [Search(task, ladders, searched.search(self._seeds))]
