"""The tabletop as a world: its tasks and their episodes. Each action is a complete motion between two poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from assay.episodes import (
    Env,
    Episode,
    EpisodeSpec,
    Outcome,
    Perturbation,
    Policy,
    Record,
    Traits,
    Trajectory,
    World,
    apply_perturbations,
    rollout,
)
from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.tasks import ENTRIES, KINDS, PREFIX, TableEntry, make, table_entry
from assay.extensions.tabletop.tasks.task import Level, Setting, TableTask
from assay.extensions.tabletop.world.goals import TableGoalProgress
from assay.extensions.tabletop.world.model import VIEWS
from assay.extensions.tabletop.world.observation import (
    PAPER,
    TableObservation,
    TableRenderer,
    draw_prompt,
    render_picture,
)
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.simulation import ACTION_SIZE, TableSimulation

PACK = "tabletop"
"""Name used in place of an asset pack; shapes and textures are generated procedurally."""
START_XY = (0.5, 0.0)
"""First point (x, y) of every recorded trajectory: the centre of the table, in metres."""
MOVED_DISTANCE = 0.02
"""Minimum displacement at which an object counts as moved, in metres."""
FRAME_WIDTH = 512
"""Width of each view in a video, in pixels."""
FRAME_MARGIN = 12


class TabletopWorld(World):
    """Seventeen kinds of task with multimodal prompts."""

    traits = Traits(
        PACK,
        continuous=False,
        start_columns=("instruction", "best"),
        auditors=(("oracle", ""), ("promptblind", "words")),
    )
    action_size = ACTION_SIZE
    cameras = VIEWS
    frame_seconds = 1.0
    packs = (PACK,)

    def select(self, selection: str) -> tuple[TableEntry, ...]:
        """Return the selected tasks without duplicates, level by level.

        A selection is ``all``, or comma-separated kinds, levels and ids: ``T1,L4,T2/L3``; ids with or without
        ``tabletop/``. Raises TaskError with the nearest name for anything unknown.
        """
        chosen: set[TableEntry] = set()
        for name in filter(None, map(str.strip, selection.split(","))):
            short, groups = name.removeprefix(PREFIX), ("all", *Level, *KINDS)
            if short in groups:
                chosen |= {entry for entry in ENTRIES.values() if short in ("all", entry.kind, entry.level)}
            elif "/" in short:
                chosen.add(table_entry(name))
            else:
                raise TaskError(f"unknown tabletop task '{name}': {did_you_mean(name, groups)}")
        if not chosen:
            raise TaskError(
                f"'{selection}' selects no tabletop tasks; choose from all, {', '.join(Level)}, T1 to T17, "
                "or ids such as T1/L3"
            )
        return tuple(entry for entry in ENTRIES.values() if entry in chosen)

    def task(self, spec: EpisodeSpec) -> TableTask:
        """Return the task of an episode with its perturbations applied."""
        entry = table_entry(spec.task)
        drawn = make(Setting(entry.kind, spec.world_seed, entry.level))
        return apply_perturbations(drawn, spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """Return the maximum number of actions of an episode."""
        return self.task(spec).most if spec.steps is None else spec.steps

    def open(self, states: Path | None = None) -> TableEnv:
        """Open an environment."""
        return TableEnv()


TABLETOP_WORLD = TabletopWorld()


class TableEnv(Env):
    """Tabletop environment; with ``task``, every episode runs this task instead of the one in its spec."""

    world = TABLETOP_WORLD
    simulation: TableSimulation
    task: TableTask

    def __init__(self, task: TableTask | None = None) -> None:
        self._fixed_task = task

    def reset(self, spec: EpisodeSpec) -> TableObservation:
        """Build the table and let all objects come to rest."""
        self.task = self._fixed_task or TABLETOP_WORLD.task(spec)
        self.simulation = TableSimulation(self.task.scene)
        self.progress = TableGoalProgress(self.task.goal, self.task.scene)
        self.held: list[str] = []
        """Name of the item carried by each action; empty if none was carried."""
        self.mistakes: list[str] = []
        """Mistake made by each action; empty for none."""
        self._moved: str | None = None
        self._start = self.simulation.poses()[:, :2]
        self._releases = [START_XY]
        self._rendered = TableRenderer.shared().count
        return self.simulation.observe()

    @property
    def images(self) -> int:
        """The number of images rendered since the reset."""
        return TableRenderer.shared().count - self._rendered

    def step(self, action: np.ndarray) -> TableObservation:
        """Execute one action, (12,), and return the observation."""
        report = self.simulation.step(action)
        items = self.task.scene.items
        self.held.append(items[report.held].name if report.held >= 0 else "")
        self.mistakes.append(self.progress.update(report.trail).mistake)
        self._releases.append((float(action[6]), float(action[7])))
        if self._moved is None:
            distances = np.linalg.norm(self.simulation.poses()[:, :2] - self._start, axis=1)
            self._moved = items[int(distances.argmax())].name if distances.max() > MOVED_DISTANCE else None
        return self.simulation.observe()

    def succeeded(self) -> bool:
        """Return whether the task is solved."""
        return self.progress.verdict.success

    def record(self) -> Record:
        """Return each action's release position, the first object carried, the first moved, and all mistakes."""
        places = np.column_stack([self._releases, np.zeros(len(self._releases))]).astype(np.float32)
        path = Trajectory(places, np.zeros(len(places), np.float32), np.zeros((0, ACTION_SIZE), np.float32))
        return Record(
            path,
            touched=next((name for name in self.held if name), None),
            moved=self._moved,
            note=", ".join(dict.fromkeys(filter(None, self.mistakes))),
        )

    def frame(self, observation: TableObservation) -> np.ndarray:
        """Return a video frame: the prompt above all views of the table."""
        views = [Image.fromarray(observation.image(camera)) for camera in VIEWS]
        parts = [
            draw_prompt(self.task.prompt, FRAME_WIDTH),
            *(view.resize((FRAME_WIDTH, FRAME_WIDTH * view.height // view.width)) for view in views),
        ]
        frame = Image.new("RGB", (FRAME_WIDTH, sum(part.height + FRAME_MARGIN for part in parts)), PAPER)
        top = 0
        for part in parts:
            frame.paste(part, (0, top))
            top += part.height + FRAME_MARGIN
        return np.asarray(frame)


@dataclass(frozen=True, slots=True, eq=False)
class PlayedTable:
    """A finished episode and its environment."""

    episode: Episode
    env: TableEnv

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return self.episode.outcome is Outcome.SUCCESS

    @property
    def flawless(self) -> bool:
        """Whether the task was solved with the fewest actions."""
        return self.success and self.episode.steps <= self.env.task.best

    @property
    def actions(self) -> np.ndarray:
        """The executed actions, (n, 12)."""
        return self.episode.trajectory.actions


def play(
    task: TableTask,
    policy: Policy,
    *,
    most: int | None = None,
    seed: int | None = None,
    perturbations: Sequence[Perturbation] = (),
) -> PlayedTable:
    """Run a policy on a task for at most ``most`` actions; ``perturbations`` change its observations."""
    env, seed = TableEnv(task), task.setting.seed if seed is None else seed
    spec = EpisodeSpec(task.id, seed, PACK, perturbations=tuple(perturbations), steps=most or task.most)
    return PlayedTable(rollout(env, policy, spec), env)


def experiment_sheet(
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> list[str]:
    """Draw a PNG with the prompt of each episode and the table before and after the oracle's actions.

    Returns an empty list of errors, because every tabletop episode can be drawn.
    """
    from assay.report.sheets import SheetCell, save_sheet

    cells = []
    for spec in specs:
        on_condition(f"{spec.task} {spec.condition}")
        task = TABLETOP_WORLD.task(spec)
        played = play(task, TableOracle())
        outcome = "solved" if played.success else "NOT solved"
        ending = f"{outcome} in {len(played.actions)} actions (minimum: {task.best})"
        pictures = [render_picture(picture)["top"][0] for _, picture in task.prompt.pictures]
        tables = (TableSimulation(task.scene).observe(), played.env.simulation.observe())
        views = [table.image(camera) for table in tables for camera in VIEWS]
        lines = [task.prompt.text, f"Images in the prompt; start (front, top); end (front, top): {ending}"]
        rows = [pictures[first : first + len(views)] for first in range(0, len(pictures), len(views))]
        cells.append(SheetCell(f"{spec.task}  {spec.condition}", lines, [*rows, views]))
    save_sheet(path, "Tabletop tasks", cells, columns=1)
    return []
