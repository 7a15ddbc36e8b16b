"""Sentences with gaps, from ``frames.yaml``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from assay.tasks.language.entries import Entry, load_yaml, validate

Sentences = tuple[str, ...]


class Structural(Entry):
    """Frames of coordination or subordination."""

    one: Sentences = ()
    part: Sentences = ()
    enables: Sentences = ()
    put: Sentences = ()
    push: Sentences = ()
    several: Sentences = ()
    several_enables: Sentences = ()
    several_reversed: Sentences = ()
    several_state: Sentences = ()


class Pragmatic(Entry):
    """Frames of questions or hints, by the steps they fit."""

    any: Sentences
    move: Sentences
    holds: Sentences
    takes: Sentences
    change: Sentences


class Frames(Entry):
    """Sentences with gaps; ``frames.yaml`` explains them."""

    coordination: Structural
    subordination: Structural
    need: Sentences
    embedded: Sentences
    permission: Sentences
    question: Pragmatic
    hint: Pragmatic


@cache
def frames() -> Frames:
    """What ``frames.yaml`` holds."""
    return validate(Frames, load_yaml(files(__package__).joinpath("frames.yaml")), "frames.yaml")
