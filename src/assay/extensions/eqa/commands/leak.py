"""`assay eqa leak`: does the text of the options tell the answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import JsonFile, write_json
from assay.extensions.eqa.errors import QuestionError
from assay.support.console import output, say, styled, table_of
from assay.support.extras import require

if TYPE_CHECKING:
    from rich.text import Text

    from assay.extensions.eqa.leak import Probed

BLUNT = 0.5
"""A probe that would find only larger leaks than this says little."""


def leak(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of questions; several side by side.")
    ],
    out: JsonFile = None,
) -> None:
    """Let probes guess answers from the options and the text alone, and compare with chance (25 %).

    Exit status 1 if a probe does better, or worse, than chance allows.
    """
    require("eqa", "probes for leaks need scikit-learn", QuestionError)
    from assay.extensions.eqa.baselines import BASELINES
    from assay.extensions.eqa.leak import LEVEL, learnable, probe, sets
    from assay.extensions.eqa.question import load

    found: dict[str, list[Probed]] = {}
    shares: dict[str, dict[str, float | None]] = {}
    for folder in folders:
        name = folder.name if len({folder.name for folder in folders}) == len(folders) else str(folder)
        questions = load(folder)
        found[name] = probe(questions, folder)
        shares[name] = {}
        for baseline, answer in BASELINES.items():
            known = [letter == question.answer for question in questions if (letter := answer(question))]
            shares[name][baseline] = sum(known) / len(known) if known else None
        for (kind, view), some in sets(questions).items():
            if not learnable(some):
                told = f"{name}: {' '.join((kind, view)).strip()}"
                say(f"{told}: one scene only, nothing to learn from", aside=True)
    if out is not None:
        rows = {
            name: {"probes": [_row(each) for each in found[name]], "baselines": shares[name]}
            for name in found
        }
        write_json(rows[next(iter(rows))] if len(rows) == 1 else {"sets": rows}, out)
    if out != "-":
        table = table_of("kind", "view", "probe", *(found if len(found) > 1 else ("right",)))
        cells = {
            name: {(each.kind, each.view, each.probe): each for each in probed}
            for name, probed in found.items()
        }
        for key in dict.fromkeys(key for cell in cells.values() for key in cell):
            table.add_row(key[0], key[1] or "-", key[2], *(_shown(cell.get(key)) for cell in cells.values()))
        output.print(table)
        sizes = {each.questions: each for probed in found.values() for each in probed}
        for size, each in sorted(sizes.items()):
            low, high = each.interval
            say(
                f"{size} questions: chance is {low:.0%} to {high:.0%} ({LEVEL:.0%}, all together); "
                f"a probe that is right in {each.missed:.0%} is found in four of five cases"
            )
        for name, share in shares.items():
            shown = (f"{each} {'-' if value is None else f'{value:.1%}'}" for each, value in share.items())
            say(f"{f'{name}: ' if len(found) > 1 else ''}{', '.join(shown)}")
    leaking = [
        f"{f'{name}: ' if len(found) > 1 else ''}{' '.join((each.kind, each.view)).strip()} ({each.probe})"
        for name, probed in found.items()
        for each in probed
        if each.leaks
    ]
    if leaking:
        say(f"the options tell the answer: {', '.join(leaking)}", aside=True)
        raise typer.Exit(1)


def _shown(each: Probed | None) -> Text | str:
    if each is None:
        return ""
    if each.leaks:
        told, colour = "below chance" if each.accuracy < each.interval[0] else "leaks", "red"
    else:
        told, colour = ("too few to tell", "yellow") if each.missed > BLUNT else ("chance", "green")
    return styled(f"{each.accuracy:.1%} of {each.questions}, {told}", colour)


def _row(each: Probed) -> dict[str, object]:
    return {
        "kind": str(each.kind),
        "view": each.view,
        "probe": each.probe,
        "questions": each.questions,
        "accuracy": each.accuracy,
        "chance": each.interval,
        "leaks": each.leaks,
        "missed": each.missed,
    }
