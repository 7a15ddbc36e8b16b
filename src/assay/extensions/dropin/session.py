"""The session of a script: settings from the command that started it, the files that scripts read, and the plan.

Task files and initial states are written on first use. A plan presents the episodes of an experiment as a LIBERO suite:
each condition of a task becomes a LIBERO task, and each seed an initial state.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import AssayError, AssetError, SpecError, StateError, TaskError
from assay.runs.plan import PlannedTask, planned_tasks
from assay.sim import CompiledScene, InitialState, compile_scene
from assay.sim.packs.locate import locate, locate_states
from assay.sim.packs.registry import load_pack
from assay.sim.placement import sample
from assay.support.files import cache_folder, replacing
from assay.support.trust import trust
from assay.tasks import Instruction, Task, short_name
from assay.tasks.catalogue import CatalogueEntry
from assay.tasks.formats.init_files import read_states

VARIABLE = "ASSAY_LIBERO_SESSION"
"""Environment variable with the path of the session file."""
PATH = Path(__file__).parent / "path"
"""Folder that comes first in the script's ``sys.path``."""
STATES = 50
"""Number of initial states that LIBERO stores for each task."""
BDDL, INIT = "bddl_files", "init_files"
_FOLDERS = {
    "benchmark_root": "",
    "bddl_files": BDDL,
    "init_states": INIT,
    "datasets": "datasets",
    "assets": "assets",
}
"""Key of LIBERO's path configuration -> folder below the session's folder."""


@dataclass(frozen=True, slots=True)
class DropinSession:
    """Settings of one invocation of ``assay libero``."""

    pack: str = "primitives"
    """Asset pack."""
    root: str = ""
    """Folder of task files and initial states; by default in the user's cache."""
    plan: str = ""
    """File with the episodes of an experiment; empty to use LIBERO's own tasks."""
    episodes: str = ""
    """Folder for recorded episodes."""
    states: str = ""
    """LIBERO's folder of stored initial states; empty if not specified."""

    @property
    def folder(self) -> Path:
        """Folder of task files and initial states."""
        return Path(self.root) if self.root else cache_folder() / "libero" / self.pack

    def write(self, file: Path) -> None:
        """Write the session file, which the script's processes read."""
        file.write_text(json.dumps(asdict(self)))


@cache
def session() -> DropinSession:
    """Return the session of this process; outside ``assay libero``: LIBERO's tasks and the built-in assets."""
    file = os.environ.get(VARIABLE)
    if not file:
        return replace(DropinSession(), pack=os.environ.get("ASSAY_ASSETS", "primitives"))
    try:
        content = DropinSession(**json.loads(Path(file).read_text()))
    except (OSError, ValueError, TypeError):
        raise SpecError(f"{VARIABLE}: {file} is not a session file of assay libero") from None
    trust(content.pack)  # the user named it in the command
    return content


def get_libero_path(query_key: str) -> str:
    """Return the folder for a key of LIBERO's path configuration, creating it if necessary."""
    if query_key not in _FOLDERS:
        raise AssertionError(f"Key {query_key} not found. Available keys are: {list(_FOLDERS)}")
    if query_key == "assets" and (libero := locate().libero):
        return str(libero)
    if query_key == "bddl_files" and not session().plan:  # with a plan, the command has written them
        for suite in tasks.suites():
            for name, entry in suite_entries(suite):
                task = entry.task
                if entry.file_wording is not None:  # some files are worded differently from the catalogue
                    task = replace(task, instruction=Instruction(entry.file_wording))
                write_task(session().folder / BDDL / suite / f"{name}.bddl", task)
    folder = session().folder / _FOLDERS[query_key]
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def get_default_path_dict(custom_location: str | None = None) -> dict[str, str]:
    """Return all folders of LIBERO's path configuration."""
    return {key: get_libero_path(key) for key in _FOLDERS}


