"""An episode of the plan, from its beginning to its end; what happened is put where the command finds it."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Senses, horizon, no_trajectory
from assay.episodes.events import Events, events_of
from assay.episodes.stepwise import episode_of
from assay.errors import AssayError, PolicyError, one_line
from assay.extensions.dropin.planned import Planned
from assay.extensions.dropin.session import session
from assay.sim.observation import Observation
from assay.sim.simulation import Simulation
from assay.sim.world import LiberoEnv
from assay.support.files import replacing
from assay.tasks import Task

READ = "language-was-read"
"""The file that says that the script has asked for an instruction."""
TOLD = "said-so"
SETTLING = 50
"""The most control steps at the start that a script may wait in beyond its time."""
SURE, UNSURE = ".episode", ".unsure"
"""How the files of episodes end: of those that count, and of those that count if the script ends well."""

ENDED_EARLY = "the script ended the episode after"
"""How the note of a failure begins that was given less time than usual."""


class Recorder:
    """Plays the episodes of one planned task, and records each that is not recorded yet.

    An episode ends with success, at the next reset or state that is set, when its environment is closed or forgotten,
    when the script ends, when its time is over, and when an action is refused or the simulation breaks, which makes
    it an error.
    """

    restarts = True

    def __init__(self, planned: Planned) -> None:
        self._planned = planned
        self._env = LiberoEnv(Path(session().states) if session().states else None)
        self._index = -1
        self._claimed: int | None = None
        self._open = self._absolute = False
        self._turn = 0
        self._actions: list[np.ndarray] = []
        self._begin(self._next())

    @property
    def simulation(self) -> Simulation:
        """That of the present episode."""
        return self._env.simulation

    @property
    def task(self) -> Task:
        """That of the present episode."""
        return self._env.task

    def reset(self, seed: int) -> Observation:
        """Begin the next episode that is not recorded; ``seed`` is the script's, the plan has its own."""
        self.close_episode()
        return self._begin(self._next())

    def start_from(self, numbers: np.ndarray) -> Observation:
        """Begin the episode that a state stands for."""
        self.close_episode()
        return self._begin(self._planned.index_of(numbers))

    def step(self, action: np.ndarray, *, absolute: bool, observe_at: int) -> Observation:
        """One control step, with actions in the precision that they are stored in."""
        done = self._check(action)
        if not self._actions:
            _warn_of_unread(self._spec, self.task)
        try:
            sent = self._senses.act(done, len(self._actions), absolute=absolute)
            now = self._env.step(sent, absolute=absolute)
        except Exception as error:
            if self._open:
                self._put(Outcome.ERROR, one_line(str(error), 300), broken=error)
            raise
        self._absolute = self._absolute or absolute
        self._actions.append(done)
        reached = self._env.succeeded()
        if self._events is not None and self._events.pending and not reached:
            now = self._events.after(now)
        if self._open and reached:
            self._put(Outcome.SUCCESS)
        elif self._open and len(self._actions) - min(self._waited(), SETTLING) >= horizon(self._spec):
            self._put(Outcome.FAILURE)  # the time is over, as it would be for `assay run`
        return self._senses.observe(now)  # type: ignore[no-any-return]

    def observe(self) -> Observation:
        """What the senses make of what is to see now."""
        return self._senses.observe(self.simulation.observe())  # type: ignore[no-any-return]

    def succeeded(self) -> bool:
        """Whether the goal is reached now, or what an event has put in its place."""
        return self._env.succeeded()

    def end(self, *, closed: bool = False) -> None:
        """The script has done with it: closed it, or forgot it, which happens when something breaks, too."""
        self.close_episode(surely=closed and sys.exc_info()[0] is None)
        self._give_up_claim()
        self._env.close()

    def close_episode(self, *, surely: bool = True) -> None:
        """What has not succeeded until now has failed; what never began is nothing.

        ``surely`` says whether the script goes on; if it may be about to break, that is seen by how it ends.
        """
        if self._open and self._actions:
            steps, most = len(self._actions), horizon(self._spec)
            if self._waited() == steps:
                away = PolicyError(
                    f"the script left the episode before it acted, after {steps} steps of waiting"
                )
                away.transient = True
                self._put(Outcome.ERROR, str(away), broken=away, surely=surely)
            else:
                note = f"{ENDED_EARLY} {steps} steps; usual are {most}" if steps < most else ""
                self._put(Outcome.FAILURE, note, surely=surely or steps >= most)
        self._open = False

    def _next(self) -> int:
        """The next episode that is neither recorded nor another environment's; then any that is not recorded.

        When all are, one after the other again.
        """
        numbers = self._planned.numbers
        waiting = [index for index, number in enumerate(numbers) if not _file(number).exists()]
        if self._index in waiting and not self._actions:
            return self._index  # it has not begun
        later = [index for index in waiting if index > self._index]
        for index in [*later, *(each for each in waiting if each not in later)]:
            if self._claim(numbers[index]):
                return index
        self._turn += 1
        return (later or waiting or [(self._turn - 1) % len(numbers)])[0]

    def _claim(self, number: int) -> bool:
        """Whether an episode is this environment's from now on; it has one at a time."""
        if number != self._claimed:
            try:
                _claim_file(number).touch(exist_ok=False)  # one of several processes succeeds
            except FileExistsError:
                return False
            self._give_up_claim()
            self._claimed = number
        return True

    def _give_up_claim(self) -> None:
        if self._claimed is not None:
            _claim_file(self._claimed).unlink(missing_ok=True)
        self._claimed = None

    def _begin(self, index: int) -> Observation:
        _went_on()
        self._index = index
        number = self._planned.numbers[index]
        if not self._claim(number):  # the script wants this one, whoever has it
            self._give_up_claim()
        self._open = not _file(number).exists()
        spec = self._planned.spec(index)
        try:
            return self._start(spec)
        except AssayError as error:
            if self._open:
                put(number, never_began(str(error)))
            self._open = False
            print(
                f"assay libero: an episode of {spec.condition} cannot be begun ({error}): it is recorded as an error, "
                "and the script plays the unchanged task meanwhile",
                file=sys.stderr,
            )
            return self._start(spec.control())

    def _start(self, spec: EpisodeSpec) -> Observation:
        self._spec = spec
        self._senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
        self._actions = []
        self._absolute = False
        self._since = time.perf_counter()
        seen: Observation = self._senses.observe(self._env.reset(spec))
        self._told = self._env.task.instruction.words
        happening = events_of(spec.perturbations)
        self._events = (
            Events(self._env, spec, self._senses, lambda: len(self._actions)) if happening else None
        )
        return seen

    def _waited(self) -> int:
        """The steps at the start in which the script let things settle: LIBERO's scripts do not count them."""
        moving = (index for index, action in enumerate(self._actions) if action[:6].any())
        return next(moving, len(self._actions))

    def _check(self, action: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(action).astype(np.float32)
        except (TypeError, ValueError):
            return action  # the simulation says what is wrong with it

    def _put(
        self, outcome: Outcome, error: str = "", *, broken: Exception | None = None, surely: bool = True
    ) -> None:
        self._open = False
        episode = episode_of(
            self._env, outcome, self._actions, decisions=len(self._actions), error=error, broken=broken
        )
        if self._events is not None:
            episode = replace(episode, instruction=self._told, events=tuple(self._events.happened))
        episode = replace(
            episode,
            seconds=time.perf_counter() - self._since,
            clipped=None if self._absolute else episode.clipped,
        )
        (put if surely else put_unsure)(self._planned.numbers[self._index], episode)


def _file(number: int) -> Path:
    return Path(session().episodes) / f"{number}{SURE}"


def _claim_file(number: int) -> Path:
    return Path(session().episodes) / f"{number}.claimed"


def never_began(reason: str) -> Episode:
    """An episode whose scene cannot be made."""
    return Episode(Outcome.ERROR, 0, no_trajectory(), error=one_line(reason, 300))


def put(number: int, episode: Episode) -> None:
    """Put an episode where the command finds it, whole."""
    _write(_file(number), episode)


_UNSURE: dict[int, Episode] = {}
"""Episodes that this process has forgotten before their time, and begun no other since."""


def put_unsure(number: int, episode: Episode) -> None:
    """Put an episode where the command finds it if the script ends well; that of another process is nobody's end."""
    _UNSURE[number] = episode
    if multiprocessing.parent_process() is None:
        _write(_file(number).with_suffix(UNSURE), episode)


def _went_on() -> None:
    """The script has begun another episode, so nothing was broken when it forgot the last ones."""
    while _UNSURE:
        put(*_UNSURE.popitem())


def _write(file: Path, episode: Episode) -> None:
    with replacing(file) as place:
        place.write_bytes(pickle.dumps(episode))


def language_was_read() -> None:
    """Note that the script has asked for an instruction."""
    if session().episodes:
        (Path(session().episodes) / READ).touch()


def _warn_of_unread(spec: EpisodeSpec, task: Task) -> None:
    """Say once that a changed instruction was not asked for: the script may take it from a file's name."""
    folder = Path(session().episodes)
    if spec.condition == CONTROL or (folder / READ).exists() or (folder / TOLD).exists():
        return
    (folder / TOLD).touch()
    said = f"'{task.instruction.words}'" if task.instruction.words else "nothing at all"
    print(
        "assay libero: warning: the script has not read task.language (nor env.language_instruction): if it takes the "
        f"instruction from a file's name, it misses what the experiment tells the policy, now {said}",
        file=sys.stderr,
    )


def _say_errors_in_one_line() -> None:
    before = sys.excepthook

    def saying(kind: type[BaseException], error: BaseException, trace: object) -> None:
        if isinstance(error, AssayError) and not os.environ.get("ASSAY_DEBUG"):
            print(f"assay libero: error: {error}", file=sys.stderr)
        else:
            before(kind, error, trace)  # type: ignore[arg-type]

    sys.excepthook = saying


_say_errors_in_one_line()
