"""The object axis: what the things of an instruction may be called in its scene."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from assay.perturb.words.grid.cells import ObjectType
from assay.tasks.language import Meaning, Noun

Wording = Mapping[str, str]
"""Field of a noun -> what it is called: ``{"n0": "basin", "n1": "stove"}``."""


def wordings(meaning: Meaning, type: ObjectType) -> tuple[Wording, ...]:
    """Every way to name the things of an instruction with at least one new name, equal nouns alike."""
    fields = meaning.fields
    same = {field: mention.original for field, mention in fields.items()}
    if type is ObjectType.NONE:
        return (same,)
    kept: dict[str, list[Wording]] = {}
    for field, mention in fields.items():
        names = fitting_names(mention.noun, type, mention.form, meaning.nouns)
        renamed: list[Wording] = [{field: same[field]}, *({field: mention.in_number(name)} for name in names)]
        before = kept.get(mention.noun.name)
        # Two forms of one noun ("pot" and "pots") are renamed together.
        kept[mention.noun.name] = (
            [{**one, **two} for one, two in zip(before, renamed, strict=False)] if before else renamed
        )
    together = itertools.product(*kept.values())
    next(together)
    return tuple({name: word for part in parts for name, word in part.items()} for parts in together)


def new_names(noun: Noun, type: ObjectType, form: str) -> tuple[str, ...]:
    """The names of a type that may stand for a form of a noun, whatever else is in the scene."""
    if type is ObjectType.ADDITION:
        words = set(form.split())
        return tuple(f"{each} {form}" for each in noun.functional if words.isdisjoint(each.split()))
    names = {ObjectType.CONTEXTUAL: noun.contextual, ObjectType.HABITUAL: noun.habitual}.get(type, ())
    return tuple(name for name in names if name != form)


def fitting_names(noun: Noun, type: ObjectType, form: str, scene: Iterable[Noun]) -> list[str]:
    """The names of a type that nothing else in the scene could have."""
    others = [other for other in scene if not noun.names_same_thing(other)]
    return [
        name for name in new_names(noun, type, form) if not any(is_confused(name, other) for other in others)
    ]


def is_confused(name: str, other: Noun) -> bool:
    """Whether a name could be taken for another thing: it has that name, or one that ends in its name."""
    low = name.lower()
    head = low.partition(" of ")[0].split()[-1]
    return low in other.all_names or head in other.original_forms
