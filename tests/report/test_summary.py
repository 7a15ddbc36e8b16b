from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.measures.measure import Profile, profile
from assay.measures.views.wording import number
from assay.report.summary import describe_results
from assay.runs.store import Store
from assay.support.stats.intervals import Interval


def measured(path: Path):
    with Store.reading(path) as store:
        return profile(store)


@pytest.fixture(scope="module")
def found(everything: Path) -> Profile:
    return measured(everything)


def test_sentences_and_key_numbers_equal_the_measured_values(found: Profile):
    text = " ".join(describe_results(found)[0])
    rate, memory, failures = found["success_rate"], found["memorisation"].overall, found["failures"]
    assert f"in {rate.successes} of {rate.count} " in text and f"In {memory.alike} of {memory.count} " in text
    assert f"{failures.far['max']} (" in text and f"(PRIDE), is {number(found['pride'].pride)}" in text
    assert [each.name for each in describe_results(found)[1]] == [
        "success, perturbed",
        "success, control",
        "PRIDE",
        "overestimation",
        "memorisation index",
        "far failures",
    ]


def test_only_a_significant_loss_is_reported_as_a_cost(tmp_path: Path, write, made):
    episodes = [made(True, seed=seed) for seed in range(20)]
    episodes += [made(False, "lost", {"axis": "words"}, seed=seed) for seed in range(20)]
    episodes += [made(seed > 0, "kept", {"axis": "world"}, seed=seed) for seed in range(20)]
    text = " ".join(describe_results(measured(write(tmp_path / "run.assay", episodes)))[0])
    assert "Changes to the words cost 100.0 points" in text
    assert "Under changes to the world, success changes from 100 % to 95 % over 20 pairs" in text
    assert "significant effect" not in text, "verdicts are the diagnosis's alone"
    assert "losses: lost (100 % to 0 %)." in text


def test_overestimation_is_reported_only_if_significant(found: Profile):
    over = replace(
        found["overestimation"], overestimation=0.125, interval=Interval(0.031, 0.204, "bootstrap")
    )
    told = {
        interval: " ".join(
            describe_results(
                Profile(0, 0, {}, {**found, "overestimation": replace(over, interval=interval)})
            )[0]
        )
        for interval in (over.interval, Interval(-0.01, 0.26, "bootstrap"), None)
    }
    sure, *unsure = told.values()
    assert "the plain success rate overestimates it (by +12.5 %, 95 % interval 3.1 to 20.4)" in sure
    assert all("PRIDE" in text and "overestimates" not in text for text in unsure)
