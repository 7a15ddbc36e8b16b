"""The options of a run, declared once for the command line, the API, the bridges and the workers.

The docstring below a field is its documentation and its help text on the command line.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args

from assay.errors import AssayError, ExperimentError, RunError, TaskError
from assay.support.docstrings import field_docs
from assay.support.extras import require

MEASURED: Literal["measured"] = "measured"
MAX_SEEDS = 100_000
Videos = Literal["failures", "all"]
"""Episodes for which videos are written."""
Waiting = Literal["play", "hold", "align"]
"""Behaviour of the robot during inference; see `assay.episodes.latency.WhileWaiting`."""
Retry = Literal["transient", "errors", "nothing"]
"""Episodes with errors that a resumed run repeats."""
Seeds = int | str | Iterable[int]
"""A number of seeds, counted from 0, or the seeds themselves, as numbers or as text (``7-11``)."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run, named as in ``assay run`` and the API.

    Field metadata: the minimum, and the metavar and flags on the command line.
    """

    tasks: str | None = None
    """Tasks: all, suite names, task ids, task files or folders, separated by commas (default: the experiment's)."""
    seeds: tuple[int, ...] | None = None
    """Number of seeds (4 means 0 to 3), or a list: 7,8,9 or 7-11 (default: the experiment's)."""
    conditions: str | None = None
    """Conditions to run in addition to the control: names or patterns, e.g. position,'displace=*' (default: all)."""
    workers: int | None = field(default=None, metadata={"minimum": 0})
    """Number of worker processes (default: one per core; 0 runs episodes in this process)."""
    assets: str | None = None
    """Asset pack: primitives (default), libero, or the name of a plugin's pack."""
    states: Path | None = None
    """Folder with LIBERO's stored initial states, used instead of sampled ones."""
    hold_start: int | None = field(default=None, metadata={"minimum": 0, "metavar": "K"})
    """Start every episode from initial state K, so that the seeds vary only the policy's randomness."""
    repeats: int | None = field(default=None, metadata={"minimum": 1, "metavar": "K"})
    """Number of times to run each control, with different randomness of the policy (default: 1)."""
    steps: int | None = field(default=None, metadata={"minimum": 1})
    """Maximum number of control steps per episode (default: the task's horizon)."""
    replan: int | None = field(default=None, metadata={"minimum": 1})
    """Number of actions to execute from each chunk (default: all)."""
    latency: int | Literal["measured"] = field(default=0, metadata={"metavar": "K|measured"})
    """Inference latency in control steps (50 ms); `measured` times the policy once before the run."""
    while_waiting: Waiting | None = None
    """During inference, `play` the last chunk (default), `hold` still, or `align`: play, then skip overdue actions."""
    retries: int = field(default=1, metadata={"minimum": 0})
    """Number of times to retry an episode that ended in an error."""
    until: str | None = field(default=None, metadata={"metavar": "RULE"})
    """Rule for stopping a condition early: half-width=0.05, decided=0.8, or differs=0.05 (from the control)."""
    allocate: bool = False
    """Give the next episodes to conditions and tasks in which a loss is still open, and stop the others."""
    video: Videos | None = None
    """Write videos of failed episodes (`failures`) or of all episodes (`all`)."""
    ray: str | None = field(default=None, metadata={"metavar": "ADDRESS"})
    """Run on Ray: `local`, or the address of a cluster."""
    certified: bool | None = field(default=None, metadata={"flags": "--certified/--uncertified"})
    """Run only scenes that the oracle has solved, or all scenes (default: as the experiment specifies)."""
    retry_errors: bool = False
    """Repeat episodes that ended in an error."""
    timeout: float = field(default=1800.0, metadata={"minimum": 1})
    """Seconds of inactivity after which a worker is stopped."""
    shard: str | None = field(default=None, metadata={"metavar": "I/N"})
    """Run part I of N of the plan; `assay runs merge` merges the parts."""

    def __post_init__(self) -> None:
        """Raise RunError if a value is out of range."""
        for option in fields(self):
            value, minimum = getattr(self, option.name), option.metadata.get("minimum")
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if minimum is not None and value is not None and not (is_number and value >= minimum):
                raise RunError(f"{option.name}={value!r:.60}: expected a number >= {minimum}")
        if self.video is not None:
            require("video", "videos of episodes require PyAV", RunError)
        for name, valid in (("while_waiting", get_args(Waiting)), ("video", get_args(Videos))):
            if getattr(self, name) not in (None, *valid):
                raise RunError(f"{name}={getattr(self, name)!r:.60}: choose one of {', '.join(valid)}")

    @classmethod
    def of(cls, options: RunOptions | None = None, **overrides: Unpack[RunOptionsDict]) -> RunOptions:
        """Return options with some values replaced, given as in the API or command line. Raises AssayError."""
        values: dict[str, Any] = dict(overrides)
        for name, error, example in (
            ("tasks", TaskError, "'libero_goal/3'"),
            ("conditions", ExperimentError, "'position,displace=*'"),
        ):
            if name in values:
                values[name] = join_names(values[name], error, name, example)
        if values.get("seeds") is not None:
            values["seeds"] = parse_seeds(values["seeds"])
        if values.get("states") is not None:
            values["states"] = Path(values["states"])
        if "latency" in values:
            values["latency"] = _parse_latency(values["latency"])
        return replace(options or cls(), **values)

    @property
    def worker_count(self) -> int:
        """Number of local processes that execute episodes."""
        return self.workers or (1 if self.workers == 0 else os.cpu_count() or 1)

    @property
    def retry(self) -> Retry:
        """Episodes with errors that are repeated."""
        return "errors" if self.retry_errors else "transient"


class RunOptionsDict(TypedDict, total=False):
    """The API's keyword arguments for the fields of `RunOptions`, with the types that it accepts."""

    tasks: str | Iterable[str] | None
    seeds: Seeds | None
    conditions: str | Iterable[str] | None
    workers: int | None
    assets: str | None
    states: str | Path | None
    hold_start: int | None
    repeats: int | None
    steps: int | None
    replan: int | None
    latency: int | str
    while_waiting: Waiting | None
    retries: int
    until: str | None
    allocate: bool
    video: Videos | None
    ray: str | None
    certified: bool | None
    retry_errors: bool
    timeout: float
    shard: str | None


@cache
def option_help() -> Mapping[str, str]:
    """Help text by option: the docstrings below the fields of `RunOptions`."""
    return field_docs(RunOptions)


def join_names(
    names: str | Iterable[str] | None, error: type[AssayError], option: str, example: str
) -> str | None:
    """Return a selection as written on the command line. Raises ``error`` unless it is text or a list of names."""
    if names is None or isinstance(names, str):
        return names
    try:
        return ",".join(names)
    except TypeError:
        expected = f"expected a selection such as {example}, or a list of names"
        raise error(f"{option}={names!r:.60}: {expected}") from None


def parse_seeds(seeds: Seeds) -> tuple[int, ...]:
    """Parse seeds from a number, a list or text: ``4`` means 0 to 3, ``7,8,9`` and ``7-11`` list them.

    Raises RunError if the seeds are invalid.
    """
    numbers: list[int] = []
    try:
        if isinstance(seeds, str) and not seeds.strip().isdecimal():
            for part in filter(None, map(str.strip, seeds.split(","))):
                low, _, high = part.partition("-")
                chosen = range(int(low), int(high or low) + 1)[: MAX_SEEDS + 1]
                numbers += chosen or [-1]
        else:
            numbers = list(range(int(seeds))[: MAX_SEEDS + 1] if isinstance(seeds, int | str) else seeds)
    except (TypeError, ValueError):
        numbers = []
    is_valid = all(type(seed) is int and seed >= 0 for seed in numbers) and len(set(numbers)) == len(numbers)
    if not is_valid or not 1 <= len(numbers) <= MAX_SEEDS:
        raise RunError(
            f"--seeds {seeds!r:.60}: expected a number of seeds (4 means 0 to 3) or at most {MAX_SEEDS:,} different "
            "seeds (7,8,9 or 7-11)"
        )
    return tuple(numbers)


def _parse_latency(latency: int | str) -> int | Literal["measured"]:
    """Parse a latency: a number of control steps, or ``measured``. Raises RunError."""
    text = str(latency)
    if text in (MEASURED, "0"):
        return MEASURED if text == MEASURED else 0
    from assay.episodes.latency import MOST_LATENCY  # brings numpy and pydantic along

    if isinstance(latency, bool) or not (text.isascii() and text.isdecimal()) or int(text) > MOST_LATENCY:
        raise RunError(
            f"--latency '{text:.40}': expected 0 to {MOST_LATENCY} control steps of 50 ms, or measured"
        )
    return int(text)


def run_command(experiment: str, policy: str, settings: Mapping[str, object], **options: object) -> str:
    """Return an ``assay run`` command with a run's stored settings and further options; empty options are omitted.

    The certification flag is always included if it was stored, because a run without certificates cannot be resumed
    with them.
    """
    for name in ("steps", "replan", "start", "latency", "while_waiting"):
        options["hold_start" if name == "start" else name] = settings.get(name)
    out = options.pop("out", None)
    parts = ["assay", "run", experiment, "--policy", policy]
    for name, value in options.items():
        parts += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    if "certificates" in settings:
        parts.append("--uncertified" if settings["certificates"] is None else "--certified")
    return shlex.join([*parts, *([] if out is None else ["--out", str(out)])])
