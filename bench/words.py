"""Words: how fast instructions are compared, and in how much memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from itertools import islice, product
from pathlib import Path

import polars as pl

from assay import tasks
from assay.perturb.words.distance import ModelError, distances
from assay.perturb.words.distance.pride import scorer
from bench.figure import Figure

PAIRS = 4092
"""As many as LIBERO-Para has."""
NEW = 1000
ADVERBS = (
    "carefully gently slowly quickly quietly calmly smoothly steadily neatly firmly softly briskly "
    "promptly patiently precisely properly safely securely simply surely swiftly tidily warily wisely "
    "boldly cautiously cleanly deftly directly easily evenly exactly fully gracefully lightly nimbly "
    "rapidly readily skilfully soundly thoroughly"
)
FRAMES = """
{how} {do}
please {how} {do}
could you {how} {do}?
i need you to {how} {do}
go ahead and {how} {do}
can you {how} {do} for me?
it is time to {how} {do}
get ready, then {how} {do}
you should {how} {do} now
would you mind if i asked you to {how} {do}?
"""


def measure() -> list[Figure]:
    return _distance_figures()


def _distance_figures() -> list[Figure]:
    cold, memory = f"distances of {PAIRS} pairs, cold start included", "memory of that"
    seen, new = "distances of sentences seen before", "distances of new sentences"
    pairs = _pairs()
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
    # The better of two: what else the machine does comes and goes.
    seconds, megabytes = min(_cold(pairs) for _ in range(2))
    distances(pairs)
    unseen = [(original, f"now {paraphrase}") for original, paraphrase in pairs[:NEW]]
    return [
        Figure(cold, seconds, "s", 10.0, note="assay words score"),
        Figure(memory, megabytes, "MB", 700.0),
        Figure(seen, _rate(pairs), "pairs/s", 3000.0, at_most=False),
        Figure(new, _rate(unseen), "pairs/s", 400.0, at_most=False),
    ]


def _pairs() -> list[tuple[str, str]]:
    """Different paraphrases of libero_goal's instructions, of the length that LIBERO-Para's have."""
    originals = [task.instruction.text for task in tasks.resolve("libero_goal")]
    frames = FRAMES.strip().splitlines()
    worded = (
        (do, frame.format(how=how, do=do)) for frame, how, do in product(frames, ADVERBS.split(), originals)
    )
    return list(islice(worded, PAIRS))


def _rate(pairs: list[tuple[str, str]]) -> float:
    start = time.perf_counter()
    distances(pairs)
    return len(pairs) / (time.perf_counter() - start)


def _cold(pairs: list[tuple[str, str]]) -> tuple[float, float]:
    """Seconds and megabytes that the command takes in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-words-") as scratch:
        table = Path(scratch) / "in.csv"
        names = ["original_instruction", "new_instruction"]
        pl.DataFrame(pairs, schema=names, orient="row").write_csv(table)
        command = ["words", "score", str(table), "--out", f"{scratch}/out.csv"]
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "assay.cli.app", *command], stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or len(pl.read_csv(f"{scratch}/out.csv")) != len(pairs):
            raise RuntimeError(f"assay words score ended with {process.returncode}")
    return seconds, used.ru_maxrss / 1024
