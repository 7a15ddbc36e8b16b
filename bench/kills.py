"""Random kills during long commands: afterwards, the same command must end as if it had not been killed.

Each command is started; its child processes (workers, fork server, Ray, scripts) and then the command itself are killed
at random moments; the same command is started again, until it has been killed often enough; then it may finish. Counted
are kills, processes that outlive their driver by more than five seconds, results that differ, and leftover temporary
files.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
from tests.model_server import ModelServer, Reply

from assay.runs.store import Store
from assay.support.processes import WATCH
from assay.support.streams import stream

ORPHAN_TIMEOUT_S = 5.0
"""Seconds within which every process must have ended after its driver was killed."""
COMMAND_TIMEOUT_S = 600.0
TRIAL_VARIABLE = "ASSAY_KILLS"
"""Environment variable that identifies the processes of a trial."""
NO_RAY = "error: --ray local: "
"""Start of the message that Ray did not start within 30 s."""
RAY_KILLED = ("core_worker", "raylet")
"""Text in the last lines of a command whose Ray was killed: Ray terminates connected processes."""
GIVING_UP = ("workers keep dying", "keeps dying", "the script exited with status -9")
"""Messages of commands that end because a child process was killed; their results are kept."""
MAX_RESTARTS = 3
"""Maximum number of additional restarts after one of these messages."""
COMPLETE = ("is not empty; choose another folder", "already exists")
"""Messages of commands that were killed after their result was complete."""
MAX_DRIVER_KILLS = 5
"""Maximum number of kills of the driver per trial."""
CHILD_KILLS = 2
"""Number of kills of child processes before each kill of the driver."""
RESTART_AT_ONCE = 0.3
"""Probability that a killed command is restarted before its processes have ended."""
TEMPORARY = (".part", "-wal", "-shm", "-journal", ".training")
"""Suffixes of files that a command must not leave behind."""


FOREIGN = ("ray", "torchinductor")
"""Start of the names of files that Ray and PyTorch leave in the folder for temporary files."""
MAX_QUICK_TRIALS = 3
"""Maximum number of trials per turn if a command always ends before it is killed."""


@dataclass(slots=True)
class Tally:
    """Results of the trials of one command."""

    kills: int = 0
    child_kills: int = 0
    """Number of kills that hit a child process."""
    trials: int = 0
    equal: int = 0
    orphans: int = 0
    leftovers: int = 0
    """Number of leftover temporary files."""
    slowest_s: float = 0.0
    """Maximum time between the end of the driver and the end of its last child process."""
    restarts: int = 0
    """Number of additional restarts because Ray did not start in time, or a child process was killed too often."""
    problems: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another trial."""
        for column in fields(self):
            ours, theirs = getattr(self, column.name), getattr(other, column.name)
            setattr(self, column.name, max(ours, theirs) if column.name == "slowest_s" else ours + theirs)


def run_facts(out: Path, cache: Path) -> object:
    """Return everything recorded about a run's episodes except durations."""
    with Store.reading(out) as store:
        frame = store.frame().drop("seconds", "id", "attempts").sort("key")
        trajectories = dict(store.trajectories())
        actions = b"".join(trajectories[number].actions.tobytes() for number in sorted(trajectories))
        return frame.rows(), hashlib.sha256(actions).hexdigest(), store.damage


def runs_facts(out: Path, cache: Path) -> object:
    """Return the results of all runs in a folder."""
    return {path.name: run_facts(path, cache) for path in sorted(out.glob("*.assay"))}


def folder_facts(out: Path, cache: Path) -> object:
    """Return a hash of each file of a folder."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def answer_facts(out: Path, cache: Path) -> object:
    """Return the answers of a model without the times at which they arrived."""
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    return [{name: value for name, value in answer.items() if name != "at"} for answer in answers]


def network_facts(out: Path, cache: Path) -> object:
    """Return a hash of a network's parameters, which follow the header of a safetensors file."""
    content = out.read_bytes()
    return hashlib.sha256(content[8 + int.from_bytes(content[:8], "little") :]).hexdigest()


