"""The session of a script: settings from the command that started it, and the files that scripts read.

Task files and initial states are written on first use.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import zipfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from assay import tasks
from assay.errors import AssetError, SpecError
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.locate import locate, locate_states
from assay.sim.packs.registry import load_pack
from assay.sim.placement import sample
from assay.sim.states import InitialState
from assay.support.files import cache_folder, replacing
from assay.tasks import Instruction, Task
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
    """Settings of one call of ``assay libero``."""

    pack: str = "primitives"
    """Asset pack."""
    root: str = ""
    """Folder of task files and initial states; by default in the user's cache."""
    plan: str = ""
    """File with the episodes of an experiment; empty to use LIBERO's own tasks."""
    episodes: str = ""
    """Folder for recorded episodes."""
    states: str = ""
    """LIBERO's folder of stored initial states; empty if not given."""

    @property
    def folder(self) -> Path:
        """Folder of task files and initial states."""
        return Path(self.root) if self.root else cache_folder() / "libero" / self.pack

    def write(self, file: Path) -> None:
        """Write the session file, which the script's processes read."""
        file.write_text(json.dumps(asdict(self)))


@cache
def session() -> DropinSession:
    """Return the session of this process; outside ``assay libero``, one with LIBERO's tasks and the built-in assets."""
    file = os.environ.get(VARIABLE)
    if not file:
        return replace(DropinSession(), pack=os.environ.get("ASSAY_ASSETS", "primitives"))
    try:
        return DropinSession(**json.loads(Path(file).read_text()))
    except (OSError, ValueError, TypeError):
        raise SpecError(f"{VARIABLE}: {file} is not a session file of assay libero") from None


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
