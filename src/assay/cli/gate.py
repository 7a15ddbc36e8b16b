"""`assay gate`: may this run replace that one?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.execution import JsonFile
from assay.cli.verdicts import Each, JUnit, Margin, Markdown, tell


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run that is judged, NAME.assay.")],
    baseline: Annotated[Path, typer.Option(metavar="BASE", help="The run that it is held against.")],
    margin: Margin = 0.05,
    each: Each = False,
    target: JsonFile = None,
    junit: JUnit = None,
    markdown: Markdown = None,
) -> None:
    """Judge a run by another, on the episodes that both did: better, equivalent, not worse, or worse.

    A is the baseline, B the run. Exit status: 0 better, equivalent or not worse by more than the margin; 1 worse; 3
    undecided. With --each, every condition must pass.
    """
    from assay import api

    found = api.gate(run, baseline, margin=margin, each=each)
    tell(found, "assay gate", target, junit, markdown)
    raise typer.Exit(found.status)
