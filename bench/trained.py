"""Servers of policies that were trained with a convention they do not report."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.policies.control import control
from assay.policies.oracle.policy import Oracle
from assay.policies.remote import codec
from assay.policies.remote.convention import Convention
from assay.policies.remote.openpi import OpenPI
from assay.policies.remote.transport import Transport
from assay.sim import Observation

CHUNK = 10
"""Actions per reply."""
GRAIN = 12
"""Height and width at which images are compared, pixels."""
NEIGHBOURS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A training sample: an observation and the actions that followed."""

    instruction: str
    observation: Observation
    actions: np.ndarray
    """(CHUNK, 7)."""


def frames(
    tasks: Sequence[str], seeds: Sequence[int], pack: str = "primitives", every: int = 2
) -> list[Frame]:
    """Return frames of successful episodes of the oracle."""
    found = []
    for spec in (EpisodeSpec(task, seed, pack) for task in tasks for seed in seeds):
        seen: list[Observation] = []
        env = control(spec)
        episode = rollout(env, Oracle(), spec, watch=seen.append)
        if episode.outcome is not Outcome.SUCCESS:
            continue
        done = np.clip(episode.trajectory.actions, -1.0, 1.0)
        padded = np.concatenate([done, np.repeat(done[-1:], CHUNK, axis=0)])
        found += [
            Frame(env.task.instruction.text, seen[step], padded[step : step + CHUNK])
            for step in range(0, len(done), every)
        ]
    return found


class Trained:
    """A policy that repeats the actions of the most similar training frames, in its convention.

    Like a network, it accepts any numbers and is misled by those it was not trained on: a state that is too long is
    truncated, one that is too short is padded with zeros, as in openpi.
    """

    def __init__(self, convention: Convention, shown: Sequence[Frame]) -> None:
        self.convention = convention
        self._tasks = np.array([frame.instruction for frame in shown])
        self._actions = np.array([convention.encode_actions(frame.actions) for frame in shown])
        states = np.array([convention.state_vector(frame.observation) for frame in shown])
        pictures = np.array([_grains(convention.images(frame.observation).values()) for frame in shown])
        self._size = states.shape[1]
        self._parts = tuple(_Standard(part) for part in (pictures, states))
        self._known = self._features(pictures, states)

    def infer(self, request: Mapping[str, Any]) -> np.ndarray:
        """Return actions, (CHUNK, 7)."""
        given = np.asarray(request.get(self.convention.state or "", ()), dtype=np.float64).ravel()
        state = np.concatenate([given, np.zeros(self._size)])[: self._size]
        pictures = _grains(request[wire] for _, wire in self.convention.cameras)
        seen = self._features(pictures[None], state[None])[0]
        same = np.flatnonzero(self._tasks == request[self.convention.prompt])
        among = same if len(same) else np.arange(len(self._tasks))
        distances = np.linalg.norm(self._known[among] - seen, axis=1)
        nearest = np.argsort(distances)[:NEIGHBOURS]
        weights = 1.0 / (distances[nearest] + 1e-6)
        mixed: np.ndarray = np.average(self._actions[among[nearest]], axis=0, weights=weights)
        return mixed

    def _features(self, *parts: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [standard(part) for standard, part in zip(self._parts, parts, strict=True)], axis=1
        )


class _Standard:
    """Normalise by mean and spread of the training data; each kind of input has the same weight."""

    def __init__(self, trained: np.ndarray) -> None:
        self._mean, self._spread = trained.mean(axis=0), trained.std(axis=0) + 0.05 * trained.std() + 1e-6

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        scaled = (numbers - self._mean) / self._spread / np.sqrt(len(self._mean))
        return np.asarray(scaled, dtype=np.float32)


def _grains(pictures: Any) -> np.ndarray:
    """Return images at low resolution as one vector."""
    small = [Image.fromarray(each).resize((GRAIN, GRAIN), Image.Resampling.BOX) for each in pictures]
    return np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in small])


@contextlib.contextmanager
def handed_over(policy: Trained) -> Iterator[str]:
    """A policy at an address without a socket, for many thousands of fast requests."""

    class Direct(Transport):
        def _connect(self, url: str, seconds: float) -> None:
            self._reply = codec.encode_openpi({})

        def _send(self, message: bytes, seconds: float) -> None:
            request = codec.decode(message, max_bytes=2**25)
            self._reply = codec.encode_openpi({"actions": policy.infer(request)})

        def _receive(self, seconds: float) -> bytes:
            return self._reply

        def _abort(self) -> None:
            pass

    default = OpenPI.transport
    OpenPI.transport = Direct
    try:
        yield "openpi://this-process:8000"
    finally:
        OpenPI.transport = default


@contextlib.contextmanager
def served(policy: Trained) -> Iterator[str]:
    """Serve a policy with openpi's protocol; its greeting contains no metadata."""

    def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            connection.send(codec.encode_openpi({}))
            for message in connection:
                assert isinstance(message, bytes)
                request = codec.decode(message, max_bytes=2**25)
                try:
                    connection.send(codec.encode_openpi({"actions": policy.infer(request)}))
                except ValueError as error:  # as openpi's server does: a text, and the connection ends
                    connection.send(str(error))
                    return

    server = serve(handle, "127.0.0.1", 0, max_size=None, compression=None)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"openpi://127.0.0.1:{server.socket.getsockname()[1]}"
    finally:
        server.shutdown()
        thread.join(5)
