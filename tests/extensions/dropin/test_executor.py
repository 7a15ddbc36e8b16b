"""A script that was written for LIBERO, started as the command starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.support.test_processes import lives

import assay as api
from assay.episodes import EpisodeSpec, Outcome
from assay.errors import RunError, StateError
from assay.experiments import load_experiment
from assay.extensions.dropin import executor
from assay.extensions.dropin.executor import Script, ScriptStopper, _collect, run_free, session_folder
from assay.extensions.dropin.session import MARK, SuiteTask, group_specs
from assay.runs.execute import execute
from assay.runs.options import RunOptions
from assay.runs.store import Store
from assay.support.processes import WATCH

STEPS = 6
SCRIPT = f"""
import os, sys
import numpy as np
from libero.libero import benchmark, get_libero_path
from libero.libero.envs import OffScreenRenderEnv

suite = benchmark.get_benchmark_dict()["libero_goal"]()
for number in range(suite.n_tasks):
    task, states = suite.get_task(number), suite.get_task_init_states(number)
    file = os.path.join(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
    env = OffScreenRenderEnv(bddl_file_name=file)
    for state in states:
        env.reset()
        seen = env.set_init_state(state)
        for step in range({STEPS}):
            wave = np.sin(40 * seen["robot0_eef_pos"] + len(task.language))
            seen, reward, done, info = env.step(np.append(wave, [0, 0, 0.1, 1]))
    if "STOPS" in os.environ:
        sys.exit(7)
"""


class Waving:
    def reset(self, instruction: Any, spec: Any) -> None:
        self._words = str(instruction)

    def act(self, observation: Any) -> np.ndarray:
        return np.append(np.sin(40 * observation.eef_position + len(self._words)), [0, 0, 0.1, 1])[None]


ASKED = {
    "tasks": "libero_goal/7",
    "seeds": (0, 1),
    "conditions": "words=empty",
    "steps": STEPS,
    "certified": False,
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "main.py"
    file.write_text(SCRIPT)
    (tmp_path / "libero").mkdir()
    (tmp_path / "libero" / "__init__.py").write_text("raise ImportError('the real one beside the script')")
    return file


def test_a_script_reproduces_the_episodes_of_assay_run(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "script.assay"
    played = Script(("python", str(script)), "primitives")
    monkeypatch.setenv("STOPS", "1")
    first = execute("pro", played, path, RunOptions(**ASKED))
    assert played.status == 7 and (first.done, first.left) == (2, 2), "it stopped after one task"
    monkeypatch.delenv("STOPS")
    again = execute("pro", played, path, RunOptions(**ASKED))
    assert (again.done, again.left) == (2, 0), "what was recorded is left out"
    script.write_text(SCRIPT + "# another")
    with pytest.raises(RunError, match=r"policy file .* has been edited"):
        execute("pro", played, path, RunOptions(**ASKED))
    asked = api.run("pro", Waving(), out=tmp_path / "run.assay", progress=False, **ASKED)
    with Store.reading(path) as one, Store.reading(asked.path) as other:
        assert _episodes(one) == _episodes(other) and len(_episodes(one)) == 4
        assert one.meta["policy"] == "script:main.py"
        assert set(one.frame()["instruction"]) == {"turn on the stove", ""}


def _episodes(store: Store) -> dict[str, tuple[object, ...]]:
    paths = dict(store.trajectories())
    rows = store.frame().select("id", "key", "outcome", "steps", "instruction").rows()
    return {
        key: (*told, paths[number].end_effector.tobytes(), paths[number].actions.tobytes())
        for number, key, *told in rows
    }


def test_without_an_experiment_a_script_has_liberos_tasks(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = tmp_path / "main.py"
    file.write_text(
        "from libero.libero import benchmark\n"
        "print(benchmark.get_benchmark_dict()['libero_90']().n_tasks)\n"
        "import libero.lifelong"
    )
    assert run_free(["python", str(file)], "primitives") == 1
    printed = capfd.readouterr()
    assert printed.out.strip() == "90"
    assert "LIBERO's module libero.lifelong is not supported" in printed.err


def test_libero_is_not_shadowed_outside_of_the_command():
    code = "import importlib.util; print(importlib.util.find_spec('libero'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "None"


def _grouped(
    experiment: str, conditions: str, *, waiting_from: int = 0, each_a_task: bool = False
) -> list[SuiteTask]:
    design = load_experiment(experiment).only(conditions)
    specs = list(design.plan(design.choose("libero_goal/7"), (0, 1), pack="primitives"))
    waiting = {spec: number for number, spec in enumerate(specs) if number >= waiting_from}
    return group_specs(specs, waiting, each_a_task=each_a_task)


def test_conditions_and_variants_are_tasks_and_seeds_are_initial_states():
    planned = _grouped("pro", "position=nudge")
    names = [task.name for task in planned]
    assert names == ["turn_on_the_stove", "turn_on_the_stove__pro_position_nudge"]
    first = planned[0]
    assert all(task.states.shape[0] == 2 for task in planned) and first.states[0, 0] == MARK
    assert first.find_episode(first.states[1].astype(np.float32)) == 1
    with pytest.raises(StateError, match="get_task_init_states"):
        first.find_episode(np.zeros(79))
    assert [len(task.specs) for task in _grouped("pro", "position=nudge", each_a_task=True)] == [1] * 4
    crossed = _grouped("para?per_cell=2", "obj=none,act=addition")
    assert [len(task.specs) for task in crossed] == [2, 2, 2], "two seeds of the control and two wordings"
    assert len({task.name for task in crossed}) == len({task.language for task in crossed}) == 3
    drawn = _grouped("pro", "words=shuffle")
    assert [len(task.specs) for task in drawn] == [1] * 4 and len({task.name for task in drawn}) == 4
    [last] = _grouped("pro", "position=nudge", waiting_from=3)
    assert last.numbers == (3, 3), "recorded tasks are left out, the number of trials stays"


LEFT = """
import os, sys
from libero.libero import benchmark
from libero.libero.envs import OffScreenRenderEnv

def play():
    suite = benchmark.get_benchmark("libero_goal")()
    env = OffScreenRenderEnv(bddl_file_name=suite.get_task_bddl_file_path(int(os.environ.get("NUMBER", "0"))))
    env.reset()
    env.step([0.1] * 7)
    sys.exit(int(os.environ.get("STATUS", "0")))

play()
"""


def test_an_unfinished_episode_counts_only_if_the_script_exits_normally(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file, path = tmp_path / "main.py", tmp_path / "a.assay"
    file.write_text(LEFT)
    control = ASKED | {"seeds": (0,), "conditions": "control"}
    script = Script(("python", str(file)), "primitives")
    monkeypatch.setenv("STATUS", "3")
    assert execute("pro", script, path, RunOptions(**control)).done == 0
    monkeypatch.setenv("STATUS", "0")
    monkeypatch.setenv("NUMBER", "1")
    more = control | {"tasks": "libero_goal/3,libero_goal/7", "conditions": "words=empty"}
    ending = execute("pro", script, path, RunOptions(**more))
    assert (ending.done, ending.left) == (1, 3) and script.unplayed == {"libero_goal": [0, 2, 3]}
    with Store.reading(path) as store:
        assert store.frame()["outcome"].drop_nulls().to_list() == ["failure"]
        assert store.planned == 4, "a run without episodes is replaced"


def test_a_run_is_named_after_the_script_without_options():
    for command, name in (
        ("python -u examples/main.py --key SECRET", "main.py"),
        ("python -m package.evaluate --key SECRET", "package.evaluate"),
        ("python -m package.evaluate --config mine.py", "package.evaluate"),
        ("/usr/bin/lerobot-eval --key SECRET", "lerobot-eval"),
    ):
        assert Script(tuple(command.split()), "primitives").address == f"script:{name}"


def test_an_unreadable_record_is_an_error(tmp_path: Path):
    (tmp_path / "3.episode").write_bytes(b"half of it")
    [(number, found)] = _collect(tmp_path, {3: EpisodeSpec("libero_goal/7", 0)})
    assert number == 3 and found.outcome is Outcome.ERROR and "cannot be read" in found.error


DEAF = """
import os, signal
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda number, frame: os.write(1, b"%d " % number))
print("ready", flush=True)
while True:
    signal.pause()
