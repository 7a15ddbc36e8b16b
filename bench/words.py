"""Words: speed and memory of rewording and comparing instructions."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import polars as pl

from assay import tasks
from assay.perturb.words.distance import ModelError, distances
from assay.perturb.words.distance.pride import scorer
from assay.perturb.words.grid.generate import Paraphrase, grid
from bench.figure import Figure

PAIRS = 4092
"""Number of paraphrases in LIBERO-Para."""
NEW = 1000


class Used(NamedTuple):
    """Resources used by a command; the fastest of several executions."""

    seconds: float
    cpu: float
    """Processor seconds of all cores."""
    megabytes: float


def measure() -> list[Figure]:
    return [*_generation_figures(), *_distance_figures()]


def _generation_figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="assay-words-") as scratch:
        command = ("words", "generate", "--tasks", "libero_goal", "--per-cell", "100")
        used = _used(*command, "--out", f"{scratch}/grid.csv")
        count = len(pl.read_csv(f"{scratch}/grid.csv"))
    return [Figure(f"generating {count} paraphrases", used.seconds, "s", 20.0, note=_cpu(used))]


def _distance_figures() -> list[Figure]:
    cold, memory = f"distances of {PAIRS} pairs, including startup", "memory of that"
    seen, new = "distances of cached sentences", "distances of new sentences"
    try:
        scorer()
    except ModelError as error:
        note = str(error)
        return [
            Figure(cold, None, "s", 10.0, note=note),
            Figure(memory, None, "MB", 700.0, note=note),
            Figure(seen, None, "pairs/s", 3000.0, at_most=False, note=note),
            Figure(new, None, "pairs/s", 400.0, at_most=False, note=note),
        ]
    pairs = _pairs(grid(tasks.suite("libero_goal"), 100, 0))[:PAIRS]
    used = min(_cold(pairs) for _ in range(2))
    distances(pairs)
    # Of other scenes: whole sentences, and most of their words, are new.
    others = (task for name in ("libero_10", "libero_spatial", "libero_object") for task in tasks.suite(name))
    unseen = _pairs(grid(tuple(others), NEW // 43 + 1, 0))[:NEW]
    return [
        Figure(cold, used.seconds, "s", 10.0, note=_cpu(used)),
        Figure(memory, used.megabytes, "MB", 700.0),
        _rate(seen, pairs, 3000.0),
        _rate(new, unseen, 400.0),
    ]


def _pairs(paraphrases: tuple[Paraphrase, ...]) -> list[tuple[str, str]]:
    return [(each.task.instruction.text, each.text) for each in paraphrases]


def _rate(what: str, pairs: list[tuple[str, str]], bound: float) -> Figure:
    start, cpu = time.perf_counter(), time.process_time()
    distances(pairs)
    rate, of_cpu = (len(pairs) / (time.perf_counter() - start), len(pairs) / (time.process_time() - cpu))
    return Figure(what, rate, "pairs/s", bound, at_most=False, note=f"{of_cpu:.0f} per second of CPU time")


def _cold(pairs: list[tuple[str, str]]) -> Used:
    """Measure the scoring of a file."""
    with tempfile.TemporaryDirectory(prefix="assay-words-") as scratch:
        table = Path(scratch) / "in.csv"
        names = ["original_instruction", "new_instruction"]
        pl.DataFrame(pairs, schema=names, orient="row").write_csv(table)
        used = _used("words", "score", str(table), "--out", f"{scratch}/out.csv")
        if pl.read_csv(f"{scratch}/out.csv")["pd"].count() != len(pairs):
            raise RuntimeError("assay words score did not score all pairs")
    return used


def _used(*command: str) -> Used:
    """Measure a command in a separate process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"assay {' '.join(command[:2])} ended with {process.returncode}")
    return Used(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _cpu(used: Used) -> str:
    return f"{used.cpu:.1f} s of CPU time"
