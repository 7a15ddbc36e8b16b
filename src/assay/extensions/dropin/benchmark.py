"""LIBERO's suites and tasks; with an experiment, its controls and perturbed tasks in their place."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assay import tasks
from assay.errors import StateError, TaskError, did_you_mean
from assay.extensions.dropin.missing import Partial
from assay.extensions.dropin.planned import Planned, of_suite, plan
from assay.extensions.dropin.recorder import language_was_read
from assay.extensions.dropin.task_files import BDDL, entries, path_of, states_file
from assay.tasks.formats.init_files import read_states

BENCHMARK_MAPPING: dict[str, Any] = {}


class _Task(NamedTuple):
    name: str
    language: str
    problem: str
    problem_folder: str
    bddl_file: str
    init_states_file: str


class Task(_Task):
    """A task of a suite. Its file of initial states is there when its name is asked for."""

    @property
    def language(self) -> str:
        """What the policy is told."""
        language_was_read()
        return self[1]

    @property
    def init_states_file(self) -> str:
        """What the file of its initial states is called."""
        if (
            not plan()
            and self.problem_folder in tasks.suites()
            and self.name in dict(entries(self.problem_folder))
        ):
            states_file(self.problem_folder, self.name)
        return self[5]


def grab_language_from_filename(x: str) -> str:
    """The instruction that LIBERO reads from the name of a task file."""
    words = x.removesuffix(".bddl")
    if words[:1].isupper():
        start = words.find("SCENE")
        words = words[start + (8 if "SCENE10" in words else 7) :]
    return " ".join(words.split("_"))


def _made(suite: str, name: str, language: str) -> Task:
    return Task(name, language, "Libero", suite, f"{name}.bddl", f"{name}.pruned_init")


def _tasks(suite: str) -> dict[str, Task]:
    """The tasks of a suite by name."""
    if not plan():
        return {name: _made(suite, name, entry.task.instruction.text) for name, entry in entries(suite)}
    return {each.name: _made(suite, each.name, each.language) for each in of_suite(suite)}


class _TaskMaps(dict[str, dict[str, Task]]):
    """The tasks of each suite by name, read when a suite is asked for."""

    def __missing__(self, suite: str) -> dict[str, Task]:
        if suite not in libero_suites:
            raise KeyError(suite)
        self[suite] = _tasks(suite)
        return self[suite]

    def get(self, key: str, default: Any = None) -> Any:
        """As a dict's."""
        return self[key] if key in self else default  # noqa: SIM401

    def __contains__(self, key: object) -> bool:
        return key in libero_suites

    def __iter__(self) -> Any:
        return iter(libero_suites)

    def __len__(self) -> int:
        return len(libero_suites)

    def keys(self) -> Any:
        """The suites."""
        return dict.fromkeys(libero_suites).keys()

    def items(self) -> Any:
        """Everything."""
        return {suite: self[suite] for suite in libero_suites}.items()

    def values(self) -> Any:
        """Everything."""
        return {suite: self[suite] for suite in libero_suites}.values()


libero_suites = ["libero_spatial", "libero_object", "libero_goal", "libero_90", "libero_10"]
task_maps = _TaskMaps()
AnyClass = TypeVar("AnyClass", bound=type)


def register_benchmark(target_class: AnyClass) -> AnyClass:
    """Make a suite known by the name of its class."""
    BENCHMARK_MAPPING[target_class.__name__.lower()] = target_class
    return target_class


def get_benchmark_dict(help: bool = False) -> dict[str, Any]:
    """The suites by name."""
    if help:
        print_benchmark()
    return BENCHMARK_MAPPING


def get_benchmark(benchmark_name: str) -> Any:
    """The suite of a name. Raises TaskError that says what is valid."""
    if benchmark_name.lower() not in BENCHMARK_MAPPING:
        raise TaskError(
            f"there is no suite '{benchmark_name}': {did_you_mean(benchmark_name.lower(), BENCHMARK_MAPPING)}"
        )
    return BENCHMARK_MAPPING[benchmark_name.lower()]


def print_benchmark() -> None:
    """Print the suites."""
    print("\n".join(["Available benchmarks:", *(f"\t{name}" for name in BENCHMARK_MAPPING)]))


class NoSuchStateError(StateError, IndexError):
    """An initial state beyond the last."""


class NoSuchTaskError(TaskError, IndexError):
    """A number that no task of a suite has."""


class InitialStates(np.ndarray):
    """The initial states of a planned task; one that is not there is said to be so, with what to do."""

    def __getitem__(self, key: Any) -> Any:
        try:
            return super().__getitem__(key)
        except IndexError:
            raise NoSuchStateError(
                f"the script asks for initial state {key} of a task that has {len(self)}, counted from 0, one for each "
                f"seed: let it do {len(self)} of its trials of each task, or give assay libero more --seeds"
            ) from None


