"""New scenes, each with tasks that the oracle has shown to be possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.episodes import Outcome, rollout
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError, PlacementError
from assay.extensions.generate.distribution import SPARE, Labels, labels_of, nearest, offer, pairs
from assay.extensions.generate.kit import EVEN, LIBERO_X, Composition
from assay.extensions.generate.layout import Cast, draw, draw_room
from assay.extensions.generate.proposals import propose
from assay.extensions.generate.sightline import hidden, hidden_regions
from assay.policies.oracle.policy import Oracle
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.packs.pack import AssetPack
from assay.sim.portraits import alike
from assay.sim.world import SceneEnv
from assay.support import processes
from assay.support.streams import stream
from assay.tasks import Atom, Goal, Task, check
from assay.tasks.files import goal_horizon

DRAWS = 80
"""How many scenes are drawn for one that is kept."""
SAME = 20
"""How many of them are in the same room with the same furniture."""
MOST_ALIKE = 2
"""How many tasks of a scene have the same destination, while there are others to try."""
DONE = "task: done at the start"
MOST_FAILED = 12
"""After how many tasks that the oracle could not do no more are tried in a scene."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is wanted."""

    seed: int = 0
    tasks: int = 6
    """Tasks of each scene."""
    pack: str = "primitives"
    tries: int = 2
    """From how many initial states the oracle must do each task."""
    labels: Labels = Labels.EVEN
    """How often labels are wanted among the tasks of all scenes."""

    @property
    def offered(self) -> int:
        """How many tasks a scene offers, of which those are kept whose labels are wanted."""
        return self.tasks + (0 if self.labels is Labels.EVEN else SPARE)

    @property
    def composition(self) -> Composition:
        """What scenes are drawn from."""
        return EVEN if self.labels is Labels.EVEN else LIBERO_X


@dataclass(frozen=True, slots=True)
class Made:
    """A scene with the tasks that it offers."""

    number: int
    tasks: tuple[Task, ...]
    """None where none of the scenes that were drawn offered as many as are to be kept."""
    steps: tuple[int, ...]
    """Control steps that the oracle took for each, at most."""
    refused: Counter[str]
    """Why others were not kept, and how many."""


