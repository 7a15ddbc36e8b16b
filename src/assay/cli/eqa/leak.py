"""`assay eqa leak`: does the text of the options tell the answer?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.execution import JsonFile, write_json
from assay.console import output, say, styled, table_of
from assay.eqa.errors import QuestionError
from assay.extras import require


def leak(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of questions.")],
    out: JsonFile = None,
) -> None:
    """Let probes guess answers from the options and the text alone, and compare with chance (25 %).

    Exit status 1 if a probe does better, or worse, than chance allows.
    """
    require("eqa", "probes for leaks need scikit-learn", QuestionError)
    from assay.eqa.baselines import BASELINES
    from assay.eqa.leak import LEVEL, learnable, probe, sets
    from assay.eqa.question import load

    questions = load(folder)
    probed = probe(questions, folder)
    share = {}
    for name, answer in BASELINES.items():
        given = [(answer(question), question.answer) for question in questions]
        known = [one == right for one, right in given if one]
        share[name] = sum(known) / len(known) if known else None
    if out is not None:
        rows = [
            {
                "kind": str(each.kind),
                "view": each.view,
                "probe": each.probe,
                "questions": each.questions,
                "accuracy": each.accuracy,
                "chance": each.interval,
                "leaks": each.leaks,
                "missed": each.missed,
            }
            for each in probed
        ]
        write_json({"probes": rows, "baselines": share}, out)
    if out != "-":
        table = table_of(
            *("kind", "view", "probe", "questions", "right", f"chance ({LEVEL:.0%}, all together)"),
            *("seen from", ""),
        )
        for each in probed:
            low, high = each.interval
            told = "below chance" if each.accuracy < low else "leaks"
            verdict = styled(told, "red") if each.leaks else styled("chance", "green")
            table.add_row(
                str(each.kind),
                each.view or "-",
                each.probe,
                str(each.questions),
                f"{each.accuracy:.1%}",
                f"{low:.0%} to {high:.0%}",
                f"{each.missed:.0%}",
                verdict,
            )
        output.print(table)
        shown = (f"{name} {'-' if value is None else f'{value:.1%}'}" for name, value in share.items())
        say(", ".join(shown))
        say("seen from: a probe that is right so often is found in four of five cases; less may go unnoticed")
    for (kind, view), some in sets(questions).items():
        if not learnable(some):
            say(f"{' '.join((kind, view)).strip()}: one scene only, nothing to learn from", aside=True)
    leaking = [f"{' '.join((each.kind, each.view)).strip()} ({each.probe})" for each in probed if each.leaks]
    if leaking:
        say(f"the options tell the answer: {', '.join(leaking)}", aside=True)
        raise typer.Exit(1)
