"""An evaluation that fits into a time, for a training loop: few seeds, whole, and what was left out is said.

Its episodes are those of the experiment's first n seeds and of the tasks chosen: given the same ``seeds`` and ``tasks``
they are the same, however long they take. A budget only decides how many of them there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from assay.episodes import Episode, EpisodeSpec, Policy
from assay.errors import RunError
from assay.experiments import Experiment
from assay.measures.summary import Summary, summarise
from assay.runs.execute import Observer, Options, execute, workers_of
from assay.runs.planning import certificates, duration, parse_duration, timed
from assay.runs.store import Store
from assay.runs.work import Work, prepare

SAMPLE = 2
"""Controls that are timed before the tasks are chosen."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was evaluated, and what not."""

    path: Path
    summary: Summary
    tasks: tuple[str, ...]
    seeds: int
    """Seeds 0 to this number less one."""
    seconds: float
    """Of the clock, with everything."""
    left_out: tuple[str, ...]
    """What of the experiment the budget has no room for, a sentence each."""


def fit(
    experiment: str | Experiment,
    policy: str | Policy,
    path: Path,
    options: Options,
    budget: str | float | None,
    observer: Observer | None = None,
) -> Fitted:
    """Evaluate a policy: as many seeds, and if need be as few tasks, as a time such as ``2min`` allows.

    Without a ``budget`` it is the seeds of the ``options``, or the experiment's own. Raises RunError where not even one
    seed of one task fits, and where ``path`` exists: what a policy has learned since is in no digest of it.
    """
    if path.exists():
        raise RunError(f"{path} exists already: every evaluation has a file of its own")
    began = monotonic()
    watch = _Clock(observer or Observer())
    whole = prepare(experiment, options)
    if budget is None:
        execute(experiment, policy, path, options, watch)
        return _fitted(path, whole, began, len(_seeds(whole)), _tasks(whole))
    allowed = parse_duration(budget)
    first = prepare(experiment, replace(options, seeds=_seeds(whole)[:1]))
    chosen = _chosen(first, policy, allowed, began, budget)
    within = replace(options, tasks=",".join(chosen), seeds=_seeds(whole)[:1])
    ending = execute(experiment, policy, path, within, watch)
    more = 0 if ending.left else _more(experiment, within, whole, watch, allowed - (monotonic() - began))
    if more:
        execute(experiment, policy, path, replace(within, seeds=_seeds(whole)[: 1 + more]), watch)
    return _fitted(path, whole, began, 1 + more, chosen)


def _chosen(
    first: Work, policy: str | Policy, allowed: float, began: float, budget: str | float
) -> tuple[str, ...]:
    """The tasks of which one seed fits: all of them, or some, evenly from the list."""
    tasks = _tasks(first)
    pace = timed(first, policy, SAMPLE)
    if isinstance(pace, str):
        return tasks  # every one of them broke: the evaluation itself tells why
    episodes = (len(first.specs) + certificates(first).missing) * pace.seconds / workers_of(first.options)
    room = (allowed - (monotonic() - began)) / max(episodes, 1e-9)
    if room >= 1:
        return tasks
    count = int(room * len(tasks))
    if count < 1:
        each = duration(episodes / len(tasks))
        raise RunError(
            f"budget {budget}: one seed of one task of {first.design.name} takes about {each} "
            f"({len(first.specs) // len(tasks)} episodes); valid: more time, or fewer conditions"
        )
    return tuple(tasks[at * len(tasks) // count] for at in range(count))


def _more(experiment: str | Experiment, options: Options, whole: Work, watch: _Clock, left: float) -> int:
    """How many more seeds fit, by what the first one took; at most the experiment's own."""
    seeds = _seeds(whole)
    more = 0
    while 1 + more < len(seeds):
        work = prepare(experiment, replace(options, seeds=(seeds[1 + more],)))
        left -= len(work.specs) * watch.each + certificates(work).missing * watch.certificate
        if left < 0:
            break
        more += 1
    return more


def _fitted(path: Path, whole: Work, began: float, seeds: int, chosen: Sequence[str]) -> Fitted:
    with Store.reading(path) as store:
        summary, undone = summarise(store), len(store.todo())
    return Fitted(
        path,
        summary,
        tuple(chosen),
        seeds,
        monotonic() - began,
        tuple(_left_out(whole, seeds, chosen, undone)),
    )


def _left_out(whole: Work, seeds: int, chosen: Sequence[str], undone: int) -> list[str]:
    said = []
    tasks, all_seeds = _tasks(whole), _seeds(whole)
    if missing := [task for task in tasks if task not in chosen]:
        said.append(f"{len(missing)} of {len(tasks)} tasks: {', '.join(missing)}")
    if seeds < len(all_seeds):
        said.append(f"{len(all_seeds) - seeds} of {len(all_seeds)} seeds")
    if undone:
        said.append(f"{undone} planned episodes that were not done")
    return said


def _tasks(work: Work) -> tuple[str, ...]:
    return tuple(dict.fromkeys(spec.task for spec in work.specs))


def _seeds(work: Work) -> tuple[int, ...]:
    return tuple(dict.fromkeys(spec.seed for spec in work.specs))


class _Clock(Observer):
    """How long an episode and a certificate take, of the clock with all workers; tells another observer the rest."""

    def __init__(self, inner: Observer) -> None:
        self._inner = inner
        self._since = monotonic()
        self._spent = {"episode": 0.0, "certificate": 0.0}
        self._count = {"episode": 0, "certificate": 0}

    @property
    def each(self) -> float:
        """Seconds for an episode."""
        return self._spent["episode"] / max(self._count["episode"], 1)

    @property
    def certificate(self) -> float:
        """Seconds for a certificate; for an episode, where none was made."""
        made = self._count["certificate"]
        return self._spent["certificate"] / made if made else self.each

    def approve(self, work: Work, path: Path, policy: str) -> bool:
        """As the other says."""
        return self._inner.approve(work, path, policy)

    def certifying(self, wanted: int) -> None:
        """Begin to count the time of certificates."""
        self._since = monotonic()
        self._inner.certifying(wanted)

    def certified(self) -> None:
        """One more certificate."""
        self._tick("certificate")
        self._inner.certified()

    def began(self, store: Store, waiting: int) -> None:
        """Begin to count the time of episodes."""
        self._since = monotonic()
        self._inner.began(store, waiting)

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """One more episode."""
        if spec is not None:
            self._tick("episode")
        self._inner.episode(spec, episode)

    def stopping(self) -> bool:
        """As the other says."""
        return self._inner.stopping()

    def _tick(self, what: str) -> None:
        now = monotonic()
        self._spent[what] += now - self._since
        self._count[what] += 1
        self._since = now