"""


def test_a_script_is_stopped_with_increasing_signals():
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        ScriptStopper(process, timeout=0.6).wait()
        said = process.stdout.read().split()
    assert said == [b"2", b"15"] and process.returncode == -9


ENDLESS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_script_and_its_processes_end_with_a_killed_command_before_the_next_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "main.py"
    file.write_text(ENDLESS)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = [sys.executable, "-m", "assay", "libero", "--", "python", str(file)]
    driver = psutil.Popen(command, env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE)
    grandchild = psutil.Process(int(driver.stdout.readline()))
    (watcher,) = (child for child in driver.children() if str(WATCH) in child.cmdline())
    (script,) = (child for child in driver.children() if str(file) in child.cmdline())
    watcher.suspend()
    driver.kill()
    driver.wait()
    deadline = time.monotonic() + 60
    while lives(script):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert lives(grandchild)
    monkeypatch.setattr(executor, "STOP_TIMEOUT_S", 0.1)
    with pytest.raises(RunError, match="script of a killed command is still running"), session_folder():
        raise AssertionError("started beside it")
    watcher.resume()
    monkeypatch.setattr(executor, "STOP_TIMEOUT_S", 60.0)
    with session_folder():
        assert not lives(grandchild)


KILLED = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, file=open(sys.argv[1], "w"))
os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_processes_of_a_killed_script_end_and_those_of_one_that_exits_stay(tmp_path: Path):
    file, ids = tmp_path / "main.py", tmp_path / "ids"
    file.write_text(KILLED)
    for number, stays in ((9, False), (0, True)):
        assert run_free(["python", str(file), str(ids), str(number)], "primitives") == -number
        children = [child for child in psutil.process_iter() if child.pid == int(ids.read_text())]
        assert any(map(lives, children)) is stays
    children[0].kill()


NAN_SCRIPT = """
from libero.libero import benchmark
from libero.libero.envs import OffScreenRenderEnv

