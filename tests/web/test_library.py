from __future__ import annotations

import os
from pathlib import Path

from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.report.run_report import RunReport
from assay.runs.store import Store
from assay.web.library import Library, cached


def test_the_listed_rate_covers_perturbed_episodes_in_which_success_is_expected(tmp_path: Path):
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
    (line,) = Library(tmp_path).summaries()
    assert (line.done, line.planned, line.errors) == (11, 12, 2)
    assert line.rate.rate == 2 / 3 and not line.running
    reported = RunReport.read(tmp_path / "a.assay").profile["success_rate"]
    assert line.rate == (reported.rate, reported.interval), "as the report has it"


def test_a_name_that_is_not_utf8_is_listed_with_the_reason(tmp_path: Path):
    with Store.writing(tmp_path / "a.assay"):
        pass
    (tmp_path / "a.assay").rename(tmp_path / os.fsdecode(b"b\xff.assay"))
    (line,) = Library(tmp_path).summaries()
    assert line.name == "b\N{REPLACEMENT CHARACTER}" and not line.link
    assert line.problem == "the file name is not valid UTF-8"


def test_cached_values_are_recomputed_after_a_change(tmp_path: Path):
    path, calls = tmp_path / "a.assay", []
    path.write_text("1")

    def read(file: Path) -> str:
        calls.append(file)
        return file.read_text()

    get = cached(read, size=2)
    assert [get(path), get(path)] == ["1", "1"] and len(calls) == 1
    path.write_text("22")
    assert get(path) == "22" and len(calls) == 2
