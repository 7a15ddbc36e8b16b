"""``assay tasks``: list, show, export and check tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from assay.cli.options import JsonFile, check_picture, write_json, write_text
from assay.support.console import output, print_rows, right, say, working

if TYPE_CHECKING:  # importing tasks loads numpy and pydantic, which other commands do not need
    from assay import tasks
    from assay.tasks import Task, bddl
    from assay.tasks.labels import Frequency

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
            metavar="SELECTION",
            help="Tasks: all, suite names, task ids, task files or folders, separated by commas (default: all "
            "built-in tasks).",
            show_default=False,
        ),
    ] = "all,libero_90",
    out: JsonFile = None,
) -> None:
    """List built-in tasks, or tasks from files.

    Example: `assay tasks list libero_goal,libero_10/0,my_scenes`
    """
    from assay import tasks

    chosen = tasks.resolve(selection)
    if out is not None:
        listed = [{"id": task.id, "instruction": task.instruction.text} for task in chosen]
        if write_json(listed, out):
            return
    widest = min(max(len(task.id) for task in chosen), 30)  # paths may be wrapped, ids may not
    columns = (Column("id", min_width=widest), Column("arena", no_wrap=True), "instruction")
    rows = [(task.id, task.scene.arena.value, task.instruction.text) for task in chosen]
    print_rows(columns, rows, box=None, padding=(0, 2, 0, 0))


@app.command()
def show(
    task_id: _TaskOrFile,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save a picture of the scene to this PNG file.")
    ] = None,
    out: JsonFile = None,
) -> None:
    """Show the scene, goal and instruction of a task."""
    from assay.report.scene_images import save_task_image
    from assay.tasks.files import to_plain

    task, warnings = _load(task_id)
    if picture is not None:
        check_picture(picture, "--picture")
    if out is not None:
        plain = to_plain(task)
        if warnings:
            plain["warnings"] = [{"line": note.line, "reason": note.text} for note in warnings]
        write_json(plain, out)
    if out != "-":
        output.print(_panel(task))
        for note in warnings:
            say(f"line {note.line}: {note.text}", "yellow")
    if picture is not None:
        say(f"image: {save_task_image(task, picture)}", aside=out == "-")


@app.command()
def export(
    task_id: _TaskOrFile,
    file: Annotated[Path, typer.Option("--bddl", help="BDDL file to write; missing folders are created.")],
) -> None:
    """Write a task as a BDDL file that LIBERO can read."""
    from assay.tasks import bddl

    task, _ = _load(task_id)
    write_text(file, bddl.write(task))


@app.command()
def labels(
    selection: Annotated[
        str,
        typer.Argument(
            metavar="SELECTION",
            help="Tasks: all, suite names, task ids, task files or folders, separated by commas.",
        ),
    ] = "all",
    target: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables, the tree of labels and the flow diagram.")
    ] = None,
) -> None:
    """Count the LIBERO-X labels of tasks, and the predicates, objects and containers in their goals.

    Example: `assay tasks labels LIBERO-X/libero/libero_x/bddl/LEVEL1`
    """
    from assay import tasks
    from assay.experiments.labels import label_sets
    from assay.measures.task_statistics import flow_figure, frequency_table, label_table, tree_figure
    from assay.report.page import write_files
    from assay.tasks.labels import LabelledTask, census

    with working("reading tasks"):
        counts = census(
            LabelledTask(tuple(map(str, task.goal.atoms)), label_sets(task), task.scene)
            for task in tasks.resolve(selection)
        )
    if out is not None:
        drawings = tree_figure(counts), flow_figure(counts)
        write_files(out, ".", drawings, (label_table(counts), frequency_table({"": counts})))
        say(f"written to {out}", aside=True)
    if target is not None and write_json(counts.as_json(), target):
        return
    say(f"{counts.all.tasks:,} tasks in {counts.all.scenes or 0:,} scenes")
    _census_table("family", "label", counts.labels)
    _census_table("part", "name", counts.parts)


def _census_table(first: str, second: str, parts: Mapping[str, Mapping[str, Frequency]]) -> None:
    """Print one row per name, grouped by part."""
    rows = [
        ("" if place else part, name, f"{frequency.scenes or 0:,}", f"{frequency.tasks:,}")
        for part, counts in parts.items()
        for place, (name, frequency) in enumerate(counts.items())
    ]
    print_rows((first, second, *right("scenes", "tasks")), rows)


@app.command()
def check(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A BDDL file, or a folder with BDDL files."),
    ],
) -> None:
    """Check that every task file below a path can be read, and is unchanged after being written and read again.

    Prints JSON: `{"files", "read", "round_trip", "failures", "warnings"}`. Warnings are parts of a file that have no
    effect. Exit status 1 if a file fails.
    """
    from assay.tasks.files import audit

    with working("reading task files"):
        result = audit(path)
    typer.echo(json.dumps(asdict(result), indent=2))
    if result.failures:
        raise typer.Exit(1)


def _load(task_id: str) -> tuple[Task, tuple[bddl.Note, ...]]:
    from assay import tasks
    from assay.tasks import bddl

    is_ours = Path(task_id).suffix.lower() == ".json"
    # Unlike pathlib's, this function returns False for names that are too long.
    is_file = os.path.isfile(task_id)  # noqa: PTH113
    if task_id.lower().endswith(".bddl") or (is_file and not is_ours):
        document = bddl.read_document(task_id)
        return document.task, document.warnings
    return tasks.load(task_id), ()


def _panel(task: Task) -> Panel:
    scene = task.scene
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def row(heading: str, lines: list[str]) -> None:
        table.add_row(heading, "\n".join(lines) if lines else Text("none", "dim"))

    row("instruction", [task.instruction.text])
    row("arena", [f"{scene.arena}, style {scene.style}" if scene.style else scene.arena.value])
    row("fixtures", [_entity(entity) for entity in scene.fixtures])
    row("objects", [_entity(entity) for entity in scene.objects])
    # One block per target: rectangles in metres with their yaw, after the regions of the target itself.
    grid = Table.grid(Column(overflow="fold"), Column(overflow="fold"), padding=(0, 2))
    present = {scene.arena.workspace, *(entity.name for entity in scene.entities)}
    for target, group in groupby(scene.regions, key=lambda region: region.target):
        regions = tuple(group)
        sites = ", ".join(region.name for region in regions if not region.rectangles)
        grid.add_row(Text(target, "bold"), sites if target in present else f"not in the scene: {sites}")
        for region in regions:
            parts = [
                f"x {area.x_min:.3g}..{area.x_max:.3g} y {area.y_min:.3g}..{area.y_max:.3g}"
                for area in region.rectangles
            ]
            if region.yaw is not None and any(region.yaw):
                low, high = region.yaw
                parts.append(f"yaw {low:.3g}" if low == high else f"yaw {low:.3g}..{high:.3g}")
            if region.rectangles:
                grid.add_row(f"  {region.name}", " ".join(parts))
    table.add_row(Text.assemble("regions\n", ("(m, rad)", "dim")), grid)
    row("initial", [str(atom) for atom in scene.initial])
    row("goal", [str(atom) for atom in task.goal.atoms])
    row("objects of interest", [", ".join(task.of_interest)] if task.of_interest else [])
    return Panel(table, title=Text(task.id), title_align="left", expand=False)


def _entity(entity: tasks.Entity) -> str:
    """Describe an entity on one line: its name, and how it differs from the default."""
    finish = entity.finish
    differs = [
        *([] if entity.name.rpartition("_")[0] == entity.category else [entity.category]),
        *([] if finish.colour is None else ["colour " + " ".join(f"{value:g}" for value in finish.colour)]),
        *([] if finish.pattern is None else [finish.pattern.value]),
        *([] if entity.size == 1 else [f"size {entity.size:g}"]),
    ]
    return f"{entity.name} ({', '.join(differs)})" if differs else entity.name
