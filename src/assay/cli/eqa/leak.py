"""`assay eqa leak`: does the text of the options tell the answer?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.console import output, say, table_of


def leak(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let probes guess answers from the options and the text alone, and compare with chance (25 %).

    Exit status 1 if a probe knows more than chance.
    """
    from assay.eqa.baselines import BASELINES
    from assay.eqa.leak import LEVEL, probe
    from assay.eqa.question import load

    questions = load(folder)
    probed = probe(questions, folder)
    share = {
        name: sum(answer(question) == question.answer for question in questions) / len(questions)
        for name, answer in BASELINES.items()
    }
    if as_json:
        rows = [
            {
                "kind": str(each.kind),
                "probe": each.probe,
                "questions": each.questions,
                "accuracy": each.accuracy,
                "chance": each.interval,
                "leaks": each.leaks,
            }
            for each in probed
        ]
        typer.echo(json.dumps({"probes": rows, "baselines": share}, indent=2))
    else:
        table = table_of("kind", "probe", "questions", "right", f"chance ({LEVEL:.0%}, all together)", "")
        for each in probed:
            low, high = each.interval
            verdict = "[red]leaks[/]" if each.leaks else "[green]chance[/]"
            table.add_row(
                str(each.kind),
                each.probe,
                str(each.questions),
                f"{each.accuracy:.1%}",
                f"{low:.0%} to {high:.0%}",
                verdict,
            )
        output.print(table)
        output.print(", ".join(f"{name} {value:.1%}" for name, value in share.items()), highlight=False)
    leaking = [f"{each.kind} ({each.probe})" for each in probed if each.leaks]
    if leaking:
        say(f"the options tell the answer: {', '.join(leaking)}", aside=True)
        raise typer.Exit(1)
