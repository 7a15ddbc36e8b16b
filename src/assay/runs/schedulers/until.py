"""Early stopping per condition with anytime-valid confidence sequences.

Episodes are executed start by start (task and seed), with all conditions of a start together and the starts in a
fixed random order, so that conditions that stop early have starts, and therefore pairs, in common. If a condition
has several episodes from a start, the first episodes of all starts come before any second one.

After every episode the interval for the success rate is that of a confidence sequence: with probability 1 - alpha
it contains the true rate at *all* times, so the interval may be inspected after each episode, and the condition
may be stopped at any time. The sequence comes from Robbins' mixture martingale for coin flips with a Beta(1/2,
1/2) mixture,

    M_n(p) = B(s + 1/2, n - s + 1/2) / B(1/2, 1/2) / (p^s (1 - p)^(n - s)),     s successes among n,

which has mean 1 under the true p, so that the probability that it ever exceeds 1 / alpha is at most alpha (Ville).

``differs`` compares a condition with its control, start by start, by a sequential sign test whose boundary ends with
the planned number of starts (`assay.support.stats.sequential`). The same martingale at p = 1/2, over the starts in
which they differ, gives a p-value that is valid at any stopping time: 1 / the largest M_n so far. A share of the error
probability, ``RESERVE``, is kept for it; in a run that is given more seeds later, it alone decides.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from typing import Literal, Self, get_args

import numpy as np

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome
from assay.errors import RunError, did_you_mean
from assay.runs.schedulers.plan import Scheduler
from assay.runs.store import PlannedEpisode, Store
from assay.support.stats.betting import RESERVE
from assay.support.stats.sequential import SignBoundary

ALPHA = 0.05
META = "planned_starts"
"""Key in a run's meta table for the numbers of starts, by condition, when it was first run with ``differs``."""
Rule = Literal["half-width", "decided", "differs"]


@dataclass(frozen=True, slots=True)
class Until:
    """Rule for stopping a condition early."""

    kind: Rule
    value: float
    """Half-width to reach, success rate to exclude, or p-value of a difference from the control."""
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0.0 < self.value < 1.0:
            raise RunError(f"--until {self.kind}={self.value:g}: expected a number between 0 and 1")

    @property
    def is_paired(self) -> bool:
        """Whether a condition is compared with its control."""
        return self.kind == "differs"

    def is_met(self, successes: int, count: int, p: float = 1.0) -> bool:
        """Return whether a condition is decided; ``p``: p-value of its difference from the control."""
        if self.is_paired:
            return p <= self.value
        low, high = interval(successes, count, self.alpha)
        if self.kind == "half-width":
            return (high - low) / 2 <= self.value
        return not low <= self.value <= high

    def as_json(self, successes: int, count: int, pairs: Pairs | None = None) -> dict[str, object]:
        """Return the rule and its evidence as a JSON object."""
        low, high = interval(successes, count, self.alpha)
        paired: dict[str, object] = {}
        if pairs is not None:
            paired = {
                "only_control": pairs.only_control,
                "only_changed": pairs.only_changed,
                "planned": pairs.planned,
                "p": pairs.p,
            }
        return paired | {
            "rule": f"{self.kind}={self.value:g}",
            "alpha": self.alpha,
            "successes": successes,
            "episodes": count,
            "low": low,
            "high": high,
        }


@dataclass(slots=True)
class Pairs:
    """Counts of the starts in which a condition and its control differ."""

    planned: int | None = None
    """Planned number of starts; 0 if it was exceeded; None for a p-value from the martingale alone."""
    alpha: InitVar[float] = ALPHA
    """p-value at which the condition is stopped."""
    only_control: int = 0
    """Number of starts in which only the control succeeded."""
    only_changed: int = 0
    """Number of starts in which only the condition succeeded."""
    most: float = 0.0
    """Logarithm of the largest value of the martingale so far, which starts at 1."""
    _boundary: SignBoundary = field(init=False)

    def __post_init__(self, alpha: float) -> None:
        self._boundary = SignBoundary(self.planned or 0, (1 - RESERVE) * alpha)

    def see(self, difference: float) -> None:
        """Count a start, given the success of the condition minus the success of the control."""
        self.only_control += difference < 0
        self.only_changed += difference > 0
        self.most = max(self.most, log_mixture(self.only_changed, self.only_control, 0.5))
        self._boundary.see(np.sign([difference]))

    @property
    def p(self) -> float:
        """Two-sided p-value, valid at any stopping time."""
        if self.planned is None:
            return math.exp(-self.most)
        return min(1.0, math.exp(-self.most) / RESERVE, float(self._boundary.p[0]) / (1 - RESERVE))

    @classmethod
    def of(cls, differences: Iterable[float], planned: int | None = None) -> Self:
        """Count a condition's differences from its control, start by start."""
        pairs = cls(planned)
        for difference in differences:
            pairs.see(difference)
        return pairs


