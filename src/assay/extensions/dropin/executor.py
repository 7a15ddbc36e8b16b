"""Starts a script with the stand-in on its path, and collects the episodes that it records."""

from __future__ import annotations

import hashlib
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from tempfile import gettempdir

from filelock import lock_descriptor

from assay.episodes import Episode, EpisodeSpec, task_of
from assay.errors import AssayError, RunError
from assay.extensions.dropin.recorder import CERTAIN, PROVISIONAL, failed_start
from assay.extensions.dropin.session import EVERYWHERE, PATH, VARIABLE, DropinSession, group_specs, write_plan
from assay.runs.executor import Done, Event, WorkerConfig
from assay.runs.schedulers.plan import Scheduler
from assay.sim.packs.registry import PACKS
from assay.support.console import number_of, say
from assay.support.files import file_lock, leftovers, scratch_folder
from assay.support.processes import BEFORE_EXEC, start_watcher

PREFIX, SESSION, LOCK = "assay-libero-", "session.json", "script.lock"
"""Start of the names of session folders, and files in them; the lock is held until the script has ended."""
POLL_S = 0.5
"""Interval between checks for new episodes, in seconds."""
STOP_TIMEOUT_S = 5.0
"""Time, in seconds, that a script is given to stop before the next stronger signal is sent."""
PYTHONS = ("python", "python3")
"""Commands that are replaced by the Python interpreter that runs Assay."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """Context manager that yields a temporary folder for a session once the scripts of killed commands have ended.

    Raises RunError if one of them does not end.
    """
    for folder in leftovers(Path(gettempdir()), PREFIX):
        try:
            with suppress(FileNotFoundError), file_lock(folder / LOCK, STOP_TIMEOUT_S):
                continue
        except BlockingIOError:
            mark = f"{VARIABLE}={folder / SESSION}"
            raise RunError(
                f"the script of a killed command is still running; first end all processes with {mark} in their "
                "environment"
            ) from None
    with scratch_folder(prefix=PREFIX) as name:
        yield Path(name)


@contextmanager
def running(words: Sequence[str], session: DropinSession, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Context manager that writes the session file to ``folder`` and runs a script, which must have ended on exit.

    If this process or the script is killed, a watching process kills the script and the processes that it started.
    Until then it holds a lock. Raises RunError if the command is invalid.
    """
    if not words:
        raise RunError("no command given; expected 'assay libero -- python main.py ...'")
    command = [sys.executable if words[0] in PYTHONS else words[0], *words[1:]]
    file = folder / SESSION
    session.write(file)
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(PATH), *([before] if before else [])])
    environment = {**os.environ, VARIABLE: str(file), "PYTHONPATH": path}
    with (folder / LOCK).open("w") as lock:
        lock_descriptor(lock.fileno(), blocking=False)
        watcher = start_watcher(f"{VARIABLE}={file}", lock.fileno())
    process = None
    try:
        try:
            process = subprocess.Popen(command, env=environment, preexec_fn=BEFORE_EXEC)
        except OSError as error:
            did = (
                f"; did you mean 'assay libero -- python {words[0]} ...'?" if words[0].endswith(".py") else ""
            )
            raise RunError(f"{words[0]} cannot be started: {error.strerror or error}{did}") from None
        yield process
    finally:
        exited = process is None or (process.returncode is not None and process.returncode >= 0)
        watcher.communicate(b"the script has exited" if exited else b"")


