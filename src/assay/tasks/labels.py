"""LIBERO-X's labels of tasks: four families, of each of which a task may have several labels.

`assay.experiments.labels` derives them from a task; runs keep them as the labels ``label:FAMILY`` of their
episodes, those of one family as one text: ``container, left-right``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "interaction": ("placement", "state change", "composite"),
        "subtasks": ("1", "2", "3+"),
        "relation": ("surface", "container", "left-right", "ordinal", "relative distance"),
        "attribute": ("colour", "size", "pattern", "category"),
    }
)
"""Family -> its labels, in the paper's order."""
UNSEEN, CONFOUNDING = "unseen", "confounding"
"""The two halves of level 4: targets of unseen categories, and varied ones among look-alikes."""
COLUMN = "label:"
"""How the names of episodes' labels begin that hold a family."""
_BETWEEN = ", "


def written(labels: Iterable[str]) -> str | None:
    """The labels of one family as one text; None where there is none."""
    return _BETWEEN.join(labels) or None


def read(text: str | None) -> tuple[str, ...]:
    """The labels in such a text."""
    return tuple(text.split(_BETWEEN)) if text else ()


def family_order(family: str) -> tuple[int, str]:
    """Sorts families: the paper's order, then the alphabet's."""
    return _place(family, tuple(FAMILIES)), family


def label_order(family: str, label: str) -> tuple[int, str]:
    """Sorts the labels of a family: the paper's order, then the alphabet's."""
    return _place(label, FAMILIES.get(family, ())), label


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)
