from __future__ import annotations

import pytest

from assay.episodes.perturbation import kinds
from assay.measures import Change, changed
from assay.measures.changes import change_drops, what
from assay.perturb.world import Displace, Recolour


def test_every_change_of_the_world_is_known_for_what_it_changes():
    """A new perturbation must be put somewhere; what takes the target away is never plausible, and what makes
    tasks on tables harder is read there."""
    unknown = {kind for kind in kinds() if kind.startswith("world/") and what([kind]) == Change.WORLD}
    assert unknown == {"world/remove", "world/harder"}


@pytest.mark.parametrize(
    ("made_of", "change"),
    [
        (("world/displace",), "position"),
        (("world/jitter", "world/swap"), "position"),
        (("world/recolour",), "appearance"),
        (("world/recolour", "world/swap"), None),
        (("words/other_task",), "task"),
        (("words/say",), "wording"),
        (("words/say", "world/room"), None),
        (("senses/fog",), "senses"),
    ],
)
def test_what_perturbations_change_is_one_thing_or_none(made_of: tuple[str, ...], change: str | None):
    assert what(made_of) == change


def test_a_row_says_what_alone_is_changed_if_a_good_policy_should_succeed(run, made):
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
    found = changed(store, store.frame()).select("condition", "change", "renamed")
    assert found.rows() == [
        ("control", None, None),
        ("moved", "position", None),
        ("red", "appearance", None),
        ("same names", "wording", ""),
        ("new name", "names", "bowl"),
        ("nonsense", None, None),
    ]


def test_the_cost_of_a_change_is_taken_over_all_conditions_that_make_it(run, made):
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
    (drop,) = change_drops(changed(store, store.frame()))
    assert drop.group == {"change": "position"} and (drop.pairs, drop.starts) == (8, 4)
    assert drop.change == -0.75 and drop.p == pytest.approx(2 / 2**4)
