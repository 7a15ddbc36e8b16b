"""Synthetic policies: outcomes and trajectories are sampled; everything else is as in a user's run.

A `Synthetic` defines the success rate of a policy in each task and the cost of each change. `drawn` samples an episode
for every spec of a real experiment at once; the `Held` it returns is a run in memory that is measured like a file.
`Held.written` records the same episodes with ``Store.append``, to check that files give the same results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay import tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Traits, Trajectory, world_of
from assay.episodes.perturbation import TOGETHER
from assay.experiments import load_experiment
from assay.perturb.words.rewordings.designs import Counterfactual, OtherTask
from assay.runs.store import Store
from assay.support.streams import stream

GOALS = tuple(task.id for task in tasks.resolve("libero_goal"))
"""Ten LIBERO tasks of one scene."""
STEPS = 40
"""Control steps of a success; failures take 1.5 times as many."""
NOISE = 0.004
"""Standard deviation of trajectory noise, metres."""
FAR = 0.2
"""Displacement by a change of position that has no distance label, metres."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Behaviour of a synthetic policy."""

    able: Mapping[str, float]
    """Task -> unperturbed success rate."""
    lost: Mapping[str, float] = field(default_factory=dict)
    """Change or condition -> fraction of successes lost under it; several changes multiply."""
    lost_in: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(task, change) -> fraction of successes lost in one task."""
    any_change: float = 0.0
    """Fraction lost under any change."""
    replays: float = 0.0
    """Probability of replaying the control's trajectory, whatever has changed."""
    blocked: bool = False
    """Whether displaced objects block the arm halfway during a replay, whose actions stay those of the control."""
    falls_back: float = 0.0
    """Probability of performing the trained task after a nonsense instruction."""
    deaf: float = 0.0
    """Probability of performing the trained task after an understandable instruction for another task."""
    misses: float = 0.5
    """Fraction of failures that stay close to the successful trajectory."""

    def rate(self, spec: EpisodeSpec) -> float:
        """Return the success rate in an episode that is not a replay."""
        asked = asked_tasks(spec) or (spec.task,)
        rate = float(np.prod([self.able[each] for each in asked]))
        if spec.condition == CONTROL:
            return rate
        for each in (spec.condition, *changes_of(spec)):
            rate *= 1 - self.lost.get(each, 0.0)
            rate *= 1 - self.lost_in.get((spec.task, each), 0.0)
        return rate * (1 - self.any_change)


def changes_of(spec: EpisodeSpec) -> list[str]:
    """Return the change of an episode."""
    return str(spec.labels.get("change") or "").split(TOGETHER)


def even(rate: float) -> dict[str, float]:
    """Return the same success rate for every task."""
    return dict.fromkeys(GOALS, rate)


def uneven(rate: float, spread: float = 1.5, key: object = 0) -> dict[str, float]:
    """Return unequal success rates: log-odds normally distributed around those of a rate."""
    off = stream("synthetic", "tasks", str(key)).normal(0.0, spread, len(GOALS))
    odds = np.exp(np.log(rate / (1 - rate)) + off)
    return {task: float(each / (1 + each)) for task, each in zip(GOALS, odds, strict=True)}


