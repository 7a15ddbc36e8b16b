"""Question sources by name: the demonstration, and plugins'. Files and folders are told by what is in them."""

from __future__ import annotations

from collections.abc import Callable

from assay.extensions.eqa.episode import Source
from assay.extensions.eqa.errors import QuestionError
from assay.support.plugins import Registry

DEMO = "demo"
SOURCES: Registry[Callable[[int], Source]] = Registry(
    "question source", QuestionError, {DEMO: "assay.extensions.eqa.sources.demo:DemoSource"}
)
"""Functions that open a source, given the height of the images that are rendered, pixels."""
