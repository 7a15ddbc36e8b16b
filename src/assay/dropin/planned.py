"""The episodes of an experiment as a suite of LIBERO's: conditions and tasks are tasks, seeds are initial states."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.dropin.session import session
from assay.dropin.task_files import BDDL, INIT, entries, write_states, write_task
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import StateError, TaskError
from assay.tasks import Instruction, Task, short_name

MARK = -18_001.0
"""The first number of an initial state that stands for an episode of the plan."""
_TICKET = 8
"""How many numbers such a state has."""
EVERYWHERE = ""
"""The suite of tasks that are in no suite of LIBERO's: every suite has them."""


@dataclass(frozen=True)
class Planned:
    """One condition of one task: a task of LIBERO's as a script sees it."""

    suite: str
    name: str
    """Of its files."""
    language: str
    specs: tuple[str, ...]
    """The episodes, one for each initial state, in JSON."""
    numbers: tuple[int, ...]
    """Their numbers in the run."""

    @cached_property
    def task(self) -> Task:
        """The task of its first episode."""
        found: Task = task_of(self.spec(0))
        return found

    def spec(self, index: int) -> EpisodeSpec:
        """One of its episodes."""
        return EpisodeSpec.from_json(self.specs[index])

    @property
    def states(self) -> np.ndarray:
        """What stands for its initial states: (episodes, 8)."""
        rows = np.zeros((len(self.specs), _TICKET))
        rows[:, 0] = MARK
        rows[:, 1] = np.arange(len(self.specs))
        return rows

    def index_of(self, numbers: np.ndarray) -> int:
        """Which of its episodes a state stands for. Raises StateError for a state that is somebody else's."""
        if len(numbers) != _TICKET or round(float(numbers[0])) != MARK:
            raise StateError(
                "with --experiment, episodes start where the experiment says: valid for set_init_state: the rows of "
                "get_task_init_states"
            )
        return int(numbers[1])


def group(specs: Sequence[EpisodeSpec], numbers: Sequence[int], *, apart: bool = False) -> list[Planned]:
    """Episodes as tasks of LIBERO's, in the order of the plan; ``apart``: each is a task of its own.

    They are kept apart, too, where the seeds of one condition have different instructions. All have as many initial
    states, because scripts do as many trials of every task: where some are recorded already, the others are repeated.
    """
    found: dict[tuple[str, str], list[tuple[EpisodeSpec, int, str]]] = {}
    for spec, number in zip(specs, numbers, strict=True):
        said = task_of(spec).instruction.words
        found.setdefault((spec.condition, spec.task), []).append((spec, number, said))
    if not apart:
        apart = any(len({said for *_, said in each}) > 1 for each in found.values())
    if apart:
        return [_planned([one], apart=True) for each in found.values() for one in each]
    most = max(map(len, found.values()), default=0)
    return [_planned(list(islice(cycle(each), most)), apart=False) for each in found.values()]


def _planned(each: Sequence[tuple[EpisodeSpec, int, str]], *, apart: bool) -> Planned:
    spec, _, said = each[0]
    suite, name = _place(spec.task)
    if spec.condition != CONTROL:
        name = f"{name}__{re.sub(r'[^A-Za-z0-9]+', '_', spec.condition).strip('_')}"
    if apart:
        name = f"{name}__seed_{spec.seed}"
    return Planned(
        suite,
        name,
        said,
        tuple(spec.to_json() for spec, *_ in each),
        tuple(number for _, number, _ in each),
    )


def _place(task: str) -> tuple[str, str]:
    """The suite of a task's id, and what its files are called."""
    suite, _, number = task.partition("/")
    if suite in tasks.suites():
        return suite, entries(suite)[int(number)][0]
    return EVERYWHERE, short_name(task)


def write_plan(file: Path, folder: Path, planned: Iterable[Planned]) -> None:
    """Write a plan, with the task files and initial states that scripts look for."""
    plan = list(planned)
    file.write_text(json.dumps([asdict(each) for each in plan]))
    for each in plan:
        for suite in [each.suite] if each.suite else tasks.suites():
            write_states(folder / INIT / suite / f"{each.name}.pruned_init", each.states)
            _write_task(folder / BDDL / suite / f"{each.name}.bddl", each.task)


def _write_task(file: Path, task: Task) -> None:
    """Write a task file; signs that none can hold are left out of its instruction."""
    try:
        write_task(file, task)
    except TaskError:
        said = re.sub(r"[();\0]", " ", task.instruction.text)
        write_task(file, Task(task.id, task.scene, task.goal, Instruction(said), task.of_interest))


@cache
def plan() -> tuple[Planned, ...]:
    """The plan of this session; empty where it has none."""
    if not session().plan:
        return ()
    content: list[dict[str, Any]] = json.loads(Path(session().plan).read_text())
    return tuple(
        Planned(**(each | {"specs": tuple(each["specs"]), "numbers": tuple(each["numbers"])}))
        for each in content
    )


@cache
def _by_name() -> dict[str, Planned]:
    return {each.name: each for each in plan()}


def planned_task(path: str | os.PathLike[str]) -> Planned | None:
    """The planned task of a file, or None where it is somebody else's."""
    file = Path(path)
    found = _by_name().get(file.stem)
    return found if found is not None and session().folder in file.absolute().parents else None


def of_suite(suite: str) -> list[Planned]:
    """The planned tasks of a suite."""
    return [each for each in plan() if each.suite in (suite, EVERYWHERE)]
