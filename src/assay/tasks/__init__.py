"""Tasks for policies: scenes, goals and instructions as immutable data.

task = load("libero_goal/3")            # a built-in task
task = load("my_task.bddl")             # a task file from LIBERO, from one of its descendants, or from Assay
save(task, "my_task.json")
tasks = resolve("libero_goal,libero_10/0,my_folder")
"""

from assay.episodes.spec import Instruction
from assay.tasks import bddl
from assay.tasks.catalogue import (
    all_ids,
    built_in_ids,
    describe,
    entry,
    load,
    resolve,
    siblings,
    suite,
    suites,
    trained_with,
)
from assay.tasks.checks import check
from assay.tasks.files import names_file, save, short_name, states_file
from assay.tasks.scene import (
    Arena,
    Atom,
    Entity,
    Goal,
    Predicate,
    Rectangle,
    Region,
    Scene,
    Task,
)

__all__ = [
    "Arena",
    "Atom",
    "Entity",
    "Goal",
    "Instruction",
    "Predicate",
    "Rectangle",
    "Region",
    "Scene",
    "Task",
    "all_ids",
    "bddl",
    "built_in_ids",
    "check",
    "describe",
    "entry",
    "load",
    "names_file",
    "resolve",
    "save",
    "short_name",
    "siblings",
    "states_file",
    "suite",
    "suites",
    "trained_with",
]