def set_libero_default_path(custom_location: str | None = None) -> None:
    """Print that ``custom_location`` is ignored, because the folders are always Assay's."""
    print(f"assay libero: custom locations are ignored; the folders are in {session().folder}")


@cache
def suite_entries(suite: str) -> tuple[tuple[str, CatalogueEntry], ...]:
    """Return the tasks of a suite with the names of their files."""
    entries = [tasks.entry(task.id) for task in tasks.suite(suite)]
    return tuple((entry.file or entry.task.id.replace("/", "_"), entry) for entry in entries)


def write_task(file: Path, task: Task) -> None:
    """Write a task file unless it exists."""
    if not file.is_file():
        with replacing(file) as place:
            place.write_text(tasks.bddl.write(task, silent=True), encoding="utf-8")


def states_file(suite: str, name: str) -> Path:
    """Return the file of a task's initial states, which is written on first use.

    With LIBERO's assets, the states are LIBERO's own; otherwise, they are sampled.
    """
    file = session().folder / INIT / suite / f"{name}.pruned_init"
    if not file.is_file():
        states: np.ndarray | None = None
        if session().pack == "libero":
            with suppress(AssetError, FileNotFoundError):  # they may not be installed
                folder = locate_states(Path(session().states) if session().states else None) / suite
                stored = folder / file.name
                states = read_states(stored if stored.is_file() else stored.with_name(f"{file.name}.npz"))
        if states is None:
            scene = compile_task(dict(suite_entries(suite))[name].task)
            model = copy.copy(scene.model)
            states = np.array([InitialState(*sample(scene, seed, model)).flat() for seed in range(STATES)])
        write_states(file, states)
    return file


def compile_task(task: Task) -> CompiledScene:
    """Compile a task's scene with the session's assets."""
    return compile_scene(task.scene, load_pack(session().pack))


def write_states(file: Path, states: np.ndarray) -> None:
    """Write states (count, n) in LIBERO's format, which ``torch.load`` reads as a numpy array."""
    with replacing(file) as place, zipfile.ZipFile(place, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(states, protocol=2))
        archive.writestr("archive/version", "3\n")


MARK = -18_001.0
"""First value of every placeholder state, which identifies it as an episode of the plan."""
_PLACEHOLDER_SIZE = 8
EVERYWHERE = ""
"""Suite name of tasks that belong to no LIBERO suite and are added to every suite."""


@dataclass(frozen=True)
class SuiteTask:
    """One condition of one task, presented to a script as a LIBERO task."""

    suite: str
    name: str
    """Name of the task and stem of its file names."""
    language: str
    specs: tuple[str, ...]
    """Episode specs as JSON, one for each initial state."""
    numbers: tuple[int, ...]
    """Index of each spec's episode in the run."""

    @cached_property
    def task(self) -> Task:
        """Task of the first episode."""
        task: Task = task_of(self.spec(0))
        return task

    def spec(self, index: int) -> EpisodeSpec:
        """Return the spec of an episode by its index in this task."""
        return EpisodeSpec.from_json(self.specs[index])

    @property
    def states(self) -> np.ndarray:
        """Placeholders for the initial states, (episodes, 8)."""
        rows = np.zeros((len(self.specs), _PLACEHOLDER_SIZE))
        rows[:, 0] = MARK
        rows[:, 1] = np.arange(len(self.specs))
        return rows

    def find_episode(self, state: np.ndarray) -> int:
        """Return the index of the episode that a placeholder identifies. Raises StateError for any other state."""
        if len(state) != _PLACEHOLDER_SIZE or round(float(state[0])) != MARK:
            raise StateError(
                "with --experiment, initial states come from the experiment: pass to set_init_state a row of the "
                "array returned by get_task_init_states"
            )
        return int(state[1])


