"""Options and output shared by the commands."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar, get_type_hints

import typer

from assay.cli.options import expand_parameter
from assay.errors import did_you_mean
from assay.support.console import say

if TYPE_CHECKING:
    from assay.extensions.eqa.annotations import AnnotatorAgreement
    from assay.extensions.eqa.asking.session import Model
    from assay.extensions.eqa.question import QuestionKind
    from assay.support.llm.protocols import Endpoint

T = TypeVar("T")


def _option(default: T, help: str, **limits: int) -> T:
    """Declare a setting that is also a command-line option."""
    return field(default=default, metadata={"help": help, **limits})


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Request settings of a model; fields with a help text are command-line options."""

    endpoint: str = _option("", "Base URL of the endpoint; the protocol's default if empty.")
    per_minute: float = _option(60.0, "Maximum number of requests per minute.")
    at_once: int = _option(4, "Maximum number of concurrent requests.", min=1)
    timeout: float = _option(120.0, "Timeout of a request in seconds.")
    attempts: int = _option(6, "Maximum number of attempts per request.", min=1)
    most_tokens: int = _option(
        2048, "Maximum number of tokens in a reply, including hidden reasoning.", min=1
    )
    temperature: bool = _option(True, "Send temperature 0; some models reject the parameter.")
    effort: str = _option("", "Reasoning effort: low, medium, high, ...")
    thinking: int | None = _option(None, "Maximum number of reasoning tokens (Anthropic, Gemini).", min=0)
    extra: str = _option("", "JSON object to merge into every request.")
    first_wait: float = 1.0
    """Delay before the second attempt, in seconds."""

    def endpoint_of(self, address: str) -> Endpoint:
        """Return the endpoint of a model. Raises LLMError for invalid settings."""
        from assay.support.llm.protocols import PROTOCOLS, Endpoint, LLMError, key_from_environment

        protocol, _, name = address.partition(":")
        try:
            extra = json.loads(self.extra or "{}")
        except ValueError as error:
            raise LLMError(f"--extra is not JSON: {error}") from None
        if not isinstance(extra, dict):
            raise LLMError('--extra must be a JSON object, for example {"reasoning_effort": "low"}')
        temperature = 0.0 if self.temperature else None
        url = self.endpoint or PROTOCOLS[protocol].base
        shared = {option.name for option in fields(Endpoint)} & {option.name for option in fields(self)}
        settings = {option: getattr(self, option) for option in shared}
        settings |= {"temperature": temperature, "extra": extra}
        return Endpoint(url, name, key_from_environment(), protocol, **settings)


def is_baseline(address: str, settings: ModelSettings) -> bool:
    """Return whether an address names a baseline.

    Raises QuestionError for an invalid address, LLMError for settings that do not apply to the model.
    """
    from assay.extensions.eqa.leak import BASELINES
    from assay.extensions.eqa.question import QuestionError
    from assay.support.llm.protocols import PROTOCOLS

    protocol, _, name = address.partition(":")
    if address in BASELINES:
        return True
    if protocol not in PROTOCOLS or not name.strip():
        advice = did_you_mean(address, (*BASELINES, *(f"{name}:NAME" for name in PROTOCOLS)), most=9)
        raise QuestionError(f"unknown model '{address[:100]}': {advice}")
    settings.endpoint_of(address)
    return False


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of questions.")]
Kinds = Annotated[
    str, typer.Option(help="all, or comma-separated kinds: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
AnnotationFile = Annotated[
    Path | None, typer.Option(help="Annotation file (default: annotations.sqlite in the folder).")
]


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command so that it has the options of `ModelSettings`, and receives them as ``settings``."""
    hints, kind = get_type_hints(ModelSettings), inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(
            option.name,
            kind,
            default=option.default,
            annotation=Annotated[hints[option.name], typer.Option(**option.metadata)],
        )
        for option in fields(ModelSettings)
        if option.metadata
    ]
    return expand_parameter(command, "settings", options, ModelSettings)


def parse_kinds(text: str) -> list[QuestionKind]:
    """Parse ``all`` or comma-separated kinds."""
    from assay.extensions.eqa.question import QuestionError, QuestionKind

    kinds = list(QuestionKind)
    if text == "all":
        return kinds
    names = [name.strip().upper() for name in text.split(",")]
    for name in names:
        if name not in kinds:
            raise QuestionError(f"unknown kind '{name}': {did_you_mean(name, kinds)}")
    return [kind for kind in kinds if kind in names]


@contextmanager
def open_session(address: str, settings: ModelSettings, cache_file: Path) -> Iterator[Model]:
    """Open a model with a cache of its replies; at the end, print the number of requests and tokens."""
    from assay.extensions.eqa.asking.session import Model
    from assay.support.llm.client import Cache

    cache = Cache(cache_file)
    try:
        model = Model(
            address,
            settings.endpoint_of(address),
            cache,
            lambda seconds: say(f"rate-limited; waiting {seconds:.0f} s", aside=True),
        )
        yield model
    finally:
        cache.close()
    say(model.ledger.summary())


def show_reasons(counts: Counter[str], prefix: str) -> None:
    """Print the number of failures by reason."""
    for reason, count in counts.most_common():
        say(f"{count} x {prefix}: {reason}", aside=True)


def show_agreement(agreements: tuple[AnnotatorAgreement, ...], chance: str) -> None:
    """Print the agreement of annotators, one line for each group."""
    for agreement in agreements:
        say(
            f"{', '.join(agreement.annotators)}: agreement on {agreement.observed:.1%} of {agreement.items} questions, "
            f"kappa {agreement.even_kappa:.3f} (chance {chance})"
        )