@lru_cache(maxsize=65_536)
def start_order(task: str, seed: int) -> str:
    """Return a hash that sorts starts into a fixed random order."""
    return hashlib.sha256(f"{task} {seed}".encode()).hexdigest()


def in_canonical_order(episodes: Iterable[PlannedEpisode]) -> list[PlannedEpisode]:
    """Sort episodes into the canonical order used for early stopping."""
    turns: Counter[tuple[str, str, int]] = Counter()
    keyed = []
    for episode in sorted(episodes, key=lambda episode: episode.key):
        turn = turns[episode.condition, episode.task, episode.seed]
        turns[episode.condition, episode.task, episode.seed] += 1
        start = start_order(episode.task, episode.seed)
        keyed.append(((turn, start, episode.condition != CONTROL, episode.key), episode))
    return [episode for _, episode in sorted(keyed, key=lambda pair: pair[0])]


def parse_until(text: str) -> Until:
    """Parse ``half-width=0.05``, ``decided=0.8`` or ``differs=0.05``."""
    name, _, value = text.partition("=")
    kind = next((kind for kind in get_args(Rule) if kind == name), None)
    if kind is None:
        raise RunError(f"--until '{text}': {did_you_mean(name, get_args(Rule))}, e.g. decided=0.8")
    try:
        return Until(kind, float(value))
    except ValueError:
        raise RunError(f"--until '{text}': '{value}' is not a number") from None


