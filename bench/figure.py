"""A measured value and its target; measurements in a new process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    value: float | None
    """Measured value; None if it could not be measured."""
    unit: str
    bound: float
    at_most: bool = True
    note: str = ""
    """Reason why it could not be measured, or how it was measured."""

    @property
    def measured(self) -> str:
        text = "not measured" if self.value is None else f"{self.value:.3g} {self.unit}"
        return f"{text} ({self.note})" if self.note else text

    @property
    def target(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.bound:g} {self.unit}"

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return bool(self.value <= self.bound if self.at_most else self.value >= self.bound)

    @property
    def verdict(self) -> str:
        return {True: "[green]met[/]", False: "[red]short[/]", None: "[yellow]-[/]"}[self.met]

    def as_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "bound": self.bound,
            "at_most": self.at_most,
            "met": self.met,
            "note": self.note,
        }


def exact_interval(hits: int, count: int) -> tuple[float, float]:
    """Return Clopper and Pearson's exact 95 % interval of a share."""
    interval = scipy.stats.binomtest(hits, count).proportion_ci(method="exact")
    return float(interval.low), float(interval.high)


def call_in_new_process(function: Callable[..., Sequence[float]], *arguments: object) -> list[float]:
    """Call a function of a bench module in a new interpreter, whose memory is the function's; arguments arrive as text.

    Raises CalledProcessError if it fails; its traceback is on standard error.
    """
    script = f"import sys, {function.__module__} as bench; print(*bench.{function.__name__}(*sys.argv[1:]))"
    words = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def peak_memory() -> float:
    """Return the largest amount of memory that this process has held, in MB; needs Linux.

    `getrusage` would include the memory of the process that started it.
    """
    (peak,) = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) / 1024