def group_specs(
    specs: Sequence[EpisodeSpec], waiting: Mapping[EpisodeSpec, int], *, each_a_task: bool = False
) -> list[SuiteTask]:
    """Group the pending specs of a run into LIBERO tasks, in plan order.

    With ``each_a_task``, or if the seeds of a condition differ in instruction or variant, each spec becomes a
    separate task. ``waiting`` maps the pending episodes to their numbers in the run. All tasks have the same
    number of initial states, because scripts run the same number of trials of every task: if some episodes are
    already recorded, the remaining ones are repeated.
    """
    groups = planned_tasks(specs)
    each_a_task = each_a_task or _varies_by_seed(groups)
    most = 1 if each_a_task else max((len(task.specs) for task in groups), default=0)
    suite_tasks = []
    for task in groups:
        left = [spec for spec in task.specs if spec in waiting]
        for part in [[spec] for spec in left] if each_a_task else [left] if left else []:
            suite, _, number = task.task.partition("/")
            if suite in tasks.suites():
                name = suite_entries(suite)[int(number)][0]
            else:
                suite, name = EVERYWHERE, short_name(task.task)
            if task.condition != CONTROL:
                name = f"{name}__{re.sub(r'[^A-Za-z0-9]+', '_', task.condition).strip('_')}"
            if task.variant > 1:
                name = f"{name}__{task.variant}"
            if each_a_task:
                name = f"{name}__seed_{part[0].seed}"
            repeated = list(islice(cycle(part), most))
            texts, numbers = (spec.to_json() for spec in repeated), (waiting[spec] for spec in repeated)
            suite_tasks.append(SuiteTask(suite, name, _words(part[0]) or "", tuple(texts), tuple(numbers)))
    return suite_tasks


def _varies_by_seed(groups: Iterable[PlannedTask]) -> bool:
    """Return whether the seeds of a condition differ in instruction or in the variant of the task."""
    seeds: dict[tuple[str, str], list[int]] = {}
    variants: dict[tuple[str, str], int] = {}
    for task in groups:
        if len({_words(spec) for spec in task.specs} - {None}) > 1:
            return True
        key = (task.condition, task.task)
        seeds[key] = seeds.get(key, []) + [spec.seed for spec in task.specs]
        variants[key] = task.variant
    return any(variants[key] > 1 and len(set(seeds[key])) == len(seeds[key]) > 1 for key in seeds)


def _words(spec: EpisodeSpec) -> str | None:
    """Return the instruction of an episode; None if its task cannot be created."""
    try:
        words: str = task_of(spec).instruction.words
    except AssayError:
        return None
    return words


def write_plan(file: Path, folder: Path, suite_tasks: Sequence[SuiteTask]) -> None:
    """Write a plan, and the task files and initial states that scripts read."""
    file.write_text(json.dumps([asdict(suite_task) for suite_task in suite_tasks]))
    for suite_task in suite_tasks:
        for suite in [suite_task.suite] if suite_task.suite else tasks.suites():
            write_states(folder / INIT / suite / f"{suite_task.name}.pruned_init", suite_task.states)
            path, task = folder / BDDL / suite / f"{suite_task.name}.bddl", suite_task.task
            try:
                write_task(path, task)
            except TaskError:  # the instruction contains characters that BDDL cannot represent
                words = re.sub(r"[();\0]", " ", task.instruction.text)
                write_task(path, replace(task, instruction=Instruction(words)))


@cache
def plan() -> tuple[SuiteTask, ...]:
    """Return the plan of this session, which is empty without an experiment."""
    if not session().plan:
        return ()
    content: list[dict[str, Any]] = json.loads(Path(session().plan).read_text())
    return tuple(
        SuiteTask(**(fields | {"specs": tuple(fields["specs"]), "numbers": tuple(fields["numbers"])}))
        for fields in content
    )


def planned_task(path: str | os.PathLike[str]) -> SuiteTask | None:
    """Return the planned task for a task file; None if the file does not belong to the plan."""
    file = Path(path)
    if session().folder not in file.absolute().parents:
        return None
    return next((suite_task for suite_task in plan() if suite_task.name == file.stem), None)
