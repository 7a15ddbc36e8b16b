from __future__ import annotations

from pathlib import Path

import pytest

from assay.episodes import EpisodeSpec
from assay.errors import ExperimentError
from assay.experiments.reference_times import apply_time_limit, read_times


def written(folder: Path, text: str) -> str:
    (folder / "people.csv").write_text(text)
    return str(folder / "people.csv")


def test_seconds_are_twenty_steps_each_and_several_people_are_averaged(tmp_path: Path):
    times = read_times(
        written(tmp_path, "task,seconds,steps\nlibero_goal/1,5,\nlibero_goal/1,6,\nmine,,90\n")
    )
    assert times.of("libero_goal/1") == 110 and times.of("elsewhere/mine.bddl") == 90
    assert len(times.digest) == 12


def test_a_limit_is_a_multiple_and_what_it_is_a_multiple_of_is_a_label():
    spec = EpisodeSpec("libero_goal/1", 0, labels={"level": 1})
    timed = apply_time_limit(spec, 1.1, 90.0)
    assert timed.steps == 99 and timed.labels == {"level": 1, "reference_steps": 90.0, "limit_factor": 1.1}
    assert apply_time_limit(spec, 0.0, 90.0).steps is None and apply_time_limit(spec, None, 90.0) == spec


def test_an_invalid_time_is_rejected_with_its_line(tmp_path: Path):
    for text, reason in (
        ("task,minutes\na,1\n", "lacks the column steps or seconds"),
        ("task,seconds\n", "no rows"),
        ("task,seconds\nlibero_goal/1,fast\n", r"people.csv:2: seconds is 'fast': expected a number above 0"),
        ("task,seconds,steps\nlibero_goal/1,1,20\n", "either seconds or steps"),
        ("task,seconds\nlibero_goal/1,inf\n", "expected a number above 0"),
    ):
        with pytest.raises(ExperimentError, match=reason):
            read_times(written(tmp_path, text))
