from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

from assay.policies.remote import codec

Run = Callable[..., Any]
ASSAY = Path(sys.executable).with_name("assay")


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Return a function that starts ``assay serve`` and returns the process and its first line."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [ASSAY, "serve", "--policy", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        watchdog = threading.Timer(30, process.kill)
        watchdog.start()
        assert process.stdout is not None
        said = process.stdout.readline()
        watchdog.cancel()
        return process, said

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_serve_prints_its_address_answers_and_ends_cleanly_on_ctrl_c(serving: Run):
    process, said = serving("random", "--port", "0", "--replan", "3")
    assert said.startswith("serving random at openpi://127.0.0.1:") and said.endswith("(Ctrl-C to stop)\n")
    with connect(f"ws://{said.split()[3].rpartition('/')[2]}") as connection:
        assert codec.decode(connection.recv(5), max_bytes=2**20)["policy"] == "random"
        connection.send(codec.encode_openpi({"observation/state": np.zeros(8), "prompt": "stack"}))
        assert codec.decode(connection.recv(5), max_bytes=2**20)["actions"].shape == (3, 7)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_port_in_use_is_refused(serving: Run, assay: Run):
    _, said = serving("idle", "--protocol", "vla-eval", "--port", "0")
    port = said.split()[3].rpartition(":")[2]
    refused = assay("serve", "--policy", "idle", "--protocol", "vla-eval", "--port", port)
    assert refused.status == 2 and refused.err.count("\n") == 1
    assert f"127.0.0.1:{port}: the port is in use" in refused.err
