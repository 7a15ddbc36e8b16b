"""The code of real servers, around a model that is none, asked by our clients.

Their sources are on no package index: ``ASSAY_SERVER_SOURCES`` names a folder with checkouts ``openpi``, ``gr00t``
(Isaac-GR00T), ``starvla``, ``openvla-oft`` and ``roboarena``. What they have in common with the stubs beside this file
is the list of what arrives.
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

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.policies.remote.client import load_client
from assay.sim import Observation

PEER = Path(__file__).with_name("peers") / "real_server.py"
SOURCES = os.environ.get("ASSAY_SERVER_SOURCES")
TASK = tasks.load("libero_goal/7")
SPEC = EpisodeSpec(TASK.id, 3, "primitives")

pytestmark = pytest.mark.skipif(SOURCES is None, reason="ASSAY_SERVER_SOURCES names no checkouts")


@pytest.fixture
def real(server_python: Path, tmp_path: Path) -> Iterator[Callable[[str], tuple[str, Path]]]:
    """Starts a real server; returns its place, and the file of what arrives."""
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


PICTURE, LARGE = "uint8[224, 224, 3]", "uint8[256, 256, 3]"
AXES = dict.fromkeys(
    (f"state.{axis}" for axis in ("x", "y", "z", "roll", "pitch", "yaw")), "float32[1, 1, 1]"
)


@pytest.mark.parametrize(
    ("kind", "query", "executed", "arrives"),
    [
        (
            "openpi",
            "",
            5,
            {
                "observation/image": PICTURE,
                "observation/wrist_image": PICTURE,
                "observation/state": "float64[8]",
                "prompt": TASK.instruction.text,
            },
        ),
        (
            "roboarena",
            "",
            10,
            {
                "session_id": "libero_goal/7 control 3",
                "observation/exterior_image_0_left": PICTURE,
                "observation/wrist_image_left": PICTURE,
                "observation/joint_position": "float32[7]",
                "observation/cartesian_position": "float32[6]",
                "observation/gripper_position": "float32[1]",
                "prompt": TASK.instruction.text,
            },
        ),
        (
            "starvla",
            "unnorm_key=franka",
            10,
            {
                "examples": [{"image": [PICTURE, PICTURE], "lang": TASK.instruction.text}],
                "unnorm_key": "franka",
                "do_sample": False,
                "use_ddim": True,
                "num_ddim_steps": 10,
            },
        ),
        (
            "openvla-oft",
            "",
            8,
            {
                "full_image": LARGE,
                "wrist_image": LARGE,
                "state": "float64[8]",
                "instruction": TASK.instruction.text,
            },
        ),
        (
            "gr00t",
            "",
            8,
            {
                "video.image": "uint8[1, 1, 256, 256, 3]",
                "video.wrist_image": "uint8[1, 1, 256, 256, 3]",
                **AXES,
                "state.gripper": "float32[1, 1, 2]",
                "annotation.human.action.task_description": [TASK.instruction.text],
            },
        ),
    ],
)
def test_real_servers_accept_our_requests(
    kind: str,
    query: str,
    executed: int,
    arrives: dict[str, Any],
    real: Callable[[str], tuple[str, Path]],
    zmq_installed: None,
    observation: Observation,
):
    place, requests = real(kind)
    policy = load_client(f"{kind}://{place}?connect=60&timeout=20&{query}".rstrip("&"))
    policy.reset(TASK.instruction, SPEC)
    actions = policy.act(observation)
    policy.close()
    assert json.loads(requests.read_text().splitlines()[-1]) == arrives
    assert np.allclose(actions[:, :6], np.linspace(0.0, 1.0, 10)[:executed, None])
    assert len(policy.inference_ms) == (kind == "openpi")
