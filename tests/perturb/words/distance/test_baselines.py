from __future__ import annotations

import pytest

from assay.perturb.words.distance.baselines import baselines

pytestmark = pytest.mark.usefixtures("models")


@pytest.mark.parametrize(
    ("original", "paraphrase", "published"),
    [
        ("Put the cream cheese in the bowl", "carefully put the cream cheese in the bowl", 0.16),
        ("Put the cream cheese in the bowl", "put the cheese spread in the vessel", 0.80),
        ("Turn on the stove", "turn on the range", 0.41),
        ("Turn on the stove", "Is the range hot yet?", 0.92),
    ],
)
def test_bleu_is_the_one_of_the_paper(original: str, paraphrase: str, published: float):
    (found,) = baselines([(original, paraphrase)])
    assert 1 - found.bleu == pytest.approx(published, abs=0.006)


def test_the_same_words_are_wholly_alike():
    (found,) = baselines([("turn on the stove", "turn on the stove")])
    assert (found.bleu, found.bert_score) == pytest.approx((1.0, 1.0))


def test_bert_score_falls_as_meaning_does():
    original = "turn on the stove"
    texts = ("please turn on the stove", "turn on the range", "the cheese is blue")
    near, far, farther = (each.bert_score for each in baselines([(original, text) for text in texts]))
    assert near > far > farther


def test_bert_score_looks_from_both_sides():
    pair = ("turn on the stove", "turn on the stove and then put the bowl on the plate")
    there, back = baselines([pair, pair[::-1]])
    assert there.bert_score == pytest.approx(back.bert_score) and there.bert_score < 1
