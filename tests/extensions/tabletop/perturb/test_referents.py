from __future__ import annotations

import re

import pytest

from assay.extensions.tabletop.prompts.perturbations import (
    Gobbledygook,
    PromptParaphrase,
    TextReferents,
    Unit,
)
from assay.extensions.tabletop.prompts.prompt import Prompt, portrait
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Difficulty, Setting
from assay.extensions.tabletop.world.scene import TableItem
from assay.perturb import apply_perturbations


@pytest.mark.parametrize("kind", TextReferents.only)
@pytest.mark.parametrize("reworded", [False, True])
def test_things_are_named_and_nothing_is_shown(kind: str, reworded: bool):
    level = "L4" if kind in ("T13", "T14") else "L1"
    for seed in range(12):
        task = make(Setting(kind, seed, level, Difficulty.EXTREME if seed % 2 else Difficulty.DEFAULT))  # type: ignore[arg-type]
        task = apply_perturbations(task, PromptParaphrase(), seed=seed) if reworded else task
        changed = apply_perturbations(task, TextReferents(), seed=seed)
        assert changed.asked == task.goal and not changed.prompt.pictures
        text = changed.prompt.words
        assert re.fullmatch(r"[A-Z][^{}\[\]]*\.", text), text
        assert not re.search(r"\b(\w+) \1\b|\. [a-z]|grey", text), text
        for _, picture in task.prompt.pictures:
            assert picture.scene.items[0].shape in text, text


def test_an_article_stands_where_one_is_missing():
    task = make(Setting("T16", 0))
    first, base = task.scene.item("dragged_obj").words, task.scene.item("base_obj").words
    text = apply_perturbations(task, TextReferents(), seed=0).prompt.text
    assert text.startswith(f"First put the {first} into the {base} then put the object ")
    assert text.endswith(f" into the same {base}.")


@pytest.mark.parametrize(
    ("count", "name"),
    [
        ("one", "one red cross"),
        ("any", "any red cross"),
        ("two", "two red crosses"),
        ("all", "all red crosses"),
    ],
)
def test_several_things_are_named_in_the_plural(count: str, name: str):
    task = make(Setting("T12", 0))
    shown = {**dict(task.prompt.pictures), "swept_obj": portrait(TableItem("x", "cross", "red", 0.5, 0.0))}
    said = re.sub(r"^Sweep \w+", f"Sweep {count}", task.prompt.text)
    object.__setattr__(task, "prompt", Prompt(said, tuple(shown.items())))
    assert f"Sweep {name} into the " in apply_perturbations(task, TextReferents(), seed=0).prompt.text


def test_names_can_become_nonsense_too():
    task = apply_perturbations(make(Setting("T1", 0)), (TextReferents(), Gobbledygook(Unit.WORDS)), seed=0)
    assert task.asked is None and not task.prompt.placeholders
    assert task.scene.item("base_obj").texture not in task.prompt.text
