"""Options and output shared by the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.errors import did_you_mean
from assay.support.console import say

if TYPE_CHECKING:
    from collections import Counter

    from assay.extensions.eqa.asking.prompts import TokenEstimate
    from assay.extensions.eqa.question import QuestionKind
    from assay.support.llm import Ledger, Price

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")]
Kinds = Annotated[str, typer.Option(help="Comma-separated: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")]
Seed = Annotated[int, typer.Option(help="Seed of the random choice.")]
AnnotationFile = Annotated[Path | None, typer.Option(help="Annotation file; the folder's own by default.")]
Url = Annotated[str, typer.Option(help="Base URL of the endpoint; the protocol's default if empty.")]
PerMinute = Annotated[float, typer.Option(help="Maximum requests per minute.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Maximum concurrent requests.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for one reply.")]
Attempts = Annotated[int, typer.Option(min=1, help="Attempts per request.")]
MostTokens = Annotated[
    int, typer.Option(min=1, help="Maximum tokens of a reply, including hidden reasoning.")
]
Temperature = Annotated[bool, typer.Option(help="Send temperature 0; some models reject the parameter.")]
Effort = Annotated[str, typer.Option(help="Reasoning effort: low, medium, high, ...")]
Thinking = Annotated[int | None, typer.Option(min=0, help="Maximum tokens of reasoning (Anthropic, Gemini).")]
Extra = Annotated[str, typer.Option(help="JSON object to merge into every request.")]
PriceIn = Annotated[float, typer.Option(min=0, help="Price of a million tokens sent.")]
PriceOut = Annotated[float, typer.Option(min=0, help="Price of a million tokens received.")]
EstimateOnly = Annotated[bool, typer.Option(help="Print the estimated cost and stop.")]


def parse_kinds(text: str) -> list[QuestionKind]:
    """Parse ``all``, or comma-separated kinds."""
    from assay.extensions.eqa.question import QuestionError, QuestionKind

    kinds = list(QuestionKind)
    if text == "all":
        return kinds
    names = [name.strip().upper() for name in text.split(",")]
    for name in names:
        if name not in kinds:
            raise QuestionError(f"there is no kind '{name}': {did_you_mean(name, kinds)}")
    return [kind for kind in kinds if kind in names]


def parse_extra(text: str) -> dict[str, Any]:
    """Parse --extra, a JSON object or an empty text."""
    from assay.extensions.eqa.question import QuestionError

    try:
        extra = json.loads(text or "{}")
    except ValueError as error:
        raise QuestionError(f"--extra is not JSON: {error}") from None
    if not isinstance(extra, dict):
        raise QuestionError('--extra is a JSON object, such as {"reasoning_effort": "low"}')
    return extra


def show_wait(seconds: float) -> None:
    """Report a delay caused by the endpoint's rate limit."""
    say(f"rate-limited, waiting {seconds:.0f} s", aside=True)


def show_estimate(estimate: TokenEstimate, price: Price, what: str, *, aside: bool) -> None:
    """Print the estimated tokens and cost."""
    say(
        f"about {estimate.sent:,} tokens to send and {estimate.received:,} to receive for {estimate.questions:,} "
        f"{what}{format_cost(estimate.cost(price), price)}",
        aside=aside,
    )


def show_bill(ledger: Ledger, price: Price) -> None:
    """Print the requests, tokens and cost of a session."""
    say(
        f"{ledger.requests:,} requests ({ledger.retries:,} retries), {ledger.cached:,} cached replies; "
        f"{ledger.prompt_tokens:,} tokens sent, {ledger.answer_tokens:,} received"
        f"{format_cost(ledger.cost(price), price)}"
    )
    if ledger.uncounted:
        say(f"{ledger.uncounted:,} replies without a token count", aside=True)


def format_cost(amount: float, price: Price) -> str:
    """Format an amount as the end of a sentence; empty without a price."""
    return f", cost {amount:.4f}" if price.prompt or price.answer else ""


def show_reasons(counts: Counter[str], prefix: str) -> None:
    """Print the number of failures by reason."""
    for reason, count in counts.most_common():
        say(f"{count} x {prefix}: {reason}", aside=True)
