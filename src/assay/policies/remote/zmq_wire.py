"""One request and one reply at a time over ZeroMQ; given up when the server does not answer in time."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from assay.errors import PolicyError
from assay.policies.remote.address import Address
from assay.policies.remote.errors import LostError, ReplyError, StalledError, UnreachableError
from assay.policies.remote.wire import LARGEST_REPLY
from assay.support.extras import require


class ZmqWire:
    """A REQ socket. Whatever fails also closes it, since it could not be used again."""

    def __init__(self, address: Address) -> None:
        require("gr00t", f"{address.text} speaks ZeroMQ, which needs pyzmq", PolicyError)
        if address.access.tls:
            raise PolicyError(f"{address.text}: tls=1: GR00T's servers do not encrypt")
        self.address = address
        self._urls = address.urls("tcp")
        self._socket: Any = None

    @property
    def is_open(self) -> bool:
        """Whether there is a socket; ZeroMQ does not tell whether anybody is at its other end."""
        return self._socket is not None

    def open(self, turn: int = 0) -> None:
        """Take a new socket to the copy of the server whose turn it is."""
        import zmq

        self.close()
        self._socket = zmq.Context.instance().socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_REPLY)
        try:
            self._socket.connect(self._urls[turn % len(self._urls)])
        except zmq.ZMQError as error:
            self.close()
            raise UnreachableError(self.address.text, str(error)) from None

    def ask(self, message: bytes) -> bytes:
        """Send a message; return the reply, which ZeroMQ hands over whole: it is in time, or it is not."""
        return self._asked(message, self.address.patience.timeout, StalledError)

    def greet(self, message: bytes) -> bytes:
        """Ask for the first time: whoever does not answer while a connection is tried is not there."""
        return self._asked(message, self.address.patience.connect, UnreachableError)

    def close(self) -> None:
        """Let go of the socket."""
        socket, self._socket = self._socket, None
        if socket is not None:
            with contextlib.suppress(Exception):
                socket.close(linger=0)

    def _asked(
        self, message: bytes, seconds: float, late: type[StalledError] | type[UnreachableError]
    ) -> bytes:
        import zmq

        if self._socket is None:
            raise LostError(self.address.text, "there is no connection")
        deadline = time.monotonic() + seconds
        try:
            self._socket.setsockopt(zmq.SNDTIMEO, int(1000 * seconds))
            self._socket.send(message)
            self._socket.setsockopt(zmq.RCVTIMEO, max(int(1000 * (deadline - time.monotonic())), 1))
            parts = self._socket.recv_multipart()
        except zmq.Again:
            self.close()
            raise late(self.address.text, f"no answer within {seconds:g} s") from None
        except zmq.ZMQError as error:
            self.close()
            raise LostError(self.address.text, f"the connection broke ({error})") from None
        if len(parts) != 1:
            self.close()
            raise ReplyError(self.address.text, f"a reply of {len(parts)} parts; one is expected")
        return bytes(parts[0])
