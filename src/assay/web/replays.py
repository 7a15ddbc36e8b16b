"""Videos and stills of episodes: the run's own, or drawn on demand and kept in the user's cache.

Pages ask again while they wait. What nobody asks for any more is not drawn; a video of few pictures comes before
stills, and stills before the video of many pictures that replaces the first.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from assay import __version__
from assay.episodes import world_of
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError
from assay.runs.episode_video import video_file
from assay.sim.bare_mujoco import mujoco
from assay.support.files import cache_folder
from assay.web.video_process import HURRY, DiedError, Kind, Order, PutOffError, VideoProcess, note_file

PROCESSES = max(1, min(2, (os.cpu_count() or 1)))
"""That draw at the same time: an episode and its control."""
MOST_BYTES = 500_000_000
"""What is kept may take; the least recently looked at goes."""
MOST_STEPS = 3_000
"""Longer episodes are not drawn."""
INTEREST = 15.0
"""Seconds after which something that nobody asks for any more is not drawn."""
RANKS: dict[Kind, int] = {"rough": 0, "still": 1, "fine": 2}
AHEAD = 3
"""The rank of what nobody waits for yet."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What a run holds of an episode that can be played again."""

    spec: EpisodeSpec
    actions: np.ndarray
    """(steps, action size)"""
    outcome: str
    error: str = ""
    """What broke, where something did."""
    states: Path | None = None
    plugins: tuple[str, ...] = ()
    own: Path | None = None
    """The video that the run itself made of it."""

    @property
    def name(self) -> str:
        """Equal for equal episodes, assets and versions only."""
        about = "\0".join((self.spec.key, self.outcome, self.error, __version__, mujoco.__version__))
        content = about.encode() + _assets(self.spec.task, self.spec.pack).encode() + self.actions.tobytes()
        return hashlib.sha256(content).hexdigest()[:32]

    @property
    def problem(self) -> str:
        """Why it cannot be played again; empty if it can."""
        if not len(self.actions):
            return "No actions are recorded, so it cannot be played again."
        if len(self.actions) > MOST_STEPS:
            return f"{len(self.actions)} steps are too many to draw here (at most {MOST_STEPS})."
        return ""


@dataclass(frozen=True, slots=True)
class Replay:
    """A video or a still, or what becomes of it."""

    state: Literal["ready", "drawing", "waiting", "failed"]
    since: float = 0.0
    """When drawing began, or it was ordered: seconds of the clock."""
    said: str = ""
    """Why it failed, or what is odd about it."""
    path: Path | None = None
    """The file, when there is one."""
    poster: Path | None = None
    """Its first picture, when there is one."""
    final: bool = True
    """Whether nothing better is to come."""

    def as_json(self) -> dict[str, Any]:
        """For the page that waits for it."""
        seconds = round(time.monotonic() - self.since) if self.since else 0
        return {
            "state": self.state,
            "seconds": seconds,
            "said": self.said,
            "final": self.final,
            "poster": self.poster is not None,
            "video": None if self.path is None else self.path.name,
        }


@dataclass(slots=True)
class _Pending:
    """An order that waits."""

    order: Order
    first: float
    latest: float
    """When it was asked for, seconds of the clock."""
    ahead: bool
    """Whether nobody waits for it yet."""

    @property
    def rank(self) -> int:
        """What has the lowest is drawn first."""
        return AHEAD if self.ahead else RANKS[self.order.kind]


@dataclass(slots=True)
class _Shared:
    """What the threads that serve pages and those that draw have in common; under one lock."""

    changed: Condition = field(default_factory=Condition)
    waiting: dict[Path, _Pending] = field(default_factory=dict)
    drawing: dict[Path, float] = field(default_factory=dict)
    """Since when, seconds of the clock."""
    busy: dict[VideoProcess, str] = field(default_factory=dict)
    """What each process that draws is at."""
    failed: dict[Path, str] = field(default_factory=dict)
    """Why."""
    died: set[Path] = field(default_factory=set)
    """Those of them whose process died: told once, and drawn when somebody asks again."""
    wanted: bool = False
    """Whether somebody is about to ask for something."""
    closed: bool = False


