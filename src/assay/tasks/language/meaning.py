"""Interpretation of a task's instruction: its steps and their objects, resolved using the scene and goal.

Only the noun for an object may be reworded, so the steps have a placeholder for each noun. All other words that
identify the object (left, black, next to the ramekin) are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from assay.errors import PerturbationError
from assay.tasks import Task
from assay.tasks.language.lexicon import (
    Action,
    Lexicon,
    Noun,
    attribute_words,
    lexicon,
    names_of,
    senses_by_verb,
)
from assay.tasks.language.phrases import FIELD, RESTING, without_place
from assay.tasks.language.steps import Step, read_steps, write_steps

MAX_CHARACTERS = 500
"""Maximum number of characters in an instruction; the longest published instruction has 190."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun in an instruction; its placeholder is ``{n0}`` for the first noun, ``{p0}`` if it is plural."""

    noun: Noun
    form: str
    """Name used for the noun, in the singular."""
    plural: bool

    @property
    def original(self) -> str:
        """The noun as written."""
        return self.in_number(self.form)

    def in_number(self, name: str) -> str:
        """Return another name in the same grammatical number as the mention."""
        return self.noun.plural_of(name) if self.plural else name


@dataclass(frozen=True, slots=True)
class Meaning:
    """A parsed instruction."""

    original: str
    slotted: str
    """Instruction in lower case, with a placeholder for each noun: "put the {n0} on the {n1}"."""
    mentions: tuple[Mention, ...]
    steps: tuple[Step, ...]
    """Steps, with placeholders for nouns."""
    nouns: tuple[Noun, ...]
    """Nouns of all objects in the scene and of their parts."""

    @property
    def fields(self) -> dict[str, Mention]:
        """Nouns by placeholder."""
        return {_field(index, mention): mention for index, mention in enumerate(self.mentions)}


def read_task(task: Task, lexicon: Lexicon) -> Meaning:
    """Parse a task's instruction.

    Raises PerturbationError if an object is missing from the lexicon, the instruction cannot be parsed, or it does not
    mention the objects in the goal.
    """
    original = task.instruction.text
    text = " ".join(original.lower().split()).rstrip(".")
    if not text:
        raise PerturbationError(f"{task.id}: the instruction is empty")
    if len(text) > MAX_CHARACTERS or not re.fullmatch(r"[a-z0-9 ,;'-]+", text):
        raise PerturbationError(
            f"{task.id}: the instruction is not a plain English sentence of at most {MAX_CHARACTERS} characters: "
            f"{text[:60]!r}"
        )
    categories = (entity.category for entity in task.scene.entities)
    nouns = lexicon.with_parts(noun for category in categories for noun in lexicon.of_category(category))
    slotted, mentions = _slot_nouns(text, nouns)
    named = {mention.noun.name for mention in mentions}
    named |= {whole for mention in mentions for whole in mention.noun.part_of}
    for name in task.goal_entities:
        category = task.scene.categories.get(name)
        if category is not None and not named & {noun.name for noun in lexicon.of_category(category)}:
            raise PerturbationError(
                f"{task.id}: the goal involves {name}, which the instruction does not mention: "
                f"'{' '.join(original.split())}'"
            )
    try:
        steps = tuple(_check_step(step, mentions) for step in read_steps(slotted))
    except PerturbationError as error:
        reason = FIELD.sub(lambda field: mentions[int(field[1])].original, str(error))
        raise PerturbationError(f"{task.id}: cannot parse {original!r}: {reason}") from None
    return Meaning(original, slotted, mentions, steps, nouns)


def _field(index: int, mention: Mention) -> str:
    return f"{'p' if mention.plural else 'n'}{index}"


def _slot_nouns(text: str, nouns: tuple[Noun, ...]) -> tuple[str, tuple[Mention, ...]]:
    """Replace each noun in a text with a placeholder, longest match first; equal nouns share a placeholder.

    A name that is the default name of one object in the scene is never interpreted as another object.
    """
    usual = {noun.name for noun in nouns}
    forms = {
        written: Mention(noun, form, plural)
        for noun in nouns
        for form in noun.original_forms
        if form == noun.name or form not in usual
        for written, plural in noun.numbers_of(form)
    }
    pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    mentions: list[Mention] = []

    def field(match: re.Match[str]) -> str:
        mention = forms[match[0]]
        if mention not in mentions:
            mentions.append(mention)
        return f"{{{_field(mentions.index(mention), mention)}}}"

    return re.sub(rf"\b(?:{pattern})\b", field, text), tuple(mentions)


