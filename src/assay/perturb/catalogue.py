"""Descriptions of every perturbation: its effect, its fields and their ranges."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from typing import Any, get_args, get_type_hints

from assay.episodes import Perturbation, kinds
from assay.episodes.fields import valid_range

RELEASE = "release/"
"""Prefix of the kinds that reproduce changes of other benchmarks' releases."""


@dataclass(frozen=True, slots=True)
class Description:
    """Description of a perturbation."""

    kind: str
    name: str
    """Name of the class."""
    about: str
    fields: tuple[str, ...]
    """Fields, each with its range and default."""
    plausible: str
    """Whether the task can still be done as instructed, so that success is expected."""
    effects: str
    """Parts of an episode that the perturbation may change."""


def listed() -> dict[str, type[Perturbation]]:
    """Return every perturbation of instruction, scene and senses by kind, sorted, except those of releases."""
    return {kind: cls for kind, cls in sorted(kinds().items()) if not kind.startswith(RELEASE)}


def catalogue() -> tuple[Description, ...]:
    """Return the descriptions of all perturbations."""
    return tuple(_description(kind, cls) for kind, cls in listed().items())


def markdown(descriptions: tuple[Description, ...]) -> str:
    """Format descriptions as a Markdown table."""
    rows = ["| perturbation | class | what | fields | plausible |", "| --- | --- | --- | --- | --- |"]
    for description in descriptions:
        cells = (
            f"`{description.kind}`",
            f"`{description.name}`",
            description.about,
            "<br>".join(description.fields),
            description.plausible,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _description(kind: str, made: type[Perturbation]) -> Description:
    docs, hints = _field_docs(made), get_type_hints(made)
    described = tuple(
        f"`{_with_default(field)}`{_valid(field, hints[field.name], docs.get(field.name, ''))}"
        for field in fields(made)  # type: ignore[arg-type]
        if field.name != "plausible"
    )
    about = " ".join((inspect.getdoc(made) or "").split("\n\n")[0].split())
    return Description(
        kind,
        made.__name__,
        about.replace("``", "`"),
        described,
        _plausible(made),
        ", ".join(sorted(made.effects)),
    )


def _plausible(made: type[Perturbation]) -> str:
    match inspect.getattr_static(made, "plausible"):
        case bool(found):
            return "yes" if found else "no"
        case property() as told:
            usual = told is inspect.getattr_static(Perturbation, "plausible")
            return "yes" if usual else str(told.__doc__)
        case _:
            return "as it says"


def _with_default(each: Field[Any]) -> str:
    if each.default in (MISSING, None, "", ()):
        return each.name
    default = each.default.value if isinstance(each.default, Enum) else each.default
    return f"{each.name}={default}".replace(" ", "")


def _valid(each: Field[Any], hint: Any, told: str) -> str:
    """Return the range or choices of a field in brackets, then the first sentence of its docstring."""
    options = [member for kind in (hint, *get_args(hint)) for member in _members(kind)]
    valid = valid_range(each) if "valid" in each.metadata else ", ".join(options)
    first = told.split(". ")[0].rstrip(".").replace("``", "`")
    sentence = first[:1].lower() + first[1:]
    return (f" ({valid})" if valid else "") + (f": {sentence}" if sentence else "")


def _members(kind: Any) -> list[str]:
    return [str(member.value) for member in kind] if inspect.isclass(kind) and issubclass(kind, Enum) else []


def _field_docs(made: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class and its bases, on one line each."""
    docs: dict[str, str] = {}
    for base in reversed(made.__mro__[:-1]):
        if not hasattr(base, "__dataclass_fields__"):
            continue
        try:
            source = inspect.getsource(base)
        except (OSError, TypeError):  # defined in a session that keeps no source
            continue
        (body,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(body, ast.ClassDef)
        for one, other in zip(body.body, body.body[1:], strict=False):
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                text = other.value if isinstance(other, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    docs[one.target.id] = " ".join(text.value.split())
    return docs
