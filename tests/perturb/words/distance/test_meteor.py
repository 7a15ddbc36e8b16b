from __future__ import annotations

import pytest

from assay.perturb.words.distance.baselines import meteor
from assay.perturb.words.stems import stem


@pytest.mark.parametrize(
    ("original", "paraphrase", "published"),
    [
        ("Put the cream cheese in the bowl", "carefully put the cream cheese in the bowl", 0.02),
        ("Put the cream cheese in the bowl", "put the cheese spread in the vessel", 0.36),
        ("Put the cream cheese in the bowl", "Is the spread supposed to go in the container?", 0.65),
        ("Turn on the stove", "carefully turn on the stove", 0.03),
        ("Turn on the stove", "turn on the range", 0.26),
        ("Turn on the stove", "Is the range hot yet?", 0.88),
    ],
)
def test_meteor_is_the_one_of_the_paper(original: str, paraphrase: str, published: float):
    assert 1 - meteor(original, paraphrase) == pytest.approx(published, abs=0.006)


def test_of_alignments_with_the_most_matches_that_with_the_fewest_chunks_counts():
    assert meteor("the rack and the bowl", "the bowl") > meteor("the rack and a the of bowl", "the bowl")


def test_words_of_one_stem_match_and_others_do_not():
    assert meteor("open the drawer", "opening the drawers") > meteor("open the drawer", "shutting the doors")
    assert meteor("turn on the stove", "xyz") == 0 == meteor("turn on the stove", "...")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *(
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
        ),
        *(
            ("motoring", "motor"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
        ),
        *(("happy", "happi"), ("relational", "relat"), ("digitizer", "digit"), ("operator", "oper")),
        *(("hopefulness", "hope"), ("electrical", "electr"), ("adjustment", "adjust"), ("adoption", "adopt")),
        *(
            ("probate", "probat"),
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controll", "control"),
            ("roll", "roll"),
        ),
        *(("sky", "sky"), ("is", "is"), ("bowls", "bowl"), ("placed", "place")),
    ],
)
def test_stems_are_porter_s(word: str, expected: str):
    assert stem(word) == expected
