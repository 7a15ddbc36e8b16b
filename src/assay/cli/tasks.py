"""``assay tasks``: list, show, export and check tasks."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer
from rich.panel import Panel
from rich.status import Status
from rich.table import Column, Table
from rich.text import Text

from assay.cli.options import JsonFile, write_json
from assay.errors import AssayError, TaskError
from assay.support.console import errors, output, say, style_text, table_of, working

if TYPE_CHECKING:  # tasks bring numpy and pydantic along, for which other commands need not wait
    from assay import tasks
    from assay.tasks import Task, bddl
    from assay.tasks.labels import Census, Frequency

app = typer.Typer(
    help="List, show, export and check tasks.", no_args_is_help=True, rich_markup_mode="markdown"
)

_TaskOrFile = Annotated[
    str, typer.Argument(metavar="ID", help="A built-in task such as libero_goal/3, or a task file.")
]


@app.command("list")
def list_tasks(
    selection: Annotated[
        str,
        typer.Argument(
            metavar="[SELECTION]",
            help="Tasks: all, suites, ids, task files and folders, separated by commas (default: every built-in task).",
            show_default=False,
        ),
    ] = "all,libero_90",
    out: JsonFile = None,
) -> None:
    """List tasks, the built-in ones or those in files.

    Example: `assay tasks list libero_goal,libero_10/0,my_scenes`
    """
    from assay import tasks

    chosen = tasks.resolve(selection)
    if out is not None:
        listed = [{"id": task.id, "instruction": task.instruction.text} for task in chosen]
        if write_json(listed, out):
            return
    widest = min(max(len(task.id) for task in chosen), 30)  # a file's path may fold, an id not
    columns = (Column("id", min_width=widest), Column("arena", no_wrap=True), "instruction")
    table = table_of(*columns, box=None, padding=(0, 2, 0, 0))
    for task in chosen:
        table.add_row(task.id, task.scene.arena.value, task.instruction.text)
    output.print(table)


@app.command()
def show(
    task_id: _TaskOrFile,
    picture: Annotated[
        Path | None,
        typer.Option(help="The image: a .png file, or a folder (default: the folder 'out')."),
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Render no image.")] = False,
    out: JsonFile = None,
) -> None:
    """Show everything about one task, with an image of its scene."""
    from assay.tasks.files import to_plain

    task, warnings = _load(task_id)
    wanted = not no_picture and (picture is not None or out != "-")
    if out is not None:
        plain = to_plain(task)
        if warnings:
            plain["warnings"] = [{"line": note.line, "reason": note.text} for note in warnings]
        write_json(plain, out)
    if out != "-":
        output.print(_panel(task))
        for note in warnings:
            output.print(style_text(f"line {note.line}: {note.text}", "yellow"))
    if wanted:
        # Pictures are about the task, not part of the JSON: say so on stderr there.
        _draw(task, picture, aside=out == "-")


@app.command()
def export(
    task_id: _TaskOrFile,
    file: Annotated[Path, typer.Option("--bddl", help="The file to write; its folder is created.")],
) -> None:
    """Write a task as a BDDL file that LIBERO can read."""
    from assay.tasks import bddl

    task, _ = _load(task_id)
    text = bddl.write(task)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TaskError(f"{file}: cannot be written: {error.strerror or error}") from None
    say(str(file))


@app.command()
def labels(
    selection: Annotated[
        str,
        typer.Argument(
            metavar="[SELECTION]",
            help="Tasks: all, suites, ids, task files and folders, separated by commas.",
        ),
    ] = "all",
    target: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the tables, the tree of labels and the flow diagram.")
    ] = None,
) -> None:
    """Count LIBERO-X's labels of tasks, and the predicates, objects and containers of their goals.

    Example: `assay tasks labels LIBERO-X/libero/libero_x/bddl/LEVEL1`
    """
    from assay import tasks
    from assay.experiments.labels import label_sets
    from assay.tasks.labels import Asked, census

    with working("reading tasks"):
        counts = census(
            Asked(tuple(map(str, task.goal.atoms)), label_sets(task), task.scene)
            for task in tasks.resolve(selection)
        )
    if out is not None:
        _write_census(counts, out)
    if target is not None and write_json(counts.as_json(), target):
        return
    say(f"{counts.all.tasks:,} tasks in {counts.all.scenes or 0:,} scenes")
    _census_table("family", "label", counts.labels)
    _census_table("part", "name", counts.parts)


def _census_table(first: str, second: str, parts: Mapping[str, Mapping[str, Frequency]]) -> None:
    """Print one row per name, under its part."""
    numbers = (Column("scenes", justify="right"), Column("tasks", justify="right"))
    table = table_of(first, second, *numbers, box=rich.box.SIMPLE_HEAD)
    for part, counts in parts.items():
        for place, (name, frequency) in enumerate(counts.items()):
            table.add_row("" if place else part, name, f"{frequency.scenes or 0:,}", f"{frequency.tasks:,}")
    output.print(table)


def _write_census(counts: Census, folder: Path) -> None:
    from assay.measures.task_statistics import (
        flow_figure,
        frequency_table,
        label_table,
        tree_figure,
    )
    from assay.report.page import write_files

    drawings = tree_figure(counts), flow_figure(counts)
    write_files(folder, ".", drawings, (label_table(counts), frequency_table({"": counts})))
    say(f"written to {folder}", aside=True)


@app.command()
def check(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A .bddl file, a tar archive, or a folder of them."),
    ],
) -> None:
    """Read every task file below a path, write it, read it again, and report as JSON.

    Prints `{"files", "read", "round_trip", "failures", "warnings"}`. Exit status 1 if a file failed; warnings
    are parts of a file that have no effect.
    """
    from assay.tasks.audit import audit

    with _FileCounter() as counter:
        result = audit(path, on_file=counter.count)
    typer.echo(json.dumps(asdict(result), indent=2))
    if result.failures:
        raise typer.Exit(1)


def _load(task_id: str) -> tuple[Task, tuple[bddl.Note, ...]]:
    from assay import tasks
    from assay.tasks import bddl

    is_ours = Path(task_id).suffix.lower() == ".json"
    if task_id.lower().endswith(".bddl") or (Path(task_id).is_file() and not is_ours):
        document = bddl.read_document(task_id)
        return document.task, document.warnings
    return tasks.load(task_id), ()


def _panel(task: Task) -> Panel:
    scene = task.scene
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def row(heading: str, lines: list[str]) -> None:
        table.add_row(heading, "\n".join(lines) if lines else style_text("none", "dim"))

    row("instruction", [task.instruction.text])
    row("arena", [f"{scene.arena}, style {scene.style}" if scene.style else scene.arena.value])
    row("fixtures", [_entity(entity) for entity in scene.fixtures])
    row("objects", [_entity(entity) for entity in scene.objects])
    table.add_row(Text.assemble("regions\n", ("(m, rad)", "dim")), _regions(scene))
    row("initial", [str(atom) for atom in scene.initial])
    row("goal", [str(atom) for atom in task.goal.atoms])
    row("of interest", [", ".join(task.of_interest)] if task.of_interest else [])
    return Panel(table, title=Text(task.id), title_align="left", expand=False)


def _entity(entity: tasks.Entity) -> str:
    """An entity in one line: its name and how it differs from the default."""
    finish = entity.finish
    differs = [
        *([] if entity.name.rpartition("_")[0] == entity.category else [entity.category]),
        *([] if finish.colour is None else ["colour " + " ".join(f"{value:g}" for value in finish.colour)]),
        *([] if finish.pattern is None else [finish.pattern.value]),
        *([] if entity.size == 1 else [f"size {entity.size:g}"]),
    ]
    return f"{entity.name} ({', '.join(differs)})" if differs else entity.name


def _regions(scene: tasks.Scene) -> Table:
    """One block per target: rectangles in metres with their yaw, then the regions that belong to the target."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    present = {scene.arena.workspace, *(entity.name for entity in scene.entities)}
    for target, group in groupby(scene.regions, key=lambda region: region.target):
        regions = tuple(group)
        places = [region for region in regions if region.rectangles]
        sites = ", ".join(region.name for region in regions if not region.rectangles)
        absent = "" if target in present else "not in the scene: "
        grid.add_row(style_text(target, "bold"), f"{absent}{sites}")
        for region in places:
            grid.add_row(f"  {region.name}", _place(region))
    return grid


