from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.episodes import apply_perturbations
from assay.errors import PerturbationError
from assay.experiments.registry import load_experiment
from assay.measures.frames import find_renamed
from assay.perturb.words.rewordings.corrupted import Form, Surface
from assay.tasks import Instruction

TASK = tasks.load("libero_goal/1")


def test_the_experiment_writes_the_same_words_in_seven_ways() -> None:
    plan = [spec for spec in load_experiment("surface").plan([TASK], (0,)) if spec.perturbations]
    told = {
        spec.labels["surface"]: apply_perturbations(TASK, spec.perturbations, seed=0).instruction.text
        for spec in plan
    }
    assert told == {
        "full_stop": "put the bowl on the stove.",
        "capital": "Put the bowl on the stove",
        "capitals": "PUT THE BOWL ON THE STOVE",
        "task": "Task: put the bowl on the stove",
        "quotes": '"put the bowl on the stove"',
        "blanks": "put  the  bowl  on  the  stove",
        "please": "please put the bowl on the stove",
    }
    assert {(spec.labels["change"], spec.labels["plausible"]) for spec in plan} == {("surface", True)}
    assert all(find_renamed(TASK.id, text) == "" for text in told.values()), "every name is still there"


def test_what_is_written_so_already_is_refused() -> None:
    written = replace(TASK, instruction=Instruction("Put the bowl on the stove."))
    for form in (Form.FULL_STOP, Form.CAPITAL):
        with pytest.raises(
            PerturbationError, match=r"words/surface: libero_goal/1: 'Put .* is written so already"
        ):
            apply_perturbations(written, (Surface(form),), seed=0)
