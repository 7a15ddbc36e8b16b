from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.report.run_report import RunReport
from assay.runs.queries import NotFoundError
from assay.runs.store import Store
from assay.web.library import Library, is_running


def test_success_is_that_of_changes_a_good_policy_should_bear(tmp_path: Path):
    specs = [
        EpisodeSpec("libero_goal/1", seed, condition=condition, labels=labels)
        for condition, labels in (
            ("control", {}),
            ("soft", {"plausible": True}),
            ("odd", {"plausible": False}),
        )
        for seed in range(4)
    ]
    with Store.writing(tmp_path / "a.assay") as store:
        store.describe(experiment="x", policy="p")
        store.plan(specs)
        for number, spec in enumerate(specs[:-1], start=1):
            outcome = Outcome.ERROR if spec.seed == 3 else Outcome.SUCCESS if spec.seed else Outcome.FAILURE
            store.append(number, Episode(outcome, 1, no_trajectory()))
    (line,) = Library(tmp_path).listed()
    assert (line.done, line.planned, line.errors) == (11, 12, 2)
    assert (line.rate.successes, line.rate.count) == (2, 3) and not line.running
    assert line.rate == RunReport.read(tmp_path / "a.assay").profile["success_rate"], "as the report has it"


def test_a_run_runs_while_a_driver_holds_it_and_not_when_it_was_killed(tmp_path: Path):
    path = tmp_path / "a.assay"
    assert not is_running(path)
    with Store.writing(path):
        assert is_running(path)
    assert not is_running(path)
    path.with_name(".a.assay.lock").touch()
    assert not is_running(path)


def test_names_that_no_address_can_hold_are_listed_with_the_reason(tmp_path: Path):
    with Store.writing(tmp_path / "a.assay"):
        pass
    (tmp_path / "a.assay").rename(tmp_path / os.fsdecode(b"b\xff.assay"))
    (line,) = Library(tmp_path).listed()
    assert (
        line.name == "b\N{REPLACEMENT CHARACTER}"
        and line.problem == "its name is not UTF-8"
        and not line.link
    )


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../a", "/etc/passwd", "a/../../b", ".hidden", "x\0y", "\ud800", "a" * 999]
)
def test_names_that_lead_elsewhere_are_not_found(tmp_path: Path, name: str):
    folder = tmp_path / "runs"
    folder.mkdir()
    for place in (tmp_path / "a.assay", folder / ".hidden.assay", folder / ".assay"):
        place.write_text("")
    with pytest.raises(NotFoundError, match="there is no run"):
        Library(folder).path(name)
