"""LIBERO-plus: its classification of ten thousand names, each decoded into what it does to a built-in task.

    ..._view_345_15_100_0_0_initstate_0             where the camera stands
    ..._view_0_0_100_0_0_initstate_17               how the arm starts
    ..._view_0_0_100_0_0_initstate_0_noise_42       what is done to the pictures
    ..._language_28_view_0_0_100_0_0_initstate_0    the words
    ..._add_3, ..._moved_level2_sample1             more things, things moved; by a task file
    ..._light_41, ..._table_9, ..._tb_20            light and textures; by a task file

What a policy is told is the built-in instruction, or that of the language task's file: never a name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from assay import tasks
from assay.episodes.spec import Label
from assay.errors import TaskError
from assay.experiments.base import Experiment, Variant
from assay.experiments.releases.base import Variants, release
from assay.perturb import Perturbation, Say
from assay.perturb.releases.senses import CAMERA, GaussianBlur, StartJoints, View
from assay.perturb.releases.values import FromFile, Unavailable
from assay.perturb.senses import Fog, GlassBlur, MotionBlur, ZoomBlur
from assay.perturb.senses.pictures import Severe
from assay.perturb.words.releases import ReleaseError, plus
from assay.perturb.words.releases.base import text_of
from assay.perturb.words.releases.plus import TASKS, Entry
from assay.tasks import Task

NOISE: tuple[tuple[str, Callable[..., Severe]], ...] = (
    ("motion blur", MotionBlur),
    ("Gaussian blur", GaussianBlur),
    ("zoom blur", ZoomBlur),
    ("fog", Fog),
    ("glass blur", GlassBlur),
)
"""Numbers 1-10 are the first in rising severity, 11-20 the second, and so on."""
SEVERITIES = 10
FILES = {
    "add": "more things",
    "level": "things moved",
    "light": "light",
    "table": "texture of the table",
    "tb": "textures of the room",
}
"""What a task file changes, by the suffix of its name."""
AXES = {"Language Instructions": "words", "Sensor Noise": "senses"}
"""Every other category changes the world."""
MIXED = "libero_mix"
JOINTS = "libero/libero/envs/robots/mounted_panda_variants.txt"
_SUFFIX = re.compile(
    r"(?:_language_(?P<language>\d+))?"
    r"(?:_view_(?P<view>\d+_\d+_\d+_\d+_\d+)_initstate_(?P<start>\d+)(?:_noise_(?P<noise>\d+))?"
    r"|_(?P<file>add|light|table|tb)_\d+|(?:_moved)?_(?P<moved>level)\d_sample\d+)?"
)
_START = re.compile(r"class \w+?(\d+)\(.*?np\.array\(\[(.*?)\]\)", re.DOTALL)


def libero_plus(folder: str = "") -> Experiment:
    """The classification in a checkout; task files and the table of joint angles are read from it too."""
    return release(
        "libero-plus",
        "LIBERO-plus as released: every name of its classification, decoded.",
        folder,
        _read,
        seeds=(0,),
    )


def _read(folder: Path) -> Variants:
    reader = _Reader(folder)
    variants: dict[str, list[Variant]] = defaultdict(list)
    for entry in plus.classified(folder):
        variants[entry.task].append(reader.variant(entry))
    return variants


class _Reader:
    """Decodes names with what else a checkout holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        places = (folder / place for place in TASKS)
        self._tasks = next((place for place in places if place.is_dir()), folder / TASKS[0])
        self._starts = cache(self._read_starts)

    def variant(self, entry: Entry) -> Variant:
        """What an entry does to its task."""
        match = _SUFFIX.fullmatch(entry.suffix)
        if match is None:
            raise ReleaseError(f"LIBERO-plus: nothing is known of '{entry.suffix}' in '{entry.name}'")
        changes = tuple(self._changes(entry, match))
        labels: dict[str, Label] = {
            "axis": AXES.get(entry.category, "world"),
            "plausible": True,
            "dimension": entry.category.lower(),
            "subdimension": " and ".join(name for name, _ in changes),
            "difficulty": entry.difficulty,
            "number": entry.id,
        }
        condition = f"libero-plus/{'-'.join(entry.category.lower().split())}"
        return Variant(condition, tuple(change for _, change in changes), labels)

    def _changes(self, entry: Entry, match: re.Match[str]) -> Iterator[tuple[str, Perturbation]]:
        """What a suffix says, in the order in which it is applied: the name of a change, and the change."""
        file = match["file"] or match["moved"]
        if file is not None:
            yield FILES[file], self._scene(entry)
        if match["language"] is not None:
            yield "rewording", self._words(entry)
        if match["view"] is not None:
            yield from _view(match["view"])
        if match["start"] is not None and int(match["start"]):
            yield "joint angles", self._start(int(match["start"]))
        if match["noise"] is not None:
            yield _noise(int(match["noise"]), entry)

    def _scene(self, entry: Entry) -> Perturbation:
        try:
            task = self._file(entry, entry.suffix)
        except TaskError as error:
            return Unavailable(str(error))
        if task.scene.style:
            return Unavailable("no asset pack offers the light or textures of its file", task.scene.style)
        return FromFile(task.id)

    def _words(self, entry: Entry) -> Perturbation:
        try:
            return Say(self._file(entry, f"_language_{entry.language}").instruction.text)
        except TaskError as error:
            return Unavailable(str(error))

    def _file(self, entry: Entry, suffix: str) -> Task:
        """The task file of an entry, in its suite's folder or in that of the mixed suite."""
        name = f"{entry.name.removesuffix(entry.suffix)}{suffix}.bddl"
        own, mixed = self._tasks / entry.suite / name, self._tasks / MIXED / name
        return tasks.load(str(mixed if mixed.is_file() and not own.is_file() else own))

    def _start(self, number: int) -> Perturbation:
        known = self._starts()
        if number not in known:
            return Unavailable(f"{self._folder / JOINTS}: has no joint angles of the start {number}")
        return StartJoints(known[number])

    def _read_starts(self) -> dict[int, tuple[float, ...]]:
        """The numbered starts: joint angles, radians. None where the table is not there."""
        file = self._folder / JOINTS
        if not file.is_file():
            return {}
        try:
            return {
                int(number): tuple(float(angle) for angle in angles.split(","))
                for number, angles in _START.findall(text_of(file))
            }
        except ValueError:
            raise ReleaseError(f"{file}: the joint angles are not all numbers") from None


def _view(text: str) -> Iterator[tuple[str, Perturbation]]:
    """Five numbers: degrees about the vertical and upward, per cent of the distance, degrees looked aside."""
    horizontal, vertical, distance, turn, tilt = (int(number) for number in text.split("_"))
    view = View(
        _signed(horizontal), _signed(vertical), distance / 100, turn=_signed(turn), tilt=_signed(tilt)
    )
    if view == View():
        return
    parts = {"place": horizontal or vertical, "distance": distance != 100, "direction": turn or tilt}
    yield " and ".join(f"camera {name}" for name, changed in parts.items() if changed), view


def _noise(number: int, entry: Entry) -> tuple[str, Perturbation]:
    kind, severity = divmod(number - 1, SEVERITIES)
    if not 0 <= kind < len(NOISE):
        raise ReleaseError(f"LIBERO-plus: there is no noise {number} in '{entry.name}'; valid: 1 to 50")
    name, made = NOISE[kind]
    return name, made(severity + 1, cameras=(CAMERA,))


def _signed(degrees: int) -> float:
    """345 degrees as -15."""
    return float((degrees + 180) % 360 - 180)
