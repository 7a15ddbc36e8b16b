"""What commands that execute episodes share: their options, who executes, which seeds, and Ctrl-C."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli import completing
from assay.errors import RunError
from assay.support.console import errors, say

PRIMITIVES = "primitives"
ON_PRIMITIVES = (
    "note: these are the built-in assets; "
    "a policy trained on LIBERO's images needs --assets libero (assay assets get)"
)
FOREIGN = ("://", "lerobot:")
"""What the addresses of policies have in them that were likely trained on LIBERO's images."""


class Videos(StrEnum):
    """Which episodes become videos."""

    FAILURES = "failures"
    ALL = "all"


class Meanwhile(StrEnum):
    """What happens while a policy thinks."""

    PLAY = "play"
    HOLD = "hold"
    ALIGN = "align"


ExperimentAddress = Annotated[
    str, typer.Argument(help="The experiment: assay experiments list.", autocompletion=completing.experiments)
]
Tasks = Annotated[
    str,
    typer.Option(
        "--tasks",
        help="all, or suites, ids, task files and folders with commas.",
        autocompletion=completing.tasks,
    ),
]
Selection = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        help="all, suites and ids with commas; the experiment's own by default.",
        autocompletion=completing.tasks,
    ),
]
Seeds = Annotated[str | None, typer.Option(help="How many (4 means 0 to 3), or which: 7,8,9 or 7-11.")]
States = Annotated[
    Path | None, typer.Option(help="LIBERO's folder of stored initial states, instead of sampled ones.")
]
Conditions = Annotated[
    str | None,
    typer.Option(
        help="Only these conditions, and the control: names and patterns, e.g. position,'displace=*'."
    ),
]
HoldStart = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="K",
        help="Every episode starts from initial state K; seeds vary the policy's own randomness only.",
    ),
]
Assets = Annotated[
    str | None, typer.Option(help="Asset pack: primitives (the usual one), libero, a plugin's.")
]
Steps = Annotated[int | None, typer.Option(min=1, help="The most steps, for every task.")]
Replan = Annotated[int | None, typer.Option(min=1, help="Actions executed of each chunk; all by default.")]
Latency = Annotated[
    str,
    typer.Option(
        metavar="K|measured",
        help="Steps of 50 ms that the policy thinks; measured: as long as it does, measured once.",
    ),
]
WaitingWay = Annotated[
    Meanwhile | None,
    typer.Option(
        help="Meanwhile the old chunk plays on (by default), the arm holds, or the chunks are aligned."
    ),
]
Video = Annotated[Videos | None, typer.Option(help="Videos of failures, or of all episodes.")]
Workers = Annotated[
    int | None, typer.Option(min=0, help="Processes; one for each core by default; 0: no other than this.")
]
Processes = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; one for each core by default.")
]
RayAddress = Annotated[str | None, typer.Option(help="Execute on Ray: local, or a cluster's address.")]
Certified = Annotated[
    bool | None,
    typer.Option(
        "--certified/--uncertified",
        help="Only scenes that the oracle has solved, or all; as the experiment has it by default.",
    ),
]
RetryErrors = Annotated[bool, typer.Option(help="Try episodes that ended in an error again.")]
PolicyLabel = Annotated[
    str | None, typer.Option("--label", help="What reports, comparisons and figures call the policy.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Begin without asking, however long it takes.")]
JsonFile = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to a file; - prints it.")
]
Silence = Annotated[float, typer.Option(min=1, help="Seconds after which a silent worker is ended.")]


def parse_latency(text: str) -> int | Literal["measured"]:
    """A number of control steps, or that it is to be measured. Raises RunError."""
    from assay.episodes.latency import MOST_LATENCY

    if text == "measured":
        return "measured"
    if not (text.isascii() and text.isdecimal()) or int(text) > MOST_LATENCY:
        raise RunError(
            f"--latency '{text:.40}': valid: 0 to {MOST_LATENCY} control steps of 50 ms, or measured"
        )
    return int(text)


def latency_in_steps(text: str) -> int:
    """A number of control steps, where nothing is measured. Raises RunError."""
    found = parse_latency(text)
    if found == "measured":
        raise RunError(
            "--latency measured: only assay run measures it; valid here: a number of control steps"
        )
    return found


def write_json(content: object, target: str) -> bool:
    """Write JSON into a file, or print it, where the target is -; returns whether it was printed."""
    text = json.dumps(content, indent=2, allow_nan=False)
    if target == "-":
        typer.echo(text)
        return True
    from assay.support.files import replacing

    with replacing(Path(target)) as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")
    errors.print(f"written to {target}", highlight=False, markup=False, soft_wrap=True)
    return False


def say_on_primitives(policy: str, assets: str | None) -> None:
    """Note on stderr that a policy which was likely trained on LIBERO's images is shown others."""
    if any(each in policy for each in FOREIGN) and assets in (None, PRIMITIVES):
        say(ON_PRIMITIVES, aside=True)
