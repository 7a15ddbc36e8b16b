"""What the stand-in lacks is said when a script uses it: by name, and with what there is."""

from __future__ import annotations

from typing import Any, NoReturn

from assay.errors import did_you_mean

DOCS = "docs/libero.md"


class MissingError(AttributeError):
    """A part of LIBERO's interface that Assay's stand-in does not have."""


class Partial:
    """A class with some of the attributes that LIBERO's has."""

    shown_as = ""
    """What LIBERO calls it; the class's own name by default."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # Python's own protocols ask for these
        missing(type(self).shown_as or type(self).__name__, name, offered(self))


def offered(value: object) -> list[str]:
    """The public attributes of a value, and those with one underscore that scripts use."""
    fields = [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")]
    names = [name for name in dir(type(value)) if not name.startswith("__") and name != "shown_as"]
    return sorted({*fields, *(name for name in names if not name.startswith("_") or name in _USED)})


_USED = ("_check_success", "_get_observations", "_post_process", "_update_observables", "_eval_predicate")


def missing(owner: str, name: str, valid: list[str]) -> NoReturn:
    """Raise MissingError: one line with the attribute and what is offered."""
    raise MissingError(
        f"assay libero: LIBERO's {owner}.{name} is not offered: {did_you_mean(name, valid)} ({DOCS})"
    )
