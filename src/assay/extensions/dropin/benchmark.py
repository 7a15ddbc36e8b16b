"""LIBERO's suites and tasks or, with an experiment, suites consisting of its controls and perturbed tasks."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assay import tasks
from assay.errors import StateError, TaskError, did_you_mean
from assay.extensions.dropin import Partial
from assay.extensions.dropin.recorder import note_language_read
from assay.extensions.dropin.session import EVERYWHERE, get_libero_path, plan, states_file, suite_entries
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
    """A task of a suite. Its file of initial states is written when `init_states_file` is read."""

    @property
    def language(self) -> str:
        """Language instruction of the task."""
        note_language_read()
        return self[1]

    @property
    def init_states_file(self) -> str:
        """Name of the task's file of initial states."""
        suite = self.problem_folder
        if not plan() and suite in tasks.suites() and self.name in dict(suite_entries(suite)):
            states_file(suite, self.name)
        return self[5]


def grab_language_from_filename(x: str) -> str:
    """Return the instruction that LIBERO derives from the name of a task file."""
    words = x.removesuffix(".bddl")
    if words[:1].isupper():
        start = words.find("SCENE")
        words = words[start + (8 if "SCENE10" in words else 7) :]
    return " ".join(words.split("_"))


libero_suites = ["libero_spatial", "libero_object", "libero_goal", "libero_90", "libero_10"]


def read_task_maps() -> dict[str, dict[str, Task]]:
    """Return the tasks of each suite by name: LIBERO's, or those of the experiment's plan."""
    maps = {}
    for suite in libero_suites:
        if plan():
            names = {task.name: task.language for task in plan() if task.suite in (suite, EVERYWHERE)}
        else:
            names = {name: entry.task.instruction.text for name, entry in suite_entries(suite)}
        maps[suite] = {
            name: Task(name, language, "Libero", suite, f"{name}.bddl", f"{name}.pruned_init")
            for name, language in names.items()
        }
    return maps


task_maps = read_task_maps()
AnyClass = TypeVar("AnyClass", bound=type)


def register_benchmark(target_class: AnyClass) -> AnyClass:
    """Register a suite under the name of its class."""
    BENCHMARK_MAPPING[target_class.__name__.lower()] = target_class
    return target_class


def get_benchmark_dict(help: bool = False) -> dict[str, Any]:
    """Return the suite classes by name; ``help`` also prints the names."""
    if help:
        print_benchmark()
    return BENCHMARK_MAPPING


def get_benchmark(benchmark_name: str) -> Any:
    """Return the suite class with a given name. Raises TaskError, which lists the valid names."""
    if benchmark_name.lower() not in BENCHMARK_MAPPING:
        raise TaskError(
            f"unknown suite '{benchmark_name}': {did_you_mean(benchmark_name.lower(), BENCHMARK_MAPPING)}"
        )
    return BENCHMARK_MAPPING[benchmark_name.lower()]


def print_benchmark() -> None:
    """Print the names of the suites."""
    print("\n".join(["Available benchmarks:", *(f"\t{name}" for name in BENCHMARK_MAPPING)]))


class NoSuchStateError(StateError, IndexError):
    """Raised for an index beyond the last initial state of a task."""


class NoSuchTaskError(TaskError, IndexError):
    """Raised for an index beyond the last task of a suite."""


class InitialStates(np.ndarray):
    """Initial states of a planned task; an invalid index raises an error with a hint."""

    def __getitem__(self, key: Any) -> Any:
        try:
            return super().__getitem__(key)
        except IndexError:
            raise NoSuchStateError(
                f"the script requests initial state {key}, but the task has {len(self)}, one per seed, numbered "
                f"from 0: run {len(self)} trials per task, or increase --seeds"
            ) from None


class Benchmark(Partial, abc.ABC):
    """Base class of suites, with LIBERO's methods."""

    name: str

    def __init__(self, task_order_index: int = 0) -> None:
        self.task_embs: Any = None
        self.task_order_index = task_order_index

    def _make_benchmark(self) -> None:
        suite = list(task_maps[self.name].values())
        if not suite:
            present = ", ".join(dict.fromkeys(task.suite for task in plan()))
            raise TaskError(
                f"the script requests {self.name}, for which the experiment has no unrecorded episodes: "
                f"request {present}, or choose other --tasks"
            )
        in_order = self.task_order_index and len(suite) == 10
        order = task_orders[self.task_order_index] if in_order else range(len(suite))
        self.tasks = [suite[index] for index in order]
        self.n_tasks = len(self.tasks)

    def get_num_tasks(self) -> int:
        """Return the number of tasks."""
        return self.n_tasks

    def get_task_names(self) -> list[str]:
        """Return the names of the tasks, from which their file names are derived."""
        return [task.name for task in self.tasks]

    def get_task_problems(self) -> list[str]:
        """Return the problem class of each task."""
        return [task.problem for task in self.tasks]

    def get_task_bddl_files(self) -> list[str]:
        """Return the file names of the tasks, without the folder."""
        return [task.bddl_file for task in self.tasks]

    def get_task_bddl_file_path(self, i: int) -> str:
        """Return the path of a task file."""
        return str(Path(get_libero_path("bddl_files"), self.tasks[i].problem_folder, self.tasks[i].bddl_file))

    def get_task_demonstration(self, i: int) -> str:
        """Return the path of a task's demonstrations, relative to LIBERO's dataset folder."""
        return f"{self.tasks[i].problem_folder}/{self.tasks[i].name}_demo.hdf5"

    def get_task(self, i: int) -> Task:
        """Return a task by index. Raises NoSuchTaskError, a subclass of IndexError."""
        try:
            return self.tasks[i]
        except IndexError:
            hint = " (with --experiment, each condition of each task is a separate task)"
            raise NoSuchTaskError(
                f"the script requests task {i} of {self.name}, whose tasks are 0 to {self.n_tasks - 1}"
                f"{hint if plan() else ''}"
            ) from None

    def get_task_emb(self, i: int) -> Any:
        """Return the embedding of a task, as passed to `set_task_embs`."""
        return self.task_embs[i]

    def set_task_embs(self, task_embs: Any) -> None:
        """Set the embeddings of the tasks."""
        self.task_embs = task_embs

    def get_task_init_states(self, i: int) -> np.ndarray:
        """Return the initial states of a task, with shape (count, n)."""
        task = self.tasks[i]
        for planned in plan():
            if planned.name == task.name:
                return planned.states.view(InitialStates)
        return read_states(Path(get_libero_path("init_states"), task.problem_folder, task.init_states_file))


class Suite(Benchmark):
    """Base class of LIBERO's original suites."""

    def __init__(self, task_order_index: int = 0) -> None:
        super().__init__(task_order_index)
        self._make_benchmark()


for _name in libero_suites:
    register_benchmark(type(_name.upper(), (Suite,), {"name": _name, "__doc__": tasks.describe(_name)}))

task_orders: list[list[int]] = np.loadtxt(
    Path(__file__).with_name("task_orders.csv"), dtype=int, delimiter=","
).tolist()
"""LIBERO's task orders for lifelong learning."""
