"""Assay's clients against the code of real servers around a dummy model.

The servers are not on a package index: ``ASSAY_SERVER_SOURCES`` names a folder with the checkouts ``openpi``, ``gr00t``
(Isaac-GR00T), ``starvla``, ``openvla-oft`` and ``roboarena``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.policies.remote.client import load_client
from assay.sim import Observation

from .conftest import SPEC, TASK

PEER = Path(__file__).with_name("peers") / "real_server.py"
SOURCES = os.environ.get("ASSAY_SERVER_SOURCES")

pytestmark = pytest.mark.skipif(SOURCES is None, reason="ASSAY_SERVER_SOURCES names no checkouts")


@pytest.fixture
def real(server_python: Path, tmp_path: Path) -> Iterator[Callable[[str], tuple[str, Path]]]:
    """Return a function that starts a real server and returns its host and port, and the file of received requests."""
    started: list[subprocess.Popen[bytes]] = []

    def start(kind: str) -> tuple[str, Path]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        command = [server_python, PEER, kind, Path(str(SOURCES)) / kind, str(port), tmp_path]
        with (tmp_path / "log").open("wb") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
        return f"127.0.0.1:{port}", tmp_path / "requests.jsonl"

    yield start
    for process in started:
        process.kill()
        process.wait()


REQUESTS: dict[str, dict[str, Any]] = json.loads(PEER.with_name("requests.json").read_text())
"""For each server: options of the address, the number of executed actions, and the received request."""


@pytest.mark.parametrize("kind", REQUESTS)
def test_real_servers_accept_our_requests(
    kind: str, real: Callable[[str], tuple[str, Path]], zmq_installed: None, observation: Observation
):
    place, requests = real(kind)
    expected = REQUESTS[kind]
    policy = load_client(f"{kind}://{place}?connect=60&timeout=20&{expected['query']}".rstrip("&"))
    policy.reset(TASK.instruction, SPEC)
    actions = policy.act(observation)
    policy.close()
    assert json.loads(requests.read_text().splitlines()[-1]) == expected["request"]
    assert np.allclose(actions[:, :6], np.linspace(0.0, 1.0, 10)[: expected["executed"], None])
    assert len(policy.inference_ms) == (kind == "openpi")
