from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import assay as api
from assay.api.tracking import Tracked, TrackedEpisode, TrackedRun, export, load_tracker
from assay.episodes import Episode, Outcome, no_trajectory
from assay.errors import RunError
from assay.measures.summary import Summary
from assay.runs.execute import Observer
from assay.runs.store import Store

GIVEN = {"tasks": "libero_goal/7", "conditions": "semantic", "steps": 1, "workers": 0, "certified": False}


class Board:
    """A dashboard that keeps everything it receives."""

    def __init__(self, breaks: bool = False) -> None:
        self.starts: list[TrackedRun] = []
        self.rows: list[TrackedEpisode] = []
        self.ends: list[Summary] = []
        self.breaks = breaks

    def start(self, about: TrackedRun) -> int:
        self.starts.append(about)
        return len(self.rows)

    def episode(self, row: TrackedEpisode) -> None:
        if self.breaks:
            raise ConnectionError("no route to host")
        self.rows.append(row)

    def finish(self, summary: Summary) -> None:
        self.ends.append(summary)


def tracked(board: Board, out: Path, seeds: int) -> None:
    observer = Tracked(Observer(), lambda: board)
    api.run("pro", "idle", out=out, seeds=seeds, observer=observer, **GIVEN)
    observer.close()


def test_a_resumed_run_continues_under_the_same_id(tmp_path: Path):
    board, out = Board(), tmp_path / "run.assay"
    tracked(board, out, 1)
    tracked(board, out, 2)
    assert [row.number for row in board.rows] == [0, 1, 2, 3]
    assert board.starts[0].id == board.starts[1].id and board.starts[0].name == "run"
    last = [row for row in board.rows if row.condition == "control"][-1]
    assert (last.rate, last.episodes) == (0.0, 2)
    assert last.scalars()["high/control"] == pytest.approx(last.high)
    assert board.ends[-1].rates["control"].episodes == 2


def test_a_failing_dashboard_stops_tracking_and_not_the_run(tmp_path: Path, capsys: pytest.CaptureFixture):
    board, out = Board(breaks=True), tmp_path / "run.assay"
    tracked(board, out, 2)
    assert api.load_run(out).frame().height == 4 and board.ends == []
    assert capsys.readouterr().err.count("tracking stopped: ConnectionError: no route to host") == 1


def test_episodes_missed_by_a_failing_dashboard_are_exported_once(played: Path, tmp_path: Path):
    out = Path(shutil.copy(played, tmp_path / "run.assay"))
    board = Board()
    with Store.reading(out) as store:
        observer = Tracked(Observer(), lambda: board)
        specs = store.specs()
        episodes = [Episode(Outcome.FAILURE, 6, no_trajectory(), seconds=1.0) for _ in specs]
        empty = Store.scratch()
        empty.path = out
        observer.began(empty, 4)
        observer.episode(specs[3], episodes[3])  # of two workers, the second is done first
        observer.episode(specs[0], episodes[0])
        board.breaks = True
        observer.episode(specs[2], episodes[2])
        board.breaks = False
        observer.episode(specs[1], episodes[1])  # tracking has stopped
        assert export(store, board) == 2 and export(store, board) == 0
        planned = [(spec.condition, spec.seed) for spec in specs]
    sent = [(row.condition, row.seed) for row in board.rows]
    assert sent == [planned[number] for number in (3, 0, 1, 2)]
    assert [row.number for row in board.rows] == [0, 1, 2, 3]
    assert sorted(row.episodes for row in board.rows) == [1, 1, 2, 2]


def test_an_unknown_tracker_or_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RunError, match="unknown tracker 'wandbb': did you mean 'wandb'"):
        load_tracker("wandbb")
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(RunError, match=r"the package trackio.* pip install 'assay-robotics\[trackio"):
        load_tracker("trackio")
