"""The editable lexicon: nouns, verbs and frames, read from the YAML files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import ObjectType

Phrase = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z' -]*$")]
"""Words with single spaces between them."""
Words = tuple[Phrase, ...]
Sentences = tuple[str, ...]

_T = TypeVar("_T")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Noun(_Entry):
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

    @property
    def written(self) -> Words:
        """What an original may say for it."""
        return (self.name, *(form for form in self.forms if form != self.name))

    @property
    def called(self) -> frozenset[str]:
        """Everything that a person may call it, in lower case."""
        qualified = (f"{word} {form}" for word in self.functional for form in self.written)
        names = (*self.written, *qualified, *self.habitual, *self.contextual, *self.also)
        return frozenset(name.lower() for name in names)

    def renamed(self, type: ObjectType, form: str) -> Words:
        """The names of a type that may stand for a form of it, whatever else is in the scene."""
        if type is ObjectType.ADDITION:
            told = form.split()
            return tuple(f"{each} {form}" for each in self.functional if not set(each.split()) & set(told))
        names = {ObjectType.CONTEXTUAL: self.contextual, ObjectType.HABITUAL: self.habitual}.get(type, ())
        return tuple(name for name in names if name != form)

    def plural_of(self, phrase: str) -> str:
        """A name of it for several: "pots of coffee" for "pot of coffee"."""
        head, of, rest = phrase.partition(" of ")
        if phrase == self.name and self.plural is not None:
            return self.plural
        return f"{head}{'es' if head.endswith(('s', 'x', 'sh', 'ch')) else 's'}{of}{rest}"


class Sense(_Entry):
    """Verbs that do the same."""

    habitual: tuple[str, ...] = ()
    contextual: tuple[str, ...] = ()
    only_original: tuple[str, ...] = ()


class Before(_Entry):
    """What is done with a thing before it is moved, or before anything else is done with it."""

    move: tuple[str, ...]
    other: tuple[str, ...]


class Verbs(_Entry):
    """Verbs by what they do, and what goes with them; ``verbs.yaml`` explains the fields."""

    senses: Mapping[str, Sense]
    coordinated: Before
    subordinated: Before
    adverbs: Mapping[str, Words]
    irregular: Mapping[str, tuple[str, str]]


class Structural(_Entry):
    """Frames of coordination or subordination."""

    one: Sentences = ()
    part: Sentences = ()
    enables: Sentences = ()
    put: Sentences = ()
    push: Sentences = ()
    several: Sentences = ()
    several_enables: Sentences = ()
    several_reversed: Sentences = ()
    several_state: Sentences = ()


class Pragmatic(_Entry):
    """Frames of questions or hints, by the steps they fit."""

    any: Sentences
    move: Sentences
    holds: Sentences
    takes: Sentences
    change: Sentences


class Frames(_Entry):
    """Sentences with gaps; ``frames.yaml`` explains them."""

    coordination: Structural
    subordination: Structural
    need: Sentences
    embedded: Sentences
    permission: Sentences
    question: Pragmatic
    hint: Pragmatic


class Attributes(_Entry):
    """What a qualifier must not be."""

    visual: frozenset[str]
    spatial: frozenset[str]


class Lexicon(_Entry):
    """Everything the generator may say."""

    nouns: Mapping[str, Noun]
    attributes: Attributes
    verbs: Verbs
    frames: Frames
    file: str
    """Where its nouns are written."""

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


@cache
def lexicon(extra: Path | None = None) -> Lexicon:
    """The built-in lexicon, with more nouns from a file like ``nouns.yaml``. Raises PerturbationError."""
    own = extra or Path(str(_HERE.joinpath("nouns.yaml")))
    attributes = _checked(Attributes, _yaml(_HERE.joinpath("attributes.yaml")), "attributes.yaml")
    nouns = _nouns(_yaml(_HERE.joinpath("nouns.yaml")), "nouns.yaml", attributes)
    if extra is not None:
        nouns |= _nouns(_yaml(extra), str(extra), attributes)
    for noun in nouns.values():
        for whole in noun.part_of:
            if whole not in nouns:
                raise PerturbationError(
                    f"{own}: '{noun.name}' is part of '{whole}', which is not in the lexicon"
                )
    return Lexicon(
        nouns=nouns,
        attributes=attributes,
        verbs=_checked(Verbs, _yaml(_HERE.joinpath("verbs.yaml")), "verbs.yaml"),
        frames=_checked(Frames, _yaml(_HERE.joinpath("frames.yaml")), "frames.yaml"),
        file=str(own),
    )


_HERE = files(__package__)


def _yaml(file: Traversable) -> Any:
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PerturbationError(f"{file} is not YAML: {' '.join(str(error).split())}") from None


def _nouns(content: Any, file: str, attributes: Attributes) -> dict[str, Noun]:
    """The nouns of a file by name."""
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise PerturbationError(f"{file}: must map each name to its fields, as nouns.yaml does")
    named = {str(name): {"name": str(name)} | entry for name, entry in content.items()}
    found = _checked(dict[str, Noun], named, file)
    for noun in found.values():
        qualified = (f"{word} {noun.name}" for word in noun.functional)
        listed = [word.lower() for word in (*qualified, *noun.habitual, *noun.contextual, *noun.also)]
        for word in listed:
            if listed.count(word) > 1:
                raise PerturbationError(f"{file}: '{noun.name}' has '{word}' twice")
        for word in " ".join((*noun.functional, *noun.habitual, *noun.contextual)).split():
            if word in attributes.visual | attributes.spatial and word not in noun.name:
                raise PerturbationError(f"{file}: '{noun.name}' has '{word}', a visual or spatial attribute")
    return found


def _checked(kind: type[_T], content: Any, file: str) -> _T:
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PerturbationError(f"{file}: {place}: {first['msg'].lower()}") from None
