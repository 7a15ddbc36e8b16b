"""Servers that answer with anything at all cannot break a policy, let alone a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.sync.server import ServerConnection

from assay.episodes import EpisodeSpec
from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.openpi import OpenPI
from assay.policies.remote.transport import RemoteError
from assay.policies.remote.vla_eval import VlaEval
from assay.sim import Observation
from assay.tasks import Instruction

SPEC = EpisodeSpec("libero_goal/7", 0, "primitives")
KEYS = st.sampled_from(
    ["actions", "action", "type", "payload", "seq", "error", "data", "dtype", "shape", "format"]
    + ["__ndarray__", "__image__", b"__ndarray__", b"__npgeneric__", b"data", b"dtype", b"shape"]
)
DTYPES = st.sampled_from(
    ["<f8", ">i8", "|b1", "|O", "|V8", "<U2", "<c16", "<M8[s]", "f8,f8", "(9,)f8", "f3", ""]
)
SHAPES = st.lists(st.one_of(st.integers(-2, 8), st.sampled_from([2**31, 2**62])), max_size=9)
ARRAYS = st.fixed_dictionaries(
    {"__ndarray__": st.booleans()},
    optional={
        "data": st.one_of(st.binary(max_size=300), st.just(bytes(280)), st.none()),
        "dtype": DTYPES,
        "shape": SHAPES,
    },
)
GOOD = st.sampled_from([(5, 7), (1, 7), (7,), (3, 6)]).flatmap(
    lambda shape: st.sampled_from([0.5, np.nan, np.inf, 1e300]).map(lambda value: np.full(shape, value))
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(), st.binary()
)
TREES = st.recursive(
    st.one_of(SCALARS, ARRAYS, GOOD, st.sampled_from(["action", "hello", "observation", "error"])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)
MESSAGES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200),
    TREES.map(codec.encode_vla_eval),
    st.one_of(GOOD, ARRAYS, TREES).map(lambda actions: codec.encode_vla_eval({"actions": actions})),
    st.integers(1, 2000).map(lambda depth: b"\x91" * depth + b"\x90"),
    st.integers(1, 2000).map(lambda depth: b"\x81\xa1a" * depth + b"\x80"),
)
ENDINGS = st.sampled_from(["", "", "", "close", "drop", "twice"])


class Script:
    """What the server says next: to a greeting or hello, then to each observation."""

    def __init__(self) -> None:
        self.greeting: Any = None
        self.reply: Any = None
        self.ending = ""

    def openpi(self, connection: ServerConnection) -> None:
        connection.send(self.greeting if self.greeting is not None else codec.encode_openpi({}))
        for _ in connection:
            self.say(connection, self.reply)

    def vla_eval(self, connection: ServerConnection) -> None:
        for message in connection:
            said = msgpack.unpackb(message)
            hello = {"type": "hello", "payload": {"protocol_version": 1}, "seq": said["seq"]}
            if said["type"] == "hello":
                good = codec.encode_vla_eval(hello)
                connection.send(self.greeting if self.greeting is not None else good)
            elif said["type"] == "observation":
                self.say(connection, self.reply, seq=said["seq"])

    def say(self, connection: ServerConnection, message: Any, **envelope: int) -> None:
        """Frames go as they are; a map is a reply that is proper but for what is in it."""
        if isinstance(message, dict):
            message = codec.encode_vla_eval(message | envelope)
        if self.ending == "drop":
            connection.socket.shutdown(2)
            return
        for _ in range(2 if self.ending == "twice" else 1):
            connection.send(message)
        if self.ending == "close":
            connection.close(1011)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture(params=["openpi", "vla-eval"])
def policy(
    request: pytest.FixtureRequest, stub: Callable[..., str], script: Script
) -> Iterator[RemotePolicy]:
    if request.param == "openpi":
        made: RemotePolicy = OpenPI(f"openpi://{stub(script.openpi)}?timeout=2&connect=2&size=16")
    else:
        made = VlaEval(f"vla-eval://{stub(script.vla_eval)}?timeout=2&connect=2&size=16")
    yield made
    made.close()


FUZZED = settings(
    max_examples=settings.default.max_examples * 2 // 5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def survives(policy: RemotePolicy, observation: Observation, most: float = 4.0) -> bool:
    """Whether the server's answers were taken for actions; everything else is a typed error, in time."""
    began = time.monotonic()
    try:
        policy.reset(Instruction("stack"), SPEC)
        for _ in range(2):
            actions = policy.act(observation)
            assert actions.ndim == 2 and actions.shape[1] == 7 and 1 <= len(actions) <= 1000
            assert actions.dtype == np.float64 and np.isfinite(actions).all()
        return True
    except RemoteError as error:
        assert str(error).startswith(policy.address.text) and "\n" not in str(error)
        return False
    finally:
        assert time.monotonic() - began < most


def test_any_reply_is_actions_or_a_typed_error(
    policy: RemotePolicy, script: Script, observation: Observation
):
    outcomes: set[bool] = set()

    @FUZZED
    @given(MESSAGES, ENDINGS)
    def fuzz(reply: bytes | str, ending: str) -> None:
        script.reply, script.ending = reply, ending
        outcomes.add(survives(policy, observation))

    fuzz()
    assert False in outcomes


def test_any_greeting_is_understood_or_a_typed_error(
    policy: RemotePolicy, script: Script, observation: Observation
):
    script.reply = codec.encode_openpi({"actions": np.zeros((5, 7))})

    @FUZZED
    @given(MESSAGES)
    def fuzz(greeting: bytes | str) -> None:
        script.greeting = greeting
        survives(policy, observation)

    fuzz()


def test_any_actions_in_a_proper_reply_are_actions_or_a_typed_error(
    policy: RemotePolicy, script: Script, observation: Observation
):
    outcomes: set[bool] = set()

    @FUZZED
    @given(st.one_of(GOOD, ARRAYS, TREES), st.sampled_from(["action", "action", "error", "hello", None]))
    def fuzz(actions: object, kind: str | None) -> None:
        script.reply = {"type": kind, "payload": {"actions": actions}, "actions": actions}
        outcomes.add(survives(policy, observation))

    fuzz()
    assert outcomes == {True, False}
