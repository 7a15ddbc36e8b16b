"""Options of the command line, checked."""

from __future__ import annotations

from assay.errors import did_you_mean
from assay.extensions.eqa.actions import TURNINGS, Turning
from assay.extensions.eqa.drafts.plan import OPTIONS_OF, Options
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.views import View


def kinds(text: str) -> list[Kind]:
    """``all``, or kinds with commas."""
    if text == "all":
        return list(Kind)
    names = [name.strip().upper() for name in text.split(",")]
    for name in names:
        if name not in list(Kind):
            raise QuestionError(f"there is no kind '{name}': {did_you_mean(name, list(Kind))}")
    return [kind for kind in Kind if kind in names]


def views(text: str) -> list[View]:
    """Views with commas, none twice: ``exo1`` is ``exo``."""
    return list(dict.fromkeys(View.parse(name.strip()) for name in text.split(",")))


def turning(text: str) -> Turning:
    """How rotations are compared."""
    for each in TURNINGS:
        if each == text:
            return each
    raise QuestionError(f"there is no turning '{text}'; valid: {', '.join(TURNINGS)}")


def options(text: str) -> Options:
    """How options are made."""
    for each in OPTIONS_OF:
        if each == text:
            return each
    raise QuestionError(f"there are no options '{text}'; valid: {', '.join(OPTIONS_OF)}")


def scale(text: str) -> tuple[float, float] | None:
    """Two different numbers with a comma, or None for nothing."""
    if not text:
        return None
    try:
        closed, opened = (float(part) for part in text.split(","))
    except ValueError:
        raise QuestionError(f"a gripper's scale is CLOSED,OPEN, two numbers, not '{text}'") from None
    if not abs(opened - closed) > 0:
        raise QuestionError(f"a gripper's scale needs two different numbers, not '{text}'")
    return closed, opened
