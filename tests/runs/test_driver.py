"""Real runs in real processes: they are killed, and end up as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.errors import PolicyError
from assay.experiments import Experiment, Variant
from assay.measures.success.drops import drops
from assay.perturb import Say
from assay.runs.driver import Ending, drive
from assay.runs.executor import Done, EpisodeRunner, Event, WorkerConfig
from assay.runs.local import LocalProcesses
from assay.runs.schedulers.plan import Scheduler
from assay.runs.schedulers.until import Pairs
from assay.runs.store import Store

from .conftest import done

SUITE = Experiment("words", "One wording.", variants=lambda task: (Variant("para", (Say("do it"),)),))
CHOSEN = [tasks.load("libero_goal/7"), tasks.load("libero_spatial/0")]


def plan(seeds: int, steps: int = 6) -> list[EpisodeSpec]:
    return list(SUITE.plan(CHOSEN, range(seeds), steps=steps))


MODULE = textwrap.dedent(
    """
    import os, signal, time
    import numpy as np

    class Base:
        def reset(self, instruction, spec): self.spec = spec
        def act(self, observation): return np.zeros((1, 7))

    class Segfaults(Base):
        def act(self, observation):
            if self.spec.seed == 1: os.kill(os.getpid(), signal.SIGSEGV)
            return super().act(observation)

    class Exits(Base):
        def act(self, observation):
            if self.spec.seed == 1: os._exit(3)
            return super().act(observation)

    class Hangs(Base):
        def act(self, observation):
            if self.spec.seed == 1: time.sleep(600)
            return super().act(observation)

    class Moody(Base):
        "Breaks the first time it is asked for an episode."
        seen = set()
        def reset(self, instruction, spec):
            super().reset(instruction, spec)
            if spec.key not in self.seen:
                self.seen.add(spec.key)
                raise RuntimeError("not in the mood")

    class Away(Base):
        def reset(self, instruction, spec):
            from assay.errors import PolicyError
            error = PolicyError("nobody answers")
            error.transient = True
            raise error

    class Unborn(Base):
        def __init__(self): raise OSError("no checkpoint")
    """
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "moody_policies.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    return "python:moody_policies"


def executed(path: Path, specs: list[EpisodeSpec], orders: WorkerConfig, workers: int = 2, **more) -> Ending:
    timeout = more.pop("timeout", 60.0)
    with Store.writing(path) as store:
        store.plan(specs)
        return drive(store, LocalProcesses(orders, workers, timeout=timeout), **more)


def outcomes(path: Path) -> dict[tuple[str, str, int], str]:
    with Store.reading(path) as store:
        rows = store.frame().iter_rows(named=True)
        return {(row["task"], row["condition"], row["seed"]): row["outcome"] for row in rows}


def test_one_worker_or_two_or_this_process_give_the_same_episodes(tmp_path: Path, facts):
    specs = plan(2)
    orders = WorkerConfig("random")
    for workers in (1, 2):
        assert executed(tmp_path / f"{workers}.assay", specs, orders, workers) == Ending(8, 0)
    stage = EpisodeRunner(orders)
    with Store.writing(tmp_path / "0.assay") as store:
        store.plan(specs)
        for waiting, spec in zip(store.todo(), specs, strict=True):
            store.append(waiting.number, stage.run(spec))
    stage.close()
    found = []
    for name in (0, 1, 2):
        with Store.reading(tmp_path / f"{name}.assay") as store:
            found.append(facts(store))
    assert found[0] == found[1] == found[2] and len(found[0]) == 8


@pytest.mark.parametrize(("name", "reason"), [("Segfaults", "SIGSEGV"), ("Exits", "exit status 3")])
def test_episode_that_kills_its_worker_twice_is_an_error_and_the_run_continues(
    tmp_path: Path, module: str, name: str, reason: str
):
    path = tmp_path / "a.assay"
    specs = [spec for spec in plan(3) if spec.condition == "control"]
    assert executed(path, specs, WorkerConfig(f"{module}:{name}")).left == 0
    found = outcomes(path)
    assert len(found) == 6
    assert {seed for (_, _, seed), outcome in found.items() if outcome == "error"} == {1}
    with Store.reading(path) as store:
        assert store.reasons() == {f"the worker died: {reason} (2 times on this episode)": 2}


def test_policy_that_hangs_is_ended(tmp_path: Path, module: str):
    path = tmp_path / "a.assay"
    specs = [spec for spec in plan(2) if spec.task == "libero_goal/7" and spec.condition == "control"]
    executed(path, specs, WorkerConfig(f"{module}:Hangs"), workers=1, timeout=4.0)
    with Store.reading(path) as store:
        (reason,) = store.reasons()
    assert "did not respond for 4 s" in reason and sorted(outcomes(path).values()) == ["error", "failure"]


def test_failed_attempts_are_retried_with_the_same_seed_and_counted(tmp_path: Path, module: str):
    for retries, expected in ((0, "error"), (1, "failure")):
        path = tmp_path / f"{retries}.assay"
        executed(path, plan(1), WorkerConfig(f"{module}:Moody", retries=retries), workers=1)
        assert set(outcomes(path).values()) == {expected}
        with Store.reading(path) as store:
            assert set(store.frame()["attempts"]) == {retries + 1}


def test_policy_that_is_away_stops_the_run_and_is_tried_again_later(tmp_path: Path, module: str):
    path = tmp_path / "a.assay"
    ending = executed(path, plan(4), WorkerConfig(f"{module}:Away"), workers=1)
    assert "nobody answers" in ending.reason and ending.left > 0
    with Store.writing(path) as store:
        assert len(store.todo()) == 16


def test_policy_that_cannot_be_loaded_is_refused(tmp_path: Path, module: str):
    with pytest.raises(PolicyError, match="OSError: no checkpoint"):
        executed(tmp_path / "a.assay", plan(1), WorkerConfig(f"{module}:Unborn"))


def test_stopping_finishes_running_episodes_and_leaves_the_rest(tmp_path: Path):
    path = tmp_path / "a.assay"
    seen: list[object] = []
    ending = executed(
        path,
        plan(6),
        WorkerConfig("random"),
        stopping=lambda: len(seen) >= 3,
        watch=lambda spec, episode: seen.append(spec) if spec else None,
    )
    assert 3 <= ending.done < 24 and ending.done + ending.left == 24
    assert executed(path, plan(6), WorkerConfig("random")) == Ending(ending.left, 0)


def test_conditions_are_decided_alike_by_one_worker_and_by_two(tmp_path: Path):
    specs = plan(40, steps=1)
    kept = []
    for workers in (1, 2):
        path = tmp_path / f"{workers}.assay"
        executed(path, specs, WorkerConfig("idle"), workers, until="decided=0.3")
        with Store.reading(path) as store:
            assert set(store.stopped) == {"control", "para"}
            assert all(rule["high"] < 0.3 for rule in store.stopped.values())
            kept.append(store.frame()["key"].to_list())
            assert store.done < 160
    assert kept[0] == kept[1]
    assert executed(path, specs, WorkerConfig("idle")).done == 0, "what is decided is not gone on with"


class Scripted:
    """Performs no episode: controls succeed, and so do the seeds that a rule names; controls may come last."""

    workers = 1

    def __init__(self, succeeds: Callable[[int], bool] = lambda seed: False, *, controls_late: bool = False):
        self.succeeds, self.controls_late = succeeds, controls_late

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        if self.controls_late:
            played: list[tuple[int, EpisodeSpec]] = []
            while batch := source.take(None):
                played += batch
            yield from map(self.perform, sorted(played, key=lambda item: item[1].condition == "control"))
        while batch := source.take(None):
            yield from map(self.perform, batch)

    def perform(self, item: tuple[int, EpisodeSpec]) -> Event:
        number, spec = item
        success = spec.condition == "control" or self.succeeds(spec.seed)
        return Done(number, Episode(Outcome.SUCCESS if success else Outcome.FAILURE, 1, no_trajectory()))


def starts_by_condition(store: Store) -> dict[str, set[tuple[object, ...]]]:
    return {
        str(condition): set(group.select("task", "seed").iter_rows())
        for (condition,), group in store.frame().group_by("condition")
    }


@pytest.mark.parametrize(
    ("rule", "stops"), [("differs=0.05", {"para"}), ("decided=0.5", {"control", "para"})]
)
def test_condition_that_stops_early_keeps_its_pairs(tmp_path: Path, rule: str, stops: set[str]):
    with Store.writing(tmp_path / "a.assay") as store:
        store.plan(plan(30))
        drive(store, Scripted(), until=rule)
        starts = starts_by_condition(store)
        assert set(store.stopped) == stops and 5 < len(starts["para"]) < 20
        assert starts["para"] <= starts["control"], "every one has its control"
        if rule == "differs=0.05":
            assert store.stopped["para"]["only_control"] == len(starts["para"])
            assert store.stopped["para"]["p"] <= 0.05 and len(starts["control"]) == 60


def test_boundary_ends_with_the_starts_planned_when_the_rule_was_first_used(tmp_path: Path):
    counted = {}
    for name, stages in {"at once": (30,), "extended": (2, 30)}.items():
        with Store.writing(tmp_path / f"{name}.assay") as store:
            for seeds in stages:
                assert "para" not in store.stopped
                store.plan(plan(seeds))
                drive(store, Scripted(), until="differs=0.05")
            rule = store.stopped["para"]
            assert rule["planned"] == (60 if len(stages) == 1 else 0) and rule["p"] <= 0.05
            counted[name] = rule["only_control"]
    assert counted["extended"] > counted["at once"], "only the part kept for an extension is left"


def test_controls_continue_as_long_as_a_condition_does(tmp_path: Path):
    """Controls are decided after a few episodes, but the condition would have no pairs without them."""
    with Store.writing(tmp_path / "a.assay") as store:
        store.plan(plan(40))
        drive(store, Scripted(lambda seed: seed % 2 == 0), until="half-width=0.2")
        starts = starts_by_condition(store)
        assert set(store.stopped) == {"control", "para"}
        assert starts["para"] == starts["control"] and 20 < len(starts["para"]) < 80
        assert store.stopped["control"]["episodes"] == len(starts["control"])


def test_controls_are_decided_even_if_they_finish_last(tmp_path: Path):
    with Store.writing(tmp_path / "a.assay") as store:
        store.plan(plan(20))
        drive(store, Scripted(controls_late=True), until="decided=0.3")
        assert set(store.stopped) == {"control", "para"}


@pytest.mark.parametrize(("seeds", "stops"), [(30, True), (5, False)])
def test_start_with_several_wordings_is_one_pair(tmp_path: Path, seeds: int, stops: bool):
    """They share one control: thirty episodes of five starts are five pairs, for the rule and for the report."""
    words = Experiment(
        "words", "Six wordings.", lambda task: (Variant("para", (Say(f"do {each}"),)) for each in range(6))
    )
    with Store.writing(tmp_path / "a.assay") as store:
        store.plan(words.plan(CHOSEN[:1], range(seeds), steps=6))
        drive(store, Scripted(), until="differs=0.05")
        assert ("para" in store.stopped) == stops
        (found,) = drops(store.frame(), stopped=store.stopped or {"para": {}})
        if stops:
            assert store.stopped["para"]["only_control"] == found.starts
            assert found.p_two_sided == pytest.approx(store.stopped["para"]["p"])
        else:
            assert found.p_two_sided == pytest.approx(Pairs.of([-1.0] * found.starts).p)


def test_resumed_run_plays_episodes_in_the_order_in_which_they_count(tmp_path: Path):
    """Of a start's three wordings the first is done: the second still comes after the first of all others."""
    words = Experiment(
        "words", "Three wordings.", lambda task: (Variant("para", (Say(f"do {each}"),)) for each in range(3))
    )
    played: list[EpisodeSpec] = []

    def watch(spec: EpisodeSpec | None, episode: object) -> None:
        played.extend([spec] if spec else [])

    with Store.writing(tmp_path / "a.assay") as store:
        store.plan(words.plan(CHOSEN[:1], range(4), steps=6))
        changed = [waiting for waiting in store.todo() if waiting.condition == "para"]
        first = min((each for each in changed if each.seed == changed[0].seed), key=lambda each: each.key)
        store.append(first.number, Episode(Outcome.SUCCESS, 1, no_trajectory()))
        drive(store, Scripted(), until="half-width=0.001", watch=watch)
    seeds = [spec.seed for spec in played if spec.condition == "para"]
    assert len(seeds) == 11 and first.seed not in seeds[:3] and sorted(seeds[3:7]) == [0, 1, 2, 3]


