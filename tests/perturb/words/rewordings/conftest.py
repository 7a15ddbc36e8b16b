from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from assay import tasks
from assay.episodes import Perturbation, apply_perturbations
from assay.perturb.words.distance.models import ModelError
from assay.perturb.words.rewordings.corrupted import token_count
from assay.tasks import Instruction

Reword = Callable[..., str]


@pytest.fixture
def tokenizer() -> None:
    """Skip tests that count sub-words if the tokenizer is not installed."""
    try:
        token_count("bowl")
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture
def reword() -> Reword:
    """Apply a rewording to a text."""

    def apply(change: Perturbation, text: str, seed: int = 0, id: str = "libero_goal/1") -> str:
        task = replace(tasks.load(id), instruction=Instruction(text))
        return apply_perturbations(task, (change,), seed=seed).instruction.text

    return apply
