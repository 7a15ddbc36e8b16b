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
from assay.errors import PolicyError
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.runs.driver import Ending, drive
from assay.runs.local import LocalProcesses
from assay.runs.sequential import parse_until
from assay.runs.store import Store
from assay.runs.worker import EpisodeRunner, WorkerConfig

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


def test_what_is_done_is_never_done_again(tmp_path: Path):
    path = tmp_path / "a.assay"
    assert executed(path, plan(1), WorkerConfig("random")).done == 4
    assert executed(path, plan(1), WorkerConfig("random")) == Ending(0, 0)
    assert executed(path, plan(2), WorkerConfig("random")) == Ending(4, 0)


@pytest.mark.parametrize(("name", "reason"), [("Segfaults", "SIGSEGV"), ("Exits", "exit status 3")])
def test_an_episode_that_kills_its_worker_twice_is_an_error_and_the_run_goes_on(
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


def test_a_policy_that_hangs_is_ended(tmp_path: Path, module: str):
    path = tmp_path / "a.assay"
    specs = [spec for spec in plan(2) if spec.task == "libero_goal/7" and spec.condition == "control"]
    executed(path, specs, WorkerConfig(f"{module}:Hangs"), workers=1, timeout=4.0)
    with Store.reading(path) as store:
        (reason,) = store.reasons()
    assert "no sign of life for 4 s" in reason and sorted(outcomes(path).values()) == ["error", "failure"]


def test_what_broke_is_tried_again_with_the_same_seed_and_counted(tmp_path: Path, module: str):
    for retries, expected in ((0, "error"), (1, "failure")):
        path = tmp_path / f"{retries}.assay"
        executed(path, plan(1), WorkerConfig(f"{module}:Moody", retries=retries), workers=1)
        assert set(outcomes(path).values()) == {expected}
        with Store.reading(path) as store:
            assert set(store.frame()["attempts"]) == {retries + 1}


def test_a_policy_that_is_away_stops_the_run_and_is_tried_again_later(tmp_path: Path, module: str):
    path = tmp_path / "a.assay"
    ending = executed(path, plan(4), WorkerConfig(f"{module}:Away"), workers=1)
    assert "nobody answers" in ending.reason and ending.left > 0
    with Store.writing(path) as store:
        assert len(store.todo()) == 16


def test_a_policy_that_cannot_be_loaded_is_one_line(tmp_path: Path, module: str):
    with pytest.raises(PolicyError, match="OSError: no checkpoint") as caught:
        executed(tmp_path / "a.assay", plan(1), WorkerConfig(f"{module}:Unborn"))
    assert "\n" not in str(caught.value)


def test_stopping_finishes_what_runs_and_leaves_the_rest(tmp_path: Path):
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
        executed(path, specs, WorkerConfig("idle"), workers, until=parse_until("decided=0.3"))
        with Store.reading(path) as store:
            assert set(store.stopped) == {"control", "para"}
            assert all(rule["high"] < 0.3 for rule in store.stopped.values())
            kept.append(store.frame()["key"].to_list())
            assert store.done < 160
    assert kept[0] == kept[1]
    assert executed(path, specs, WorkerConfig("idle")).done == 0, "what is decided is not gone on with"


def test_errors_that_are_tried_again_count_when_they_are_done_again(tmp_path: Path, module: str):
    """Decided by the new outcomes, in the order of keys; not by the errors of the time before."""
    path, specs = tmp_path / "a.assay", plan(20, steps=1)
    executed(path, specs, WorkerConfig(f"{module}:Away"), workers=1)
    executed(path, specs, WorkerConfig("idle"), until=parse_until("decided=0.3"))
    with Store.reading(path) as store:
        counted = {condition: rule["episodes"] for condition, rule in store.stopped.items()}
        kept = store.frame().group_by("condition").len()
        assert counted == dict(kept.iter_rows()) and set(counted) == {"control", "para"}
        assert set(store.frame()["outcome"]) == {"failure"}


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a driver of its own process on the same run, again and again."""
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from assay import tasks
        from assay.perturb import Say
        from assay.runs.driver import drive
        from assay.runs.local import LocalProcesses
        from assay.runs.worker import WorkerConfig
        from assay.runs.store import Store
        from assay.experiments import Experiment, Variant

        if __name__ == "__main__":
            experiment = Experiment("words", "One wording.", variants=lambda task: (Variant("para", (Say("do it"),)),))
            chosen = [tasks.load("libero_goal/7"), tasks.load("libero_spatial/0")]
            with Store.writing(Path(sys.argv[1])) as store:
                store.plan(experiment.plan(chosen, range(14), steps=40))
                drive(store, LocalProcesses(WorkerConfig("random"), 2, timeout=60))
        """
    )
    (tmp_path / "drive.py").write_text(script)
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen([sys.executable, str(tmp_path / "drive.py"), str(tmp_path / "killed.assay")])
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_killed_again_and_again_the_run_ends_as_if_nothing_had_happened(tmp_path: Path, driver, facts):
    """Workers and the driver are killed at random moments until the run is complete."""
    dice = random.Random(5)
    path = tmp_path / "killed.assay"
    process = driver()
    kills = 0
    deadline = time.monotonic() + 240
    while process.poll() is None:
        time.sleep(dice.uniform(1.5, 3.0))
        below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        workers = [each for each in below if each.ppid() != process.pid]  # forked by a server of the driver
        if kills < 4 and process.poll() is None:
            kills += 1
            victim = dice.choice([process.pid, *(each.pid for each in workers)])
            os.kill(victim, signal.SIGKILL)
            if victim == process.pid:
                process.wait()
                process = driver()
        assert time.monotonic() < deadline
    assert process.returncode == 0 and kills >= 2
    executed(tmp_path / "calm.assay", plan(14, steps=40), WorkerConfig("random"))
    with Store.reading(path) as killed, Store.reading(tmp_path / "calm.assay") as calm:
        assert killed.planned == killed.done == 56
        assert facts(killed) == facts(calm)
        assert set(killed.frame()["outcome"]) == {Outcome.FAILURE}