class Replays:
    """Draws and keeps videos and stills; a context manager."""

    def __init__(self, folder: Path | None = None, processes: int = PROCESSES) -> None:
        """``folder``: where they are kept, by default among what can be made again."""
        self.folder = folder or cache_folder() / "videos"
        self._shared = _Shared()
        self._processes = [VideoProcess() for _ in range(processes)]
        self._threads = [
            Thread(target=self._serve, args=(process,), name="videos", daemon=True)
            for process in self._processes
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._shared.changed:
            self._shared.closed = True
            self._shared.changed.notify_all()
        for process in self._processes:
            process.close()
        for thread in self._threads:
            thread.join()

    def warm(self) -> None:
        """Start the processes that draw, which takes a second: somebody looks at a run."""
        with self._shared.changed:
            self._shared.wanted = True
            self._shared.changed.notify_all()

    def video(self, recorded: Recorded, *, ahead: bool = False) -> Replay:
        """The video of an episode, as good as it is by now; the next better one is ordered.

        ``ahead``: nobody waits for it yet, so a first one is enough, and comes after all that somebody waits for.
        """
        if recorded.problem:
            if recorded.own is not None:
                return Replay("ready", path=recorded.own)
            return Replay("failed", said=recorded.problem)
        rough, fine, poster = (
            self.folder / f"{recorded.name}{end}" for end in ("-rough.mp4", ".mp4", ".jpg")
        )
        shown = poster if poster.is_file() else None
        if fine.is_file():
            return self._kept(fine, shown)
        have = recorded.own or (rough if rough.is_file() else None)
        if ahead and have is not None:
            return Replay("ready", path=have, poster=shown, final=False)
        kind: Kind = "rough" if have is None else "fine"
        now = self._ask(recorded, kind, rough if have is None else fine, ahead=ahead)
        if have is None:
            return replace(now, poster=shown, final=now.state == "failed")
        said = "" if have == recorded.own else _note(have)
        return Replay("ready", said=said, path=have, poster=shown, final=now.state == "failed")

    def named(self, recorded: Recorded, name: str) -> Path | None:
        """One of the videos of an episode by the name of its file."""
        kept = [self.folder / f"{recorded.name}{end}" for end in ("-rough.mp4", ".mp4")]
        known = [each for each in (recorded.own, *kept) if each is not None and each.is_file()]
        return next((each for each in known if each.name == name), None)

    def still(self, recorded: Recorded) -> Replay:
        """How an episode ended, in a picture."""
        if recorded.problem:
            return Replay("failed", said=recorded.problem)
        path = self.folder / f"{recorded.name}-end.jpg"
        return self._kept(path) if path.is_file() else self._ask(recorded, "still", path)

    def _kept(self, path: Path, poster: Path | None = None) -> Replay:
        for each in (path, note_file(path), *([] if poster is None else [poster])):  # they go together, too
            with suppress(OSError):
                os.utime(each)
        return Replay("ready", said=_note(path), path=path, poster=poster)

    def _ask(self, recorded: Recorded, kind: Kind, out: Path, *, ahead: bool = False) -> Replay:
        shared, now = self._shared, time.monotonic()
        with shared.changed:
            if out in shared.died:
                shared.died.remove(out)
                return Replay("failed", said=shared.failed.pop(out))
            if out in shared.failed:
                return Replay("failed", said=shared.failed[out])
            if out in shared.drawing:
                return Replay("drawing", shared.drawing[out])
            known = shared.waiting.get(out)
            if known is None:
                poster = None if kind == "still" else self.folder / f"{recorded.name}.jpg"
                order = Order(
                    kind,
                    recorded.name,
                    recorded.spec,
                    recorded.actions,
                    recorded.outcome,
                    recorded.error,
                    out,
                    poster,
                    recorded.states,
                    recorded.plugins,
                )
                known = shared.waiting[out] = _Pending(order, now, now, ahead)
                shared.changed.notify()
            known.latest, known.ahead = now, known.ahead and ahead
            if kind == "rough" and not ahead:
                self._make_room()
            return Replay("waiting", known.first)

    def _make_room(self) -> None:
        """Put off videos of many pictures, if every process is busy: one for each first one that somebody waits for."""
        busy = self._shared.busy
        if len(busy) < len(self._processes):
            return
        waited_for = sum(
            each.order.kind == "rough" and not each.ahead for each in self._shared.waiting.values()
        )
        wanted = waited_for - sum(each == HURRY for each in busy.values())
        for process in [each for each, kind in busy.items() if kind == "fine"][: max(wanted, 0)]:
            if process.hurry():
                busy[process] = HURRY

    def _serve(self, process: VideoProcess) -> None:
        """Draw until it is closed."""
        shared, latest = self._shared, ""
        while True:
            with shared.changed:
                pending = self._next(latest)
                order = None if pending is None else pending.order
                if order is None:
                    shared.changed.wait(1.0)
                else:
                    shared.drawing[order.out] = time.monotonic()
                    shared.busy[process] = order.kind
                warm = shared.wanted
                if shared.closed:
                    return
            if order is None:
                if warm:
                    with suppress(Exception):  # which the first order will meet again, and tell
                        process.begin()
                continue
            assert pending is not None
            latest = order.name
            try:
                process.render(order)
            except PutOffError:
                with shared.changed:
                    shared.waiting.setdefault(order.out, pending)
            except (
                Exception
            ) as error:  # whatever it is, the next video is drawn, and the page that waits is told
                self._fail(order.out, error)
            finally:
                with shared.changed:
                    shared.drawing.pop(order.out, None)
                    shared.busy.pop(process, None)
            self._forget()

    def _fail(self, out: Path, error: Exception) -> None:
        """Remember why something could not be drawn."""
        kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
        with self._shared.changed:
            if not self._shared.closed:
                self._shared.failed[out] = f"{kind}{error}" or "it could not be drawn"
                if isinstance(error, DiedError):
                    self._shared.died.add(out)

    def _next(self, latest: str) -> _Pending | None:
        """What is to be drawn first, by the process that played the episode ``latest``."""
        shared, now = self._shared, time.monotonic()
        for out, each in list(shared.waiting.items()):
            if now - each.latest > INTEREST:
                del shared.waiting[out]
        busy = {out.name[:32] for out in shared.drawing}
        free = [each for each in shared.waiting.values() if each.order.name not in busy]
        if not free:
            return None
        chosen = min(free, key=lambda each: (each.rank, each.order.name != latest, each.first))
        return shared.waiting.pop(chosen.order.out)

    def _forget(self) -> None:
        """Let what was not looked at for longest go while there is too much."""
        with suppress(OSError):
            files = [(each.stat(), each) for each in self.folder.iterdir() if not each.name.startswith(".")]
            total = sum(about.st_size for about, _ in files)
            for about, path in sorted(files, key=lambda each: each[0].st_mtime):
                if total <= MOST_BYTES:
                    return
                path.unlink(missing_ok=True)
                total -= about.st_size


def own_video(run: Path, spec: EpisodeSpec, outcome: str) -> Path | None:
    """The video that the run itself made of an episode, if it did."""
    folder = run.with_suffix(".videos").resolve()
    path = video_file(folder, spec, outcome).resolve()
    inside = path.is_relative_to(run.parent) and path.is_relative_to(folder)
    return path if inside and path.is_file() else None


@lru_cache(maxsize=64)
def _assets(task: str, pack: str) -> str:
    """What stands for the assets that a task is drawn with; empty where they are not here."""
    try:
        return world_of(task).digest(pack)
    except AssayError:
        return ""


def _note(path: Path) -> str:
    """What is odd about something that was drawn."""
    try:
        return str(json.loads(note_file(path).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return ""
