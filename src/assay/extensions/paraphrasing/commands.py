"""`assay words`: reword instructions, and measure how far the rewordings are from the originals."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import JsonFile, print_table, write_json
from assay.errors import PerturbationError
from assay.extensions.paraphrasing.review import TaskFiles, agree, review, task_loader, tasks_named
from assay.support.console import progress_bar, say

Selection = Annotated[
    str,
    typer.Option("--tasks", help="Tasks: all, suite names, task ids or .bddl files, separated by commas."),
]
PerCell = Annotated[
    int,
    typer.Option(
        min=1,
        help="Number of paraphrases per cell (combination of an object type and "
        "an action type), over all tasks.",
    ),
]
Lexicon = Annotated[Path | None, typer.Option(help="YAML file with additional nouns.")]


def generate(
    selection: Selection = "libero_goal",
    per_cell: PerCell = 100,
    out: Annotated[Path | None, typer.Option(help="CSV file to write.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed for sampling.")] = 0,
    lexicon: Lexicon = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a table with an example from every cell.")
    ] = False,
) -> None:
    """Paraphrase task instructions with rules, along two axes: the names of objects and the wording of the action.

    The paraphrases in each of the 43 cells are spread evenly over the tasks. Columns: task, object_type, action_type,
    original, paraphrase.
    """
    from assay.perturb.words.grid.cells import CELLS
    from assay.perturb.words.grid.generate import grid, markdown
    from assay.perturb.words.grid.table import write

    if out is None and not as_markdown:
        raise PerturbationError("no output given; use --out FILE.csv or --markdown")
    chosen = tasks_named(selection)
    paraphrases = grid(chosen, per_cell, seed, words=lexicon)
    counts = Counter((paraphrase.task.id, paraphrase.cell) for paraphrase in paraphrases)
    even_share = per_cell // len(chosen)
    for cell, task in product(CELLS, chosen):
        count = counts[task.id, cell]
        if count < even_share:
            reason = f"has {count} of {even_share}" if count else "has none"
            say(f"{task.id}: {reason} paraphrases in cell {cell}; other tasks get more", aside=True)
    if out is not None:
        write(paraphrases, out)
        say(f"{len(paraphrases)} paraphrases in {out}", aside=True)
    if as_markdown:
        say(markdown(paraphrases))


def verify(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.csv",
            help="CSV file written by `assay words generate`, or LIBERO-Para's metadata.csv.",
        ),
    ],
    selection: TaskFiles = "",
    lexicon: Lexicon = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Print only how many rows break each rule.")
    ] = False,
) -> None:
    """Check every row of a table of paraphrases against the rules for its cell.

    Exit status 1 if a row breaks a rule.
    """
    from assay.perturb.words.grid.rules import verify as faults_of
    from assay.perturb.words.grid.table import read_grid

    rows = read_grid(table)
    faults = list(faults_of(rows, load=task_loader(selection), words=lexicon))
    for fault in faults if not summary else ():
        say(f"{table}:{fault.line}: {fault.rule}: {fault.reason}: {fault.text}")
    wrong = len({fault.line for fault in faults})
    say(f"{len(rows)} rows, {wrong} of which break a rule", aside=not summary)
    lines = {(fault.rule, fault.line) for fault in faults}
    for rule, count in Counter(rule for rule, _ in lines).most_common():
        own = (fault.reason for fault in faults if fault.rule == rule)
        reasons = Counter(re.sub(r"line \d+", "another line", reason) for reason in own)
        examples = "; ".join(f"{number} x {reason}" for reason, number in reasons.most_common(3))
        say(f"{rule:<10} {count:>5} row{'s' * (count != 1)}: {examples}", aside=not summary)
    if faults:
        raise typer.Exit(1)


def score(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="IN.csv", help="CSV file with the columns original_instruction and new_instruction."
        ),
    ],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
    alpha: Annotated[
        float, typer.Option(help="Weight of keyword similarity in the distance, from 0 to 1.")
    ] = 0.5,
    baselines: Annotated[bool, typer.Option("--baselines", help="Add BLEU, METEOR and BERTScore.")] = False,
    bert_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="Installed model for BERTScore: roberta-large, roberta-large/17 (layer 17), or a folder.",
        ),
    ] = None,
) -> None:
    """Add the columns s_k, s_t, pd, parser and embedding to a table of paraphrases, keeping its other columns.

    Exit status 1 if a row has no score; the column pd_warning gives the reason.
    """
    from assay.extensions.paraphrasing.score_table import WARNING, WARNING_SEPARATOR, read_table, score_table
    from assay.perturb.words.distance import models
    from assay.perturb.words.distance.pride import scorer
    from assay.support.files import replacing

    frame = read_table(table)
    with replacing(out) as unfinished:
        with progress_bar() as bar:
            task = bar.add_task("pairs", total=len(frame))
            scored = score_table(
                frame,
                alpha=alpha,
                baselines=baselines or bert_model is not None,
                bert_model=bert_model or models.MINILM,
                on_scored=lambda count: bar.advance(task, count),
            )
        scored.write_csv(unfinished)
    refused = scored["pd"].null_count()
    say(f"{len(frame) - refused} pairs scored with {scorer().parser} and {models.MINILM}: {out}")
    notes = scored[WARNING].drop_nulls() if WARNING in scored.columns else ()
    for reason, count in Counter(note for text in notes for note in text.split(WARNING_SEPARATOR)).items():
        say(f"{count} x {reason}", aside=True)
    if refused:
        say(f"{refused} of {len(frame)} pairs have no score", aside=True)
        raise typer.Exit(1)


def setup(
    record: Annotated[
        Path | None, typer.Option(help="Write the paths of the downloaded models to this file, one per line.")
    ] = None,
) -> None:
    """Download the parser and the word embeddings if they are missing, and test them."""
    from assay.perturb.words.distance import models

    with progress_bar() as bar:
        task = bar.add_task(f"{models.PARSER} {models.PARSER_VERSION}, 13 MB", total=3)
        models.ensure_parser()
        bar.update(task, advance=1, description=f"{models.MINILM}, 84 MB")
        models.ensure_minilm()
        bar.update(task, advance=1, description="testing")
        from assay.perturb.words.distance import distance

        score = distance("turn on the stove", "turn on the range")
    if record is not None:
        record.write_text("".join(f"{path.absolute()}\n" for path in models.model_paths()), encoding="utf-8")
    say(
        f"distances work, with {score.parser} and {models.MINILM}: "
        f"'turn on the range' is {score.pd:.2f} from 'turn on the stove'"
    )


def show_stats(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE.csv", help="LIBERO-Para's metadata, or a table written by `assay words generate`."
        ),
    ],
    target: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables and for heat maps of the distances.")
    ] = None,
) -> None:
    """Count the paraphrases per cell and per original, and list object names and mean distances.

    Distances need the columns s_k and s_t, which `assay words score` adds; LIBERO-Para's metadata contains them.
    """
    from assay.measures.result import MeasureError
    from assay.measures.views.table import Column, Table
    from assay.measures.words import paraphrase
    from assay.perturb.words.grid.table import grid_stats, object_names, read_grid
    from assay.report.page import write_files

    stats = grid_stats(read_grid(table))
    if target is not None:
        cells = [
            {"object": object_type, "action": action_type, **asdict(cell)}
            for (object_type, action_type), cell in stats.cells.items()
        ]
        content = {"paraphrases": stats.paraphrases, "cells": cells, "originals": stats.originals}
        write_json(content | {"things": object_names(stats.originals)}, target)
    tables = [
        replace(paraphrase.counts_table(stats), name="table-8"),
        Table.of(
            "distances",
            "Mean distances in each cell",
            [(*key, cell) for key, cell in stats.cells.items() if cell.scored],
            Column("names", value=lambda row: row[0]),
            Column("action", value=lambda row: row[1]),
            Column("scored", "count", value=lambda row: row[2].scored),
            Column("PD", "number", value=lambda row: row[2].pd),
            Column("1 - S_K", "number", value=lambda row: row[2].keyword_distance),
            Column("1 - S_T", "number", value=lambda row: row[2].structural_distance),
        ),
        replace(paraphrase.originals_table(stats), name="table-9"),
    ]
    drawings = []
    try:
        tables.append(replace(paraphrase.names_table(stats), name="figure-12"))
        for which, (label, _) in paraphrase.DISTANCES.items():
            figure = paraphrase.distance_grid(stats, which)
            drawings.append(replace(figure, name=label.lower().replace(" ", "-")))
    except MeasureError as error:
        say(str(error), aside=True)
    if out is not None:
        write_files(out, ".", drawings, tables)
        say(f"written to {out}", aside=True)
    for part in tables if target != "-" else ():
        print_table(part)
    unscored = stats.paraphrases - sum(cell.scored for cell in stats.cells.values())
    if unscored:
        say(f"{unscored:,} paraphrases without s_k and s_t; `assay words score` adds them", aside=True)


def llm(
    endpoint: Annotated[
        str, typer.Option(help="Base URL of an OpenAI-compatible server, e.g. http://localhost:8000/v1.")
    ],
    model: Annotated[str, typer.Option(help="Name of the model at the endpoint.")],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
    selection: Selection = "libero_goal",
    per_cell: PerCell = 100,
    lexicon: Lexicon = None,
    rules: Annotated[
        Literal["filter", "off"],
        typer.Option(
            help="filter: drop lines that break a rule of `assay words verify`; off: only the model judges the lines."
        ),
    ] = "filter",
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.yaml", help="File with custom prompts, in the format of the built-in ones."
        ),
    ] = None,
    per_minute: Annotated[float, typer.Option(help="Maximum number of requests per minute.")] = 60.0,
    at_once: Annotated[int, typer.Option(min=1, help="Maximum number of concurrent requests.")] = 4,
    timeout: Annotated[float, typer.Option(help="Time to wait for a reply, in seconds.")] = 120.0,
) -> None:
    """Paraphrase task instructions with a language model along two axes: generate, verify, merge, verify again.

    The columns model, prompts and rules record how each row was made. The API key is read from ASSAY_LLM_KEY.
    Replies are cached in OUT.answers, so running the same command again resumes without repeating requests. Exit
    status 1 if a cell has too few paraphrases.
    """
    from assay.extensions.paraphrasing.pipeline import paraphrases, read_prompts
    from assay.perturb.words.grid import table
    from assay.perturb.words.grid.cells import CELLS
    from assay.support.files import replacing
    from assay.support.llm.client import Cache, Ledger
    from assay.support.llm.protocols import Endpoint, key_from_environment

    chosen = tasks_named(selection)
    prompt_set = read_prompts(prompts)
    server = Endpoint(
        endpoint, model, key_from_environment(), per_minute=per_minute, at_once=at_once, timeout=timeout
    )
    with replacing(out) as unfinished:
        ledger, cache = Ledger(), Cache(out.with_name(f"{out.name}.answers"))
        try:
            with progress_bar() as bar:
                progress = bar.add_task("cells", total=len(CELLS) * len(chosen))
                rows = paraphrases(
                    chosen,
                    per_cell,
                    server,
                    cache,
                    ledger,
                    words=lexicon,
                    use_rules=rules == "filter",
                    prompts=prompt_set,
                    on_cell=lambda name: bar.update(progress, advance=1, description=name),
                )
        finally:
            cache.close()
            say(ledger.summary())  # even if the command is interrupted
            for reason, count in ledger.dropped.most_common():
                say(f"dropped {count} x {reason}", aside=True)
        columns = {
            "model": lambda paraphrase: model,
            "prompts": lambda paraphrase: prompt_set.name,
            "rules": lambda paraphrase: rules,
        }
        table.write(rows, unfinished, columns)
    say(f"{len(rows)} paraphrases in {out}")
    short = [cell for cell in CELLS if sum(row.cell == cell for row in rows) < per_cell]
    if short:
        say(
            f"{len(short)} of {len(CELLS)} cells have fewer than {per_cell} paraphrases, e.g. {short[0]}",
            aside=True,
        )
        raise typer.Exit(1)


app = typer.Typer(
    help="Reword instructions, and measure how far the rewordings are from the originals.",
    no_args_is_help=True,
)
for command in (generate, verify, review, agree, score, setup, llm):
    app.command(command.__name__)(command)
app.command("stats")(show_stats)
