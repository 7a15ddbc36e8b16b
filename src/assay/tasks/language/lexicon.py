"""Words for objects, attributes and actions, and the names for each category in LIBERO's instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from assay.errors import PerturbationError
from assay.tasks.checks import validation_reason
from assay.tasks.scene import Colour

_WORD = re.compile(r"[a-z0-9']+")
OBJECT_NAME = re.compile(r"((?P<category>.+)_\d+)(?:_[a-z_]+)?")
"""Pattern of object names, which end in a number; region names continue after it: ``wooden_cabinet_1_top_region``."""


_names = cache(lambda: load_yaml(files("assay.tasks").joinpath("names.yaml")))


def names_of(category: str) -> tuple[str, ...]:
    """Return the names of a category in instructions, most common name first.

    A category without an entry is split into words.
    """
    return tuple(_names().get(category, [category.replace("_", " ")]))


def words(text: str) -> tuple[str, ...]:
    """Split a text into words in lower case, without punctuation."""
    return tuple(_WORD.findall(text.lower()))


def mentions(text: str, form: str) -> bool:
    """Return whether a name occurs in a text as whole words."""
    return f" {' '.join(words(form))} " in f" {' '.join(words(text))} "


def object_of(name: str) -> str:
    """Return the object to which a name in a goal refers, directly or through its region.

    Other names are returned unchanged.
    """
    return match[1] if (match := OBJECT_NAME.fullmatch(name)) else name


HERE = files(__package__)
Phrase = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z' -]*$")]
"""Text that consists of words separated by single spaces."""
Words = tuple[Phrase, ...]

_T = TypeVar("_T")


class YamlRecord(BaseModel):
    """Base class for the entries of a YAML file: immutable, without additional fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def load_yaml(file: Traversable) -> Any:
    """Load a YAML file. Raises PerturbationError if it is not valid YAML."""
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PerturbationError(f"{file} is not valid YAML: {' '.join(str(error).split())}") from None


def validate(kind: type[_T], content: Any, file: str) -> _T:
    """Validate the content of a file as entries of type ``kind``.

    Raises PerturbationError with the location of the error.
    """
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        raise PerturbationError(f"{file}: {validation_reason(error)}") from None


COLOURS: Mapping[str, Colour] = {
    "black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0), "grey": (0.5, 0.5, 0.5), "red": (0.85, 0.15, 0.15),
    "blue": (0.15, 0.45, 0.85), "green": (0.2, 0.65, 0.25), "yellow": (0.95, 0.8, 0.2),
    "purple": (0.6, 0.3, 0.7), "orange": (0.95, 0.5, 0.1), "pink": (0.95, 0.6, 0.7),
    "brown": (0.45, 0.3, 0.2), "cyan": (0.2, 0.75, 0.85), "teal": (0.0, 0.45, 0.45), "navy": (0.1, 0.15, 0.4),
}  # fmt: skip
"""Mapping from colour words to approximate red, green and blue values from 0 to 1."""
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
"""Words that select one of several objects by distance; "next to" selects by contact."""
NO_COLOUR = ("orange juice", "juice")
"""Object name that contains a colour word, and the text that replaces it before a search for colour words."""


@cache
def attribute_words() -> frozenset[str]:
    """Return the visual and spatial words in ``attributes.yaml``, which names of nouns must not contain."""
    lists = validate(dict[str, Words], load_yaml(HERE.joinpath("attributes.yaml")), "attributes.yaml")
    return frozenset(word for words in lists.values() for word in words)


class Noun(YamlRecord):
    """Names for one kind of object; the fields are explained in ``nouns.yaml``."""

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
        """Names that original instructions may use."""
        return (self.name, *(form for form in self.forms if form != self.name))

    @cached_property
    def all_names(self) -> frozenset[str]:
        """All names that a person may use, in lower case."""
        qualified = (f"{word} {form}" for word in self.functional for form in self.original_forms)
        names = (*self.original_forms, *qualified, *self.habitual, *self.contextual, *self.also)
        return frozenset(name.lower() for name in names)

    def names_same_thing(self, other: Noun) -> bool:
        """Return whether two nouns name the same kind of object, as "cream cheese" and "cream cheese box" do."""
        return self.name == other.name or not set(self.things).isdisjoint(other.things)

    def plural_of(self, phrase: str) -> str:
        """Return the plural of one of the names: "pots of coffee" for "pot of coffee"."""
        head, of, rest = phrase.partition(" of ")
        if phrase == self.name and self.plural is not None:
            return self.plural
        return f"{head}{'es' if head.endswith(('s', 'x', 'sh', 'ch')) else 's'}{of}{rest}"

    def numbers_of(self, name: str) -> tuple[tuple[str, bool], tuple[str, bool]]:
        """Return the singular and the plural of a name, each with a flag that states whether it is plural."""
        return (name, self.number == "plural"), (self.plural_of(name), True)


class Lexicon(YamlRecord):
    """Nouns by name."""

    nouns: Mapping[str, Noun]
    file: str
    """File in which the nouns are defined."""

    def of_category(self, category: str) -> tuple[Noun, ...]:
        """Return the nouns for an object category. Raises PerturbationError if none exist."""
        nouns = tuple(noun for noun in self.nouns.values() if category in noun.things)
        if not nouns:
            raise PerturbationError(
                f"the lexicon has no name for the category '{category}'; add one to {self.file}, "
                "or pass another file with --lexicon"
            )
        return nouns

    def with_parts(self, nouns: Iterable[Noun]) -> tuple[Noun, ...]:
        """Return nouns together with the nouns of their parts, without duplicates."""
        by_name: dict[str, Noun] = {}
        for noun in nouns:
            by_name[noun.name] = noun
            by_name |= {part.name: part for part in self.nouns.values() if noun.name in part.part_of}
        return tuple(by_name.values())