class Benchmark(Partial, abc.ABC):
    """A suite."""

    name: str

    def __init__(self, task_order_index: int = 0) -> None:
        self.task_embs: Any = None
        self.task_order_index = task_order_index

    def _make_benchmark(self) -> None:
        found = list(task_maps[self.name].values())
        if not found:
            there = ", ".join(dict.fromkeys(each.suite for each in plan()))
            raise TaskError(
                f"the script asks for {self.name}, of which the experiment has no episodes, or none that are left to "
                f"play; there are some of {there}: let the script ask for that, or choose other --tasks"
            )
        order = (
            _ORDERS[self.task_order_index]
            if self.task_order_index and len(found) == 10
            else range(len(found))
        )
        self.tasks = [found[index] for index in order]
        self.n_tasks = len(self.tasks)

    def get_num_tasks(self) -> int:
        """How many tasks it has."""
        return self.n_tasks

    def get_task_names(self) -> list[str]:
        """What their files are called."""
        return [task.name for task in self.tasks]

    def get_task_problems(self) -> list[str]:
        """LIBERO's word for each."""
        return [task.problem for task in self.tasks]

    def get_task_bddl_files(self) -> list[str]:
        """Their task files, without the folder."""
        return [task.bddl_file for task in self.tasks]

    def get_task_bddl_file_path(self, i: int) -> str:
        """The task file of one."""
        return str(Path(path_of(BDDL), self.tasks[i].problem_folder, self.tasks[i].bddl_file))

    def get_task_demonstration(self, i: int) -> str:
        """Where LIBERO's dataset would have its demonstrations."""
        return f"{self.tasks[i].problem_folder}/{self.tasks[i].name}_demo.hdf5"

    def get_task(self, i: int) -> Task:
        """One task. Raises NoSuchTaskError, which is an IndexError."""
        try:
            return self.tasks[i]
        except IndexError:
            anew = (
                " (with --experiment these are not LIBERO's numbers: each condition of each task is one)"
                if plan()
                else ""
            )
            raise NoSuchTaskError(
                f"the script asks for task {i} of {self.name}, whose tasks are 0 to {self.n_tasks - 1}{anew}"
            ) from None

    def get_task_emb(self, i: int) -> Any:
        """The embedding of a task that was set."""
        return self.task_embs[i]

    def set_task_embs(self, task_embs: Any) -> None:
        """Set embeddings."""
        self.task_embs = task_embs

    def get_task_init_states(self, i: int) -> np.ndarray:
        """The initial states of a task: (count, numbers)."""
        task = self.tasks[i]
        if found := _planned(task):
            return found.states.view(InitialStates)
        file = Path(path_of("init_states"), task.problem_folder, task.init_states_file)
        return read_states(file)


def _planned(task: Task) -> Planned | None:
    return next((each for each in plan() if each.name == task.name), None)


def _suite(called: str, suite: str) -> None:
    def make(self: Benchmark, task_order_index: int = 0) -> None:
        Benchmark.__init__(self, task_order_index)
        self.name = suite
        self._make_benchmark()

    register_benchmark(type(called, (Benchmark,), {"__init__": make, "__doc__": tasks.describe(suite)}))


for _name in libero_suites:
    _suite(_name.upper(), _name)

_ORDERS = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [4, 6, 8, 7, 3, 1, 2, 0, 9, 5],
    [6, 3, 5, 0, 4, 2, 9, 1, 8, 7],
    [7, 4, 3, 0, 8, 1, 2, 5, 9, 6],
    [4, 5, 6, 3, 8, 0, 2, 7, 1, 9],
    [1, 2, 3, 0, 6, 9, 5, 7, 4, 8],
    [3, 7, 8, 1, 6, 2, 9, 4, 0, 5],
    [4, 2, 9, 7, 6, 8, 5, 1, 3, 0],
    [1, 8, 5, 4, 0, 9, 6, 7, 2, 3],
    [8, 3, 6, 4, 9, 5, 1, 2, 0, 7],
    [6, 9, 0, 5, 7, 1, 2, 8, 3, 4],
    [6, 8, 3, 1, 0, 2, 5, 9, 7, 4],
    [8, 0, 6, 9, 4, 1, 7, 3, 2, 5],
    [3, 8, 6, 4, 2, 5, 0, 7, 1, 9],
    [7, 1, 5, 6, 3, 2, 8, 9, 4, 0],
    [2, 0, 9, 5, 3, 6, 8, 7, 1, 4],
    [3, 5, 9, 6, 2, 4, 8, 7, 1, 0],
    [7, 6, 5, 9, 0, 3, 4, 2, 8, 1],
    [2, 5, 0, 9, 3, 1, 6, 4, 8, 7],
    [3, 5, 1, 2, 7, 8, 6, 0, 4, 9],
    [3, 4, 1, 9, 7, 6, 8, 2, 0, 5],
]
"""LIBERO's orders of ten tasks."""
