"""Files that vla-eval and lerobot-eval themselves write are read as those tools read them.

Both are large: name an interpreter that has them (``pip install vla-eval 'lerobot[dataset]'``) in ASSAY_TOOLS_PYTHON.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import polars as pl

from assay.extensions.interop.importing.results import ResultFile, import_results
from assay.runs.store import Store
from bench.figure import Figure

TOOLS_PYTHON = "ASSAY_TOOLS_PYTHON"
VLA_EVAL = "vla-eval: episodes of its recording that are not read as it reads them"
LEROBOT = "lerobot-eval: episodes of its eval_info.json that are not read as it reads them"


def measure() -> list[Figure]:
    python = os.environ.get(TOOLS_PYTHON)
    if python is None:
        note = f"{TOOLS_PYTHON} names no interpreter with vla-eval and lerobot"
        return [Figure(name, None, "episodes", 0, note=note) for name in (VLA_EVAL, LEROBOT)]
    with tempfile.TemporaryDirectory() as folder:
        return [_vla_eval(python, Path(folder) / "vla"), _lerobot(python, Path(folder) / "lerobot")]


def _vla_eval(python: str, folder: Path) -> Figure:
    _made(python, "vla_eval_record.py", folder)
    told = json.loads((folder / "told.json").read_text())
    frame, paths = _imported(folder)
    conditions = {"usual": "control", "swap": "libero-pro/position"}
    ids = {"open the middle drawer of the cabinet": "libero_goal/0", "turn on the stove": "libero_goal/7"}
    wrong = count = 0
    for name, tasks in told.items():
        for task in tasks:
            for episode in task["episodes"]:
                row = frame.row(
                    by_predicate=(pl.col("condition") == conditions[name])
                    & (pl.col("task") == ids[task["task"]])
                    & (pl.col("seed") == episode["episode_id"]),
                    named=True,
                )
                broke = bool(episode.get("failure_reason"))
                outcome = "error" if broke else "success" if episode["metrics"]["success"] else "failure"
                same = row["outcome"] == outcome and row["steps"] == episode["steps"]
                wrong += not (same and paths[row["id"]] == row["steps"])
                count += 1
    return Figure(VLA_EVAL, wrong, "episodes", 0, note=f"{count} episodes, with paths")


def _lerobot(python: str, folder: Path) -> Figure:
    _made(python, "lerobot_eval_record.py", folder)
    content = json.loads((folder / "eval" / "eval_info.json").read_text())
    frame, _ = _imported(folder / "eval")
    wrong = 0
    for row in content["per_task"]:
        mine = frame.filter(pl.col("task") == f"{row['task_group']}/{row['task_id']}").sort("seed")
        theirs = ["success" if each else "failure" for each in row["metrics"]["successes"]]
        wrong += sum(one != other for one, other in zip(mine["outcome"], theirs, strict=True))
    rate = 100 * (frame["outcome"] == "success").mean()  # type: ignore[operator]
    assert abs(rate - content["overall"]["pc_success"]) < 1e-9
    return Figure(LEROBOT, wrong, "episodes", 0, note=f"{len(frame)} episodes, {rate:.0f} % as it says")


def _made(python: str, script: str, folder: Path) -> None:
    folder.mkdir()
    place = Path(__file__).with_name(script)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(
        [python, "-P", str(place), str(folder)],
        check=True,
        env=environment | {"HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _imported(source: Path) -> tuple[pl.DataFrame, dict[int, int]]:
    """The episodes, and how many steps the path of each has."""
    (done,) = import_results([ResultFile(source)], source / "run.assay", policy="it")
    with Store.reading(done.out) as store:
        return store.frame(), {number: len(path.end_effector) for number, path in store.trajectories()}
