"""What goes wrong with a server that somebody else runs.

    PolicyError
    └── RemoteError               knows the address and the reason
        ├── UnreachableError      nobody answers there
        ├── StalledError          no answer in time
        ├── LostError             the connection ended
        ├── ServerError           the server says that it failed
        └── ReplyError            an answer that makes no sense

Every one of them is one line. The first three may be over when the server is back, and are marked as transient.
"""

from __future__ import annotations

from assay.errors import PolicyError

LONGEST = 240
"""Characters of a reason; servers can be talkative."""


class RemoteError(PolicyError):
    """A policy server that cannot be used."""

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        self.reason = " ".join(reason.split())[:LONGEST]
        super().__init__(f"{address}: {self.reason}")


class UnreachableError(RemoteError):
    """Nobody answers at the address, or somebody who is no policy server."""

    transient = True


class StalledError(RemoteError):
    """No answer in time."""

    transient = True


class LostError(RemoteError):
    """The connection ended."""

    transient = True


class ServerError(RemoteError):
    """The server says that it failed."""


class ReplyError(RemoteError):
    """An answer that makes no sense."""
