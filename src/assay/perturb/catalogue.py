"""Descriptions of every perturbation: its effect, its fields and their ranges."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from typing import Any, get_args, get_type_hints

from assay.episodes import Perturbation
from assay.episodes.perturbation import kinds, valid_range
from assay.support.docstrings import field_docs

RELEASE = "release/"
"""Prefix of the kinds of perturbations that reproduce changes in other benchmarks' releases."""


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
    """Return all perturbations of instruction, scene and senses by kind, except those of benchmarks' releases."""
    return {kind: cls for kind, cls in sorted(kinds().items()) if not kind.startswith(RELEASE)}


def catalogue() -> tuple[Description, ...]:
    """Return the descriptions of all perturbations."""
    descriptions = []
    for kind, cls in listed().items():
        docs, hints = field_docs(cls), get_type_hints(cls)
        described = tuple(
            _describe_field(field, hints[field.name], docs.get(field.name, ""))
            for field in fields(cls)  # type: ignore[arg-type]
            if field.name != "plausible"
        )
        match inspect.getattr_static(cls, "plausible"):
            case bool(is_plausible):
                plausible = "yes" if is_plausible else "no"
            case property() as getter:
                default = inspect.getattr_static(Perturbation, "plausible")
                plausible = "yes" if getter is default else str(getter.__doc__)
            case _:
                plausible = "as specified"
        about = " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split()).replace("``", "`")
        effects = ", ".join(sorted(cls.effects))
        descriptions.append(Description(kind, cls.__name__, about, described, plausible, effects))
    return tuple(descriptions)


def markdown(descriptions: tuple[Description, ...]) -> str:
    """Format the descriptions of perturbations as a Markdown table."""
    rows = ["| perturbation | class | what | fields | plausible |", "| --- | --- | --- | --- | --- |"]
    for row in descriptions:
        rows.append(
            f"| `{row.kind}` | `{row.name}` | {row.about} | {'<br>'.join(row.fields)} | {row.plausible} |"
        )
    return "\n".join(rows)


def _describe_field(field: Field[Any], hint: Any, doc: str) -> str:
    """Return a field with its default, its range or choices in brackets, and the first sentence of its docstring."""
    default = field.default.value if isinstance(field.default, Enum) else field.default
    name = field.name if default in (MISSING, None, "", ()) else f"{field.name}={default}".replace(" ", "")
    choices = [
        str(member.value)
        for option in (hint, *get_args(hint))
        if inspect.isclass(option) and issubclass(option, Enum)
        for member in option
    ]
    valid = valid_range(field) if "valid" in field.metadata else ", ".join(choices)
    first = " ".join(doc.split()).split(". ")[0].rstrip(".").replace("``", "`")
    sentence = first[:1].lower() + first[1:]
    return f"`{name}`" + (f" ({valid})" if valid else "") + (f": {sentence}" if sentence else "")
