"""Errors for the parts of LIBERO's interface that the stand-in lacks, raised on use."""

from __future__ import annotations

from typing import Any, NoReturn

from assay.errors import did_you_mean

DOCS = "docs/libero.md"
_PRIVATE = ("_check_success", "_get_observations", "_post_process", "_update_observables", "_eval_predicate")
"""Private names that scripts use."""


class MissingError(AttributeError):
    """An attribute of LIBERO's interface that Assay's stand-in does not have."""


class Partial:
    """Base class of stand-ins with a part of the original's attributes."""

    shown_as = ""
    """Name in LIBERO; the class's own name by default."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # Python's own protocols probe for these
        public = [known for known in dir(self) if not known.startswith("_") or known in _PRIVATE]
        raise_missing(type(self).shown_as or type(self).__name__, name, public)


def raise_missing(owner: str, name: str, valid: list[str]) -> NoReturn:
    """Raise MissingError with the attribute and similar valid ones."""
    raise MissingError(
        f"assay libero: LIBERO's {owner}.{name} is not offered: {did_you_mean(name, valid)} ({DOCS})"
    )