def interval(successes: int, count: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Return the bounds of the confidence sequence after ``count`` episodes."""
    if count == 0:
        return 0.0, 1.0
    bound = -math.log(alpha)

    def excess(rate: float) -> float:
        """Return log M_n(rate) - log(1 / alpha), which is negative inside the interval."""
        return log_mixture(successes, count - successes, rate) - bound

    middle = successes / count
    return _root(excess, 0.0, middle), _root(excess, 1.0, middle)


def log_mixture(successes: int, failures: int, rate: float) -> float:
    """Return log M_n(rate)."""
    mixture = _log_beta(successes + 0.5, failures + 0.5) - _log_beta(0.5, 0.5)
    return mixture - _times_log(successes, rate) - _times_log(failures, 1 - rate)


def _root(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Return the root of a function between a rate outside the interval and a rate inside it."""
    if excess(outside) <= 0:
        return outside
    for _ in range(50):
        middle = (outside + inside) / 2
        if excess(middle) > 0:
            outside = middle
        else:
            inside = middle
    return outside


def _times_log(count: int, rate: float) -> float:
    if count == 0:
        return 0.0
    return count * math.log(rate) if rate > 0 else -math.inf


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


class UntilScheduler(Scheduler):
    """Executes episodes in canonical order and drops a condition as soon as it is decided.

    An episode counts once all episodes before it are recorded, so the verdict does not depend on the number of
    workers. Episodes that this command does not execute are ignored; so are errors, because they do not inform
    about success. Controls are decided last, and are executed for every start of another condition. With
    ``differs``, which compares conditions with their controls, they are never stopped.
    """

    def __init__(
        self, store: Store, until: Until, wanted: Iterable[PlannedEpisode], waiting: Iterable[PlannedEpisode]
    ) -> None:
        """``waiting``: all episodes not executed yet; ``wanted``: those of them to execute."""
        planned = in_canonical_order(store.outcomes())
        order = {episode.key: place for place, episode in enumerate(planned)}
        wanted = sorted(wanted, key=lambda entry: order[entry.key])
        super().__init__(store, wanted, in_order=True)
        left = {entry.key for entry in waiting}
        unwanted = left - {entry.key for entry in wanted}
        self._until = until
        stopped, lengths = store.stopped, _planned_starts(store, planned) if until.is_paired else {}
        self._sequences: dict[str, _Sequence] = {}
        for episode in planned:
            is_open = episode.condition not in stopped or (until.is_paired and episode.condition == CONTROL)
            if is_open and episode.key not in unwanted:
                sequence = self._sequences.setdefault(
                    episode.condition, _Sequence(pairs=Pairs(lengths.get(episode.condition), until.value))
                )
                sequence.outcomes[episode.key] = None if episode.key in left else episode.outcome
                sequence.episodes.append(episode)
        controls = self._sequences.get(CONTROL, _Sequence()).episodes
        self._controls = {(episode.task, episode.seed): episode.key for episode in controls}
        self._stopped_starts: set[tuple[str, int]] = set()
        if stopped:
            frame = store.frame()
            rows = frame.filter(frame["condition"].is_in([*stopped]) & (frame["condition"] != CONTROL))
            self._stopped_starts = set(rows.select("task", "seed").iter_rows())
        for condition in sorted(self._sequences, key=lambda name: name == CONTROL):
            self._decide(condition)

    def record(self, number: int, episode: Episode) -> EpisodeSpec:
        """Store and count an executed episode, and decide its condition if possible."""
        spec = super().record(number, episode)
        if spec.condition in self._sequences:
            self._sequences[spec.condition].outcomes[spec.key] = episode.outcome
            is_shared = self._until.is_paired and spec.condition == CONTROL
            for condition in self._sequences if is_shared else (spec.condition,):
                self._decide(condition)
            if spec.condition != CONTROL and CONTROL in self._sequences:
                self._decide(CONTROL)
        return spec

    def _decide(self, condition: str) -> None:
        if self._until.is_paired and condition == CONTROL:
            return
        sequence = self._sequences[condition]
        needed: set[tuple[str, int]] = set()
        if condition == CONTROL:
            others = [other for name, other in self._sequences.items() if name != CONTROL]
            if not all(other.is_decided or other.counted == len(other.episodes) for other in others):
                return
            needed = self._stopped_starts.union(*(other.counted_starts() for other in others))
            needed = (needed & self._controls.keys()) - sequence.counted_starts()
        while not sequence.is_decided and sequence.counted < len(sequence.episodes):
            episode = sequence.episodes[sequence.counted]
            start, outcome = (episode.task, episode.seed), sequence.outcomes[episode.key]
            control: Outcome | None = Outcome.ERROR
            if self._until.is_paired and start in self._controls:
                control = self._sequences[CONTROL].outcomes[self._controls[start]]
            if outcome is None or control is None:
                return  # not yet recorded
            sequence.counted += 1
            sequence.count += outcome is not Outcome.ERROR
            sequence.successes += outcome is Outcome.SUCCESS
            if Outcome.ERROR not in (outcome, control) and start not in sequence.paired:
                sequence.paired.add(start)  # one control, however many wordings are compared with it
                sequence.pairs.see((outcome is Outcome.SUCCESS) - (control is Outcome.SUCCESS))
            needed.discard(start)
            if not needed and self._until.is_met(sequence.successes, sequence.count, sequence.pairs.p):
                sequence.is_decided = True
                pairs = sequence.pairs if self._until.is_paired else None
                rule = self._until.as_json(sequence.successes, sequence.count, pairs)
                counted = [episode.key for episode in sequence.episodes[: sequence.counted]]
                self._store.stop(condition, counted, rule)
                self.drop(condition)


def _planned_starts(store: Store, planned: Iterable[PlannedEpisode]) -> dict[str, int]:
    """Return the number of starts of each condition, 0 if there are more than when the run was first stopped so.

    The numbers are stored with the run: a boundary for a number of starts holds only if that number does not depend
    on what was seen.
    """
    starts: dict[str, set[tuple[str, int]]] = {}
    for episode in planned:
        starts.setdefault(episode.condition, set()).add((episode.task, episode.seed))
    controls = starts.get(CONTROL, set())
    counts = {condition: len(chosen & controls) for condition, chosen in starts.items()}
    first = counts | store.meta.get(META, {})
    store.describe(**{META: first})
    return {condition: count if first[condition] == count else 0 for condition, count in counts.items()}


@dataclass(slots=True)
class _Sequence:
    """A condition's episodes in canonical order, and the number of them that count."""

    episodes: list[PlannedEpisode] = field(default_factory=list)
    outcomes: dict[str, Outcome | None] = field(default_factory=dict)
    """Recorded outcomes by key."""
    counted: int = 0
    successes: int = 0
    count: int = 0
    pairs: Pairs = field(default_factory=Pairs)
    is_decided: bool = False
    paired: set[tuple[str, int]] = field(default_factory=set)
    """Starts already counted as a pair; only a start's first episode with an outcome is counted."""

    def counted_starts(self) -> set[tuple[str, int]]:
        """Return the starts of the episodes that count."""
        return {(episode.task, episode.seed) for episode in self.episodes[: self.counted]}