def test_errors_that_are_tried_again_count_when_they_are_done_again(tmp_path: Path, module: str):
    """Decided by the new outcomes, in the order of keys; not by the errors of the time before."""
    path, specs = tmp_path / "a.assay", plan(20, steps=1)
    executed(path, specs, WorkerConfig(f"{module}:Away"), workers=1)
    executed(path, specs, WorkerConfig("idle"), until="decided=0.3")
    with Store.reading(path) as store:
        counted = {condition: rule["episodes"] for condition, rule in store.stopped.items()}
        kept = store.frame().group_by("condition").len()
        assert counted == dict(kept.iter_rows()) and set(counted) == {"control", "para"}
        assert set(store.frame()["outcome"]) == {"failure"}


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a driver in a process of its own on the same run, repeatedly."""
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from assay.runs.driver import drive
        from assay.runs.local import LocalProcesses
        from assay.runs.executor import WorkerConfig
        from assay.runs.store import Store

        if __name__ == "__main__":
            with Store.writing(Path(sys.argv[1])) as store:
                drive(store, LocalProcesses(WorkerConfig("random"), 2, timeout=60))
        """
    )
    (tmp_path / "drive.py").write_text(script)
    path = tmp_path / "killed.assay"
    with Store.writing(path) as store:
        store.plan(plan(10, steps=20))
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, str(tmp_path / "drive.py"), str(path)]))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_run_killed_repeatedly_ends_like_an_undisturbed_one(tmp_path: Path, driver, facts):
    """Workers and the driver are killed in the middle of it, some episodes after the time before."""
    dice = random.Random(5)
    path = tmp_path / "killed.assay"
    process = driver()
    deadline = time.monotonic() + 240
    for victim in ("worker", "driver", "worker", "worker"):
        enough = done(path) + dice.randint(1, 6)
        while done(path) < enough:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(dice.uniform(0, 0.05))
        below = psutil.Process(process.pid).children(recursive=True)
        workers = [each for each in below if each.ppid() != process.pid]  # forked by a server of the driver
        os.kill(process.pid if victim == "driver" else dice.choice(workers).pid, signal.SIGKILL)
        if victim == "driver":
            process.wait()
            process = driver()
    assert process.wait(240) == 0
    executed(tmp_path / "calm.assay", plan(10, steps=20), WorkerConfig("random"))
    with Store.reading(path) as killed, Store.reading(tmp_path / "calm.assay") as calm:
        assert killed.planned == killed.done == 40
        assert facts(killed) == facts(calm)
        assert set(killed.frame()["outcome"]) == {Outcome.FAILURE}
