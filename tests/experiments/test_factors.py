from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from assay import tasks
from assay.episodes import CONTROL, task_of
from assay.errors import ExperimentError
from assay.experiments import load_experiment
from assay.experiments.factors import GENERATORS, changes_to, contradiction, fraction, resolution
from assay.measures.attribution import attribution

TASK = tasks.load("libero_goal/8")


def test_a_full_design_has_every_combination_once():
    plan = list(load_experiment("factors?over=recolour,relocate,fog").plan([TASK], (0,)))
    assert len(plan) == 8 and plan[0].condition == CONTROL
    flags = {
        tuple(bool(spec.labels.get(f"factor:{name}")) for name in ("recolour", "relocate", "fog"))
        for spec in plan
    }
    assert len(flags) == 8
    both = next(spec for spec in plan if spec.condition == "factors/recolour+fog")
    assert [each.kind for each in both.perturbations] == ["world/recolour", "senses/fog"]
    assert both.labels["axis"] == "world+senses" and both.labels["plausible"] is True


def test_a_fraction_is_balanced_and_has_its_stated_resolution():
    for count, halvings in GENERATORS:
        rows = np.array(fraction(count, halvings))
        assert rows.shape == (2 ** (count - halvings), count) and len({tuple(row) for row in rows}) == len(
            rows
        )
        assert not rows[0].any(), "all off is the control"
        signs = np.where(rows, 1, -1)
        shortest = min(
            size
            for size in range(1, count + 1)
            for chosen in combinations(range(count), size)
            if abs(signs[:, chosen].prod(axis=1).sum()) == len(rows)
        )
        assert shortest == resolution(count, halvings) >= 3
    about = load_experiment("factors?over=recolour,relocate,semantic,light,camera&halvings=1").about
    assert "16 of 32 combinations (resolution V)" in about


def test_attribution_finds_the_planted_factor_from_the_labels():
    rows = []
    for spec in load_experiment("factors?over=recolour,semantic,fog,light&halvings=1").plan(
        [TASK], range(20)
    ):
        lost = bool(spec.labels.get("factor:fog"))
        rows.append(
            {
                "task": spec.task,
                "seed": spec.seed,
                "start": spec.seed,
                "condition": spec.condition,
                "outcome": "failure" if lost or spec.seed == 3 else "success",
                **{f"factor:{name}": None for name in ("recolour", "semantic", "fog", "light")},
                **spec.labels,
            }
        )
    shares = {each.factor: each.loss for each in attribution(pl.DataFrame(rows)).shares}
    assert max(shares, key=lambda name: shares[name]) == "fog" and shares["fog"] > 0.8
    assert all(abs(loss) < 0.1 for name, loss in shares.items() if name != "fog")


def test_every_change_can_be_named_and_changes_something():
    for name, change in sorted(changes_to(TASK).items()):
        assert change.kind.split("/")[0] in ("words", "world", "senses")
        assert name == "jitter" or not contradiction(name, "jitter")


def test_contradicting_changes_are_rejected():
    for query, words in (
        ("over=mask,semantic", "'mask' and 'semantic' cannot be combined: no words are left"),
        ("over=recolour,remove", "the object to change has been removed"),
        ("over=words,synonyms", "they are the same"),
        ("over=recolor", "did you mean 'recolour'?"),
        ("over=fog,fog", "distinct changes"),
        ("over=fog,light&halvings=1", "halvings=1 for 2 changes: expected one of 0"),
    ):
        with pytest.raises(ExperimentError, match=re.escape(words)):
            load_experiment(f"factors?{query}")


def test_positions_do_not_depend_on_other_changes():
    plan = load_experiment("factors?over=resize,room,relocate").plan([TASK], (4,))
    made = {spec.condition: task_of(spec).scene for spec in plan}
    alone, all_three = made["factors/relocate"], made["factors/resize+room+relocate"]
    for one, other in zip(alone.regions, all_three.regions, strict=True):
        assert one.rectangles == other.rectangles
