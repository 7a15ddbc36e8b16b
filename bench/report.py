"""Reports: time, memory and size of the complete page for large runs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figure import Figure
from bench.measures import LARGE, SEEDS, WORDINGS, _plan, _write

_REPORT = """
import resource, sys, time
from pathlib import Path
from assay.report.page import build
from assay.report.run_report import RunReport

start = time.perf_counter()
report = RunReport.read(Path(sys.argv[1]))
page = build([report]).write(Path(sys.argv[2]))
seconds = time.perf_counter() - start
names = {file.stem for file in (page.parent / "figures").iterdir()}
assert {"drops", "paraphrase-grid", "alpha-sweep"} <= names
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(report.profile.done, seconds, page.stat().st_size / 1e6, memory)
"""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        para, large = Path(folder) / "para.assay", Path(folder) / "large.assay"
        _write(para, _plan(WORDINGS, SEEDS), trajectories=True)
        _write(large, _plan(WORDINGS, range(-(-LARGE // (WORDINGS + 10)))), trajectories=False)
        done, seconds, size, _ = _told(para, Path(folder) / "para")
        assert done >= WORDINGS * len(SEEDS)
        many, slow, _, memory = _told(large, Path(folder) / "large")
        assert many >= LARGE
    return [
        Figure(f"report of {done:.0f} episodes with trajectories: time", seconds, "s", 60.0),
        Figure(f"report of {done:.0f} episodes with trajectories: size of the page", size, "MB", 5.0),
        Figure(f"report of {many:.0f} episodes without trajectories: time", slow, "s", 60.0),
        Figure(f"report of {many:.0f} episodes without trajectories: memory", memory, "MB", 2000.0),
    ]


def _told(run: Path, out: Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", _REPORT, str(run), str(out)], capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


if __name__ == "__main__":
    print(json.dumps([figure.as_json() for figure in measure()], indent=1))
