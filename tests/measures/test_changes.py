from __future__ import annotations

import pytest

from assay.episodes.perturbation import Change, kinds
from assay.experiments.labels import nature
from assay.measures import Flaw, RunData, Verdict, diagnose, label_changes, profile
from assay.measures.sentences import format_finding
from assay.measures.success.drops import CHANGES
from assay.perturb.world import Displace, MoveCamera, Recolour, Relight, Resize


def test_every_world_perturbation_declares_its_change():
    unknown = {
        kind for kind, made in kinds().items() if kind.startswith("world/") and made.change == Change.WORLD
    }
    assert unknown == set()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("world/displace", "position"),
        ("world/swap", "position"),
        ("world/recolour", "appearance"),
        ("world/resize", "object"),
        ("world/distractors", "clutter"),
        ("world/light", "room"),
        ("world/orbit", "camera"),
        ("world/robot", "robot"),
        ("words/other_task", "task"),
        ("words/say", "wording"),
        ("senses/fog", "senses"),
    ],
)
def test_perturbation_declares_its_change(kind: str, change: str):
    assert kinds()[kind].change == change


def test_unknown_change_is_reported_under_its_own_name(run, made):
    """As a plugin has it: the label alone tells."""
    labels = {"axis": "gravity", "change": "gravity", "plausible": True}
    rows = [made(True, seed=seed) for seed in range(8)]
    rows += [made(False, seed=seed, condition="g=20", labels=labels) for seed in range(8)]
    first = diagnose(profile(run(rows)))[0]
    assert (first.flaw, first.verdict) == (Flaw.CHANGE, Verdict.FOUND)
    (evidence,) = first.evidence
    assert (evidence.part, evidence.hits, evidence.count) == ("gravity", 0, 8)


def test_rows_are_labelled_with_their_change_if_success_is_expected(run, made):
    store = run(
        [
            made(True),
            made(True, condition="moved", change=Displace(0.2)),
            made(True, condition="red", change=Recolour()),
            made(True, condition="same names", words="the bowl goes on the stove"),
            made(True, condition="new name", words="the basin goes on the stove"),
            made(True, condition="nonsense", words="xxx", labels={"plausible": False}),
        ]
    )
    found = label_changes(store.frame()).select("condition", "change", "renamed")
    assert found.rows() == [
        ("control", None, None),
        ("moved", "position", None),
        ("red", "appearance", None),
        ("same names", "wording", ""),
        ("new name", "names", "bowl"),
        ("nonsense", None, None),
    ]


def test_cost_of_a_change_covers_all_its_conditions(run, made):
    rows = [
        each
        for seed in range(4)
        for each in (
            made(True, seed=seed),
            made(False, seed=seed, condition="near", change=Displace(0.1)),
            made(seed > 1, seed=seed, condition="far", change=Displace(0.2)),
        )
    ]
    store = run(rows)
    (drop,) = CHANGES.measure(RunData(store))
    assert drop.group == {"change": "position"} and (drop.pairs, drop.starts) == (8, 4)
    assert drop.change == -0.75 and drop.p == pytest.approx(2 / 2**4)


def test_joint_changes_are_derived_from_the_perturbations_without_a_label(run, made):
    store = run(
        [
            made(True),
            made(True, condition="object", changes=(Recolour(), Resize(1.1))),
            made(True, condition="both", changes=(Displace(0.2), Recolour(), Resize(1.1))),
            made(True, condition="labelled", change=Displace(0.2), labels={"change": "gravity"}),
        ]
    )
    found = dict(label_changes(store.frame()).select("condition", "change").iter_rows())
    assert found == {
        "control": None,
        "object": "appearance+object",
        "both": "position+appearance+object",
        "labelled": "gravity",
    }
    assert nature((Recolour(), Resize(1.1)))["change"] == "appearance+object"


def test_appearance_and_object_changed_together_are_one_flaw(run, made):
    """As in LIBERO-PRO's object dimension: who goes by colour is found."""
    rows = [made(True, seed=seed) for seed in range(8)]
    rows += [
        made(False, seed=seed, condition="object", changes=(Recolour(), Resize(1.1))) for seed in range(8)
    ]
    first = diagnose(profile(run(rows)))[0]
    assert (first.flaw, first.verdict) == (Flaw.OBJECT, Verdict.FOUND)
    assert format_finding(first).text.startswith(
        "Depends on the appearance, size or category of the object: 0 of 8 succeed with objects of another appearance, "
        "size or category, 8 of 8 unperturbed (\N{MINUS SIGN}100.0 points, 95 % interval"
    )


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
