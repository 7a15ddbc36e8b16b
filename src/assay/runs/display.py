"""Console output of runs: progress, success by condition, errors."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Self

from polars import DataFrame
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from assay.episodes import Episode, EpisodeSpec
from assay.runs.execute import Observer
from assay.runs.rows import Clipping
from assay.runs.store import Store
from assay.support.console import Pulse, errors, number_of, progress_bar, say, table_of

SHOWN = ("condition", "planned", "done", "success", "error")
"""Columns of `Store.counts` that are shown."""
MAX_CONDITIONS = 20
"""Maximum number of conditions shown during a run; the most recently executed ones are shown."""
MAX_REASONS, MAX_TRACEBACKS = 10, 3
"""Maximum numbers of reasons and of tracebacks that are printed."""
PACE_WINDOW_S = 60.0
"""Duration of the time window over which the pace is averaged, in seconds."""
_VARIABLE_WORD = re.compile(r"\S*[\d_/\\]\S*")
"""Pattern for words (object names, file names, numbers) in which otherwise identical errors may differ."""


class CertifyingDisplay(Observer):
    """Shows the progress of certification on standard error."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._live: Live | None = None
        self.certifying_only = False
        """Whether scenes have been certified but no episode has been started yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def certifying(self, wanted: int) -> None:
        """Announce certification and start a progress bar."""
        say(f"certifying {number_of(wanted, 'scene')}: the oracle must solve each of them", aside=True)
        self.certifying_only = True
        self._start_bar("certifying", wanted)

    def scene_certified(self) -> None:
        """Advance the progress bar."""
        assert self._bar is not None
        self._bar.advance(self._task)

    def began(self, store: Store, waiting: int) -> None:
        """Stop the progress bar."""
        self._close()
        self.certifying_only = False

    def _start_bar(self, text: str, total: int) -> None:
        self._bar = progress_bar()
        self._bar.start()
        self._task = self._bar.add_task(text, total=total)

    def _close(self) -> None:
        for shown in (self._bar, self._live):
            if shown is not None:
                shown.stop()
        self._bar = self._live = None


class RunDisplay(CertifyingDisplay):
    """Shows a progress bar and success by condition on a terminal; in other output, prints occasional lines.

    The first Ctrl-C lets running episodes finish; the second stops immediately.
    """

    def __init__(self) -> None:
        super().__init__()
        self._interrupts = 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # other threads get no signals
            self._handler_before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handler_before)
        self._close()

    def _on_interrupt(self, number: int, frame: object) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            raise KeyboardInterrupt
        errors.print("finishing running episodes; press Ctrl-C again to stop immediately")

    def began(self, store: Store, waiting: int) -> None:
        """Start the progress bar and the table of episodes."""
        super().began(store, waiting)
        self._rows = {name: [*numbers] for name, *numbers in store.counts().select(SHOWN).iter_rows()}
        self._visible: deque[str] = deque(list(self._rows)[:MAX_CONDITIONS], maxlen=MAX_CONDITIONS)
        self._times: deque[float] = deque()
        self._started = time.monotonic()
        self._pulse = Pulse()
        self._episodes = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            console=errors,
        )
        self._episodes.add_task("episodes", total=waiting, pace="")
        if errors.is_terminal:
            self._live = Live(console=errors, transient=True, refresh_per_second=4)
            self._live.start()

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Show a finished episode, or update the elapsed time."""
        now, (task,) = time.monotonic(), self._episodes.tasks
        if spec is not None and episode is not None:
            row = self._rows[spec.condition]
            row[1] += 1
            row[2] += episode.outcome == "success"
            row[3] += episode.outcome == "error"
            if spec.condition not in self._visible:
                self._visible.append(spec.condition)
            self._times.append(now)
            self._episodes.advance(task.id)
        while self._times and now - self._times[0] > PACE_WINDOW_S:
            self._times.popleft()
        pace, span = "", min(PACE_WINDOW_S, now - self._started)
        if self._times and span >= 1.0:
            rate = len(self._times) / span
            left = int(((task.total or 0) - task.completed) / rate)
            pace = f"{60 * rate:.0f} per minute, {left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"
        if self._live is not None:
            self._episodes.update(task.id, pace=pace)
            table = _table({name: self._rows[name] for name in self._visible}, set())
            self._live.update(Group(self._episodes, table))
        else:
            done = f"episodes: {task.completed:.0f} of {task.total:.0f}"
            self._pulse.beat(", ".join(filter(None, (done, pace))))

    def stopping(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._interrupts > 0


def condition_table(counts: DataFrame, decided: set[str], refused: Mapping[str, int]) -> Table:
    """Return a table of a run's success by condition, from `Store.counts` and the numbers of refused episodes.

    A condition whose episodes were all refused has a row as well.
    """
    rows = {name: [*numbers] for name, *numbers in counts.select(SHOWN).iter_rows()}
    unexpected = set(counts.filter(~counts["success_expected"])["condition"])
    rows |= {name: [0, 0, 0, 0] for name in refused if name not in rows}
    return _table(rows, decided, refused, unexpected)


def _table(
    rows: dict[str, list[int]],
    decided: set[str],
    refused: Mapping[str, int] = MappingProxyType({}),
    unexpected: AbstractSet[str] = frozenset(),
) -> Table:
    names = ("condition", "done", "success", "rate", "errors", *(("refused",) if refused else ()))
    table = table_of(names[0], *(Column(name, justify="right", no_wrap=True) for name in names[1:]))
    for name, (planned, done, success, error) in rows.items():
        counted = done - error
        rate = f"{100 * success / counted:.1f} %" if counted else "-"
        mark = " (decided)" if name in decided else ""
        mark += " (success is not expected)" if name in unexpected else ""
        cells = [name + mark, f"{done}/{planned}", f"{success}/{counted}", rate, str(error or "")]
        table.add_row(*cells, *([str(refused.get(name) or "")] if refused else []))
    return table


def print_reasons(reasons: Mapping[str, int], *, aside: bool = False) -> None:
    """Print errors and their frequencies, most frequent first, grouping those that differ only in names and numbers."""
    similar: dict[str, list[str]] = {}
    for reason in reasons:
        similar.setdefault(" ".join(_VARIABLE_WORD.sub("", reason).split()), []).append(reason)
    counted = [(sum(reasons[reason] for reason in group), group) for group in similar.values()]
    for count, group in sorted(counted, key=lambda pair: -pair[0])[:MAX_REASONS]:
        say(f"{count} x error{', e.g.' if len(group) > 1 else ''}: {group[0]}", aside=aside)
    _print_more(len(counted) - MAX_REASONS, "reason", aside=aside)


def print_tracebacks(tracebacks: Iterable[str]) -> None:
    """Print each distinct traceback from user code once, on standard error."""
    texts = list(dict.fromkeys(filter(None, tracebacks)))
    for text in texts[:MAX_TRACEBACKS]:
        say(text, aside=True)
    _print_more(len(texts) - MAX_TRACEBACKS, "traceback", aside=True)


def print_clipping(clipping: Clipping) -> None:
    """Print the number of clipped actions, as a warning if there are many."""
    if clipping.warning:
        say(f"warning: {clipping.warning}", aside=True)
    elif clipping.cut:
        say(f"{clipping.cut:,} of {clipping.actions:,} actions were outside [-1, 1] and were clipped")


def print_errors(store: Store) -> bool:
    """Print a run's errors and their tracebacks on standard error; return whether all episodes are errors."""
    reasons = store.reasons()
    print_reasons(reasons, aside=True)
    print_tracebacks(store.tracebacks().values())
    return 0 < store.done <= sum(reasons.values())


def print_refused(reasons: Mapping[str, int]) -> None:
    """Print the number of refused episodes and the reasons, most frequent first."""
    if reasons:
        say(f"{number_of(sum(reasons.values()), 'episode')} refused for lack of a certificate:")
        print_counts(reasons)


def print_counts(reasons: Mapping[str, int], *, most: int = MAX_REASONS) -> None:
    """Print reasons with their counts, at most ``most`` of them."""
    for reason, count in list(reasons.items())[:most]:
        say(f"{count} x {reason}")
    _print_more(len(reasons) - most, "reason")


def _print_more(count: int, noun: str, *, aside: bool = False) -> None:
    if count > 0:
        say(f"... and {number_of(count, f'other {noun}')}", aside=aside)
