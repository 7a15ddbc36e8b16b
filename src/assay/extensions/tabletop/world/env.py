"""The tabletop as a world: its tasks, and episodes of them. An action is a whole motion from pose to pose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

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
from assay.extensions.tabletop.tasks import KINDS, PREFIX, TableEntry, make, table_entry, table_ids
from assay.extensions.tabletop.tasks.task import Level, TableTask
from assay.extensions.tabletop.world.goals import TableGoalProgress
from assay.extensions.tabletop.world.model import VIEWS
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.render import INK, LINE, PAPER, WIDTH, TableRenderer, draw_prompt
from assay.extensions.tabletop.world.simulation import ACTION_SIZE, ActionEffect, TableSimulation
from assay.support.images import save_stacked

PACK = "tabletop"
"""What stands in place of an asset pack: shapes and textures are made by arithmetic."""
START_XY = (0.5, 0.0)
"""Where a trajectory begins: the middle of the table, metres."""
MOVED_DISTANCE = 0.02
"""How far an object must go to have moved, metres."""
FRAME_WIDTH = 512
"""Of each view in a video, pixels."""
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
        """Return the tasks that a selection names, each once, level by level.

        A selection is ``all``, or comma-separated kinds, levels and ids: ``T1,L4,T2/L3``; ids with or without
        ``tabletop/``. Raises TaskError with the nearest name for anything unknown.
        """
        every = [table_entry(task_id) for task_id in table_ids()]
        chosen: set[TableEntry] = set()
        for name in (part.strip() for part in selection.split(",") if part.strip()):
            short = name.removeprefix(PREFIX)
            matches = {
                entry
                for entry in every
                if short in ("all", entry.kind, entry.level, entry.id.removeprefix(PREFIX))
            }
            if not matches:
                if "/" in short:
                    table_entry(name)
                near = did_you_mean(name, ["all", *Level, *KINDS])
                raise TaskError(f"there is no tabletop task '{name}' (kinds, levels, ids as T1/L1): {near}")
            chosen |= matches
        if not chosen:
            raise TaskError(
                f"'{selection}' selects no tabletop task: valid: all, {', '.join(Level)}, T1 to T17"
            )
        return tuple(entry for entry in every if entry in chosen)

    def task(self, spec: EpisodeSpec) -> TableTask:
        """The task of an episode as the policy is given it."""
        drawn = make(table_entry(spec.task).setting(spec.world_seed))
        return apply_perturbations(drawn, spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """The most actions of an episode."""
        return self.task(spec).most if spec.steps is None else spec.steps

    def open(self, states: Path | None = None) -> TableEnv:
        """An environment."""
        return TableEnv()


TABLETOP_WORLD = TabletopWorld()


class TableEnv(Env):
    """Runs episodes on the table, all of one ``task`` if given. Building a table takes milliseconds."""

    world = TABLETOP_WORLD
    simulation: TableSimulation
    task: TableTask

    def __init__(self, task: TableTask | None = None) -> None:
        self._given = task

    def reset(self, spec: EpisodeSpec) -> TableObservation:
        """Set the table and let everything come to rest."""
        self.task = self._given or TABLETOP_WORLD.task(spec)
        self.simulation = TableSimulation(self.task.scene)
        self.progress = TableGoalProgress(self.task.goal, self.task.scene)
        self.effects: list[ActionEffect] = []
        """What became of each action."""
        self.held: list[str] = []
        """What each action carried, by name; empty texts for nothing."""
        self.mistakes: list[str] = []
        """What was wrong after each action; empty texts where nothing was."""
        self._moved: str | None = None
        self._start = self.simulation.poses()[:, :2]
        self._places = [START_XY]
        self._rendered = TableRenderer.shared().count
        return self.simulation.observe()

    @property
    def steps(self) -> int:
        """Actions since the reset."""
        return len(self.effects)

    @property
    def images(self) -> int:
        """How many images were rendered since the reset."""
        return TableRenderer.shared().count - self._rendered

    def step(self, action: np.ndarray) -> TableObservation:
        """Carry out one action, (12,)."""
        report = self.simulation.step(action)
        items = self.task.scene.items
        self.effects.append(report.effect)
        self.held.append(items[report.held].name if report.held >= 0 else "")
        self.mistakes.append(self.progress.update(report.trail).mistake)
        self._places.append((float(action[6]), float(action[7])))
        if self._moved is None:
            gone = np.linalg.norm(self.simulation.poses()[:, :2] - self._start, axis=1)
            self._moved = items[int(gone.argmax())].name if gone.max() > MOVED_DISTANCE else None
        return self.simulation.observe()

    def succeeded(self) -> bool:
        """Whether the task is done."""
        return self.progress.verdict.success

    def record(self) -> Record:
        """Where each action let go, what was carried and moved first, and what was wrong."""
        places = np.column_stack([self._places, np.zeros(len(self._places))]).astype(np.float32)
        path = Trajectory(places, np.zeros(len(places), np.float32), np.zeros((0, ACTION_SIZE), np.float32))
        return Record(
            path,
            touched=next((name for name in self.held if name), None),
            moved=self._moved,
            note=", ".join(dict.fromkeys(filter(None, self.mistakes))),
        )

    def frame(self, observation: TableObservation) -> np.ndarray:
        """The prompt, and the table from all sides below it."""
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
    """One episode on the table with all that the table knows of it."""

    episode: Episode
    env: TableEnv

    @property
    def success(self) -> bool:
        """Whether the task was done."""
        return self.episode.outcome is Outcome.SUCCESS

    @property
    def flawless(self) -> bool:
        """Whether it was done with the fewest actions."""
        return self.success and self.episode.steps <= self.env.task.best

    @property
    def actions(self) -> np.ndarray:
        """All that were carried out, (n, 12)."""
        return self.episode.trajectory.actions


def play(
    task: TableTask,
    policy: Policy,
    *,
    most: int | None = None,
    seed: int | None = None,
    perturbations: Sequence[Perturbation] = (),
) -> PlayedTable:
    """Run a policy on a task with at most ``most`` actions; senses among ``perturbations`` are applied."""
    env = TableEnv(task)
    spec = EpisodeSpec(
        task.id,
        task.setting.seed if seed is None else seed,
        PACK,
        perturbations=tuple(perturbations),
        steps=most or task.most,
    )
    return PlayedTable(rollout(env, policy, spec), env)


_GOOD, _BAD = (30, 120, 50), (190, 40, 40)
_MARGIN = 14
_PROMPT_WIDTH = 900
"""Pixels that a prompt may be wide."""


def save_table_sheet(path: Path, titled: Iterable[tuple[str, TableTask]]) -> Path:
    """Write the sheet as a PNG: a row for each task, below its title."""
    return save_stacked(path, (_row(title, task) for title, task in titled), PAPER)


def experiment_sheet(
    path: Path, specs: Sequence[EpisodeSpec], on_condition: Callable[[str], None] = lambda name: None
) -> list[str]:
    """Draw what some episodes look like; returns why some cannot be drawn: none."""

    def rows() -> Iterator[tuple[str, TableTask]]:
        for spec in specs:
            on_condition(f"{spec.task} {spec.condition}")
            yield f"{spec.task}  {spec.condition}", TABLETOP_WORLD.task(spec)

    save_table_sheet(path, rows())
    return []


def _row(title: str, task: TableTask) -> Image.Image:
    start = _both(TableSimulation(task.scene).observe())
    played = play(task, TableOracle())
    end = _both(played.env.simulation.observe())
    prompt = draw_prompt(task.prompt, _PROMPT_WIDTH)
    height = max(prompt.height, start.shape[0]) + 2 * LINE + _MARGIN
    row = Image.new("RGB", (_PROMPT_WIDTH + 2 * WIDTH + 4 * _MARGIN, height), PAPER)
    pen = ImageDraw.Draw(row)
    pen.text((_MARGIN, 4), title, INK, ImageFont.load_default(16))
    caption = f"{'solved' if played.success else 'NOT solved'} in {len(played.actions)}, fewest {task.best}"
    if set(played.env.effects) == {ActionEffect.NOTHING}:
        caption = "nothing was done"
    left = _PROMPT_WIDTH + 2 * _MARGIN
    pen.text((left, 4), "start: front, top", INK, ImageFont.load_default(13))
    pen.text(
        (left + WIDTH + _MARGIN, 4), caption, _GOOD if played.success else _BAD, ImageFont.load_default(13)
    )
    row.paste(prompt, (_MARGIN, 2 * LINE))
    row.paste(Image.fromarray(start), (left, LINE + 4))
    row.paste(Image.fromarray(end), (left + WIDTH + _MARGIN, LINE + 4))
    return row


def _both(observation: TableObservation) -> np.ndarray:
    return np.vstack([observation.image(camera) for camera in VIEWS])
