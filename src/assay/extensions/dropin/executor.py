"""The command's side: starts a script with the stand-in on its path, and takes the episodes that it records."""

from __future__ import annotations

import hashlib
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path

from assay.episodes import Episode, EpisodeSpec, task_of
from assay.errors import AssayError, RunError
from assay.extensions.dropin.planned import EVERYWHERE, Planned, group, write_plan
from assay.extensions.dropin.recorder import SURE, UNSURE, never_began
from assay.extensions.dropin.session import PATH, VARIABLE, Session
from assay.runs.executor import Done, Event, Source, Tick
from assay.runs.worker import WorkerConfig
from assay.sim.packs.registry import load_pack
from assay.support.files import scratch_folder

POLL = 0.5
"""Seconds between two looks for new episodes."""
PATIENCE = 5.0
"""Seconds that a script has to stop after it was asked to, before it is told so more plainly."""
PYTHONS = ("python", "python3")
"""Commands that mean the Python that Assay is installed in."""


def command_of(words: Sequence[str]) -> list[str]:
    """A command as it is started."""
    if not words:
        raise RunError("nothing to run: valid: assay libero -- python main.py ...")
    return [sys.executable if words[0] in PYTHONS else words[0], *words[1:]]


def start(words: Sequence[str], now: Session, folder: Path) -> subprocess.Popen[bytes]:
    """Start a script that belongs to a session; ``folder`` is the session's own. Raises RunError."""
    file = folder / "session.json"
    now.write(file)
    before = os.environ.get("PYTHONPATH")
    environment: Mapping[str, str] = {
        **os.environ,
        VARIABLE: str(file),
        "PYTHONPATH": os.pathsep.join([str(PATH), *([before] if before else [])]),
    }
    try:
        return subprocess.Popen(command_of(words), env=environment)
    except OSError as error:
        fix = f": valid: assay libero -- python {words[0]} ..." if words[0].endswith(".py") else ""
        raise RunError(f"{words[0]}: cannot be started: {error.strerror or error}{fix}") from None


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for a script's end; Ctrl-C is the script's own business. Returns its exit status."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


