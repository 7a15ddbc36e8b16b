"""What is to be seen while a run runs: how far it is, how fast, and success so far for each condition."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from types import MappingProxyType, TracebackType
from typing import Self

from polars import DataFrame
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from assay.episodes import Episode, EpisodeSpec
from assay.runs.clipping import Clipping
from assay.runs.execute import Observer
from assay.runs.store import Store
from assay.support.console import Pulse, errors, number_of, progress_bar, say, table_of

MOST_CONDITIONS = 20
"""How many conditions are shown while it runs; the latest ones."""
RECENT = 60.0
"""Seconds over which the pace is taken."""
_PARTICULAR = re.compile(r"\S*[\d_/\\]\S*")
"""Names of things and files, and numbers: what reasons that are otherwise the same differ in."""


class Interrupts:
    """Counts Ctrl-C: the first lets running episodes finish, the second ends at once."""

    def __init__(self) -> None:
        self.count = 0
        self._heard = threading.current_thread() is threading.main_thread()  # no other gets signals

    def __enter__(self) -> None:
        if self._heard:
            self._before = signal.signal(signal.SIGINT, self._hear)

    def __exit__(self, *error: object) -> None:
        if self._heard:
            signal.signal(signal.SIGINT, self._before)

    def __call__(self) -> bool:
        """Whether it was pressed."""
        return self.count > 0

    def _hear(self, number: int, frame: object) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
        errors.print("finishing what is running; Ctrl-C again to stop at once")


class Certifying(Observer):
    """Shows on standard error how scenes are certified, and nothing of the episodes, which a script plays."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def certifying(self, wanted: int) -> None:
        """Say what is done before anything is played, and begin a bar."""
        say(
            f"certifying first: the oracle has to solve {number_of(wanted, 'scene')} (--uncertified goes without)",
            aside=True,
        )
        self._bar = progress_bar()
        self._bar.start()
        self._task = self._bar.add_task("certifying", total=wanted)

    def certified(self) -> None:
        """Go on by one."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def began(self, store: Store, waiting: int) -> None:
        """End the bar: what follows is the script's to print."""
        self.__exit__()


