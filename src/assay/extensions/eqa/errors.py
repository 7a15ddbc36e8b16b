"""What can be wrong with questions and where they come from."""

from __future__ import annotations

from assay.errors import AssayError


class QuestionError(AssayError):
    """A source of episodes, or a folder of questions, that cannot be used."""


class UnreadableError(QuestionError):
    """One episode, or its pictures, that cannot be read; others may be."""
