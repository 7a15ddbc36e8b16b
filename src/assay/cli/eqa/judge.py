"""`assay eqa judge`: what kind of mistakes are wrong answers?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.console import progress_bar, say


def judge(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    answers: Annotated[
        list[Path], typer.Argument(metavar="ANSWERS...", help="Files that assay eqa ask wrote.")
    ],
    model: Annotated[str, typer.Option(help="openai:NAME, anthropic:NAME, gemini:NAME, local:NAME.")],
    endpoint: Annotated[str, typer.Option(help="Base address; the protocol's own if not given.")] = "",
    most: Annotated[int, typer.Option(min=1, help="Wrong answers to look at, of each file.")] = 100,
    per_minute: Annotated[float, typer.Option(help="The most requests in a minute.")] = 60.0,
    annotations: Annotated[
        Path | None, typer.Option(help="Where marks are kept; the folder's own file if not given.")
    ] = None,
) -> None:
    """Have a model say what kind of mistake wrong answers are; its marks are marked as a judge's.

    Best for answers asked for with --prompt steps. A key is read from ASSAY_LLM_KEY. Exit status 1 if some
    could not be marked.
    """
    from assay.eqa.annotations import FILE, Annotations
    from assay.eqa.asking.answers import read
    from assay.eqa.asking.judging import judge as judged
    from assay.eqa.asking.judging import wrong_answers
    from assay.eqa.asking.models import Settings, is_baseline
    from assay.eqa.asking.models import model as opened
    from assay.eqa.errors import QuestionError
    from assay.eqa.question import load
    from assay.llm import Cache, key_from_environment

    if is_baseline(model):
        raise QuestionError(f"a judge is a model, not the baseline '{model}'")
    questions = load(folder)
    wrong = [each for file in answers for each in wrong_answers(questions, read(file))[:most]]
    kept = Annotations(annotations or folder / FILE)
    cache = Cache(kept.path.with_name(f"{kept.path.name}.said"))
    try:
        with progress_bar() as bar:
            task = bar.add_task("mistakes", total=len(wrong))
            settings = Settings(endpoint, key_from_environment(), per_minute)
            dropped = judged(wrong, folder, opened(model, settings, cache), kept, lambda: bar.advance(task))
    finally:
        cache.close()
    marked = len(wrong) - dropped.total()
    say(f"{kept.path}: {marked} of {len(wrong)} wrong answers marked")
    for reason, count in dropped.most_common():
        say(f"{count} x not marked: {reason}", aside=True)
    if dropped:
        raise typer.Exit(1)
