"""Commands about answers: ask, score, annotate, judge."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import JsonFile, write_json
from assay.extensions.eqa.commands import shared
from assay.support.console import output, progress_bar, say, table_of, working


@shared.model_options
def ask(
    folder: shared.Folder,
    model: Annotated[
        str,
        typer.Option(
            help="A baseline (random, longest, text-only, geometry), or a model: "
            "openai:NAME, anthropic:NAME, gemini:NAME."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Answer file to write (JSON lines).")],
    settings: shared.ModelSettings,
    prompt: Annotated[
        str, typer.Option(help="Prompt: direct (a letter only), steps (reasoning first), or a YAML file.")
    ] = "direct",
    examples: Annotated[
        int,
        typer.Option(
            min=0, max=8, help="Number of solved examples of the same kind to show before each question."
        ),
    ] = 0,
    kinds: shared.Kinds = "all",
    per_kind: Annotated[int | None, typer.Option(min=1, help="Number of questions per kind.")] = None,
    seed: shared.Seed = 0,
) -> None:
    """Ask a model, or a baseline, the questions in a folder.

    The API key is read from ASSAY_LLM_KEY. All replies are cached: run the same command to resume after an
    interruption. Exit status 1 if a question is unanswered.
    """
    from assay.extensions.eqa.asking import answers as files
    from assay.extensions.eqa.asking.prompts import Prompting
    from assay.extensions.eqa.asking.session import ask as ask_model
    from assay.extensions.eqa.asking.session import ask_baseline
    from assay.extensions.eqa.question import QuestionError, load, sample_examples, sample_questions

    prompting = Prompting.parse(prompt)
    questions = sample_questions(load(folder), shared.parse_kinds(kinds), per_kind, seed)
    without_model = shared.is_baseline(model, settings)
    solved = sample_examples(questions, examples, seed) if examples and not without_model else {}
    example_ids = {question.id for group in solved.values() for question in group}
    questions = [question for question in questions if question.id not in example_ids]
    if not questions:
        raise QuestionError(
            f"{folder}: all questions are used as examples; reduce --examples or add questions"
        )
    files.check_target(out, folder, model, "" if without_model else prompting.name)
    if without_model:
        result = ask_baseline(questions, model)
    else:
        cache_file = out.with_name(f"{out.name}.said")
        with shared.open_session(model, settings, cache_file) as answering, progress_bar() as bar:
            task = bar.add_task("questions", total=len(questions))
            result = ask_model(questions, folder, answering, prompting, lambda: bar.advance(task), solved)
    files.write(result.answers, out)
    states = Counter(str(answer.state) for answer in result.answers)
    say(f"{out}: {', '.join(f'{count:,} {state}' for state, count in states.most_common()) or 'no answers'}")
    reasons = Counter((answer.state, answer.reason) for answer in result.answers if answer.reason)
    for (state, reason), count in reasons.most_common(20):
        say(f"{count:,} x {state}: {reason}", aside=True)
    if result.stopped:
        say(f"stopped: {result.stopped}", aside=True)
    if not without_model and (result.stopped or "unanswered" in states):
        raise typer.Exit(1)


def score(
    folder: shared.Folder,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[ANSWERS...]", help="Answer files written by assay eqa ask."),
    ] = None,
    annotations: shared.AnnotationFile = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the page, figures and tables.")] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with facts about models (with --out): NAME: {open: true, size: 7, family: Qwen}."
        ),
    ] = None,
    target: JsonFile = None,
) -> None:
    """Score the answers of models and people to the questions in a folder, and write a table, a page or JSON.

    The page contains the tables and figures of the ActionEQA paper.
    """
    from assay.extensions.eqa.annotations import FILE, Annotations
    from assay.extensions.eqa.question import QuestionError, load
    from assay.extensions.eqa.scoring.accuracy import PARTS, AnswerSheet
    from assay.extensions.eqa.scoring.report import report, warnings
    from assay.extensions.eqa.scoring.results import ModelFacts
    from assay.extensions.eqa.scoring.score import Score
    from assay.measures.views.wording import between, percent

    path = annotations or folder / FILE
    people = Annotations(path) if annotations is not None or path.is_file() else None
    if facts is not None and out is None:
        raise QuestionError("--facts requires --out DIR")
    model_facts = {} if facts is None else ModelFacts.read(facts)
    questions = load(folder)
    result = Score.of(
        AnswerSheet.read(questions, files or [], people), people.mistakes() if people is not None else ()
    )
    if target is not None:
        write_json(result.as_json(), target)
    if out is not None:
        with working("drawing"):
            page = report(result, questions, model_facts).write(out)
        if target != "-":
            say(f"written to {page}")
    if target != "-":
        has_lenient = any(model.lenient != model.standing.overall for model in result.models.values())
        headings = ["model", "n", "%", "95 % interval", "high", "mid", "low", "SP", "AI"]
        headings += ["lenient"] if has_lenient else []
        table = table_of(*headings)
        for name, model in result.models.items():
            means = model.standing.means
            shares = [means[part].share if part in means else None for part in PARTS]
            shares += [model.lenient.share] if has_lenient else []
            overall, *others = (percent(share).removesuffix(" %") for share in shares)
            interval = between(model.standing.overall.interval, 100)
            table.add_row(name, f"{model.standing.questions:,}", overall, interval, *others)
        for name in result.silent:
            table.add_row(name, "0", *["-"] * (len(headings) - 2))
        output.print(table)
        shared.show_agreement(result.agreement, "1/4")
    for line in warnings(result):
        say(line, aside=True)


def annotate(
    folder: shared.Folder,
    answers: Annotated[
        list[Path] | None,
        typer.Option(help="Answer file of a model whose mistakes are to be categorised; repeatable."),
    ] = None,
    kinds: shared.Kinds = "all",
    per_kind: Annotated[int | None, typer.Option(min=1, help="Number of questions to show per kind.")] = None,
    errors: Annotated[
        int | None, typer.Option(min=1, help="Number of mistakes to show per model and kind.")
    ] = None,
    seed: shared.Seed = 0,
    annotations: shared.AnnotationFile = None,
    review: Annotated[
        bool, typer.Option("--review", help="Show the correct answers, and decide which questions to keep.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 8771,
) -> None:
    """Serve a page on which people answer the questions in a folder, until Ctrl-C is pressed.

    Answers are stored immediately under the annotator's name, and work can be resumed at any time. assay eqa score
    treats people like models and reports their agreement. With --review, questions are shown with their correct
    answers, to be kept or dropped; assay eqa review writes the reviewed set.
    """
    from assay.extensions.eqa.annotate_page import AnnotationDesk, serve
    from assay.extensions.eqa.annotations import FILE, Annotations
    from assay.extensions.eqa.asking.answers import read
    from assay.extensions.eqa.asking.session import sample_wrong_answers, wrong_answers
    from assay.extensions.eqa.question import load, sample_questions

    questions = sample_questions(load(folder), shared.parse_kinds(kinds), per_kind, seed)
    wrong = [answer for file in answers or () for answer in wrong_answers(questions, read(file))]
    if errors is not None:
        wrong = sample_wrong_answers(wrong, errors, seed)
    database = Annotations(annotations or folder / FILE)
    desk = AnnotationDesk(folder.resolve(), questions, database, wrong, review)
    serve(desk, port, lambda address: say(f"serving {folder} at {address} (stop with Ctrl-C)"))


@shared.model_options
def judge(
    folder: shared.Folder,
    answers: Annotated[
        list[Path], typer.Argument(metavar="ANSWERS...", help="Answer files written by assay eqa ask.")
    ],
    model: Annotated[str, typer.Option(help="Judge model: openai:NAME, anthropic:NAME or gemini:NAME.")],
    settings: shared.ModelSettings,
    per_kind: Annotated[
        int, typer.Option(min=1, help="Number of wrong answers to categorise per model and kind.")
    ] = 50,
    seed: shared.Seed = 0,
    annotations: shared.AnnotationFile = None,
) -> None:
    """Categorise wrong answers with a judge model, and store the categories under the judge's name.

    Works best for answers that contain reasoning (--prompt steps). The API key is read from ASSAY_LLM_KEY. Exit status
    1 if some answers could not be categorised.
    """
    from assay.extensions.eqa.annotations import FILE, Annotations
    from assay.extensions.eqa.asking.answers import read
    from assay.extensions.eqa.asking.session import judge_answers, sample_wrong_answers, wrong_answers
    from assay.extensions.eqa.question import QuestionError, load

    if shared.is_baseline(model, settings):
        raise QuestionError(f"a judge must be a model, not the baseline '{model}'")
    questions = load(folder)
    wrong = [
        answer
        for file in answers
        for answer in sample_wrong_answers(wrong_answers(questions, read(file)), per_kind, seed)
    ]
    database = Annotations(annotations or folder / FILE)
    cache_file = database.path.with_name(f"{database.path.name}.said")
    with shared.open_session(model, settings, cache_file) as judging, progress_bar() as bar:
        task = bar.add_task("mistakes", total=len(wrong))
        dropped = judge_answers(wrong, folder, judging, database, lambda: bar.advance(task))
    say(f"{database.path}: {len(wrong) - dropped.total()} of {len(wrong)} wrong answers categorised")
    shared.show_reasons(dropped, "not categorised")
    if dropped:
        raise typer.Exit(1)
