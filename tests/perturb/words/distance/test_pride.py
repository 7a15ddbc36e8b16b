from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.perturb.words.distance import Distance, DistanceError, distance, distances, pride
from assay.perturb.words.distance.pride import attempts, cache_file, cached_attempts

pytestmark = pytest.mark.usefixtures("models")
STOVE = "turn on the stove"


def test_the_published_scores_of_libero_para_are_met(shared: Path):
    published = pl.read_csv(shared / "libero_para" / "metadata.csv")
    pairs = zip(published["original_instruction"], published["new_instruction"], strict=True)
    ours = distances(pairs)
    s_k = (pl.Series([each.s_k for each in ours]) - published["keyword_similarity"]).abs()
    s_t = (pl.Series([each.s_t for each in ours]) - published["structural_similarity"]).abs()
    assert len(ours) == 2021
    assert float(str(s_k.max())) <= 1e-5 and float(str(s_t.max())) <= 1e-9
    told = Counter(warning for each in ours for warning in each.warnings)
    assert set(told) == {"the paraphrase has more than one sentence: only the first counts in s_t"}
    assert told.total() == 46


@pytest.mark.parametrize(
    ("original", "paraphrase", "keywords", "structure"),
    [
        ("Put the cream cheese in the bowl", "carefully put the cream cheese in the bowl", 0.00, 0.07),
        ("Put the cream cheese in the bowl", "put the cheese spread in the vessel", 0.27, 0.43),
        ("Put the cream cheese in the bowl", "Is the spread supposed to go in the container?", 0.60, 0.53),
        ("Turn on the stove", "carefully turn on the stove", 0.00, 0.11),
        ("Turn on the stove", "turn on the range", 0.34, 0.38),
        ("Turn on the stove", "Is the range hot yet?", 0.70, 0.60),
        (
            "Open the middle drawer of the cabinet",
            "The storage unit’s middle compartment is currently shut",  # noqa: RUF001
            0.41,
            0.50,
        ),
    ],
)
def test_the_paper_s_worked_examples_hold(original: str, paraphrase: str, keywords: float, structure: float):
    found = distance(original, paraphrase)
    assert 1 - found.s_k == pytest.approx(keywords, abs=0.006)
    assert 1 - found.s_t == pytest.approx(structure, abs=0.006)
    assert found.pd == pytest.approx(1 - (found.s_k + found.s_t) / 2)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.7, 1.0])
def test_the_same_words_are_at_no_distance(alpha: float):
    found = distance("Put the wine bottle on the rack.", "put the wine bottle on the rack.", alpha=alpha)
    assert (found.s_k, found.s_t, found.pd) == (1.0, 1.0, 0.0)


def test_alpha_weighs_keywords_against_structure():
    by_alpha = [distance(STOVE, "is the range hot yet?", alpha=alpha) for alpha in (0.0, 0.25, 1.0)]
    structure, mixed, keywords = by_alpha
    assert structure.pd == 1 - structure.s_t and keywords.pd == 1 - keywords.s_k
    assert mixed.pd == pytest.approx(1 - (0.25 * mixed.s_k + 0.75 * mixed.s_t))


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_an_alpha_outside_of_0_to_1_is_rejected(alpha: float):
    with pytest.raises(DistanceError, match=f"alpha is {alpha}: expected 0"):
        distance(STOVE, STOVE, alpha=alpha)


@pytest.mark.parametrize(
    ("original", "paraphrase", "message"),
    [
        ("", STOVE, "the original is empty"),
        (STOVE, " ", "the paraphrase is empty"),
        (STOVE, "turn\x07on", "control character"),
        (STOVE, "turn on \ud83d", r"an unpaired surrogate \(U\+D83D\) at position 9"),
        (STOVE, "x" * 10_000, "10000 characters"),
        ("is it on?", STOVE, "the original has no content words"),
    ],
)
def test_a_pair_without_a_distance_is_an_error(original: str, paraphrase: str, message: str):
    with pytest.raises(DistanceError, match=message):
        distance(original, paraphrase)
    (cached,) = cached_attempts([(original, paraphrase)])
    assert isinstance(cached, DistanceError)


@pytest.mark.parametrize(
    ("original", "paraphrase", "warning"),
    [
        (STOVE, "schalte den Herd ein", "the paraphrase does not appear to be English"),
        (STOVE, "打开炉子", "the paraphrase does not appear to be English"),
        (STOVE, "is it on?", "the paraphrase has no content words: s_k is 0"),
        (STOVE, "It is cold here. The stove is off.", "the paraphrase has more than one sentence: only the"),
        ("put the bowl on the plate", "put the plate on the bowl", "the same words in another order"),
        ("put the bowl on a plate", "put a bowl on a plate", "pd is 0.00 although the texts differ"),
        ("xxx", "xxx", "does not appear to be English"),
    ],
)
def test_a_doubtful_score_comes_with_a_warning(original: str, paraphrase: str, warning: str):
    with pytest.warns(UserWarning, match=warning):
        score = distance(original, paraphrase)
    assert any(warning in text for text in score.warnings)
    assert original != STOVE or 0.5 < score.pd < 1.0


def test_many_at_once_are_the_same_as_one_by_one():
    texts = ["turn on the range", "is the stove on yet?", "light the burner, then step back"]
    assert distances((STOVE, text) for text in texts) == [distance(STOVE, text) for text in texts]


def test_importing_it_does_not_load_the_models():
    code = "import sys, assay.perturb.words.distance; print({'spacy', 'tokenizers'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=8))
def test_any_text_has_a_finite_score_or_an_error(texts: list[str]):
    for each in attempts([(STOVE, text) for text in texts]):
        if isinstance(each, Distance):
            assert -1.0 <= each.s_k <= 1.0 and 0.0 <= each.s_t <= 1.0 and 0.0 <= each.pd <= 1.0
        else:
            assert str(each).isprintable()


PAIRS = [
    ("turn on the stove", "turn on the range"),
    ("turn on the stove", "the stove on turn"),
    ("turn on the stove", "turn on the range"),
    ("open the drawer", "打开抽屉"),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with nothing in it."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def nobody(pairs: object) -> None:
    raise AssertionError("scored again")


def test_what_is_remembered_is_what_was_scored_warnings_included(
    models: object, monkeypatch: pytest.MonkeyPatch
):
    scored = distances(PAIRS)
    assert cached_attempts(PAIRS) == scored and any(each.warnings for each in scored)
    monkeypatch.setattr(pride, "attempts", nobody)
    assert cached_attempts(PAIRS) == scored


@pytest.mark.parametrize("trouble", ["no database", "no folder"])
def test_a_memory_that_cannot_be_used_costs_time_and_nothing_else(models: object, trouble: str, cache: Path):
    if trouble == "no folder":
        cache.write_text("this is a file")
    else:
        cache_file().parent.mkdir(parents=True)
        cache_file().write_text("these are my notes, " * 100)
    assert cached_attempts(PAIRS) == distances(PAIRS)
