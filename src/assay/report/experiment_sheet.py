"""What an experiment does to a task, on one sheet: the control beside each condition, as a policy sees both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

import numpy as np

from assay import tasks
from assay.errors import AssayError
from assay.experiments import CONTROL, EpisodeSpec, Experiment
from assay.perturb import Perturbation, Senses
from assay.perturb.senses import Sense
from assay.perturb.world import MoveCamera
from assay.report.sheet import Cell, save_cells
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.render import CAMERAS
from assay.tasks import Task

SIZE = 224
REACH = np.array([0.2, -0.3, -0.6, 0.0, 0.0, 0.3, -1.0])
"""What the arm does before a picture of changed senses: a frozen camera and a late robot show by it."""
STEPS = 16
LOOK = ("agentview",)
TOLD = "text"
"""The field of perturbations that holds what is told, which stands above them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A condition and what there is to see of it."""

    spec: EpisodeSpec
    told: str
    """The instruction, or why the condition is refused."""
    pictures: tuple[tuple[np.ndarray, ...], ...]
    """Control and condition, uint8 (SIZE, SIZE, 3) each, for each camera that matters; none if refused. The
    control itself is shown by both cameras."""


def experiment_sheet(
    path: Path,
    experiment: Experiment,
    chosen: Sequence[Task],
    *,
    seed: int = 0,
    pack: str = "primitives",
    on_condition: Callable[[str], None] = lambda name: None,
) -> tuple[Shown, ...]:
    """Draw every condition of an experiment, one variant of each, for some tasks; returns what is on the sheet."""
    shown: list[Shown] = []
    cells: list[Cell | str] = []
    for task in chosen:
        plan = list(experiment.plan([task], (seed,), pack=pack))
        specs = {spec.condition: spec for spec in reversed(plan)}
        variants = Counter(spec.condition for spec in plan)
        cells.append(f"{task.id}: {task.instruction}")
        artist = _Artist(specs[CONTROL])
        try:
            for spec in reversed(specs.values()):
                on_condition(f"{task.id} {spec.condition}")
                shown.append(artist.show(spec))
                cells.append(_cell(shown[-1], variants[spec.condition]))
        finally:
            artist.close()
    save_cells(
        path, f"{experiment.name}, seed {seed}: on the left the control, on the right the condition", cells
    )
    return tuple(shown)


class _Artist:
    """Draws the conditions of one task; keeps the control's world and pictures."""

    def __init__(self, control: EpisodeSpec) -> None:
        self._control = control
        self._usual_task = control.realised()
        self._world = Simulation(compile_scene(self._usual_task.scene, load_pack(control.pack)))
        self._drawn: dict[tuple[str, bool], np.ndarray] = {}

    def show(self, spec: EpisodeSpec) -> Shown:
        """A condition beside the control; the control itself as both cameras see it."""
        senses = any(isinstance(each, Sense) for each in spec.perturbations)
        moved = any(isinstance(each, MoveCamera) and each.camera not in LOOK for each in spec.perturbations)
        cameras = CAMERAS if senses or moved else LOOK
        try:
            task = spec.realised()
            if spec.condition == CONTROL:
                both = tuple(self._usual(camera, moving=False) for camera in CAMERAS)
                return Shown(spec, task.instruction.text, (both,))
            usual = [self._usual(camera, moving=senses) for camera in cameras]
            changed = senses or task.scene != self._usual_task.scene
            pictures = self._pictures(spec, task, cameras, moving=senses) if changed else usual
            return Shown(spec, task.instruction.text, tuple(zip(usual, pictures, strict=True)))
        except AssayError as error:
            return Shown(spec, f"refused: {error}", ())

    def close(self) -> None:
        """Give back what the world holds."""
        self._world.close()

    def _usual(self, camera: str, *, moving: bool) -> np.ndarray:
        if (camera, moving) not in self._drawn:
            drawn = self._pictures(self._control, self._usual_task, CAMERAS, moving=moving)
            self._drawn |= {(name, moving): each for name, each in zip(CAMERAS, drawn, strict=True)}
        return self._drawn[camera, moving]

    def _pictures(
        self, spec: EpisodeSpec, task: Task, cameras: Sequence[str], *, moving: bool
    ) -> list[np.ndarray]:
        """What a policy sees at the start, or after some steps of moving."""
        if task.scene == self._usual_task.scene:
            return _seen(self._world, spec, cameras, STEPS if moving else 0)
        world = Simulation(compile_scene(task.scene, load_pack(spec.pack)))
        try:
            return _seen(world, spec, cameras, STEPS if moving else 0)
        finally:
            world.close()


def _seen(world: Simulation, spec: EpisodeSpec, cameras: Sequence[str], steps: int) -> list[np.ndarray]:
    senses = Senses(spec.perturbations, task=spec.task, seed=spec.seed)
    seen = senses.observe(world.reset(world.sample(spec.seed)))
    for _ in range(steps):
        seen = senses.observe(world.step(senses.act(REACH, world.steps)))
    return [seen.image(camera, SIZE) for camera in cameras]


def _cell(shown: Shown, variants: int) -> Cell:
    """A condition with its caption; ``variants``: of how many with that name this is the first."""
    spec = shown.spec
    title = spec.condition if variants == 1 else f"{spec.condition}, 1 of {variants}"
    if spec.condition == CONTROL:
        title = f"{CONTROL}, by the main camera and by the one at the wrist"
    return Cell(
        title, (shown.told or "(no words)", ", ".join(map(caption, spec.perturbations))), shown.pictures
    )


def caption(change: Perturbation) -> str:
    """A perturbation and the values that are not its usual ones; words and folders are left out."""
    values = []
    for name, value in _values(change):
        if isinstance(value, float):
            value = f"{value:.3g}"
        elif isinstance(value, tuple):
            value = " ".join(f"{each:.3g}" if isinstance(each, float) else str(each) for each in value)
        elif isinstance(value, str) and tasks.names_file(value):
            value = Path(value).name
        values.append(f"{name}={value}")
    return " ".join((change.kind, *values))


def _values(change: Perturbation) -> Iterator[tuple[str, object]]:
    for each in fields(change):  # type: ignore[arg-type]
        value = getattr(change, each.name)
        usual = each.default if each.default_factory is MISSING else each.default_factory()
        if value != usual and each.name != TOLD:
            yield each.name, value
