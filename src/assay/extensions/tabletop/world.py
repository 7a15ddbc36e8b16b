"""The tabletop as a world: its tasks, and episodes of them. An action is a whole motion from pose to pose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from PIL import Image

from assay.episodes import (
    Episode,
    EpisodeSpec,
    Outcome,
    Perturbation,
    Policy,
    Record,
    Traits,
    Trajectory,
    apply_perturbations,
    rollout,
)
from assay.errors import AssetError
from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.goals import Progress
from assay.extensions.tabletop.observation import TableObservation
from assay.extensions.tabletop.pictures import PAPER, prompt_picture
from assay.extensions.tabletop.render import TableRenderer
from assay.extensions.tabletop.selection import TableEntry, resolve_tables, table_entry
from assay.extensions.tabletop.simulation import ACTION_SIZE, Effect, TableSimulation
from assay.extensions.tabletop.tasks import TableTask, make

PACK = "tabletop"
"""What stands in place of an asset pack: shapes and textures are made by arithmetic."""
START = (0.5, 0.0)
"""Where a trajectory begins: the middle of the table, metres."""
MOVED = 0.02
"""How far an object must go to have moved, metres."""
WIDTH = 512
"""Of each view in a video, pixels."""
MARGIN = 12


class TabletopWorld:
    """Seventeen kinds of task told in words and images."""

    traits = Traits(
        PACK,
        continuous=False,
        start_columns=("instruction", "best"),
        auditors=(("oracle", ""), ("promptblind", "words")),
    )
    action_size = ACTION_SIZE
    cameras = VIEWS
    frame_seconds = 1.0
    policies: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "oracle": "assay.extensions.tabletop.oracle:TableOracle",
            "promptblind": "assay.extensions.tabletop.policies.calibration:PromptBlind",
            "order-follower": "assay.extensions.tabletop.policies.calibration:OrderFollower",
            "first-object": "assay.extensions.tabletop.policies.calibration:FirstObject",
            "reader": "assay.extensions.tabletop.policies.reader.policy:PromptReader",
            "random": "assay.extensions.tabletop.policies.calibration:RandomPlaces",
            "vima": "assay.extensions.tabletop.policies.vima:VimaPolicy",
            "learned": "assay.extensions.tabletop.networks.policy:LearnedPolicy",
        }
    )
    servers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    disturbance = None
    packs = (PACK,)
    stored_states = None
    sheet = "assay.extensions.tabletop.sheet:experiment_sheet"

    def select(self, selection: str) -> tuple[TableEntry, ...]:
        """The tasks that a selection names. Raises TaskError that says what is valid."""
        return resolve_tables(selection)

    def task(self, spec: EpisodeSpec) -> TableTask:
        """The task of an episode as the policy is given it."""
        drawn = make(table_entry(spec.task).setting(spec.world_seed))
        return apply_perturbations(drawn, spec.perturbations, seed=spec.world_seed)

    def horizon(self, spec: EpisodeSpec) -> int:
        """The most actions of an episode."""
        return self.task(spec).most if spec.steps is None else spec.steps

    def pack_source(self, pack: str) -> None:
        """Nothing: there are no assets. Raises AssetError for the name of some."""
        if pack != PACK:
            raise AssetError(f"--assets {pack}: the tabletop has no asset packs")

    def digest(self, pack: str) -> str:
        """Nothing: there are no assets."""
        return ""

    def open(self, states: Path | None = None) -> TableEnv:
        """An environment."""
        return TableEnv()


TABLETOP_WORLD = TabletopWorld()


class TableEnv:
    """Plays episodes on the table; of one ``task``, if that is given. A table takes milliseconds to make."""

    world = TABLETOP_WORLD

    def __init__(self, task: TableTask | None = None) -> None:
        self._given = task

    def reset(self, spec: EpisodeSpec) -> TableObservation:
        """Set the table and let everything come to rest."""
        self.task = self._given or TABLETOP_WORLD.task(spec)
        self.simulation = TableSimulation(self.task.scene)
        self.progress = Progress(self.task.goal, self.task.scene)
        self.effects: list[Effect] = []
        """What became of each action."""
        self.held: list[str] = []
        """What each action carried, by name; empty texts for nothing."""
        self.mistakes: list[str] = []
        """What was wrong after each action; empty texts where nothing was."""
        self._moved: str | None = None
        self._start = self.simulation.poses()[:, :2]
        self._places = [START]
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
            self._moved = items[int(gone.argmax())].name if gone.max() > MOVED else None
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
            prompt_picture(self.task.prompt, WIDTH),
            *(each.resize((WIDTH, WIDTH * each.height // each.width)) for each in views),
        ]
        frame = Image.new("RGB", (WIDTH, sum(each.height + MARGIN for each in parts)), PAPER)
        top = 0
        for each in parts:
            frame.paste(each, (0, top))
            top += each.height + MARGIN
        return np.asarray(frame)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
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
) -> Played:
    """Let a policy do a task, in at most so many actions; senses among ``perturbations`` are applied."""
    env = TableEnv(task)
    spec = EpisodeSpec(
        task.id,
        task.setting.seed if seed is None else seed,
        PACK,
        perturbations=tuple(perturbations),
        steps=most or task.most,
    )
    return Played(rollout(env, policy, spec), env)
