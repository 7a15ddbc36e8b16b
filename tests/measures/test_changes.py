from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from assay.episodes.perturbation import Change, kinds
from assay.experiments.labels import nature
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.frames import label_changes
from assay.measures.measure import RunData, profile
from assay.measures.sentences import format_finding
from assay.measures.success.drops import CHANGES
from assay.perturb.world.objects import Recolour, Resize
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import MoveCamera, Relight


def test_every_world_perturbation_declares_its_change():
    undeclared = {
        kind
        for kind, perturbation in kinds().items()
        if kind.startswith("world/") and perturbation.change == Change.WORLD
        if perturbation.__module__.startswith("assay.")  # other tests register their own
    }
    assert undeclared == set()


def test_rows_are_labelled_with_their_change_if_success_is_expected(run, made):
    expected = {
        "control": (made(True), None, None),
        "moved": (made(True, condition="moved", change=Displace(0.2)), "position", None),
        "red": (made(True, condition="red", change=Recolour()), "appearance", None),
        "object": (
            made(True, condition="object", changes=(Recolour(), Resize(1.1))), "appearance+object", None,
        ),
        "label": (
            made(True, condition="label", change=Displace(0.2), labels={"change": "gravity"}), "gravity", None,
        ),
        "same": (made(True, condition="same", words="the bowl goes on the stove"), "wording", ""),
        "new": (made(True, condition="new", words="the basin goes on the stove"), "names", "bowl"),
        "xxx": (made(True, condition="xxx", words="xxx", labels={"plausible": False}), None, None),
    }  # fmt: skip
    frame = run(episode for episode, _, _ in expected.values()).frame()
    found = label_changes(frame).select("condition", "change", "renamed").rows()
    assert found == [(name, change, renamed) for name, (_, change, renamed) in expected.items()]
    assert nature((Recolour(), Resize(1.1)))["change"] == "appearance+object"


def test_cost_of_a_change_covers_all_its_conditions(run, made):
    rows = []
    for seed in range(4):
        rows.append(made(True, seed=seed))
        rows.append(made(False, seed=seed, condition="near", change=Displace(0.1)))
        rows.append(made(seed > 1, seed=seed, condition="far", change=Displace(0.2)))
    (drop,) = CHANGES.measure(RunData(run(rows)))
    assert drop.group == {"change": "position"} and (drop.pairs, drop.starts) == (8, 4)
    assert drop.change == -0.75 and drop.p == pytest.approx(1 / 2**4)


def test_appearance_and_object_changed_together_are_one_flaw(run, made):
    rows = [made(True, seed=seed) for seed in range(8)]
    changes = (Recolour(), Resize(1.1))
    rows += [made(False, seed=seed, condition="object", changes=changes) for seed in range(8)]
    first = diagnose(profile(run(rows)))[0]
    assert (first.flaw, first.verdict) == (Flaw.OBJECT, Verdict.FOUND)


@pytest.mark.parametrize("alone", [False, True])
def test_loss_under_a_joint_change_is_a_particular_case(run, made, alone: bool):
    """The camera costs nothing and neither does the room; both together do, and names do for another reason."""
    rows = [made(True, seed=seed) for seed in range(10)]
    both = (MoveCamera(shift=(0.0, 0.1, 0.0)), Relight(0.5))
    for seed in range(10):
        rows.append(made(False, seed=seed, condition="both", changes=both))
        rows.append(made(False, seed=seed, condition="said", words="the basin goes on the range"))
        for change in both if alone else ():
            rows.append(made(True, seed=seed, condition=change.kind, change=change))
    found = {each.flaw: each for each in diagnose(profile(run(rows)))}
    assert found[Flaw.UNKNOWN_NAMES].verdict is Verdict.FOUND
    assert found[Flaw.PARTICULAR].verdict is Verdict.FOUND and Flaw.LOSS not in found
    assert (
        "with room and camera changed together: 0 of 10 succeed"
        in format_finding(found[Flaw.PARTICULAR]).text
    )


def looked_for(made, broken: str | None):
    """Four tasks with 80 % success, ten seeds and three changes; a new look breaks one task completely."""
    random = np.random.default_rng(6)
    changes = {"look": Recolour(), "camera": MoveCamera(shift=(0.0, 0.1, 0.0)), "room": Relight(0.5)}
    for task, seed in product([f"libero_goal/{number}" for number in range(4)], range(10)):
        yield made(bool(random.random() < 0.8), task=task, seed=seed)
        for name, change in changes.items():
            success = bool(random.random() < 0.8) and not (name == "look" and task == broken)
            yield made(success, task=task, seed=seed, condition=name, change=change)


def test_change_that_breaks_one_task_is_an_exploratory_finding_with_its_task(run, made):
    broken = "libero_goal/2"
    findings = diagnose(profile(run(looked_for(made, broken))))
    (finding,) = [finding for finding in findings if finding.exploratory]
    assert finding.flaw is Flaw.PARTICULAR and finding.verdict is Verdict.FOUND and finding.p < 0.05
    assert [(case.task, case.part, case.hits) for case in finding.evidence] == [(broken, "appearance", 0)]
    text = format_finding(finding).text
    assert text.startswith(
        f"Fails in particular cases (exploratory): {broken} with objects of another appearance"
    )
    assert "to be confirmed with new seeds" in text and finding.as_json()["exploratory"] is True
    nothing = diagnose(profile(run(looked_for(made, None))))
    assert not any(finding.exploratory for finding in nothing)