def cache_facts(out: Path, cache: Path) -> object:
    """Return all certificates."""
    certificates: list[tuple[Any, ...]] = []
    for file in sorted(cache.rglob("*.sqlite*")):
        if file.name.endswith(("-wal", "-shm", ".lock")):
            continue
        with closing(sqlite3.connect(file)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
                chosen = [name for name in columns if name not in ("seconds", "made", "at", "value")]
                rows = database.execute(f"SELECT {', '.join(chosen)} FROM {table}")
                certificates += [(table, *row) for row in rows]
    return sorted(map(repr, certificates))


@dataclass(frozen=True, slots=True)
class Command:
    """A long command, and the part of its result that must be reproduced."""

    words: str
    """Arguments, with {inputs} for the folder of inputs, {out} for the result and {url} for the model server."""
    facts: Callable[[Path, Path], object]
    out: str = ""
    """Name of its result in its own folder; empty if it writes only to the cache."""
    status: int = 0
    """Expected exit status."""
    inputs: tuple[str, ...] = ()
    """Names of `INPUTS`."""
    module: str = "assay"
    """Module without which the command is skipped."""


SMALL = "--tasks libero_goal/7 --workers 2"
SHORT = f"--steps 15 --seeds 3 {SMALL} --conditions empty"
RUN = f"run corruption --policy random {SHORT}"
SCRIPT = """
import atexit, subprocess, sys
from libero.libero import benchmark
from libero.libero.envs import OffScreenRenderEnv

helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
atexit.register(helper.kill)
suite = benchmark.get_benchmark("libero_goal")()
for number in range(suite.n_tasks):
    env = OffScreenRenderEnv(bddl_file_name=suite.get_task_bddl_file_path(number))
    for state in suite.get_task_init_states(number):
        env.reset()
        env.set_init_state(state)
        for step in range(15):
            env.step([0.1, 0.0, 0.1, 0.0, 0.0, 0.1, 1.0])
"""
"""A LIBERO script that starts a process in a session of its own."""
INPUTS = {
    "shard-1": f"{RUN} --shard 1/2 --out {{inputs}}/1.assay",
    "shard-2": f"{RUN} --shard 2/2 --out {{inputs}}/2.assay",
    "run": f"{RUN} --out {{inputs}}/run.assay",
    "questions": "eqa build --source demo --per-kind 4 --episodes 8 --size 64 --out {inputs}/questions",
    "demonstrations": "collect --tasks libero_goal/7 --episodes 2 --size 64 --out {inputs}/demonstrations",
}
"""Commands whose results are inputs of other commands."""
COMMANDS = {
    "run": Command(f"{RUN} --out {{out}}", run_facts, "a.assay"),
    "run-ray": Command(f"{RUN} --ray local --out {{out}}", run_facts, "a.assay", module="ray"),
    "run-certified": Command(
        f"run pro --policy idle --steps 120 --seeds 1 {SMALL} --conditions position --out {{out}}",
        run_facts,
        "a.assay",
    ),
    "certify": Command(f"certify pro {SMALL} --seeds 1 --conditions position", cache_facts),
    "duel": Command(
        f"duel random idle --experiment corruption {SHORT} --workers 1 --out {{out}}",
        runs_facts,
        "duel",
        status=3,  # undecided: neither succeeds in so few steps
    ),
    "search": Command(
        f"search --policy random --axes delay --budget 24 --steps 15 --uncertified {SMALL} --out {{out}}",
        run_facts,
        "a.assay",
    ),
    "audit": Command(f"audit corruption {SHORT} --yes --out {{out}}", runs_facts, "audit"),
    "scenes-generate": Command(
        "scenes generate --count 1 --per-scene 1 --tries 1 --workers 2 --out {out}", folder_facts, "scenes"
    ),
    "collect": Command(
        "collect --tasks libero_goal/7 --episodes 1 --size 64 --out {out}", folder_facts, "collected"
    ),
    "learn": Command(
        "learn {inputs}/demonstrations --steps 150 --batch 16 --pixels 32 --out {out}",
        network_facts,
        "a.safetensors",
        inputs=("demonstrations",),
        module="torch",
    ),
    "libero": Command(
        "libero --experiment corruption --steps 15 --seeds 3 --tasks libero_goal/7 --conditions empty --out {out} "
        "-- python {inputs}/script.py",
        run_facts,
        "a.assay",
    ),
    "merge": Command(
        "runs merge {inputs}/1.assay {inputs}/2.assay --out {out}",
        run_facts,
        "a.assay",
        inputs=("shard-1", "shard-2"),
    ),
    "report": Command("report {inputs}/run.assay --out {out}", folder_facts, "report", inputs=("run",)),
    "eqa-build": Command(
        "eqa build --source demo --per-kind 1 --episodes 4 --size 64 --out {out}", folder_facts, "questions"
    ),
    "eqa-ask": Command(
        "eqa ask {inputs}/questions --model openai:stub --endpoint {url} --at-once 2 --per-minute 100000 "
        "--out {out}",
        answer_facts,
        "answers.jsonl",
        inputs=("questions",),
    ),
}


class Stub(ModelServer):
    """A slow model that gives each request a letter of its own."""

    def reply(self, number: int, path: str, body: dict[str, Any]) -> Reply:
        """Reply after a delay."""
        time.sleep(0.2)
        letter = "ABCD"[zlib.crc32(json.dumps(body, sort_keys=True).encode()) % 4]
        choice = {"message": {"content": letter}, "finish_reason": "stop"}
        return 200, {}, json.dumps({"choices": [choice]}).encode()


@dataclass(frozen=True, slots=True)
class Reference:
    """An undisturbed result, and the present duration of the command."""

    facts: object
    seconds: float


class Trials:
    """Trials of several commands in a folder."""

    def __init__(self, names: list[str], folder: Path, at_once: int) -> None:
        """Make the inputs of the commands and their undisturbed results."""
        self.folder, self.inputs, self.server = folder, folder / "inputs", Stub()
        self.inputs.mkdir()
        (self.inputs / "script.py").write_text(SCRIPT)
        needed = dict.fromkeys(name for command in names for name in COMMANDS[command].inputs)
        for name in needed:
            process = self._start(INPUTS[name], folder / name)
            if process.wait(COMMAND_TIMEOUT_S):
                raise SystemExit(f"{name}: {_output(folder / name)}")
        self.references: dict[str, Reference] = {}
        # As many at once as later, so that the durations are those of the trials.
        with ThreadPoolExecutor(at_once) as pool:
            chosen = [name for name in names if name != "run-ray" or "run" not in names]
            self.references.update(zip(chosen, pool.map(self._undisturbed, chosen), strict=True))
        if "run-ray" in names and "run" in names:  # Ray gives the same result, and starts slowly
            reference = self.references["run"]
            self.references["run-ray"] = Reference(reference.facts, 2 * reference.seconds)

    def _undisturbed(self, name: str) -> Reference:
        place, start_time = self.folder / f"undisturbed-{name}", time.monotonic()
        process = self._start(COMMANDS[name].words, place, COMMANDS[name].out)
        if process.wait(COMMAND_TIMEOUT_S) != COMMANDS[name].status:
            raise SystemExit(f"{name}: {_output(place)}")
        return Reference(_facts(name, place), time.monotonic() - start_time)

    def _start(self, words: str, place: Path, out: str = "") -> subprocess.Popen[bytes]:
        for part in ("work", "cache", "t"):
            (place / part).mkdir(parents=True, exist_ok=True)
        values = {"inputs": self.inputs, "out": place / "work" / out, "url": self.server.url}
        environment = os.environ | {
            TRIAL_VARIABLE: str(place),
            "ASSAY_CACHE": str(place / "cache"),
            "TMPDIR": str(place / "t"),
        }
        command = [sys.executable, "-m", "assay", *(word.format(**values) for word in words.split())]
        with (place / "output").open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output, env=environment)

    def trial(
        self, name: str, turn: int, deadline: float = float("inf"), times: int = MAX_DRIVER_KILLS
    ) -> Tally:
        """Kill a command several times, let it finish, and compare its result with the undisturbed one."""
        rng, reference, command = stream("kills", name, turn), self.references[name], COMMANDS[name]
        place, tally = self.folder / str(turn), Tally(trials=1)
        has_ended = False
        for _ in range(times):
            if time.monotonic() > deadline:
                break
            process, start_time = self._start(command.words, place, command.out), time.monotonic()
            draws = sorted(rng.uniform(0.1, 0.9, 1 + CHILD_KILLS))
            *moments, last = (start_time + float(draw) * reference.seconds for draw in draws)
            for moment in moments:
                if _runs_until(process, moment):
                    _kill_child(place, process, rng, tally)
            if not _runs_until(process, last):  # it was quicker
                has_ended = True
                break
            tally.kills += 1
            process.send_signal(signal.SIGKILL)
            process.wait()
            if rng.random() >= RESTART_AT_ONCE:
                _wait_for_end(name, place, tally)
        if not has_ended:
            process, start_time = self._start(command.words, place, command.out), time.monotonic()
        status = process.wait(COMMAND_TIMEOUT_S)
        # The machine is busier at some times than at others.
        self.references[name] = Reference(reference.facts, time.monotonic() - start_time)
        while status not in (0, command.status) and tally.restarts < MAX_RESTARTS and _gave_up(place):
            tally.restarts += 1
            (place / "output").unlink()
            process = self._start(command.words, place, command.out)
            status = process.wait(COMMAND_TIMEOUT_S)
        _wait_for_end(name, place, tally)
        was_complete = bool(status) and any(text in _output(place) for text in COMPLETE)
        if status != command.status and not was_complete:
            tally.problems.append(f"{name}, turn {turn}: exit status {status}: {_output(place)[-800:]}")
        elif (facts := _facts(name, place)) != reference.facts:
            tally.problems.append(f"{name}, turn {turn}: {_first_difference(reference.facts, facts)}")
        else:
            tally.equal += 1
        paths = (place / "t").iterdir()
        leftovers = [path for path in paths if not path.name.startswith(FOREIGN)]
        for part in ("work", "cache"):
            paths = (place / part).rglob("*")
            leftovers += [path for path in paths if path.name.endswith(TEMPORARY) or ".fetching" in path.name]
        tally.leftovers += len(leftovers)
        tally.problems += [f"{name}, turn {turn}: leftover file: {path}" for path in leftovers]
        shutil.rmtree(place, ignore_errors=True)
        return tally


