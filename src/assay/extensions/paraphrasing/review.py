"""`assay words review` and `assay words agree`: human checks of paraphrases, with images of their scenes."""

from __future__ import annotations

import base64
import csv
import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import compress, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import JsonFile, write_json
from assay.errors import PerturbationError
from assay.support.console import progress_bar, say
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.perturb.words.grid.rules import Fault
    from assay.perturb.words.grid.table import GridRow
    from assay.tasks import Scene, Task

IMAGE_PIXELS = 384
"""Height and width of an image of a scene, in pixels."""
TaskFiles = Annotated[
    str,
    typer.Option(
        "--tasks",
        help="Task files (.bddl, comma-separated) for tasks in the table that are not built in.",
    ),
]


def tasks_named(selection: str) -> tuple[Task, ...]:
    """Return the selected tasks; the selection may contain task files."""
    from assay import tasks

    chosen: dict[str, Task] = {}
    for part in (part.strip() for part in selection.split(",")):
        named = (tasks.bddl.read(part),) if part.endswith(".bddl") else tasks.resolve(part)
        chosen |= {task.id: task for task in named}
    return tuple(chosen.values())


def task_loader(selection: str) -> Callable[[str], Task]:
    """Return a function that finds a task by id, first among selected task files, then among built-in tasks."""
    from assay import tasks

    own = {task.id: task for task in tasks_named(selection)} if selection else {}
    return lambda id: own.get(id) or tasks.load(id)


def draw_scenes(tasks: Sequence[Task], folder: Path) -> Mapping[str, Path]:
    """Render the initial scenes of tasks and return the image files by task id; identical scenes share a file."""
    from assay.report.scene_images import save_task_image
    from assay.tasks import short_name

    files: dict[Scene, Path] = {}
    with progress_bar() as bar:
        progress = bar.add_task("images", total=len({task.scene for task in tasks}))
        for task in tasks:
            if task.scene not in files:
                bar.update(progress, advance=1, description=f"image of {task.id}")
                path = folder / f"{short_name(task.id)}.png"
                files[task.scene] = save_task_image(task, path, IMAGE_PIXELS)
    return {task.id: files[task.scene] for task in tasks}


