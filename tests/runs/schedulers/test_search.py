"""Searches as runs, of players whose outcomes are known beforehand: nothing is simulated, and nothing certified."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.api.running import SearchResult, search
from assay.cli.duel import write_report
from assay.episodes import CONTROL, EpisodeSpec
from assay.errors import ExperimentError, RunError
from assay.experiments import axes
from assay.experiments.axes import AXES, Axis, Rung
from assay.measures.measure import profile
from assay.perturb.senses.robot import ActionDelay
from assay.perturb.words.distance.pride import DistanceError
from assay.runs.options import RunOptions
from assay.runs.store import Store
from assay.tasks import Task

from .players import Played, StopsAfter

OPTIONS = RunOptions(tasks="libero_goal/1,libero_goal/7", certified=False)
Plays = Callable[[EpisodeSpec], bool]


def late(steps: int) -> Plays:
    """Bears actions that come so many steps late."""
    return lambda spec: sum(e.steps for e in spec.perturbations if isinstance(e, ActionDelay)) <= steps


def searched(
    path: Path, rule: Plays, *, workers: int = 1, axes: Sequence[str] = ("delay",), **more
) -> SearchResult:
    return search(Played(rule, workers), axes, out=path, options=more.pop("options", OPTIONS), **more)  # type: ignore[arg-type]


def test_known_threshold_is_in_its_interval_for_every_task(tmp_path: Path):
    found = searched(tmp_path / "a.assay", late(8), budget=120)
    assert found.left == 0 and found.played <= 120 and len(found.thresholds.found) == 2
    for each in found.thresholds.found:
        assert (each.kept, each.lost, each.best, each.ended) == (8, 9, 9, "settled")
        assert each.unit == "steps" and each.succeeded == each.controls
    with Store.reading(found.path) as store:
        frame = store.frame()
        told = profile(store, with_paths=False).as_json()
    assert {"control", "search/delay=9"} <= set(frame["condition"])
    starts = frame.filter(frame["condition"] != CONTROL).select("task", "seed").unique()
    controls = frame.filter(frame["condition"] == CONTROL).select("task", "seed")
    assert len(starts.join(controls, on=["task", "seed"], how="anti")) == 0
    assert json.loads(json.dumps(told))["thresholds"]["found"][0]["lost"] == 9


def test_tables_the_figure_and_a_video_of_a_failure_are_written(tmp_path: Path, drawing: str):
    one = RunOptions(tasks="libero_goal/7", certified=False)
    found = searched(tmp_path / "a.assay", late(8), budget=60, options=one)
    made = write_report(found, tmp_path / "report", videos=1)
    (video,) = made.values()
    assert video.startswith("videos/") and (tmp_path / "report" / video).stat().st_size > 1000
    assert {"thresholds.csv", "thresholds.tex", "thresholds.svg"} <= {
        each.name for each in (tmp_path / "report").iterdir()
    }
    assert write_report(found, tmp_path / "none", videos=0) == {}


def test_workers_and_interruptions_change_nothing(tmp_path: Path):
    whole = searched(tmp_path / "whole.assay", late(5), budget=100)
    many = searched(tmp_path / "many.assay", late(5), budget=100, workers=3)
    assert many.thresholds == whole.thresholds and many.played == whole.played
    part = tmp_path / "part.assay"
    for count in (1, 7, 16):
        assert searched(part, late(5), budget=100, observer=StopsAfter(count)).left > 0
    resumed = searched(part, late(5), budget=100)
    assert resumed.thresholds == whole.thresholds and resumed.played == whole.played and resumed.left == 0
    again = Played(late(5))
    assert search(again, ("delay",), out=part, options=OPTIONS, budget=100) == resumed and not again.seen


def test_larger_budget_and_another_axis_resume_the_search(tmp_path: Path):
    path = tmp_path / "a.assay"
    little = searched(path, late(5), budget=30)
    assert {each.ended for each in little.thresholds.found} == {"budget"}
    player = Played(late(5))
    more = search(player, ("delay", "noise"), out=path, options=OPTIONS, budget=200)
    assert more is not None and more.played == little.played + len(player.seen)
    found = {(each.task, each.axis): (each.kept, each.lost) for each in more.thresholds.found}
    assert found["libero_goal/1", "delay"] == (5, 6) and found["libero_goal/1", "noise"] == (10, None)


def test_floor_and_impossible_axes_are_reported(tmp_path: Path):
    floor = searched(tmp_path / "a.assay", lambda spec: False, budget=100)
    assert floor.played <= 30 and len(floor.notes) == 2
    assert floor.notes[0] == "libero_goal/1: all 5 controls failed, so there is no success to lose"
    fixed = searched(tmp_path / "b.assay", lambda spec: True, axes=("distance",), budget=60)
    assert [each.task for each in fixed.thresholds.found] == ["libero_goal/1"]
    assert fixed.thresholds.cannot == (
        "distance: the target of libero_goal/7 is flat_stove_1, which cannot be moved",
    )


def test_task_without_scored_paraphrases_is_left_out_and_reported(tmp_path: Path, monkeypatch):
    def none(pairs: Sequence[tuple[str, str]]) -> list[DistanceError]:
        return [DistanceError("no word of it is known") for _ in pairs]

    axes._rewording.cache_clear()
    monkeypatch.setattr(axes, "cached_attempts", none)
    one = RunOptions(tasks="libero_goal/1", certified=False)
    found = searched(tmp_path / "a.assay", late(5), axes=("delay", "rewording"), budget=20, options=one)
    assert [each.axis for each in found.thresholds.found] == ["delay"]
    assert found.thresholds.cannot == (
        "rewording: libero_goal/1 has no paraphrase that differs from its instruction: no word of it is known",
    )


def test_invalid_searches_are_refused_and_leave_no_file(tmp_path: Path):
    for options, message in (
        ({"axes": ()}, "choose distinct axes from distance"),
        ({"axes": ("delay", "delay")}, "choose distinct axes"),
        ({"budget": 11}, "a budget of 11 episodes leaves only 5 for each of 2 searches"),
        ({"level": 1.0}, "level 1: expected a number between 0 and 1"),
    ):
        with pytest.raises((RunError, ExperimentError), match=message):
            searched(tmp_path / "a.assay", late(5), **options)
        assert not list(tmp_path.iterdir())
    searched(tmp_path / "a.assay", late(5), budget=30)
    with pytest.raises(RunError, match=r"was searched with level 0\.5, not 0\.8"):
        searched(tmp_path / "a.assay", late(5), budget=80, level=0.8)


def test_axis_of_ones_own_is_searched_and_the_run_remembers_its_module(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(AXES._known, "late", Axis("late", "how late", "steps", own_changes))
    found = searched(tmp_path / "a.assay", late(3), axes=("late",), budget=80)
    assert {(each.axis, each.kept, each.lost) for each in found.thresholds.found} == {("late", 2, 4)}
    with Store.reading(found.path) as store:
        assert [each["module"] for each in store.meta["plugins"]] == [__name__]


def own_changes(task: Task) -> list[Rung]:
    return [Rung(steps, ((ActionDelay(steps),),)) for steps in (2, 4, 6)]
