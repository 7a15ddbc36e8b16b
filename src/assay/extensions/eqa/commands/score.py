"""`assay eqa score`: who is right how often."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import JsonFile, write_json
from assay.support.console import output, say, table_of, working


def score(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[ANSWERS...]", help="Files that assay eqa ask wrote.")
    ] = None,
    annotations: Annotated[
        Path | None, typer.Option(help="What people said; the folder's own file if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the page, figures and tables.")] = None,
    paper: Annotated[
        str,
        typer.Option(help="Instead of the page: the tables and figures of actioneqa, each under its number."),
    ] = "",
    facts: Annotated[
        Path | None, typer.Option(help="With --paper: YAML, NAME: {open: true, size: 7, family: Qwen}.")
    ] = None,
    target: JsonFile = None,
) -> None:
    """Score answers to a folder's questions, of models and of people: a table, a page or JSON."""
    from assay.extensions.eqa.annotations import FILE, Annotations
    from assay.extensions.eqa.errors import QuestionError
    from assay.extensions.eqa.question import load
    from assay.extensions.eqa.scoring.actioneqa import PAPER, read_facts, report
    from assay.extensions.eqa.scoring.means import PARTS
    from assay.extensions.eqa.scoring.page import Page, banners
    from assay.extensions.eqa.scoring.score import score as scored
    from assay.extensions.eqa.scoring.sheet import sheet
    from assay.measures.views.wording import between, percent

    place = annotations or folder / FILE
    people = Annotations(place) if annotations is not None or place.is_file() else None
    if paper not in ("", PAPER):
        raise QuestionError(f"there is no paper '{paper}' about questions; valid: {PAPER}")
    if paper and out is None:
        raise QuestionError("--paper needs --out DIR")
    if facts is not None and not paper:
        raise QuestionError("--facts is for --paper")
    known = {} if facts is None else read_facts(facts)
    questions = load(folder)
    found = scored(sheet(questions, files or [], people), people.mistakes() if people else ())
    if target is not None:
        write_json(found.as_json(), target)
    if out is not None:
        with working("drawing"):
            made = (
                report(found, questions, known) if paper else Page(found, f"Action questions: {folder.name}")
            )
            page = made.write(out)
        if target != "-":
            say(f"written to {page}")
    if target != "-":
        forgiven = any(model.lenient != model.standing.overall for model in found.models.values())
        heads = ["model", "n", "%", "95 % interval", "high", "mid", "low", "SP", "AI"]
        table = table_of(*heads, *(["lenient"] if forgiven else []))
        for name, model in found.models.items():
            means = model.standing.means
            parts = (percent(means[part].share if part in means else None) for part in PARTS)
            overall, *others = (part.removesuffix(" %") for part in parts)
            interval = between(model.standing.overall.interval, 100)
            lenient = [percent(model.lenient.share).removesuffix(" %")] if forgiven else []
            table.add_row(name, f"{model.standing.questions:,}", overall, interval, *others, *lenient)
        for name in found.silent:
            table.add_row(name, "0", *["-"] * (len(heads) - 2 + forgiven))
        output.print(table)
        for each in found.agreement:
            say(
                f"{', '.join(each.annotators)}: agree on {each.observed:.1%} of {each.items} questions, "
                f"kappa {each.even_kappa:.3f} (chance 1/4)"
            )
    for line in banners(found):
        say(line, aside=True)
