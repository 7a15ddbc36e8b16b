"""The exceptions that Assay raises on purpose, in whichever module they are defined.

    AssayError                       anything a user can act on; the command line prints it on one line
    ├── TaskError                    an invalid task, scene or goal
    │   ├── BDDLError                a BDDL file that cannot be read: has the file and the line
    │   ├── ImpossibleError          an atom that the oracle cannot make true
    │   └── NoSuchTaskError          a task number that is not in the suite, for scripts written for LIBERO
    ├── AssetError                   something missing from an asset pack
    ├── StateError                   an initial state that does not match the scene
    │   └── NoSuchStateError         the index of a state that does not exist, for scripts written for LIBERO
    ├── ActionError                  an action with a wrong shape or a value that is not finite
    ├── PolicyError                  an error in a policy: names the policy and the step
    │   └── RemoteError              an error from a policy server: has the address and the reason
    │       ├── UnreachableError     no connection
    │       ├── StalledError         no reply in time
    │       ├── LostError            the connection was lost
    │       ├── ServerError          the server reported an error
    │       └── ReplyError           an invalid reply
    ├── PlacementError               no room for the objects of a scene
    │   └── RejectedLayoutError      a layout that did not settle: names the responsible objects
    ├── PerturbationError            an unknown perturbation, or one that cannot be applied
    ├── ExperimentError              an unknown or invalid experiment or condition
    │   ├── SpecError                an invalid episode spec
    │   └── AxisError                an axis of change that a task does not support: a stove cannot be moved
    ├── WorldError                   an unknown world, or an operation that it does not support
    ├── PluginError                  a plugin that cannot be imported, or a name that is already taken
    ├── RunError                     a file that is not a run, is in use, or does not match the command
    │   └── DeclinedError            a run that was not started because it was declined
    ├── FileError                    a file or folder that cannot be written
    ├── MeasureError                 a measure that cannot be computed from a run: names what is missing
    ├── PaperError                   an unknown paper, or one without published numbers
    ├── RenderingError               no way to render an image on this machine
    ├── DistanceError                a text, or a table of texts, whose distance cannot be computed
    ├── ModelError                   a language model that is missing, or not the expected one
    ├── ReleaseError                 a folder that does not contain the expected release
    ├── DemonstrationError           a folder that does not contain suitable demonstrations
    ├── LLMError                     an unusable endpoint, or an invalid setting
    │   ├── RefusedError             a request that the model refuses
    │   ├── UnansweredError          no answer after all attempts
    │   └── NonsenseError            an answer that does not follow the protocol
    ├── QuestionError                an unusable source of episodes, or folder of questions
    │   └── UnreadableError          an episode, or its images, that cannot be read
    ├── NotFoundError                a name that is unknown to the web app
    └── ServingError                 an address at which the web app cannot listen

Every message states what is wrong, where, and what is expected.
"""

from __future__ import annotations

import difflib
import re
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

_OWN = Path(__file__).parent
_MAX_FRAMES = 8
_INSTALLED = frozenset(
    Path(place) for name, place in sysconfig.get_paths().items() if name.endswith(("stdlib", "lib"))
)


class AssayError(Exception):
    """Base class of errors that a user can act on; the message is one line: what is wrong, where, what is expected."""


class TaskError(AssayError):
    """Raised for an invalid task, scene or goal."""


class BDDLError(TaskError):
    """Raised when a BDDL file cannot be read."""

    def __init__(self, reason: str, *, file: Path | str | None = None, line: int | None = None) -> None:
        self.reason = reason
        self.file = None if file is None else str(file)
        self.line = line
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        super().__init__(f"{place}: {reason}" if place else reason)


class AssetError(AssayError):
    """Raised when something is missing from an asset pack."""


class StateError(AssayError):
    """Raised when an initial state is invalid or does not match the scene."""


class ActionError(AssayError):
    """Raised when an action has the wrong shape or contains a value that is not finite."""


class PolicyError(AssayError):
    """Raised when a policy fails; the message names the policy and the step."""

    transient = False
    """Whether the cause may be temporary, for example an unreachable server."""
    traceback = ""
    """Traceback of the user's code that raised the error, from `short_traceback`; empty if none exists."""


