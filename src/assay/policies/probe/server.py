"""A server as the probe sees it: addresses that differ in their options, and what is replied to moments."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

import numpy as np

from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.errors import PolicyError
from assay.policies.control import control
from assay.policies.probe.fields import Options, options_of
from assay.policies.probe.moments import AHEAD, DemonstratedStep
from assay.policies.probe.race import Refused
from assay.policies.registry import load_policy
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention, Gripper
from assay.policies.remote.errors import RemoteError, ReplyError, ServerError

LEAST = {Gripper.SIGNED: -np.inf, Gripper.UNIT: -0.25}
"""A gripper component below is none of its kind."""


class Server:
    """A policy server under examination."""

    def __init__(self, address: str) -> None:
        if "://" not in address:
            raise PolicyError(
                f"'{address}' is no policy server: only those have conventions, e.g. openpi://host:8000"
            )
        self.place, _, query = address.partition("?")
        self.given: Options = dict(parse_qsl(query))
        """Options that the user has set: they are not searched."""
        client = self._client({})
        client.connect()
        self.metadata = client.metadata
        self.usual: Convention = client.convention
        """What the address stands for without further options."""
        client.close()
        self._replies: dict[tuple[str, int], np.ndarray | Refused] = {}
        self.asked = 0
        """Requests so far."""

    def address(self, options: Options) -> str:
        """The address that sets options; those that are usual are left out."""
        usual = options_of(self.usual)
        set_ = {**self.given, **{name: value for name, value in options.items() if usual.get(name) != value}}
        return f"{self.place}?{urlencode(set_, safe=',')}" if set_ else self.place

    def convention(self, options: Options) -> Convention:
        """The convention that an address stands for, in a server that said what it wants."""
        client = self._client(options)
        return self.usual.adjusted(client.address.adjusted)

    def reply(self, options: Options, moment: DemonstratedStep) -> np.ndarray:
        """What the server replies to a moment, (k, 7); it is asked once. Raises Refused where the server objects."""
        key = (self.address(options), id(moment))
        if key not in self._replies:
            self._replies[key] = self._asked(options, moment)
        kept = self._replies[key]
        if isinstance(kept, Refused):
            raise kept
        return kept

    def direction(self, options: Options, moment: DemonstratedStep) -> float:
        """How well the first actions point where the demonstrator's do: 0 opposite, 0.5 across, 1 the same way."""
        given = np.clip(self.reply(options, moment)[:AHEAD, :6], -1.0, 1.0)
        return (_cosine(given, moment.actions[: len(given), :6]) + 1.0) / 2.0

    def grip(self, options: Options, usual: Options, moment: DemonstratedStep) -> float:
        """In which share of the first actions the gripper does what the demonstrator's does.

        The server is asked by the ``usual`` options, and its reply is read by others.
        """
        convention, raw = self.convention(options), self.reply(usual, moment)[:AHEAD]
        done = np.sign(convention.adjusted({"replan": None, "binary": False}).executed(raw)[:, 6])
        possible = raw[:, 6] > LEAST[convention.gripper]
        return float(np.mean((done == np.sign(moment.actions[: len(raw), 6])) & possible))

    def success(self, options: Options, spec: EpisodeSpec) -> float:
        """1 if an episode succeeds, 0 if not. Raises Refused where the server objects."""
        client = self._client(options)
        try:
            episode = rollout(control(spec), client, spec)
        finally:
            client.close()
        if episode.outcome is Outcome.ERROR:
            if episode.transient:
                raise PolicyError(episode.error)
            raise Refused(episode.error)
        return float(episode.outcome is Outcome.SUCCESS)

    def _asked(self, options: Options, moment: DemonstratedStep) -> np.ndarray | Refused:
        try:
            client = self._client(options)
        except RemoteError as error:  # the protocol has no words for it
            return Refused(error.reason)
        self.asked += 1
        try:
            client.reset(moment.instruction, moment.spec)
            return client.reply(moment.observation)
        except (ServerError, ReplyError) as error:
            return Refused(error.reason)
        finally:
            client.close()

    def _client(self, options: Options) -> RemotePolicy:
        where = f"{self.place}?{urlencode({**self.given, **options}, safe=',')}"
        client = load_policy(where)
        assert isinstance(client, RemotePolicy), "every server's client is one"
        return client


def _cosine(given: np.ndarray, shown: np.ndarray) -> float:
    """The cosine between two motions, (k, 6), as they unfold; 0 where one of them is nothing."""
    a, b = given.ravel(), shown.ravel()
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 1e-9 else 0.0
