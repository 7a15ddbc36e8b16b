"""Reader of the logs that LIBERO-Para's evaluation scripts write.

    MODEL/seed7/eval0.json          the episodes of one task, with trajectories unless these were removed
    MODEL/seed7/eval_unknown.json   those of ``--mode original``: LIBERO-Goal's unperturbed tasks
    MODEL/seed7/meta.json           the model and its settings (optional)

``eval`` counts the tasks of LIBERO-Goal in alphabetical order of their files. With a single seed the seed's folder may
be missing; ``meta.json`` then has the seed.

Every published script logs one row of ``proprio_states`` before each action: the end effector's position (metres, x,
y, z), its orientation (axis times angle) and the positions of both fingers (metres; the second one is negative). The
paper has one number for the gripper instead, which is taken as the distance between the fingers. ``actions`` are the
executed actions.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from assay.episodes.episode import Trajectory, no_trajectory
from assay.tasks.formats.libero_para import Types, reason, types_of
from assay.tasks.formats.release import ReleaseError, text_of

MAX_BYTES = 1_000_000_000
"""Maximum size of one log; those of 4,092 episodes of 300 steps have 70 million bytes."""
STATE_SIZES = (7, 8)
"""Valid lengths of a row of ``proprio_states``."""
ACTION_SIZE = 7
_LOGS = "eval*.json"
UNKNOWN = "unknown"
"""Type of an original instruction in the logs; also the name of a model that no file names."""
T = TypeVar("T")
Rows = list[list[float]]


@dataclass(frozen=True, slots=True)
class LoggedEpisode:
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
    """(num_steps, 7); empty if they were removed from the log."""
    proprio_states: Rows = field(default_factory=list, repr=False)
    """(num_steps, 7 or 8); empty if they were removed."""
    action_chunk_boundaries: list[int] | None = field(default=None, repr=False)
    """The steps at which the policy was called."""

    @property
    def is_original(self) -> bool:
        """Whether the episode is of ``--mode original``, without a paraphrase."""
        return self.paraphrase_type == UNKNOWN and not self.categories

    @property
    def types(self) -> Types:
        """The paraphrase's types. Raises ReleaseError for an unknown combination."""
        official = self.paraphrase_type, "+".join(self.categories), "+".join(self.subcategories)
        return types_of(official, self.bddl_file)

    def trajectory(self) -> Trajectory:
        """The logged trajectory; missing parts are empty. Raises ReleaseError for invalid shapes.

        A state is logged before each action and none after the last, so there are as many states as actions.
        """
        empty = no_trajectory(ACTION_SIZE)
        path, gripper, actions = empty.end_effector, empty.gripper, empty.actions
        if self.proprio_states:
            states = self._array("proprio_states", self.proprio_states, STATE_SIZES)
            path = states[:, :3]
            gripper = states[:, 6] - states[:, 7] if states.shape[1] == STATE_SIZES[-1] else states[:, 6]
        if self.actions:
            actions = self._array("actions", self.actions, (ACTION_SIZE,))
        return Trajectory(path, gripper, actions)

    def _array(self, name: str, rows: Rows, widths: tuple[int, ...]) -> np.ndarray:
        with suppress(ValueError):  # rows of different lengths
            array = np.array(rows, np.float32)
            if len(array) == self.num_steps and array.shape[1] in widths:
                return array
        lengths = " or ".join(map(str, sorted({len(row) for row in rows})))
        raise ReleaseError(
            f"{name}: has {len(rows)} rows of {lengths} numbers; valid: num_steps = {self.num_steps} rows of "
            f"{' or '.join(map(str, widths))}"
        )


@dataclass(frozen=True, slots=True)
class ParaSettings:
    """Settings of one evaluation."""

    model_name: str = UNKNOWN
    seed: int | None = None
    max_steps: int | None = None
    replan_steps: int | None = None
    control_mode: str = ""
    """``absolute`` if actions are target poses (X-VLA's script); otherwise they are pose changes."""
    total_tasks: int = 0
    """Episodes of the whole evaluation."""
    timestamp: str = ""
    """Start time."""


@dataclass(frozen=True, slots=True)
class ParaLog:
    """The episodes of one task and seed; of all tasks in a log of ``--mode original``."""

    eval_id: int
    episodes: tuple[LoggedEpisode, ...]


def find_models(folder: Path) -> dict[str, Path]:
    """Folders of models' logs by name: this folder, or those in it. Raises ReleaseError if there are none."""
    candidates = (folder, *sorted(path for path in folder.glob("*") if path.is_dir()))
    models = [candidate for candidate in candidates if _seed_folders(candidate)]
    if not models:
        raise ReleaseError(
            f"{folder}: there is no seed*/{_LOGS} in it or in its subfolders; valid: a folder of LIBERO-Para's logs"
        )
    if models[0] == folder:
        models = models[:1]
    return {model.resolve().name: model for model in models}


def read_logs(folder: Path) -> Iterator[tuple[Path, int, ParaSettings, ParaLog]]:
    """File, seed, settings and episodes of each log of a model. Raises ReleaseError for an invalid log."""
    for seed_folder in _seed_folders(folder):
        metadata = seed_folder / "meta.json"
        settings = _read(metadata, ParaSettings) if metadata.is_file() else ParaSettings()
        seed = settings.seed
        if (name := re.fullmatch(r"seed(\d+)", seed_folder.name)) is not None:
            seed = int(name[1])
        if seed is None:
            raise ReleaseError(
                f"{seed_folder}: neither its name nor a meta.json in it gives the seed; valid: a folder named seed7, ..."
            )
        for file in sorted(seed_folder.glob(_LOGS)):
            yield file, seed, settings, _read(file, ParaLog)


def _seed_folders(folder: Path) -> list[Path]:
    if any(folder.glob(_LOGS)):
        return [folder]
    return sorted({file.parent for file in folder.glob(f"seed*/{_LOGS}")})


def _read(file: Path, kind: type[T]) -> T:
    text = text_of(file, most=MAX_BYTES)
    # Collecting garbage among the hundreds of thousands of lists of a log takes as long as reading them.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        raise ReleaseError(f"{file}: not a log of LIBERO-Para: {reason(error)}") from None
    finally:
        if was_enabled:
            gc.enable()
