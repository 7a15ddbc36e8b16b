"""Rules of the grid: the form of each action type, and the information that a paraphrase must preserve."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from assay import tasks
from assay.errors import AssayError
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType, cell_of
from assay.perturb.words.grid.generate import DOUBLED, new_names
from assay.perturb.words.grid.names import Finder, FoundName, words_of
from assay.perturb.words.grid.table import GridRow
from assay.tasks import Task
from assay.tasks.language import Meaning, Mention, Noun, Step, lexicon, read_task
from assay.tasks.language.lexicon import PARTICLES, attribute_words, verb_table
from assay.tasks.language.phrases import FIELD, pronoun

_NO_NAME = "after|and|as|down|in|is|it|on|once|open|out|over|shut|so|them|then|to|until|up|when"
_NAME_WORD = rf"(?!(?:{_NO_NAME})\b)[a-z0-9'-]+"
_NAME = rf"(?:{_NAME_WORD} ){{0,4}}?{_NAME_WORD}"
_PARTICLE = rf"(?: (?:{'|'.join(sorted(PARTICLES))}))?"
_ASKS_YOU = re.compile(
    r"\b(?:can|could|would|will|might) you\b|\byou could\b|\b(?:for|ask) you to\b|\byou (?:mind|be)\b"
)
_ASKS_LEAVE = re.compile(
    r"\b(?:may|might|can|could) (?:i|we)\b|\b(?:am i|are we) (?:allowed|able|free)\b"
    r"|\b(?:let|allow) (?:me|us)\b|\b(?:okay|ok|all right|fine) if (?:i|we)\b|\bpossible for (?:me|us) to\b"
)
_MODAL_YOU = re.compile(r"(?:can|could|would|will) you\b(?! (?:tell|say|find out|check|see)\b)")
_NEEDS = re.compile(
    r"\b(?:i|we)(?:'d| would)? (?:really )?(?:need|want|require|wish|like|love)\b|\bmy (?:need|requirement|wish)\b"
)
_NEEDED_THING = re.compile(r"\bwhat (?:i|we) (?:need|want) is (?:inside|in|on|under|behind)\b")
_JOINS = re.compile(r"[;.] ?\w|\band\b|\bthen\b|\bafter that\b|\bnext\b")
_DEPENDS = re.compile(
    r"\b(?:after|once|when|before|until|so|as soon as|in order to|having|upon|while|by \w+ing|where)\b"
    r"|\b(?:which|that)\b|^to \w+|\bto (?:be|access|see|reach)\b|\bto \w+ (?:it|them)\b"
    r"|\b(?:purpose|goal|aim) of \w+ing\b"
)
_ASKING = (ActionType.EMBEDDED, ActionType.PERMISSION, ActionType.QUESTION)


def shape_flaws(text: str, action: ActionType, meaning: Meaning) -> Iterator[str]:
    """Yield violations of an action type."""
    low = " ".join(text.lower().rstrip(".").split())
    asks = low.endswith("?")
    if asks != (action in _ASKING):
        yield f"it is {'a' if asks else 'no'} question, and the action type is '{action}'"
        return
    match action:
        case ActionType.NONE if not _frame(meaning).fullmatch(low):
            yield "more than names has changed, and the action type is 'none'"
        case ActionType.ADDITION:
            yield from _addition_flaws(low, meaning)
        case ActionType.HABITUAL | ActionType.CONTEXTUAL:
            yield from _verb_flaws(low, action, meaning)
        case ActionType.COORDINATION | ActionType.SUBORDINATION:
            mark = _JOINS if action is ActionType.COORDINATION else _DEPENDS
            if not mark.search(low) or _frame(meaning).fullmatch(low):
                yield f"there is no {action} in it"
            yield from _verbs_gone(low, meaning)
        case ActionType.NEED if not _NEEDS.search(low):
            yield "it does not speak of a need"
        case ActionType.EMBEDDED:
            if not _ASKS_YOU.search(low):
                yield "it does not ask the hearer to act"
            yield from _verbs_gone(low, meaning)
        case ActionType.PERMISSION if not _ASKS_LEAVE.search(low):
            yield "it does not ask for leave"
        case ActionType.QUESTION if _ASKS_LEAVE.search(low) or _MODAL_YOU.match(low):
            yield "it asks for the act itself, as embedded imperatives and permission directives do"
        case ActionType.HINT if (
            _NEEDS.search(_NEEDED_THING.sub("", low)) or low.partition(" ")[0] in _bases()
        ):
            yield "it is a command or a need, no hint"


def _addition_flaws(low: str, meaning: Meaning) -> Iterator[str]:
    """Yield violations of type 'addition': the original with manner adverbs."""
    manner = {adverb for group in verb_table().adverbs.values() for adverb in group}
    adverbs = [word for word in words_of(low) if word in manner or word.endswith("ly")]
    bare = " ".join(word for word in low.split() if word.strip(",") not in adverbs)
    if not adverbs:
        yield "there is no manner adverb in it"
    elif not _frame(meaning).fullmatch(bare):
        yield "more than names and a manner adverb has changed"


def _verb_flaws(low: str, action: ActionType, meaning: Meaning) -> Iterator[str]:
    """Yield violations of the verb types: the original with another verb of the right type."""
    if _frame(meaning).fullmatch(low):
        yield f"no verb has changed, and the action type is '{action}'"
        return
    if not _any_verbs(meaning).fullmatch(low):
        yield "more than names and verbs has changed"
        return
    if action is ActionType.CONTEXTUAL:  # a plain synonym is right anywhere, so also here
        return
    for step in meaning.steps:
        listed = verb_table().senses[step.sense]
        wrong = {verb.removesuffix("->").split()[0] for verb in listed.contextual}
        wrong -= {verb.removesuffix("->").split()[0] for verb in listed.habitual}
        if len(meaning.steps) == 1 and step.fetch is None and low.split()[0] in wrong - {step.verb.base}:
            yield f"'{low.split()[0]}' is a contextual verb here, not a habitual one"


def _verbs_gone(low: str, meaning: Meaning) -> Iterator[str]:
    words = set(words_of(low))
    for step in meaning.steps:
        for verb in filter(None, (step.fetch, step.verb)):
            if not words & {verb.base, verb.ing, verb.participle, *(step.states or ())[:1]}:
                yield f"the verb '{verb.name}' is gone"


@cache
def _bases() -> set[str]:
    """Return the verbs that commands begin with."""
    senses = verb_table().senses.values()
    return {verb.split()[0] for sense in senses for verb in (*sense.habitual, *sense.contextual)}


@lru_cache(maxsize=64)
def _frame(meaning: Meaning) -> re.Pattern[str]:
    """Return a pattern of the original with any name for each noun."""
    return re.compile(_open(meaning.slotted, meaning))


def _open(text: str, meaning: Meaning) -> str:
    """Return a pattern of a text with any name for each noun: a few words, or a name that contains "and"."""

    def names(field: re.Match[str]) -> str:
        mention = meaning.mentions[int(field[1])]
        own = "|".join(
            re.escape(mention.in_number(name)) for name in sorted(mention.noun.all_names) if " and " in name
        )
        return rf"(?:(?:{_NAME_WORD}\ ){{0,3}}(?:{own})|{_NAME})" if own else _NAME

    return re.sub(r"\\\{[np](\d+)\\\}", names, re.escape(text))


@lru_cache(maxsize=64)
def _any_verbs(meaning: Meaning) -> re.Pattern[str]:
    """Return a pattern of the original with any names and any verbs."""
    return re.compile("(?:,? and(?: then)?|, then) ".join(_any_verb(step, meaning) for step in meaning.steps))


def _any_verb(step: Step, meaning: Meaning) -> str:
    """Return a pattern of a step with any verbs, and "onto" for "on" or "to" for "in" ("add the cheese to the
    bowl").
    """
    verb = r"[a-z]+"
    place = re.sub(r"^on\\ ", r"on(?:to)?\\ ", _open(step.place_said, meaning))
    place = re.sub(r"^in\\ ", r"(?:in|to|into)\\ ", place)
    place = re.sub(r"^on\(\?:to\)\?\\ top", r"on(?:to the)?\\ top", place)
    after = rf"\ {place}" if place else ""
    if step.fetch is not None:
        thing, it = _open(step.thing, meaning), pronoun(step.thing)
        return rf"{verb}{_PARTICLE} {thing} and {verb} {it}{_PARTICLE}{after}"
    return rf"{verb}{_PARTICLE} {_open(step.thing_said, meaning)}{_PARTICLE}{after}"


MAX_CHARACTERS = 1000
_ARTICLE = re.compile(r"\b(an?) ([a-z]+)", re.IGNORECASE)
_VOWEL_SOUND = re.compile(r"(?!uni(?!n)|use|usu|uti|ut[ei]n|eu|one\b|once\b)[aeiou]|hour|honest|heir")
_NAMING = re.compile(r"\b(?:the|an?|this|that|both|its|my|our|your)\b", re.IGNORECASE)
_SMALL = frozenset({"a", "an", "and", "both", "its", "of", "that", "the"})

Flaw = tuple[str, str]
"""The violated rule, and an explanation."""


@dataclass(frozen=True, slots=True)
class _Naming:
    """Names in a text for one of the original's nouns."""

    form: str
    """Name in the original."""
    kept: bool
    """Whether the text contains that name."""
    qualifiers: tuple[str, ...]
    """Words before that name that do not precede it in the original."""
    renamed: Mapping[str, ObjectType]
    """Other names of the noun in the lexicon -> their types."""
    added: tuple[str, ...]
    """Words before any name of the noun that do not precede it in the original."""
    shortened: bool
    """Whether the text contains only the end of the name: "bottle" for "wine bottle"."""


@cache
def _names_by_type(noun: Noun, form: str) -> Mapping[str, ObjectType]:
    """Map the lexicon's names for a form of a noun, singular and plural, to their types."""
    return {
        " ".join(words_of(written)): kind
        for kind in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL)
        for name in new_names(noun, kind, form)
        for written in (name, noun.plural_of(name))
    }


