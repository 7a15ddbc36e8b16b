"""What can go wrong with a language model that somebody else runs.

LLMError                  an endpoint that cannot be used, or a setting that makes no sense
├── RefusedError          it will not answer this, however often it is asked
├── UnansweredError       it did not answer after all attempts; it may later
└── NonsenseError         what it answers is not in its protocol
"""

from __future__ import annotations

from assay.errors import AssayError


class LLMError(AssayError):
    """An endpoint that cannot be used, or a setting that makes no sense."""


class RefusedError(LLMError):
    """A request that an endpoint will not answer, however often it is asked."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def of_all(self) -> bool:
        """Whether it would refuse any other request too: no such key, model or address."""
        return self.status in (301, 302, 307, 308, 401, 402, 403, 404, 405)


class UnansweredError(LLMError):
    """A request that was not answered after all attempts; it may be later."""


class NonsenseError(LLMError):
    """Answers that are not in the endpoint's protocol."""