def _place(region: tasks.Region) -> str:
    parts = [
        f"x {area.x_min:.3g}..{area.x_max:.3g} y {area.y_min:.3g}..{area.y_max:.3g}"
        for area in region.rectangles
    ]
    if region.yaw is not None and any(region.yaw):
        low, high = region.yaw
        parts.append(f"yaw {low:.3g}" if low == high else f"yaw {low:.3g}..{high:.3g}")
    return " ".join(parts)


def _draw(task: Task, wanted: Path | None, *, aside: bool) -> None:
    """Draw the scene and print the path of the image; a failure is an error only if an image was requested."""
    from assay.report.scene_images import save_task_image
    from assay.tasks import short_name

    where = wanted or Path("out")
    if where.suffix and where.suffix.lower() != ".png":
        raise TaskError(f"{where}: an image is a .png file; valid: a .png file, or a folder")
    file = where if where.suffix else where / f"{short_name(task.id)}.png"
    try:
        written = save_task_image(task, file)
    except (AssayError, OSError) as error:
        if wanted is not None:
            raise
        (errors if aside else output).print(style_text(f"no image: {error}", "yellow"), soft_wrap=True)
    else:
        say(f"image: {written}", aside=aside)


class _FileCounter:
    """A line on the terminal that counts files, once it has taken longer than a second."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> _FileCounter:
        return self

    def count(self, files: int) -> None:
        if self._status is None:
            if not errors.is_terminal or time.monotonic() - self._begun < 1.0:
                return
            self._status = working("")
            self._status.start()
        if files % 100 == 0:
            self._status.update(f"{files:,} files read")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
