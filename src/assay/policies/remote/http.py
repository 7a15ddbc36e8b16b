"""One request after the other to a policy server that speaks HTTP; given up when it does not answer in time."""

from __future__ import annotations

import time

import httpx2

from assay.policies.remote.address import Address
from assay.policies.remote.errors import LostError, ReplyError, ServerError, StalledError, UnreachableError
from assay.policies.remote.wire import FIRST_DELAY, LARGEST_REPLY, LONGEST_DELAY, UNAUTHORISED


class Http:
    """A client of one URL. Whatever fails also closes it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._urls = address.urls("http")
        self._client: httpx2.Client | None = None
        self._url = self._urls[0]

    @property
    def is_open(self) -> bool:
        """Whether a server was found."""
        return self._client is not None

    def open(self, turn: int = 0) -> None:
        """Find the server: any answer will do. One that is not there is tried again, and so are its other copies.

        Raises UnreachableError.
        """
        self.close()
        headers = self.address.access.headers(self.address.text)
        patience = self.address.patience
        client = httpx2.Client(headers=headers, timeout=patience.timeout, trust_env=False)
        deadline = time.monotonic() + patience.connect
        delay = FIRST_DELAY
        while True:
            self._url = self._urls[turn % len(self._urls)]
            try:
                client.get(
                    self._url, timeout=min(patience.timeout, max(deadline - time.monotonic(), FIRST_DELAY))
                )
                self._client = client
                return
            except httpx2.HTTPError as error:
                reason = str(error) or type(error).__name__
            if time.monotonic() + delay > deadline:
                client.close()
                raise UnreachableError(self.address.text, f"{reason}; tried for {patience.connect:g} s")
            time.sleep(delay)
            delay, turn = min(2 * delay, LONGEST_DELAY), turn + 1

    def ask(self, message: bytes) -> bytes:
        """Post JSON; return the body of the reply. The time is that of all of it, however slowly it drips."""
        text, seconds = self.address.text, self.address.patience.timeout
        if self._client is None:
            raise LostError(text, "there is no connection")
        deadline = time.monotonic() + seconds
        body = bytearray()
        try:
            headers = {"Content-Type": "application/json"}
            with self._client.stream("POST", self._url, content=message, headers=headers) as reply:
                for part in reply.iter_bytes():
                    body += part
                    if len(body) > LARGEST_REPLY:
                        raise ReplyError(text, f"a reply of more than {LARGEST_REPLY:,} bytes")
                    if time.monotonic() > deadline:
                        raise StalledError(text, f"no answer within {seconds:g} s")
                status = reply.status_code
        except httpx2.TimeoutException:
            self.close()
            raise StalledError(text, f"no answer within {seconds:g} s") from None
        except httpx2.HTTPError as error:
            self.close()
            raise LostError(text, f"the connection broke ({error})") from None
        except (ReplyError, StalledError):
            self.close()
            raise
        if status != httpx2.codes.OK:
            self.close()
            hint = ": it wants another key" if status in UNAUTHORISED else ""
            said = bytes(body[:200]).decode(errors="replace")
            raise ServerError(text, f"the server failed: HTTP {status}{hint} {said}")
        return bytes(body)

    def close(self) -> None:
        """Let go of the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
