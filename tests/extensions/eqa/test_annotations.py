from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.eqa.annotations import agreement, all_agreements
from assay.measures.result import MeasureError


def test_agreement_of_the_papers_example():
    first = np.tile(np.arange(4), 30)
    second = first.copy()
    second[:5] = (second[:5] + 1) % 4  # 115 of 120 agree: 95.8 %
    found = agreement({"one": first, "two": second})
    assert found.items == 120 and round(found.observed, 3) == 0.958 and round(found.even_kappa, 3) == 0.944
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.925, 0.983), abs=0.01)
    assert found.kappa == pytest.approx(0.944, abs=0.002) and found.ac1 == pytest.approx(0.944, abs=0.002)


def test_agreement_needs_common_questions_and_matches_cohens_textbook_example():
    """Both yes 20, no 15, apart 5 and 10: kappa is 0.4."""
    first = np.repeat([0, 0, 1, 1], [20, 5, 10, 15])
    second = np.repeat([0, 1, 0, 1], [20, 5, 10, 15])
    assert agreement({"one": first, "two": second}).kappa == pytest.approx(0.4)
    found = agreement({"one": np.array([0, 1, 2, -1]), "two": np.array([0, 2, -1, 3])})
    assert found.items == 2 and found.observed == 0.5 and found.interval is None
    letters = {"one": np.array([0, -1]), "two": np.array([-1, 0])}
    with pytest.raises(MeasureError, match="no question was answered by two"):
        agreement(letters)
    assert all_agreements(letters) == ()


def test_three_people_are_compared_together_and_in_pairs():
    letters = {name: np.array([0, 1, 2, 3]) for name in "abc"} | {"d": np.full(4, -1)}
    found = all_agreements(letters)
    assert [each.annotators for each in found] == [tuple("abcd"), ("a", "b"), ("a", "c"), ("b", "c")]
    assert all(each.observed == each.kappa == 1.0 for each in found)


def test_chance_of_ac1_includes_questions_with_one_answer():
    """Gwet: questions that one person answered tell how often letters are given, too."""
    one, two = np.array([0, 0, 1, 1, 2, 3, 3, 3, 3]), np.array([0, 1, 1, 1, -1, -1, -1, -1, -1])
    shares = np.array([1.5, 2.5, 1, 4]) / 9
    chance = (shares * (1 - shares)).sum() / 3
    found = agreement({"one": one, "two": two})
    assert found.ac1 == pytest.approx((0.75 - chance) / (1 - chance))
