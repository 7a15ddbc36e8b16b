"""Policies that never were: outcomes and paths are drawn, everything else is as in a user's run.

A `Synthetic` says how often a policy succeeds at each task and what each change costs it; `written` plans a real
experiment, draws an episode for every spec and records it with ``Store.append``. What is measured and diagnosed
from the file is then compared with what was drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from assay import tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Trajectory
from assay.episodes.perturbation import TOGETHER
from assay.experiments import load_experiment
from assay.perturb.words.rewordings.other_task import Counterfactual, OtherTask
from assay.perturb.words.say import Say
from assay.runs.store import Store
from assay.streams import stream

GOALS = tuple(task.id for task in tasks.resolve("libero_goal"))
"""LIBERO's ten tasks of one scene."""
STEPS = 40
"""Control steps of a success; failures take half as many again."""
NOISE = 0.004
"""How much paths shake, metres."""
FAR = 0.2
"""How far a change of position moves things, where no label says it, metres."""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """How a policy that never was behaves."""

    able: Mapping[str, float]
    """Task -> how often it succeeds with nothing changed."""
    lost: Mapping[str, float] = field(default_factory=dict)
    """Change, or condition -> the share of its successes that are lost under it; several changes multiply."""
    lost_in: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The same of one task: (task, change)."""
    any_change: float = 0.0
    """The share lost under any change alike."""
    replays: float = 0.0
    """How often it plays back the control, whatever has changed."""
    falls_back: float = 0.0
    """How often it does the scene's usual task when told nonsense."""
    deaf: float = 0.0
    """How often it does so when asked for something else, in words that can be understood."""
    misses: float = 0.5
    """The share of failures that stay close to the path of success."""

    def rate(self, spec: EpisodeSpec) -> float:
        """How often it succeeds in an episode in which it does not play anything back."""
        asked = asked_tasks(spec) or (spec.task,)
        rate = float(np.prod([self.able[each] for each in asked]))
        if spec.condition == CONTROL:
            return rate
        for each in (spec.condition, *changes_of(spec)):
            rate *= 1 - self.lost.get(each, 0.0)
            rate *= 1 - self.lost_in.get((spec.task, each), 0.0)
        return rate * (1 - self.any_change)


def changes_of(spec: EpisodeSpec) -> list[str]:
    """What an episode changes."""
    return str(spec.labels.get("change") or "").split(TOGETHER)


def even(rate: float) -> dict[str, float]:
    """Every task at the same rate."""
    return dict.fromkeys(GOALS, rate)


def uneven(rate: float, spread: float = 1.5, key: object = 0) -> dict[str, float]:
    """Tasks that differ: normal log-odds about those of a rate, so that some are hopeless and some are easy."""
    off = stream("synthetic", "tasks", str(key)).normal(0.0, spread, len(GOALS))
    odds = np.exp(np.log(rate / (1 - rate)) + off)
    return {task: float(each / (1 + each)) for task, each in zip(GOALS, odds, strict=True)}


@cache
def planned(experiment: str, chosen: tuple[str, ...], seeds: int) -> tuple[EpisodeSpec, ...]:
    """The episodes of an experiment, as ``assay run`` plans them."""
    found = [tasks.load(each) for each in chosen]
    return tuple(load_experiment(experiment).plan(found, range(seeds)))


def written(
    policy: Synthetic, specs: Iterable[EpisodeSpec], key: object, path: Path | None = None, **meta: object
) -> Store:
    """A run of a policy that never was: recorded in a file, or in one that nobody keeps. Open; close it."""
    random = stream("synthetic", "episodes", str(key))
    store = Store.scratch() if path is None else Store.writing(path)
    store.describe(policy="synthetic", **meta)
    wanted = list(specs)
    store.plan(wanted)
    numbers = {waiting.key: waiting.number for waiting in store.todo()}
    usual: dict[tuple[str, int], Drawn] = {}
    for spec in sorted(wanted, key=lambda spec: spec.condition != CONTROL):
        drawn = _drawn(policy, spec, usual, random)
        store.append(numbers[spec.key], drawn.episode)
    return store


@dataclass(frozen=True, slots=True)
class Drawn:
    """An episode, and the path of which its own is a shaken copy."""

    episode: Episode
    path: np.ndarray
    success: bool


