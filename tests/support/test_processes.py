"""Processes of this machine: quick to start, in this environment, and gone with whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

from assay.errors import RunError
from assay.support import processes


def tell(pipe: Connection, name: str) -> None:
    pipe.send((os.environ.get(name), "assay.sim.world" in sys.modules))


@pytest.mark.parametrize("value", ["one", "two"])
def test_a_process_sees_the_environment_as_it_is_when_it_starts(value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ASSAY_TEST_VALUE", value)
    ours, theirs = processes.context().Pipe()
    process = processes.start(tell, theirs, "ASSAY_TEST_VALUE")
    assert ours.recv() == (value, sys.platform == "linux"), "and there the simulator is imported already"
    process.join()
    assert process.exitcode == 0
    with processes.pool(1) as pool:
        assert pool.submit(os.getenv, "ASSAY_TEST_VALUE").result() == value


def look(pipe: Connection) -> None:
    at_start = Path("/proc/self/environ")
    pipe.send((dict(os.environ), at_start.read_text() if at_start.exists() else ""))


def test_keys_do_not_reach_other_processes_unless_they_are_asked_for(monkeypatch: pytest.MonkeyPatch):
    held = {"ASSAY_LLM_KEY": "sesame", "AWS_SECRET_ACCESS_KEY": "sesame", "SOMETHING_ELSE": "sesame"}
    for name, value in held.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SERVER_KEY", "of the server")
    monkeypatch.setenv("MINE", "wanted")
    monkeypatch.setenv("ASSAY_PASS", "MINE, OTHER")
    ours, theirs = processes.context().Pipe()
    process = processes.start(look, theirs, variables=["SERVER_KEY"])
    seen, at_start = ours.recv()
    process.join()
    assert "sesame" not in seen.values() and "sesame" not in at_start
    assert seen["SERVER_KEY"] == "of the server" and seen["MINE"] == "wanted" and seen["PATH"]
    with processes.pool(1) as pool:
        assert pool.submit(os.getenv, "ASSAY_LLM_KEY").result() is None
    assert os.environ["ASSAY_LLM_KEY"] == "sesame", "and stay where they were"


def test_processes_end_with_the_one_that_started_them_however_it_ends(tmp_path: Path):
    script = tmp_path / "starts.py"
    script.write_text(
        textwrap.dedent(
            """
            import time
            from assay.support import processes

            if __name__ == "__main__":
                started = processes.start(time.sleep, 600)
                with processes.pool(1) as pool:
                    pool.submit(time.sleep, 0).result()
                    print(started.pid, *pool._processes, flush=True)
                    time.sleep(600)
            """
        )
    )
    driver = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    below = [psutil.Process(int(pid)) for pid in driver.stdout.readline().split()]
    assert len(below) == 2 and all(each.is_running() for each in below)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    deadline = time.monotonic() + 60  # at once, on a machine that is not busy
    while any(map(lives, below)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it ended between the two
        return False


def test_workers_inherit_settings_but_no_secrets(monkeypatch: pytest.MonkeyPatch):
    settings = ("PATH", "HOME", "CUDA_VISIBLE_DEVICES", "MUJOCO_GL", "HF_ENDPOINT", "ASSAY_CACHE", "LC_ALL")
    secrets = ("ASSAY_JWT", "ASSAY_LLM_KEY", "HF_HUB_AUTH", "RAY_PASSPHRASE", "CONDA_PASSWORD", "NPM_CONFIG")
    for name in (*settings, *secrets):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("https_proxy", "http://me:sesame@proxy:3128")
    inherited = processes.environment().keys()
    assert inherited >= set(settings) and inherited.isdisjoint({*secrets, "https_proxy"})


def test_no_variable_is_lost_where_several_threads_start_processes(monkeypatch: pytest.MonkeyPatch):
    hidden = {f"HIDDEN_{at}": "x" for at in range(50)}
    for name, value in hidden.items():
        monkeypatch.setenv(name, value)

    def start(_: int) -> bool:
        with processes.environment_of_others():
            time.sleep(0.001)
            return not hidden.keys() & os.environ.keys()

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(start, range(40)))
    assert hidden.items() <= os.environ.items()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no server")
def test_processes_start_where_temporary_files_have_long_paths(tmp_path: Path):
    folder = tmp_path / ("x" * max(1, 90 - len(str(tmp_path))))
    folder.mkdir()
    script = tmp_path / "starts.py"
    script.write_text(
        "from assay.support import processes\n"
        "if __name__ == '__main__':\n"
        "    process = processes.start(print, 'started')\n"
        "    process.join()\n"
        "    raise SystemExit(process.exitcode)\n"
    )
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_threads_that_start_processes_at_once_share_one_folder_of_sockets():
    script = """