class ScriptStopper:
    """Stops a script with increasingly strong signals, each sent once."""

    def __init__(self, process: subprocess.Popen[bytes], timeout: float = STOP_TIMEOUT_S) -> None:
        self._process, self._timeout = process, timeout
        self._signals = iter((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        self._next_at = 0.0

    def __call__(self) -> None:
        """Send the next signal if the timeout of the previous one has expired."""
        if time.monotonic() >= self._next_at and (number := next(self._signals, None)) is not None:
            self._process.send_signal(number)
            self._next_at = time.monotonic() + self._timeout

    def wait(self) -> None:
        """Send signals until the script has stopped."""
        while self._process.poll() is None:
            self()
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                self._process.wait(POLL_S)


def run_free(words: Sequence[str], pack: str, states: Path | None = None) -> int:
    """Run a script on LIBERO's own tasks and return its exit status. Raises AssayError."""
    PACKS.load(pack)()  # reports a missing pack before the script starts
    session = DropinSession(pack, states="" if states is None else str(states.absolute()))
    with session_folder() as folder, running(words, session, folder) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the script has received it as well, and decides
                continue


@dataclass(eq=False)
class Script:
    """An external script that runs whole episodes of an experiment in place of a policy."""

    words: tuple[str, ...]
    pack: str
    each_a_task: bool = False
    """Whether each episode is presented as a separate task with one initial state."""
    status: int = field(default=0, init=False)
    """Exit status of the script."""
    workers: int = field(default=1, init=False)
    unplayed: dict[str, list[int]] = field(default_factory=dict, init=False)
    """Suite -> indices of the tasks for which the script has not run any episode."""
    _config: WorkerConfig | None = field(default=None, init=False)
    _specs: Sequence[EpisodeSpec] = field(default=(), init=False)

    @property
    def address(self) -> str:
        """Name of the policy in the run: the script, module or program, without options, which may contain secrets."""
        name = next(iter(self.words), "")
        for word, following in pairwise([*self.words, ""]):
            if word == "-m" or (word.endswith(".py") and not word.startswith("-")):
                name = following if word == "-m" else word
                break
        return f"script:{Path(name).name}"

    def identity(self) -> dict[str, str]:
        """Return hashes of the command and of the script's content."""
        hashes = {"command": hashlib.sha256(shlex.join(self.words).encode()).hexdigest()[:12]}
        for word in self.words:
            if word.endswith(".py") and Path(word).is_file():
                hashes[Path(word).name] = hashlib.sha256(Path(word).read_bytes()).hexdigest()[:12]
        return hashes

    def executor(self, config: WorkerConfig, planned: Sequence[EpisodeSpec]) -> Script:
        """Store the worker configuration and the run's plan, and return this object as the executor."""
        self._config, self._specs = config, planned
        return self

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """Run the script on the pending episodes; see `assay.runs.executor.Executor`."""
        batch: list[tuple[int, EpisodeSpec]] = []
        while taken := source.take(None):
            batch += taken
        left: dict[int, EpisodeSpec] = {}
        for number, spec in sorted(batch, key=lambda numbered: numbered[0]):
            try:
                task_of(spec)
            except AssayError as error:
                yield Done(number, failed_start(str(error)))
            else:
                left[number] = spec
        if not left:
            return
        waiting = {spec: number for number, spec in left.items()}
        suite_tasks = group_specs(self._specs, waiting, each_a_task=self.each_a_task)
        most = number_of(len(suite_tasks[0].specs), "initial state")
        suites = ", ".join(dict.fromkeys(task.suite or "every suite" for task in suite_tasks))
        say(
            f"assay libero: the script gets {number_of(len(suite_tasks), 'task')} in {suites}, numbered from 0, with "
            f"{most} each; it should run {number_of(len(suite_tasks[0].specs), 'trial')} per task",
            aside=True,
        )
        states = None if self._config is None else self._config.states
        with session_folder() as folder:
            episodes, plan = folder / "episodes", folder / "plan.json"
            episodes.mkdir()
            write_plan(plan, folder, suite_tasks)
            session = DropinSession(
                self.pack,
                root=str(folder),
                plan=str(plan),
                episodes=str(episodes),
                states="" if states is None else str(states),
            )
            interrupted = False
            with running(self.words, session, folder) as process:
                stop = ScriptStopper(process)
                try:
                    while process.poll() is None:
                        if stopping():
                            interrupted = True
                            stop()
                        for number, episode in _collect(episodes, left):
                            yield Done(number, episode)
                        yield None
                        try:
                            process.wait(POLL_S)
                        except subprocess.TimeoutExpired:
                            pass
                        except KeyboardInterrupt:  # the terminal has sent it to the script, too
                            interrupted = True
                finally:
                    stop.wait()
            self.status = process.returncode
            suffixes = [CERTAIN, PROVISIONAL] if self.status == 0 and not interrupted else [CERTAIN]
            for number, episode in chain(*(_collect(episodes, left, suffix) for suffix in suffixes)):
                yield Done(number, episode)
        self.unplayed = {}
        for suite in dict.fromkeys(task.suite for task in suite_tasks):
            in_suite = [task for task in suite_tasks if task.suite in (suite, EVERYWHERE)]
            if numbers := [place for place, task in enumerate(in_suite) if left.keys() >= set(task.numbers)]:
                self.unplayed[suite] = numbers
        source.give_back(sorted(left))


def _collect(
    folder: Path, left: dict[int, EpisodeSpec], suffix: str = CERTAIN
) -> Iterator[tuple[int, Episode]]:
    """Yield newly recorded episodes in plan order and remove them from ``left``."""
    ready = sorted(int(file.stem) for file in folder.glob(f"*{suffix}") if not file.name.startswith("."))
    for number in ready:
        if left.pop(number, None) is not None:
            try:
                episode = pickle.loads((folder / f"{number}{suffix}").read_bytes())
            except Exception as error:  # unpickling may raise anything
                episode = failed_start(f"the script's record cannot be read: {type(error).__name__}: {error}")
            if not isinstance(episode, Episode):
                episode = failed_start("the script's record is not an episode")
            yield number, episode
