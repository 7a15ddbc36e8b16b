"""What a paraphrase must and must not do, as checks; each says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.perturb.words.grid.cells import Cell, ObjectType
from assay.perturb.words.grid.generate import DOUBLED
from assay.perturb.words.grid.names import Finder, FoundName, Naming, naming, words_of
from assay.perturb.words.grid.shapes import shape_flaws
from assay.tasks.language import Meaning
from assay.tasks.language.attributes import attribute_words
from assay.tasks.language.phrases import FIELD

MAX_CHARACTERS = 1000
_ARTICLE = re.compile(r"\b(an?) ([a-z]+)", re.IGNORECASE)
_VOWEL_SOUND = re.compile(r"(?!uni(?!n)|use|usu|uti|ut[ei]n|eu|one\b|once\b)[aeiou]|hour|honest|heir")
_NAMING = re.compile(r"\b(?:the|an?|this|that|both|its|my|our|your)\b", re.IGNORECASE)
_SMALL = frozenset({"a", "an", "and", "both", "its", "of", "that", "the"})

Flaw = tuple[str, str]
"""The rule that is broken, and how."""


def flaws(text: str, cell: Cell, meaning: Meaning, finder: Finder) -> Iterator[Flaw]:
    """Everything that is wrong with a paraphrase of an instruction."""
    yield from plain_flaws(text, meaning.original)
    if not text.strip() or len(text) > MAX_CHARACTERS:
        return
    forms = {mention.original for mention in meaning.mentions}
    literal = {each.name for each in finder.original} - forms  # "the middle layer of the drawer"
    names = [each for each in finder.find(text) if each.name not in literal]
    yield from _scene_flaws(names, forms, meaning)
    yield from _kept_flaws(text, names, meaning)
    namings = [naming(mention, names, finder.original, meaning) for mention in meaning.mentions]
    yield from _object_flaws(namings, cell.object_type)
    yield from (("action", reason) for reason in shape_flaws(text, cell.action_type, meaning))


def plain_flaws(text: str, original: str) -> Iterator[Flaw]:
    """What is wrong with a text whatever it is about."""
    if not text.strip():
        yield "text", "it is empty"
    elif not _NAMING.search(text):
        yield "text", "it names nothing: there is no article in it"
    if len(text) > MAX_CHARACTERS:
        yield "text", f"it has {len(text)} characters, more than {MAX_CHARACTERS}"
    if not text.isprintable() or text != " ".join(text.split()):
        yield "text", "it holds control characters or stray spaces"
    if words_of(text) == words_of(original):
        yield "text", "it is the original"
    doubled = DOUBLED.search(text.lower())
    if doubled is not None:
        yield "grammar", f"'{doubled[0]}' says a word twice"
    for article, word in _ARTICLE.findall(text):
        vowel = _VOWEL_SOUND.match(word.lower()) is not None
        if vowel != (article.lower() == "an"):
            yield "grammar", f"'{article} {word}' should be '{'an' if vowel else 'a'} {word}'"


def _scene_flaws(names: list[FoundName], forms: set[str], meaning: Meaning) -> Iterator[Flaw]:
    """Names that could be taken for another thing of the scene."""
    mentioned = {mention.noun.name for mention in meaning.mentions}
    things = {noun.name: set(noun.things) for noun in meaning.nouns}
    for name in names:
        if name.name in forms:
            continue
        # Two names of one thing ("cream cheese" and "cream cheese box") are no confusion.
        here = [noun for noun in name.nouns if noun in mentioned]
        others = [
            noun
            for noun in sorted(name.nouns)
            if not any(noun == own or things[noun] & things[own] for own in here)
        ]
        if (here and others) or (len(here) > 1 and not set.intersection(*(things[noun] for noun in here))):
            yield "scene", f"'{name.name}' could be the {' or the '.join(sorted({*here, *others}))}"
        elif others and not any(things[noun] & things[own] for noun in others for own in mentioned):
            yield "scene", f"'{name.name}' is the {others[0]}, which the original does not name"


def _kept_flaws(text: str, names: list[FoundName], meaning: Meaning) -> Iterator[Flaw]:
    """What identifies a thing, and how many there are, must stay."""
    words = set(words_of(text))
    for step in meaning.steps:
        for phrase in (step.thing, step.target):
            for word in words_of(FIELD.sub("", phrase)):
                if word not in words and word not in _SMALL:
                    yield "reference", f"'{word}' is gone, which says which thing is meant"
    plural = {mention.noun.name: mention.plural for mention in meaning.mentions}
    for name in names:
        numbers = [plural[noun] for noun in name.nouns if noun in plural]
        if numbers and name.plural not in numbers:
            yield (
                "number",
                f"'{name.name}' is {'plural' if name.plural else 'singular'}, and the original is not",
            )


def _object_flaws(namings: list[Naming], type: ObjectType) -> Iterator[Flaw]:
    """Names change on the object axis, in its way only."""
    substitutes = type in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL)
    for each in namings:
        for word in each.added:
            if word in attribute_words():
                yield "object", f"'{word}' is a visual or spatial attribute of the {each.form}"
        deleted = type is ObjectType.ADDITION and each.shortened
        if not substitutes and not each.kept and not deleted:
            yield "object", f"'{each.form}' is gone, and the object type is '{type}'"
        elif each.qualifiers and type is not ObjectType.ADDITION:
            yield (
                "object",
                f"'{each.qualifiers[0]}' qualifies the {each.form}, and the object type is '{type}'",
            )
        for name, kind in each.renamed.items():
            # A plain synonym is right anywhere, so also here.
            if type is ObjectType.HABITUAL and kind is ObjectType.CONTEXTUAL:
                yield "object", f"'{name}' is a {kind} name of the {each.form}, not a {type} one"
    changed = any(
        each.renamed or not each.kept if substitutes else each.qualifiers or each.shortened
        for each in namings
    )
    if type is not ObjectType.NONE and not changed:
        yield "object", f"no name has changed, and the object type is '{type}'"
