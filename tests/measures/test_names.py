from __future__ import annotations

from itertools import product

import pytest

from assay.measures.frames import find_renamed, label_changes
from assay.measures.result import MeasureError
from assay.measures.words.names import name_gaps


def test_nouns_are_kept_or_renamed_word_for_word():
    for text, nouns in {
        "put the bowl on the stove": "",
        "place the mixing bowl onto the stove, please": "",
        "put the basin on the stove": "bowl",
        "put the basin on the range": "bowl+stove",
    }.items():
        assert find_renamed("libero_goal/1", text) == nouns
        assert find_renamed("elsewhere/7", text) == ""


def rows(made, bowl: bool, stove: bool):
    """Seeds as strata: success depends on which name is changed."""
    wins = {("bowl", "stove"): True, ("basin", "stove"): bowl, ("bowl", "range"): stove}
    wins["basin", "range"] = bowl and stove
    for seed, ((first, second), success) in product(range(6), wins.items()):
        condition, text = f"wording {first} {second}", f"the {first} goes on the {second}"
        yield made(success, seed=seed, condition=condition, words=text)


def test_each_noun_is_judged_by_the_wordings_that_rename_it_alone(run, made):
    store = run(rows(made, bowl=True, stove=False))
    found = name_gaps(label_changes(store.frame()))
    overall = found.overall
    assert (overall.kept, overall.kept_count, overall.changed, overall.changed_count) == (6, 6, 6, 18)
    assert overall.strata == 6 and overall.p == pytest.approx(2 / 2**6)
    stove, bowl = found.nouns
    assert (stove.noun, stove.change, stove.changed_count) == ("stove", -1.0, 6)
    assert (bowl.noun, bowl.change, bowl.p) == ("bowl", 0.0, 1.0)
    assert stove.interval.high < 0 < bowl.interval.high
    assert found.one is not None and (found.one.changed, found.one.changed_count) == (6, 12)
    assert found.several is not None and (found.several.changed, found.several.changed_count) == (0, 6)


def test_names_are_compared_within_tasks(run, made):
    """An easy task whose names are mostly kept, a hard one whose are mostly changed: names do nothing."""

    def words(easy: bool, variant: int):
        text = "the bowl goes on the stove" if (variant > 0) == easy else "the basin goes on the stove"
        task = "libero_goal/1" if easy else "libero_goal/8"
        text = text if easy else text.replace("stove", "plate")
        labels = {"action": "hint", "variant": variant}
        return made(easy, task=task, seed=variant, condition="c", labels=labels, words=text)

    store = run(words(easy, variant) for easy in (True, False) for variant in range(8))
    overall = name_gaps(label_changes(store.frame())).overall
    assert (overall.kept, overall.kept_count, overall.changed, overall.changed_count) == (7, 8, 1, 8)
    assert overall.change == pytest.approx(0.0) and overall.strata == 2


def test_interval_includes_zero_if_the_test_does(run, made):
    """Three starts that all fall: no test of three can be sure."""
    texts = {"kept": "the bowl goes on the stove", "changed": "the basin goes on the stove"}
    store = run(
        made(name == "kept", seed=seed, condition=name, words=text)
        for seed in range(3)
        for name, text in texts.items()
    )
    overall = name_gaps(label_changes(store.frame())).overall
    assert overall.change == -1.0 and overall.p > 0.05 and overall.interval.high == 0.0


def test_names_need_wordings_that_keep_them(run, made):
    store = run(made(True, seed=seed, condition="c", words="the basin and the range") for seed in range(3))
    with pytest.raises(MeasureError, match="wordings that change a name"):
        name_gaps(label_changes(store.frame()))
