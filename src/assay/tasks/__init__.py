"""What a policy is asked to do: scenes, goals, instructions and tasks, as immutable data.

task = load("libero_goal/3")            # a built-in task
task = bddl.read("my_task.bddl")        # a task file of LIBERO or one of its descendants
tasks = resolve("libero_goal,libero_10/0")
"""

from assay.tasks import bddl
from assay.tasks.catalogue import all_ids, describe, entry, load, resolve, suite, suites
from assay.tasks.catalogue.format import Entry
from assay.tasks.checks import check
from assay.tasks.scene import (
    Arena,
    Atom,
    Entity,
    Goal,
    Instruction,
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
    "Entry",
    "Goal",
    "Instruction",
    "Predicate",
    "Rectangle",
    "Region",
    "Scene",
    "Task",
    "all_ids",
    "bddl",
    "check",
    "describe",
    "entry",
    "load",
    "resolve",
    "suite",
    "suites",
]
