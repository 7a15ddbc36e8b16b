"""The web app: response times of pages and videos, memory for a hundred videos, and the cost of videos for a run."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import psutil

from assay.episodes import EpisodeSpec
from assay.errors import RenderingError
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.store import Store
from assay.sim import gl
from assay.support.files import CACHE_VARIABLE
from bench.figure import Figure
from bench.measures import WORDINGS, _plan, _write

LARGE = 20_000
"""Number of episodes of the run whose pages are timed."""
PARALLEL = 100
"""Number of videos requested at once."""
OPENING = 2.0
"""Seconds that a user needs to open the printed address."""
OPENED = 5
"""Number of videos opened one after the other."""
TASK = "libero_goal/8"


@dataclass(frozen=True, slots=True)
class _Ui:
    """`assay ui` in a separate process."""

    address: str
    pid: int

    def get(self, path: str) -> tuple[bytes, float]:
        """Return the response of an address and its latency, milliseconds."""
        connection = HTTPConnection(self.address, timeout=600)
        begun = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        took = 1000 * (time.perf_counter() - begun)
        connection.close()
        assert answer.status == 200, (path, answer.status, content[:300])
        return content, took

    def timed(self, path: str) -> tuple[float, float]:
        """Return latency and processor time of a request, milliseconds each."""
        before = _processor(self.pid)
        _, took = self.get(path)
        return took, 1000 * (_processor(self.pid) - before)

    def megabytes(self) -> float:
        """Memory of the app and its processes, with shared memory counted once, MB."""
        return sum(_kilobytes(pid) for pid in _family(self.pid)) / 1024


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(
            folder / "large.assay", _plan(WORDINGS, range(-(-LARGE // (WORDINGS + 10)))), trajectories=True
        )
        with _served(folder) as ui:
            figures = _pages(ui, folder / "large.assay")
        return figures + (_videos(folder) if _draws() else [])


def _pages(ui: _Ui, run: Path) -> list[Figure]:
    with Store.reading(run) as store:
        done = store.done
        keys = [spec.key for spec in store.specs(list(range(1, done, done // 10)))]
    page = "/runs/large.assay"
    time.sleep(OPENING)
    first = ui.timed(page)
    again = statistics.median(ui.timed(page)[0] for _ in range(5))
    episodes = [ui.timed(f"{page}/episodes/{key}?outcome=failure&sort=-steps") for key in keys]
    gallery = ui.timed(f"{page}/gallery?outcome=failure")
    whole = f"page of a run of {done:,} episodes"
    slowest = tuple(max(each) for each in zip(*episodes, strict=True))
    found = []
    for what, (clock, processor), most in (
        (f"{whole}, first request, {OPENING:.0f} s after the start", first, 500.0),
        (f"page of an episode among {done:,}, filtered and sorted: the slowest of 10", slowest, 300.0),
        (f"page of the gallery of {done:,} episodes", gallery, 500.0),
    ):
        found += [
            Figure(what, clock, "ms", most),
            Figure(
                f"{what}: processor time",
                processor,
                "ms",
                most,
                note="which does not depend on other programs",
            ),
        ]
    return [*found, Figure(f"{whole}, again", again, "ms", 500.0)]


def _videos(folder: Path) -> list[Figure]:
    plain, filmed = EpisodeRunner(WorkerConfig("random")), _filming(folder / "videos")
    specs = [EpisodeSpec(TASK, seed) for seed in range(PARALLEL)]
    spent = {plain: 0.0, filmed: 0.0}
    with Store.writing(folder / "videos.assay") as store:
        store.plan(specs)
        for waiting, spec in zip(store.todo(), specs, strict=True):
            for runner in (plain, filmed) if spec.seed < OPENED else (plain,):
                begun = time.process_time()
                episode = runner.run(spec)
                spent[runner] += (time.process_time() - begun) if 0 < spec.seed < OPENED else 0.0
            store.append(waiting.number, episode)
    with _served(folder) as ui:
        ui.get("/runs/videos.assay/episodes")
        time.sleep(5)  # the time that a person needs to choose one
        opened = [_shown(ui, spec.key) for spec in specs[:OPENED]]
        peak, ended = _Peak(ui), 0
        with peak, ThreadPoolExecutor(PARALLEL) as pool:
            for is_rendered in pool.map(lambda spec: _wait(ui, spec.key), specs):
                ended += is_rendered
    return [
        Figure(
            "time until a video of 300 steps can be played, median of 5", statistics.median(opened), "s", 2.0
        ),
        Figure(f"{PARALLEL} concurrent videos: memory of the web app", peak.megabytes, "MB", 1500.0),
        Figure(f"{PARALLEL} concurrent videos: failed", PARALLEL - ended, "", 0.0),
        Figure(
            "processor time of episodes with --video all / without, random actions",
            spent[filmed] / spent[plain],
            "x",
            2.0,
        ),
    ]


def _filming(folder: Path) -> EpisodeRunner:
    return EpisodeRunner(WorkerConfig("random", videos=folder, video_successes=True))


def _state(ui: _Ui, key: str) -> str:
    return str(json.loads(ui.get(f"/runs/videos.assay/episodes/{key}/video")[0])["state"])


def _shown(ui: _Ui, key: str) -> float:
    """Return the seconds from opening an episode page until its video can be played."""
    begun = time.perf_counter()
    ui.get(f"/runs/videos.assay/episodes/{key}")
    while (state := _state(ui, key)) != "ready":
        assert state != "failed", key
        time.sleep(0.05)
    return time.perf_counter() - begun


def _wait(ui: _Ui, key: str) -> bool:
    """Return whether a video was rendered, as soon as that is known."""
    while (state := _state(ui, key)) not in ("ready", "failed"):
        time.sleep(1.0)
    return state == "ready"


class _Peak:
    """Track the peak memory of the app within a context."""

    def __init__(self, ui: _Ui) -> None:
        self.megabytes = 0.0
        self._ui, self._over = ui, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.2):
            self.megabytes = max(self.megabytes, self._ui.megabytes())

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


@contextmanager
def _served(folder: Path) -> Iterator[_Ui]:
    command = [Path(sys.executable).with_name("assay"), "ui", folder, "--port", "0"]
    environment = os.environ | {CACHE_VARIABLE: str(folder / "cache")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        found = re.search(r"http://([\w.:]+)", process.stdout.readline())
        assert found is not None
        yield _Ui(found.group(1), process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _family(pid: int) -> list[int]:
    """Return a process and all of its descendants."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def _processor(pid: int) -> float:
    """Return the processor seconds of a process without its children."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


def _kilobytes(pid: int) -> int:
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # ended meanwhile
        return 0
    return int(re.search(r"^Pss:\s+(\d+)", told, re.MULTILINE).group(1))  # type: ignore[union-attr]


def _draws() -> bool:
    try:
        gl.backend()
    except RenderingError:
        return False
    return True


if __name__ == "__main__":
    for figure in measure():
        print(f"{figure.what}: {figure.measured} ({figure.target}, {figure.verdict})")