def make(order: Order, number: int) -> Made:
    """The scene of a number: hangs on the order's seed and the number, and on nothing else.

    It has no tasks if none is found after a bounded search.
    """
    pack = load_pack(order.pack)
    refused: Counter[str] = Counter()
    for attempt in range(DRAWS):
        # Kept for some draws: else crowded rooms would give way to empty ones.
        rng = stream(order.seed, "room", number, attempt // SAME)
        room, furniture = draw_room(rng, pack.categories, order.composition)
        rng = stream(order.seed, "scene", number, attempt)
        try:
            cast = draw(rng, room, furniture, pack.categories, order.composition)
            _check_looks(cast, pack)
            proposed = propose(cast, f"scene_{number:03d}", rng)
            kept = _certified(proposed, order, rng, pack, refused)
        except AssayError as error:
            refused[f"scene: {error}"] += 1
            continue
        if len(kept) >= order.tasks:
            return Made(number, tuple(task for task, _ in kept), tuple(steps for _, steps in kept), refused)
        refused["scene: too few tasks"] += 1
    return Made(number, (), (), refused)


def _check_looks(cast: Cast, pack: AssetPack) -> None:
    """Raise PlacementError where words tell things apart by their looks that nobody can tell apart by them."""
    for noun in dict.fromkeys(thing.noun for thing in cast.things):
        looks = {thing.called: thing.entity for thing in cast.things if thing.noun == noun}
        called = {entity.name: words for words, entity in looks.items()}
        if (found := alike(list(looks.values()), pack)) is not None:
            one, other, difference = found
            raise PlacementError(
                f"the {called[one.name]} and the {called[other.name]} look the same: {difference}"
            )


def make_all(order: Order, numbers: Sequence[int], workers: int) -> Iterator[Made]:
    """Several scenes on several processes, or in this one, in the order of their numbers."""
    if workers == 1:
        yield from (make(order, number) for number in numbers)
        return
    yield from processes.results(partial(make, order), numbers, workers)


def _certified(
    proposed: Sequence[Task],
    order: Order,
    rng: np.random.Generator,
    pack: AssetPack,
    refused: Counter[str],
) -> list[tuple[Task, int]]:
    """The first tasks of a scene that the oracle does, and its steps."""
    kept: list[tuple[Task, int]] = []
    world = Simulation(compile_scene(proposed[0].scene, pack))
    try:
        world.reset(world.sample(0))
        if unseen := hidden(world):
            raise PlacementError(f"the camera hardly sees {world.compiled.entities[unseen[0]].category}")
        dark = hidden_regions(world)
        alone: dict[Atom, bool] = {}
        failed = 0
        for task in _in_order(proposed, order, rng, kept):
            if len(kept) == order.offered or failed == MOST_FAILED:
                break
            check(task)
            if any(name in dark for atom in task.goal.atoms for name in atom.arguments):
                refused["task: the camera hardly sees where the thing goes"] += 1
                continue
            if not all(_works_alone(world, task, atom, order, alone) for atom in task.goal.atoms):
                refused["task: a step of it is one that the oracle failed at"] += 1
                continue
            reason, steps = _tried(world, task, order)
            if reason:
                refused[reason] += 1
                failed += 1
            else:
                kept.append((task, steps))
            if len(task.goal.atoms) == 1:
                alone[task.goal.atoms[0]] = not reason
    finally:
        world.close()
    return kept


def _in_order(
    proposed: Sequence[Task], order: Order, rng: np.random.Generator, kept: Sequence[tuple[Task, int]]
) -> Iterator[Task]:
    """Tasks in the order in which they are tried, which hangs on what was ``kept`` until then."""
    if order.labels is Labels.EVEN:
        yield from proposed
        return
    wanted = offer(order.offered, rng)
    rest = [(task, pairs(labels_of(task))) for task in proposed]
    while rest:
        have = Counter(label for task, _ in kept for label in pairs(labels_of(task)))
        often = Counter(_destination(task) for task, _ in kept)
        fresh = [each for each in rest if often[_destination(each[0])] < MOST_ALIKE] or rest
        chosen = fresh[nearest([labels for _, labels in fresh], wanted, have)]
        rest.remove(chosen)
        yield chosen[0]


def _destination(task: Task) -> str:
    return task.goal.atoms[-1].arguments[-1]


def _works_alone(world: Simulation, task: Task, atom: Atom, order: Order, known: dict[Atom, bool]) -> bool:
    """Whether the oracle does one of several steps; ``known`` is what was found out in this scene already."""
    if len(task.goal.atoms) == 1:
        return known.get(atom, True)
    if atom not in known:
        step = replace(task, goal=Goal((atom,)))
        reason, _ = _tried(world, step, replace(order, tries=1))
        known[atom] = reason in ("", DONE)
    return known[atom]


def _tried(world: Simulation, task: Task, order: Order) -> tuple[str, int]:
    """Why the oracle could not do a task, if it could not, and the most steps it took."""
    most = 0
    for seed in range(order.tries):
        state = world.sample(seed)
        world.reset(state)
        if world.is_satisfied(task.goal):
            return DONE, 0
        spec = EpisodeSpec(task.id, seed, order.pack, steps=goal_horizon(task.goal))
        done = rollout(SceneEnv(world, task, state), Oracle(), spec)
        if done.outcome is Outcome.ERROR:
            return f"task: {done.error}", 0
        if done.outcome is Outcome.FAILURE:
            kinds = " and ".join(atom.predicate.value for atom in task.goal.atoms)
            return f"task: the oracle failed at {kinds}", 0
        most = max(most, done.steps)
    return "", most
