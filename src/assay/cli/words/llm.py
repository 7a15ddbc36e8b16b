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
        str, typer.Option("--tasks", help="all, suites, ids and .bddl files with commas.")
    ] = "libero_goal",
    per_cell: Annotated[int, typer.Option(min=1, help="Paraphrases in each cell, over all tasks.")] = 100,
    lexicon: Annotated[Path | None, typer.Option(help="A YAML file with more nouns.")] = None,
    rules: Annotated[
        Literal["filter", "warn", "off"],
        typer.Option(
            help="What becomes of a line that breaks a rule of `words verify`: dropped, marked in the column "
            "'flaws', or not looked at."
        ),
    ] = "filter",
    prompts: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Prompts of your own, in the form of ours.")
    ] = None,
    per_minute: Annotated[float, typer.Option(help="The most requests in a minute.")] = 60.0,
    at_once: Annotated[int, typer.Option(min=1, help="The most requests under way at once.")] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds for one answer.")] = 120.0,
    price_in: Annotated[float, typer.Option(min=0, help="Price of a million tokens sent.")] = 0.0,
    price_out: Annotated[float, typer.Option(min=0, help="Price of a million tokens received.")] = 0.0,
    cache: Annotated[
        Path | None, typer.Option(help="File with the answers; beside the CSV file if not given.")
    ] = None,
) -> None:
    """Paraphrase along two axes with a language model: generate, verify, merge, verify again.

    The columns model, prompts and rules say how each row was made. A key is read from ASSAY_LLM_KEY. Every
    answer is kept: the same command goes on where it was interrupted, and asks nothing twice. Exit status 1 if
    a cell is short.
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
    told, use = read_prompts(prompts), RuleUse(rules)
    columns: dict[str, Callable[[Paraphrase], str]] = {
        "model": lambda each: model,
        "prompts": lambda each: told.name,
        "rules": lambda each: use.value,
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
                found = paraphrases(
                    chosen,
                    per_cell,
                    place,
                    answers,
                    ledger,
                    words=lexicon,
                    rules=use,
                    prompts=told,
                    on_cell=lambda name: bar.update(progress, advance=1, description=name),
                )
        finally:
            answers.close()
            _show_bill(ledger, Price(price_in, price_out))
        table.write(found, unfinished, columns)
    _say(f"{len(found)} paraphrases in {out}")
    if use is RuleUse.WARN:
        marked = sum(columns["flaws"](each) != "" for each in found)
        _say(f"{marked} of them break a rule, see the column 'flaws'", aside=True)
    short = [cell for cell in CELLS if sum(each.cell == cell for each in found) < per_cell]
    if short:
        _say(
            f"short: {len(short)} of {len(CELLS)} cells have fewer than {per_cell}, e.g. {short[0]}",
            aside=True,
        )
        raise typer.Exit(1)


def _flaws_of(tasks: Sequence[Task], lexicon: Path | None) -> Callable[[Paraphrase], str]:
    """What is wrong with a paraphrase by the rules of its task, in one line; nothing if nothing is."""
    from assay.perturb.words.grid.rules import Rules

    rules = {task.id: Rules(task, lexicon) for task in tasks}
    return lambda each: "; ".join(
        f"{rule}: {reason}" for rule, reason in rules[each.task.id].flaws(each.text, each.cell)
    )


def _show_bill(ledger: Ledger, price: Price) -> None:
    """What was asked, paid and thrown away: also of a run that breaks off."""
    asked = (
        f"{ledger.requests} requests ({ledger.retries} repeated), {ledger.cached} answers kept from before"
    )
    spent = f"{ledger.prompt_tokens} tokens sent, {ledger.answer_tokens} received"
    if price.prompt or price.answer:
        spent += f", cost {ledger.cost(price):.4f}"
    _say(f"{asked}; {spent}")
    if ledger.uncounted:
        _say(f"{ledger.uncounted} answers without a count of tokens", aside=True)
    for reason, count in ledger.dropped.most_common():
        _say(f"dropped {count} x {reason}", aside=True)


def _say(line: str, *, aside: bool = False) -> None:
    say(line, aside=aside)
