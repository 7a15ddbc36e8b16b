"""The drop-in `libero`: speed relative to LIBERO, equality with LIBERO and with `assay run`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.runs.store import Store
from bench.engine import LIBERO_PYTHON
from bench.figure import Figure

HERE = Path(__file__).parent
STEPS = 60
TASKS = "libero_goal/0,libero_goal/3,libero_goal/5,libero_goal/7"
CONDITIONS = "position,environment,words=empty,object=colour,semantic"
SEEN_BOTH = ("agentview_image", "robot0_eye_in_hand_image")
SINGLE = "_to_robot0_eef_quat"
"""Suffixes of the keys that LIBERO computes in single precision."""


def measure() -> list[Figure]:
    return [*_speed(), *_sameness(), _as_assay_run()]


def _environment() -> dict[str, str]:
    shared = Path(os.environ.get("ASSAY_SHARED", "../shared")).absolute() / "libero"
    usual = {
        "ASSAY_LIBERO_ASSETS": shared / "assets",
        "ASSAY_ROBOSUITE_ASSETS": shared / "robosuite_assets",
        "ASSAY_LIBERO_STATES": shared / "init",
    }
    return {**{name: str(value) for name, value in usual.items() if shared.is_dir()}, **os.environ}


def _ours(pack: str, *arguments: object) -> float:
    command = [sys.executable, "-m", "assay", "libero", "--assets", pack, "--", "python"]
    return _seconds([*command, str(HERE / "libero_episode.py"), *map(str, arguments)])


def _theirs(*arguments: object) -> float | None:
    """Run the same script in an interpreter with LIBERO, if one is configured."""
    python = os.environ.get(LIBERO_PYTHON)
    if not python:
        return None
    return _seconds([python, str(HERE / "libero_episode.py"), *map(str, arguments)])


def _seconds(command: Sequence[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])


def _speed() -> list[Figure]:
    task = ("libero_object", 0, STEPS)
    theirs = _theirs(*task, 1)  # it renders in every step, whoever looks
    cases = (("libero", 5, 6.0), ("libero", 1, 2.0), ("primitives", 5, 25.0), ("primitives", 1, 7.0))
    found = []
    for pack, every, bound in cases:
        ours = _ours(pack, *task, every)
        name = f"time of LIBERO's episode / time of the drop-in's, images every {every} steps, {pack}"
        note = (
            f"{ours:.2f} s of {STEPS} steps"
            if theirs
            else f"{ours:.2f} s; {LIBERO_PYTHON} is not set to an interpreter with LIBERO"
        )
        found.append(Figure(name, theirs and theirs / ours, "x", bound, at_most=False, note=note))
    return found


def _sameness() -> list[Figure]:
    names = (
        "pixels that differ from LIBERO's in 50 steps",
        "largest numerical difference from LIBERO in 50 steps",
    )
    if not os.environ.get(LIBERO_PYTHON):
        note = f"{LIBERO_PYTHON} is not set to an interpreter with LIBERO"
        return [Figure(names[0], None, "pixels", 0, note=note), Figure(names[1], None, "", 1e-9, note=note)]
    pixels, worst = 0, 0.0
    for suite, task in (("libero_object", 0), ("libero_goal", 3), ("libero_10", 2)):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("ours.npz", "theirs.npz", "fixtures.npz")]
            _ours("libero", suite, task, 50, 50, files[0], files[2])
            _theirs(suite, task, 50, 50, files[1], files[2])
            ours, theirs = (dict(np.load(file)) for file in files[:2])
        pixels += sum(int((ours[key] != theirs[key]).sum()) for key in SEEN_BOTH)
        worst = max(worst, *(_difference(ours, theirs, key) for key in theirs if key not in SEEN_BOTH))
    return [Figure(names[0], pixels, "pixels", 0), Figure(names[1], worst, "", 1e-9)]


def _difference(ours: dict[str, Any], theirs: dict[str, Any], key: str) -> float:
    if key.endswith(SINGLE) or key == "object-state":
        return 0.0
    return float(np.abs(ours[key] - theirs[key]).max())


def _as_assay_run() -> Figure:
    """Count the episodes, out of 40 of `pro`, in which a script and `assay run` differ."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{name}.assay") for name in ("script", "run")]
        asked = ["--tasks", TASKS]
        asked += ["--seeds", "2", "--steps", "40", "--uncertified", "--conditions", CONDITIONS]
        command = [sys.executable, "-m", "assay"]
        script = ["--", "python", str(HERE / "libero_policy.py"), "libero_goal"]
        calls = (
            [*command, "libero", "--experiment", "pro", *asked, "--out", str(files[0]), *script],
            [*command, "run", "pro", "--policy", "python:bench.libero_policy:Waving", *asked, "--yes"]
            + ["--out", str(files[1])],
        )
        for call in calls:
            done = subprocess.run(call, capture_output=True, text=True, env=_environment(), check=False)
            if "Traceback" in done.stderr:
                raise RuntimeError(done.stderr[-2000:])
        one, other = (_episodes(file) for file in files)
    differing = sum(one.get(key) != other[key] for key in other)
    return Figure(
        "episodes of pro that differ between a script and assay run",
        differing,
        "",
        0,
        note=f"of {len(other)}",
    )


def _episodes(file: Path) -> dict[str, tuple[object, ...]]:
    """Return the result of each episode by key: outcome, steps, trajectory and actions, exactly."""
    with Store.reading(file) as store:
        rows = store.frame().select("id", "key", "outcome", "steps", "instruction").rows()
        paths = dict(store.trajectories())
    return {
        key: (outcome, steps, said, *(getattr(paths[number], name).tobytes() for name in FIELDS))
        for number, key, outcome, steps, said in rows
    }


FIELDS = ("end_effector", "gripper", "actions")