class RunDisplay(Observer):
    """Shows on standard error how a run goes; the first Ctrl-C lets running episodes finish."""

    def __init__(self) -> None:
        self._interrupted = Interrupts()
        self._bar: Progress | None = None
        self._live: Display | None = None
        self.certifying_only = False
        """Whether it has not come to the episodes."""

    def __enter__(self) -> Self:
        self._interrupted.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._interrupted.__exit__()
        self._close(kind, error, trace)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C ends what is done within at once: nothing is running that could be finished."""
        self._interrupted.__exit__()
        try:
            yield
        finally:
            self._interrupted.__enter__()

    def certifying(self, wanted: int) -> None:
        """Begin a bar."""
        self.certifying_only = True
        self._bar = progress_bar()
        self._bar.start()
        self._task = self._bar.add_task("certifying", total=wanted)

    def certified(self) -> None:
        """Go on by one."""
        assert self._bar is not None
        self._bar.advance(self._task)

    def began(self, store: Store, waiting: int) -> None:
        """Begin the bar and the table of the episodes."""
        self._close(None, None, None)
        self.certifying_only = False
        self._live = Display(store, waiting, console=errors)
        self._live.__enter__()

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Show one more episode, or that time goes by."""
        assert self._live is not None
        self._live.update(spec, episode)

    def stopping(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupted()

    def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._live is not None:
            self._live.__exit__(kind, error, trace)
            self._live = None


class Display:
    """A bar and a table on a console; without a terminal, a line now and then."""

    def __init__(self, store: Store, waiting: int, *, console: Console) -> None:
        self._rows = _rows(store.counts())
        self._shown: deque[str] = deque(list(self._rows)[:MOST_CONDITIONS], maxlen=MOST_CONDITIONS)
        self._times: deque[float] = deque()
        self._started = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            console=console,
        )
        self._task = self._bar.add_task("episodes", total=waiting, pace="")
        self._pulse = Pulse()
        self._live = (
            Live(console=console, transient=True, refresh_per_second=4) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Show one more episode, or that time goes by."""
        now = time.monotonic()
        if spec is not None and episode is not None:
            row = self._rows[spec.condition]
            row[1] += 1
            row[2] += episode.outcome == "success"
            row[3] += episode.outcome == "error"
            if spec.condition not in self._shown:
                self._shown.append(spec.condition)
            self._times.append(now)
            self._bar.advance(self._task)
        while self._times and now - self._times[0] > RECENT:
            self._times.popleft()
        if self._live is not None:
            self._bar.update(self._task, pace=self._pace(now))
            self._live.update(
                Group(self._bar, _table({name: self._rows[name] for name in self._shown}, set()))
            )
        else:
            task = self._bar.tasks[0]
            far = f"episodes: {task.completed:.0f} of {task.total:.0f}"
            self._pulse.beat(", ".join(part for part in (far, self._pace(now)) if part))

    def _pace(self, now: float) -> str:
        span = min(RECENT, now - self._started)
        if not self._times or span < 1.0:
            return ""
        rate = len(self._times) / span
        task = self._bar.tasks[0]
        left = int(((task.total or 0) - task.completed) / rate)
        return f"{60 * rate:.0f} a minute, {left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"


def condition_table(counts: DataFrame, decided: set[str], refused: Mapping[str, int]) -> Table:
    """Success for each condition of a run: what ``Store.counts`` gives, and how many episodes were refused.

    A condition of which all were refused has a row too.
    """
    rows = _rows(counts)
    unexpected = set(counts.filter(~counts["success_expected"])["condition"])
    rows |= {name: [0, 0, 0, 0] for name in refused if name not in rows}
    table = _table(rows, decided, refused, unexpected)
    return table


def _rows(counts: DataFrame) -> dict[str, list[int]]:
    return {
        row["condition"]: [row["planned"], row["done"], row["success"], row["error"]]
        for row in counts.iter_rows(named=True)
    }


def _table(
    rows: dict[str, list[int]],
    decided: set[str],
    refused: Mapping[str, int] = MappingProxyType({}),
    unexpected: AbstractSet[str] = frozenset(),
) -> Table:
    names = ("condition", "done", "success", "rate", "errors", *(("refused",) if refused else ()))
    table = table_of(*names)
    for name, (planned, done, success, error) in rows.items():
        counted = done - error
        rate = f"{100 * success / counted:.1f} %" if counted else "-"
        mark = " (decided)" if name in decided else ""
        mark += " (success is not expected)" if name in unexpected else ""
        cells = [name + mark, f"{done}/{planned}", f"{success}/{counted}", rate, str(error or "")]
        table.add_row(*cells, *([str(refused.get(name) or "")] if refused else []))
    return table


def print_reasons(reasons: Mapping[str, int], *, most: int = 10, aside: bool = False) -> None:
    """Say what broke, and how often: the most frequent first. Reasons that differ in names and numbers are one."""
    alike: dict[str, list[str]] = {}
    for reason in reasons:
        alike.setdefault(" ".join(_PARTICULAR.sub("", reason).split()), []).append(reason)
    counted = [(sum(reasons[each] for each in same), same) for same in alike.values()]
    for count, same in sorted(counted, key=lambda each: -each[0])[:most]:
        say(f"{count} x error{', such as' if len(same) > 1 else ''}: {same[0]}", aside=aside)
    if len(counted) > most:
        say(f"... and {number_of(len(counted) - most, 'other reason')}", aside=aside)


def print_tracebacks(told: Iterable[str], *, most: int = 3) -> None:
    """Where somebody's own code broke, each place once, on standard error."""
    places = list(dict.fromkeys(each for each in told if each))
    for place in places[:most]:
        say(place, aside=True)
    if len(places) > most:
        say(f"... and {number_of(len(places) - most, 'other traceback')}", aside=True)


def print_damage(store: Store) -> None:
    """Say aside what of a run's file is damaged and left out."""
    for each in store.damaged():
        say(f"{store.path}: damaged: {each}", aside=True)


def print_clipping(found: Clipping) -> None:
    """Say how many actions were cut, and what to do where they are many."""
    if found.warning:
        say(f"warning: {found.warning}", aside=True)
    elif found.cut:
        say(f"{found.cut:,} of {found.actions:,} actions were outside [-1, 1] and were cut to it")


def print_errors(store: Store) -> bool:
    """Say aside what broke in a run, and where in the policy's own code; whether all of its episodes did."""
    print_reasons(store.reasons(), aside=True)
    print_tracebacks(store.tracebacks().values())
    counts = store.counts()
    return bool(counts["done"].sum()) and not (counts["success"] + counts["failure"]).sum()


def print_refused(reasons: Mapping[str, int], *, most: int = 10) -> None:
    """Say how many episodes were left out of a plan, and why: the most frequent reasons first."""
    if not reasons:
        return
    say(f"{number_of(sum(reasons.values()), 'episode')} refused, without a certificate:")
    print_counts(reasons, most=most)


def print_counts(reasons: Mapping[str, int], *, most: int) -> None:
    """Reasons and how often each was given, in their order; how many others there are."""
    for reason, count in list(reasons.items())[:most]:
        say(f"{count} x {reason}")
    if len(reasons) > most:
        say(f"... and {number_of(len(reasons) - most, 'other reason')}")
