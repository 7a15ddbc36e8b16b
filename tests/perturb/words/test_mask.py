from __future__ import annotations

from dataclasses import replace

from assay import tasks
from assay.perturb import apply_perturbations, from_json, to_json
from assay.perturb.words.text import Mask
from assay.tasks import Instruction


def test_a_masked_instruction_says_nothing_and_the_rest_stays():
    task = tasks.load("libero_goal/0")
    assert task.instruction.text
    assert apply_perturbations(task, (Mask(),), seed=0) == replace(task, instruction=Instruction(""))


def test_it_survives_json():
    assert from_json(to_json(Mask())) == Mask()
