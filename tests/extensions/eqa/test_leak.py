from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from assay.extensions.eqa.actions import described, printed, signs
from assay.extensions.eqa.build import build
from assay.extensions.eqa.episode import Episode, Tally
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.leak import Probed, _missed, probe
from assay.extensions.eqa.question import LETTERS, Kind, Question, load
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.views import View

from .conftest import Drawn, Invented, walk

NOWHERE = Path()


def question(kind: Kind, number: int, options: list[str], right: int) -> Question:
    return Question.of(
        kind=str(kind),
        dataset="invented",
        episode=str(number),
        group=f"scene {number % 12}",
        view="exo",
        text="What did the robot's hand do?",
        pictures=["a.png", "b.png"],
        options=options,
        option_pictures=[],
        answer=LETTERS[right],
        moments=[str(number)],
        states=[],
        actions=[],
        achieved=[],
        thresholds=[],
        turning="wrapped",
    )


def actions(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.normal(size=(count, 7)) * (0.2, 0.2, 0.2, 30, 30, 30, 0.4)


def test_options_drawn_alike_tell_nothing():
    rng = np.random.default_rng(0)
    some = [
        question(Kind.L_AI, number, [printed(each) for each in actions(rng, 4)], int(rng.integers(4)))
        for number in range(120)
    ]
    assert not any(result.leaks for result in probe(some, NOWHERE))


def test_what_we_build_tells_nothing_by_any_kind(tmp_path: Path):
    build(tmp_path / "set", [Invented()], dict.fromkeys(Kind, 60), [View.parse("exo")])
    results = probe(load(tmp_path / "set"), tmp_path / "set")
    assert {result.kind for result in results} == set(Kind)
    assert [result for result in results if result.leaks] == []


def test_distractors_made_from_the_answer_are_found_out():
    # As in the paper: the dominant axis turned round, left out, and exchanged for a value of another unit.
    rng = np.random.default_rng(1)
    some = []
    for number in range(120):
        (true,) = actions(rng, 1)
        turned, without, exchanged = true.copy(), true.copy(), true[[3, 1, 2, 0, 4, 5, 6]]
        turned[0] *= -1
        without[0] = 0.0
        right = int(rng.integers(4))
        options = [turned, without, exchanged]
        options.insert(right, true)
        some.append(question(Kind.L_AI, number, [printed(each) for each in options], right))
    assert all(result.leaks for result in probe(some, NOWHERE))


def test_an_answer_that_is_the_usual_one_is_found_out():
    rng = np.random.default_rng(2)
    some = []
    for number in range(120):
        pattern = signs(actions(rng, 1)[0], NEAR.thresholds)
        pattern[2], pattern[6] = -1, -1  # down and close, as ever
        flips = [np.where(np.arange(7) == axis, -pattern, pattern) for axis in (2, 6)]
        options = [*flips, flips[0] * flips[1] * pattern]
        right = int(rng.integers(4))
        options.insert(right, pattern)
        some.append(question(Kind.M_AI, number, [described(each.tolist()) for each in options], right))
    assert all(result.leaks and result.accuracy > 0.8 for result in probe(some, NOWHERE))


def test_one_scene_is_too_little_to_learn_from():
    alone = [question(Kind.L_AI, 12, ["a", "b", "c", "d"], 0)]
    with pytest.raises(QuestionError, match="one scene only"):
        probe(alone, NOWHERE)
    more = [question(Kind.M_AI, number, ["a", "b", "c", "d"], number % 4) for number in range(40)]
    assert {result.kind for result in probe([*alone, *more], NOWHERE)} == {Kind.M_AI}, "others are probed"


def test_an_answer_that_is_always_the_last_moment_is_found_out(tmp_path: Path):
    # Where nothing is known about scenes, the end of an episode stands among earlier moments of it.
    class Unknown(Invented):
        name = "unknown"

        def episodes(self, tally: Tally) -> Iterator[Episode]:
            for number in range(60):
                far = np.linspace(0, 1, 24)[:, None]
                states = walk(number)[:1] * (1 - far) + walk(number + 99)[-1:] * far  # straight on
                yield Episode(str(number), f"task {number}", states, (Drawn(states),))

    build(tmp_path / "set", [Unknown()], {Kind.H_SP: 60}, [View.parse("exo")])
    results = probe(load(tmp_path / "set"), tmp_path / "set")
    assert {result.view for result in results} == {"exo"} and all(result.leaks for result in results)


def test_being_wrong_too_often_is_a_leak_too():
    assert Probed(Kind.M_AI, "", "any", 100, 0.02, (0.15, 0.35), 0.4).leaks
    assert not Probed(Kind.M_AI, "", "any", 100, 0.25, (0.15, 0.35), 0.4).leaks


def test_how_large_a_leak_must_be_to_be_seen_is_told():
    """100 questions of which 38 may be right by chance: a probe that is right in 42 % is above that in four of five."""
    missed = _missed(38, 100)
    assert binom.sf(38, 100, missed) == pytest.approx(0.8) and 0.4 < missed < 0.45
    assert _missed(4, 4) == 1.0