class DemonstrationError(AssayError):
    """Raised when a folder of demonstrations cannot be read or does not match the request."""


class PlacementError(AssayError):
    """Raised when the regions of a scene leave no room for its objects."""


class PerturbationError(AssayError):
    """Raised when a perturbation does not exist or cannot be applied."""


class ExperimentError(AssayError):
    """Raised for an unknown or invalid experiment or condition."""


class SpecError(ExperimentError):
    """Raised for an invalid episode spec."""


class WorldError(AssayError):
    """Raised for an unknown world, or an operation that the world does not support."""


class PluginError(AssayError):
    """Raised when a plugin cannot be imported or a name is already taken."""


class RunError(AssayError):
    """Raised when a file is not a run, is in use, or does not match the command."""


class DeclinedError(RunError):
    """Raised when a run is not started because the user, or the observer, declined."""


class FileError(AssayError):
    """Raised when a file or folder cannot be written or already exists."""


class RenderingError(AssayError):
    """Raised when no image can be rendered on this machine."""


def short_traceback(error: BaseException) -> str:
    """Return the part of a traceback that is in the user's code; empty if all frames are Assay's.

    The result begins with the first frame outside Assay. A deep stack is reduced to its first two and last six frames.
    """
    whole = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = whole
    is_foreign = False
    while part is not None:
        frames = list(part.stack)
        first = next((at for at, frame in enumerate(frames) if not _is_own(frame.filename)), len(frames))
        is_foreign = is_foreign or first < len(frames)
        frames = frames[first:]
        if len(frames) > _MAX_FRAMES:
            frames = [*frames[:2], *frames[2 - _MAX_FRAMES :]]
        part.stack = traceback.StackSummary.from_list(frames)
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)
    return "".join(whole.format()).strip() if is_foreign else ""


def traceback_of(error: AssayError) -> str:
    """Return the traceback of the user code that caused an error; empty if no user code was involved."""
    if known := getattr(error, "traceback", ""):
        return str(known)
    cause: BaseException | None = error
    while isinstance(cause, AssayError):
        cause = cause.__cause__
    if cause is None:
        return ""
    for frame in traceback.extract_tb(cause.__traceback__):
        installed = any(Path(frame.filename).is_relative_to(place) for place in _INSTALLED)
        if not installed and not _is_own(frame.filename):  # neither Assay, Python nor an installed package
            return short_traceback(cause)
    return ""


def _is_own(file: str) -> bool:
    return file.startswith("<frozen") or Path(file).is_relative_to(_OWN)


def one_line(text: object, most: int = 200) -> str:
    """Return a text, or the type and message of an exception, on one line of at most ``most`` characters."""
    prefix = f"{type(text).__name__}: " if isinstance(text, BaseException) else ""
    return " ".join(f"{prefix}{text}".split())[:most]


def plain_reason(message: str) -> str:
    """Reword pydantic's reason why a value is invalid: "Input should be greater than or equal to 0"."""
    for pattern, plain in _PLAIN_WORDS.items():
        message = re.sub(pattern, plain, message)
    return message


_PLAIN_WORDS = {
    "Input should be a valid boolean, unable to interpret input": "expected true or false",
    "Input should be a valid .*, unable to parse string as": "expected",
    "Input should be greater than or equal to": "expected a number >=",
    "Input should be less than or equal to": "expected a number <=",
    "Input should be greater than": "expected a number >",
    "Input should be less than": "expected a number <",
    "Input should be": "expected",
    "Value error, ": "",
}
"""Patterns in pydantic's messages and their replacements."""


def did_you_mean(name: str, valid: Iterable[str], *, most: int = 6) -> str:
    """Return a phrase that points from a wrong ``name`` to the nearest valid one, or lists the valid ones."""
    options = sorted(set(valid))
    lower = {option.lower(): option for option in options}
    if near := difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5):
        return f"did you mean '{lower[near[0]]}'?"
    more = ", ..." if len(options) > most else ""
    return f"choose from {', '.join(options[:most])}{more}" if options else "no valid names exist"
