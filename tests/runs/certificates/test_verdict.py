from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.perturb.world import Remove
from assay.runs.certificates.claim import Certificate, ClaimVerdict, judge

Made = Callable[..., Episode]
SPEC = EpisodeSpec("libero_goal/1", 0)
GONE = replace(SPEC, perturbations=(Remove(),), steps=1)


def test_a_solved_claim_says_in_how_many_steps(episode: Made):
    done = episode(Outcome.SUCCESS, 7, truth={"a": ((7, 8),), "b": ((0, 8),)})
    assert judge(SPEC, done) == Certificate(ClaimVerdict.SOLVED, 7)


def test_what_was_never_seen_cannot_be_placed():
    broken = Episode(Outcome.ERROR, 0, no_trajectory(), error="no room for milk")
    found = judge(SPEC, broken)
    assert not found.good and found.reason == "cannot be placed: no room for milk"


@pytest.mark.parametrize("error", ["not reached: On a b", "Oracle, step 3: ValueError: no", ""])
def test_what_stood_and_was_not_solved_is_the_demonstrators_failure(episode: Made, error: str):
    outcome = Outcome.ERROR if "step" in error else Outcome.FAILURE
    found = judge(SPEC, episode(outcome, 5, error=error))
    assert not found.good and found.verdict is ClaimVerdict.FAILED
    assert found.why == (error or "not reached in 300 steps")


def test_a_goal_that_holds_at_the_start_is_refused(episode: Made):
    found = judge(SPEC, episode(Outcome.SUCCESS, 1, truth={"a": ((0, 2),), "b": ((0, 1),)}))
    assert not found.good and found.reason == "true at the start"


def test_where_nothing_is_to_be_solved_a_scene_that_stands_is_enough(episode: Made):
    assert judge(GONE, episode(Outcome.FAILURE, 1)) == Certificate(ClaimVerdict.NOTHING)
    assert not judge(GONE, episode(Outcome.ERROR, 1, error="unstable")).good
