"""`assay probe`: find the convention of a policy server, and print the address that sets it."""

from __future__ import annotations

import math
from itertools import islice, product
from typing import Annotated

import typer

from assay.cli.options import PRIMITIVES, Assets, JsonFile, Tasks, write_json
from assay.runs.options import parse_seeds
from assay.support.console import output, progress_bar, say, table_of

EASY_TASKS = "libero_goal/7,libero_goal/8,libero_spatial/0,libero_object/0"
"""Short tasks in which the end effector rotates and the gripper closes."""
MAX_SHOWN_EVIDENCE = 1e6
"""Odds above which the exact number is not shown."""


def probe(
    policy: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address of the server; options set in it are not searched."),
    ],
    selection: Tasks = EASY_TASKS,
    seeds: Annotated[
        str, typer.Option(help="Number of seeds (4 means 0 to 3), or a list of seeds: 7,8,9 or 7-11.")
    ] = "4",
    moments: Annotated[
        int, typer.Option(min=10, max=2000, help="Maximum number of demonstrated steps to query.")
    ] = 100,
    episodes: Annotated[
        int, typer.Option(min=0, max=200, help="Maximum number of episodes per convention; 0 for none.")
    ] = 8,
    assets: Assets = None,
    json_file: JsonFile = None,
) -> None:
    """Find the conventions with which a policy was trained: image orientation and size, state, gripper and timing.

    The server is queried with demonstrated observations in every supported convention. In the correct convention,
    its actions agree with those of the demonstrator. A few episodes then determine `replan` (number of actions
    executed from each reply) and `wait` (number of steps before the first request).
    """
    from assay import tasks
    from assay.episodes import EpisodeSpec
    from assay.extensions.probe.examination import ProbedServer, demonstrate, examine, format_options

    chosen, numbers = [task.id for task in tasks.resolve(selection)], parse_seeds(seeds)
    pack, server = assets or PRIMITIVES, ProbedServer(policy)
    specs = [EpisodeSpec(task, seed, pack) for seed, task in islice(product(numbers, chosen), episodes)]
    with progress_bar() as bar:
        progress = bar.add_task("recording demonstrations", total=None)
        steps = demonstrate(chosen, numbers, pack, moments)
        report = examine(server, steps, specs, say=lambda stage: bar.update(progress, description=stage))
    status = 0 if report.understood else 1
    if json_file is not None:
        content = {
            "address": report.address,
            "understood": report.understood,
            "agreement": report.agreement,
            "agreement_as_given": report.agreement_as_given,
            "episodes": report.solved and dict(zip(("solved", "of"), report.solved, strict=True)),
            "requests": report.requests,
            "fields": [
                {
                    "field": field.field,
                    "found": field.chosen,
                    "score": field.score,
                    "next": field.rival,
                    "next_score": None if field.rival is None else field.rival_score,
                    "evidence": math.exp(min(field.evidence, math.log(MAX_SHOWN_EVIDENCE))),
                    "verdict": field.verdict,
                    "refused": field.refused,
                    "rounds": field.rounds,
                }
                for field in report.verdicts
            ],
        }
        if write_json(content, json_file):
            raise typer.Exit(status)
    table = table_of("field", "best", "score", "runner-up", "score", "evidence", "verdict")
    for field in report.verdicts:
        rival = ["-", "-", "-"]
        if field.rival is not None:
            odds = math.exp(min(max(field.evidence, 0.0), math.log(MAX_SHOWN_EVIDENCE)))
            limit = "> " if odds >= MAX_SHOWN_EVIDENCE else ""
            rival = [format_options(field.rival), f"{field.rival_score:.2f}", f"{limit}{odds:,.0f} : 1"]
        table.add_row(field.field, format_options(field.chosen), f"{field.score:.2f}", *rival, field.verdict)
    output.print(table)
    for field in report.verdicts:
        for options, reason in field.refused.items():
            say(f"rejected by the server: {options}: {reason}")
    before = ""
    if report.agreement_as_given != report.agreement:
        before = f"; with the original address: {report.agreement_as_given:.2f}"
    say(f"agreement with the demonstrator: {report.agreement:.2f}{before} (1 is identical, 0.5 is chance)")
    if report.solved is not None:
        say("episodes solved: {} of {}".format(*report.solved))
    if report.understood:
        say(f"use: {report.address}")
    else:
        say(
            "no supported convention makes the actions agree with the demonstrator's; try other --tasks, or --assets "
            "libero for a model trained on LIBERO's images; the model may also be unable to perform these tasks",
            aside=True,
        )
    raise typer.Exit(status)
