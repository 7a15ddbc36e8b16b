"""Changing the words of a task, and nothing else."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace

from assay.errors import PerturbationError
from assay.tasks import Instruction, Task


def reword(task: Task, kind: str, change: Callable[[str], str]) -> Task:
    """The task with its instruction changed; ``change`` gets it on one line, with single spaces.

    Raises PerturbationError, which names the kind and the task, for an instruction without words or with
    control characters, and for what ``change`` refuses.
    """
    text = " ".join(task.instruction.text.split())
    try:
        if not text:
            raise PerturbationError("the instruction is empty: there is nothing to reword")
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
            raise PerturbationError("the instruction holds control characters")
        return replace(task, instruction=Instruction(change(text)))
    except PerturbationError as error:
        raise PerturbationError(f"{kind}: {task.id}: {error}") from None
