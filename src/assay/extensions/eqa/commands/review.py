"""`assay eqa review`: which questions are kept?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import say


def review(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the questions that are kept, a version of its own.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write verdicts, and lines to fill in, to this file.")
    ] = None,
    read: Annotated[Path | None, typer.Option(help="Take verdicts and comments from a CSV file.")] = None,
    by: Annotated[
        str, typer.Option(help="Whose: for --csv this reviewer only, for --read where none is named.")
    ] = "",
    drop: Annotated[str, typer.Option(help="Drop what any reviewer, or what most, would drop.")] = "any",
    annotations: Annotated[
        Path | None, typer.Option(help="Where verdicts are kept; in the folder if not given.")
    ] = None,
) -> None:
    """Say what reviewers would keep and drop and how far they agree; take verdicts from a file; make the reviewed set.

    Verdicts come from assay eqa annotate --review, or from --read. Questions without a verdict are kept, and counted.
    """
    from assay.extensions.eqa.annotations import FILE, Annotations, named
    from assay.extensions.eqa.errors import QuestionError
    from assay.extensions.eqa.question import load
    from assay.extensions.eqa.reviewing import RULES, as_csv, read_csv, reviewed, write_reviewed
    from assay.support.files import replacing

    rule = next((each for each in RULES if each == drop), None)
    if rule is None:
        raise QuestionError(f"--drop is one of {', '.join(RULES)}, not '{drop}'")
    questions, kept = load(folder), Annotations(annotations or folder / FILE)
    who = named(by) if by else ""
    if read is not None:
        say(f"{read}: {read_csv(read, questions, kept, who):,} verdicts and comments taken")
    if csv is not None:
        with replacing(csv) as unfinished:
            unfinished.write_text(as_csv(questions, kept.reviews(), who), encoding="utf-8")
        say(f"{csv}: {len(questions):,} questions")
    found = reviewed(questions, kept.reviews(), rule)
    for name, counts in found.verdicts.items():
        say(f"{name}: keeps {counts['keep']:,}, drops {counts['drop']:,}")
    for each in found.agreement:
        say(
            f"{', '.join(each.annotators)}: agree on {each.observed:.1%} of {each.items} questions, "
            f"kappa {each.even_kappa:.3f} (chance 1/2)"
        )
    say(
        f"{folder}: {found.questions - len(found.dropped):,} of {found.questions:,} questions kept, "
        f"{len(found.dropped):,} dropped, {found.unreviewed:,} without a verdict"
    )
    if out is not None:
        say(f"written to {write_reviewed(folder, out, questions, found)}")
