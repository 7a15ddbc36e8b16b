"""`assay probe`: how often it identifies the convention of a server that does not report it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import product
from urllib.parse import parse_qsl, urlencode

from assay.errors import RenderingError
from assay.extensions.probe.examination import (
    DemonstratedStep,
    ProbedServer,
    ProbeReport,
    demonstrate,
    examine,
    options_of,
)
from assay.policies.remote.convention import Convention, Gripper, Layout, Rotation, Sign
from assay.policies.remote.openpi import CONVENTION
from assay.support.images import Orientation
from bench.figure import Figure
from bench.trained import Frame, Trained, frames, handed_over

TASKS = ("libero_goal/7", "libero_goal/8")
TRAINED_ON, PROBED_WITH = range(100, 105), (0, 1, 2, 3)
"""Training seeds; the probe's initial states are not among them."""
STATES = (
    *((Layout.END_EFFECTOR, rotation) for rotation in Rotation),
    (Layout.FINGERS_FIRST, Rotation.XYZW),
    (Layout.JOINTS, Rotation.ROBOSUITE),
)
GRIPPERS = tuple(product(Gripper, Sign))


@dataclass(frozen=True, slots=True)
class Trial:
    """A server and the result of probing it."""

    secret: Convention
    examination: ProbeReport
    seconds: float
    """Processor seconds."""

    @property
    def right(self) -> bool:
        """Whether the recommended address equals the convention the server was trained with."""
        return dict(parse_qsl(self.examination.address.partition("?")[2])) == expected(self.secret)


def secrets() -> list[Convention]:
    """Return all combinations of image orientation, state layout and gripper convention."""
    return [
        replace(
            CONVENTION, orientation=orientation, layout=layout, rotation=rotation, gripper=kind, closes=sign
        )
        for orientation, (layout, rotation), (kind, sign) in product(Orientation, STATES, GRIPPERS)
    ]


def expected(secret: Convention) -> dict[str, str]:
    """Return the address options that a convention requires."""
    usual = options_of(CONVENTION)
    return {name: value for name, value in options_of(secret).items() if usual[name] != value}


def tried(secret: Convention, trained_on: list[Frame], shown: list[DemonstratedStep]) -> Trial:
    """Train a policy with a convention, serve it, and probe the server."""
    with handed_over(Trained(secret, trained_on)) as address:
        start = time.process_time()
        found = examine(ProbedServer(address), shown)
        return Trial(secret, found, time.process_time() - start)


def measure() -> list[Figure]:
    try:
        trained_on = frames(TASKS, TRAINED_ON, every=3)
        shown = demonstrate(TASKS, PROBED_WITH, "primitives", 100)
        trials = []
        for secret in secrets():
            trials.append(tried(secret, trained_on, shown))
            last = trials[-1]
            print(
                f"{urlencode(expected(secret)) or '(as openpi)':62} "
                f"{'right' if last.right else last.examination.address}, "
                f"{last.examination.requests} requests, {last.seconds:.0f} s of processor time",
                flush=True,
            )
    except RenderingError as error:
        return [Figure("convention identified", None, "%", 95.0, note=str(error))]
    right = sum(trial.right for trial in trials)
    asked = sum(trial.examination.requests for trial in trials) / len(trials)
    return [
        Figure(
            f"conventions identified correctly, {len(trials)} servers",
            100 * right / len(trials),
            "%",
            95.0,
            at_most=False,
            note=f"{right} of {len(trials)}",
        ),
        Figure("requests to identify the convention (mean)", asked, "", 1500.0),
    ]