@cache
def lexicon(extra: Path | None = None) -> Lexicon:
    """Return the built-in lexicon, extended by the nouns in a file in the format of ``nouns.yaml``.

    Raises PerturbationError if the file is invalid.
    """
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
    """Return the nouns in a file, by name."""
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise PerturbationError(f"{file} must map each name to its fields, as nouns.yaml does")
    named = {str(name): {"name": str(name)} | entry for name, entry in content.items()}
    nouns = validate(dict[str, Noun], named, file)
    for noun in nouns.values():
        qualified = (f"{word} {noun.name}" for word in noun.functional)
        listed = [word.lower() for word in (*qualified, *noun.habitual, *noun.contextual, *noun.also)]
        for word in listed:
            if listed.count(word) > 1:
                raise PerturbationError(f"{file}: '{noun.name}' contains '{word}' twice")
        for word in " ".join((*noun.functional, *noun.habitual, *noun.contextual)).split():
            if word in attribute_words() and word not in noun.name:
                raise PerturbationError(
                    f"{file}: '{noun.name}' contains '{word}', which is a visual or spatial attribute"
                )
    return nouns


PARTICLES = frozenset({"up", "on", "off", "out", "in", "down", "open", "shut", "closed", "over"})
FOLLOWING = frozenset({"over"})
"""Verb particles that always follow the object."""
PRONOUNS = frozenset({"it", "them"})

_DOUBLING = re.compile(r"[^aeiou]+[aeiou][bdgklmnpt]")


class Action(StrEnum):
    """Action that a step of an instruction requests."""

    PUT = "put"
    PUSH = "push"
    TAKE = "take"
    OPEN = "open"
    CLOSE = "close"
    TURN_ON = "turn_on"
    TURN_OFF = "turn_off"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb and its inflected forms; ``particle`` may follow the object, ``rest`` may not ("reach for")."""

    base: str
    ing: str
    participle: str
    particle: str = ""
    rest: str = ""
    moves: bool = False
    """Whether this is a verb of motion, which combines with "onto"."""

    @property
    def name(self) -> str:
        """The verb as written in original instructions: "pick up"."""
        return " ".join(filter(None, (self.base, self.particle, self.rest)))

    @property
    def passive(self) -> str:
        """Past participle with its particle: "picked up"."""
        return " ".join(filter(None, (self.participle, self.particle, self.rest)))

    def phrase(self, thing: str, form: str = "base", *, split: bool = False) -> str:
        """Return the verb with its object: "pick up the bowl", "pick it up".

        ``split`` puts the object between verb and particle; ``form`` is ``base``, ``ing`` or ``participle``.
        """
        head = getattr(self, form)
        if self.particle and (split or thing in PRONOUNS or self.particle in FOLLOWING):
            return f"{head} {thing} {self.particle}"
        return " ".join(filter(None, (head, self.particle, self.rest, thing)))


class VerbSense(YamlRecord):
    """Verbs with the same meaning."""

    habitual: tuple[str, ...] = ()
    contextual: tuple[str, ...] = ()
    only_original: tuple[str, ...] = ()


class PrecedingVerbs(YamlRecord):
    """Verbs for a preceding action ("find the bowl, then ..."), by whether the main action moves an object."""

    move: tuple[str, ...]
    other: tuple[str, ...]


class VerbTable(YamlRecord):
    """Verbs by sense and action, preceding verbs, adverbs and irregular forms; see ``verbs.yaml`` for the fields."""

    senses: Mapping[str, VerbSense]
    plain: Mapping[Action, tuple[str, ...]]
    coordinated: PrecedingVerbs
    subordinated: PrecedingVerbs
    adverbs: Mapping[str, Words]
    irregular: Mapping[str, tuple[str, str]]


@cache
def verb_table() -> VerbTable:
    """Return the content of ``verbs.yaml``."""
    return validate(VerbTable, load_yaml(HERE.joinpath("verbs.yaml")), "verbs.yaml")


@cache
def senses_by_verb() -> Mapping[str, tuple[str, ...]]:
    """Return a mapping from every known verb to its possible senses, longest verbs first."""
    senses: dict[str, list[str]] = {}
    for name, sense in verb_table().senses.items():
        for written in (*sense.habitual, *sense.contextual, *sense.only_original):
            senses.setdefault(written.removesuffix("->").strip(), []).append(name)
    return {verb: tuple(senses[verb]) for verb in sorted(senses, key=len, reverse=True)}


@cache
def verb_named(written: str) -> Verb:
    """Return the verb for an entry in the table: "pick up", "reach for", "move ->"."""
    words = written.removesuffix("->").split()
    base, after = words[0], " ".join(words[1:])
    if base in verb_table().irregular:
        ing, participle = verb_table().irregular[base]
    elif base.endswith("e"):
        ing, participle = f"{base[:-1]}ing", f"{base}d"
    elif re.fullmatch(r".*[^aeiou]y", base):
        ing, participle = f"{base}ing", f"{base[:-1]}ied"
    else:
        stem = base + base[-1] if _DOUBLING.fullmatch(base) else base
        ing, participle = f"{stem}ing", f"{stem}ed"
    particle, rest = (after, "") if after in PARTICLES else ("", after)
    return Verb(base, ing, participle, particle, rest, moves=written.endswith("->"))


def plain_synonyms(action: Action, verb: Verb) -> tuple[Verb, ...]:
    """Return the plain verbs for an action, excluding the given one."""
    return tuple(verb_named(name) for name in verb_table().plain[action] if name != verb.name)
