from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb.words.distance.models import ModelError
from assay.perturb.words.rewordings.corrupted import token_count
from assay.tasks import Instruction, Task


@pytest.fixture
def tokenizer() -> None:
    """Tests that count sub-words are skipped where the tokenizer is absent."""
    try:
        token_count("bowl")
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture
def saying() -> Callable[..., Task]:
    """Makes a task with an instruction of one's own."""

    def made(text: str, id: str = "libero_goal/1") -> Task:
        return replace(tasks.load(id), instruction=Instruction(text))

    return made
