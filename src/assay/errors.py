"""The exceptions that Assay raises on purpose, in whichever module they are defined.

    AssayError                       anything a user can act on; the command line prints it in one line
    ├── TaskError                    an invalid task, scene or goal
    │   ├── BDDLError                a BDDL file that cannot be read: has file and line
    │   ├── ImpossibleError          an atom that the oracle cannot make true
    │   └── NoSuchTaskError          a number that a suite does not have, for scripts written for LIBERO
    ├── AssetError                   something missing from an asset pack
    ├── StateError                   an initial state that does not fit the scene
    │   └── NoSuchStateError         a number that a task does not have, for scripts written for LIBERO
    ├── ActionError                  an action with a wrong shape or a value that is not finite
    ├── PolicyError                  an error of a policy: names the policy and the step
    │   └── RemoteError              an error of a policy server: has the address and the reason
    │       ├── UnreachableError     no connection
    │       ├── StalledError         no reply in time
    │       ├── LostError            the connection was lost
    │       ├── ServerError          the server reported an error
    │       └── ReplyError           an invalid reply
    ├── PlacementError               no room for the objects of a scene
    │   └── RejectedLayoutError      a layout that did not settle: names the objects to blame
    ├── PerturbationError            an unknown perturbation, or one that cannot be applied
    ├── ExperimentError              an unknown or invalid experiment or condition
    │   ├── SpecError                an invalid episode spec
    │   └── AxisError                an axis that a task does not have: a stove cannot be moved
    ├── WorldError                   an unknown world, or an operation that it does not support
    ├── PluginError                  a plugin that cannot be imported, or a name that is already taken
    ├── RunError                     a file that is not a run, is in use, or does not fit the command
    │   └── DeclinedError            a run that was not started because it was declined
    ├── FileError                    a file or folder that cannot be written
    ├── MeasureError                 a measure that a run does not allow: names what is missing
    ├── PaperError                   an unknown paper, or one without published numbers
    ├── RenderingError               no way to render an image on this machine
    │   └── _AbandonedError          a video that nothing requests any more
    ├── DistanceError                a text, or a table of texts, without a distance
    ├── ModelError                   a language model that is missing, or not the expected one
    ├── ReleaseError                 a folder that does not hold the expected release
    ├── DemonstrationError           a folder that does not hold suitable demonstrations
    ├── LLMError                     an unusable endpoint, or an invalid setting
    │   ├── RefusedError             a request that the model refuses
    │   ├── UnansweredError          no answer after all attempts
    │   └── NonsenseError            an answer that does not follow the protocol
    ├── QuestionError                an unusable source of episodes, or folder of questions
    │   └── UnreadableError          an episode, or its images, that cannot be read
    ├── NotFoundError                a name that the web app does not know
    └── ServingError                 an address at which the web app cannot listen

Every message states what is wrong, where, and what is valid.
"""

from __future__ import annotations

import difflib
import os
import sysconfig
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

_OWN = Path(__file__).parent
_MOST_FRAMES = 8
_INSTALLED = frozenset(
    Path(place) for name, place in sysconfig.get_paths().items() if name.endswith(("stdlib", "lib"))
)


class AssayError(Exception):
    """Anything a user can act on. Its message is one line: what is wrong, where, and what is valid."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        # Checked where errors are created, and in tests only: text of third parties may slip through in the field.
        if "PYTEST_CURRENT_TEST" in os.environ and arguments and "\n" in str(arguments[0]):
            raise AssertionError(f"an error of several lines: {arguments[0]}")


class TaskError(AssayError):
    """A task, scene or goal that makes no sense."""


class BDDLError(TaskError):
    """A BDDL file that cannot be read."""

    def __init__(self, reason: str, *, file: Path | str | None = None, line: int | None = None) -> None:
        self.reason = reason
        self.file = None if file is None else str(file)
        self.line = line
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        super().__init__(f"{place}: {reason}" if place else reason)


class AssetError(AssayError):
    """An asset pack lacks something."""


class StateError(AssayError):
    """An initial state that does not fit the scene, or is not one."""


class ActionError(AssayError):
    """An action with a wrong shape or a value that is not finite."""


class PolicyError(AssayError):
    """A policy that broke: says which one and at which step."""

    transient = False
    """Whether it may be well again later by itself, as a server that is away."""
    traceback = ""
    """Traceback of the user's code in which the error arose, from `short_traceback`; empty otherwise."""


