"""`assay eqa import`: questions that others made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import say


def import_set(
    path: Annotated[Path, typer.Argument(metavar="SET", help="A file of JSON lines, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="Folder of the questions: a new one.")],
    dataset: Annotated[str, typer.Option(help="Data set of questions that name none.")] = "",
    view: Annotated[str, typer.Option(help="View of questions that name none: exo, ego, both, ...")] = "exo",
) -> None:
    """Read a question set with ActionEQA's fields: kind, images, action, options, answer.

    Lines that are no question are counted and named. Exit status 1 if there are any.
    """
    from assay.extensions.eqa.importing import import_set as imported

    built = imported(path, out, dataset=dataset, view=view)
    tally = built.tallies["import"]
    for reason, count in tally.counts.most_common():
        places = tally.places.get(reason, [])
        if reason.startswith("line: "):
            say(f"{count} x {reason.removeprefix('line: ')} ({'; '.join(places[:2])})", aside=True)
    counts = "; ".join(
        f"{name}: {', '.join(f'{kind} {count}' for kind, count in each.items())}"
        for name, each in built.counts.items()
    )
    say(f"{out}: {built.questions:,} of {tally.counts['lines read']:,} questions; {counts}")
    if built.questions < tally.counts["lines read"]:
        raise typer.Exit(1)