def main() -> None:
    """Run the trials and print a summary."""
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)}; all by default")
    parser.add_argument("--kills", type=int, default=200, help="minimum number of kills, over all commands")
    parser.add_argument("--seconds", type=float, default=3600.0, help="maximum duration, over all commands")
    parser.add_argument("--at-once", type=int, default=1, help="number of concurrent trials")
    parser.add_argument("--out", type=Path, default=Path("out/kills.json"))
    options = parser.parse_args()
    names = options.commands or list(COMMANDS)
    missing = [name for name in names if importlib.util.find_spec(COMMANDS[name].module) is None]
    for name in missing:
        print(f"{name}: skipped, because {COMMANDS[name].module} is not installed", flush=True)
    names = [name for name in names if name not in missing]
    tallies = kill_in_turn(names, options.kills, options.seconds, options.at_once, options.out)
    for name, tally in tallies.items():
        print(name, json.dumps(asdict(tally)))
    sums = _sums(tallies)
    print(json.dumps(sums))
    sys.exit(sums["trials"] != sums["equal"] or bool(sums["orphans"] + sums["leftovers"]))


def kill_in_turn(
    names: list[str], kills: int, seconds: float = 3600.0, at_once: int = 1, out: Path | None = None
) -> dict[str, Tally]:
    """Kill commands in turn, each at least once, until enough kills were made or the time is over.

    ``out`` receives interim results.
    """
    tallies = {name: Tally() for name in names}
    times = min(MAX_DRIVER_KILLS, -(-kills // len(names)))
    with TemporaryDirectory(prefix="k-") as folder:
        trials = Trials(names, Path(folder), at_once)
        deadline = time.monotonic() + seconds

        def take_turn(turn: int) -> None:
            enough = turn >= len(names) and _sums(tallies)["kills"] >= kills
            if enough or time.monotonic() > deadline:
                return
            name = names[turn % len(names)]
            for _ in range(MAX_QUICK_TRIALS):
                tally = trials.trial(name, turn, deadline, times)
                tallies[name].add(tally)
                if tally.kills:
                    break
            if out is not None:
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps({key: asdict(tally) for key, tally in tallies.items()}, indent=1))

        with ThreadPoolExecutor(at_once) as pool:
            for _ in pool.map(take_turn, range(10 * kills)):
                pass
    return tallies


def _sums(tallies: dict[str, Tally]) -> dict[str, int]:
    names = ("kills", "trials", "equal", "restarts", "orphans", "leftovers")
    return {name: sum(getattr(tally, name) for tally in tallies.values()) for name in names}


def _output(place: Path) -> str:
    """Return the last lines that a command has printed."""
    return (place / "output").read_text()[-2000:]


def _gave_up(place: Path) -> bool:
    """Return whether a command ended with a message after which a user would restart it."""
    return any(text in _output(place) for text in (NO_RAY, *RAY_KILLED, *GIVING_UP))


def _runs_until(process: subprocess.Popen[bytes], moment: float) -> bool:
    """Wait until a point in time; return whether the process is still running."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(moment - time.monotonic(), 0.0))
    return process.poll() is None


def _kill_child(
    place: Path, process: subprocess.Popen[bytes], rng: np.random.Generator, tally: Tally
) -> None:
    """Kill a random process of a trial other than the driver, if there is one.

    The watcher of a script or of Ray is spared: if it and the driver are killed, nothing ends their processes.
    """
    with suppress(psutil.Error):  # a process may end at any time
        children = [
            child
            for child in _processes(place)
            if child.pid != process.pid and str(WATCH) not in child.cmdline()
        ]
        if children:
            children[int(rng.integers(len(children)))].kill()
            tally.kills += 1
            tally.child_kills += 1


def _wait_for_end(name: str, place: Path, tally: Tally) -> None:
    """Wait until no process is left; those that remain after the timeout are orphans."""
    start_time = time.monotonic()
    while (processes := _processes(place)) and time.monotonic() - start_time < ORPHAN_TIMEOUT_S:
        time.sleep(0.05)
    tally.slowest_s = max(tally.slowest_s, time.monotonic() - start_time)
    for process in processes:
        try:
            tally.problems.append(f"{name}: outlives its driver: {' '.join(process.cmdline())[:160]}")
            process.kill()
        except psutil.Error:
            continue
        tally.orphans += 1


def _processes(place: Path) -> list[psutil.Process]:
    """Return the live processes of a trial, identified by an inherited environment variable."""
    processes = []
    for process in psutil.process_iter():
        try:
            is_zombie = process.status() == psutil.STATUS_ZOMBIE
            if not is_zombie and process.environ().get(TRIAL_VARIABLE) == str(place):
                processes.append(process)
        except (psutil.Error, OSError):
            continue
    return processes


def _facts(name: str, place: Path) -> object:
    command = COMMANDS[name]
    return command.facts(place / "work" / command.out, place / "cache")


def _first_difference(expected: object, facts: object) -> str:
    if isinstance(expected, dict) and isinstance(facts, dict):
        names = [name for name in expected.keys() | facts.keys() if expected.get(name) != facts.get(name)]
        return f"other files: {sorted(names)[:5]}"
    return f"{str(expected)[:300]} is now {str(facts)[:300]}"


if __name__ == "__main__":
    main()