suite = benchmark.get_benchmark("libero_goal")()
env = OffScreenRenderEnv(bddl_file_name=suite.get_task_bddl_file_path(1))
env.reset()
env.set_init_state(suite.get_task_init_states(1)[0])
env.step([0.1] * 7)
try:
    env.step([float("nan")] * 7)
except Exception:
    pass
"""


def test_errors_and_unplayed_tasks_are_reported(assay: Callable, tmp_path: Path):
    file, out = tmp_path / "main.py", tmp_path / "mine.assay"
    file.write_text(NAN_SCRIPT)
    asked = ("--tasks", "libero_goal/7", "--conditions", "words=empty", "--seeds", "1", "--uncertified")
    said = assay("libero", "--experiment", "pro", *asked, "--out", out, "--", "python", file)
    assert said.status == 1
    assert "1 x error: step 1: the action contains values that are not finite" in said.out
    assert "use --retry-errors to repeat" in said.out
    assert f"1 episode recorded in {out}, 1 planned episode left\n" in said.out
    assert "did not run task 0 of libero_goal" in said.out


def test_run_options_need_an_experiment(assay: Callable):
    for option in (("--steps", "5"), ("--label", "mine"), ("--each-a-task",), ("--uncertified",)):
        said = assay("libero", *option, "--", "python", "main.py")
        assert said.status == 2 and "requires --experiment NAME" in said.err
