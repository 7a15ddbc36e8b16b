"""`assay scenes`: generate scenes with tasks."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column

from assay.cli.options import Assets, Processes
from assay.errors import TaskError, did_you_mean
from assay.support.console import number_of, output, progress_bar, say, table_of

app = typer.Typer(help="Generate scenes with solvable tasks.", no_args_is_help=True)


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Folder for the task files; an existing one is extended.")],
    count: Annotated[int, typer.Option(min=1, help="Number of scenes.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    per_scene: Annotated[int, typer.Option(min=1, max=20, help="Number of tasks per scene.")] = 6,
    tries: Annotated[
        int, typer.Option(min=1, help="Number of initial states from which the oracle must solve each task.")
    ] = 2,
    labels: Annotated[
        str,
        typer.Option(
            help="Frequencies of task labels: even (task families alternate), or libero-x (as in LIBERO-X's training "
            "set)."
        ),
    ] = "even",
    assets: Assets = None,
    workers: Processes = None,
) -> None:
    """Generate scenes as task files, each with several tasks that the oracle has solved.

    Run the same command to resume, or with a larger count to add scenes. Scene numbers for which no suitable scene is
    found after many draws are reported and left out. Use the scenes with --tasks FOLDER in assay try, run, collect and
    certify.
    """
    from assay.extensions.generate import scenes
    from assay.extensions.generate.scenes import LabelTargets, SceneRequest

    if labels not in list(LabelTargets):
        raise TaskError(f"--labels '{labels}': {did_you_mean(labels, [*LabelTargets])}")
    request = SceneRequest(seed, per_scene, assets or "primitives", tries, LabelTargets(labels))
    with progress_bar() as bar:
        progress = bar.add_task("scenes", total=count)
        index = scenes.write_scenes(
            out,
            request,
            count,
            workers=workers or os.cpu_count() or 1,
            on_scene=lambda number: bar.update(progress, advance=1),
        )
    generated = index["scenes"].values()
    count_of_tasks = sum(len(scene["tasks"]) for scene in generated)
    say(f"{number_of(len(generated), 'scene')} with {number_of(count_of_tasks, 'task')} in {out}")
    if index["failed"]:
        say(f"no suitable scene found after {scenes.MAX_DRAWS} draws for {', '.join(index['failed'])}")
    counts, has_targets = scenes.count_labels(index), request.labels is LabelTargets.LIBERO_X
    numbers = [Column(name, justify="right") for name in ("tasks", "target")[: 1 + has_targets]]
    table = table_of("family", "label", *numbers)
    for label, share in scenes.SHARES.items():
        aim = [f"{share * count_of_tasks:.0f}"] if has_targets else []
        table.add_row(label.family, label.value, str(counts[label]), *aim)
    output.print(table)
    if has_targets and count_of_tasks:
        misses = {
            label: abs(counts[label] / count_of_tasks - share) for label, share in scenes.SHARES.items()
        }
        furthest = max(misses, key=lambda label: misses[label])
        mean = sum(misses.values()) / len(misses)
        say(
            f"labels: the mean deviation from the targets is {mean:.1%} of the tasks, the largest "
            f"{misses[furthest]:.1%} ({furthest.family} {furthest.value})"
        )
    table = table_of("rejected", "reason")
    refused: Counter[str] = Counter()
    for scene in (*generated, *index["failed"].values()):
        refused.update(scene["refused"])
    for reason, times in refused.most_common():
        table.add_row(str(times), reason)
    output.print(table)
