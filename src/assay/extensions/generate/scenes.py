"""Generate scenes, each with tasks that the oracle has solved.

Each scene offers more tasks than are kept. Scenes are processed in numerical order. From each scene, the tasks are
kept that bring the label counts over all scenes closest to the targets.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.errors import AssayError, PlacementError, TaskError
from assay.experiments.labels import label_sets
from assay.extensions.generate.kit import LIBERO_X_LABELS, LIBERO_X_TASKS, load_composition
from assay.extensions.generate.layout import draw, draw_room
from assay.extensions.generate.proposals import propose
from assay.policies.oracle.policy import Oracle
from assay.sim import Simulation, compile_scene
from assay.sim.compile import Boxes, geom_boxes
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import PACKS
from assay.sim.portraits import alike
from assay.sim.visibility import MAIN, eye_of, measure_visibility, robot_boxes, seen_now
from assay.sim.world import SceneEnv
from assay.support import processes
from assay.support.files import replacing
from assay.support.streams import stream
from assay.tasks import Atom, Goal, Task, check
from assay.tasks.files import INDEX, goal_horizon

FORMAT = "assay-scenes/2"
MAX_NAME_LENGTH = 80
"""Maximum number of characters of an instruction used in a file name."""
EXTRA_TASKS = 3
"""Number of tasks that a scene offers in addition to those that are kept."""
RARE_SHARE = 0.1
"""Target fraction below which a label is rare and is offered more often, because few scenes can offer it."""
RARE_FACTOR = 3.0
"""Factor by which rare labels are offered more often."""


class Label(NamedTuple):
    """A label: its family and value, such as ``relation`` and ``container``."""

    family: str
    value: str


class LabelTargets(StrEnum):
    """Target frequencies of labels."""

    EVEN = "even"
    """Task families alternate."""
    LIBERO_X = "libero-x"
    """Frequencies in LIBERO-X's training set."""


SHARES: Mapping[Label, float] = MappingProxyType(
    {
        Label(family, value): count / LIBERO_X_TASKS
        for family, counts in LIBERO_X_LABELS.items()
        for value, count in counts.items()
    }
)
"""Fraction of LIBERO-X's tasks with each label; a task may have several labels from the same family."""


def labels_of(task: Task) -> dict[str, list[str]]:
    """Return the labels of a task by family, along with the predicates of its goal."""
    return {
        **{family: list(values) for family, values in label_sets(task).items()},
        "predicate": sorted({atom.predicate.value for atom in task.goal.atoms}),
    }


def target_labels(labels: Mapping[str, Iterable[str]]) -> frozenset[Label]:
    """Return those labels from `labels_of` that have a target frequency."""
    pairs = {Label(family, value) for family, values in labels.items() for value in values}
    return frozenset(pairs & SHARES.keys())


def offer(size: int, rng: np.random.Generator) -> Counter[Label]:
    """Return how many tasks with each label a scene should offer: on average, at least ``size`` * its target."""
    chances = rng.random(len(SHARES))
    return Counter(
        {
            label: int((RARE_FACTOR if share < RARE_SHARE else 1.0) * share * size + chance)
            for (label, share), chance in zip(SHARES.items(), chances, strict=True)
        }
    )


def choose(
    candidates: Sequence[frozenset[Label]], count: int, before: Counter[Label], tasks: int
) -> list[int]:
    """Return the indices of the ``count`` tasks to keep so that label frequencies approach their targets.

    ``before`` holds the label counts over the ``tasks`` tasks of earlier scenes.
    """
    names = list(SHARES)
    weights = np.array([_weight(label) for label in names])
    target = np.array([SHARES[label] for label in names]) * (tasks + count)
    missing = target - np.array([before[label] for label in names])
    table = np.array([[label in labels for label in names] for labels in candidates], dtype=float)
    groups = list(combinations(range(len(candidates)), min(count, len(candidates))))
    misses = np.array([table[list(group)].sum(axis=0) for group in groups]) - missing
    return list(groups[int(np.argmin((weights * misses**2).sum(axis=1)))])


def _weight(label: Label) -> float:
    """Return the weight of a label: the inverse square root of its target frequency."""
    return 1 / sqrt(SHARES[label])


MIN_VISIBLE_SHARE = 0.7
"""Minimum visible fraction of an object or region in the main camera's image; other scenes are drawn again."""