@cache
def planned(experiment: str, chosen: tuple[str, ...], seeds: int) -> tuple[EpisodeSpec, ...]:
    """Return the episodes of an experiment, or of the conditions named after a space: ``pro position,task``."""
    name, _, conditions = experiment.partition(" ")
    found = [tasks.load(each) for each in chosen]
    return tuple(load_experiment(name).only(conditions or None).plan(found, range(seeds)))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The episodes of an experiment as arrays, (n,) each: everything that does not vary between sampled runs."""

    specs: tuple[EpisodeSpec, ...]
    frame: pl.DataFrame
    """Frame of a store in which all episodes succeeded."""
    usual: np.ndarray
    """Row of each episode's control; its own row for a control; -1 if there is none."""
    kinds: tuple[EpisodeSpec, ...]
    """One episode of each kind; all episodes of a kind have the same success rate."""
    kind: np.ndarray
    places: np.ndarray
    """Reference trajectories, metres: (places, STEPS + 1, 3)."""
    place: np.ndarray
    """Index of the trajectory of an episode that is not a replay."""
    far: np.ndarray
    """Displacement of the task's object, metres."""
    sensible: np.ndarray
    nonsense: np.ndarray
    """Whether the instruction has no executable meaning."""
    request: np.ndarray
    """Whether the instruction requests something else."""
    control: np.ndarray
    truth: np.ndarray
    """JSON of a failure and of a success: (n, 2)."""

    @classmethod
    def of(cls, specs: tuple[EpisodeSpec, ...]) -> Plan:
        starts = {(spec.task, spec.seed): row for row, spec in enumerate(specs) if spec.condition == CONTROL}
        kinds: dict[tuple[object, ...], EpisodeSpec] = {}
        named: dict[str, int] = {}
        kind, place, far, request, nonsense, truth = [], [], [], [], [], []
        for spec in specs:
            asked, words = asked_tasks(spec), spec.labels.get("axis") == "words"
            otherwise = spec.labels.get("asked_goal") is not None
            like = (spec.task, spec.condition, asked, str(spec.labels.get("change")))
            kinds.setdefault(like, spec)
            kind.append(like)
            place.append(named.setdefault(_goes(spec, asked), len(named)))
            far.append(_far(spec))
            request.append(words and otherwise)
            nonsense.append(words and not spec.labels.get("plausible", True) and not otherwise)
            atoms = _atoms(spec)
            truth.append([json.dumps(dict.fromkeys(atoms, when)) for when in ((), ((STEPS - 1, STEPS),))])
        numbers = {like: number for number, like in enumerate(kinds)}
        return cls(
            specs=specs,
            frame=_frame(specs),
            usual=np.array([starts.get((spec.task, spec.seed), -1) for spec in specs]),
            kinds=tuple(kinds.values()),
            kind=np.array([numbers[each] for each in kind]),
            places=np.stack([_place(each) for each in named]),
            place=np.array(place),
            far=np.array(far),
            sensible=np.array([bool(spec.labels.get("plausible", True)) for spec in specs]),
            nonsense=np.array(nonsense),
            request=np.array(request),
            control=np.array([spec.condition == CONTROL for spec in specs]),
            truth=np.array(truth),
        )


_PLANS: dict[int, Plan] = {}
"""Cached plans by the identity of their episodes."""


def plan_of(specs: tuple[EpisodeSpec, ...]) -> Plan:
    if id(specs) not in _PLANS:
        _PLANS[id(specs)] = Plan.of(specs)
    return _PLANS[id(specs)]


class Held(Store):
    """A run in memory, with the parts of a store that measures read."""

    def __init__(
        self,
        plan: Plan,
        frame: pl.DataFrame,
        hands: np.ndarray,
        lengths: np.ndarray,
        actions: np.ndarray | None = None,
    ) -> None:
        self._plan, self._frame, self._hands, self._lengths = plan, frame, hands, lengths
        self._actions = np.zeros((len(hands), 0, 3), np.float32) if actions is None else actions
        self._unreadable = set()

    @property
    def world(self) -> Traits:
        return world_of(self._plan.specs[0].task).traits

    @property
    def meta(self) -> dict[str, Any]:
        return {}

    def counts(self) -> pl.DataFrame:
        return pl.DataFrame(schema={"condition": pl.String, "planned": pl.Int64, "done": pl.Int64})

    @property
    def stopped(self) -> dict[str, dict[str, Any]]:
        return {}

    @property
    def planned(self) -> int:
        return len(self._frame)

    done = planned

    def reasons(self) -> dict[str, int]:
        return {}

    def frame(self) -> pl.DataFrame:
        return self._frame

    def trajectories(self, ids: Iterable[int] | None = None) -> Iterator[tuple[int, Trajectory]]:
        none, numbers = np.zeros(0, np.float32), self._frame["id"].to_numpy()
        rows = range(len(numbers)) if ids is None else np.searchsorted(numbers, list(ids))
        for row in rows:
            hand, actions = (
                self._hands[row, : self._lengths[row]],
                self._actions[row, : self._lengths[row] - 1],
            )
            yield int(numbers[row]), Trajectory(hand, none, actions)

    def written(self, file: Path | None = None, **meta: object) -> Store:
        """Record the same run episode by episode in a file, or in a temporary one. The caller closes it."""
        store = Store.scratch() if file is None else Store.writing(file)
        store.describe(policy="synthetic", **meta)
        store.plan(self._plan.specs)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        paths = (path for _, path in self.trajectories())
        for spec, row, path in zip(self._plan.specs, self._frame.iter_rows(named=True), paths, strict=True):
            store.append(numbers[spec.key], _episode(spec, row, path))
        return store