def _describe_naming(
    mention: Mention, names: Sequence[FoundName], originally: Sequence[FoundName], meaning: Meaning
) -> _Naming:
    """Describe how a text with ``names`` refers to a noun of the original, whose names are ``originally``."""
    noun, form = mention.noun, mention.original
    mentioned = {other.noun.name for other in meaning.mentions}
    others = {other.original for other in meaning.mentions} - {form}
    listed = _names_by_type(noun, mention.form)
    mine = [name for name in names if noun.name in name.nouns and name.name not in others]
    same = [name for name in mine if name.name.endswith(form) and name.name not in listed]
    before = {word for name in originally if name.name == form for word in name.between}
    elsewhere = {word for name in originally if name.name in others for word in name.between} - before
    mine = [
        name
        for name in mine
        # What "top" says of the drawer in the original it says of the drawer here.
        if name in same or (name.nouns & mentioned == {noun.name} and elsewhere.isdisjoint(name.between))
    ]
    # "Inside the open drawer" says what becomes of it, not which one it is.
    before |= {word for step in meaning.steps for word in (*(step.states or ()), step.verb.participle)}
    new = [word for name in same for word in (*name.between, *words_of(name.name.removesuffix(form)))]
    return _Naming(
        form=form,
        kept=bool(same),
        qualifiers=tuple(word for word in new if word not in before),
        renamed={name.name: listed[name.name] for name in mine if name.name in listed},
        added=tuple(word for name in mine for word in name.between if word not in before),
        shortened=any(form.endswith(f" {name.name}") for name in mine),
    )