def _drawn(
    policy: Synthetic, spec: EpisodeSpec, usual: dict[tuple[str, int], Drawn], random: np.random.Generator
) -> Drawn:
    where, start = _place(spec.task), (spec.task, spec.seed)
    if spec.condition == CONTROL:
        success = bool(random.random() < policy.able[spec.task])
        found = _episode(policy, spec, where, success, random)
        return usual.setdefault(start, found)
    asked, sensible = asked_tasks(spec), bool(spec.labels.get("plausible", True))
    if not asked and any(isinstance(each, OtherTask) for each in spec.perturbations):
        where = _place(f"new {spec.task}")
    success = bool(random.random() < policy.rate(spec))
    moved = _moved(spec, changes_of(spec), random)
    words = spec.labels.get("axis") == "words"
    otherwise = spec.labels.get("asked_goal") is not None
    repeats = policy.replays
    if words and not sensible:
        repeats = max(repeats, policy.deaf if otherwise else policy.falls_back)
    elif words and otherwise:
        repeats = max(repeats, policy.deaf)
    if random.random() < repeats and start in usual:
        known = usual[start]
        same = not moved.any() and not (words and (otherwise or asked))
        kept = policy.rate(spec) / policy.able[spec.task] if policy.able[spec.task] else 0.0
        success = known.success and (not sensible or (same and bool(random.random() < kept)))
        return _episode(policy, spec, known.path, success, random, moved, misses=1.0)
    if not sensible:
        success = False
        where = _place(f"elsewhere {spec.condition} {spec.task}")
    elif asked and spec.task not in asked:
        where = _place(asked[0])
    return _episode(policy, spec, where + _towards(moved), success, random, moved)


def asked_tasks(spec: EpisodeSpec) -> tuple[str, ...]:
    """The known tasks that an instruction asks for, where it asks for something else."""
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


@cache
def _told(task: str) -> str:
    return tasks.load(task).instruction.text


def _moved(spec: EpisodeSpec, changes: Sequence[str], random: np.random.Generator) -> np.ndarray:
    """Where the thing of the task was moved to, metres: (3,)."""
    far = spec.labels.get("distance") if "distance" in spec.labels else None
    if far is None and "position" in changes:
        far = FAR
    angle = random.uniform(0, 2 * np.pi)
    return float(far or 0.0) * np.array([np.cos(angle), np.sin(angle), 0.0])


@cache
def _place(what: str) -> np.ndarray:
    """A path of a task: from home to a thing and on to a place, metres, (STEPS + 1, 3)."""
    random = stream("synthetic", "place", what)
    home = np.array([0.0, 0.0, 0.3])
    thing, place = (np.array([*random.uniform(-0.3, 0.3, 2), height]) for height in (0.0, 0.1))
    half = np.linspace(0, 1, STEPS // 2 + 1)[:, None]
    return np.concatenate([home + half * (thing - home), (thing + half * (place - thing))[1:]])


def _towards(moved: np.ndarray) -> np.ndarray:
    """What a moved thing changes of a path: most where it is taken up, (STEPS + 1, 3)."""
    share = 1 - np.abs(np.linspace(-1, 1, STEPS + 1))
    return np.asarray(share[:, None] * moved)


def _episode(
    policy: Synthetic,
    spec: EpisodeSpec,
    path: np.ndarray,
    success: bool,
    random: np.random.Generator,
    moved: np.ndarray | None = None,
    misses: float | None = None,
) -> Drawn:
    """A shaken path: a failure that misses waits at its end, another one turns off half way."""
    shaken = path + np.cumsum(random.normal(0, NOISE / 4, path.shape), axis=0)
    if not success:
        wait = np.repeat(shaken[-1:], STEPS // 2, axis=0)
        if random.random() >= (policy.misses if misses is None else misses):
            away = np.linspace(0, 1, STEPS // 2)[:, None] * np.array([*random.uniform(-0.4, 0.4, 2), 0.3])
            shaken = shaken.copy()
            shaken[STEPS // 2 + 1 :] = shaken[STEPS // 2] + away
        shaken = np.concatenate([shaken, wait])
    hand = shaken.astype(np.float32)
    steps = len(hand) - 1
    change = spec.perturbations[0] if spec.perturbations else None
    atoms = change.goal if isinstance(change, OtherTask) and not isinstance(change, Counterfactual) else None
    atoms = atoms or _goal(spec.task)
    text = change.text if isinstance(change, Say | OtherTask | Counterfactual) else _told(spec.task)
    stands = np.array([0.1, 0.1, 0.0]) + (0.0 if moved is None else moved)
    episode = Episode(
        Outcome.SUCCESS if success else Outcome.FAILURE,
        steps,
        Trajectory(hand, hand[:, 0].copy(), np.zeros((steps, 7), np.float32)),
        text,
        decisions=steps // 8,
        touched="thing_1",
        moved="thing_1",
        truth=dict.fromkeys(atoms, ((steps - 1, steps),) if success else ()),
        initial_positions={"thing_1": (float(stands[0]), float(stands[1]), float(stands[2]))},
    )
    return Drawn(episode, path, success)
