"""What is played, as every call that plays takes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.errors import AssayError, ExperimentError, TaskError
from assay.runs.execute import Options
from assay.runs.seeds import as_seeds

Seeds = int | str | Iterable[int]
"""How many, from 0 on; or which, as numbers or as the command line names them (``7-11``)."""


def chosen(
    tasks: str | Iterable[str] | None,
    seeds: Seeds | None,
    conditions: str | Iterable[str] | None,
    assets: str | None,
    states: str | Path | None = None,
) -> Options:
    """What is played, of what all calls that play take; how it is played is added to it."""
    return Options(
        tasks=selection(tasks, TaskError, "tasks", "'libero_goal/3'"),
        seeds=None if seeds is None else as_seeds(seeds),
        conditions=selection(conditions, ExperimentError, "conditions", "'position,displace=*'"),
        assets=assets,
        states=None if states is None else Path(states),
    )


def selection(
    given: str | Iterable[str] | None, error: type[AssayError], name: str, example: str
) -> str | None:
    """A selection as the command line has it; raises ``error`` for what is neither a text nor several."""
    if given is None or isinstance(given, str):
        return given
    try:
        return ",".join(given)
    except TypeError:
        raise error(
            f"{name}={given!r:.60}: valid: a selection such as {example}, or a list of names"
        ) from None
