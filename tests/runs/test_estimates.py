"""Cost and power of a run, estimated beforehand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.episodes import Episode, EpisodeSpec, Outcome
from assay.episodes.episode import no_trajectory
from assay.errors import RunError
from assay.measures.forecast import forecast
from assay.runs.estimates import EpisodePace, duration, earlier_runs, parse_duration, time_episodes
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.store import Store

pytestmark = pytest.mark.usefixtures("no_assets")


def recorded(
    path: Path,
    policy: str,
    outcomes: str,
    seconds: float = 4.0,
    steps: int | None = None,
    repeats: int = 1,
) -> Path:
    """A run of controls: s, f or e for each; an episode takes so many seconds."""
    kinds = {"s": Outcome.SUCCESS, "f": Outcome.FAILURE, "e": Outcome.ERROR}
    with Store.writing(path) as store:
        store.describe(policy=policy, pack="primitives", settings={"steps": steps})
        places = (divmod(number, repeats) for number in range(len(outcomes)))
        store.plan(EpisodeSpec("libero_goal/7", seed).repeat(repeat) for seed, repeat in places)
        for number, outcome in enumerate(outcomes, start=1):
            store.append(number, Episode(kinds[outcome], 0, no_trajectory(), seconds=seconds))
    return path


def test_earlier_runs_of_the_policy_tell_time_and_success(tmp_path: Path):
    recorded(tmp_path / "a.assay", "mine", "ssfe", 2.0)
    recorded(tmp_path / "b.assay", "mine", "s", 6.0)
    recorded(tmp_path / "c.assay", "another", "ffff", 100.0)
    (tmp_path / "d.assay").write_text("not a run")
    known = earlier_runs("mine", "primitives", [tmp_path])
    assert known.pace is not None and known.pace.seconds == pytest.approx((3 * 2 + 6) / 4)
    assert "4 episodes of 2 earlier runs" in known.pace.source
    assert (known.success, known.controls, known.repeated) == (3 / 4, 4, (0, 0))
    recorded(tmp_path / "e.assay", "noisy", "sssfffse", repeats=2)
    assert earlier_runs("noisy", "primitives", [tmp_path]).repeated == (3, 1)
    assert earlier_runs("mine", "libero", [tmp_path, tmp_path / "none"]).pace is None
    assert earlier_runs("mine", "primitives", [tmp_path], steps=10).pace is None, "theirs were longer"


def test_advised_seeds_meet_the_budget_and_the_loss(tmp_path: Path):
    work = RunPlan.make("corruption", RunOptions(tasks="libero_goal", seeds=tuple(range(5)), workers=2))
    found = forecast(work, "mine", folders=[tmp_path], success=0.8)
    assert found.seconds is None and found.success == 0.8
    recorded(tmp_path / "a.assay", "mine", "sssf", 10.0)
    found = forecast(work, "mine", folders=[tmp_path])
    assert found.success == 0.75 and found.seconds == pytest.approx(len(work.specs) * 10 / 2)
    seeds = found.seeds_within(2 * found.seconds)
    assert seeds == 10 and found.with_seeds(seeds).seconds == pytest.approx(2 * found.seconds)
    wanted = found.seeds_for(0.2)
    assert wanted is not None
    now, fewer = (found.with_seeds(each).worst for each in (wanted, wanted - 1))
    assert now is not None and fewer is not None and now <= 0.205 and fewer > 0.195


def test_only_recorded_episodes_of_the_same_plan_count_as_done(tmp_path: Path):
    def work(tasks: str, *seeds: int) -> RunPlan:
        return RunPlan.make("libero", RunOptions(tasks=tasks, seeds=seeds, workers=1))

    path = recorded(tmp_path / "a.assay", "mine", "ssff", 10.0)
    found = forecast(work("libero_goal/7", *range(8)), "mine", path=path, folders=[tmp_path])
    assert (found.done, found.seconds, found.tested) == (4, 40.0, ())
    assert forecast(work("libero_goal/8", 0, 1), "mine", path=path, folders=[]).done == 0
    assert forecast(work("libero_goal/7,libero_goal/8", 3, 4), "mine", path=path, folders=[]).done == 1
    one = work("libero_goal/7", 0)
    with Store.writing(tmp_path / "b.assay") as store:
        store.plan(replace(spec, steps=123) for spec in one.specs)
        store.append(1, Episode(Outcome.SUCCESS, 0, no_trajectory()))
    assert forecast(one, "mine", path=tmp_path / "b.assay").done == 1, "a certificate's time limit is ignored"


def test_certificates_to_make_are_counted():
    work = RunPlan.make("pro", RunOptions(tasks="libero_goal/7", seeds=(0,)))
    found = forecast(work, None)
    assert found.certificates.missing > 0 and found.seconds is None


def test_few_controls_are_timed():
    work = RunPlan.make("corruption", RunOptions(tasks="libero_goal/7", seeds=(0, 1), steps=2))
    pace = time_episodes(work, "idle", 2)
    assert (
        isinstance(pace, EpisodePace) and pace.seconds > 0 and pace.source == "measured on 2 episodes of idle"
    )


def test_durations_are_parsed_and_formatted():
    texts = ("2h", "90min", "1h30m", "45 s", "1.5h", 30, 2.5)
    assert [parse_duration(text) for text in texts] == [7200, 5400, 5400, 45, 5400, 30, 2.5]
    for wrong in ("", "2", "2 hours", "h", "2h x"):
        with pytest.raises(RunError, match="expected a time such as 90s"):
            parse_duration(wrong)
    said = [duration(each) for each in (0.2, 40, 720, 3600 * 3 + 600, 3600 * 52)]
    assert said == ["1 s", "40 s", "12 min", "3 h 10 min", "2 days 4 h"]
    assert np.isfinite(parse_duration("1d"))
