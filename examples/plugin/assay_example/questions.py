"""A source of action questions: the episodes of the built-in demo, from one scene."""

from __future__ import annotations

from assay.extensions.eqa.sources.simulated import DemoSource
from assay.plugin import register


@register("question source", "example-questions")
class ExampleSource(DemoSource):
    """Yield `assay.extensions.eqa.episode.SourceEpisode` values, from which questions are built."""

    name = "example-questions"

    def __init__(self, size: int = 256) -> None:
        super().__init__(size, scenes=(("libero_goal/0", 0),))
