"""What commands that ask a model have in common: their options, and what they say about cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.extensions.eqa.errors import QuestionError
from assay.support.console import say

if TYPE_CHECKING:
    from assay.extensions.eqa.asking.cost import Estimate
    from assay.support.llm import Ledger, Price

Address = Annotated[str, typer.Option(help="Base address; the protocol's own if not given.")]
PerMinute = Annotated[float, typer.Option(help="The most requests in a minute.")]
AtOnce = Annotated[int, typer.Option(min=1, help="The most requests under way at once.")]
Timeout = Annotated[float, typer.Option(help="Seconds for one answer.")]
Attempts = Annotated[int, typer.Option(min=1, help="How often a question is tried.")]
MostTokens = Annotated[int, typer.Option(min=1, help="Of an answer, hidden thoughts included.")]
Temperature = Annotated[bool, typer.Option(help="Ask at temperature 0; some models take no temperature.")]
Effort = Annotated[str, typer.Option(help="How hard a reasoning model thinks: low, medium, high, ...")]
Thinking = Annotated[int | None, typer.Option(min=0, help="The most tokens of thoughts (Anthropic, Gemini).")]
Extra = Annotated[str, typer.Option(help="JSON that is merged into every request.")]
DeviceMap = Annotated[str, typer.Option(help="Of a local model: auto spreads it over devices.")]
RemoteCode = Annotated[bool, typer.Option("--remote-code", help="Let a local model bring code of its own.")]
PriceIn = Annotated[float, typer.Option(min=0, help="Price of a million tokens sent.")]
PriceOut = Annotated[float, typer.Option(min=0, help="Price of a million tokens received.")]
EstimateOnly = Annotated[bool, typer.Option(help="Only say what it would cost.")]


def extra_of(text: str) -> dict[str, Any]:
    """What is to be put into every request."""
    if not text:
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise QuestionError(f"--extra is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise QuestionError('--extra is a JSON object, such as {"reasoning_effort": "low"}')
    return found


def show_wait(seconds: float) -> None:
    """Say that the endpoint limits the rate."""
    say(f"rate-limited, waiting {seconds:.0f} s", aside=True)


def show_estimate(about: Estimate, price: Price, what: str, *, aside: bool) -> None:
    """Say roughly what it will take."""
    say(
        f"about {about.sent:,} tokens to send and {about.received:,} to receive for {about.questions:,} "
        f"{what}{cost(about.cost(price), price)}",
        aside=aside,
    )


def show_bill(ledger: Ledger, price: Price) -> None:
    """Say what was asked and what it cost."""
    say(
        f"{ledger.requests:,} requests ({ledger.retries:,} repeated), {ledger.cached:,} answers kept from "
        f"before; {ledger.prompt_tokens:,} tokens sent, {ledger.answer_tokens:,} received"
        f"{cost(ledger.cost(price), price)}"
    )
    if ledger.uncounted:
        say(f"{ledger.uncounted:,} answers without a count of tokens", aside=True)


def cost(amount: float, price: Price) -> str:
    """An amount as the end of a sentence; nothing where no price is known."""
    return f", cost {amount:.4f}" if price.prompt or price.answer else ""
