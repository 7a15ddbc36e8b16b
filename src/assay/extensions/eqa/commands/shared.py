"""Options and output shared by the commands."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from assay.errors import did_you_mean
from assay.extensions.eqa.asking.settings import ModelSettings
from assay.support.console import say

if TYPE_CHECKING:
    from assay.extensions.eqa.annotations import AnnotatorAgreement
    from assay.extensions.eqa.asking.models import Model
    from assay.extensions.eqa.question import QuestionKind

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
    hints = get_type_hints(ModelSettings)
    options = {
        option.name: inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[hints[option.name], typer.Option(**option.metadata)],
        )
        for option in fields(ModelSettings)
        if option.metadata
    }
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command, eval_str=True).parameters.values():
        parameters += options.values() if own.name == "settings" else [own.replace(kind=own.KEYWORD_ONLY)]

    @functools.wraps(command)
    def call(**values: Any) -> None:
        command(settings=ModelSettings(**{name: values.pop(name) for name in options}), **values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {part.name: part.annotation for part in parameters}
    return call


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
    from assay.extensions.eqa.asking.models import Model
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
            f"{', '.join(agreement.annotators)}: agree on {agreement.observed:.1%} of {agreement.items} questions, "
            f"kappa {agreement.even_kappa:.3f} (chance {chance})"
        )
