from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from assay.extensions.eqa.actions import describe, format_action, signs
from assay.extensions.eqa.build import build
from assay.extensions.eqa.episode import SourceEpisode, Tally
from assay.extensions.eqa.leak import LeakProbe, probe
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind, load
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.views import CameraView

from .conftest import Drawn, Invented, walk

NOWHERE = Path()


def question(kind: QuestionKind, number: int, options: list[str], right: int) -> Question:
    place = {"dataset": "invented", "episode": str(number), "group": f"scene {number % 12}", "view": "exo"}
    empty: dict[str, list] = {
        key: [] for key in ("option_pictures", "states", "actions", "achieved", "thresholds")
    }
    shown = {"text": "What did the robot's hand do?", "pictures": ["a.png", "b.png"], "options": options}
    answer = {"answer": LETTERS[right], "moments": [str(number)], "turning": "wrapped"}
    return Question.of(kind=str(kind), **place, **shown, **empty, **answer)


def actions(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.normal(size=(count, 7)) * (0.2, 0.2, 0.2, 30, 30, 30, 0.4)


def set_of(kind: QuestionKind, seed: int, make: Callable[[np.random.Generator], list[str]]) -> list[Question]:
    """Return 120 questions; ``make`` returns the right option first, and three others."""
    rng, questions = np.random.default_rng(seed), []
    for number in range(120):
        answer, *options = make(rng)
        right = int(rng.integers(4))
        options.insert(right, answer)
        questions.append(question(kind, number, options, right))
    return questions


def test_independent_options_do_not_leak():
    def make(rng: np.random.Generator) -> list[str]:
        return [format_action(action) for action in actions(rng, 4)]

    results = probe(set_of(QuestionKind.L_AI, 0, make), NOWHERE)
    assert not any(result.leaks for result in results)
    for result in results:
        highest = round(result.chance[1] * 120)
        assert binom.sf(highest, 120, result.missed) == pytest.approx(0.8), "detected with 80 % power"


def test_built_questions_of_every_kind_do_not_leak(tmp_path: Path):
    build(tmp_path / "set", [Invented()], dict.fromkeys(QuestionKind, 60), [CameraView.parse("exo")])
    results = probe(load(tmp_path / "set"), tmp_path / "set")
    assert {result.kind for result in results} == set(QuestionKind)
    assert [result for result in results if result.leaks] == []


def test_options_derived_from_the_answer_leak():
    # As in the paper: the dominant axis inverted, removed, and exchanged for a value of another unit.
    def make(rng: np.random.Generator) -> list[str]:
        (true,) = actions(rng, 1)
        others = true * (-1, *[1] * 6), true * (0, *[1] * 6), true[[3, 1, 2, 0, 4, 5, 6]]
        return [format_action(action) for action in (true, *others)]

    assert all(result.leaks for result in probe(set_of(QuestionKind.L_AI, 1, make), NOWHERE))


def test_a_frequent_answer_leaks():
    def make(rng: np.random.Generator) -> list[str]:
        pattern = signs(actions(rng, 1)[0], NEAR.thresholds)
        pattern[2], pattern[6] = -1, -1  # always down and close
        flips = [np.where(np.arange(7) == axis, -pattern, pattern) for axis in (2, 6)]
        return [describe(each.tolist()) for each in (pattern, *flips, flips[0] * flips[1] * pattern)]

    results = probe(set_of(QuestionKind.M_AI, 2, make), NOWHERE)
    assert all(result.leaks and result.accuracy > 0.8 for result in results)


def test_kinds_with_one_scene_are_not_probed():
    alone = [question(QuestionKind.L_AI, 12, ["a", "b", "c", "d"], 0)]
    with pytest.raises(QuestionError, match="has a single group"):
        probe(alone, NOWHERE)
    more = [question(QuestionKind.M_AI, number, ["a", "b", "c", "d"], number % 4) for number in range(40)]
    assert {result.kind for result in probe([*alone, *more], NOWHERE)} == {QuestionKind.M_AI}, (
        "others are probed"
    )


def test_the_last_moment_of_an_episode_leaks(tmp_path: Path):
    # Where nothing is known about scenes, the end of an episode stands among earlier moments of it.
    class Unknown(Invented):
        name = "unknown"

        def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
            for number in range(60):
                far = np.linspace(0, 1, 24)[:, None]
                states = walk(number)[:1] * (1 - far) + walk(number + 99)[-1:] * far  # straight on
                yield SourceEpisode(str(number), f"task {number}", states, (Drawn(states),))

    build(tmp_path / "set", [Unknown()], {QuestionKind.H_SP: 60}, [CameraView.parse("exo")])
    results = probe(load(tmp_path / "set"), tmp_path / "set")
    assert {result.view for result in results} == {"exo"} and all(result.leaks for result in results)


def test_accuracy_below_chance_is_a_leak():
    assert LeakProbe(QuestionKind.M_AI, "", "any", 100, 0.02, (0.15, 0.35), 0.4).leaks
    assert not LeakProbe(QuestionKind.M_AI, "", "any", 100, 0.25, (0.15, 0.35), 0.4).leaks