import threading
from assay.support import processes

folders, together = [], threading.Barrier(4)


def begin():
    together.wait()
    folders.append((processes.context(), processes._sockets().name))


threads = [threading.Thread(target=begin) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(len(set(folders)))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert said.stdout == "1\n", said.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="there is no server that forks")
def test_a_server_whose_driver_was_gone_before_it_could_ask_for_a_signal_ends_at_once():
    words = [sys.executable, "-c", "import assay.support.preloading; print('went on')"]
    done = subprocess.run(
        words, env=os.environ | {processes.STARTED_BY: "1"}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, ""), "its parent is another than the one that started it"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no server that forks")
def test_processes_that_a_thread_started_outlive_it_and_those_of_the_main_one_are_the_systems_to_end():
    script = """
import os, sys, threading, time
from multiprocessing import forkserver
from assay.support import processes


def begin():
    started.append(processes.start(time.sleep, 600))


if __name__ == "__main__":
    started = []
    thread = threading.Thread(target=begin)
    thread.start() if sys.argv[1] == "thread" else begin()
    if sys.argv[1] == "thread":
        thread.join()
    server = forkserver._forkserver._forkserver_pid
    os.kill(server, 19)  # stopped: it can notice nothing
    print(started[0].is_alive(), started[0].pid, server, flush=True)
    if sys.argv[1] == "thread":
        time.sleep(0.5)
        print(started[0].is_alive(), flush=True)
        os.kill(server, 18)
    os.kill(os.getpid(), 9)
"""
    for who in ("thread", "main"):
        said = subprocess.run(
            [sys.executable, "-c", script, who], capture_output=True, text=True, check=False
        )
        first, *rest = said.stdout.split("\n")
        alive, *pids = first.split()
        assert alive == "True" and rest[0] == ("True" if who == "thread" else ""), said.stderr
        deadline = time.monotonic() + 60
        below = [each for each in psutil.process_iter() if str(each.pid) in pids]
        while any(map(lives, below)):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def kill_once(job: tuple[Path, int]) -> int:
    """Ends its own process, as somebody else would, the first time that a job is begun."""
    folder, number = job
    mark = folder / str(number)
    if number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def keep_dying(job: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return job


def test_jobs_of_a_process_that_was_killed_are_begun_again(tmp_path: Path):
    jobs = [(tmp_path, number) for number in range(4)]
    assert list(processes.results(kill_once, jobs, 2)) == [0, 1, 2, 3]
    with pytest.raises(RunError, match="workers died"):
        list(processes.results(keep_dying, [1], 1))


@pytest.mark.skipif(sys.platform != "linux", reason="there is no server that forks")
def test_a_process_is_started_though_the_server_is_killed_at_that_moment(monkeypatch: pytest.MonkeyPatch):
    begin, killed = forkserver.ensure_running, list[float]()

    def ensure_and_kill() -> None:
        if not killed:
            begin()
            os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)  # type: ignore[attr-defined]
            killed.append(time.monotonic())
        elif time.monotonic() - killed[0] > 0.2:  # as long as a killed process may take to end
            begin()

    ours, theirs = processes.context().Pipe()
    monkeypatch.setattr(forkserver._forkserver, "ensure_running", ensure_and_kill)
    process = processes.start(tell, theirs, "PATH")
    assert ours.recv()[0]
    process.join()
    assert process.exitcode == 0
