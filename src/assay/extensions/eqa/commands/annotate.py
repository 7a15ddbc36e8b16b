"""`assay eqa annotate`: people answer questions in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import say


def annotate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    answers: Annotated[
        list[Path] | None,
        typer.Option(help="A model's answers: its mistakes can be looked at and marked. Repeatable."),
    ] = None,
    kinds: Annotated[str, typer.Option(help="With commas: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")] = "all",
    per_kind: Annotated[int | None, typer.Option(min=1, help="So many of each kind only.")] = None,
    errors: Annotated[
        int | None, typer.Option(min=1, help="So many mistakes of each model, level and direction only.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides which, with --per-kind and --errors.")] = 0,
    annotations: Annotated[
        Path | None, typer.Option(help="Where answers are kept; in the folder if not given.")
    ] = None,
    review: Annotated[
        bool, typer.Option("--review", help="Show right answers; keep or drop each question.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8771,
) -> None:
    """Answer a folder's questions in a browser, under a name of one's own, until Ctrl-C.

    Each answer is kept at once; whoever comes back goes on where they left. assay eqa score counts people as
    it counts models, and says how far they agree. With --review, questions are shown with their right answers, to be
    kept or dropped; assay eqa review makes the set that is left.
    """
    from assay.extensions.eqa import options
    from assay.extensions.eqa.annotate_page import Desk, serve
    from assay.extensions.eqa.annotations import FILE, Annotations
    from assay.extensions.eqa.asking.answers import read
    from assay.extensions.eqa.asking.judging import sampled, wrong_answers
    from assay.extensions.eqa.question import load
    from assay.extensions.eqa.sheet import chosen

    questions, wanted = load(folder), options.kinds(kinds)
    asked = [question for question in questions if question.kind in wanted]
    if per_kind is not None or not asked:
        asked = chosen(asked, wanted, per_kind or 1, seed)
    wrong = [wrong_answer for file in answers or () for wrong_answer in wrong_answers(asked, read(file))]
    if errors is not None:
        wrong = sampled(wrong, errors, seed)
    desk = Desk(folder.resolve(), asked, Annotations(annotations or folder / FILE), wrong, review)
    serve(desk, port, lambda address: say(f"{folder} is at {address} (Ctrl-C ends it)"))
