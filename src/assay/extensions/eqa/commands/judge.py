"""`assay eqa judge`: what kind of mistakes are wrong answers?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.extensions.eqa.commands import asking
from assay.support.console import progress_bar, say


def judge(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    answers: Annotated[
        list[Path], typer.Argument(metavar="ANSWERS...", help="Files that assay eqa ask wrote.")
    ],
    model: Annotated[str, typer.Option(help="openai:NAME, anthropic:NAME, gemini:NAME, local:NAME.")],
    endpoint: asking.Address = "",
    per_kind: Annotated[
        int, typer.Option(min=1, help="Wrong answers to look at, of each model, level and direction.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="Decides which.")] = 0,
    per_minute: asking.PerMinute = 60.0,
    at_once: asking.AtOnce = 4,
    timeout: asking.Timeout = 120.0,
    attempts: asking.Attempts = 6,
    most_tokens: asking.MostTokens = 2048,
    temperature: asking.Temperature = True,
    effort: asking.Effort = "",
    thinking: asking.Thinking = None,
    extra: asking.Extra = "",
    price_in: asking.PriceIn = 0.0,
    price_out: asking.PriceOut = 0.0,
    estimate: asking.EstimateOnly = False,
    annotations: Annotated[
        Path | None, typer.Option(help="Where marks are kept; the folder's own file if not given.")
    ] = None,
) -> None:
    """Have a model say what kind of mistake wrong answers are; its marks are marked as a judge's.

    Best for answers asked for with --prompt steps. A key is read from ASSAY_LLM_KEY. Exit status 1 if some
    could not be marked.
    """
    from assay.extensions.eqa.annotations import FILE, Annotations
    from assay.extensions.eqa.asking.answers import read
    from assay.extensions.eqa.asking.cost import cost_of
    from assay.extensions.eqa.asking.judging import judge as judge_all
    from assay.extensions.eqa.asking.judging import judged, sampled, wrong_answers
    from assay.extensions.eqa.asking.models import Settings, endpoint_of, is_baseline
    from assay.extensions.eqa.asking.models import model as opened
    from assay.extensions.eqa.asking.prompts import Style
    from assay.extensions.eqa.errors import QuestionError
    from assay.extensions.eqa.question import load
    from assay.support.llm import Cache, Price, key_from_environment

    if is_baseline(model):
        raise QuestionError(f"a judge is a model, not the baseline '{model}'")
    questions = load(folder)
    wrong = [
        each for file in answers for each in sampled(wrong_answers(questions, read(file)), per_kind, seed)
    ]
    settings = Settings(
        endpoint,
        key_from_environment(),
        per_minute,
        at_once,
        timeout,
        attempts,
        most_tokens,
        0.0 if temperature else None,
        effort=effort,
        thinking=thinking,
        extra=asking.extra_of(extra),
    )
    endpoint_of(model, settings)
    price, about = Price(price_in, price_out), cost_of([judged(each, folder) for each in wrong], Style.STEPS)
    asking.show_estimate(about, price, "wrong answers", aside=not estimate)
    if estimate:
        return
    kept = Annotations(annotations or folder / FILE)
    cache = Cache(kept.path.with_name(f"{kept.path.name}.said"))
    try:
        judging = opened(model, settings, cache, asking.show_wait)
        with progress_bar() as bar:
            task = bar.add_task("mistakes", total=len(wrong))
            dropped = judge_all(wrong, folder, judging, kept, lambda: bar.advance(task))
    finally:
        cache.close()
    marked = len(wrong) - dropped.total()
    asking.show_bill(judging.ledger, price)
    say(f"{kept.path}: {marked} of {len(wrong)} wrong answers marked")
    for reason, count in dropped.most_common():
        say(f"{count} x not marked: {reason}", aside=True)
    if dropped:
        raise typer.Exit(1)
