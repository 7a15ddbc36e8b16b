"""Runs and records the episodes of a planned task. Each episode is written to a file, which the command collects."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Stepwise, no_trajectory
from assay.errors import AssayError, PolicyError, one_line
from assay.extensions.dropin.session import SuiteTask, session
from assay.sim import Observation, Simulation
from assay.sim.world import LiberoEnv
from assay.support.files import replacing
from assay.tasks import Task

LANGUAGE_READ = "language-was-read"
"""Name of a file whose existence indicates that the script has read an instruction."""
WARNED = "language-warning-printed"
"""Name of a file whose existence indicates that the script has been warned."""
MAX_SETTLING_STEPS = 50
"""Maximum number of idle control steps at the start that do not count towards the horizon."""
CERTAIN, PROVISIONAL, CLAIMED = ".episode", ".unsure", ".claimed"
"""Suffixes of the episode files: final, valid only if the script exits normally, and claimed."""
ENDED_EARLY = "the script ended the episode after"
"""First words of the note that is recorded with a failure if the script ended the episode before its horizon."""


class Recorder:
    """Runs the episodes of one planned task, and records the episodes that are not recorded yet.

    An episode ends on success, at its horizon, at the next reset or `set_init_state`, when its environment is
    closed or garbage-collected, when the script exits, or, as an error, if an action is invalid or the simulation
    fails.
    """

    restarts = True

    def __init__(self, suite_task: SuiteTask) -> None:
        self._suite_task = suite_task
        self._env = LiberoEnv(Path(session().states) if session().states else None)
        self._index = -1
        self._claimed: int | None = None
        self._open = False
        self._repeats = 0
        self._play: Stepwise
        self._begin(self._choose_next())

    @property
    def simulation(self) -> Simulation:
        """Simulation of the current episode."""
        return self._env.simulation

    @property
    def task(self) -> Task:
        """Task of the current episode."""
        return self._env.task

    def reset(self, seed: int) -> Observation:
        """Start the next episode that is not recorded; ``seed`` is ignored because the plan determines the seeds."""
        self._close_episode()
        return self._begin(self._choose_next())

    def start_from(self, numbers: np.ndarray) -> Observation:
        """Start the episode that a placeholder state identifies."""
        self._close_episode()
        return self._begin(self._suite_task.find_episode(numbers))

    def step(self, action: np.ndarray, *, absolute: bool, observe_at: int) -> Observation:
        """Execute one control step, with the action rounded to single precision, in which it is stored."""
        try:
            stored = np.asarray(action).astype(np.float32)
        except (TypeError, ValueError):
            stored = action  # the simulation reports what is wrong
        play = self._play
        if not play.actions:
            _warn_if_language_unread(play.spec, self.task)
        try:
            observation: Observation = play.advance(stored, absolute=absolute)
        except Exception as error:
            if self._open:
                self._record(one_line(str(error), 300), broken=error)
            raise
        counted = play.steps - min(self._waiting(), MAX_SETTLING_STEPS)
        if self._open and (play.succeeded or counted >= play.horizon):  # same limit as for `assay run`
            self._record()
        return observation

    def observe(self) -> Observation:
        """Observe the current state, with the observation perturbations applied."""
        observation: Observation = self._play.sense(self.simulation.observe())
        return observation

    def is_success(self) -> bool:
        """Return whether the current goal holds; a mid-episode event may have replaced the original goal."""
        return self._env.succeeded()

    def end(self, *, closed: bool = False) -> None:
        """End the episode when its environment is closed or garbage-collected, possibly by an exception."""
        self._close_episode(certain=closed and sys.exc_info()[0] is None)
        self._release_claim()
        self._env.close()

    def _close_episode(self, *, certain: bool = True) -> None:
        """Record a failure if the episode has started and has not succeeded.

        ``certain`` means that the script is known to continue. Otherwise it may be crashing, which only its exit status
        shows.
        """
        if self._open and self._play.actions:
            steps, most = self._play.steps, self._play.horizon
            if self._waiting() == steps:
                reason = f"the script left the episode after {steps} idle steps, before any action"
                error = PolicyError(reason)
                error.transient = True
                self._record(reason, broken=error, certain=certain)
            else:
                note = f"{ENDED_EARLY} {steps} steps; the default horizon is {most}" if steps < most else ""
                self._record(note, certain=certain or steps >= most)
        self._open = False

    def _choose_next(self) -> int:
        """Return the index of the next episode that is neither recorded nor claimed, or else of any unrecorded
        episode.

        If all episodes are recorded, they are repeated in order.
        """
        numbers = self._suite_task.numbers
        waiting = [index for index, number in enumerate(numbers) if not _episode_file(number).exists()]
        if self._index in waiting and not self._play.actions:
            return self._index  # it has not started
        later = [index for index in waiting if index > self._index]
        for index in [*later, *(index for index in waiting if index not in later)]:
            if self._claim(numbers[index]):
                return index
        self._repeats += 1
        return (later or waiting or [(self._repeats - 1) % len(numbers)])[0]

    def _claim(self, number: int) -> bool:
        """Claim an episode for this environment and release the previous one; return False if it is already claimed."""
        if number != self._claimed:
            try:
                _episode_file(number, CLAIMED).touch(
                    exist_ok=False
                )  # atomic: one of several processes succeeds
            except FileExistsError:
                return False
            self._release_claim()
            self._claimed = number
        return True

    def _release_claim(self) -> None:
        if self._claimed is not None:
            _episode_file(self._claimed, CLAIMED).unlink(missing_ok=True)
        self._claimed = None

    def _begin(self, index: int) -> Observation:
        while _PROVISIONAL:  # the script continues, so its previous episodes did not end by an exception
            write_episode(*_PROVISIONAL.popitem())
        self._index = index
        number = self._suite_task.numbers[index]
        if not self._claim(number):  # the script asked for this one, whoever has claimed it
            self._release_claim()
        self._open = not _episode_file(number).exists()
        spec = self._suite_task.spec(index)
        try:
            return self._start(spec)
        except AssayError as error:
            if self._open:
                write_episode(number, failed_start(str(error)))
            self._open = False
            print(
                f"assay libero: an episode under {spec.condition} cannot start ({error}): it is recorded as an "
                "error, and the script runs the unperturbed task instead",
                file=sys.stderr,
            )
            return self._start(spec.control())

    def _start(self, spec: EpisodeSpec) -> Observation:
        self._started_at = time.perf_counter()
        self._play = Stepwise(self._env, spec)
        observation: Observation = self._play.observation
        return observation

    def _waiting(self) -> int:
        """Return the number of initial idle steps, in which objects settle; LIBERO's scripts do not count them."""
        moving = (index for index, action in enumerate(self._play.actions) if action[:6].any())
        return next(moving, self._play.steps)

    def _record(self, error: str = "", *, broken: Exception | None = None, certain: bool = True) -> None:
        self._open = False
        episode = self._play.finish(error, broken=broken)
        episode = replace(episode, seconds=time.perf_counter() - self._started_at)
        number = self._suite_task.numbers[self._index]
        if certain:
            write_episode(number, episode)
        else:
            _PROVISIONAL[number] = episode
            # The exit of a child process says nothing about how the script ends.
            if multiprocessing.parent_process() is None:
                write_episode(number, episode, PROVISIONAL)


