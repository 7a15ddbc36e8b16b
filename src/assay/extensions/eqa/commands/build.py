"""`assay eqa build`: make questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from assay.extensions.eqa.commands import asking
from assay.support.console import progress_bar, say

if TYPE_CHECKING:
    from assay.extensions.eqa.build import Case


def build(
    source: Annotated[
        list[str],
        typer.Option(help="demo, a run's .assay file, a LeRobotDataset, or a folder of TFRecord files."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the questions: a new one.")],
    per_kind: Annotated[int, typer.Option(min=1, help="Questions of each kind and source.")] = 100,
    kinds: Annotated[str, typer.Option(help="With commas: H-SP, M-SP, L-SP, H-AI, M-AI, L-AI.")] = "all",
    views: Annotated[str, typer.Option(help="With commas: exo, exo2 to exo4, ego, both.")] = "exo",
    seed: Annotated[int, typer.Option(help="Decides what is asked.")] = 0,
    size: Annotated[
        int, typer.Option(min=32, max=2048, help="Height of the images that are rendered.")
    ] = 384,
    episodes: Annotated[int | None, typer.Option(min=1, help="The most episodes of each source.")] = None,
    options: Annotated[
        str, typer.Option(help="Actions to choose from: matched, or made from the right one as in the paper.")
    ] = "matched",
    turning: Annotated[
        str,
        typer.Option(
            help="Rotations: exact vectors, or wrapped differences of angles, as with --options paper."
        ),
    ] = "",
    schema: Annotated[str, typer.Option(help="How a data set is written, if that is not seen.")] = "",
    gripper: Annotated[str, typer.Option(help="CLOSED,OPEN: a data set's values for the gripper.")] = "",
    distractors: Annotated[
        str, typer.Option(help="Wrong instructions for data sets: heard, edited, or a model's, openai:NAME.")
    ] = "heard",
    endpoint: asking.Address = "",
) -> None:
    """Make multiple-choice questions about actions from episodes, with images.

    Each question is asked once for every view. What is left out is counted and named. Exit status 1 if there
    are fewer questions of a kind than asked for, unless --episodes says that few will do.
    """
    from assay.extensions.eqa import options as checked
    from assay.extensions.eqa.asking.distractors import distractors as wrong_ones
    from assay.extensions.eqa.asking.models import Model, Settings, endpoint_of, is_baseline
    from assay.extensions.eqa.asking.models import model as opened_model
    from assay.extensions.eqa.build import build as made
    from assay.extensions.eqa.drafts.plan import NEEDS
    from assay.extensions.eqa.errors import QuestionError
    from assay.extensions.eqa.question import Kind
    from assay.extensions.eqa.sources import opened
    from assay.extensions.eqa.sources.opening import is_data_set
    from assay.support.llm import Cache, Price, key_from_environment

    plan = dict.fromkeys(checked.kinds(kinds), per_kind)
    seen = checked.views(views)
    built_as = checked.options(options)
    turned = checked.turning(turning or ("wrapped" if built_as == "paper" else "exact"))
    scale = checked.scale(gripper)
    if (schema or gripper) and not any(is_data_set(name) for name in source):
        raise QuestionError("--schema and --gripper are for data sets; no source is one")
    settings = Settings(endpoint, key_from_environment())
    by_model = distractors not in ("heard", "edited")
    if by_model:
        if is_baseline(distractors):
            raise QuestionError(f"distractors are written by a model, not by the baseline '{distractors}'")
        endpoint_of(distractors, settings)
    sources = [opened(name, size=size, schema=schema, gripper=scale) for name in source]
    for each in sources:
        if chosen := getattr(each, "schema", None):
            say(f"{each.name}: read as '{chosen.name}'", aside=True)
    totals = [
        source.total if episodes is None else min(source.total or episodes, episodes) for source in sources
    ]

    def written(cases: Sequence[Case]) -> dict[str, tuple[str, ...]]:
        if not by_model or not cases:
            return {}
        cache = Cache(out.with_name(f"{out.name}.said"))
        try:
            model: Model = opened_model(distractors, settings, cache, asking.show_wait)
            with TemporaryDirectory() as seen:
                wrong, dropped = wrong_ones(cases, model, Path(seen))
        finally:
            cache.close()
        asking.show_bill(model.ledger, Price(0.0, 0.0))
        for reason, count in dropped.most_common():
            say(f"{count} x no wrong instructions from {distractors}: {reason}", aside=True)
        return wrong

    with progress_bar() as bar:
        known = None if None in totals else sum(filter(None, totals))
        task = bar.add_task("episodes", total=known)
        built = made(
            out,
            sources,
            plan,
            seen,
            seed=seed,
            turning=turned,
            most_episodes=episodes,
            on_episode=lambda: bar.advance(task),
            settings={
                "sources": source,
                "schema": schema,
                "gripper": scale,
                "size": size,
                "distractors": distractors,
            },
            distractors=None if distractors == "heard" else written,
            options=built_as,
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
    items = built.questions // len(seen)
    many = f"{items:,} items x {len(seen)} views = " if len(seen) > 1 else ""
    say(f"{out}: {many}{built.questions:,} questions; {counts}")
    short = [
        f"{name}: {kind} {count} of {per_kind}: each needs {NEEDS[Kind(kind)]}"
        for name, each in built.short.items()
        for kind, count in each.items()
    ]
    for line in short:
        say(f"short: {line}", aside=True)
    if short and episodes is None:
        raise typer.Exit(1)
