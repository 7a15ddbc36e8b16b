"""Random kills during long commands: afterwards, the same command must end as if it had not been killed.

Each command is started; its child processes (workers, fork server, Ray) and then the command itself are killed at
random moments; the same command is started again, until it has been killed often enough; then it may finish. Counted
are kills, processes that outlive their driver by more than five seconds, results that differ, and leftover temporary
files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil

from assay.runs.store import Store
from assay.support.streams import stream

WITHIN = 5.0
"""Seconds within which every process must be gone after its driver was killed."""
PATIENCE = 600.0
"""Maximum seconds for one command."""
MARK = "ASSAY_KILLS"
"""Environment variable that identifies the processes of a trial."""
AWAY, MOST_AWAY = "error: --ray local: ", 3
"""Start of the message that Ray did not start within 30 s, and the maximum number of restarts of a command."""
DYING = ("workers keep dying", "keeps dying")
"""Message of a command that gives up after several kills in a row; its results are kept."""
RAYS_END = ("core_worker", "raylet")
"""Text in the last lines of a command whose Ray was killed: Ray terminates connected processes."""
WHOLE = "is not empty; name another folder"
"""Message of `eqa build` for a complete folder."""
TIMES, WORKERS = 5, 2
"""Maximum kills of the driver per trial, and kills of child processes before each of them."""


@dataclass(slots=True)
class Tally:
    """Results of the trials of one command."""

    kills: int = 0
    of_workers: int = 0
    """Number of kills that hit a child process."""
    trials: int = 0
    equal: int = 0
    orphans: int = 0
    left: int = 0
    """Number of leftover temporary files."""
    slowest: float = 0.0
    """Maximum seconds between the end of the driver and the end of its last child process."""
    away: int = 0
    """Number of additional restarts because Ray did not start in time or was killed."""
    told: list[str] = field(default_factory=list)
    """Descriptions of problems."""

    def add(self, other: Tally) -> None:
        """Add the counts of another trial."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, max(mine, theirs) if each.name == "slowest" else mine + theirs)


def run_facts(out: Path, cache: Path) -> object:
    """Return everything recorded about a run's episodes except durations."""
    with Store.reading(out) as store:
        frame = store.frame().drop("seconds", "id", "attempts").sort("key")
        paths = dict(store.trajectories())
        told = hashlib.sha256(b"".join(paths[each].actions.tobytes() for each in sorted(paths))).hexdigest()
        return frame.rows(), told, store.damaged()


def duel_facts(out: Path, cache: Path) -> object:
    """Return the results of both runs of a duel."""
    return [run_facts(each, cache) for each in sorted(out.glob("*.assay"))]


