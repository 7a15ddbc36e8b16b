"""The fields of perturbations: which numbers are valid, checked when one is made, and told in tables."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, get_args, get_origin, get_type_hints

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.base import Perturbation, kinds

AXES = ("words", "world", "senses")


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """A field for numbers from ``low`` to ``high``, whole if ``low`` is; and for None as the default."""
    return field(default=default, metadata=between(low, high))


def between(low: float, high: float) -> dict[str, tuple[float, float]]:
    """The metadata of a field for tuples of numbers from ``low`` to ``high``."""
    return {"valid": (low, high)}


def check(value: Any) -> None:
    """Raise PerturbationError if a field holds what is not valid; names of choices become the choices.

    Fields for numbers are those made by `within` or with `between`, fields for choices those with an Enum.
    """
    choices, lengths = _choices(value.__class__), _lengths(value.__class__)
    for each in fields(value):
        found = getattr(value, each.name)
        if each.name in choices and not (found is None and each.default is None):
            object.__setattr__(value, each.name, _chosen(value.kind, each.name, found, choices[each.name]))
        if "valid" not in each.metadata or (found is None and each.default is None):
            continue
        low, high = each.metadata["valid"]
        length = lengths.get(each.name)
        numbers = found if length and isinstance(found, tuple) else (found,)
        if len(numbers) != (length or 1) or not all(_is_number(one, low, high) for one in numbers):
            valid = _range(each) + (f", {length} of them" if length else "")
            raise PerturbationError(f"{value.kind}: {each.name} is {found!r:.60}; valid: {valid}")


def check_change(value: Any, **neutral: object) -> None:
    """Raise PerturbationError if each field named here holds what changes nothing."""
    if all(getattr(value, name) == nothing for name, nothing in neutral.items()):
        names = " or ".join(neutral)
        raise PerturbationError(f"{value.kind}: nothing is changed; valid: another {names}")


def _is_number(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number of a range, whole if its lower end is."""
    right = isinstance(value, Integral if isinstance(low, int) else Real) and not isinstance(value, bool)
    return right and bool(low <= value <= high)


def _chosen(kind: str, name: str, found: Any, choices: type[Enum]) -> Enum:
    try:
        return choices(found)
    except ValueError:
        valid = [str(member.value) for member in choices]
        raise PerturbationError(
            f"{kind}: {name} is {found!r:.60}: {did_you_mean(str(found), valid)}"
        ) from None


@cache
def _choices(made: type) -> dict[str, type[Enum]]:
    """The fields of a class that hold a member of an Enum, and which."""
    return {
        name: kind
        for name, hint in get_type_hints(made).items()
        for kind in (hint, *get_args(hint))
        if inspect.isclass(kind) and issubclass(kind, Enum)
    }


@cache
def _lengths(made: type) -> dict[str, int]:
    """The fields of a class that hold a tuple of so many values."""
    return {
        name: len(get_args(kind))
        for name, hint in get_type_hints(made).items()
        for kind in (hint, *get_args(hint))
        if get_origin(kind) is tuple and ... not in get_args(kind)
    }


@dataclass(frozen=True, slots=True)
class Description:
    """A perturbation in words."""

    kind: str
    name: str
    """Of its class."""
    about: str
    fields: tuple[str, ...]
    """Each with its range and default."""
    plausible: str
    """Whether a policy that understands can still do the task, in words."""
    rebuilds: bool
    """Whether the scene is compiled anew."""


def catalogue() -> tuple[Description, ...]:
    """Every perturbation of the words, the world and the senses, sorted by its kind."""
    mine = {kind: made for kind, made in kinds().items() if kind.split("/")[0] in AXES}
    return tuple(_description(kind, made) for kind, made in sorted(mine.items()))


def markdown(descriptions: tuple[Description, ...]) -> str:
    """A table for documents."""
    rows = ["| perturbation | class | what | fields | plausible |", "| --- | --- | --- | --- | --- |"]
    for each in descriptions:
        told = (f"`{each.kind}`", f"`{each.name}`", each.about, "<br>".join(each.fields), each.plausible)
        rows.append(f"| {' | '.join(told)} |")
    return "\n".join(rows)


def _description(kind: str, made: type[Perturbation]) -> Description:
    told, hints = _told(made), get_type_hints(made)
    described = tuple(
        f"`{_with_default(each)}`{_valid(each, hints[each.name], told.get(each.name, ''))}"
        for each in fields(made)  # type: ignore[arg-type]
        if each.name != "plausible"
    )
    about = " ".join((inspect.getdoc(made) or "").split("\n\n")[0].split())
    return Description(
        kind, made.__name__, about.replace("``", "`"), described, _plausible(made), made.rebuilds
    )


def _plausible(made: type[Perturbation]) -> str:
    match getattr(made, "plausible", True):
        case bool(found):
            return "yes" if found else "no"
        case property() as told:
            return str(told.__doc__)
        case _:
            return "as it says"


def _with_default(each: Field[Any]) -> str:
    if each.default in (MISSING, None, "", ()):
        return each.name
    default = each.default.value if isinstance(each.default, Enum) else each.default
    return f"{each.name}={default}".replace(" ", "")


def _valid(each: Field[Any], hint: Any, told: str) -> str:
    """What a field takes, in brackets: its range or its choices; then the first sentence about it."""
    options = [member for kind in (hint, *get_args(hint)) for member in _members(kind)]
    valid = _range(each) if "valid" in each.metadata else ", ".join(options)
    first = told.split(". ")[0].rstrip(".").replace("``", "`")
    said = first[:1].lower() + first[1:]
    return (f" ({valid})" if valid else "") + (f": {said}" if said else "")


def _members(kind: Any) -> list[str]:
    return [str(member.value) for member in kind] if inspect.isclass(kind) and issubclass(kind, Enum) else []


def _range(each: Field[Any]) -> str:
    low, high = each.metadata["valid"]
    return f"{'whole numbers ' if isinstance(low, int) else ''}{low:g} to {high:g}"


def _told(made: type) -> dict[str, str]:
    """The docstrings below the fields of a class and of what it is made from, on one line each."""
    found: dict[str, str] = {}
    for base in reversed(made.__mro__[:-1]):
        if not hasattr(base, "__dataclass_fields__"):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for one, other in zip(body.body, body.body[1:], strict=False):
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                text = other.value if isinstance(other, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found[one.target.id] = " ".join(text.value.split())
    return found
