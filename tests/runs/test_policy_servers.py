"""Real runs with policy servers on loopback that are killed at random moments."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay import tasks
from assay.experiments import load_experiment
from assay.runs.driver import drive
from assay.runs.executor import WorkerConfig
from assay.runs.local import LocalProcesses
from assay.runs.store import Store

from .conftest import done

SPECS = list(
    load_experiment("libero").plan(
        [tasks.load("libero_goal/7"), tasks.load("libero_goal/8")], range(6), steps=10
    )
)


@pytest.fixture
def server() -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts ``assay serve random`` on one port, again and again."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    executable = str(Path(sys.executable).with_name("assay"))
    command = [executable, "serve", "--policy", "random", "--protocol", "openpi"]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL))
        return started[-1]

    start.port = port  # type: ignore[attr-defined]
    yield start
    for process in started:
        process.kill()
        process.wait()


def executed(path: Path, address: str, *, retries: int = 1) -> str:
    with Store.writing(path) as store:
        store.plan(SPECS)
        return drive(store, LocalProcesses(WorkerConfig(address, retries=retries), 2, timeout=120)).reason


def test_run_with_a_repeatedly_killed_server_ends_like_an_undisturbed_one(
    drawing: str, tmp_path: Path, server, facts
):
    address = f"openpi://127.0.0.1:{server.port}?connect=20&timeout=20"
    process = server()
    executed(tmp_path / "calm.assay", address)
    over = threading.Event()
    kills: list[int] = []

    def kill() -> None:
        nonlocal process
        dice = random.Random(3)
        while len(kills) < 2:
            enough = done(tmp_path / "killed.assay") + dice.randint(1, 4)
            while done(tmp_path / "killed.assay") < enough:
                if over.wait(0.02):
                    return
            kills.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process = server()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        for _ in range(10):
            reason = executed(tmp_path / "killed.assay", address, retries=2)
            with Store.writing(tmp_path / "killed.assay") as store:
                if not store.todo() and not reason:
                    break
    finally:
        over.set()
        thread.join()
    assert len(kills) == 2
    with (
        Store.reading(tmp_path / "calm.assay") as calm,
        Store.reading(tmp_path / "killed.assay") as killed,
    ):
        assert len(facts(calm)) == len(SPECS) and set(calm.frame()["outcome"]) == {"failure"}
        assert facts(killed) == facts(calm)
