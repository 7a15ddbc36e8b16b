"""Commands to be copied: what begins or goes on with a run, what plans one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

_OPTIONS = {
    "steps": "steps",
    "replan": "replan",
    "start": "hold-start",
    "latency": "latency",
    "while_waiting": "while-waiting",
}
"""Settings of a run -> options of ``assay run``."""


def run_command(experiment: str, policy: str, settings: Mapping[str, object], **options: object) -> str:
    """``assay run`` with the settings that a run keeps and some options besides; those that are None are left out.

    Whether scenes need certificates is always said where the settings say it: a run without is not resumed with them.
    """
    given = {name: value for name, value in options.items() if name != "out"}
    given |= {option: settings.get(name) for name, option in _OPTIONS.items()}
    parts = ["assay", "run", experiment, "--policy", policy, *_spelled(given)]
    if "certificates" in settings:
        parts.append("--uncertified" if settings["certificates"] is None else "--certified")
    return shlex.join([*parts, *_spelled({"out": options.get("out")})])


def plan_command(experiment: str, **options: object) -> str:
    """``assay plan`` with some options; those that are None are left out."""
    return shlex.join(["assay", "plan", experiment, *_spelled(options)])


def _spelled(options: Mapping[str, object]) -> list[str]:
    return [
        each for name, value in options.items() if value is not None for each in (f"--{name}", str(value))
    ]