def review(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE.csv",
            help="CSV file written by `assay words generate`, or LIBERO-Para's metadata.csv.",
        ),
    ],
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a sheet for the reviewer: .html with images, or .csv."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="CSV file with the reviewer's decisions, as saved by the sheet."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table without the rejected rows to this file.")
    ] = None,
    selection: TaskFiles = "",
    pictures: Annotated[bool, typer.Option(help="Show the initial scene of each task.")] = True,
) -> None:
    """Make a sheet on which a reviewer accepts or rejects each paraphrase; then remove the rejected ones.

    First pass --sheet review.html, open the sheet in a browser and save decisions.csv from it; then pass
    --decisions decisions.csv --out accepted.csv. Rows without a decision are kept.
    """
    from assay.extensions.paraphrasing import human_check
    from assay.perturb.words.grid.table import open_table, read_grid
    from assay.support.files import replacing

    rows = read_grid(table)
    if (sheet is None) == (decisions is None):
        raise PerturbationError(
            "expected either --sheet FILE, to make a sheet, or --decisions FILE.csv, to apply decisions"
        )
    if sheet is not None:
        if sheet.suffix.lower() == ".html":
            from assay.perturb.words.grid.rules import verify

            load = task_loader(selection)
            chosen = [load(id) for id in sorted({row.task for row in rows})] if pictures else []
            with scratch_folder() as folder:
                files = draw_scenes(chosen, Path(folder))
                page = _review_page(rows, list(verify(rows, load=load)), files, name=table.name)
            with replacing(sheet) as unfinished:
                unfinished.write_text(page, encoding="utf-8")
        elif sheet.suffix.lower() == ".csv":
            human_check.write_sheet(sheet, dict(enumerate(rows, start=1)), human_check.DECISION_COLUMNS)
        else:
            raise PerturbationError(f"--sheet '{sheet}': expected a file that ends in .html or .csv")
        say(f"{len(rows)} paraphrases in {sheet}", aside=True)
        return
    assert decisions is not None
    if out is None:
        raise PerturbationError("--decisions needs --out FILE.csv")
    if out.resolve() == table.resolve():
        raise PerturbationError(f"--out '{out}' is the input table; choose another file")
    decided = human_check.read_decisions(decisions, rows)
    with (
        open_table(table) as reader,
        replacing(out) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, reader.fieldnames or (), lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(compress(reader, (decision != human_check.REJECT for decision in decided)))
    accepted, rejected = decided.count(human_check.ACCEPT), decided.count(human_check.REJECT)
    undecided = len(decided) - accepted - rejected
    say(f"{accepted} accepted, {rejected} rejected, {undecided} without a decision")
    pairs = zip(rows, decided, strict=True)
    cells = Counter(row.key for row, decision in pairs if decision == human_check.REJECT)
    for (object_type, action_type), count in cells.most_common():
        say(f"rejected {count:>5} in obj={object_type},act={action_type}")
    say(f"{len(rows) - rejected} paraphrases in {out}", aside=True)


def _review_page(
    table: Sequence[GridRow], faults: Sequence[Fault], pictures: Mapping[str, Path], *, name: str
) -> str:
    """Render a table as a web page, with rows by task and cell, violated rules and images of initial scenes."""
    from assay.extensions.paraphrasing import human_check
    from assay.report.rendering import render

    flaws: dict[int, list[str]] = {}
    for fault in faults:
        flaws.setdefault(fault.line, []).append(f"{fault.rule}: {fault.reason}")
    rows = sorted(enumerate(table, start=1), key=lambda item: (item[1].task, *item[1].key, item[0]))
    tasks = []
    for (task, original), own in groupby(rows, key=lambda item: (item[1].task, item[1].original)):
        image = pictures.get(task)
        cells = [
            {
                "object_type": object_type,
                "action_type": action_type,
                "rows": [
                    {"number": number, "row": row, "flaws": flaws.get(row.line, ())}
                    for number, row in in_cell
                ],
            }
            for (object_type, action_type), in_cell in groupby(own, key=lambda item: item[1].key)
        ]
        picture = base64.b64encode(image.read_bytes()).decode() if image is not None else ""
        tasks.append({"task": task, "original": original, "picture": picture, "cells": cells})
    return render(
        "review.html.jinja", name=name, count=len(table), columns=human_check.DECISION_COLUMNS, tasks=tasks
    )


def agree(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE.csv...",
            help="Sheets that annotators returned; with --export, tables of paraphrases.",
        ),
    ],
    export: Annotated[Path | None, typer.Option(help="Write a sheet for annotators to this file.")] = None,
    share: Annotated[float, typer.Option(help="Fraction of the paraphrases to sample.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    pictures: Annotated[
        bool,
        typer.Option(
            "--pictures",
            help="With --export, write images of the initial scenes to a folder beside the sheet.",
        ),
    ] = False,
    selection: TaskFiles = "",
    marks: Annotated[
        Literal["0X", "10"] | None,
        typer.Option(help="Meaning of 0 on the sheets: same meaning (0X), or different meaning (10)."),
    ] = None,
    strictness: Annotated[
        float, typer.Option(min=0, max=1, help="Minimum fraction of yes judgements for the strict criterion.")
    ] = 0.8,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Confidence level of the interval.")
    ] = 0.95,
    out: JsonFile = None,
) -> None:
    """Measure how well annotators agree that paraphrases keep the meaning; with --export, write their sheet.

    Lists the paraphrases that fail the strict criterion, with their cells.
    """
    from assay.extensions.paraphrasing import human_check
    from assay.perturb.words.grid.table import read, with_tasks

    if export is not None:
        human_check.check_distinct(tables)
        chosen = human_check.sample([row for table in tables for row in with_tasks(read(table))], share, seed)
        scenes: dict[str, str] = {}
        if pictures:
            load, folder = task_loader(selection), export.with_name(f"{export.stem}_scenes")
            files = draw_scenes([load(id) for id in sorted({row.task for row in chosen.values()})], folder)
            scenes = {id: f"{folder.name}/{file.name}" for id, file in files.items()}
        human_check.write_sheet(export, chosen, human_check.ANNOTATION_COLUMNS, scenes)
        say(f"{len(chosen)} paraphrases in {export}", aside=True)
        return
    result = human_check.agreement(
        human_check.read_sheets(tables, marks), strictness=strictness, confidence=confidence
    )
    if out is not None and write_json(dataclasses.asdict(result), out):
        return
    for line in (
        f"{result.items} paraphrases, {result.annotators} annotators, {result.yes:.1%} of judgements yes",
        f"majority  {result.majority:.1%} of paraphrases",
        f"strict    {result.strict:.1%} (at least {strictness:.0%} of their judgements yes)",
        f"AC1       {result.ac1:.3f} ({confidence:.0%} interval {result.low:.3f} to {result.high:.3f})",
    ):
        say(line)
    if result.failing:
        say(f"{len(result.failing)} paraphrases fail the strict criterion")
    for axis in ("object_type", "action_type"):
        types = Counter(getattr(failure.item, axis) for failure in result.failing)
        if types and "" not in types:
            say(f"  by {axis}: {', '.join(f'{type} {count}' for type, count in types.most_common())}")
    for failure in result.failing:
        item = failure.item
        cell = f", obj={item.object_type},act={item.action_type}" if item.action_type else ""
        where = f"item {item.item} ({item.task}{cell})" if item.task else f"item {item.item}"
        say(f"  {where}: {failure.yes} of {failure.judgements} yes: {item.paraphrase}")
    if result.thin:
        say(
            f"{result.thin} of {result.items} paraphrases have fewer than three judgements, so their majority vote "
            "is unreliable",
            aside=True,
        )
