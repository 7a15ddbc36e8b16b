"""The episodes of an experiment as a suite of LIBERO's: conditions and tasks are tasks, seeds are initial states."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import AssayError, StateError, TaskError
from assay.extensions.dropin.session import session
from assay.extensions.dropin.task_files import BDDL, INIT, entries, write_states, write_task
from assay.runs.plan import PlannedTask, planned_tasks
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


def group(
    specs: Sequence[EpisodeSpec], waiting: Mapping[EpisodeSpec, int], *, apart: bool = False
) -> list[Planned]:
    """The ``specs`` of a run as tasks of LIBERO's, in the order of the plan; ``apart``: each is a task of its own.

    They are kept apart, too, where each seed of a condition has an instruction or a variant of its own. Of ``waiting``,
    episodes with their numbers, all are in these tasks, and no others. All tasks have as many initial states, because
    scripts do as many trials of every task: where some are recorded already, the others are repeated.
    """
    tasks = planned_tasks(specs)
    apart = apart or _drawn_by_seed(tasks)
    most = 1 if apart else max((len(task.specs) for task in tasks), default=0)
    found = []
    for task in tasks:
        left = [spec for spec in task.specs if spec in waiting]
        for part in [[spec] for spec in left] if apart else [left] if left else []:
            numbered = [(spec, waiting[spec]) for spec in islice(cycle(part), most)]
            found.append(_planned(task, numbered, apart=apart))
    return found


def _drawn_by_seed(tasks: Iterable[PlannedTask]) -> bool:
    """Whether a condition has another instruction, or another variant of a task, for each of its seeds."""
    seeds: dict[tuple[str, str], list[int]] = {}
    variants: dict[tuple[str, str], int] = {}
    for task in tasks:
        if len({_said(spec) for spec in task.specs} - {None}) > 1:
            return True
        about = (task.condition, task.task)
        seeds[about] = seeds.get(about, []) + [spec.seed for spec in task.specs]
        variants[about] = task.variant
    return any(variants[about] > 1 and len(set(seeds[about])) == len(seeds[about]) > 1 for about in seeds)


def _said(spec: EpisodeSpec) -> str | None:
    """The instruction of an episode; None where its task cannot be made."""
    try:
        said: str = task_of(spec).instruction.words
    except AssayError:
        return None
    return said


def _planned(task: PlannedTask, numbered: Sequence[tuple[EpisodeSpec, int]], *, apart: bool) -> Planned:
    suite, name = _place(task.task)
    if task.condition != CONTROL:
        name = f"{name}__{re.sub(r'[^A-Za-z0-9]+', '_', task.condition).strip('_')}"
    if task.variant > 1:
        name = f"{name}__{task.variant}"
    if apart:
        name = f"{name}__seed_{numbered[0][0].seed}"
    return Planned(
        suite,
        name,
        _said(numbered[0][0]) or "",
        tuple(spec.to_json() for spec, _ in numbered),
        tuple(number for _, number in numbered),
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
