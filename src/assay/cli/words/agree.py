"""`assay words agree`: the human check."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.execution import JsonFile, write_json
from assay.console import say


def agree(
    tables: Annotated[
        list[Path], typer.Argument(metavar="FILE.csv...", help="Returned sheets; with --export, grids.")
    ],
    export: Annotated[Path | None, typer.Option(help="Write a sheet for annotators to this file.")] = None,
    share: Annotated[float, typer.Option(help="How much of the grid goes on the sheet.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = 0,
    strictness: Annotated[
        float, typer.Option(min=0, max=1, help="Share of yes that counts as strict.")
    ] = 0.8,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of the interval.")] = 0.95,
    out: JsonFile = None,
) -> None:
    """Say how far annotators agree that paraphrases ask for the same; or, with --export, make their sheet."""
    from assay.perturb.words.agreement import agreement, once_each, read_sheets, sample, write_sheet
    from assay.perturb.words.grid.table import read, with_tasks

    if export is not None:
        once_each(tables)
        chosen = sample([row for table in tables for row in with_tasks(read(table))], share, seed)
        write_sheet(chosen, export)
        say(f"{len(chosen)} paraphrases in {export}", aside=True)
        return
    found = agreement(read_sheets(tables), strictness=strictness, confidence=confidence)
    if out is not None and write_json(dataclasses.asdict(found), out):
        return
    for line in (
        f"{found.items} paraphrases, {found.annotators} annotators, {found.yes:.1%} of judgements yes",
        f"majority  {found.majority:.1%} of paraphrases",
        f"strict    {found.strict:.1%} (at least {strictness:.0%} say yes)",
        f"AC1       {found.ac1:.3f} ({confidence:.0%} interval {found.low:.3f} to {found.high:.3f})",
    ):
        say(line)
    if found.thin:
        say(
            f"{found.thin} of {found.items} paraphrases have fewer than three judgements: a majority of "
            "those is all of them, not most",
            aside=True,
        )
