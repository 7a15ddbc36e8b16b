"""What a pipeline has asked, paid and thrown away."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any currency."""

    prompt: float
    answer: float


@dataclass(slots=True)
class Ledger:
    """Counts of one run."""

    requests: int = 0
    """Requests sent, those that were repeated among them."""
    retries: int = 0
    """Requests that were repeated."""
    cached: int = 0
    """Answers that were there already."""
    prompt_tokens: int = 0
    """Tokens sent, as the endpoint counts them."""
    answer_tokens: int = 0
    """Tokens received, as the endpoint counts them."""
    uncounted: int = 0
    """Answers for which the endpoint did not say how many tokens they took."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Why an answer, or a line of one, was not used -> how often."""

    def drop(self, reason: str, count: int = 1) -> None:
        """Count answers, or lines of answers, that are not used."""
        if count:
            self.dropped[reason] += count

    def cost(self, price: Price) -> float:
        """What the tokens of this run cost; answers from the cache cost nothing."""
        return (self.prompt_tokens * price.prompt + self.answer_tokens * price.answer) / 1e6
