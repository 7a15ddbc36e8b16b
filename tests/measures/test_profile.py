from __future__ import annotations

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from assay.episodes import Traits
from assay.episodes.episode import Happened, SideEffects
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import MEASURES, profile
from assay.measures.memory.memorisation import MEMORISATION
from assay.measures.result import Missing, attempt
from assay.measures.success.rates import success_rate


def everything(made):
    """A run that gives every measure."""
    return [
        each
        for task in ("libero_goal/1", "libero_goal/4")
        for seed in range(8)
        for each in variants(made, task, seed)
    ]


def variants(made, task: str, seed: int):
    rng = np.random.default_rng([len(task), int(task[-1]), seed])
    time = np.linspace(0, np.pi, 101)[:, None]

    def episode(condition: str, words: str | None = None, **labels: object):
        hand = np.sin(time) * (np.array([0.3, 0.1, 0.2]) + rng.normal(scale=0.01, size=3))
        success = bool(rng.random() < 0.6) or (condition == "control" and seed < 4)
        went = {"stages": {"On a_1 b_1": {"reached": 9, "placed": 9 if success else None}}}
        more = went | {"progress": 1.0 if success else 0.5, "side_effects": SideEffects(path=1.0, jerk=9.0)}
        given = {"task": task, "seed": seed, "condition": condition, "labels": labels, "more": more}
        return made(success, hand=hand, words=words, **given)

    yield episode("control")
    for number, thing in enumerate(("none", "addition", "contextual", "habitual")):
        scores = {"s_k": 1 - 0.1 * number, "s_t": 0.7, "pd": 0.15 + 0.05 * number, "wording": number}
        words = f"the {'bowl' if number < 2 else 'vessel'} is not on the stove or the cabinet"
        labels = {"axis": "words", "plausible": True, "object": thing, "action": ("hint", "need")[seed % 2]}
        written = {"surface": "please"} if thing == "none" else {}
        yield episode(f"para/{thing}", words, **labels, **scores, **written)
    yield episode("nonsense", axis="words", plausible=False)
    for level in (1, 2):
        yield episode(f"x/{level}", axis="world", level=level, **{"label:subtasks": "1"})
    yield episode("moved", axis="world", distance=0.2)
    yield episode("latency/steps=4", axis="senses", latency=4)
    happened = Happened(event="world/replace at near(0.1)", due=5, step=5, told="")
    replaced = episode("replaced", axis="world", dissimilarity=1, event="replaced", trigger="near")
    yield replace(replaced, events=(happened,))
    yield episode("shuffled", axis="words", plausible=False, rung=1)
    for a, b in ((True, False), (False, True), (True, True)):
        yield episode(f"factors/{a}{b}", **{"factor:a": a, "factor:b": b})
    if not seed:
        yield replace(episode("control"), repeat=1)


OTHERS = {"tabletop", "thresholds"}
"""Measures of another world, and of searches."""


def test_run_that_has_everything_gives_every_measure(run, made):
    found = profile(run(everything(made)))
    missing = {
        name: each for name, each in found.as_json().items() if isinstance(each, dict) and "missing" in each
    }
    assert not missing and set(found) == {*MEASURES} - OTHERS
    text = json.dumps(found.as_json(), allow_nan=False)
    told = json.loads(text)
    assert told["success_rate"]["count"] == 2 * 8 * 12 and told["control"]["count"] == 18
    for key in ("pride", "overestimation", "grid", "failures", "memorisation", "conditions"):
        assert told[key]
    assert set(told["labels"]) == {"subtasks"}


def test_success_at_nonsense_counts_only_in_its_own_condition(run, made):
    possible, nonsense = {"level": 2, "distance": 0.1}, {"plausible": False, "level": 1, "distance": 0.2}
    rows = []
    for seed in range(6):
        rows.append(made(True, seed=seed))
        rows.append(made(False, seed=seed, condition="c", labels=possible))
        rows.append(made(True, seed=seed, condition="xxx", labels=nonsense))
    found = profile(run(rows))
    assert [(each.group["perturbed"], each.count) for each in found["tasks"]] == [(False, 6), (True, 6)]
    assert [step.at for step in found["levels"].steps] == [0, 2]
    assert [step.at for step in found["displacement"].steps] == [0, 0.1]
    assert found["time_limits"].limits[0].count == found["success_rate"].count + 6 == 12
    counts = {each.group["condition"]: each.count for each in found["conditions"]}
    assert counts == {"control": 6, "c": 6, "xxx": 6}


def test_unfinished_run_explains_missing_measures(run, made):
    store = run([made(True), made(None, seed=1), made(False, seed=2, condition="c")])
    told = profile(store).as_json()
    assert told["done"] == 3 and told["errors"] == {"broke": 1}
    assert told["success_rate"]["rate"] == 0.0 and told["control"]["count"] == 1
    assert told["drops"] == {"missing": "none of the 1 perturbed episodes has a control"}
    assert "pride" not in told, "a run without paraphrases has none"


def test_empty_run_and_run_of_errors_are_explained(run, made):
    for count, reason in ((0, "the run has no episodes"), (2, "all 2 episodes ended in an error")):
        told = profile(run(made(None, seed=seed) for seed in range(count))).as_json()
        assert told["success_rate"] == {"missing": reason}
        json.dumps(told, allow_nan=False)


def test_without_paths_the_rest_is_measured(run, made):
    found = profile(run(everything(made)), with_paths=False)
    assert isinstance(found["failures"], Missing) and found.get(MEMORISATION) is None
    assert not isinstance(found["pride"], Missing)


def test_attempt_turns_any_exception_but_that_of_a_damaged_file_into_a_reason(run, made):
    assert attempt(success_rate, run([]).frame()) == Missing("the run has no episodes")
    assert attempt(lambda: 1 / 0) == Missing("failed with ZeroDivisionError: division by zero")

    def read_damaged() -> None:
        raise zlib.error

    with pytest.raises(zlib.error):
        attempt(read_damaged)


def test_new_world_gets_the_general_measures(run, made):
    """Nothing is known of its tasks, its trajectories, or its goals."""
    traits = Traits("points", continuous=False).as_json()
    labels = {"axis": "world", "change": "wind", "plausible": True}
    rows = [made(True, task="points/left", seed=seed, truth={}) for seed in range(8)]
    rows += [
        made(False, task="points/left", seed=seed, condition="wind", labels=labels, truth={})
        for seed in range(8)
    ]
    found = profile(run(rows, world=traits))
    assert {"success_rate", "control", "conditions", "drops", "tasks", "changes"} <= set(found)
    assert not {"memorisation", "failures", "time_limits", "moved", "tabletop", "pride"} & set(found)
    assert [each.flaw for each in diagnose(found) if each.verdict is Verdict.FOUND] == [Flaw.CHANGE]