def folder_facts(out: Path, cache: Path) -> object:
    """Return all files of a folder by name."""
    return {
        str(each.relative_to(out)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(out.rglob("*"))
        if each.is_file()
    }


def cache_facts(out: Path, cache: Path) -> object:
    """Return all certificates."""
    found = []
    for file in sorted(cache.rglob("*.sqlite*")):
        if file.name.endswith(("-wal", "-shm", ".lock")):
            continue
        with closing(sqlite3.connect(file)) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                kept = [name for name in columns if name not in ("seconds", "made", "at", "value")]
                found += [(table, *row) for row in db.execute(f"SELECT {', '.join(kept)} FROM {table}")]
    return sorted(map(repr, found))


def _again(said: str) -> bool:
    """Return whether a command ended with a message that it gives up for now, so that a user would restart it."""
    return any(each in said for each in (AWAY, *DYING, *RAYS_END))


@dataclass(frozen=True, slots=True)
class Command:
    """A long command, and the part of its result that must be reproduced."""

    words: tuple[str, ...]
    facts: Callable[[Path, Path], object]
    out: str
    """Name of its output in its own folder; empty if it writes only to the cache."""
    status: int = 0
    """Expected exit status."""


SMALL = ("--tasks", "libero_goal/7", "--workers", "2")
RUN = ("--policy", "random", "--steps", "15", "--seeds", "3", *SMALL)
COMMANDS = {
    "run": Command(("run", "corruption", *RUN, "--conditions", "empty"), run_facts, "a.assay"),
    "run-ray": Command(
        ("run", "corruption", *RUN, "--conditions", "empty", "--ray", "local"), run_facts, "a.assay"
    ),
    "run-certified": Command(
        (
            "run",
            "pro",
            "--policy",
            "idle",
            "--steps",
            "120",
            "--seeds",
            "1",
            *SMALL,
            "--conditions",
            "position",
        ),
        run_facts,
        "a.assay",
    ),
    "certify": Command(
        ("certify", "pro", *SMALL, "--seeds", "1", "--conditions", "position"), cache_facts, ""
    ),
    "duel": Command(
        ("duel", "random", "idle", "--experiment", "corruption", *RUN[2:-4], "--conditions", "empty")
        + ("--tasks", "libero_goal/7", "--workers", "1"),
        duel_facts,
        "duel",
        status=3,  # undecided: neither succeeds in so few steps
    ),
    "search": Command(
        (
            "search",
            "--policy",
            "random",
            "--axes",
            "delay",
            "--budget",
            "24",
            "--steps",
            "15",
            "--uncertified",
            *SMALL,
        ),
        run_facts,
        "a.assay",
    ),
    "scenes-generate": Command(
        ("scenes", "generate", "--count", "1", "--per-scene", "1", "--tries", "1", "--workers", "2"),
        folder_facts,
        "scenes",
    ),
    "collect": Command(
        ("collect", "--tasks", "libero_goal/7", "--episodes", "1", "--size", "64"), folder_facts, "collected"
    ),
    "eqa-build": Command(
        ("eqa", "build", "--source", "demo", "--per-kind", "1", "--episodes", "1", "--size", "64"),
        folder_facts,
        "questions",
    ),
}


def main() -> None:
    """Run the trials and print a summary."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)}; all by default")
    parser.add_argument("--kills", type=int, default=200, help="minimum number of kills, over all commands")
    parser.add_argument("--seconds", type=float, default=3600.0, help="maximum duration, over all commands")
    parser.add_argument("--at-once", type=int, default=1, help="number of concurrent trials")
    parser.add_argument("--out", type=Path, default=Path("out/kills.json"))
    given = parser.parse_args()
    names = given.commands or list(COMMANDS)
    tallies = killed(names, given.kills, given.seconds, given.at_once, given.out)
    for name, tally in tallies.items():
        print(name, json.dumps(asdict(tally)))
    sums = _sums(tallies)
    print(json.dumps(sums))
    sys.exit(sums["trials"] != sums["equal"] or bool(sums["orphans"] + sums["left"]))


def killed(
    names: list[str], kills: int, seconds: float = 3600.0, at_once: int = 1, out: Path | None = None
) -> dict[str, Tally]:
    """Kill commands in turn until enough kills were made or the time is over; ``out`` receives interim results."""
    tallies, deadline = {name: Tally() for name in names}, time.monotonic() + seconds
    with TemporaryDirectory(prefix="k-") as folder:
        alone = [name for name in names if name != "run-ray" or "run" not in names]
        with ThreadPoolExecutor(at_once) as pool:  # as many at once as later: so long they take then, too
            found = pool.map(lambda name: _undisturbed(name, Path(folder)), alone)
            usual = dict(zip(alone, found, strict=True))
        if "run" in usual:  # Ray gives the same, and starts slowly
            usual["run-ray"] = usual["run"][0], 2 * usual["run"][1]

        def one(turn: int) -> None:
            if _sums(tallies)["kills"] >= kills or time.monotonic() > deadline:
                return
            name, place, tally = names[turn % len(names)], Path(folder) / str(turn), Tally()
            times = min(TIMES, -(-kills // len(names)))
            took = trial(name, usual[name], place, turn, tally, deadline, times)
            usual[name] = usual[name][0], took  # the machine is busier at some times than at others
            shutil.rmtree(place, ignore_errors=True)
            tallies[name].add(tally)
            if out is not None:
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps({each: asdict(tally) for each, tally in tallies.items()}, indent=1))

        with ThreadPoolExecutor(at_once) as pool:
            for _ in pool.map(one, range(10 * kills)):
                pass
    return tallies


def _sums(tallies: dict[str, Tally]) -> dict[str, int]:
    return {
        key: sum(getattr(each, key) for each in tallies.values())
        for key in ("kills", "trials", "equal", "away", "orphans", "left")
    }


def _undisturbed(name: str, folder: Path) -> tuple[object, float]:
    """Return the undisturbed result of a command and its duration in seconds."""
    place = folder / f"u{list(COMMANDS).index(name)}"
    begun = time.monotonic()
    process = _start(name, place)
    if process.wait(PATIENCE) != COMMANDS[name].status:
        raise SystemExit(f"{name}: {(place / 'said').read_text()[-1000:]}")
    return _facts(name, place), time.monotonic() - begun


def trial(
    name: str,
    usual: tuple[object, float],
    place: Path,
    turn: int,
    tally: Tally,
    deadline: float = float("inf"),
    times: int = TIMES,
) -> float:
    """Kill a command several times, let it finish, and compare; return its current duration in seconds."""
    rng, (expected, seconds) = stream("kills", name, turn), usual
    tally.trials += 1
    ended = False
    for _ in range(times):
        if time.monotonic() > deadline:
            break
        process, begun = _start(name, place), time.monotonic()
        *moments, last = (float(each) * seconds for each in sorted(rng.uniform(0.1, 0.9, 1 + WORKERS)))
        for moment in moments:
            if _runs_until(process, begun + moment):
                _kill_another(place, process, rng, tally)
        if not _runs_until(process, begun + last):  # it was quicker
            ended = True
            break
        _kill(name, place, process, rng, tally)
    if not ended:
        process, begun = _start(name, place), time.monotonic()
    status = process.wait(PATIENCE)
    seconds = time.monotonic() - begun
    while status and tally.away < MOST_AWAY and _again((place / "said").read_text()[-2000:]):
        tally.away += 1  # it says so, and a person would give the command again
        (place / "said").unlink()
        process = _start(name, place)
        status = process.wait(PATIENCE)
    _gone(name, place, tally)
    whole = bool(status) and WHOLE in (place / "said").read_text()[-2000:]  # killed when all was written
    right = status == COMMANDS[name].status or whole
    found = _facts(name, place) if right else f"exit status {status}: {(place / 'said').read_text()[-800:]}"
    if found == expected:
        tally.equal += 1
    else:
        tally.told.append(
            f"turn {turn}: {_first_difference(expected, found) if right else str(found)[:1200]}"
        )
    left = [each for each in (place / "t").iterdir() if not each.name.startswith("ray")]
    left += [
        each
        for part in ("work", "cache")
        for each in (place / part).rglob("*")
        if each.name.endswith((".part", "-wal", "-shm")) or ".fetching" in each.name
    ]
    tally.left += len(left)
    tally.told += [f"turn {turn}: leftover file: {each}" for each in left]
    return seconds


def _runs_until(process: subprocess.Popen[bytes], moment: float) -> bool:
    """Wait until a point in time; return whether the process is still running."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(moment - time.monotonic(), 0.0))
    return process.poll() is None


def _kill_another(
    place: Path, process: subprocess.Popen[bytes], rng: np.random.Generator, tally: Tally
) -> None:
    """Kill a random child process of the driver, if there is one."""
    others = [each for each in _belonging(place) if each.pid != process.pid]
    if others:
        with suppress(psutil.Error):
            others[int(rng.integers(len(others)))].kill()
            tally.kills += 1
            tally.of_workers += 1


def _kill(
    name: str, place: Path, process: subprocess.Popen[bytes], rng: np.random.Generator, tally: Tally
) -> None:
    """Kill the driver."""
    tally.kills += 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    if rng.random() < 0.7:  # else it is begun again at once
        _gone(name, place, tally)


def _gone(name: str, place: Path, tally: Tally) -> None:
    """Wait until no process is left; those that remain after the timeout are orphans."""
    begun = time.monotonic()
    while (living := _belonging(place)) and time.monotonic() - begun < WITHIN:
        time.sleep(0.05)
    tally.slowest = max(tally.slowest, time.monotonic() - begun)
    for each in living:
        try:
            tally.told.append(f"{name}: outlives its driver: {' '.join(each.cmdline())[:160]}")
            each.kill()
        except psutil.Error:
            continue
        tally.orphans += 1


def _belonging(place: Path) -> list[psutil.Process]:
    """Return the live processes of a trial, identified by an inherited environment variable."""
    found = []
    for each in psutil.process_iter():
        try:
            if each.status() != psutil.STATUS_ZOMBIE and each.environ().get(MARK) == str(place):
                found.append(each)
        except (psutil.Error, OSError):
            continue
    return found


def _start(name: str, place: Path) -> subprocess.Popen[bytes]:
    command = COMMANDS[name]
    for each in ("work", "cache", "t"):
        (place / each).mkdir(parents=True, exist_ok=True)
    words = [*command.words, *(("--out", str(place / "work" / command.out)) if command.out else ())]
    environment = os.environ | {
        MARK: str(place),
        "ASSAY_CACHE": str(place / "cache"),
        "TMPDIR": str(place / "t"),
    }
    with (place / "said").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "assay", *words], stdout=said, stderr=said, env=environment
        )


def _facts(name: str, place: Path) -> object:
    command = COMMANDS[name]
    return command.facts(place / "work" / command.out, place / "cache")


def _first_difference(expected: object, found: object) -> str:
    if isinstance(expected, dict) and isinstance(found, dict):
        names = [each for each in expected.keys() | found.keys() if expected.get(each) != found.get(each)]
        return f"other files: {sorted(names)[:5]}"
    return f"{str(expected)[:300]} is now {str(found)[:300]}"


if __name__ == "__main__":
    main()