def flaws(text: str, cell: Cell, meaning: Meaning, finder: Finder) -> Iterator[Flaw]:
    """Yield all rule violations of a paraphrase."""
    yield from plain_flaws(text, meaning.original)
    if not text.strip() or len(text) > MAX_CHARACTERS:
        return
    forms = {mention.original for mention in meaning.mentions}
    literal = {name.name for name in finder.original} - forms  # "the middle layer of the drawer"
    names = [name for name in finder.find(text) if name.name not in literal]
    yield from _scene_flaws(names, forms, meaning)
    yield from _kept_flaws(text, names, meaning)
    namings = [_describe_naming(mention, names, finder.original, meaning) for mention in meaning.mentions]
    yield from _object_flaws(namings, cell.object_type)
    yield from (("action", reason) for reason in shape_flaws(text, cell.action_type, meaning))


def plain_flaws(text: str, original: str) -> Iterator[Flaw]:
    """Yield the violations of a text that do not depend on its task."""
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
    """Yield names that could refer to another object of the scene."""
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
    """Yield lost words that identify an object, and changes between singular and plural."""
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


def _object_flaws(namings: list[_Naming], type: ObjectType) -> Iterator[Flaw]:
    """Yield changes of names that do not fit the object type."""
    substitutes = type in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL)
    for naming in namings:
        for word in naming.added:
            if word in attribute_words():
                yield "object", f"'{word}' is a visual or spatial attribute of the {naming.form}"
        deleted = type is ObjectType.ADDITION and naming.shortened
        if not substitutes and not naming.kept and not deleted:
            yield "object", f"'{naming.form}' is gone, and the object type is '{type}'"
        elif naming.qualifiers and type is not ObjectType.ADDITION:
            yield (
                "object",
                f"'{naming.qualifiers[0]}' qualifies the {naming.form}, and the object type is '{type}'",
            )
        for name, kind in naming.renamed.items():
            # A plain synonym is right anywhere, so also here.
            if type is ObjectType.HABITUAL and kind is ObjectType.CONTEXTUAL:
                yield "object", f"'{name}' is a {kind} name of the {naming.form}, not a {type} one"
    changed = any(
        naming.renamed or not naming.kept if substitutes else naming.qualifiers or naming.shortened
        for naming in namings
    )
    if type is not ObjectType.NONE and not changed:
        yield "object", f"no name has changed, and the object type is '{type}'"


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule violation in a row."""

    line: int
    rule: str
    """Name of the rule: cell, task, text, grammar, unique, scene, reference, number, object or action."""
    reason: str
    text: str


class Rules:
    """The rules for paraphrases of one task; ``words`` is a file with more nouns.

    Raises PerturbationError for a task whose objects are not in the lexicon or whose instruction cannot be parsed.
    """

    def __init__(self, task: Task, words: Path | None = None) -> None:
        self._meaning = read_task(task, lexicon(words))
        self._finder = Finder(self._meaning)
        self.original = self._meaning.original
        """The task's instruction."""

    def flaws(self, text: str, cell: Cell) -> Iterator[Flaw]:
        """Yield all violations of a paraphrase in a cell: the rule and an explanation."""
        return flaws(text, cell, self._meaning, self._finder)


