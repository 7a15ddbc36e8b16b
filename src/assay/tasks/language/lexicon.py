"""What things may be called: the nouns of ``nouns.yaml``, and of a file that a user adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from assay.errors import PerturbationError
from assay.tasks.language.attributes import attribute_words
from assay.tasks.language.entries import HERE, Entry, Phrase, Words, load_yaml, validate


class Noun(Entry):
    """What one kind of thing may be called; ``nouns.yaml`` explains the fields."""

    name: Phrase
    things: tuple[str, ...] = ()
    forms: Words = ()
    part_of: Words = ()
    plural: Phrase | None = None
    number: Literal["singular", "plural"] = "singular"
    door: bool = False
    habitual: Words = ()
    contextual: Words = ()
    functional: Words = ()
    also: Words = ()

    @cached_property
    def original_forms(self) -> Words:
        """What an original may say for it."""
        return (self.name, *(form for form in self.forms if form != self.name))

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Everything that a person may call it, in lower case."""
        qualified = (f"{word} {form}" for word in self.functional for form in self.original_forms)
        names = (*self.original_forms, *qualified, *self.habitual, *self.contextual, *self.also)
        return frozenset(name.lower() for name in names)

    def names_same_thing(self, other: Noun) -> bool:
        """Whether two nouns name one kind of thing, as "cream cheese" and "cream cheese box" do."""
        return self.name == other.name or not set(self.things).isdisjoint(other.things)

    def plural_of(self, phrase: str) -> str:
        """A name of it for several: "pots of coffee" for "pot of coffee"."""
        head, of, rest = phrase.partition(" of ")
        if phrase == self.name and self.plural is not None:
            return self.plural
        return f"{head}{'es' if head.endswith(('s', 'x', 'sh', 'ch')) else 's'}{of}{rest}"

    def numbers_of(self, name: str) -> tuple[tuple[str, bool], tuple[str, bool]]:
        """A name for one and for several, and whether each is plural."""
        return (name, self.number == "plural"), (self.plural_of(name), True)


class Lexicon(Entry):
    """Nouns by name."""

    nouns: Mapping[str, Noun]
    file: str
    """Where they are written."""

    def of_category(self, category: str) -> tuple[Noun, ...]:
        """The nouns of a category of things. Raises PerturbationError if it has none."""
        found = tuple(noun for noun in self.nouns.values() if category in noun.things)
        if not found:
            raise PerturbationError(
                f"the lexicon has no name for the category '{category}': add one to {self.file}, "
                "or give a file of your own with --lexicon"
            )
        return found

    def parts_of(self, noun: Noun) -> tuple[Noun, ...]:
        """The parts of a thing that originals speak of."""
        return tuple(part for part in self.nouns.values() if noun.name in part.part_of)

    def with_parts(self, nouns: Iterable[Noun]) -> tuple[Noun, ...]:
        """Nouns and those of their parts, each once."""
        found = {each.name: each for noun in nouns for each in (noun, *self.parts_of(noun))}
        return tuple(found.values())


@cache
def lexicon(extra: Path | None = None) -> Lexicon:
    """The built-in lexicon, with more nouns from a file like ``nouns.yaml``. Raises PerturbationError."""
    own = extra or Path(str(HERE.joinpath("nouns.yaml")))
    nouns = _nouns(load_yaml(HERE.joinpath("nouns.yaml")), "nouns.yaml")
    if extra is not None:
        nouns |= _nouns(load_yaml(extra), str(extra))
    for noun in nouns.values():
        for whole in noun.part_of:
            if whole not in nouns:
                raise PerturbationError(
                    f"{own}: '{noun.name}' is part of '{whole}', which is not in the lexicon"
                )
    return Lexicon(nouns=nouns, file=str(own))


def _nouns(content: Any, file: str) -> dict[str, Noun]:
    """The nouns of a file by name."""
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise PerturbationError(f"{file}: must map each name to its fields, as nouns.yaml does")
    named = {str(name): {"name": str(name)} | entry for name, entry in content.items()}
    found = validate(dict[str, Noun], named, file)
    for noun in found.values():
        qualified = (f"{word} {noun.name}" for word in noun.functional)
        listed = [word.lower() for word in (*qualified, *noun.habitual, *noun.contextual, *noun.also)]
        for word in listed:
            if listed.count(word) > 1:
                raise PerturbationError(f"{file}: '{noun.name}' has '{word}' twice")
        for word in " ".join((*noun.functional, *noun.habitual, *noun.contextual)).split():
            if word in attribute_words() and word not in noun.name:
                raise PerturbationError(f"{file}: '{noun.name}' has '{word}', a visual or spatial attribute")
    return found
