from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websocket

from assay import tasks
from assay.episodes import Episode, EpisodeSpec, Policy, rollout
from assay.policies.remote.convention import Convention
from assay.policies.remote.serve import PolicyServer
from assay.policies.simple import STILL
from assay.sim import CompiledScene, Observation, Simulation
from assay.sim.world import SceneEnv
from assay.tasks import Instruction

from ...peer_environments import EnvironmentNotMadeError, environment

PEERS = Path(__file__).with_name("peers")

TASK = tasks.load("libero_goal/7")
SPEC = EpisodeSpec(TASK.id, 3, "primitives")
Handler = Callable[[ServerConnection], None]
Stub = Callable[[Handler], str]
Play = Callable[..., tuple[Episode, Simulation]]


def saved(convention: Convention, observation: Observation, folder: Path) -> Path:
    """Save an observation as a client with this convention would send it."""
    state = {str(convention.state): convention.state_vector(observation)}
    with (folder / "observation.npz").open("wb") as file:
        np.savez(file, **convention.images(observation), **state)
    return folder / "observation.npz"


@pytest.fixture(scope="session")
def observation(drawing: str, compiled: Callable[[str], CompiledScene]) -> Iterator[Observation]:
    """Observation after ten waiting steps; its images are rendered once."""
    world = Simulation(compiled("libero_goal/7"))
    world.reset(world.sample(3))
    for _ in range(10):
        seen = world.step(STILL)
    yield seen
    world.close()


@pytest.fixture
def play(
    drawing: str, compiled: Callable[[str], CompiledScene], world_of: Callable[..., Simulation]
) -> Callable[..., tuple[Episode, Simulation]]:
    """Return a function that runs an episode of libero_goal/7, seed 3, and returns it with its simulation."""
    world = world_of(compiled("libero_goal/7"))

    def run(policy: Policy, steps: int, text: str = "") -> tuple[Episode, Simulation]:
        task = replace(TASK, instruction=Instruction(text)) if text else TASK
        return rollout(SceneEnv(world, task, world.sample(3)), policy, replace(SPEC, steps=steps)), world

    return run


@pytest.fixture
def stub() -> Iterator[Callable[[Handler], str]]:
    """Return a function that starts a websocket server with a given handler and returns its host and port."""
    servers = []

    def start(handler: Handler) -> str:
        def handle(connection: ServerConnection) -> None:
            with contextlib.suppress(ConnectionClosed, OSError):
                handler(connection)

        server = serve_websocket(handle, "127.0.0.1", 0, max_size=None, compression=None)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"127.0.0.1:{server.socket.getsockname()[1]}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join(5)


@pytest.fixture
def tcp() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Return a function that starts a plain TCP server with a given handler and returns its host and port."""
    listeners: list[socket.socket] = []

    def start(handler: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=handler, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """Return a function that serves one of Assay's policies in this process and returns its address."""
    endings: list[Callable[[], None]] = []

    def start(policy: str, protocol: str, replan: int | None = None, host: str = "127.0.0.1") -> str:
        server = PolicyServer(policy, protocol, replan=replan)
        addresses: list[str] = []
        ready = threading.Event()
        loop = asyncio.new_event_loop()

        def announce(address: str) -> None:
            addresses.append(address)
            ready.set()

        task = loop.create_task(server.run(host, 0, announce))

        def run() -> None:
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert ready.wait(10)

        def end() -> None:
            loop.call_soon_threadsafe(task.cancel)
            thread.join(10)
            assert not thread.is_alive(), "the server did not end"

        endings.append(end)
        return addresses[0]

    yield start
    for end in endings:
        end()


@pytest.fixture(scope="session")
def openpi_python() -> Path:
    """Python interpreter with the real openpi-client, which needs an older version of numpy."""
    return _environment("openpi-client-0.1.2")


@pytest.fixture(scope="session")
def vla_eval_python() -> Path:
    """Python interpreter with the real vla-eval."""
    return _environment("vla-eval-0.8.0")


@pytest.fixture(scope="session")
def server_python() -> Path:
    """Python interpreter with the dependencies of the real servers, except those of their models."""
    return _environment("servers")


@pytest.fixture(scope="session")
def zmq_installed() -> None:
    """Skip a test if ZeroMQ, which is an extra, is not installed."""
    pytest.importorskip("zmq", reason="a server for GR00T's protocol needs pyzmq")


def _environment(name: str) -> Path:
    try:
        return environment(name)
    except EnvironmentNotMadeError as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def peer() -> Callable[..., str]:
    """Return a function that runs one of the programs in ``peers`` and returns its output."""

    def run(python: Path, program: str, *arguments: str | Path) -> str:
        command = [python, PEERS / program, *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, ended.stderr[-2000:]
        return ended.stdout

    return run


@dataclass(frozen=True)
class Notary:
    """A real vla-eval server, and the events and observations that it recorded."""

    address: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def events(self) -> list[list[Any]]:
        """Starts and ends of episodes, and received observations."""
        file = self.folder / "events.json"
        return json.loads(file.read_text()) if file.exists() else []

    def look(self, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of an observation as the server received them."""
        return dict(np.load(self.folder / f"look{number}.npz"))


@pytest.fixture
def notary(vla_eval_python: Path, tmp_path: Path) -> Iterator[Callable[..., Notary]]:
    """Return a function that starts a real vla-eval server that needs no GPU."""
    started: list[subprocess.Popen[bytes]] = []

    def start(params: dict[str, Any] | None = None, chunk_size: int | None = None) -> Notary:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        folder = tmp_path / f"notary{len(started)}"
        folder.mkdir()
        options = (str(port), str(folder), json.dumps(params or {}), json.dumps(chunk_size))
        command = [vla_eval_python, PEERS / "vla_eval_server.py", *options]
        with (folder / "log").open("wb") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
        _wait_for_health(port, started[-1], folder / "log")
        return Notary(f"vla-eval://127.0.0.1:{port}", folder, started[-1])

    yield start
    for process in started:
        process.kill()
        process.wait()


def _wait_for_health(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()[-2000:]
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1),
        ):
            return
        time.sleep(0.05)
    raise AssertionError("the server does not become healthy")
