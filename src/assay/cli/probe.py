"""`assay probe`: find the convention by which a policy server wants to be spoken to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.execution import Assets, JsonFile, Tasks, write_json
from assay.runs.seeds import parse_seeds
from assay.support.console import output, progress_bar, say, table_of

if TYPE_CHECKING:
    from assay.policies.probe.examination import FieldVerdict, ProbeResult
    from assay.policies.probe.server import Options

EASY = "libero_goal/7,libero_goal/8,libero_spatial/0,libero_object/0"
"""Short tasks in which the hand turns and the gripper closes."""
CERTAIN = math.log(1e6)
"""Evidence beyond this is not told apart."""


def probe(
    policy: Annotated[
        str, typer.Argument(help="The server's address; options that it sets are not searched.")
    ],
    selection: Tasks = EASY,
    seeds: Annotated[str, typer.Option(help="How many (4 means 0 to 3), or which: 7,8,9 or 7-11.")] = "4",
    moments: Annotated[
        int, typer.Option(min=10, max=2000, help="The most moments of demonstrations to ask about.")
    ] = 100,
    episodes: Annotated[
        int,
        typer.Option(min=0, max=200, help="The most episodes for each convention that is tried; 0: none."),
    ] = 8,
    assets: Assets = None,
    json_file: JsonFile = None,
) -> None:
    """Find how a policy server was trained: image flips, state, gripper sign, image size, replan, waiting.

    It is asked about moments of demonstrations by every convention that is known: by the right one, its actions
    point where the demonstrator's do. Then a few episodes are played.
    """
    from assay import tasks
    from assay.policies.probe.examination import ProbePlan, examine

    chosen = tuple(task.id for task in tasks.resolve(selection))
    plan = ProbePlan(chosen, tuple(parse_seeds(seeds)), assets or "primitives", moments, episodes)
    with progress_bar() as bar:
        progress = bar.add_task("", total=None)
        found = examine(policy, plan, say=lambda what: bar.update(progress, description=what))
    if json_file is not None and write_json(as_json(found), json_file):
        raise typer.Exit(0 if found.understood else 1)
    table = table_of("what", "fits best", "score", "next best", "score", "evidence", "verdict")
    for each in found.verdicts:
        rival = "-" if each.rival is None else _short(each.rival)
        rivals = "-" if each.rival is None else f"{each.rival_score:.2f}"
        table.add_row(
            each.field, _short(each.chosen), f"{each.score:.2f}", rival, rivals, _evidence(each), each.verdict
        )
    output.print(table)
    for each in found.verdicts:
        for options, reason in each.refused.items():
            say(f"refused: {options}: {reason}")
    changed = found.agreement_as_given != found.agreement
    before = f"; as the address was given: {found.agreement_as_given:.2f}" if changed else ""
    say(f"agreement with the demonstrator: {found.agreement:.2f}{before} (1 is the same, 0.5 is chance)")
    if found.solved is not None:
        compared = found.solved_as_given is not None and found.solved_as_given is not found.solved
        given = "" if not compared else f"; as the address was given: {_of(found.solved_as_given)}"
        say(f"episodes solved: {_of(found.solved)}{given}")
    if not found.understood:
        say(
            "no convention that is known makes its actions agree with a demonstrator's: other --tasks, other --assets"
            " (a model trained on LIBERO's images needs --assets libero), or a model that cannot do these tasks",
            aside=True,
        )
        raise typer.Exit(1)
    say(f"use: {found.address}")


def as_json(found: ProbeResult) -> dict[str, object]:
    """A JSON object."""
    return {
        "address": found.address,
        "understood": found.understood,
        "agreement": found.agreement,
        "agreement_as_given": found.agreement_as_given,
        "episodes": None if found.solved is None else dict(zip(("solved", "of"), found.solved, strict=True)),
        "requests": found.requests,
        "fields": [
            {
                "field": each.field,
                "found": dict(each.chosen),
                "score": each.score,
                "next": None if each.rival is None else dict(each.rival),
                "next_score": None if each.rival is None else each.rival_score,
                "evidence": math.exp(min(each.evidence, CERTAIN)),
                "verdict": each.verdict,
                "refused": dict(each.refused),
                "rounds": each.rounds,
            }
            for each in found.verdicts
        ],
    }


def _short(options: Options) -> str:
    from assay.policies.probe.examination import format_options

    return format_options(options)


def _evidence(each: FieldVerdict) -> str:
    if each.rival is None:
        return "-"
    return "> 1,000,000 : 1" if each.evidence > CERTAIN else f"{max(math.exp(each.evidence), 1.0):,.0f} : 1"


def _of(count: tuple[int, int] | None) -> str:
    return "none played" if count is None else f"{count[0]} of {count[1]}"
