"""The forecast of a plan counts the same tests as the report on the run."""

from __future__ import annotations

import pytest
from bench.diagnosis import AsRead
from bench.synthetic import GOALS, Synthetic, drawn, even, planned

from assay.measures.diagnosis import _run_tests
from assay.measures.forecast import expect_tests
from assay.measures.search import search


@pytest.mark.parametrize(
    "experiment",
    [
        "pro position,semantic,object=colour,object,object+position,task,task=known,displace=0.2,words=xxx",
        "para?per_cell=1",
        "surface",
        "corruption",
    ],
)
def test_plan_counts_the_tests_and_the_patterns_of_its_report(experiment: str):
    specs = planned(experiment, GOALS[:4], 4)
    report = AsRead(drawn(Synthetic(even(0.6)), specs, experiment))
    told = expect_tests(specs)
    assert told.named == len(_run_tests([report])[0])
    assert told.searched == len(search([(0, report)]))


def test_conditions_without_expected_success_are_not_tested():
    specs = planned("corruption", GOALS[:2], 3)
    told = expect_tests(specs)
    assert told.changes and all(each.named and each.starts == 6 for each in told.changes)
    unlikely = {spec.condition for spec in specs if spec.labels.get("plausible") is False}
    assert unlikely - {"corruption/shuffle"} == set(told.unexpected), "words in another order may be guessed"
    assert not unlikely & {name for each in told.changes for name in each.conditions}


def test_joint_changes_are_searched_unless_they_are_one_question():
    found = {each.change: each for each in expect_tests(planned("pro", GOALS[:1], 1)).changes}
    assert found["position"].named and found["appearance+object"].named
    assert not found["position+appearance+object"].named
    assert found["position"].family < found["position+appearance+object"].family