def verify(
    rows: Iterable[GridRow], *, load: Callable[[str], Task] = tasks.load, words: Path | None = None
) -> Iterator[Fault]:
    """Yield all rule violations of rows, in order; ``load`` loads a task, ``words`` is a file with more nouns."""
    read: dict[str, Rules | str] = {}
    lines: dict[str, int] = {}
    for row in rows:
        if row.task not in read:
            read[row.task] = _read(row.task, load, words)
        rules = read[row.task]
        try:
            cell = cell_of(row.object_type, row.action_type)
        except AssayError as error:
            yield Fault(row.line, "cell", str(error), row.paraphrase)
            continue
        if isinstance(rules, str):
            yield Fault(row.line, "task", rules, row.paraphrase)
            continue
        if row.original and row.original != rules.original:
            reason = f"the original of {row.task} is '{rules.original}', not '{row.original}'"
            yield Fault(row.line, "task", reason, row.paraphrase)
            continue
        before = lines.setdefault(" ".join(row.paraphrase.lower().split()), row.line)
        if before != row.line:
            yield Fault(row.line, "unique", f"it is also in line {before}", row.paraphrase)
        for rule, reason in rules.flaws(row.paraphrase, cell):
            yield Fault(row.line, rule, reason, row.paraphrase)


def _read(id: str, load: Callable[[str], Task], words: Path | None) -> Rules | str:
    """Return the rules for a task, or the reason if it has none."""
    try:
        return Rules(load(id), words)
    except AssayError as error:
        return str(error)
