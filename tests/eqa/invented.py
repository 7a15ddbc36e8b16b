"""A small folder of questions about an invented robot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.eqa.build import build
from assay.eqa.episode import Episode, Tally
from assay.eqa.question import Kind
from assay.eqa.sources.schema import NEAR
from assay.eqa.views import View

from .conftest import TEXTS, Drawn, walk


class Invented:
    name, rules, threads = "invented", NEAR, 1

    def episodes(self, tally: Tally) -> Iterator[Episode]:
        for number in range(16):
            states = walk(number)
            cameras = Drawn(states), Drawn(states)
            scene = f"scene {number // 4}"
            yield Episode(str(number), TEXTS[number % 4], states, cameras, Drawn(states), scene)


def small_set(out: Path, per_kind: int = 4, views: str = "exo,ego") -> Path:
    """Six kinds, each so many times, in each view."""
    build(out, [Invented()], dict.fromkeys(Kind, per_kind), [View.parse(name) for name in views.split(",")])
    return out
