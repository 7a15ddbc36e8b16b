"""Importing: time and memory for LIBERO-Para's logs with trajectories, as many as the paper reports for one model."""

from __future__ import annotations

import csv
import json
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from assay import tasks
from assay.extensions.interop.importing.libero_para import import_libero_para
from assay.perturb.words.grid.cells import CELLS
from assay.tasks.formats.libero_para import COLUMNS, SUITE, official
from bench.figure import Figure, call_in_new_process, peak_memory

WORDINGS, SEEDS = 4_092, range(7, 12)
STEPS = (200, 300)
"""Minimum and maximum number of steps of an episode."""
KINDS = 100
"""Number of distinct trajectories that the logs repeat."""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        logs, metadata = Path(folder) / "logs", Path(folder) / "metadata.csv"
        _write(logs, metadata)
        episodes, seconds, busy, memory = call_in_new_process(
            _import, logs, metadata, Path(folder) / "run.assay"
        )
    assert episodes == WORDINGS * len(SEEDS)
    what = f"importing {episodes:.0f} logged episodes with trajectories"
    return [
        Figure(f"{what}: time on one processor", busy, "s", 60.0, note=f"{seconds:.0f} s wall-clock time"),
        Figure(f"{what}: memory", memory, "MB", 2000.0),
    ]


def _import(logs: str, metadata: str, out: str) -> tuple[float, ...]:
    """Import logs; return episodes, seconds, processor seconds, and memory in MB."""
    start = time.perf_counter()
    (done,) = import_libero_para([Path(logs)], Path(metadata), Path(out))
    assert done.paths == done.episodes
    return done.episodes, time.perf_counter() - start, time.process_time(), peak_memory()


def _write(logs: Path, metadata: Path) -> None:
    """Write logs in the format of the official scripts. They do not contain the seed, so all seeds share one folder."""
    rng = np.random.default_rng(7)
    originals = sorted(task.instruction.text for task in tasks.suite(SUITE))
    places = list(product(range(len(originals)), CELLS))
    rows = []
    for number in range(WORDINGS):
        task, cell = places[number % len(places)]
        text = f"{originals[task]}, wording {number}"
        rows.append(
            [*official(cell.object_type, cell.action_type), task, number, text, originals[task], 0.8, 0.9]
        )
    with metadata.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    first = logs / f"seed{SEEDS[0]}"
    first.mkdir(parents=True)
    trajectories = [_trajectory(rng) for _ in range(KINDS)]
    for task in range(len(originals)):
        mine = [_episode(row, trajectories[rng.integers(KINDS)], rng) for row in rows if row[3] == task]
        (first / f"eval{task}.json").write_text(f'{{"eval_id": {task}, "episodes": [{",".join(mine)}]}}')
    for seed in SEEDS[1:]:
        (logs / f"seed{seed}").symlink_to(first)


def _episode(row: list[object], trajectory: tuple[int, str], rng: np.random.Generator) -> str:
    high, mid, low, task, number, text = row[:6]
    steps, logged = trajectory
    head = {
        "bddl_file": f"{high}_{mid}_{low}_eval{task}_ver{number}.bddl",
        "paraphrase_type": high,
        "categories": str(mid).split("+"),
        "subcategories": str(low).split("+"),
        "variant_id": number,
        "paraphrased_instruction": text,
        "success": bool(rng.random() < 0.7),
        "num_steps": steps,
    }
    return json.dumps(head)[:-1] + "," + logged[1:]


def _trajectory(rng: np.random.Generator) -> tuple[int, str]:
    steps = int(rng.integers(STEPS[0], STEPS[1] + 1))
    states = np.cumsum(rng.normal(scale=0.01, size=(steps, 8)), axis=0)
    actions = rng.uniform(-1, 1, size=(steps, 7))
    logged = {
        "actions": actions.tolist(),
        "proprio_states": states.tolist(),
        "action_chunk_boundaries": list(range(0, steps, 10)),
        "rewards": [0.0] * steps,
    }
    return steps, json.dumps(logged, indent=2)
