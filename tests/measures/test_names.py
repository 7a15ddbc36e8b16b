from __future__ import annotations

import pytest

from assay.measures import MeasureError, changed, name_gaps
from assay.measures.names import renamed


@pytest.mark.parametrize(
    ("text", "nouns"),
    [
        ("put the bowl on the stove", ""),
        ("place the mixing bowl onto the stove, please", ""),
        ("put the basin on the stove", "bowl"),
        ("put the basin on the range", "bowl+stove"),
    ],
)
def test_nouns_are_kept_or_renamed_word_for_word(text: str, nouns: str):
    assert renamed("libero_goal/1", text) == nouns


def test_of_a_task_that_nobody_knows_no_name_is_said_to_be_changed():
    assert renamed("elsewhere/7", "put the basin on the range") == ""


def rows(made, bowl: bool, stove: bool):
    """Seeds as strata: success hangs on which name is changed."""
    for seed in range(5):
        for place, (text, success) in enumerate(
            (
                ("the bowl goes on the stove", True),
                ("the basin goes on the stove", bowl),
                ("the bowl goes on the range", stove),
                ("the basin goes on the range", bowl and stove),
            )
        ):
            yield made(success, seed=seed, condition=f"wording {place}", words=text)


def test_each_noun_is_judged_by_the_wordings_that_rename_it_alone(run, made):
    store = run(rows(made, bowl=True, stove=False))
    found = name_gaps(changed(store, store.frame()))
    overall = found.overall
    assert (overall.kept, overall.kept_count, overall.changed, overall.changed_count) == (5, 5, 5, 15)
    assert overall.strata == 5 and overall.p == pytest.approx(2 / 2**5)
    stove, bowl = found.nouns
    assert (stove.noun, stove.change, stove.changed_count) == ("stove", -1.0, 5)
    assert (bowl.noun, bowl.change, bowl.p) == ("bowl", 0.0, 1.0)
    assert stove.interval.high < 0 < bowl.interval.high


def test_without_wordings_that_keep_the_names_nothing_can_be_said(run, made):
    store = run(made(True, seed=seed, condition="c", words="the basin and the range") for seed in range(3))
    with pytest.raises(MeasureError, match="others that change them"):
        name_gaps(changed(store, store.frame()))
