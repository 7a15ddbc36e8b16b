"""Words for objects, attributes and actions, with the names that LIBERO's instructions use for each category."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from assay.errors import PerturbationError
from assay.tasks.scene import Colour

_WORD = re.compile(r"[a-z0-9']+")
THING = re.compile(r"((?P<category>.+)_\d+)(?:_[a-z_]+)?")
"""Names of objects end in a number, those of their regions go on after it: ``wooden_cabinet_1_top_region``."""


@cache
def surface_forms() -> Mapping[str, tuple[str, ...]]:
    """Category -> what instructions call it, the usual form first."""
    text = files("assay.tasks").joinpath("names.yaml").read_text(encoding="utf-8")
    return MappingProxyType({category: tuple(forms) for category, forms in yaml.safe_load(text).items()})


def names_of(category: str) -> tuple[str, ...]:
    """What instructions call a category; for one without an entry, its own words."""
    return surface_forms().get(category, (category.replace("_", " "),))


def words(text: str) -> tuple[str, ...]:
    """The words of a text, in lower case and without punctuation."""
    return tuple(_WORD.findall(text.lower()))


def mentions(text: str, form: str) -> bool:
    """Whether a form occurs in a text, word for word."""
    return f" {' '.join(words(form))} " in f" {' '.join(words(text))} "


def thing_of(name: str) -> str:
    """The object that a goal names, or whose region it names; any other name is its own."""
    return match[1] if (match := THING.fullmatch(name)) else name


HERE = files(__package__)
Phrase = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z' -]*$")]
"""Words with single spaces between them."""
Words = tuple[Phrase, ...]

_T = TypeVar("_T")


class YamlRecord(BaseModel):
    """An entry of a file: no fields but its own, none of them changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def load_yaml(file: Traversable) -> Any:
    """What a file holds. Raises PerturbationError where that is not YAML."""
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PerturbationError(f"{file} is not YAML: {' '.join(str(error).split())}") from None


def validate(kind: type[_T], content: Any, file: str) -> _T:
    """What a file holds, as entries. Raises PerturbationError that says where it is wrong."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PerturbationError(f"{file}: {place}: {first['msg'].lower()}") from None


COLOURS: Mapping[str, Colour] = {
    "black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0), "grey": (0.5, 0.5, 0.5), "red": (0.85, 0.15, 0.15),
    "blue": (0.15, 0.45, 0.85), "green": (0.2, 0.65, 0.25), "yellow": (0.95, 0.8, 0.2),
    "purple": (0.6, 0.3, 0.7), "orange": (0.95, 0.5, 0.1), "pink": (0.95, 0.6, 0.7),
    "brown": (0.45, 0.3, 0.2), "cyan": (0.2, 0.75, 0.85), "teal": (0.0, 0.45, 0.45), "navy": (0.1, 0.15, 0.4),
}  # fmt: skip
"""Words for colours, and about which red, green and blue they mean."""
SIZES = frozenset(
    words(
        "big bigger biggest large larger largest medium small smaller smallest little tiny tall taller tallest "
        "short shorter shortest middle-sized"
    )
) - {"middle"}
PATTERNS = frozenset(
    words("striped checkered checked plain dotted spotted speckle speckled speckles wavy grid")
)
SIDES = frozenset(words("left right"))
DISTANCES = frozenset(words("nearest nearer closest closer farthest farther furthest"))
"""Words that choose among several objects by their distance from something; "next to" chooses by contact."""
NO_COLOUR = ("orange juice", "juice")
"""A name that contains a colour, and its replacement where colours are looked for."""


@cache
def attribute_words() -> frozenset[str]:
    """Visual and spatial words, from ``attributes.yaml``: what a qualifier of a noun must not be."""
    lists = validate(dict[str, Words], load_yaml(HERE.joinpath("attributes.yaml")), "attributes.yaml")
    return frozenset(word for words in lists.values() for word in words)


class Noun(YamlRecord):
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


class Lexicon(YamlRecord):
    """Nouns by name."""

    nouns: Mapping[str, Noun]
    file: str
    """Where they are written."""

    def of_category(self, category: str) -> tuple[Noun, ...]:
        """The nouns of a category of objects. Raises PerturbationError if it has none."""
        nouns = tuple(noun for noun in self.nouns.values() if category in noun.things)
        if not nouns:
            raise PerturbationError(
                f"the lexicon has no name for the category '{category}': add one to {self.file}, "
                "or give a file of your own with --lexicon"
            )
        return nouns

    def parts_of(self, noun: Noun) -> tuple[Noun, ...]:
        """The parts of an object that originals speak of."""
        return tuple(part for part in self.nouns.values() if noun.name in part.part_of)

    def with_parts(self, nouns: Iterable[Noun]) -> tuple[Noun, ...]:
        """Nouns and those of their parts, each once."""
        by_name = {part.name: part for noun in nouns for part in (noun, *self.parts_of(noun))}
        return tuple(by_name.values())


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
    nouns = validate(dict[str, Noun], named, file)
    for noun in nouns.values():
        qualified = (f"{word} {noun.name}" for word in noun.functional)
        listed = [word.lower() for word in (*qualified, *noun.habitual, *noun.contextual, *noun.also)]
        for word in listed:
            if listed.count(word) > 1:
                raise PerturbationError(f"{file}: '{noun.name}' has '{word}' twice")
        for word in " ".join((*noun.functional, *noun.habitual, *noun.contextual)).split():
            if word in attribute_words() and word not in noun.name:
                raise PerturbationError(f"{file}: '{noun.name}' has '{word}', a visual or spatial attribute")
    return nouns


PARTICLES = frozenset({"up", "on", "off", "out", "in", "down", "open", "shut", "closed", "over"})
FOLLOWING = frozenset({"over"})
"""Particles that always follow the object."""
PRONOUNS = frozenset({"it", "them"})

_DOUBLING = re.compile(r"[^aeiou]+[aeiou][bdgklmnpt]")


class Action(StrEnum):
    """What a step asks for."""

    PUT = "put"
    PUSH = "push"
    TAKE = "take"
    OPEN = "open"
    CLOSE = "close"
    TURN_ON = "turn_on"
    TURN_OFF = "turn_off"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with its forms; ``particle`` may follow the object, ``rest`` may not ("reach for")."""

    base: str
    ing: str
    participle: str
    particle: str = ""
    rest: str = ""
    moves: bool = False
    """Whether it is a verb of motion, which goes with "onto"."""

    @property
    def name(self) -> str:
        """As an original writes it: "pick up"."""
        return " ".join(filter(None, (self.base, self.particle, self.rest)))

    @property
    def passive(self) -> str:
        """The participle with its particle: "picked up"."""
        return " ".join(filter(None, (self.participle, self.particle, self.rest)))

    def phrase(self, thing: str, form: str = "base", *, apart: bool = False) -> str:
        """Verb and object: "pick up the bowl", "pick it up"; ``apart`` puts the object between them anyway.

        ``form`` is ``base``, ``ing`` or ``participle``.
        """
        head = getattr(self, form)
        if self.particle and (apart or thing in PRONOUNS or self.particle in FOLLOWING):
            return f"{head} {thing} {self.particle}"
        return " ".join(filter(None, (head, self.particle, self.rest, thing)))


