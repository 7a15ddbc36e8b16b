"""Task files and initial states where scripts look for them: written when they are first asked for."""

from __future__ import annotations

import copy
import pickle
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from assay import tasks
from assay.errors import AssetError
from assay.extensions.dropin.session import Session, session
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.locate import locate, locate_states
from assay.sim.packs.registry import load_pack
from assay.sim.placement import sample
from assay.sim.states import InitialState
from assay.support.files import replacing
from assay.tasks import CatalogueEntry, Instruction, Task
from assay.tasks.formats.init_files import read_states

STATES = 50
"""How many initial states LIBERO stores for a task."""
BDDL, INIT = "bddl_files", "init_files"


@cache
def entries(suite: str) -> tuple[tuple[str, CatalogueEntry], ...]:
    """Each task of a suite: the name of its files, and the task."""
    found = [tasks.entry(task.id) for task in tasks.suite(suite)]
    return tuple((each.file or each.task.id.replace("/", "_"), each) for each in found)


def path_of(key: str) -> str:
    """The folder that LIBERO's configuration names so. Raises KeyError."""
    folder = session().folder
    if key == BDDL:
        write_tasks(session())
    elif key == "init_states":
        key = INIT
    elif key == "assets":
        return str(locate().libero or _made(folder / key))
    elif key == "benchmark_root":
        return str(_made(folder))
    elif key != "datasets":
        raise KeyError(f"{key}: valid: assets, bddl_files, benchmark_root, datasets, init_states")
    return str(_made(folder / key))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_tasks(now: Session) -> None:
    """Write the task files of every suite, unless they are there."""
    if now.plan:
        return  # the command has written them
    folder = now.folder / BDDL
    for suite in tasks.suites():
        for name, entry in entries(suite):
            write_task(folder / suite / f"{name}.bddl", as_filed(entry))


def as_filed(entry: CatalogueEntry) -> Task:
    """A task of the catalogue as LIBERO's file of it has it: some are worded otherwise there."""
    if entry.file_wording is None:
        return entry.task
    task = entry.task
    return Task(task.id, task.scene, task.goal, Instruction(entry.file_wording), task.of_interest)


def write_task(file: Path, task: Task) -> None:
    """Write a task file unless it is there."""
    if not file.is_file():
        with replacing(file) as place:
            place.write_text(tasks.bddl.write(task, silent=True), encoding="utf-8")


def states_file(suite: str, name: str) -> Path:
    """The file of a task's initial states, written unless it is there: LIBERO's own where its assets are used."""
    file = session().folder / INIT / suite / f"{name}.pruned_init"
    if not file.is_file():
        entry = dict(entries(suite))[name]
        write_states(file, _stored(suite, name) if session().pack == "libero" else drawn(entry.task))
    return file


def _stored(suite: str, name: str) -> np.ndarray:
    """LIBERO's stored states of a task; where they are not at hand, states that are drawn."""
    try:
        folder = locate_states(Path(session().states) if session().states else None) / suite
        file = folder / f"{name}.pruned_init"
        return read_states(file if file.is_file() else file.with_name(f"{file.name}.npz"))
    except (AssetError, FileNotFoundError):
        return drawn(dict(entries(suite))[name].task)


def drawn(task: Task) -> np.ndarray:
    """Initial states of a task that are drawn by the seeds from 0 on, with the fixtures' poses, (STATES, n)."""
    scene = compiled(task)
    model = copy.copy(scene.model)
    return np.array([InitialState(*sample(scene, seed, model)).flat() for seed in range(STATES)])


def compiled(task: Task) -> CompiledScene:
    """A task's scene, compiled with the session's assets."""
    return compile_scene(task.scene, load_pack(session().pack))


def write_states(file: Path, states: np.ndarray) -> None:
    """Write states (count, n) as LIBERO's files are: what ``torch.load`` reads as a numpy array."""
    with replacing(file) as place, zipfile.ZipFile(place, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(states, protocol=2))
        archive.writestr("archive/version", "3\n")
