"""Who is better and who is more robust, in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from assay.measures.compare import Aspect, Comparison, Decision, Robustness, RunContrast
from assay.report.comparison import additional_seeds, describe_decision, verdicts
from assay.support.stats.intervals import Interval

INTERVAL = Interval(0.05, 0.25, "x")


ALIKE: dict[str, Any] = {
    "first": "OpenVLA",
    "second": "pi0",
    "condition": None,
    "change": 0.15,
    "interval": INTERVAL,
    "p": 0.01,
    "p_holm": 0.01,
    "starts": 20,
    "telling": 20,
    "least_p": 0.0001,
    "tasks": 4,
    "over_tasks": None,
    "p_over_tasks": None,
    "margin": 0.05,
    "starts_needed": None,
}
SUCCESS = RunContrast(
    **ALIKE,
    count=40,
    both=20,
    only_first=4,
    only_second=12,
    neither=4,
    first_rate=0.6,
    second_rate=0.8,
    decision=Decision.BETTER,
)
DROP = Robustness(
    **ALIKE,
    aspect=Aspect.DROP,
    pairs=40,
    first_control=0.8,
    second_control=0.85,
    first_value=-0.2,
    second_value=-0.05,
    decision=Decision.BETTER,
)
KEPT = replace(DROP, aspect=Aspect.KEPT, decision=Decision.WORSE, first_value=0.9, second_value=0.8)


def compared(*robust: Robustness) -> Comparison:
    """A comparison of two runs, over all changes and in two conditions."""
    parts = tuple(
        replace(each, condition=f"pro/{name}") for each in robust for name in ("object", "position")
    )
    return Comparison({"OpenVLA": 40, "pi0": 40}, 40, (SUCCESS,), (), (), robust, parts)


def test_equivalent_and_undecided_pairs_have_a_verdict():
    (_, alike) = verdicts(compared(replace(DROP, decision=Decision.EQUIVALENT)))
    assert alike.startswith("OpenVLA and pi0 have equal drops, to within 5 points")
    (_, open_) = verdicts(compared(replace(DROP, decision=Decision.UNDECIDED, starts_needed=50)))
    assert "Undecided whether OpenVLA or pi0 has the larger drop" in open_ and "too few" not in open_
    assert open_.endswith("; 8 more seeds per task would decide a difference of this size.")


def test_an_undecided_comparison_names_the_additional_seeds():
    few = replace(DROP, decision=Decision.UNDECIDED, least_p=0.125, starts=4, starts_needed=22)
    assert (
        "4 starts are too few for any difference to be significant; 5 more seeds"
        in verdicts(compared(few))[1]
    )
    assert describe_decision(few) == "too few starts: 5 more seeds" and additional_seeds(few) == 5
    assert describe_decision(replace(few, starts_needed=None)) == "too few starts"
    assert describe_decision(replace(DROP, decision=Decision.UNDECIDED)) == "undecided"
    assert describe_decision(DROP) == "better"


def test_a_real_comparison_has_verdicts(tmp_path: Any, made: Any, write: Any, assay: Any):
    def run(name: str, hits: int) -> Any:
        episodes = [made(True, seed=seed) for seed in range(20)]
        episodes += [made(seed < hits, "moved", {"axis": "world"}, seed=seed) for seed in range(20)]
        return write(tmp_path / f"{name}.assay", episodes, label=name.upper())

    said = assay("compare", run("a", 2), run("b", 19), "--out", tmp_path / "out")
    assert said.status == 0 and "B has a smaller drop than A" in said.out
    assert "B retains more of its successes than A" in said.out
    wide = assay("compare", tmp_path / "a.assay", tmp_path / "b.assay", "--margin", "99", "--json", "-")
    assert json.loads(wide.out)["robustness"][0]["margin"] == 0.99
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert {"comparison.tex", "comparison-drop.tex", "comparison-kept.csv", "robustness.pdf"} <= files
