"""Contact sheet of an experiment: the camera images of every condition beside those of the control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.episodes import CONTROL, EpisodeSpec, Sense, Senses
from assay.errors import AssayError
from assay.perturb.world.staging import MoveCamera
from assay.report.scene_images import open_scene
from assay.report.sheets import SheetCell, save_sheet
from assay.sim import Simulation
from assay.sim.render import CAMERAS
from assay.sim.world import LIBERO_WORLD
from assay.tasks import Task

SIZE = 224
"""Height and width of an image, in pixels."""
MAIN_CAMERAS = ("agentview",)
MOTION = np.array([0.2, -0.3, -0.6, 0.0, 0.0, 0.3, -1.0])
"""Action that is repeated before perturbed observations are rendered, to make frozen cameras or delays visible."""
MOTION_STEPS = 16


@dataclass(frozen=True, slots=True)
class ConditionImages:
    """A condition of an experiment and its images."""

    spec: EpisodeSpec
    text: str
    """Instruction, or the reason why the condition cannot be built."""
    images: tuple[tuple[np.ndarray, ...], ...]
    """Images of the control and the condition from each relevant camera, uint8 (SIZE, SIZE, 3).

    Empty if the condition cannot be built. The control itself is shown from both cameras.
    """


def experiment_sheet(
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> list[str]:
    """Write a sheet with every condition of a plan; return one line for each condition that cannot be built."""
    shown = draw_conditions(path, specs, on_condition)
    return [f"{cell.spec.task} {cell.spec.condition}: {cell.text}" for cell in shown if not cell.images]


def draw_conditions(
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> list[ConditionImages]:
    """Write a sheet with one variant of every condition of a plan, and return the conditions with their images.

    ``on_condition`` is called with the name of each condition before it is rendered.
    """
    shown: list[ConditionImages] = []
    cells: list[SheetCell | str] = []
    for task in dict.fromkeys(spec.task for spec in specs):
        plan = [spec for spec in specs if spec.task == task]
        first = {spec.condition: spec for spec in reversed(plan)}
        variants = Counter(spec.condition for spec in plan)
        cells.append(f"{task}: {LIBERO_WORLD.task(plan[0].control()).instruction}")
        control = plan[0].control()
        with open_scene(LIBERO_WORLD.task(control).scene, control.pack) as world:
            renderer = _ConditionRenderer(control, world)
            for spec in reversed(first.values()):
                on_condition(f"{task} {spec.condition}")
                shown.append(renderer.render(spec))
                count = variants[spec.condition]
                title = spec.condition if count == 1 else f"{spec.condition}, 1 of {count}"
                if spec.condition == CONTROL:
                    title = f"{CONTROL}: main camera and wrist camera"
                changes = ", ".join(change.kind for change in spec.perturbations)
                lines = (shown[-1].text or "(no instruction)", changes)
                cells.append(SheetCell(title, lines, shown[-1].images))
    heading = f"{specs[0].experiment}, seed {specs[0].seed}: control on the left, condition on the right"
    save_sheet(path, heading, cells)
    return shown


class _ConditionRenderer:
    """Renderer for the conditions of one task; caches the world and images of the control."""

    def __init__(self, control: EpisodeSpec, world: Simulation) -> None:
        self._control, self._world = control, world
        self._control_task = LIBERO_WORLD.task(control)
        self._images: dict[tuple[str, bool], np.ndarray] = {}

    def render(self, spec: EpisodeSpec) -> ConditionImages:
        """Render a condition beside the control, or the control itself from both cameras."""
        senses = any(isinstance(change, Sense) for change in spec.perturbations)
        moves_other_camera = any(
            isinstance(change, MoveCamera) and change.camera not in MAIN_CAMERAS
            for change in spec.perturbations
        )
        cameras = CAMERAS if senses or moves_other_camera else MAIN_CAMERAS
        try:
            task = LIBERO_WORLD.task(spec)
            text = task.instruction.text
            if spec.condition == CONTROL:
                both = tuple(self._control_image(camera, moving=False) for camera in CAMERAS)
                return ConditionImages(spec, text, (both,))
            control = [self._control_image(camera, moving=senses) for camera in cameras]
            is_visible = senses or task.scene != self._control_task.scene
            images = self._render(spec, task, cameras, moving=senses) if is_visible else control
            return ConditionImages(spec, text, tuple(zip(control, images, strict=True)))
        except AssayError as error:
            return ConditionImages(spec, f"not possible: {error}", ())

    def _control_image(self, camera: str, *, moving: bool) -> np.ndarray:
        if (camera, moving) not in self._images:
            images = self._render(self._control, self._control_task, CAMERAS, moving=moving)
            self._images |= {(name, moving): image for name, image in zip(CAMERAS, images, strict=True)}
        return self._images[camera, moving]

    def _render(
        self, spec: EpisodeSpec, task: Task, cameras: Sequence[str], *, moving: bool
    ) -> list[np.ndarray]:
        """Render the observation at the start or, if ``moving``, after `MOTION_STEPS` steps."""
        is_same = task.scene == self._control_task.scene
        with nullcontext(self._world) if is_same else open_scene(task.scene, spec.pack) as world:
            senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
            observation = senses.observe(world.reset(world.sample(spec.world_seed)))
            for _ in range(MOTION_STEPS if moving else 0):
                observation = senses.observe(world.step(senses.act(MOTION, world.steps)))
            return [observation.image(camera, SIZE) for camera in cameras]
