"""`assay words agree`: the human check."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import JsonFile, write_json
from assay.cli.words.scenes import draw_scenes, task_loader
from assay.support.console import say

if TYPE_CHECKING:
    from assay.perturb.words.human_check import Failing


def agree(
    tables: Annotated[
        list[Path], typer.Argument(metavar="FILE.csv...", help="Returned sheets; with --export, grids.")
    ],
    export: Annotated[Path | None, typer.Option(help="Write a sheet for annotators to this file.")] = None,
    share: Annotated[float, typer.Option(help="How much of the grid goes on the sheet.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = 0,
    pictures: Annotated[
        bool,
        typer.Option(
            "--pictures", help="With --export: pictures of the initial scenes, in a folder beside it."
        ),
    ] = False,
    selection: Annotated[
        str, typer.Option("--tasks", help="Task files (.bddl, with commas) that rows may speak of.")
    ] = "",
    marks: Annotated[
        Literal["0X", "10"] | None,
        typer.Option(help="What digits mean: 0X (0 the same, X different) or 10 (1 the same, 0 different)."),
    ] = None,
    strictness: Annotated[
        float, typer.Option(min=0, max=1, help="Share of yes that counts as strict.")
    ] = 0.8,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of the interval.")] = 0.95,
    out: JsonFile = None,
) -> None:
    """Say how far annotators agree that paraphrases ask for the same; or, with --export, make their sheet.

    Lists the paraphrases that fail the strict criterion, with their cells.
    """
    from assay.perturb.words.grid.table import read, with_tasks
    from assay.perturb.words.human_check import (
        Marks,
        agreement,
        once_each,
        read_sheets,
        sample,
        write_annotation_sheet,
    )

    if export is not None:
        once_each(tables)
        chosen = sample([row for table in tables for row in with_tasks(read(table))], share, seed)
        scenes: dict[str, str] = {}
        if pictures:
            load, folder = task_loader(selection), export.with_name(f"{export.stem}_scenes")
            files = draw_scenes([load(id) for id in sorted({row.task for row in chosen.values()})], folder)
            scenes = {id: f"{folder.name}/{file.name}" for id, file in files.items()}
        write_annotation_sheet(chosen, export, scenes)
        say(f"{len(chosen)} paraphrases in {export}", aside=True)
        return
    found = agreement(
        read_sheets(tables, Marks(marks) if marks else None), strictness=strictness, confidence=confidence
    )
    if out is not None and write_json(dataclasses.asdict(found), out):
        return
    for line in (
        f"{found.items} paraphrases, {found.annotators} annotators, {found.yes:.1%} of judgements yes",
        f"majority  {found.majority:.1%} of paraphrases",
        f"strict    {found.strict:.1%} (at least {strictness:.0%} say yes)",
        f"AC1       {found.ac1:.3f} ({confidence:.0%} interval {found.low:.3f} to {found.high:.3f})",
    ):
        say(line)
    _say_failing(found.failing)
    if found.thin:
        say(
            f"{found.thin} of {found.items} paraphrases have fewer than three judgements: a majority of "
            "those is all of them, not most",
            aside=True,
        )


def _say_failing(failing: Sequence[Failing]) -> None:
    """The items that fail the strict criterion, how many there are of each type, and each by itself."""
    if not failing:
        return
    say(f"{len(failing)} fail the strict criterion")
    for axis in ("object_type", "action_type"):
        types = Counter(getattr(each.item, axis) for each in failing)
        if "" not in types:
            say(f"  by {axis}: {', '.join(f'{type} {count}' for type, count in types.most_common())}")
    for each in failing:
        item = each.item
        cell = f", obj={item.object_type},act={item.action_type}" if item.action_type else ""
        where = f"item {item.item} ({item.task}{cell})" if item.task else f"item {item.item}"
        say(f"  {where}: {each.yes} of {each.judgements} yes: {item.paraphrase}")
