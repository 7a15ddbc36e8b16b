"""The logs that LIBERO-Para's evaluation scripts write.

    MODEL/seed7/eval0.json          the episodes of one task, with trajectories unless these were taken out
    MODEL/seed7/eval_unknown.json   those of ``--mode original``: LIBERO-Goal's tasks as they are
    MODEL/seed7/meta.json           the model and its settings (optional)

``eval`` counts the tasks of LIBERO-Goal in alphabetical order of their files. The seeds' folders may be missing
where there is only one seed; ``meta.json`` then says which.

Every published script logs one row of ``proprio_states`` before each action: the end effector's position (metres, x,
y, z), its orientation (axis times angle) and the positions of both fingers (metres; the second one is negative). The
paper has one number for the gripper instead; it is then taken for the distance between the fingers. ``actions``
are what the environment was given.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from assay.episodes.episode import Trajectory, no_trajectory
from assay.tasks.formats import ReleaseError, text_of
from assay.tasks.formats.libero_para import Types, reason, types_of

MAX_BYTES = 1_000_000_000
"""Of one log; those of 4,092 episodes of 300 steps have 70 million each."""
STATES = (7, 8)
"""How many numbers a row of ``proprio_states`` may have."""
ACTION = 7
_LOGS = "eval*.json"
UNKNOWN = "unknown"
"""What the scripts call a type that is none, and we a model that no file names."""
T = TypeVar("T")
Rows = list[list[float]]


@dataclass(frozen=True, slots=True)
class Logged:
    """An episode in a log."""

    paraphrase_type: str
    categories: tuple[str, ...]
    subcategories: tuple[str, ...]
    variant_id: int
    paraphrased_instruction: str
    success: bool
    num_steps: Annotated[int, Field(ge=0)]
    bddl_file: str = ""
    actions: Rows = field(default_factory=list, repr=False)
    """(num_steps, 7); empty where they were taken out of the log."""
    proprio_states: Rows = field(default_factory=list, repr=False)
    """(num_steps, 8); likewise."""
    action_chunk_boundaries: list[int] | None = field(default=None, repr=False)
    """The steps at which the policy was asked."""

    @property
    def is_original(self) -> bool:
        """Whether it is of ``--mode original``: no paraphrase, but the task as it is."""
        return self.paraphrase_type == UNKNOWN and not self.categories

    @property
    def official(self) -> tuple[str, str, str]:
        """How it was made, in the release's words."""
        return self.paraphrase_type, "+".join(self.categories), "+".join(self.subcategories)

    @property
    def types(self) -> Types:
        """How it was made. Raises ReleaseError for what is no paraphrase."""
        return types_of(self.official, self.bddl_file)

    def trajectory(self) -> Trajectory:
        """Where the end effector went, as far as the log says. Raises ReleaseError for other shapes.

        A state is logged before each action and none after the last, so there are as many as actions.
        """
        nothing = no_trajectory(ACTION)
        hand, gripper, actions = nothing.end_effector, nothing.gripper, nothing.actions
        if self.proprio_states:
            states = self._array("proprio_states", self.proprio_states, STATES)
            hand = states[:, :3]
            gripper = states[:, 6] - states[:, 7] if states.shape[1] == STATES[-1] else states[:, 6]
        if self.actions:
            actions = self._array("actions", self.actions, (ACTION,))
        return Trajectory(hand, gripper, actions)

    def _array(self, name: str, rows: Rows, widths: tuple[int, ...]) -> np.ndarray:
        with suppress(ValueError):  # rows of several lengths
            array = np.array(rows, np.float32)
            if len(array) == self.num_steps and array.shape[1] in widths:
                return array
        lengths = " or ".join(map(str, sorted({len(row) for row in rows})))
        raise ReleaseError(
            f"{name}: has {len(rows)} rows of {lengths} numbers; valid: num_steps = {self.num_steps} rows of "
            f"{' or '.join(map(str, widths))}"
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """Of one evaluation."""

    model_name: str = UNKNOWN
    seed: int | None = None
    max_steps: int | None = None
    replan_steps: int | None = None
    control_mode: str = ""
    """``absolute`` where actions are poses to go to (X-VLA's script); else they are changes of the pose."""
    total_tasks: int = 0
    """Episodes of the whole evaluation."""
    timestamp: str = ""
    """When it began."""


@dataclass(frozen=True, slots=True)
class Log:
    """The episodes of one task with one seed; those of all tasks, if it is of ``--mode original``."""

    eval_id: int
    episodes: tuple[Logged, ...]


def models(folder: Path) -> dict[str, Path]:
    """The folders of models' logs: this one, or those in it; by name. Raises ReleaseError where there is none."""
    candidates = (folder, *sorted(each for each in folder.glob("*") if each.is_dir()))
    found = [candidate for candidate in candidates if _seed_folders(candidate)]
    if not found:
        raise ReleaseError(
            f"{folder}: there is no seed*/{_LOGS} in it, nor in a folder in it; valid: a folder of LIBERO-Para's logs"
        )
    chosen = found[:1] if found[0] == folder else found
    return {each.resolve().name: each for each in chosen}


def read_logs(folder: Path) -> Iterator[tuple[Path, int, Settings, Log]]:
    """The logs of a model: file, seed, settings, episodes. Raises ReleaseError where one makes no sense."""
    for seed_folder in _seed_folders(folder):
        about = seed_folder / "meta.json"
        settings = _read(about, Settings) if about.is_file() else Settings()
        seed = _seed(seed_folder, settings)
        for file in sorted(seed_folder.glob(_LOGS)):
            yield file, seed, settings, _read(file, Log)


def _seed_folders(folder: Path) -> list[Path]:
    if any(folder.glob(_LOGS)):
        return [folder]
    return sorted({file.parent for file in folder.glob(f"seed*/{_LOGS}")})


def _seed(folder: Path, settings: Settings) -> int:
    name = re.fullmatch(r"seed(\d+)", folder.name)
    if name is not None:
        return int(name[1])
    if settings.seed is None:
        raise ReleaseError(
            f"{folder}: neither its name nor a meta.json in it says the seed; valid: a folder called seed7, ..."
        )
    return settings.seed


def _read(file: Path, kind: type[T]) -> T:
    text = text_of(file, most=MAX_BYTES)
    try:
        with _uncollected():
            return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        raise ReleaseError(f"{file}: not a log of LIBERO-Para: {reason(error)}") from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage among the hundreds of thousands of lists of a log: it takes as long as to read them."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
