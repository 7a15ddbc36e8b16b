"""Commands that make and check questions: build, import, sheet, leak, review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from assay.cli.options import JsonFile, check_picture, write_json
from assay.extensions.eqa.commands import shared
from assay.support.console import output, progress_bar, say, table_of
from assay.support.extras import require

if TYPE_CHECKING:
    from assay.extensions.eqa.build import InstructionCase

MAX_UNDETECTED = 0.5
"""Smallest detectable accuracy (`LeakProbe.missed`) above which a probe is inconclusive."""
FROM_DATASET = "dataset"
"""Value of --distractors with which other instructions from the same data set serve as wrong instructions."""


def build(
    source: Annotated[
        list[str],
        typer.Option(
            help="Source of the episodes: demo, a run's .assay file, a LeRobotDataset, or a "
            "folder of TFRecord files."
        ),
    ],
    out: Annotated[Path, typer.Option(help="New folder for the questions.")],
    per_kind: Annotated[int, typer.Option(min=1, help="Number of questions per kind and source.")] = 100,
    kinds: shared.Kinds = "all",
    views: Annotated[str, typer.Option(help="Comma-separated views: exo, exo2 to exo4, ego, both.")] = "exo",
    seed: shared.Seed = 0,
    size: Annotated[int, typer.Option(min=32, max=2048, help="Height of rendered images, in pixels.")] = 384,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of episodes per source.")
    ] = None,
    options: Annotated[
        Literal["matched", "paper"],
        typer.Option(
            help="Source of the wrong options: matched (actions that occurred) or paper (derived from the answer)."
        ),
    ] = "matched",
    turning: Annotated[
        Literal["wrapped", "exact"] | None,
        typer.Option(
            help="Rotations: exact (rotation vectors), or wrapped (angle differences; the default of "
            "--options paper)."
        ),
    ] = None,
    schema: Annotated[
        str, typer.Option(help="Layout of a data set, if it is not recognised automatically.")
    ] = "",
    gripper: Annotated[str, typer.Option(help="Gripper values of a data set: CLOSED,OPEN.")] = "",
    distractors: Annotated[
        str,
        typer.Option(
            help="Source of wrong instructions: dataset (other instructions from the same data set), or a "
            "model that writes them: openai:NAME, ..."
        ),
    ] = FROM_DATASET,
    endpoint: Annotated[str, typer.Option(help="Base URL of the model that writes the distractors.")] = "",
) -> None:
    """Build multiple-choice questions, with images, about the actions in episodes.

    Each question appears once per view. Skipped frames and episodes are counted by reason. The same command resumes an
    interrupted build. Exit status 1 if there are fewer questions of a kind than requested, unless --episodes limits the
    episodes.
    """
    from assay.extensions.eqa.asking.session import write_distractors
    from assay.extensions.eqa.build import build as build_questions
    from assay.extensions.eqa.drafts import NEEDS
    from assay.extensions.eqa.question import QuestionError, QuestionKind
    from assay.extensions.eqa.sources import SOURCES, open_source
    from assay.extensions.eqa.views import CameraView

    plan = dict.fromkeys(shared.parse_kinds(kinds), per_kind)
    cameras = list(dict.fromkeys(CameraView.parse(name.strip()) for name in views.split(",")))
    scale = None
    if gripper:
        try:
            closed_value, open_value = (float(part) for part in gripper.split(","))
        except ValueError:
            closed_value = open_value = 0.0
        if not abs(open_value - closed_value) > 0:
            raise QuestionError(f"--gripper {gripper}: expected two different numbers, CLOSED,OPEN")
        scale = (closed_value, open_value)
    if (schema or gripper) and not any(name not in SOURCES and Path(name).is_dir() for name in source):
        raise QuestionError("--schema and --gripper apply only to data sets, but no source is a data set")
    settings = shared.ModelSettings(endpoint)
    by_model = distractors != FROM_DATASET
    if by_model and shared.is_baseline(distractors, settings):
        raise QuestionError(f"--distractors requires a model, not the baseline '{distractors}'")
    sources = [open_source(name, size=size, schema=schema, gripper=scale) for name in source]
    for opened in sources:
        if layout := getattr(opened, "schema", None):
            say(f"{opened.name}: read with the schema '{layout.name}'", aside=True)
    totals = [
        opened.total if episodes is None else min(opened.total or episodes, episodes) for opened in sources
    ]

    def ask_model(cases: Sequence[InstructionCase]) -> dict[str, tuple[str, ...]]:
        if not cases:
            return {}
        cache_file = out.with_name(f"{out.name}.said")
        with shared.open_session(distractors, settings, cache_file) as model, TemporaryDirectory() as images:
            wrong, dropped = write_distractors(cases, model, Path(images))
        shared.show_reasons(dropped, f"no wrong instructions received from {distractors}")
        return wrong

    with progress_bar() as bar:
        task = bar.add_task("episodes", total=None if None in totals else sum(filter(None, totals)))
        result = build_questions(
            out,
            sources,
            plan,
            cameras,
            seed=seed,
            turning=turning or ("wrapped" if options == "paper" else "exact"),
            most_episodes=episodes,
            on_episode=lambda: bar.advance(task),
            settings={
                "sources": source,
                "schema": schema,
                "gripper": scale,
                "size": size,
                "distractors": distractors,
            },
            distractors=ask_model if by_model else None,
            options=options,
        )
    for name, tally in result.tallies.items():
        for reason, count in tally.counts.most_common():
            places = tally.places.get(reason, [])
            examples = f" ({'; '.join(places[:2])}{'; ...' if count > 2 else ''})" if places else ""
            say(f"{name}: {count} x {reason}{examples}", aside=True)
    items = result.questions // len(cameras)
    product = f"{items:,} items x {len(cameras)} views = " if len(cameras) > 1 else ""
    say(f"{out}: {product}{result.questions:,} questions; {_format_counts(result.counts)}")
    for name, counts in result.short.items():
        for kind, count in counts.items():
            needs = NEEDS[QuestionKind(kind)]
            say(f"{name}: only {count} of {per_kind} {kind} questions built; each needs {needs}", aside=True)
    if any(result.short.values()) and episodes is None:
        raise typer.Exit(1)


def _format_counts(counts: Mapping[str, Mapping[str, int]]) -> str:
    return "; ".join(
        f"{name}: {', '.join(f'{kind} {count}' for kind, count in by_kind.items())}"
        for name, by_kind in counts.items()
    )


def import_set(
    path: Annotated[Path, typer.Argument(metavar="SET", help="A JSON-lines file, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="New folder for the questions.")],
    dataset: Annotated[str, typer.Option(help="Data set to assign to questions that do not name one.")] = "",
    view: Annotated[
        str, typer.Option(help="View to assign to questions that do not name one: exo, ego, both, ...")
    ] = "exo",
) -> None:
    """Import a question set with ActionEQA's fields: kind, images, action, options, answer.

    Invalid lines are counted by reason. Exit status 1 if any line is invalid.
    """
    from assay.extensions.eqa.importing import import_set as import_questions

    result = import_questions(path, out, dataset=dataset, view=view)
    tally = result.tallies["import"]
    for reason, count in tally.counts.most_common():
        if reason.startswith("line: "):
            places = "; ".join(tally.places.get(reason, [])[:2])
            say(f"{count} x {reason.removeprefix('line: ')} ({places})", aside=True)
    lines = tally.counts["lines read"]
    say(f"{out}: {result.questions:,} of {lines:,} questions imported; {_format_counts(result.counts)}")
    if result.questions < lines:
        raise typer.Exit(1)


def sheet(
    folder: shared.Folder,
    out: Annotated[Path, typer.Option(help="PNG file to write.")],
    kinds: shared.Kinds = "all",
    count: Annotated[int, typer.Option(min=1, max=40, help="Number of questions per kind.")] = 1,
    seed: shared.Seed = 0,
    answers: Annotated[bool, typer.Option(help="Print the correct answers.")] = True,
) -> None:
    """Render a few questions of each kind, with or without their answers, as one PNG image."""
    import numpy as np
    from PIL import Image

    from assay.extensions.eqa.question import LETTERS, load, sample_questions
    from assay.report.sheets import SheetCell, save_sheet
    from assay.support.images import letterbox

    check_picture(out, "--out")
    sample = sample_questions(load(folder), shared.parse_kinds(kinds), count, seed)
    cells = []
    for question in sample:
        images = [
            letterbox(np.asarray(Image.open(folder / name).convert("RGB")), 256, 384)
            for name in question.images
        ]
        shown = "Before the action, then A, B, C and D." if question.kind.predicts else "Before and after."
        options = [f"{letter}. {option}" for letter, option in zip(LETTERS, question.options, strict=False)]
        lines = [question.text, *options, shown, *([f"Answer: {question.answer}"] if answers else [])]
        title = f"{question.kind}   {question.dataset}   {question.id}"
        cells.append(SheetCell(title, lines, [images]))
    save_sheet(out, f"Questions of {folder.name}", cells, columns=1)
    say(f"{out}: {len(sample)} questions")


def leak(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of questions, compared side by side.")
    ],
    out: JsonFile = None,
) -> None:
    """Measure how well probes guess answers from the options and the text alone, compared with chance (25 %).

    The interval around chance has a joint confidence of 95 % over all probes and kinds. The column "detectable"
    contains the smallest accuracy that is detected with 80 % power. Exit status 1 if the accuracy of a probe differs
    from chance.
    """
    from assay.extensions.eqa.leak import BASELINES, group_questions, is_learnable, probe
    from assay.extensions.eqa.question import QuestionError, load

    require("eqa", "probes for leaks need scikit-learn", QuestionError)
    sets: dict[str, dict[str, Any]] = {}
    table = table_of("set", "kind", "view", "probe", "n", "right", "chance", "detectable", "verdict")
    unique = len({folder.name for folder in folders}) == len(folders)
    leaking = []
    for folder in folders:
        name = folder.name if unique else str(folder)
        questions = load(folder)
        results = probe(questions, folder)
        shares: dict[str, float | None] = {}
        for baseline, answer in BASELINES.items():
            right = [letter == question.answer for question in questions if (letter := answer(question))]
            shares[baseline] = sum(right) / len(right) if right else None
        probes = [{**asdict(result), "leaks": result.leaks} for result in results]
        sets[name] = {"probes": probes, "baselines": shares}
        for (kind, view), group in group_questions(questions).items():
            if not is_learnable(group):
                say(
                    f"{name}: {f'{kind} {view}'.strip()}: skipped, because a probe needs at least two groups",
                    aside=True,
                )
        for result in results:
            if result.leaks:
                verdict, colour = "below chance" if result.accuracy < result.chance[0] else "leaks", "red"
                leaking.append(f"{name}: {f'{result.kind} {result.view}'.strip()} ({result.probe})")
            elif result.missed > MAX_UNDETECTED:
                verdict, colour = "inconclusive", "yellow"
            else:
                verdict, colour = "chance", "green"
            low, high = result.chance
            table.add_row(
                *(name, result.kind, result.view or "-", result.probe, f"{result.questions:,}"),
                *(f"{result.accuracy:.1%}", f"{low:.0%} to {high:.0%}", f"{result.missed:.0%}"),
                Text(verdict, colour),
            )
    if out is not None:
        write_json(next(iter(sets.values())) if len(sets) == 1 else {"sets": sets}, out)
    if out != "-":
        output.print(table)
        for name, content in sets.items():
            shares = content["baselines"]
            parts = (f"{key} {'-' if share is None else f'{share:.1%}'}" for key, share in shares.items())
            say(f"{name}: {', '.join(parts)}")
    if leaking:
        say(f"the options reveal the answer: {', '.join(leaking)}", aside=True)
        raise typer.Exit(1)


def review(
    folder: shared.Folder,
    out: Annotated[Path | None, typer.Option(help="New folder for the kept questions.")] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write the verdicts and comments to this file.")
    ] = None,
    annotations: shared.AnnotationFile = None,
) -> None:
    """Summarise the reviewers' verdicts and their agreement, and write the reviewed question set.

    Verdicts come from assay eqa annotate --review. A question is dropped if any reviewer drops it; questions without a
    verdict are kept.
    """
    from assay.extensions.eqa.annotations import FILE, Annotations, ReviewSummary, as_csv
    from assay.extensions.eqa.question import load
    from assay.support.files import replacing

    questions = load(folder)
    reviews = Annotations(annotations or folder / FILE).reviews()
    if csv is not None:
        with replacing(csv) as unfinished:
            unfinished.write_text(as_csv(questions, reviews), encoding="utf-8")
        say(f"{csv}: {len(questions):,} questions")
    summary = ReviewSummary.of(questions, reviews)
    for name, counts in summary.verdicts.items():
        say(f"{name} keeps {counts['keep']:,} and drops {counts['drop']:,}")
    shared.show_agreement(summary.agreement, "1/2")
    say(
        f"{folder}: {len(questions) - len(summary.dropped):,} of {len(questions):,} questions kept, "
        f"{len(summary.dropped):,} dropped, {summary.unreviewed:,} without a verdict"
    )
    if out is not None:
        say(f"written to {summary.write(folder, out, questions)}")