REGION_OBJECT_HEIGHT = 0.04
"""Height, in metres, of the virtual object used to measure the visibility of a region."""


def hidden_objects(world: Simulation) -> list[str]:
    """Return the movable objects that are out of the main camera's view or too occluded."""
    return [
        name for name, (view,) in seen_now(world, (MAIN,)).items() if not view.is_visible(MIN_VISIBLE_SHARE)
    ]


def hidden_regions(world: Simulation) -> set[str]:
    """Return the workspace regions in which a low object would not be sufficiently visible to the main camera."""
    model, data = world.model, world.data
    standing = [geom_boxes(model, data, entity.geoms) for entity in world.compiled.entities.values()]
    standing.append(robot_boxes(model, data))
    eye = eye_of(model, data, MAIN)
    hidden = set()
    for region in world.compiled.regions.values():
        if region.parent is None:
            half_x, half_y, _ = region.half
            centre = data.site_xpos[region.site] + (0.0, 0.0, REGION_OBJECT_HEIGHT / 2)
            half = np.array([[half_x, half_y, REGION_OBJECT_HEIGHT / 2]])
            box = Boxes(centre[None], np.eye(3)[None], half)
            (view,) = measure_visibility({region.name: box}, standing, [eye])[region.name]
            if not view.is_visible(MIN_VISIBLE_SHARE):
                hidden.add(region.name)
    return hidden


MAX_DRAWS = 80
"""Maximum number of draws to obtain one scene."""
DRAWS_PER_ROOM = 20
"""Number of consecutive draws in which the room and the furniture stay the same."""
MAX_SAME_DESTINATION = 2
"""Maximum number of tasks per scene with the same destination if there are alternatives."""
DONE_AT_START = "task: done at the start"
MAX_ORACLE_FAILURES = 12
"""Number of tasks that the oracle may fail before a scene is abandoned."""


@dataclass(frozen=True, slots=True)
class SceneRequest:
    """Options for generating scenes, stored in the folder's index."""

    seed: int = 0
    tasks: int = 6
    """Number of tasks per scene."""
    pack: str = "primitives"
    tries: int = 2
    """Number of initial states from which the oracle must solve each task."""
    labels: LabelTargets = LabelTargets.EVEN

    @property
    def offer_size(self) -> int:
        """Number of tasks that a scene offers."""
        return self.tasks + (0 if self.labels is LabelTargets.EVEN else EXTRA_TASKS)


@dataclass(frozen=True, slots=True)
class GeneratedScene:
    """A scene and the tasks it offers."""

    number: int
    tasks: tuple[Task, ...]
    """Offered tasks; empty if none of the drawn scenes offered enough tasks."""
    steps: tuple[int, ...]
    """Largest number of control steps that the oracle needed for each task."""
    refused: Counter[str]
    """Number of rejected scenes and tasks by reason."""