class VerbSense(YamlRecord):
    """Verbs that do the same."""

    habitual: tuple[str, ...] = ()
    contextual: tuple[str, ...] = ()
    only_original: tuple[str, ...] = ()


class PrecedingVerbs(YamlRecord):
    """What is done with an object before it is moved, or before anything else is done with it."""

    move: tuple[str, ...]
    other: tuple[str, ...]


class VerbTable(YamlRecord):
    """Verbs by what they do, and what goes with them; ``verbs.yaml`` explains the fields."""

    senses: Mapping[str, VerbSense]
    plain: Mapping[Action, tuple[str, ...]]
    coordinated: PrecedingVerbs
    subordinated: PrecedingVerbs
    adverbs: Mapping[str, Words]
    irregular: Mapping[str, tuple[str, str]]


@cache
def verb_table() -> VerbTable:
    """What ``verbs.yaml`` holds."""
    return validate(VerbTable, load_yaml(HERE.joinpath("verbs.yaml")), "verbs.yaml")


@cache
def senses_by_verb() -> Mapping[str, tuple[str, ...]]:
    """Every verb that is understood -> the senses it may have; the longest verbs first."""
    senses: dict[str, list[str]] = {}
    for name, sense in verb_table().senses.items():
        for written in (*sense.habitual, *sense.contextual, *sense.only_original):
            senses.setdefault(written.removesuffix("->").strip(), []).append(name)
    return {verb: tuple(senses[verb]) for verb in sorted(senses, key=len, reverse=True)}


@cache
def verb_named(written: str) -> Verb:
    """The verb of an entry of the table: "pick up", "reach for", "move ->"."""
    words = written.removesuffix("->").split()
    base, after = words[0], " ".join(words[1:])
    ing, participle = verb_table().irregular.get(base) or _regular_forms(base)
    particle, rest = (after, "") if after in PARTICLES else ("", after)
    return Verb(base, ing, participle, particle, rest, moves=written.endswith("->"))


def plain_synonyms(action: Action, verb: Verb) -> tuple[Verb, ...]:
    """The plain verbs for an action, but for the one that is there."""
    return tuple(verb_named(name) for name in verb_table().plain[action] if name != verb.name)


def _regular_forms(base: str) -> tuple[str, str]:
    if base.endswith("e"):
        return f"{base[:-1]}ing", f"{base}d"
    if re.fullmatch(r".*[^aeiou]y", base):
        return f"{base}ing", f"{base[:-1]}ied"
    stem = base + base[-1] if _DOUBLING.fullmatch(base) else base
    return f"{stem}ing", f"{stem}ed"
