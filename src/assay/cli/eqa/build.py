"""`assay eqa build`: make questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.console import progress_bar, say


def build(
    source: Annotated[
        list[str],
        typer.Option(help="demo, a run's .assay file, a LeRobotDataset, or a folder of TFRecord files."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the questions: a new one.")],
    per_kind: Annotated[int, typer.Option(min=1, help="Questions of each kind and source.")] = 100,
    kinds: Annotated[str, typer.Option(help="With commas: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")] = "all",
    views: Annotated[str, typer.Option(help="With commas: exo, exo2 to exo4, ego, both.")] = "both",
    seed: Annotated[int, typer.Option(help="Decides what is asked.")] = 0,
    size: Annotated[int, typer.Option(min=32, max=2048, help="Height of pictures that are drawn.")] = 256,
    episodes: Annotated[int | None, typer.Option(min=1, help="The most episodes of each source.")] = None,
    turning: Annotated[
        str, typer.Option(help="Rotations: wrapped angles, or exact rotation vectors.")
    ] = "wrapped",
    schema: Annotated[str, typer.Option(help="How a data set is written, if that is not seen.")] = "",
    gripper: Annotated[str, typer.Option(help="CLOSED,OPEN: a data set's values for the gripper.")] = "",
) -> None:
    """Make multiple-choice questions about actions from episodes, with pictures.

    Each question is asked once for every view. What is left out is counted and named. Exit status 1 if there
    are fewer questions of a kind than asked for.
    """
    from assay.eqa import options
    from assay.eqa.build import build as made
    from assay.eqa.sources import opened
    from assay.eqa.views import View

    plan = dict.fromkeys(options.kinds(kinds), per_kind)
    seen = [View.parse(name.strip()) for name in views.split(",")]
    turned = options.turning(turning)
    scale = options.scale(gripper)
    sources = [opened(name, size=size, schema=schema, gripper=scale) for name in source]
    with progress_bar() as bar:
        task = bar.add_task("episodes", total=None)
        built = made(
            out,
            sources,
            plan,
            seen,
            seed=seed,
            turning=turned,
            most_episodes=episodes,
            on_episode=lambda: bar.advance(task),
        )
    for name, tally in built.tallies.items():
        for reason, count in tally.counts.most_common():
            places = tally.places.get(reason, [])
            shown = f" ({'; '.join(places[:2])}{'; ...' if count > 2 else ''})" if places else ""
            say(f"{name}: {count} x {reason}{shown}", aside=True)
    counts = "; ".join(
        f"{name}: {', '.join(f'{kind} {count}' for kind, count in each.items())}"
        for name, each in built.counts.items()
    )
    say(f"{out}: {built.questions} questions; {counts}")
    short = [
        f"{name}: {kind} {count} of {per_kind}"
        for name, each in built.short.items()
        for kind, count in each.items()
    ]
    for line in short:
        say(f"short: {line}", aside=True)
    if short:
        raise typer.Exit(1)