def drawn(policy: Synthetic, specs: tuple[EpisodeSpec, ...], key: object) -> Held:
    """Sample a run of a synthetic policy."""
    plan, random = plan_of(specs), stream("synthetic", "episodes", str(key))
    count, control = len(specs), plan.control
    rate = np.array([policy.rate(spec) for spec in plan.kinds])[plan.kind]
    able = np.array([policy.able[spec.task] for spec in plan.kinds])[plan.kind]
    chance, again, kept_again, misses = random.random((4, count))
    success = (chance < rate) & plan.sensible
    angle = random.uniform(0, 2 * np.pi, count)
    moved = plan.far[:, None] * np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], axis=1)
    repeats = np.full(count, policy.replays)
    repeats[plan.nonsense] = max(policy.replays, policy.falls_back)
    repeats[plan.request] = max(policy.replays, policy.deaf)
    repeated = (again < repeats) & (plan.usual >= 0) & ~control
    otherwise = plan.request | np.array([bool(asked_tasks(spec)) for spec in plan.kinds])[plan.kind]
    same = (plan.far == 0) & ~otherwise
    kept = same & (kept_again < np.divide(rate, able, out=np.zeros(count), where=able > 0))
    success[repeated] = (success[plan.usual] & (~plan.sensible | kept))[repeated]
    base = plan.places[plan.place] + _SHARE[:, None] * moved[:, None]
    base[repeated] = plan.places[plan.place[plan.usual[repeated]]]
    shaken = base + np.cumsum(random.normal(0, NOISE / 4, base.shape), axis=1)
    astray = ~success & ~repeated & (misses >= policy.misses)
    away = np.concatenate([random.uniform(-0.4, 0.4, (count, 2)), np.full((count, 1), 0.3)], axis=1)
    turn = STEPS // 2
    shaken[astray, turn + 1 :] = (
        shaken[astray, turn, None] + np.linspace(0, 1, turn)[:, None] * away[astray, None]
    )
    # The policy is deterministic: equal observations give equal actions, which failures repeat in part.
    actions = np.concatenate([np.diff(base, axis=1), np.zeros((count, turn, 3))], axis=1)
    actions[astray, turn:] = np.diff(shaken[astray, turn - 1 :], axis=1).mean(axis=1, keepdims=True)
    if policy.blocked:
        stuck = repeated & (plan.far > 0)
        shaken[stuck, turn:] = shaken[stuck, turn, None]
    wait = np.repeat(shaken[:, -1:], turn, axis=1)  # a failure waits at its end
    lengths = np.where(success, STEPS + 1, STEPS + 1 + turn)
    stands = np.array([0.1, 0.1, 0.0]) + moved
    frame = plan.frame.with_columns(
        outcome=pl.Series(np.where(success, str(Outcome.SUCCESS), str(Outcome.FAILURE))),
        steps=pl.Series(lengths - 1),
        decisions=pl.Series((lengths - 1) // 8),
        truth=pl.Series(plan.truth[np.arange(count), success.astype(int)]),
        initial_positions=pl.Series([json.dumps({"thing_1": each}) for each in stands.tolist()]),
    )
    hands = np.concatenate([shaken, wait], axis=1)
    return Held(plan, frame, hands.astype(np.float32), lengths, actions.astype(np.float32))


def asked_tasks(spec: EpisodeSpec) -> tuple[str, ...]:
    """Return the built-in tasks that an instruction requests, if it requests another task."""
    known = spec.labels.get("asked_from")
    if known is not None:
        return (str(known),)
    change = next(iter(spec.perturbations), None)
    if isinstance(change, OtherTask) and spec.condition == "pro/task=two":
        rest = set(change.goal) - set(_goal(spec.task))
        return (spec.task, *(task for task in GOALS if set(_goal(task)) == rest))
    return ()


@cache
def _goal(task: str) -> tuple[str, ...]:
    return tuple(map(str, tasks.load(task).goal.atoms))


def _goes(spec: EpisodeSpec, asked: Sequence[str]) -> str:
    """Return the name of the trajectory of an episode that is not a replay."""
    if not spec.labels.get("plausible", True):
        return f"elsewhere {spec.condition} {spec.task}"
    if not asked and any(isinstance(each, OtherTask) for each in spec.perturbations):
        return f"new {spec.task}"
    return spec.task if not asked or spec.task in asked else asked[0]


def _far(spec: EpisodeSpec) -> float:
    """Return the displacement of the task's object, metres."""
    told = spec.labels.get("distance")
    if told is None and "position" in changes_of(spec):
        return FAR
    return float(told or 0.0)


@cache
def _place(what: str) -> np.ndarray:
    """Return the trajectory of a task, from home to an object and on to a position: (STEPS + 1, 3), metres."""
    random = stream("synthetic", "place", what)
    home = np.array([0.0, 0.0, 0.3])
    thing, place = (np.array([*random.uniform(-0.3, 0.3, 2), height]) for height in (0.0, 0.1))
    half = np.linspace(0, 1, STEPS // 2 + 1)[:, None]
    return np.concatenate([home + half * (thing - home), (thing + half * (place - thing))[1:]])


_SHARE = 1 - np.abs(np.linspace(-1, 1, STEPS + 1))
"""Effect of a displaced object on a trajectory, largest at the grasp: (STEPS + 1,)."""


def _atoms(spec: EpisodeSpec) -> tuple[str, ...]:
    """Return the truth values of goal atoms for an outcome."""
    change = spec.perturbations[0] if spec.perturbations else None
    atoms = change.goal if isinstance(change, OtherTask) and not isinstance(change, Counterfactual) else None
    return tuple(atoms or _goal(spec.task))


def _frame(specs: Sequence[EpisodeSpec]) -> pl.DataFrame:
    """Return the frame of a store in which every episode succeeded."""
    none = np.zeros((0, 3), np.float32), np.zeros(0, np.float32), np.zeros((0, 7), np.float32)
    texts: dict[tuple[object, ...], str] = {}
    with Store.scratch() as store:
        store.plan(specs)
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        for spec in specs:
            text = texts.get((spec.task, spec.perturbations))
            if text is None:
                words = spec.labels.get("axis") == "words"
                text = (world_of(spec.task).task(spec) if words else tasks.load(spec.task)).instruction.text
                texts[spec.task, spec.perturbations] = text
            episode = Episode(
                Outcome.SUCCESS,
                STEPS,
                Trajectory(*none),
                text,
                touched="thing_1",
                moved="thing_1",
                initial_positions={"thing_1": (0.0, 0.0, 0.0)},
            )
            store.append(numbers[spec.key], episode)
        frame = store.frame()
    assert frame["key"].to_list() == [spec.key for spec in specs]
    return frame


def _episode(spec: EpisodeSpec, row: Mapping[str, Any], path: Trajectory) -> Episode:
    """Return an episode as a policy would have produced it."""
    steps = row["steps"]
    return Episode(
        Outcome(row["outcome"]),
        steps,
        Trajectory(path.end_effector, path.end_effector[:, 0].copy(), path.actions),
        row["instruction"],
        decisions=row["decisions"],
        touched=row["touched"],
        moved=row["moved"],
        truth={atom: tuple(map(tuple, when)) for atom, when in json.loads(row["truth"]).items()},
        initial_positions={thing: tuple(at) for thing, at in json.loads(row["initial_positions"]).items()},
    )
