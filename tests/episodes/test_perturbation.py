from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import tasks
from assay.episodes import Effect, EpisodeSpec, Perturbation, from_json, perturbation
from assay.episodes.perturbation import _KINDS
from assay.errors import PerturbationError, PluginError
from assay.perturb import Say, apply_perturbations
from assay.tasks import Instruction, Task


@dataclass(frozen=True, slots=True)
class Shift(Perturbation):
    """Names what it drew as what is of interest."""

    kind = "test/shift"
    effects = frozenset({Effect.PHYSICS})

    metres: float
    places: tuple[float, ...] = ()

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        return replace(task, of_interest=(*task.of_interest, f"{self.metres * rng.random():.9f}"))


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    """The perturbation above is known to these tests only."""
    perturbation(Shift)
    yield
    del _KINDS[Shift.kind]


numbers = st.floats(-2, 2) | st.integers(-2, 2) | st.booleans()


@given(metres=numbers, places=st.lists(numbers, max_size=3))
def test_numbers_that_are_equal_are_written_alike(metres: float, places: list[float]):
    one = EpisodeSpec("libero_goal/0", 0, perturbations=(Shift(metres, tuple(places)),))
    again = EpisodeSpec.from_json(one.to_json())
    floats = Shift(float(metres), tuple(map(float, places)))
    other = EpisodeSpec("libero_goal/0", 0, perturbations=(floats,))
    assert one.to_json() == again.to_json() == other.to_json()
    assert "-0.0," not in one.to_json() and "-0.0]" not in one.to_json()


def test_new_words_leave_the_draws_of_the_world_unchanged():
    task = tasks.load("libero_goal/0")
    alone = apply_perturbations(task, (Shift(1.0),), seed=3)
    reworded = apply_perturbations(task, (Say("hello"), Shift(1.0)), seed=3)
    assert reworded == replace(alone, instruction=Instruction("hello"))
    assert reworded == apply_perturbations(task, (Shift(1.0), Say("hello")), seed=3)
    twice = apply_perturbations(task, (Shift(1.0), Shift(1.0)), seed=3).of_interest
    assert twice[:-1] == alone.of_interest and twice[-1] != alone.of_interest[-1]
    assert apply_perturbations(task, (Shift(1.0),), seed=4) != alone


def test_an_invalid_perturbation_is_rejected():
    for value, words in (
        ({"kind": "words/sya", "text": "a"}, "did you mean 'words/say'?"),
        ({"kind": "words/say", "txt": "a"}, "did you mean 'text'?"),
        ({"kind": "test/shift", "metres": "far"}, "metres"),
        ({"kind": "words/say"}, "text"),
        ({}, "no perturbation 'None'"),
    ):
        with pytest.raises(PerturbationError, match=re.escape(words)):
            from_json(value)


def test_effects_decide_whether_a_scene_is_rebuilt_and_certified():
    for effects, rebuilds, decides in (
        ((), False, False),
        ((Effect.WORDS,), False, False),
        ((Effect.SENSES,), False, False),
        ((Effect.LOOKS,), True, False),
        ((Effect.PHYSICS,), True, True),
        ((Effect.GOAL, Effect.WORDS), False, True),
    ):

        class Some(Shift):
            pass

        Some.effects = frozenset(effects)
        made = Some(1.0)
        assert (made.rebuilds, made.decides) == (rebuilds, decides)
        assert made.certified_as() == (made if decides else None)


def test_a_kind_is_registered_once_and_only_for_a_perturbation_with_a_kind():
    class Other(Perturbation):
        kind = "test/shift"

        def apply(self, task: Any, rng: np.random.Generator) -> Any:
            return task

    class Plain(Perturbation):
        def apply(self, task: Any, rng: np.random.Generator) -> Any:
            return task

    with pytest.raises(PluginError, match=r"two perturbations are registered as 'test/shift'"):
        perturbation(Other)
    with pytest.raises(PluginError, match="must derive from Perturbation and define a kind"):
        perturbation(Plain)
    assert perturbation(Shift) is Shift, "the same again, as when a module is loaded twice"
