"""`assay eqa ask`: have questions answered."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.extensions.eqa.commands import asking
from assay.support.console import progress_bar, say

if TYPE_CHECKING:
    from assay.extensions.eqa.asking.answers import Answer


def ask(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    model: Annotated[
        str,
        typer.Option(
            help="random, longest, text-only, geometry; openai:NAME, anthropic:NAME, gemini:NAME, local:NAME."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file of answers to write (JSON lines).")],
    endpoint: asking.Address = "",
    prompt: Annotated[
        str, typer.Option(help="direct: a letter; steps: reasons first; or a YAML file of your own.")
    ] = "direct",
    examples: Annotated[
        int, typer.Option(min=0, max=8, help="Questions of each kind to show first; these are not asked.")
    ] = 0,
    kinds: Annotated[str, typer.Option(help="With commas: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")] = "all",
    per_kind: Annotated[int | None, typer.Option(min=1, help="Ask so many of each kind only.")] = None,
    seed: Annotated[int, typer.Option(help="Decides which, with --per-kind.")] = 0,
    per_minute: asking.PerMinute = 60.0,
    at_once: asking.AtOnce = 4,
    timeout: asking.Timeout = 120.0,
    attempts: asking.Attempts = 6,
    most_tokens: asking.MostTokens = 2048,
    temperature: asking.Temperature = True,
    effort: asking.Effort = "",
    thinking: asking.Thinking = None,
    extra: asking.Extra = "",
    device_map: asking.DeviceMap = "",
    remote_code: asking.RemoteCode = False,
    price_in: asking.PriceIn = 0.0,
    price_out: asking.PriceOut = 0.0,
    cache: Annotated[
        Path | None, typer.Option(help="File with what models said; beside the answers if not given.")
    ] = None,
    estimate: asking.EstimateOnly = False,
) -> None:
    """Ask a model, or a baseline, every question of a folder.

    A key is read from ASSAY_LLM_KEY. Everything a model says is kept: the same command goes on where it was
    interrupted, and asks nothing twice. Exit status 1 if a question is unanswered.
    """
    from assay.extensions.eqa import options
    from assay.extensions.eqa.asking import answers as files
    from assay.extensions.eqa.asking.cost import estimate as estimated
    from assay.extensions.eqa.asking.models import Settings, endpoint_of, is_baseline
    from assay.extensions.eqa.asking.models import model as opened
    from assay.extensions.eqa.asking.prompts import Prompting, examples_of
    from assay.extensions.eqa.asking.session import ask as asked
    from assay.extensions.eqa.asking.session import ask_baseline
    from assay.extensions.eqa.errors import QuestionError
    from assay.extensions.eqa.question import load
    from assay.extensions.eqa.sheet import chosen
    from assay.support.llm import Cache, Price, key_from_environment

    how, wanted = Prompting.parse(prompt), options.kinds(kinds)
    questions = [each for each in load(folder) if each.kind in wanted]
    if per_kind is not None or not questions:
        questions = chosen(questions, wanted, per_kind or 1, seed)
    by_rule = is_baseline(model)
    shown = examples_of(questions, examples, seed) if examples and not by_rule else {}
    kept_back = {each.id for some in shown.values() for each in some}
    questions = [question for question in questions if question.id not in kept_back]
    if not questions:
        raise QuestionError(f"{folder}: all its questions are examples; --examples needs more questions")
    if not estimate:
        files.check(out, folder, model, "" if by_rule else how.name)
    if by_rule:
        found = ask_baseline(questions, model)
        files.write(found.answers, out)
        _show_counts(found.answers, out)
        return
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
        device_map=device_map,
        remote_code=remote_code,
    )
    endpoint_of(model, settings)  # what is wrong with it is said before anything else
    price, about = Price(price_in, price_out), estimated(questions, folder, how, shown)
    asking.show_estimate(about, price, "questions", aside=not estimate)
    if estimate:
        return
    store = Cache(cache or out.with_name(f"{out.name}.said"))
    try:
        answering = opened(model, settings, store, asking.show_wait)
        with progress_bar() as bar:
            task = bar.add_task("questions", total=len(questions))

            def show(answer: Answer) -> None:
                spent = asking.cost(answering.ledger.cost(price), price)
                bar.update(task, advance=1, description=f"questions{spent}")

            found = asked(questions, folder, answering, how, show, shown)
    finally:
        store.close()
    files.write(found.answers, out)
    asking.show_bill(answering.ledger, price)
    _show_counts(found.answers, out)
    if found.stopped:
        say(f"stopped: {found.stopped}", aside=True)
    if found.stopped or any(answer.state == "unanswered" for answer in found.answers):
        raise typer.Exit(1)


def _show_counts(found: list[Answer], out: Path) -> None:
    states = Counter(str(each.state) for each in found)
    say(f"{out}: {', '.join(f'{count:,} {state}' for state, count in states.most_common()) or 'nothing'}")
    for (state, reason), count in Counter((each.state, each.reason) for each in found).most_common(20):
        if reason:
            say(f"{count:,} x {state}: {reason}", aside=True)
