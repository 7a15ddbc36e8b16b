"""Formatting of numbers and names: percentages, points, intervals, p values, lists."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay import tasks
from assay.episodes.perturbation import TOGETHER
from assay.episodes.spec import Label
from assay.errors import AssayError
from assay.support.stats.intervals import Interval

NOT = "\N{EN DASH}"
"""Placeholder for a missing number."""
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 1) -> str:
    """Format a number with a true minus sign; zero has none, and halves are rounded away from zero."""
    size = math.floor(abs(value) * 10**digits + 0.5) / 10**digits
    return f"{MINUS if value < 0 and size else ''}{size:,.{digits}f}"


def signed(value: float, digits: int = 1) -> str:
    """Format a number with its sign."""
    text = number(value, digits)
    return text if text[0] == MINUS or not float(text.replace(",", "")) else f"+{text}"


def percent(share: float | None, digits: int = 1) -> str:
    """Format a fraction (0 to 1) as a percentage."""
    return NOT if share is None else f"{number(100 * share, digits)} %"


def points(change: float) -> str:
    """Format a difference of fractions in percentage points, with its sign."""
    return signed(100 * change)


def between(interval: Interval | None, scale: float = 1.0, digits: int = 1) -> str:
    """Format the bounds of an interval, both multiplied by ``scale``."""
    if interval is None:
        return NOT
    return f"{number(scale * interval.low, digits)} to {number(scale * interval.high, digits)}"


def negate(interval: Interval) -> Interval:
    """Return the interval of the negated value, for example of a loss from that of a change."""
    return Interval(-interval.high, -interval.low, interval.method)


def methods(intervals: Iterable[Interval | None]) -> str:
    """List the methods of intervals: "Wilson", "Student, over starts", ..."""
    text = "; ".join(dict.fromkeys(interval.method for interval in intervals if interval is not None))
    return re.sub(r"\b(wilson|newcombe|student|fisher)\b", lambda name: name[0].capitalize(), text)


def p_value(p: float) -> str:
    """Format a p value."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_phrase(p: float) -> str:
    """Format a p value within a sentence."""
    return f"p {p_value(p)}" if p < 0.001 else f"p = {p_value(p)}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(parts: Iterable[str], last: str = "and") -> str:
    """Join parts into a phrase: a, b and c."""
    *rest, end = list(parts) or [""]
    return f"{', '.join(rest)} {last} {end}" if rest else end


def describe_runs(texts: Mapping[str, str], separator: str = "; ") -> str:
    """Join texts about several runs, each after the name of its run; a single run is not named."""
    named = (f"{run}: {text}" for run, text in texts.items())
    return separator.join(named if len(texts) > 1 else texts.values())


def group_name(group: dict[str, Label]) -> str:
    """Return the name of a group of episodes, from its columns and values."""
    return ", ".join(str(value) for value in group.values()) or "all"


def task_instruction(task: str) -> str | None:
    """Return the instruction of a task; None if the task is not in the catalogue."""
    try:
        return tasks.load(task).instruction.text
    except AssayError:
        return None


def natural(name: str) -> list[str | int]:
    """Return a sort key that orders numbers by value: libero_goal/2 before libero_goal/10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


def thing(name: str) -> str:
    """Return the readable name of an entity: ``akita_black_bowl_1`` becomes akita black bowl."""
    return " + ".join(
        " ".join(word for word in part.split("_") if not word.isdigit()) for part in name.split("+")
    )


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """A key number at the top of a report."""

    name: str
    value: str
    detail: str
    """Interval and count."""
    about: str = ""
    """Definition on one line."""

    @classmethod
    def of(
        cls,
        name: str,
        value: str,
        interval: Interval | None,
        count: int,
        about: str = "",
        scale: float = 100,
        over_tasks: Interval | None = None,
    ) -> KeyNumber:
        """Return a key number with its interval, multiplied by ``scale``, and its count.

        ``over_tasks`` is the interval for tasks in general, if there is one.
        """
        digits = 1 if scale > 1 else 2
        detail = f"{between(interval, scale, digits)}; n = {count:,}"
        if over_tasks is not None:
            detail += f"; tasks in general {between(over_tasks, scale, digits)}"
        return cls(name, value, detail, about)


CHANGE_PHRASES = {
    "wording": "with other wordings",
    "names": "with other names",
    "surface": "with the same words written differently",
    "": "under all changes",
    "task": "when another task is requested",
    "position": "with objects at other positions",
    "appearance": "with objects of another appearance",
    "object": "with objects of another size or category",
    "appearance+object": "with objects of another appearance, size or category",
    "clutter": "with additional objects",
    "room": "with another background or lighting",
    "camera": "with another camera pose",
    "robot": "with another robot pose",
    "senses": "with disturbed observations or actions",
    "meanwhile": "after objects were moved mid-episode",
    "request": "after the instruction was changed mid-episode",
    "cancel": "(stop safely) after the instruction was cancelled",
    "interruption": "after a mid-episode change of lighting or camera, a new object, a frozen image or a delay",
}


def describe_change(part: str) -> str:
    """Return a phrase for a change, such as ``with another camera pose``."""
    if part not in CHANGE_PHRASES and TOGETHER in part:
        return f"with {listed(part.split(TOGETHER))} changed together"
    return CHANGE_PHRASES.get(part, f"under {part}")
