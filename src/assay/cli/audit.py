"""`assay audit`: how much of an experiment is solved without words, without sight, or by memory alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer
from rich.table import Column as RichColumn

from assay.cli import completing
from assay.cli.execution import (
    Assets,
    Certified,
    Conditions,
    JsonFile,
    Seeds,
    Selection,
    Silence,
    States,
    Steps,
    Workers,
    write_json,
)
from assay.cli.verdicts import Markdown
from assay.errors import RunError
from assay.runs.seeds import parse_seeds
from assay.support.console import number_of, output, say, table_of

if TYPE_CHECKING:
    from assay.measures.views.table import Table

STATES = "states"
"""What is audited in place of an experiment: initial states."""


@dataclass(frozen=True, slots=True)
class _Told:
    """Where results go."""

    json: str | None
    markdown: Path | None

    def tell(self, content: object, table: Table, said: list[str]) -> None:
        """Write and print a table and its sentences."""
        from assay.report.audit import markdown

        if self.markdown is not None:
            self.markdown.write_text(markdown(table, said), encoding="utf-8")
            say(f"written to {self.markdown}", aside=True)
        if self.json is not None and write_json(content, self.json):
            return
        heads = [
            RichColumn(column.heading, justify="right" if column.right else "left")
            for column in table.columns
        ]
        shown = table_of(*heads, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for row in table.formatted_rows:
            shown.add_row(*row)
        output.print(shown)
        say(table.note)
        for each in said:
            say(each)


def audit(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT|states",
            help="The experiment (assay experiments list), or states: stored against sampled initial states.",
            autocompletion=completing.experiments,
        ),
    ],
    selection: Selection = None,
    seeds: Seeds = None,
    conditions: Conditions = None,
    learned: Annotated[
        list[Path] | None,
        typer.Option(help="A network of assay learn --without words or images, too; may be given twice."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Another policy beside them; of states, the policy that is tried.",
            autocompletion=completing.policies,
        ),
    ] = None,
    least: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Solved means: in more episodes than this, by the whole 95 % interval."
        ),
    ] = 0.5,
    out: Annotated[Path | None, typer.Option(help="A folder for the runs, one for each policy.")] = None,
    workers: Workers = None,
    assets: Assets = None,
    states: States = None,
    steps: Steps = None,
    certified: Certified = None,
    timeout: Silence = 1800.0,
    target: JsonFile = None,
    markdown: Markdown = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the table: a .png, .svg or .pdf.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Begin without asking, however long it takes.")] = False,
) -> None:
    """Say how much of an experiment a policy solves without words, without sight, or by memory alone.

    Conditions that such a policy solves are blind spots: success there is no evidence of what it lacks. The oracle's
    success is beside it. `assay audit states --policy X --states FOLDER` compares LIBERO's stored initial states with
    sampled ones: whether success was tuned to the stored. The same command again goes on where it was interrupted.
    """
    from assay import api
    from assay.cli.asking import AskingDisplay
    from assay.report.audit import (
        FORMATS,
        in_words,
        shortcuts_table,
        states_in_words,
        states_table,
        write_figure,
    )

    told = _Told(target, markdown)
    options = {
        "tasks": selection,
        "seeds": None if seeds is None else parse_seeds(seeds),
        "out": out,
        "workers": workers,
        "assets": assets,
        "states": states,
        "steps": steps,
        "timeout": timeout,
    }
    if experiment == STATES:
        given = {
            "--conditions": conditions,
            "--learned": learned,
            "--figure": figure,
            "--certified": certified,
        }
        if wrong := [name for name, value in given.items() if value is not None]:
            raise RunError(f"audit states: {wrong[0]} has no place there; valid: for an experiment")
        if policy is None or len(policy) != 1:
            raise RunError("audit states: needs one --policy")
        with AskingDisplay(yes=yes) as display:
            found = api.audit_states(policy[0], **options, observer=display)  # type: ignore[arg-type]
        if found is None:
            raise typer.Exit(1)
        told.tell(found.as_json(), states_table(found, policy[0]), states_in_words(found, policy[0]))
        return
    if figure is not None and figure.suffix not in FORMATS:
        raise RunError(f"--figure {figure}: valid: a name that ends in {', '.join(FORMATS)}")
    with AskingDisplay(yes=yes) as display:
        audited = api.audit(
            experiment,
            **options,  # type: ignore[arg-type]
            conditions=conditions,
            certified=certified,
            learned=learned or (),
            policies=policy or (),
            least=least,
            observer=display,
            told=lambda probe: say(f"{probe.title} ...", aside=True),
        )
    if audited is None:
        raise typer.Exit(1)
    shortcuts = audited.shortcuts
    told.tell(
        {"experiment": experiment, **shortcuts.as_json()},
        shortcuts_table(shortcuts, experiment),
        in_words(shortcuts),
    )
    if figure is not None:
        write_figure(shortcuts, experiment, figure)
        say(f"written to {figure}", aside=True)
    if audited.left:
        say(f"{number_of(audited.left, 'episode')} left: the same command goes on", aside=True)
        raise typer.Exit(130)
