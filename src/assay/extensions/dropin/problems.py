"""LIBERO's problems by name: functions that make what stands behind an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from assay.extensions.dropin.domain import Domain
from assay.extensions.dropin.env_wrapper import ControlEnv
from assay.tasks import Arena
from assay.tasks.bddl.reader import problem_name

AnyClass = TypeVar("AnyClass", bound=type)


def _make(bddl_file_name: str, controller_configs: Any = None, **options: Any) -> Domain:
    """The environment of a task file; the controller is LIBERO's, however it is configured."""
    return ControlEnv(bddl_file_name, **options).env


TASK_MAPPING: dict[str, Callable[..., Any]] = {problem_name(arena, "").lower(): _make for arena in Arena}


def register_problem(target_class: AnyClass) -> AnyClass:
    """Make a problem known by the name of its class."""
    TASK_MAPPING[target_class.__name__.lower()] = target_class
    return target_class