def _check_step(step: Step, mentions: tuple[Mention, ...]) -> Step:
    """Return the step, with the verb sense for doors if its object is a door.

    Raises PerturbationError if an object or the destination is not named.
    """
    moves = step.action in (Action.PUT, Action.PUSH)
    if step.action is Action.TAKE or (step.fetch is not None and not moves):
        raise PerturbationError("it names an object to pick up, but no place to put it")
    # After another step, the referent of "it" is ambiguous; "them" refers to both objects of that step.
    again = moves and step.fetch is None and step.thing_again == "it"
    for phrase in (step.thing_wording if again else step.thing, step.target):
        if phrase and not (FIELD.search(phrase) and phrase.startswith(("the ", "both ", "its "))):
            raise PerturbationError(
                f"'{phrase}' does not name an object in the scene, according to the lexicon"
            )
    if moves and not step.preposition.endswith(tuple(RESTING)):
        raise PerturbationError(f"'{step.place}' is not a location where an object can be placed")
    field = FIELD.search(step.thing)
    door = f"{step.sense}_door"
    if field is not None and mentions[int(field[1])].noun.door and door in senses_by_verb()[step.verb.name]:
        return replace(step, sense=door)
    return step


Rename = Callable[[str, str, bool], str | None]
"""Function that takes a category, its noun in the instruction, and whether the noun is plural. Returns the
replacement, or None to keep the name.
"""


def rename_moved(text: str, categories: Iterable[str], rename: Rename) -> str:
    """Return an instruction with other names for the moved objects of the given categories.

    ``rename`` returns a name without an article; for a plural, it includes the words between "both" and the noun.
    Raises PerturbationError if a category is not mentioned, or is mentioned twice.
    """
    named: dict[str, str] = {}
    wanted = tuple(dict.fromkeys(categories))
    steps: list[Step] = []
    for step in read_steps(text):
        steps.append(step)
        if not step.preposition:
            continue
        phrase = step.thing
        both, rest = re.fullmatch(r"(both )?(.*)", without_place(phrase)).groups("")  # type: ignore[union-attr]
        parts = rest.removeprefix("the ").split(" and the ")
        plural = both != "" and not rest.startswith("the ")
        categories_ = [_category(part, wanted) for part in parts]
        for category in filter(None, categories_):
            if named.setdefault(category, phrase) != phrase:
                raise PerturbationError(
                    f"'{text}' mentions the same kind of object twice: {named[category]!r} and {phrase!r}"
                )
        new: list[str | None] = []
        for part, kind in zip(parts, categories_, strict=True):
            # The noun at the end of the phrase: "mug" for "yellow and white mug".
            ends = [name for name in _nouns(kind) if f" {part}".endswith(f" {name}")] if kind else []
            new.append(rename(kind, max(ends, key=len, default=part), plural) if kind else None)
        if any(new):
            names = [name or part for name, part in zip(new, parts, strict=True)]
            renamed = f"{both}{names[0]}" if plural else f"{both}the {' and the '.join(names)}"
            steps[-1] = replace(step, thing=renamed)
    missing = [category for category in wanted if category not in named]
    if missing:
        raise PerturbationError(f"'{text}' does not mention {missing[0]} by a name in the lexicon")
    return write_steps(steps)


def _category(part: str, categories: Iterable[str]) -> str | None:
    """Return the category of a noun phrase without an article, identified by LIBERO's name or else by its noun."""
    attributes = rf"(?:(?:{'|'.join((*attribute_words(), 'and'))}) )*"
    for names, before in ((names_of, ""), (_nouns, attributes)):
        matching = [
            category
            for category in categories
            if any(re.fullmatch(before + re.escape(name), part) for name in names(category))
        ]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise PerturbationError(f"'{part}' is ambiguous; it may refer to {', '.join(matching)}")
    return None


def _nouns(category: str) -> tuple[str, ...]:
    """Return the singular and plural nouns for a category. Raises PerturbationError if the lexicon has none."""
    return tuple(
        written
        for noun in lexicon().of_category(category)
        for form in noun.original_forms
        for written, _ in noun.numbers_of(form)
    )
