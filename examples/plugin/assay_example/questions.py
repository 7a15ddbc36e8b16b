"""A source of questions on actions: the demonstration's, of one scene."""

from __future__ import annotations

from assay.extensions.eqa.sources.demo import DemoSource
from assay.plugin import register


@register("question source", "example-questions")
class ExampleSource(DemoSource):
    """Whatever yields `assay.extensions.eqa.episode.SourceEpisode` values can be asked about."""

    name = "example-questions"

    def __init__(self, size: int = 256) -> None:
        super().__init__(size, scenes=(("libero_goal/0", 0),))
