"""Duels between players whose outcomes are known beforehand: nothing is simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.episodes import CONTROL, EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.errors import RunError
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.runs.executor import Done, Event
from assay.runs.options import RunOptions
from assay.runs.schedulers.duel import Duel, duel
from assay.runs.schedulers.plan import Scheduler
from assay.runs.store import Store
from assay.support.stats.judgement import PairVerdict
from assay.support.streams import stream

from .players import Played, StopsAfter

WORDS = Experiment(
    "words",
    "Two wordings.",
    variants=lambda task: (Variant("kind", (Say("please"),)), Variant("rude", (Say("now"),))),
)
OPTIONS = RunOptions(tasks="libero_goal/1,libero_goal/7", seeds=tuple(range(20)))
Plays = Callable[[EpisodeSpec], Outcome]


class Comes(Played):
    """Fails always; a rule says how far it comes, 0 to 1, None where that is not recorded."""

    def __init__(self, name: str, how_far: Callable[[EpisodeSpec], float | None]) -> None:
        super().__init__(never, address=name)
        self._how_far = how_far

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        for event in super().execute(source, stopping):
            assert isinstance(event, Done)
            yield replace(event, episode=replace(event.episode, progress=self._how_far(self.seen[-1])))


def always(spec: EpisodeSpec) -> Outcome:
    return Outcome.SUCCESS


def never(spec: EpisodeSpec) -> Outcome:
    return Outcome.FAILURE


def often(share: float, name: str) -> Plays:
    return lambda spec: Outcome.SUCCESS if stream(spec.key, name).random() < share else Outcome.FAILURE


def fought(folder: Path, one: Plays, other: Plays, options: RunOptions = OPTIONS, **more) -> Duel:
    players = Played(one, address="one"), Played(other, address="other")
    return duel(*players, WORDS, out=folder, options=options, **more)


def test_duel_stops_when_decided_and_both_play_the_same_starts_in_one_order(tmp_path: Path):
    players = Played(always, address="one"), Played(never, address="other")
    found = duel(*players, WORDS, out=tmp_path, options=OPTIONS)
    assert found.left == 0
    judged = found.judgement
    assert judged.verdict is PairVerdict.WORSE and judged.status == 1
    assert judged.overall.change == -1 and -1 <= judged.overall.low < judged.overall.high <= 0
    assert [spec.key for spec in players[0].seen] == [spec.key for spec in players[1].seen]
    starts = [(spec.task, spec.seed) for spec in players[0].seen]
    assert len(set(starts)) == len(starts) == judged.overall.starts == judged.played / 2 < judged.planned / 2
    assert sorted(starts) != starts
    for path in found.runs:
        with Store.reading(path) as store:
            assert store.done == len(starts) and store.planned == 40


def test_better_equal_and_undecided_policies_are_distinguished(tmp_path: Path):
    assert fought(tmp_path / "a", never, always).judgement.verdict is PairVerdict.BETTER
    same = often(0.5, "same")
    equal = fought(tmp_path / "b", same, same, margin=0.3).judgement
    assert equal.verdict is PairVerdict.EQUIVALENT and equal.status == 0 and equal.played < equal.planned
    assert -0.3 < equal.overall.low <= 0 <= equal.overall.high < 0.3
    unsure = fought(tmp_path / "c", same, same, margin=0.01).judgement
    assert (
        unsure.verdict is PairVerdict.UNDECIDED
        and unsure.status == 3
        and unsure.played == unsure.planned == 80
    )


def test_interrupted_duel_comes_to_the_same_judgement_and_more_seeds_go_on(tmp_path: Path):
    rules = often(0.3, "one"), often(0.8, "other")
    whole = fought(tmp_path / "whole", *rules)
    assert whole.judgement.verdict is PairVerdict.BETTER
    assert (whole.judgement.overall.planned, whole.judgement.overall.rule) == (40, "sign test")
    for place in (1, 6, 11):
        part = fought(tmp_path / "part", *rules, observer=StopsAfter(place))
        assert part.left > 0 and part.judgement.verdict is PairVerdict.UNDECIDED
    resumed = fought(tmp_path / "part", *rules)
    assert resumed.judgement == whole.judgement and resumed.left == 0
    again = fought(tmp_path / "part", *rules)
    assert again.judgement == whole.judgement
    few = replace(OPTIONS, seeds=(0, 1, 2))
    assert fought(tmp_path / "more", *rules, few).judgement.verdict is PairVerdict.UNDECIDED
    players = Played(rules[0], address="one"), Played(rules[1], address="other")
    more = duel(*players, WORDS, out=tmp_path / "more", options=OPTIONS)
    assert more.judgement.verdict is PairVerdict.BETTER
    assert (more.judgement.overall.planned, more.judgement.overall.rule) == (6, "bets"), (
        "the plan was exceeded"
    )
    assert all(
        spec.seed > 2 for spec in players[0].seen
    )  # what was there stays first, and is not played again


def test_every_condition_is_decided_if_asked_and_then_no_longer_played(tmp_path: Path):
    def moody(spec: EpisodeSpec) -> Outcome:
        return Outcome.FAILURE if spec.condition == "rude" else Outcome.SUCCESS

    players = Played(always, address="one"), Played(moody, address="other")
    found = duel(*players, WORDS, out=tmp_path, options=OPTIONS, per_start=None, each=True, margin=0.3)
    judged = found.judgement
    verdicts = {line.condition: line.verdict for line in judged.conditions}
    assert verdicts == {
        CONTROL: PairVerdict.EQUIVALENT,
        "kind": PairVerdict.EQUIVALENT,
        "rude": PairVerdict.WORSE,
    }
    assert judged.verdict is PairVerdict.WORSE and judged.overall.change == pytest.approx(-1 / 3)
    alone = fought(tmp_path / "alone", always, moody, per_start=None, margin=0.3).judgement
    assert alone.overall == judged.overall  # what comes of all together does not hang on what else is asked
    keys = [line.starts for line in judged.conditions]
    assert max(keys) < 40 and keys[2] < keys[0]


def test_errors_count_for_neither(tmp_path: Path):
    def breaks(spec: EpisodeSpec) -> Outcome:
        return Outcome.ERROR if spec.seed % 2 else Outcome.FAILURE

    judged = fought(tmp_path, always, breaks).judgement
    assert judged.verdict is PairVerdict.WORSE and judged.errors > 0
    assert judged.overall.pairs == judged.played / 2 - judged.errors


def test_invalid_duels_are_refused(tmp_path: Path):
    players = Comes("one", lambda spec: None), Comes("other", lambda spec: None)
    with pytest.raises(RunError, match="does not record progress"):
        duel(*players, WORDS, out=tmp_path / "unrecorded", options=OPTIONS, measure="progress")
    with pytest.raises(RunError, match="measure 'speed': choose one of success, progress"):
        duel(*players, WORDS, out=tmp_path / "unknown", options=OPTIONS, measure="speed")
    with pytest.raises(RunError, match=r"margin 5: expected a number between 0 and 1"):
        fought(tmp_path, always, never, margin=5.0)
    fought(tmp_path, always, never)
    with pytest.raises(RunError, match="per_start=1, not None"):
        fought(tmp_path, always, never, per_start=None)
    other = tmp_path / "other"
    with Store.writing(other / "A.assay") as store:
        store.plan([EpisodeSpec("libero_goal/7", 0)])
        store.append(1, Episode(Outcome.SUCCESS, 1, no_trajectory()))
    with pytest.raises(RunError, match="not part of a duel"):
        fought(other, always, never)


def test_duel_killed_before_its_first_episode_resumes(tmp_path: Path):
    with Store.writing(tmp_path / "A.assay"):
        pass
    assert fought(tmp_path, always, never).judgement.verdict is PairVerdict.WORSE


def test_starts_are_dealt_every_condition_alike(tmp_path: Path):
    few = replace(OPTIONS, seeds=tuple(range(60)))
    found = fought(tmp_path, often(0.5, "a"), often(0.5, "b"), few, margin=0.001)
    with Store.reading(found.runs[0]) as store:
        counts = np.array([count for _, count in store.conditions()])
    assert counts.sum() == 120 and counts.min() > 25


def test_policies_that_never_succeed_are_compared_by_progress(tmp_path: Path):
    near = Comes("near", lambda spec: stream(spec.key, "near").uniform(0.5, 0.8))
    far = Comes("far", lambda spec: stream(spec.key, "far").uniform(0.0, 0.3))
    by_success = duel(far, near, WORDS, out=tmp_path / "success", options=OPTIONS, margin=0.01)
    assert by_success.judgement.verdict is not PairVerdict.BETTER
    found = duel(
        far, near, WORDS, out=tmp_path / "progress", options=OPTIONS, measure="progress", margin=0.01
    )
    assert found.judgement.verdict is PairVerdict.BETTER
    assert found.judgement.measure == "progress" and 0.3 < (found.judgement.overall.change or 0) < 0.7
    assert found.judgement.played < found.judgement.planned and found.judgement.overall.rule == "bets"
    again = duel(
        far, near, WORDS, out=tmp_path / "progress", options=OPTIONS, measure="progress", margin=0.01
    )
    assert again.judgement == found.judgement, "read from the runs"
    with pytest.raises(RunError, match="measure=progress, not success"):
        duel(far, near, WORDS, out=tmp_path / "progress", options=OPTIONS, margin=0.01)
