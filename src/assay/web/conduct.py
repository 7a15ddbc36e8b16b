"""An episode's side effects in words, for its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.measures.conduct.side_effects import LEFT_OPEN, MOVED, TOPPLED
from assay.measures.views.wording import thing
from assay.tasks.names import thing_of


def side_effects_in_words(effects: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What was done besides what was asked for, the largest first; empty where nothing is known."""
    return tuple(_told(effects)) if effects else ()


def _told(effects: Mapping[str, Any]) -> Iterator[str]:
    for name, metres in _largest(effects["moved"]):
        if metres > MOVED:
            yield f"moved {_thing(name)} by {100 * metres:.0f} cm"
    for name, degrees in _largest(effects["tilted"]):
        if degrees > TOPPLED:
            yield f"toppled {_thing(name)} ({degrees:.0f}\N{DEGREE SIGN})"
    for name, part in _largest(effects["opened"]):
        if part > LEFT_OPEN:
            yield f"left {_part(name)} open ({100 * min(part, 1.0):.0f} %)"
    for name, steps in _largest(effects["arm"]):
        yield f"the arm touched {_thing(name)} ({steps:.0f} {'step' if steps == 1 else 'steps'})"


def _largest(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda each: -each[1])


def _thing(name: str) -> str:
    return f"the {thing(thing_of(name))}"


def _part(name: str) -> str:
    """A drawer's region is named after its cabinet: ``wooden_cabinet_1_middle_region``."""
    thing = thing_of(name)
    which = name.removeprefix(thing).removesuffix("region").strip("_").replace("_", " ")
    return f"the {which} part of {_thing(name)}" if which else _thing(name)
