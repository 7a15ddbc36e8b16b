"""The object axis: what the things of an instruction may be called in its scene."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from assay.perturb.words.grid.cells import ObjectType
from assay.perturb.words.grid.lexicon import Noun
from assay.perturb.words.grid.meaning import Meaning

Wording = Mapping[str, str]
"""Field of a noun -> what it is called: ``{"n0": "basin", "n1": "stove"}``."""


def wordings(meaning: Meaning, type: ObjectType) -> tuple[Wording, ...]:
    """Every way to name the things of an instruction with at least one new name, equal nouns alike."""
    fields = {f"n{index}": mention for index, mention in enumerate(meaning.mentions)}
    same = {field: mention.said(mention.form) for field, mention in fields.items()}
    if type is ObjectType.NONE:
        return (same,)
    kept: dict[str, list[Wording]] = {}
    for field, mention in fields.items():
        names = admitted(mention.noun, type, mention.form, meaning.nouns)
        renamed: list[Wording] = [{field: same[field]}, *({field: mention.said(name)} for name in names)]
        before = kept.get(mention.noun.name)
        # Two forms of one noun ("pot" and "pots") are renamed together.
        kept[mention.noun.name] = (
            [{**one, **two} for one, two in zip(before, renamed, strict=False)] if before else renamed
        )
    together = itertools.product(*kept.values())
    next(together)
    return tuple({name: word for part in parts for name, word in part.items()} for parts in together)


def admitted(noun: Noun, type: ObjectType, form: str, scene: Iterable[Noun]) -> list[str]:
    """The names of a type that nothing else in the scene could have."""
    others = [
        other for other in scene if other.name != noun.name and not set(other.things) & set(noun.things)
    ]
    return [name for name in noun.renamed(type, form) if not any(confused(name, other) for other in others)]


def confused(name: str, other: Noun) -> bool:
    """Whether a name could be taken for another thing: it has that name, or one that ends in its name."""
    said = name.lower()
    head = said.partition(" of ")[0].split()[-1]
    return said in other.called or head in other.written