_PROVISIONAL: dict[int, Episode] = {}
"""Unfinished episodes of garbage-collected environments, by number, kept until this process starts another."""


def _episode_file(number: int, suffix: str = CERTAIN) -> Path:
    return Path(session().episodes) / f"{number}{suffix}"


def failed_start(reason: str) -> Episode:
    """Return the record of an episode that could not start."""
    return Episode(Outcome.ERROR, 0, no_trajectory(), error=one_line(reason, 300))


def write_episode(number: int, episode: Episode, suffix: str = CERTAIN) -> None:
    """Write an episode file atomically for the command to collect."""
    with replacing(_episode_file(number, suffix)) as place:
        place.write_bytes(pickle.dumps(episode))


def note_language_read() -> None:
    """Record that the script has read an instruction."""
    if session().episodes:
        (Path(session().episodes) / LANGUAGE_READ).touch()


def _warn_if_language_unread(spec: EpisodeSpec, task: Task) -> None:
    """Warn once if a perturbed instruction was not read: the script may derive it from a file name."""
    folder = Path(session().episodes)
    if spec.condition == CONTROL or (folder / LANGUAGE_READ).exists() or (folder / WARNED).exists():
        return
    (folder / WARNED).touch()
    words = f"'{task.instruction.words}'" if task.instruction.words else "empty"
    print(
        "assay libero: warning: the script has read neither task.language nor env.language_instruction: if it derives "
        f"the instruction from a file name, it misses the experiment's instruction, which is now {words}",
        file=sys.stderr,
    )


_default_hook = sys.excepthook


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print Assay's exceptions on one line, without a traceback unless ASSAY_DEBUG is set."""
    if isinstance(error, AssayError) and not os.environ.get("ASSAY_DEBUG"):
        print(f"assay libero: error: {error}", file=sys.stderr)
    else:
        _default_hook(kind, error, trace)


sys.excepthook = _print_error
