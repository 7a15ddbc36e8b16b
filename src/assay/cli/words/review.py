"""`assay words review` and `assay words agree`: human checks of paraphrases, with images of their scenes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import JsonFile, write_json
from assay.errors import PerturbationError
from assay.support.console import progress_bar, say
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.perturb.words.human_check import Failing
    from assay.tasks import Task


def tasks_named(selection: str) -> tuple[Task, ...]:
    """The tasks of a selection as on the command line, which may hold task files."""
    from assay import tasks

    parts = [part.strip() for part in selection.split(",")]
    found = [
        task
        for part in parts
        for task in ((tasks.bddl.read(part),) if part.endswith(".bddl") else tasks.resolve(part))
    ]
    return tuple({task.id: task for task in found}.values())


def task_loader(selection: str) -> Callable[[str], Task]:
    """Finds a task by its id: those of a selection of task files first, then the built-in ones."""
    from assay import tasks

    own = {task.id: task for task in tasks_named(selection)} if selection else {}
    return lambda id: own.get(id) or tasks.load(id)


def draw_scenes(tasks: Sequence[Task], folder: Path) -> Mapping[str, Path]:
    """Pictures of the tasks' initial scenes, by id."""
    from assay.report.scene_images import save_scene_images

    with progress_bar() as bar:
        progress = bar.add_task("pictures", total=len({task.scene for task in tasks}))
        return save_scene_images(
            tasks, folder, on_scene=lambda id: bar.update(progress, advance=1, description=f"picture of {id}")
        )


@contextmanager
def drawn_scenes(tasks: Sequence[Task]) -> Iterator[Mapping[str, Path]]:
    """The same in a folder that is removed afterwards."""
    with scratch_folder() as folder:
        yield draw_scenes(tasks, Path(folder))


def review(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE.csv", help="A grid, or LIBERO-Para's metadata.csv.")
    ],
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a sheet for the reviewer: .html with pictures, or .csv."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="What the reviewer decided, as the sheet saves it."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table without the rejected rows to this file.")
    ] = None,
    selection: Annotated[
        str, typer.Option("--tasks", help="Task files (.bddl, with commas) that rows may speak of.")
    ] = "",
    pictures: Annotated[bool, typer.Option(help="Show the initial scene of each task.")] = True,
) -> None:
    """Make a sheet on which a person accepts or rejects each paraphrase; then drop what was rejected.

    First --sheet review.html, which is opened in a browser and saves decisions.csv; then --decisions
    decisions.csv --out kept.csv. Rows that nobody decided are kept.
    """
    from assay.perturb.words.grid.table import read, with_tasks
    from assay.perturb.words.human_check import keep, read_decisions, write_review_sheet
    from assay.support.files import replacing

    rows = with_tasks(read(table, with_cells=True))
    if not rows:
        raise PerturbationError(f"{table} has no rows below its header: there is nothing to review")
    if (sheet is None) == (decisions is None):
        raise PerturbationError(
            "say either --sheet FILE, to make a sheet, or --decisions FILE.csv, to apply one"
        )
    if sheet is not None:
        if sheet.suffix.lower() == ".html":
            from assay.perturb.words.grid.rules import verify
            from assay.report.review_page import review_page

            load = task_loader(selection)
            chosen = [load(id) for id in sorted({row.task for row in rows})] if pictures else []
            with drawn_scenes(chosen) as files:
                page = review_page(rows, list(verify(rows, load=load)), files, name=table.name)
            with replacing(sheet) as unfinished:
                unfinished.write_text(page, encoding="utf-8")
        elif sheet.suffix.lower() == ".csv":
            write_review_sheet(rows, sheet)
        else:
            raise PerturbationError(f"--sheet '{sheet}': valid: a file that ends in .html or .csv")
        say(f"{len(rows)} paraphrases in {sheet}", aside=True)
        return
    assert decisions is not None
    if out is None:
        raise PerturbationError("say where the kept rows go with --out FILE.csv")
    if out.resolve() == table.resolve():
        raise PerturbationError(f"--out '{out}' is the table itself: name another file")
    decided = read_decisions(decisions, rows)
    with replacing(out) as unfinished:
        found = keep(table, rows, decided, unfinished)
    say(f"{found.accepted} accepted, {found.rejected} rejected, {found.undecided} undecided and kept")
    for (thing, action), count in found.by_cell.most_common():
        say(f"rejected {count:>5} in obj={thing},act={action}")
    say(f"{len(rows) - found.rejected} paraphrases in {out}", aside=True)


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
