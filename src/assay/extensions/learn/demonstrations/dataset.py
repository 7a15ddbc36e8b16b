"""Demonstrations as a LeRobotDataset with an additional file, ``meta/assay.json``.

That file holds the asset pack, the image size and orientation, the recipe, and the failed attempts. A folder can be
extended and survives interruption at any time:

    .staged/NAME/    one complete attempt: a small dataset
    .next/           the complete dataset while it is being written
    .ready/          the complete dataset that replaces the old one; the next process completes an interrupted exchange
    meta/ data/ videos/

Each folder is created atomically by renaming. Staged attempts are merged in the order of tasks and seeds, so
interruptions do not change the result.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome, apply_perturbations
from assay.errors import DemonstrationError, one_line
from assay.perturb.world.position import Relocate
from assay.sim.packs.registry import planned_on
from assay.support.files import file_lock
from assay.support.images import Orientation
from assay.support.video import FPS, Clip
from assay.tasks import Task, short_name
from assay.tasks.formats import lerobot_writer
from assay.tasks.formats.lerobot import BROKEN, CAMERAS, INFO, VECTORS
from assay.tasks.formats.lerobot_writer import RecordedEpisode
from assay.tasks.formats.parquet import read_parquet

OURS = "meta/assay.json"
T = TypeVar("T", "RecordedEpisode", "FailedAttempt")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe for varying demonstrations; by default, they are not varied."""

    noise: float = 0.0
    """Standard deviation of the disturbance added to the oracle's actions, which are in [-1, 1].

    The disturbed action is executed and the undisturbed one is recorded, so that demonstrations show how to recover
    (after DART, Laskey et al. 2017).
    """
    starts: int = 0
    """Number of distinct initial states, which the seeds use in turn; 0 for one per seed."""
    relocate: float = 0.0
    """Displacement of objects as a fraction of the distance to their nearest neighbour; 0 for none."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise <= 1.0:
            raise DemonstrationError(f"--noise {self.noise:g}: expected a number from 0 to 1")
        if not (self.relocate == 0.0 or 0.05 <= self.relocate <= 2.0):
            raise DemonstrationError(f"--relocate {self.relocate:g}: expected 0, or a number from 0.05 to 2")
        if self.starts < 0 or (self.starts and not self.noise):
            raise DemonstrationError(
                f"--starts {self.starts}: also set --noise, or episodes with the same initial state would be identical"
            )

    def __str__(self) -> str:
        return " ".join(f"--{name} {value:g}" for name, value in asdict(self).items() if value)

    def spec(self, task: str, seed: int, pack: str, first_seed: int) -> EpisodeSpec:
        """Return the spec of the episode with a given seed; initial states are counted from ``first_seed``."""
        changes = (Relocate(self.relocate),) if self.relocate else ()
        start = first_seed + (seed - first_seed) % self.starts if self.starts else None
        return EpisodeSpec(task, seed, pack, perturbations=changes, start=start)

    def task(self, task: Task, spec: EpisodeSpec) -> Task:
        """Return the task of an episode with its objects relocated. Raises PerturbationError if this fails."""
        with planned_on(spec.pack):
            return apply_perturbations(task, spec.perturbations, seed=spec.world_seed)


PLAIN = Recipe()
"""Default recipe: the oracle's actions are not disturbed, and each seed has its own initial state."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that is not recorded as an episode because the oracle failed."""

    task: str
    """The task's id."""
    seed: int
    outcome: Outcome
    steps: int
    reason: str


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Demonstrations with the same asset pack, image size and orientation, sorted by task and seed."""

    pack: str
    """Name of the asset pack."""
    size: int
    """Height and width of the images, in pixels."""
    episodes: tuple[RecordedEpisode, ...] = ()
    left_out: tuple[FailedAttempt, ...] = ()
    recipe: Recipe = PLAIN
    orientation: Orientation = Orientation.ROTATED

    def __str__(self) -> str:
        options = f"--assets {self.pack} --size {self.size} --orientation {self.orientation}"
        return f"{options} {self.recipe}".strip()

    def seeds(self, task: str) -> frozenset[int]:
        """Return the seeds of the recorded episodes of a task."""
        return frozenset(episode.seed for episode in self.episodes if episode.task == task)

    def merge(self, others: Iterable[Demonstrations]) -> Demonstrations:
        """Return the union with other demonstrations of the same kind, without duplicate attempts."""
        parts = (self, *others)
        return replace(
            self,
            episodes=_sort(episode for part in parts for episode in part.episodes),
            left_out=_sort(attempt for part in parts for attempt in part.left_out),
        )


def _sort(attempts: Iterable[T]) -> tuple[T, ...]:
    place = {task: number for number, task in enumerate(tasks.built_in_ids())}
    last = len(place)
    unique = {(place.get(attempt.task, last), attempt.task, attempt.seed): attempt for attempt in attempts}
    return tuple(unique[key] for key in sorted(unique))


def write(
    folder: Path, demonstrations: Demonstrations, *, max_frames: int = lerobot_writer.MAX_FRAMES_PER_FILE
) -> None:
    """Write demonstrations to a new folder; if there are no episodes, write only the failed attempts."""
    if demonstrations.episodes:
        lerobot_writer.write_dataset(
            folder,
            demonstrations.episodes,
            pack=demonstrations.pack,
            size=demonstrations.size,
            orientation=demonstrations.orientation,
            max_frames=max_frames,
        )
    ours = {
        "pack": demonstrations.pack,
        "size": demonstrations.size,
        "orientation": demonstrations.orientation.value,
        "recipe": asdict(demonstrations.recipe),
        "left_out": [asdict(attempt) for attempt in demonstrations.left_out],
    }
    lerobot_writer.write_json(folder / OURS, ours)


def read(folder: Path) -> Demonstrations:
    """Read a folder written by `write`. Raises DemonstrationError for any other folder."""
    try:
        ours = json.loads((folder / OURS).read_text())
        left_out = tuple(
            FailedAttempt(**attempt | {"outcome": Outcome(attempt["outcome"])})
            for attempt in ours["left_out"]
        )
        episodes = tuple(_read_episodes(folder)) if (folder / INFO).exists() else ()
        recipe, orientation = Recipe(**ours["recipe"]), Orientation(ours["orientation"])
        return Demonstrations(ours["pack"], ours["size"], episodes, left_out, recipe, orientation)
    except BROKEN as error:
        reason = one_line(error)
        raise DemonstrationError(
            f"{folder} is not a dataset written by assay collect, or is damaged ({reason})"
        ) from error


def _read_episodes(folder: Path) -> Iterator[RecordedEpisode]:
    data = read_parquet(folder / "data/*/*.parquet", ["index", *VECTORS]).sort("index").select(*VECTORS)
    for row in read_parquet(folder / "meta/episodes/*/*.parquet").iter_rows(named=True):
        clips, stats = {}, {}
        for key in CAMERAS:
            place = {name: row[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index")}
            path = folder / lerobot_writer.VIDEO.format(video_key=key, **place)
            clips[key] = Clip(path, round(row[f"videos/{key}/from_timestamp"] * FPS), row["length"])
            stats[key] = {name: np.array(row[f"stats/{key}/{name}"]) for name in lerobot_writer.STATISTICS}
        yield RecordedEpisode(
            task=row["assay/task"],
            seed=row["assay/seed"],
            instruction=row["tasks"][0],
            frames=data.slice(row["dataset_from_index"], row["length"]),
            clips=clips,
            image_stats=stats,
        )


_PARTS = ("data", "videos", "meta")
_OURS = (".staged", ".next", ".ready", ".scratch", ".lock")


class DemonstrationFolder:
    """A dataset folder to which attempts are added."""

    def __init__(self, root: Path, kind: Demonstrations) -> None:
        """Open a dataset folder.

        ``kind`` is a `Demonstrations` without episodes that specifies pack, image size, orientation and recipe.
        """
        self.root = root
        self._staged, self._next, self._ready = root / ".staged", root / ".next", root / ".ready"
        if self._ready.exists():
            self._exchange()
        _remove(self._next)
        _remove(self.scratch)
        places = [root] if (root / OURS).exists() else []
        if not places and root.is_dir() and any(path.name not in _OURS for path in root.iterdir()):
            raise DemonstrationError(
                f"{root} contains files not written by assay collect; choose another folder"
            )
        places += sorted(self._staged.iterdir()) if self._staged.exists() else []
        parts = [read(place) for place in places]
        for part in parts:
            if str(part) != str(kind):
                raise DemonstrationError(
                    f"{root} contains demonstrations with {part}, not {kind}; use its options or another folder"
                )
        self.demonstrations = kind.merge(parts)
        """All attempts in the folder, staged or merged."""

    @property
    def scratch(self) -> Path:
        """A folder for temporary files."""
        return self.root / ".scratch"

    def add(self, attempt: RecordedEpisode | FailedAttempt) -> None:
        """Stage one attempt; it is stored on disk when this method returns."""
        demonstrations = self.demonstrations
        if isinstance(attempt, RecordedEpisode):
            part = replace(demonstrations, episodes=(attempt,), left_out=())
        else:
            part = replace(demonstrations, episodes=(), left_out=(attempt,))
        place = self._staged / f"{short_name(attempt.task)}_{attempt.seed}"
        write(self.scratch / "staging", part)
        self._staged.mkdir(exist_ok=True)
        (self.scratch / "staging").rename(place)
        _remove(self.scratch)
        self.demonstrations = demonstrations.merge([read(place)])

    def finish(self) -> None:
        """Merge the staged attempts into the dataset."""
        if self._staged.exists():
            write(self._next, self.demonstrations)
            self._next.rename(self._ready)
            self._exchange()

    def _exchange(self) -> None:
        """Replace the old dataset with the new one. Safe to interrupt and repeat."""
        if (self._ready / "meta").exists():
            _remove(self.root / "meta")  # first out and last in: half an exchange is not taken for a dataset
        for name in _PARTS:
            if (self._ready / name).exists():
                _remove(self.root / name)
                (self._ready / name).rename(self.root / name)
        _remove(self._staged)
        self._ready.rmdir()


@contextmanager
def open_folder(root: Path, kind: Demonstrations) -> Iterator[DemonstrationFolder]:
    """Lock a folder for exclusive use by this process, creating it if necessary."""
    root.mkdir(parents=True, exist_ok=True)
    try:
        with file_lock(root / ".lock"):
            yield DemonstrationFolder(root, kind)
    except BlockingIOError:
        raise DemonstrationError(f"{root} is in use by another process") from None


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
