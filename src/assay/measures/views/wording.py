"""Numbers as people read them: percentages, points, intervals, p values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from assay import tasks
from assay.episodes.spec import Label
from assay.errors import AssayError
from assay.support.stats.intervals import Interval

NOT = "\N{EN DASH}"
"""Stands for a number that there is not."""
MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 1) -> str:
    """A number with a true minus sign; zero has none. Halves are rounded away from zero, all of them."""
    size = math.floor(abs(value) * 10**digits + 0.5) / 10**digits
    return f"{MINUS if value < 0 and size else ''}{size:,.{digits}f}"


def signed(value: float, digits: int = 1) -> str:
    """A number that says whether it is above or below zero."""
    text = number(value, digits)
    return text if text[0] == MINUS or not float(text.replace(",", "")) else f"+{text}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share (0 to 1) in percent."""
    return NOT if share is None else f"{number(100 * share, digits)} %"


def points(change: float) -> str:
    """The difference of two shares, in percentage points, with its sign."""
    return signed(100 * change)


def between(interval: Interval | None, scale: float = 1.0, digits: int = 1) -> str:
    """Both ends of an interval, times ``scale``."""
    if interval is None:
        return NOT
    return f"{number(scale * interval.low, digits)} to {number(scale * interval.high, digits)}"


def turned(interval: Interval | None) -> Interval | None:
    """The interval of the negated value."""
    return None if interval is None else Interval(-interval.high, -interval.low, interval.method)


def methods(intervals: Iterable[Interval | None]) -> str:
    """How intervals were made: "Wilson", "Student, over starts"."""
    found = dict.fromkeys(each.method for each in intervals if each is not None)
    return re.sub(
        r"\b(wilson|newcombe|student|fisher)\b", lambda name: name[0].capitalize(), "; ".join(found)
    )


def p_value(p: float) -> str:
    """A p value; below a thousandth nobody needs its digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_phrase(p: float) -> str:
    """A p value within a sentence."""
    return f"p {p_value(p)}" if p < 0.001 else f"p = {p_value(p)}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count and what is counted."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(parts: Iterable[str], last: str = "and") -> str:
    """Parts as one phrase: a, b and c."""
    *rest, end = list(parts) or [""]
    return f"{', '.join(rest)} {last} {end}" if rest else end


def group_name(group: dict[str, Label]) -> str:
    """What the episodes of a group have in common, in a word."""
    return ", ".join(str(value) for value in group.values()) or "all"


def told(task: str) -> str | None:
    """A task's own words; None where it is none of ours."""
    try:
        return tasks.load(task).instruction.text
    except AssayError:
        return None


def natural(name: str) -> list[str | int]:
    """Sorts names as people do: libero_goal/2 is before libero_goal/10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


def counted_in_order(names: Iterable[str]) -> list[str]:
    """Each name once, where it comes first; those that differ in a number alone, as L1 and L4, by that number."""
    found = list(dict.fromkeys(names))
    alike: dict[str, list[str]] = {}
    for name in found:
        alike.setdefault(re.sub(r"[0-9]+", "0", name), []).append(name)
    ordered = {kind: iter(sorted(same, key=natural)) for kind, same in alike.items()}
    return [next(ordered[re.sub(r"[0-9]+", "0", name)]) for name in found]


def thing(name: str) -> str:
    """An entity as people call it: ``akita_black_bowl_1`` is akita black bowl."""
    return " + ".join(
        " ".join(word for word in part.split("_") if not word.isdigit()) for part in name.split("+")
    )
