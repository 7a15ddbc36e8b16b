"""Runs of one policy are judged together, those of two never."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.report.comparison import compare_suites
from assay.report.page import build
from assay.report.run_report import RunReport, name_runs
from assay.report.summary import joint_diagnoses

BEFORE = {
    "policy": "python:m:P",
    "label": "mine",
    "policy_metadata": {"step": "100"},
    "policy_identity": {"m.py": "0" * 12},
}


def read(tmp_path: Path, write: Callable[..., Path], made: Any, **other: object) -> list[RunReport]:
    """Two runs of one address; ``other`` is what the second says otherwise."""
    episodes = [made(True, seed=seed) for seed in range(3)]
    return [
        RunReport.read(write(tmp_path / f"{name}.assay", episodes, **about))
        for name, about in (("one", BEFORE), ("two", {**BEFORE, **other}))
    ]


def test_runs_of_one_policy_are_pooled_under_its_label(tmp_path: Path, write, made, undrawn):
    reports = read(tmp_path, write, made)
    assert list(joint_diagnoses(reports)) == ["mine, from one and two together"]
    assert "<h3>mine, from one and two together</h3>" in undrawn(build(reports)).html()


@pytest.mark.parametrize(
    "other",
    [
        {"label": "another"},
        {"policy_metadata": {"step": "200"}},
        {"policy_identity": {"m.py": "1" * 12}},
        {"policy": "python:m:P?scale=2"},
        {"settings": {"latency": 4, "while_waiting": "play"}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_two_policies_are_never_pooled(tmp_path: Path, write, made, other: dict[str, object]):
    reports = read(tmp_path, write, made, **other)
    assert joint_diagnoses(reports) == {} and build(reports).policies == {}


def test_runs_with_different_latency_are_not_pooled(tmp_path: Path, write, made):
    late = {"latency": 4, "while_waiting": "hold"}
    episodes = [made(True, seed=seed) for seed in range(2)]
    paths = [
        write(tmp_path / f"{name}.assay", episodes, **{**BEFORE, "settings": settings})
        for name, settings in (("one", {}), ("two", {}), ("three", late), ("four", late))
    ]
    runs = name_runs(paths[1:3])
    assert list(runs) == ["mine, made", "mine, latency 4, while waiting hold, made"]
    reports = [RunReport.read(path) for path in paths]
    assert reports[0].title == "mine on made"
    assert reports[2].title == "mine on made (latency 4, while waiting hold)"
    assert list(joint_diagnoses(reports)) == [
        "mine, from one and two together",
        "mine, latency 4, while waiting hold, from three and four together",
    ]
    groups = compare_suites({report.name: path for report, path in zip(reports, paths, strict=True)}, reports)
    assert [group.names for group in groups] == [("one", "two"), ("three", "four")]
