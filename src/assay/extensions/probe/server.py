"""Scores of conventions on a server: agreement of its replies with demonstrations, and success in episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import numpy as np

from assay.episodes import EpisodeSpec, Instruction, Outcome, rollout
from assay.errors import PolicyError
from assay.policies.control import control
from assay.policies.remote.client import RemotePolicy, load_client
from assay.policies.remote.convention import ADJUSTABLE, Convention, Sign
from assay.policies.remote.transport import RemoteError, ReplyError, ServerError
from assay.sim import Observation

COMPARED_STEPS = 5
"""Number of the demonstrator's actions that are compared: a quarter of a second."""

Options = Mapping[str, str]
"""Options of an address: ``{"layout": "hand", "rotation": "xyzw"}``."""


class RequestRefusedError(Exception):
    """Error for a convention that the server or its protocol rejects, with the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class DemonstratedStep:
    """A step of a demonstration: the observation, and the demonstrator's next actions."""

    spec: EpisodeSpec
    instruction: Instruction
    observation: Observation
    actions: np.ndarray
    """The demonstrator's next actions, (COMPARED_STEPS, 7), within [-1, 1]."""


def options_of(convention: Convention) -> dict[str, str]:
    """Return the options of an address that set a convention."""
    return {
        name: str(int(value) if isinstance(value, Sign) else value)
        for name in ADJUSTABLE
        if (value := getattr(convention, name)) is not None
    }


class ProbedServer:
    """A policy server under examination."""

    def __init__(self, address: str) -> None:
        self.place, _, query = address.partition("?")
        self.fixed: Options = dict(parse_qsl(query))
        """Options that the user has set, which are not searched."""
        client = load_client(address)
        client.connect()
        self.default: Convention = client.convention
        """The convention of the address without further options."""
        client.close()
        self._replies: dict[tuple[str, int], np.ndarray | RequestRefusedError] = {}
        self.requests = 0

    def address(self, options: Options) -> str:
        """Return the address that sets options, omitting those with default values."""
        default = options_of(self.default)
        changed = {name: value for name, value in options.items() if default.get(name) != value}
        query = urlencode({**self.fixed, **changed}, safe=",")
        return f"{self.place}?{query}" if query else self.place

    def convention(self, options: Options) -> Convention:
        """Return the convention that options set, given the server's declared parameters."""
        return self.default.adjusted(self._client(options).address.adjusted)

    def reply(self, options: Options, step: DemonstratedStep) -> np.ndarray:
        """Return the server's reply to a step, (k, 7), cached. Raises RequestRefusedError if the server rejects it."""
        key = (self.address(options), id(step))
        if key not in self._replies:
            self._replies[key] = self._ask(options, step)
        reply = self._replies[key]
        if isinstance(reply, RequestRefusedError):
            raise reply
        return reply

    def direction_score(self, options: Options, step: DemonstratedStep) -> float:
        """Agreement of the first actions with the demonstrator's: 0 opposite, 0.5 orthogonal, 1 the same."""
        predicted = np.clip(self.reply(options, step)[:COMPARED_STEPS, :6], -1.0, 1.0).ravel()
        shown = step.actions[:, :6].ravel()[: len(predicted)]
        lengths = float(np.linalg.norm(predicted) * np.linalg.norm(shown))
        cosine = float(predicted @ shown) / lengths if lengths > 1e-9 else 0.0
        return (cosine + 1.0) / 2.0

    def success_score(self, options: Options, spec: EpisodeSpec) -> float:
        """Return 1 if an episode succeeds, otherwise 0. Raises RequestRefusedError if the server rejects a request."""
        client = self._client(options)
        try:
            episode = rollout(control(spec), client, spec)
        finally:
            client.close()
        if episode.outcome is Outcome.ERROR:
            raise (PolicyError if episode.transient else RequestRefusedError)(episode.error)
        return float(episode.outcome is Outcome.SUCCESS)

    def _ask(self, options: Options, step: DemonstratedStep) -> np.ndarray | RequestRefusedError:
        try:
            client = self._client(options)
        except RemoteError as error:  # the protocol cannot express it
            return RequestRefusedError(error.reason)
        self.requests += 1
        try:
            client.reset(step.instruction, step.spec)
            return client.reply(step.observation)
        except (ServerError, ReplyError) as error:
            return RequestRefusedError(error.reason)
        finally:
            client.close()

    def _client(self, options: Options) -> RemotePolicy:
        return load_client(f"{self.place}?{urlencode({**self.fixed, **options}, safe=',')}")
