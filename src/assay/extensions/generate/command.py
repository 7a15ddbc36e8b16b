"""`assay scenes`: new scenes with tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column

from assay.cli.options import Assets, Processes, check_picture
from assay.errors import RenderingError, TaskError, did_you_mean
from assay.support.console import output, progress_bar, say, table_of

MOST_ON_SHEET = 40
"""Scenes on one sheet."""

app = typer.Typer(help="New scenes with tasks that can be done.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """New scenes with tasks that can be done."""


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Folder for the task files: a new one, or one to extend.")],
    count: Annotated[int, typer.Option(min=1, help="How many scenes.")] = 100,
    seed: Annotated[int, typer.Option(help="Another seed gives other scenes.")] = 0,
    per_scene: Annotated[int, typer.Option(min=1, max=20, help="Tasks of each scene.")] = 6,
    tries: Annotated[
        int, typer.Option(min=1, help="From how many initial states the oracle must do each task.")
    ] = 2,
    labels: Annotated[
        str,
        typer.Option(
            help="How often each label occurs: even (kinds of tasks take turns), "
            "or libero-x (as in LIBERO-X's training set)."
        ),
    ] = "even",
    assets: Assets = None,
    workers: Processes = None,
) -> None:
    """Make new scenes, each with several tasks that the oracle has done, as task files.

    The same command again goes on where it was interrupted, and with a larger count adds scenes. Where no
    scene is found after many draws, that is said, and there is one less. Name the
    folder after --tasks to use them in assay try, run, collect and certify.
    """
    from assay.extensions.generate.distribution import Labels
    from assay.extensions.generate.folder import refusals, write
    from assay.extensions.generate.scenes import DRAWS, Order

    if labels not in list(Labels):
        raise TaskError(f"there are no labels '{labels}': {did_you_mean(labels, [*Labels])}")
    order = Order(seed, per_scene, assets or "primitives", tries, Labels(labels))
    with progress_bar() as bar:
        progress = bar.add_task("scenes", total=count)
        index = write(
            out,
            order,
            count,
            workers=workers or os.cpu_count() or 1,
            on_scene=lambda number: bar.update(progress, advance=1),
        )
    scenes = index["scenes"].values()
    made = sum(len(scene["tasks"]) for scene in scenes)
    say(f"{out}: scenes {len(scenes)}, tasks {made}")
    if index["failed"]:
        say(f"none of {DRAWS} drawn was worth keeping: {', '.join(index['failed'])}")
    _print_labels(index, made, wanted=order.labels is Labels.LIBERO_X)
    table = table_of("refused", "why")
    for reason, times in refusals(index).most_common():
        table.add_row(str(times), reason)
    output.print(table)


@app.command()
def sheet(
    tasks: Annotated[str, typer.Argument(help="Tasks: a folder of scenes, or one of them.")],
    out: Annotated[Path, typer.Option(help="The image to write, a .png.")],
    assets: Assets = None,
) -> None:
    """Draw scenes as the main camera and the hand see them, with what is asked for in each."""
    from assay.report.scene_images import save_scene_sheet
    from assay.tasks import resolve

    check_picture(out, "--out")
    chosen = resolve(tasks)
    count = len({task.scene for task in chosen})
    if count > MOST_ON_SHEET:
        raise RenderingError(f"a sheet of {count} scenes is too large; valid: up to {MOST_ON_SHEET}")
    with progress_bar() as bar:
        progress = bar.add_task("scenes", total=count)
        save_scene_sheet(
            out, f"Scenes of {tasks}", chosen, assets or "primitives", lambda: bar.update(progress, advance=1)
        )
    say(str(out))


def _print_labels(index: dict[str, Any], tasks: int, *, wanted: bool) -> None:
    """How many tasks have each label; and how near that is to what was wanted, if labels were."""
    from assay.extensions.generate.distribution import SHARES
    from assay.extensions.generate.folder import label_counts

    counts = label_counts(index)
    numbers = [Column(name, justify="right") for name in (("tasks", "wanted") if wanted else ("tasks",))]
    table = table_of("family", "label", *numbers)
    for label, share in SHARES.items():
        aim = [f"{share * tasks:.0f}"] if wanted else []
        table.add_row(label.family, label.value, str(counts[label]), *aim)
    output.print(table)
    if wanted and tasks:
        misses = {label: counts[label] / tasks - share for label, share in SHARES.items()}
        furthest = max(misses, key=lambda label: abs(misses[label]))
        mean = sum(map(abs, misses.values())) / len(misses)
        say(
            f"labels: off by {mean:.1%} of the tasks on average, at most by {abs(misses[furthest]):.1%} "
            f"({furthest.family} {furthest.value})"
        )
