"""`assay words llm`: paraphrases from a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.words.review import tasks_named
from assay.support.console import progress_bar, say

if TYPE_CHECKING:
    from assay.perturb.words.grid.generate import Paraphrase
    from assay.perturb.words.llm import Ledger, Price
    from assay.tasks import Task


def llm(
    endpoint: Annotated[str, typer.Option(help="Base address, e.g. http://localhost:8000/v1.")],
    model: Annotated[str, typer.Option(help="Name of the model there.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    selection: Annotated[
        str, typer.Option("--tasks", help="Tasks: all, suites, ids and .bddl files, separated by commas.")
    ] = "libero_goal",
    per_cell: Annotated[int, typer.Option(min=1, help="Paraphrases in each cell, over all tasks.")] = 100,
    lexicon: Annotated[Path | None, typer.Option(help="A YAML file with more nouns.")] = None,
    rules: Annotated[
        Literal["filter", "warn", "off"],
        typer.Option(
            help="Lines that break a rule of `words verify`: drop them (filter), mark them in the column 'flaws' "
            "(warn), or do not check (off)."
        ),
    ] = "filter",
    prompts: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="Own prompts, in the format of the built-in ones."),
    ] = None,
    per_minute: Annotated[float, typer.Option(help="Maximum number of requests per minute.")] = 60.0,
    at_once: Annotated[int, typer.Option(min=1, help="Maximum number of concurrent requests.")] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for an answer.")] = 120.0,
    price_in: Annotated[float, typer.Option(min=0, help="Price of a million tokens sent.")] = 0.0,
    price_out: Annotated[float, typer.Option(min=0, help="Price of a million tokens received.")] = 0.0,
    cache: Annotated[
        Path | None, typer.Option(help="File of cached answers (default: beside the CSV file).")
    ] = None,
) -> None:
    """Paraphrase along two axes with a language model: generate, verify, merge, verify again.

    The columns model, prompts and rules record how each row was made. A key is read from ASSAY_LLM_KEY. Answers are
    cached: the same command resumes without repeating requests. Exit status 1 if a cell has too few paraphrases.
    """
    from assay.perturb.words.grid import table
    from assay.perturb.words.grid.cells import CELLS
    from assay.perturb.words.llm import (
        Cache,
        Endpoint,
        Ledger,
        Price,
        RuleUse,
        key_from_environment,
        paraphrases,
        read_prompts,
    )
    from assay.support.files import replacing

    chosen = tasks_named(selection)
    prompt_set, use = read_prompts(prompts), RuleUse(rules)
    columns: dict[str, Callable[[Paraphrase], str]] = {
        "model": lambda paraphrase: model,
        "prompts": lambda paraphrase: prompt_set.name,
        "rules": lambda paraphrase: use.value,
    }
    if use is RuleUse.WARN:
        columns["flaws"] = _flaws_of(chosen, lexicon)
    place = Endpoint(
        endpoint, model, key_from_environment(), per_minute=per_minute, at_once=at_once, timeout=timeout
    )
    with replacing(out) as unfinished:
        ledger, answers = Ledger(), Cache(cache or out.with_name(f"{out.name}.answers"))
        try:
            with progress_bar() as bar:
                progress = bar.add_task("cells", total=len(CELLS) * len(chosen))
                rows = paraphrases(
                    chosen,
                    per_cell,
                    place,
                    answers,
                    ledger,
                    words=lexicon,
                    rules=use,
                    prompts=prompt_set,
                    on_cell=lambda name: bar.update(progress, advance=1, description=name),
                )
        finally:
            answers.close()
            _show_bill(ledger, Price(price_in, price_out))
        table.write(rows, unfinished, columns)
    say(f"{len(rows)} paraphrases in {out}")
    if use is RuleUse.WARN:
        marked = sum(columns["flaws"](row) != "" for row in rows)
        say(f"{marked} of them break a rule, see the column 'flaws'", aside=True)
    short = [cell for cell in CELLS if sum(row.cell == cell for row in rows) < per_cell]
    if short:
        say(
            f"short: {len(short)} of {len(CELLS)} cells have fewer than {per_cell}, e.g. {short[0]}",
            aside=True,
        )
        raise typer.Exit(1)


def _flaws_of(tasks: Sequence[Task], lexicon: Path | None) -> Callable[[Paraphrase], str]:
    """A function that lists the rules that a paraphrase breaks, in one line."""
    from assay.perturb.words.grid.rules import Rules

    rules = {task.id: Rules(task, lexicon) for task in tasks}
    return lambda row: "; ".join(
        f"{rule}: {reason}" for rule, reason in rules[row.task.id].flaws(row.text, row.cell)
    )


def _show_bill(ledger: Ledger, price: Price) -> None:
    """Print requests, costs and dropped answers, also of an interrupted command."""
    requests = f"{ledger.requests} requests ({ledger.retries} repeated), {ledger.cached} cached answers"
    spent = f"{ledger.prompt_tokens} tokens sent, {ledger.answer_tokens} received"
    if price.prompt or price.answer:
        spent += f", cost {ledger.cost(price):.4f}"
    say(f"{requests}; {spent}")
    if ledger.uncounted:
        say(f"{ledger.uncounted} answers without a count of tokens", aside=True)
    for reason, count in ledger.dropped.most_common():
        say(f"dropped {count} x {reason}", aside=True)
