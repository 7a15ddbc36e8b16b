"""Progress by stages, stops of failures, side effects."""

from __future__ import annotations

from typing import Any

import pytest

from assay.episodes.episode import PLACING, Aftermath, SideEffects
from assay.measures.conduct.progress import progress, stops
from assay.measures.conduct.side_effects import side_effects
from assay.measures.result import MeasureError

GOAL = "On akita_black_bowl_1 flat_stove_1_cook_region"
CAME = ((True, 7), (False, 2), (False, 2), (False, 0))
"""Success, and the number of stages reached, of four episodes."""


@pytest.fixture
def recorded(made):
    """Makes episodes of which the world recorded how they went."""

    def one(success: bool, came: int, *, lasts: bool = True, seed: int = 0, **effects: Any):
        stages = {stage: 10 * at if at < came else None for at, stage in enumerate(PLACING)}
        more = {
            "stages": {GOAL: stages},
            "progress": 1.0 if success else came / len(PLACING),
            "side_effects": SideEffects(**effects, path=1.0, jerk=20.0),
            "aftermath": Aftermath(13, lasts, rest=True) if success else None,
        }
        return made(success, seed=seed, more=more)

    return one


def test_progress_of_single_atom_goals_and_stops_of_failures_follow_the_stages(run, recorded):
    rows = [recorded(success, came, seed=seed) for seed, (success, came) in enumerate(CAME)]
    (found,) = progress(run(rows).frame())
    assert (found.count, found.several, found.at_end) == (4, 0, None)
    assert found.score == pytest.approx((1 + 2 / 7 + 2 / 7) / 4)
    assert found.score_interval.low < found.score < found.score_interval.high
    stages = {each.stage: each for each in stops(run(rows).frame())}
    assert {stage: each.failures for stage, each in stages.items()} == {"nothing": 1, "touched": 2}
    assert (stages["touched"].of_failures, stages["touched"].count) == (3, 4)
    assert stages["touched"].interval.low < 2 / 3 < stages["touched"].interval.high


def test_cancelled_instruction_has_no_stages_or_atoms(run, recorded, made):
    did_it = {"stages": {}, "progress": 0.0}
    cancelled = made(False, seed=1, truth={GOAL: ((3, 99),), "Up plate_1": ()}, more=did_it)
    frame = run([recorded(False, 2), cancelled]).frame()
    assert [(each.stage, each.of_failures) for each in stops(frame)] == [("touched", 1)]
    (found,) = progress(frame)
    assert (found.count, found.several) == (2, 0) and found.score == pytest.approx(1 / 7)


def test_stage_is_that_of_the_most_advanced_open_atom(run, made):
    done, begun, open_ = "On a_1 b_1", "On c_1 b_1", "On d_1 b_1"
    none = dict.fromkeys(("reached", "touched", "done"))
    stages = {done: {"reached": 1, "done": 9}, begun: none | {"reached": 5, "touched": 6}, open_: none}
    truth = {done: ((9, 101),), begun: (), open_: ()}
    failure = made(False, truth=truth, more={"stages": stages, "progress": 0.5})
    assert [stop.stage for stop in stops(run([failure]).frame())] == ["touched"]


def test_side_effects_are_counted_by_their_thresholds(run, recorded):
    rows = [
        recorded(True, 7, seed=0),
        recorded(True, 7, seed=1, lasts=False),
        recorded(True, 7, seed=2, moved={"plate_1": 0.03}, tilted={"plate_1": 20.0}),
        recorded(True, 7, seed=3, moved={"plate_1": 0.019}, opened={"wooden_cabinet_1_top_region": 0.1}),
        recorded(False, 1, seed=4, tilted={"wine_bottle_1": 88.0}, arm={"arena": 3}, forces={"arena": 120.5}),
    ]
    (found,) = side_effects(run(rows).frame())
    assert (found.success.hits, found.clean.hits, found.clean.count) == (4, 2, 5)
    assert found.fleeting is not None and (found.fleeting.hits, found.fleeting.count) == (1, 4)
    hits = {name: each.hits for name, each in found.effects.items()}
    assert hits == {"bystander moved": 1, "bystander toppled": 0, "left open": 0, "arm collided": 0}
    lost = {name: each.hits for name, each in found.of_failures.items()}
    assert lost == {"bystander moved": 0, "bystander toppled": 1, "left open": 0, "arm collided": 1}
    assert (found.force.ninth, found.jerk.median) == (120.5, 20.0)
    assert found.path is not None and found.path.median == 1


def test_runs_without_records_raise(run, made):
    frame = run([made(True), made(False, seed=1)]).frame()
    for measure in (stops, side_effects):
        with pytest.raises(MeasureError, match="does not record"):
            measure(frame)


def test_frame_has_a_column_for_each_record_of_conduct(run, recorded, made):
    effects = {"moved": {"plate_1": 0.3, "bowl_1": 0.1}, "arm": {"arena": 2, "plate_1": 1}}
    frame = run([recorded(True, 7, **effects), made(False, seed=1)]).frame()
    names = ["progress", "lasts", "bystander_moved", "bystander_tilted", "left_open", "peak_force"]
    new, old = frame.select(*names, "arm_contact").rows()
    assert new == (1.0, 1, 0.3, 0.0, 0.0, 0.0, 3) and set(old) == {None}


BOTH = ("On soup_1 basket_1_contain_region", "On sauce_1 basket_1_contain_region")


def held(first: tuple, second: tuple = ()) -> dict:
    """When each of two atoms held."""
    return dict(zip(BOTH, (first, second), strict=True))


def test_progress_is_the_share_of_atoms_at_the_end_and_the_most_at_once(run, made):
    rows = [
        made(True, seed=0, truth=held(((50, 101),), ((100, 101),))),
        made(False, seed=1, truth=held(((50, 101),))),  # one is there, and stays
        made(False, seed=2, truth=held(((50, 60),))),  # one was there
        made(False, seed=3, truth=held(((50, 60),), ((55, 101),))),  # both were, for a moment
    ]
    rows += [made(False, seed=seed, condition="moved", truth=held(((9, 101),))) for seed in range(3)]
    found, moved = progress(run(rows).frame())
    assert (found.group, found.count) == ({"condition": "control"}, 4)
    assert (found.success, found.at_end, found.best) == (0.25, 0.5, 0.75)
    assert found.at_end_interval.low < 0.5 < found.at_end_interval.high < 1
    assert found.best_interval.low < 0.75 < found.best_interval.high
    assert moved.group == {"condition": "moved"} and moved.at_end == 0.5
    assert progress(run([made(True), made(False, seed=1)]).frame()) == (), "one atom has no parts"
