"""Reports: time, memory and size of the complete page for large runs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from assay.report.page import build
from assay.report.run_report import RunReport
from bench.figure import Figure, call_in_new_process, peak_memory
from bench.measures import LARGE, SEEDS, WORDINGS, _plan, _write


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        para, large = Path(folder) / "para.assay", Path(folder) / "large.assay"
        _write(para, _plan(WORDINGS, SEEDS), trajectories=True)
        _write(large, _plan(WORDINGS, range(-(-LARGE // (WORDINGS + 10)))), trajectories=False)
        done, seconds, size, _ = call_in_new_process(_report, para, Path(folder) / "para")
        assert done >= WORDINGS * len(SEEDS)
        many, slow, _, memory = call_in_new_process(_report, large, Path(folder) / "large")
        assert many >= LARGE
    return [
        Figure(f"report of {done:.0f} episodes with trajectories: time", seconds, "s", 60.0),
        Figure(f"report of {done:.0f} episodes with trajectories: size of the page", size, "MB", 5.0),
        Figure(f"report of {many:.0f} episodes without trajectories: time", slow, "s", 60.0),
        Figure(f"report of {many:.0f} episodes without trajectories: memory", memory, "MB", 2000.0),
    ]


def _report(run: str, out: str) -> tuple[float, ...]:
    """Write a run's page; return episodes, seconds, and the page's size and the memory in MB."""
    start = time.perf_counter()
    report = RunReport.read(Path(run))
    page = build([report]).write(Path(out))
    seconds = time.perf_counter() - start
    names = {file.stem for file in (page.parent / "figures").iterdir()}
    assert {"drops", "paraphrase-grid", "alpha-sweep"} <= names
    return report.profile.done, seconds, page.stat().st_size / 1e6, peak_memory()
