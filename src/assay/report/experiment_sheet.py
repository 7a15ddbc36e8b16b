"""What an experiment does to a task, on one sheet: the control beside each condition, as a policy sees both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

import numpy as np

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, Perturbation, Sense, Senses
from assay.errors import AssayError
from assay.perturb.world import MoveCamera
from assay.report.sheet import Cell, save_cells
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.render import CAMERAS
from assay.sim.world import LIBERO_WORLD
from assay.tasks import Task

SIZE = 224
REACH = np.array([0.2, -0.3, -0.6, 0.0, 0.0, 0.3, -1.0])
"""What the arm does before a picture of changed senses: a frozen camera and a late robot show by it."""
STEPS = 16
LOOK = ("agentview",)
TOLD = ("text", "texts", "goals")
"""The fields of perturbations that hold what is told, which stands above them."""


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
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> list[str]:
    """Draw every condition of some episodes, one variant of each; returns a line for each that is refused."""
    shown = draw_conditions(path, specs, on_condition)
    return [f"{each.spec.task} {each.spec.condition}: {each.told}" for each in shown if not each.pictures]


def draw_conditions(
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> tuple[Shown, ...]:
    """Draw every condition of some episodes, one variant of each; returns what is on the sheet."""
    shown: list[Shown] = []
    cells: list[Cell | str] = []
    for task in dict.fromkeys(spec.task for spec in specs):
        plan = [spec for spec in specs if spec.task == task]
        first = {spec.condition: spec for spec in reversed(plan)}
        variants = Counter(spec.condition for spec in plan)
        cells.append(f"{task}: {LIBERO_WORLD.task(plan[0].control()).instruction}")
        artist = _Artist(plan[0].control())
        try:
            for spec in reversed(first.values()):
                on_condition(f"{task} {spec.condition}")
                shown.append(artist.show(spec))
                cells.append(_cell(shown[-1], variants[spec.condition]))
        finally:
            artist.close()
    about = f"{specs[0].experiment}, seed {specs[0].seed}" if specs else ""
    save_cells(path, f"{about}: on the left the control, on the right the condition", cells)
    return tuple(shown)


class _Artist:
    """Draws the conditions of one task; keeps the control's world and pictures."""

    def __init__(self, control: EpisodeSpec) -> None:
        self._control = control
        self._usual_task = LIBERO_WORLD.task(control)
        self._world = Simulation(compile_scene(self._usual_task.scene, load_pack(control.pack)))
        self._drawn: dict[tuple[str, bool], np.ndarray] = {}

    def show(self, spec: EpisodeSpec) -> Shown:
        """A condition beside the control; the control itself as both cameras see it."""
        senses = any(isinstance(perturbation, Sense) for perturbation in spec.perturbations)
        moved = any(
            isinstance(perturbation, MoveCamera) and perturbation.camera not in LOOK
            for perturbation in spec.perturbations
        )
        cameras = CAMERAS if senses or moved else LOOK
        try:
            task = LIBERO_WORLD.task(spec)
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
    senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
    seen = senses.observe(world.reset(world.sample(spec.world_seed)))
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
    """A perturbation and the values that are not its usual ones; words, folders and alternatives are left out."""
    values = []
    for name, value in _values(change):
        if isinstance(value, float):
            value = f"{value:.3g}"
        elif isinstance(value, tuple):
            value = " ".join(map(_part, value))
        elif isinstance(value, str) and tasks.names_file(value):
            value = Path(value).name
        values.append(f"{name}={value}")
    return " ".join((change.kind, *values))


def _part(value: object) -> str:
    """One of several values; of a thing with its alternatives, the thing."""
    if isinstance(value, tuple) and value:
        return _part(value[0])
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _values(change: Perturbation) -> Iterator[tuple[str, object]]:
    for field in fields(change):  # type: ignore[arg-type]
        value = getattr(change, field.name)
        usual = field.default if field.default_factory is MISSING else field.default_factory()
        if value != usual and field.name not in TOLD:
            yield field.name, value
