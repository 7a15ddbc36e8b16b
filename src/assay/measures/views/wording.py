"""Numbers as people read them: percentages, points, intervals, p values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from assay import tasks
from assay.episodes.perturbation import TOGETHER
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
    found = dict.fromkeys(interval.method for interval in intervals if interval is not None)
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


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """A number to be seen first."""

    name: str
    value: str
    detail: str
    """Its interval and count."""
    about: str = ""
    """What is counted, over which episodes: one line."""

    def over(self, tasks: Interval | None) -> KeyNumber:
        """The same with the interval about tasks in general, if there is one."""
        if tasks is None:
            return self
        return replace(self, detail=f"{self.detail}; tasks in general {between(tasks, 100)}")

    @classmethod
    def of(
        cls, name: str, value: str, interval: Interval | None, count: int, about: str = "", scale: float = 100
    ) -> KeyNumber:
        """With its interval, times ``scale``, and its count."""
        return cls(name, value, f"{between(interval, scale, 1 if scale > 1 else 2)}; n = {count:,}", about)


CHANGE_PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "wording": "with other wordings",
        "names": "with other names",
        "surface": "with the same words written differently",
        "": "when something is changed",
        "task": "when another task is asked for",
        "position": "with objects elsewhere",
        "appearance": "with objects that look different",
        "object": "with objects of another size or category",
        "appearance+object": "with objects of another look, size or category",
        "clutter": "with further objects",
        "room": "with another background or lighting",
        "camera": "with the camera elsewhere",
        "robot": "with the robot elsewhere",
        "senses": "with disturbed observations or actions",
        "meanwhile": "after things were moved during the episode",
        "request": "after the request was changed during the episode",
        "cancel": "(stop safely) after the request was taken back",
        "interruption": "after another light, camera, object, frozen image or delay during the episode",
        "mask=instruction": "with the whole prompt masked",
        "instruction=other": "with the prompt of another task",
        "mask=language": "with the words masked",
        "gobbledygook=words": "with nonsense words",
        "gobbledygook=tokens": "with nonsense tokens",
        "mask=visual": "with the images masked",
        "paraphrase": "with paraphrased prompts",
        "referents=text": "with words for the images",
        "order=permuted": "with the order permuted",
        "difficulty=distracting": "with more distractors",
        "difficulty=extreme": "at extreme difficulty",
        "difficulty=extremely-distracting": "with more distractors at extreme difficulty",
    }
)


def describe_change(part: str) -> str:
    """Under which change."""
    if part not in CHANGE_PHRASES and TOGETHER in part:
        return f"with {listed(part.split(TOGETHER))} changed together"
    return CHANGE_PHRASES.get(part, f"under {part}")