class Stop:
    """Asks a script to stop, by and by in plainer words; each is said once."""

    def __init__(self, process: subprocess.Popen[bytes], patience: float = PATIENCE) -> None:
        self._process, self._patience = process, patience
        self._signals = iter((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        self._due = 0.0

    def __call__(self) -> None:
        """Say the next word, if the last one was said long enough ago."""
        if time.monotonic() >= self._due and (word := next(self._signals, None)) is not None:
            self._process.send_signal(word)
            self._due = time.monotonic() + self._patience

    def now(self) -> None:
        """Wait until it has stopped, however little it wants to."""
        while self._process.poll() is None:
            self()
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                self._process.wait(POLL)


def run_free(words: Sequence[str], pack: str, states: Path | None = None) -> int:
    """Run a script on LIBERO's own tasks; returns its exit status. Raises AssayError."""
    load_pack(pack)  # what is missing is said now, and not by the script
    with scratch_folder(prefix="assay-libero-") as folder:
        now = Session(pack, states="" if states is None else str(states.absolute()))
        return finish(start(words, now, Path(folder)))


@dataclass(eq=False)
class Script:
    """A script that plays the episodes of an experiment, in place of a policy that Assay asks."""

    words: tuple[str, ...]
    pack: str
    apart: bool = False
    """Whether each episode is a task of its own, with one initial state."""
    announce: Callable[[Sequence[Planned]], None] = lambda planned: None
    """Told what the script will find."""
    status: int = field(default=0, init=False)
    """The exit status of the script."""
    workers: int = field(default=1, init=False)
    unplayed: dict[str, list[int]] = field(default_factory=dict, init=False)
    """Suite -> the numbers of its tasks of which the script has played nothing."""
    _config: WorkerConfig | None = field(default=None, init=False)
    _specs: Sequence[EpisodeSpec] = field(default=(), init=False)

    @property
    def address(self) -> str:
        """What the run calls it: the script, the module or the program, never an option, which may be a secret."""
        named = next(iter(self.words), "")
        for word, following in pairwise([*self.words, ""]):
            if word == "-m" or (word.endswith(".py") and not word.startswith("-")):
                named = following if word == "-m" else word
                break
        return f"script:{Path(named).name}"

    def identity(self) -> dict[str, str]:
        """What it hangs on: the command, and the script's text where there is one."""
        found = {"command": hashlib.sha256(shlex.join(self.words).encode()).hexdigest()[:12]}
        for word in self.words:
            if word.endswith(".py") and Path(word).is_file():
                found[Path(word).name] = hashlib.sha256(Path(word).read_bytes()).hexdigest()[:12]
        return found

    def executor(self, config: WorkerConfig, planned: Sequence[EpisodeSpec]) -> Script:
        """Itself, told where stored states are, and what the run consists of."""
        self._config, self._specs = config, planned
        return self

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """Start the script on what is to be done; see `assay.runs.executor.Executor`."""
        batch: list[tuple[int, EpisodeSpec]] = []
        while taken := source.take(None):
            batch += taken
        batch.sort(key=lambda each: each[0])
        left = {number for number, _ in batch}
        for number, spec in batch:
            if reason := _impossible(spec):
                left.discard(number)
                yield Done(number, never_began(reason))
        batch = [each for each in batch if each[0] in left]
        if not batch:
            return
        planned = group(self._specs, {spec: number for number, spec in batch}, apart=self.apart)
        self.announce(planned)
        states = None if self._config is None else self._config.states
        with scratch_folder(prefix="assay-libero-") as name:
            folder = Path(name)
            episodes = folder / "episodes"
            episodes.mkdir()
            plan = folder / "plan.json"
            write_plan(plan, folder, planned)
            now = Session(
                self.pack, str(folder), str(plan), str(episodes), "" if states is None else str(states)
            )
            process, interrupted = start(self.words, now, folder), False
            stop = Stop(process)
            try:
                while process.poll() is None:
                    if stopping():
                        interrupted = True
                        stop()
                    for number, episode in _taken(episodes, left):
                        yield Done(number, episode)
                    yield Tick()
                    try:
                        process.wait(POLL)
                    except subprocess.TimeoutExpired:
                        pass
                    except KeyboardInterrupt:  # the terminal has told the script, too
                        interrupted = True
            finally:
                if process.poll() is None:
                    stop.now()
            self.status = process.returncode
            ends = [SURE, UNSURE] if self.status == 0 and not interrupted else [SURE]
            for number, episode in chain.from_iterable(_taken(episodes, left, end) for end in ends):
                yield Done(number, episode)
        self.unplayed = _unplayed(planned, left)
        source.give_back(sorted(left))


def _impossible(spec: EpisodeSpec) -> str:
    """Why an episode's task cannot be made; empty where it can."""
    try:
        task_of(spec)
    except AssayError as error:
        return str(error)
    return ""


def _unplayed(planned: Sequence[Planned], left: set[int]) -> dict[str, list[int]]:
    """Suite -> the numbers, as the script sees them, of the tasks of which everything is left."""
    found: dict[str, list[int]] = {}
    for suite in dict.fromkeys(each.suite for each in planned):
        there = [each for each in planned if each.suite in (suite, EVERYWHERE)]
        if numbers := [number for number, each in enumerate(there) if left.issuperset(each.numbers)]:
            found[suite] = numbers
    return found


def _taken(folder: Path, left: set[int], end: str = SURE) -> Iterator[tuple[int, Episode]]:
    """Episodes that were not there before, in the order of the plan."""
    ready = sorted(int(file.stem) for file in folder.glob(f"*{end}") if not file.name.startswith("."))
    for number in ready:
        if number in left:
            left.discard(number)
            yield number, _read(folder / f"{number}{end}")


def _read(file: Path) -> Episode:
    """An episode as the script's process wrote it; an error in its place where that cannot be read."""
    try:
        found = pickle.loads(file.read_bytes())
    except Exception as error:  # unpickling raises anything
        return never_began(f"what the script recorded cannot be read: {type(error).__name__}: {error}")
    return found if isinstance(found, Episode) else never_began("what the script recorded is no episode")