def make(request: SceneRequest, number: int) -> GeneratedScene:
    """Generate a scene from its number; the result depends only on the seed and the number.

    The scene has no tasks if no suitable scene is found within the maximum number of draws.
    """
    pack, composition = PACKS.load(request.pack)(), load_composition(request.labels.value)
    refused: Counter[str] = Counter()
    for attempt in range(MAX_DRAWS):
        # The same room for some draws: otherwise rooms without furniture, which succeed more often, would dominate.
        rng = stream(request.seed, "room", number, attempt // DRAWS_PER_ROOM)
        arena, furniture = draw_room(rng, pack.categories, composition)
        rng = stream(request.seed, "scene", number, attempt)
        try:
            draft = draw(rng, arena, furniture, pack.categories, composition)
            for noun in dict.fromkeys(obj.noun for obj in draft.objects):
                looks = {obj.description: obj.entity for obj in draft.objects if obj.noun == noun}
                description = {entity.name: words for words, entity in looks.items()}
                if (pair := alike(list(looks.values()), pack)) is not None:
                    one, other, difference = pair
                    raise PlacementError(
                        f"the {description[one.name]} and the {description[other.name]} look the same: {difference}"
                    )
            proposed = propose(draft, f"scene_{number:03d}", rng)
            accepted = _certify(proposed, request, rng, pack, refused)
        except AssayError as error:
            refused[f"scene: {error}"] += 1
            continue
        if len(accepted) >= request.tasks:
            tasks, steps = zip(*accepted, strict=True)
            return GeneratedScene(number, tasks, steps, refused)
        refused["scene: too few tasks"] += 1
    return GeneratedScene(number, (), (), refused)


def _certify(
    proposed: Sequence[Task],
    request: SceneRequest,
    rng: np.random.Generator,
    pack: AssetPack,
    refused: Counter[str],
) -> list[tuple[Task, int]]:
    """Return the first tasks of a scene that the oracle solves, and the number of steps that it needs for each."""
    accepted: list[tuple[Task, int]] = []
    simulation = Simulation(compile_scene(proposed[0].scene, pack))
    try:
        simulation.reset(simulation.sample(0))
        if unseen := hidden_objects(simulation):
            raise PlacementError(
                f"the main camera barely shows {simulation.compiled.entities[unseen[0]].category}"
            )
        dark = hidden_regions(simulation)
        alone: dict[Atom, bool] = {}

        def solves_alone(task: Task, atom: Atom) -> bool:
            if atom not in alone:
                step = replace(task, goal=Goal((atom,)))
                alone[atom] = _attempt(simulation, step, replace(request, tries=1))[0] in ("", DONE_AT_START)
            return alone[atom]

        failed = 0
        for task in _order_candidates(proposed, request, rng, accepted):
            if len(accepted) == request.offer_size or failed == MAX_ORACLE_FAILURES:
                break
            check(task)
            if any(name in dark for atom in task.goal.atoms for name in atom.arguments):
                refused["task: the main camera barely shows the destination"] += 1
                continue
            several = len(task.goal.atoms) > 1
            if not all(
                solves_alone(task, atom) if several else alone.get(atom, True) for atom in task.goal.atoms
            ):
                refused["task: the oracle failed at one of its steps"] += 1
                continue
            reason, steps = _attempt(simulation, task, request)
            if reason:
                refused[reason] += 1
                failed += 1
            else:
                accepted.append((task, steps))
            if len(task.goal.atoms) == 1:
                alone[task.goal.atoms[0]] = not reason
    finally:
        simulation.close()
    return accepted


def _order_candidates(
    proposed: Sequence[Task],
    request: SceneRequest,
    rng: np.random.Generator,
    accepted: Sequence[tuple[Task, int]],
) -> Iterator[Task]:
    """Yield the tasks in the order in which to try them, which depends on the tasks ``accepted`` so far."""
    if request.labels is LabelTargets.EVEN:
        yield from proposed
        return
    wanted = offer(request.offer_size, rng)
    rest = [(task, target_labels(labels_of(task))) for task in proposed]
    while rest:
        have = Counter(label for task, _ in accepted for label in target_labels(labels_of(task)))
        often = Counter(_destination(task) for task, _ in accepted)
        fresh = [pair for pair in rest if often[_destination(pair[0])] < MAX_SAME_DESTINATION] or rest
        # The first of those that bring the labels of the scene closest to the wanted ones.
        costs = [
            sum(_weight(label) * (1.0 if have[label] >= wanted[label] else -1.0) for label in labels)
            for _, labels in fresh
        ]
        chosen = fresh[costs.index(min(costs))]
        rest.remove(chosen)
        yield chosen[0]


def _destination(task: Task) -> str:
    return task.goal.atoms[-1].arguments[-1]


def _attempt(simulation: Simulation, task: Task, request: SceneRequest) -> tuple[str, int]:
    """Return why the oracle failed a task (empty if it succeeded), and the largest number of steps it needed."""
    max_steps = 0
    for seed in range(request.tries):
        state = simulation.sample(seed)
        simulation.reset(state)
        if simulation.is_satisfied(task.goal):
            return DONE_AT_START, 0
        spec = EpisodeSpec(task.id, seed, request.pack, steps=goal_horizon(task.goal))
        done = rollout(SceneEnv(simulation, task, state), Oracle(), spec)
        if done.outcome is Outcome.ERROR:
            return f"task: {done.error}", 0
        if done.outcome is Outcome.FAILURE:
            kinds = " and ".join(atom.predicate.value for atom in task.goal.atoms)
            return f"task: the oracle failed at {kinds}", 0
        max_steps = max(max_steps, done.steps)
    return "", max_steps


def write_scenes(
    out: Path,
    request: SceneRequest,
    count: int,
    *,
    workers: int = 1,
    on_scene: Callable[[int], None] = lambda number: None,
) -> dict[str, Any]:
    """Extend a folder to ``count`` scenes and return the index. Call ``on_scene`` with the number of each scene.

        scene_007/0_put_the_....json    one task
        index.json                      the request, all scenes and tasks, rejections, and numbers without a scene

    The index is written after every scene, so that the same request resumes. A number without a suitable scene is
    recorded as failed and not tried again. Raises TaskError if the folder contains other files or another request.
    """
    index = _load_index(out, request)
    scenes, failed = index["scenes"], index["failed"]
    missing = [number for number in range(count) if _name(number) not in {**scenes, **failed}]
    for number in range(count - len(missing)):
        on_scene(number)
    generate = partial(make, request)
    in_parallel = workers > 1 and missing
    for generated in processes.results(generate, missing, workers) if in_parallel else map(generate, missing):
        name = _name(generated.number)
        if generated.tasks:
            chosen = list(range(len(generated.tasks)))
            if request.labels is not LabelTargets.EVEN:
                earlier = {other: scene for other, scene in scenes.items() if other < name}
                before = count_labels({"scenes": earlier})
                offered = [target_labels(labels_of(task)) for task in generated.tasks]
                count_before = sum(len(scene["tasks"]) for scene in earlier.values())
                chosen = choose(offered, request.tasks, before, count_before)
            scenes[name] = _save_scene(out / name, generated, chosen)
        else:
            failed[name] = {"refused": dict(sorted(generated.refused.items()))}
        index["scenes"] = scenes = dict(sorted(scenes.items()))
        with replacing(out / INDEX) as part:
            part.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        on_scene(generated.number)
    return index


def count_labels(index: dict[str, Any]) -> Counter[Label]:
    """Count the tasks in an index by label."""
    tasks = (task for scene in index["scenes"].values() for task in scene["tasks"])
    return Counter(
        Label(family, value)
        for task in tasks
        for family, values in task["labels"].items()
        for value in values
    )


def _load_index(out: Path, request: SceneRequest) -> dict[str, Any]:
    file = out / INDEX
    wanted: dict[str, Any] = {"format": FORMAT, "order": asdict(request), "scenes": {}, "failed": {}}
    if out.exists() and not out.is_dir():
        raise TaskError(f"{out} is a file; choose a new folder, or a folder to extend")
    if not file.exists():
        if out.is_dir() and any(out.iterdir()):
            raise TaskError(f"{out} contains files that 'assay scenes' did not write; choose another folder")
        out.mkdir(parents=True, exist_ok=True)
        return wanted
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        stored = index["format"], index["order"]
    except (ValueError, KeyError, TypeError):
        raise TaskError(f"{file} is not an index of scenes") from None
    if stored != (wanted["format"], wanted["order"]):
        raise TaskError(
            f"{out} contains scenes generated with other options, {stored[1]}; choose another folder"
        )
    return {**wanted, **index}


def _save_scene(folder: Path, generated: GeneratedScene, chosen: list[int]) -> dict[str, Any]:
    """Write the chosen tasks of a scene and return its entry in the index."""
    if folder.exists():
        shutil.rmtree(folder)  # left by an interrupted run; not in the index
    entries = []
    for number, which in enumerate(chosen):
        task, steps = generated.tasks[which], generated.steps[which]
        words = re.sub(r"[^a-z0-9]+", "_", task.instruction.text.lower())[:MAX_NAME_LENGTH].strip("_")
        saved = tasks.save(task, folder / f"{number}_{words}.json")
        entries.append(
            {
                "file": f"{folder.name}/{number}_{words}.json",
                "digest": saved.id.rpartition("@")[2],
                "instruction": task.instruction.text,
                "goal": [str(atom) for atom in task.goal.atoms],
                "steps": steps,
                "labels": labels_of(task),
            }
        )
    scene = generated.tasks[0].scene
    return {
        "arena": scene.arena.value,
        "fixtures": [entity.category for entity in scene.fixtures],
        "objects": [entity.category for entity in scene.objects],
        "tasks": entries,
        "refused": dict(sorted(generated.refused.items())),
    }


def _name(number: int) -> str:
    return f"scene_{number:03d}"