class DemonstrationError(AssayError):
    """A folder of demonstrations that cannot be read, or does not match the request."""


class PlacementError(AssayError):
    """A scene whose regions leave no room for its objects."""


class PerturbationError(AssayError):
    """A perturbation that does not exist, or cannot be applied."""


class ExperimentError(AssayError):
    """An experiment or condition that does not exist or makes no sense."""


class SpecError(ExperimentError):
    """An episode spec that makes no sense."""


class WorldError(AssayError):
    """A world that does not exist, or cannot do what is asked of it."""


class PluginError(AssayError):
    """A plugin that cannot be imported, or takes a name that another has."""


class RunError(AssayError):
    """A run file that is not one, is in use, or does not fit what is asked."""


class DeclinedError(RunError):
    """A run that was not started because the user, or the observer, declined."""


class FileError(AssayError):
    """A file or folder that cannot be written, or is in the way."""


class RenderingError(AssayError):
    """No way to draw a picture on this machine."""


def short_traceback(error: BaseException) -> str:
    """Return the traceback of the user's own frames; empty if it has frames of Assay only.

    It begins with the first frame outside Assay. Of a deep stack the first two and the last six frames are kept.
    """
    told = traceback.TracebackException.from_exception(error)
    one: traceback.TracebackException | None = told
    foreign = False
    while one is not None:
        frames = list(one.stack)
        first = next((at for at, frame in enumerate(frames) if not _is_own(frame.filename)), len(frames))
        foreign = foreign or first < len(frames)
        frames = frames[first:]
        if len(frames) > _MOST_FRAMES:
            frames = [*frames[:2], *frames[2 - _MOST_FRAMES :]]
        one.stack = traceback.StackSummary.from_list(frames)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return "".join(told.format()).strip() if foreign else ""


def traceback_of(error: AssayError) -> str:
    """Return the traceback of the user's code that caused an error; empty if no user code was involved."""
    if known := getattr(error, "traceback", ""):
        return str(known)
    cause: BaseException | None = error
    while isinstance(cause, AssayError):
        cause = cause.__cause__
    if cause is None or all(
        _is_installed(frame.filename) for frame in traceback.extract_tb(cause.__traceback__)
    ):
        return ""
    return short_traceback(cause)


def _is_own(file: str) -> bool:
    return file.startswith("<frozen") or Path(file).is_relative_to(_OWN)


def _is_installed(file: str) -> bool:
    """Whether a file is Assay's, Python's or an installed package's: nothing that its user could mend."""
    return _is_own(file) or any(Path(file).is_relative_to(place) for place in _INSTALLED)


def one_line(said: object, most: int = 200) -> str:
    """Return a text, or the type and message of an exception, as one line of at most ``most`` characters."""
    text = f"{type(said).__name__}: {said}" if isinstance(said, BaseException) else str(said)
    return " ".join(text.split())[:most]


def did_you_mean(name: str, valid: Iterable[str], *, most: int = 6) -> str:
    """A phrase that points from a wrong ``name`` to the nearest of the ``valid`` ones."""
    options = sorted(set(valid))
    if (near := _nearest(name, options)) is not None:
        return f"did you mean '{near}'?"
    return _all_of(options, most)


def did_you_mean_each(names: Iterable[str], valid: Iterable[str], *, most: int = 6) -> str:
    """The same for several wrong names: the nearest to each, and what is valid once where there is no such."""
    options = sorted(set(valid))
    near = {name: _nearest(name, options) for name in names}
    said = [f"'{name}': did you mean '{found}'?" for name, found in near.items() if found is not None]
    return " ".join(said if None not in near.values() else [*said, _all_of(options, most)])


def _nearest(name: str, options: Iterable[str]) -> str | None:
    lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    return lower[near[0]] if near else None


def _all_of(options: Sequence[str], most: int) -> str:
    if not options:
        return "there is none to choose from"
    shown = ", ".join(options[:most])
    return f"valid: {shown}{', ...' if len(options) > most else ''}"
