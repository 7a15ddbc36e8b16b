"""Rules of the grid: the form of each action type, and the information that a paraphrase must preserve."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assay import tasks
from assay.errors import AssayError
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType, cell_of
from assay.perturb.words.grid.generate import DOUBLED, new_names
from assay.perturb.words.grid.table import GridRow
from assay.tasks import Task
from assay.tasks.language.lexicon import PARTICLES, attribute_words, lexicon, verb_table
from assay.tasks.language.meaning import Meaning, read_task
from assay.tasks.language.phrases import FIELD, pronoun

MAX_CHARACTERS = 1000
_ARTICLE = re.compile(r"\b(an?) ([a-z]+)", re.IGNORECASE)
_VOWEL_SOUND = re.compile(r"(?!uni(?!n)|use|usu|uti|ut[ei]n|eu|one\b|once\b)[aeiou]|hour|honest|heir")
_NAMING = re.compile(r"\b(?:the|an?|this|that|both|its|my|our|your)\b", re.IGNORECASE)
_SMALL = frozenset({"a", "an", "and", "both", "its", "of", "that", "the"})

Flaw = tuple[str, str]
"""Name of the violated rule, and an explanation."""
_DETERMINER = re.compile("a|an|both|each|its|my|our|that|the|their|these|this|those|two|your")
_BOUND = re.compile(
    "after|and|are|at|be|been|before|between|by|can|could|for|from|has|have|i|if|in|into|is|it|me|next|of|on|once"
    "|onto|or|so|then|to|under|until|were|when|where|will|with|would|you"
)
_FARTHEST = 5
"""Maximum number of words between an article and a name."""
_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_LAST = 3
"""Rank of a name that is merely a general term."""
_GENITIVE = re.compile(r"'s\b")
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


@dataclass(frozen=True, slots=True)
class FoundName:
    """Name of an object found after an article in a text."""

    name: str
    nouns: frozenset[str]
    """Nouns of the scene that the name may refer to. If these include nouns of the original, only the nouns for
    which the name is at least as specific remain: a "container" on the stove is a bowl rather than a bottle.
    """
    plural: bool
    between: tuple[str, ...]
    """Words between the article and the name."""


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without punctuation and genitives."""
    return tuple(_WORD.findall(_GENITIVE.sub("", text.lower())))


class Rules:
    """Rules for paraphrases of one task; ``words`` is a file with additional nouns.

    Raises PerturbationError for a task whose objects are not in the lexicon or whose instruction cannot be parsed.
    """

    def __init__(self, task: Task, words: Path | None = None) -> None:
        self._meaning = read_task(task, lexicon(words))
        self.original = self._meaning.original
        """The task's instruction."""
        self._mentioned = {mention.noun.name for mention in self._meaning.mentions}
        self._names: dict[tuple[str, ...], tuple[dict[str, int], bool]] = {}
        for noun in self._meaning.nouns:
            listed = (noun.habitual, noun.contextual, noun.also)
            for name in noun.all_names:
                # 0 for the noun's own name, then plain synonyms, contextual names, any other.
                rank = next(
                    (rank for rank, names in enumerate(listed, 1) if name in map(str.lower, names)), 0
                )
                for written, plural in noun.numbers_of(name):
                    ranks, _ = self._names.setdefault(words_of(written), ({}, plural))
                    ranks[noun.name] = min(rank, ranks.get(noun.name, _LAST))
        self._longest = max(map(len, self._names), default=0)
        self._original_names = tuple(self._find(self.original))

    def flaws(self, text: str, cell: Cell) -> Iterator[Flaw]:
        """Yield all rule violations of a paraphrase in a cell, each as the rule and an explanation."""
        yield from plain_flaws(text, self.original)
        if not text.strip() or len(text) > MAX_CHARACTERS:
            return
        forms = {mention.original for mention in self._meaning.mentions}
        literal = {name.name for name in self._original_names} - forms  # "the middle layer of the drawer"
        names = [name for name in self._find(text) if name.name not in literal]
        yield from self._reference_flaws(text, names, forms)
        yield from self._object_flaws(names, cell.object_type)
        yield from (("action", reason) for reason in _action_flaws(text, cell.action_type, self._meaning))

    def _find(self, text: str) -> Iterator[FoundName]:
        """Yield the names of the scene's objects in a text, with the longest name at each position."""
        words = words_of(text)
        start = end = 0
        while start < len(words):
            between = _after_article(words, start)
            name = self._at(words, start) if between is not None else None
            if name is None or between is None:
                start += 1
                continue
            ranks, plural = self._names[name]
            following = self._at(words, start + len(name))
            if following is not None:
                # "The stove surface" is a specific and a general name of one object; "the food bowl" is not food.
                general = self._names[following][0]
                if not any(rank < general.get(noun, 0) for noun, rank in ranks.items()):
                    start += len(name)
                    continue
            # Words that belong to another name ("the caddy's back compartment") are not between.
            between = between[max(0, end - start + len(between)) :]
            least = min((rank for noun, rank in ranks.items() if noun in self._mentioned), default=_LAST)
            nouns = frozenset(noun for noun, rank in ranks.items() if rank <= least)
            yield FoundName(" ".join(name), nouns, plural, between)
            start = end = start + len(name) + len(following or ())

    def _at(self, words: tuple[str, ...], start: int) -> tuple[str, ...] | None:
        for length in range(min(self._longest, len(words) - start), 0, -1):
            name = words[start : start + length]
            if name in self._names:
                return name
        return None

    def _reference_flaws(self, text: str, names: Sequence[FoundName], forms: set[str]) -> Iterator[Flaw]:
        """Yield ambiguous names, missing words that identify an object, and changes between singular and plural."""
        mentioned, meaning = self._mentioned, self._meaning
        things = {noun.name: set(noun.things) for noun in meaning.nouns}
        for name in names:
            if name.name in forms:
                continue
            # Two names of one object ("cream cheese" and "cream cheese box") are not ambiguous.
            here = [noun for noun in name.nouns if noun in mentioned]
            others = [
                noun
                for noun in sorted(name.nouns)
                if not any(noun == own or things[noun] & things[own] for own in here)
            ]
            if (here and others) or (
                len(here) > 1 and not set.intersection(*(things[noun] for noun in here))
            ):
                yield "scene", f"'{name.name}' could mean the {' or the '.join(sorted({*here, *others}))}"
            elif others and not any(things[noun] & things[own] for noun in others for own in mentioned):
                yield "scene", f"'{name.name}' refers to the {others[0]}, which the original does not name"
        words = set(words_of(text))
        for step in meaning.steps:
            for phrase in (step.thing, step.target):
                for word in words_of(FIELD.sub("", phrase)):
                    if word not in words and word not in _SMALL:
                        yield "reference", f"'{word}', which identifies the object, is missing"
        plural = {mention.noun.name: mention.plural for mention in meaning.mentions}
        for name in names:
            numbers = [plural[noun] for noun in name.nouns if noun in plural]
            if numbers and name.plural not in numbers:
                number = "plural" if name.plural else "singular"
                yield "number", f"'{name.name}' is {number}, but the original is not"

    def _object_flaws(self, names: Sequence[FoundName], type: ObjectType) -> Iterator[Flaw]:
        """Yield violations caused by changes to names that do not match the object type."""
        substitutes = type in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL)
        steps, is_changed = self._meaning.steps, False
        for mention in self._meaning.mentions:
            noun, form = mention.noun, mention.original
            others = {other.original for other in self._meaning.mentions} - {form}
            listed = {
                " ".join(words_of(written)): kind
                for kind in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL)
                for name in new_names(noun, kind, mention.form)
                for written in (name, noun.plural_of(name))
            }
            mine = [name for name in names if noun.name in name.nouns and name.name not in others]
            same = [name for name in mine if name.name.endswith(form) and name.name not in listed]
            before = {word for name in self._original_names if name.name == form for word in name.between}
            elsewhere = {
                word for name in self._original_names if name.name in others for word in name.between
            } - before
            mine = [
                name
                for name in mine
                # A word that describes another object in the original ("top drawer") also describes it here.
                if name in same
                or (name.nouns & self._mentioned == {noun.name} and elsewhere.isdisjoint(name.between))
            ]
            # "Inside the open drawer" describes a state, not which drawer is meant.
            before |= {word for step in steps for word in (*(step.states or ()), step.verb.participle)}
            for name in mine:
                for word in name.between:
                    if word not in before and word in attribute_words():
                        yield "object", f"'{word}' is a visual or spatial attribute of the {form}"
            new = [word for name in same for word in (*name.between, *words_of(name.name.removesuffix(form)))]
            qualifiers = [word for word in new if word not in before]
            # Only the last word of the name remains: "bottle" for "wine bottle".
            shortened = any(form.endswith(f" {name.name}") for name in mine)
            if not substitutes and not same and not (type is ObjectType.ADDITION and shortened):
                yield "object", f"'{form}' is missing, but the object type is '{type}'"
            elif qualifiers and type is not ObjectType.ADDITION:
                yield "object", f"'{qualifiers[0]}' qualifies the {form}, but the object type is '{type}'"
            renamed = {name.name: listed[name.name] for name in mine if name.name in listed}
            for other, kind in renamed.items():
                # A plain synonym is acceptable as a contextual name, but not vice versa.
                if type is ObjectType.HABITUAL and kind is ObjectType.CONTEXTUAL:
                    yield "object", f"'{other}' is a {kind} name of the {form}, not a {type} one"
            is_changed |= bool(renamed or not same if substitutes else qualifiers or shortened)
        if type is not ObjectType.NONE and not is_changed:
            yield "object", f"no name has changed, but the object type is '{type}'"


def _after_article(words: tuple[str, ...], start: int) -> tuple[str, ...] | None:
    """Return the words between a position and the article before it; None if there is no article."""
    for back in range(1, min(_FARTHEST + 1, start) + 1):
        word = words[start - back]
        if _DETERMINER.fullmatch(word):
            return words[start - back + 1 : start]
        if _BOUND.fullmatch(word):
            # "the yellow and white mug": colours may be joined.
            joined = word == "and" and back == 2 and start >= 4 and _DETERMINER.fullmatch(words[start - 4])
            return words[start - 3 : start] if joined else None
    return None


def plain_flaws(text: str, original: str) -> Iterator[Flaw]:
    """Yield the rule violations in a text that do not depend on its task."""
    if not text.strip():
        yield "text", "it is empty"
    elif not _NAMING.search(text):
        yield "text", "it names no object: it contains no article"
    if len(text) > MAX_CHARACTERS:
        yield "text", f"it has {len(text)} characters, more than {MAX_CHARACTERS}"
    if not text.isprintable() or text != " ".join(text.split()):
        yield "text", "it contains control characters or stray spaces"
    if words_of(text) == words_of(original):
        yield "text", "it is the same as the original"
    doubled = DOUBLED.search(text.lower())
    if doubled is not None:
        yield "grammar", f"'{doubled[0]}' repeats a word"
    for article, word in _ARTICLE.findall(text):
        vowel = _VOWEL_SOUND.match(word.lower()) is not None
        if vowel != (article.lower() == "an"):
            yield "grammar", f"'{article} {word}' should be '{'an' if vowel else 'a'} {word}'"


def _action_flaws(text: str, action: ActionType, meaning: Meaning) -> Iterator[str]:
    """Yield violations of the rules for an action type."""
    low = " ".join(text.lower().rstrip(".").split())
    asks = low.endswith("?")
    if asks != (action in _ASKING):
        yield f"it is {'a' if asks else 'not a'} question, but the action type is '{action}'"
        return
    is_original = _frame(meaning).fullmatch(low) is not None
    match action:
        case ActionType.NONE if not is_original:
            yield "more than the names has changed, but the action type is 'none'"
        case ActionType.ADDITION:
            manner = {adverb for group in verb_table().adverbs.values() for adverb in group}
            adverbs = [word for word in words_of(low) if word in manner or word.endswith("ly")]
            bare = " ".join(word for word in low.split() if word.strip(",") not in adverbs)
            if not adverbs:
                yield "it contains no manner adverb"
            elif not _frame(meaning).fullmatch(bare):
                yield "more than the names and a manner adverb has changed"
        case ActionType.HABITUAL | ActionType.CONTEXTUAL if is_original:
            yield f"no verb has changed, but the action type is '{action}'"
        case ActionType.HABITUAL | ActionType.CONTEXTUAL if not _any_verbs(meaning).fullmatch(low):
            yield "more than the names and verbs has changed"
        case ActionType.HABITUAL if len(meaning.steps) == 1 and meaning.steps[0].fetch is None:
            (step,), first = meaning.steps, low.split()[0]
            listed = verb_table().senses[step.sense]
            contextual, habitual = (
                {verb.removesuffix("->").split()[0] for verb in verbs}
                for verbs in (listed.contextual, listed.habitual)
            )
            if first in contextual - habitual - {step.verb.base}:
                yield f"'{first}' is a contextual verb here, not a habitual one"
        case ActionType.COORDINATION | ActionType.SUBORDINATION:
            mark = _JOINS if action is ActionType.COORDINATION else _DEPENDS
            if not mark.search(low) or is_original:
                yield f"it contains no {action}"
            yield from _verbs_gone(low, meaning)
        case ActionType.NEED if not _NEEDS.search(low):
            yield "it does not express a need"
        case ActionType.EMBEDDED:
            if not _ASKS_YOU.search(low):
                yield "it does not ask the listener to act"
            yield from _verbs_gone(low, meaning)
        case ActionType.PERMISSION if not _ASKS_LEAVE.search(low):
            yield "it does not ask for permission"
        case ActionType.QUESTION if _ASKS_LEAVE.search(low) or _MODAL_YOU.match(low):
            yield "it requests the action itself, as embedded imperatives and permission directives do"
        case ActionType.HINT:
            senses = verb_table().senses.values()
            commands = {verb.split()[0] for sense in senses for verb in (*sense.habitual, *sense.contextual)}
            if _NEEDS.search(_NEEDED_THING.sub("", low)) or low.partition(" ")[0] in commands:
                yield "it is a command or a need, not a hint"


def _verbs_gone(low: str, meaning: Meaning) -> Iterator[str]:
    words = set(words_of(low))
    for step in meaning.steps:
        for verb in filter(None, (step.fetch, step.verb)):
            if not words & {verb.base, verb.ing, verb.participle, *(step.states or ())[:1]}:
                yield f"the verb '{verb.name}' is missing"


@lru_cache(maxsize=64)
def _frame(meaning: Meaning) -> re.Pattern[str]:
    """Return a pattern that matches the original with any name for each noun."""
    return re.compile(_open(meaning.slotted, meaning))


def _open(text: str, meaning: Meaning) -> str:
    """Return a pattern that matches a text with any name for each noun: a few words, or a name that contains "and"."""

    def names(field: re.Match[str]) -> str:
        mention = meaning.mentions[int(field[1])]
        own = "|".join(
            re.escape(mention.in_number(name)) for name in sorted(mention.noun.all_names) if " and " in name
        )
        return rf"(?:(?:{_NAME_WORD}\ ){{0,3}}(?:{own})|{_NAME})" if own else _NAME

    return re.sub(r"\\\{[np](\d+)\\\}", names, re.escape(text))


@lru_cache(maxsize=64)
def _any_verbs(meaning: Meaning) -> re.Pattern[str]:
    """Return a pattern that matches the original with any names and any verbs.

    It allows "onto" for "on", and "to" for "in" ("add the cheese to the bowl").
    """
    verb, parts = r"[a-z]+", []
    for step in meaning.steps:
        place = re.sub(r"^on\\ ", r"on(?:to)?\\ ", _open(step.place_wording, meaning))
        place = re.sub(r"^in\\ ", r"(?:in|to|into)\\ ", place)
        place = re.sub(r"^on\(\?:to\)\?\\ top", r"on(?:to the)?\\ top", place)
        after = rf"\ {place}" if place else ""
        if step.fetch is not None:
            thing, it = _open(step.thing, meaning), pronoun(step.thing)
            parts.append(rf"{verb}{_PARTICLE} {thing} and {verb} {it}{_PARTICLE}{after}")
        else:
            parts.append(rf"{verb}{_PARTICLE} {_open(step.thing_wording, meaning)}{_PARTICLE}{after}")
    return re.compile("(?:,? and(?: then)?|, then) ".join(parts))


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule violation in a row of a table."""

    line: int
    rule: str
    """Name of the rule: cell, task, text, grammar, unique, scene, reference, number, object or action."""
    reason: str
    text: str


def verify(
    rows: Iterable[GridRow], *, load: Callable[[str], Task] = tasks.load, words: Path | None = None
) -> Iterator[Fault]:
    """Yield all rule violations in rows, in order; ``load`` loads a task, ``words`` is a file with additional nouns."""
    rules_by_task: dict[str, Rules | str] = {}
    lines: dict[str, int] = {}
    for row in rows:
        if row.task not in rules_by_task:
            try:
                rules_by_task[row.task] = Rules(load(row.task), words)
            except AssayError as error:
                rules_by_task[row.task] = str(error)
        rules = rules_by_task[row.task]
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
            yield Fault(row.line, "unique", f"it is also on line {before}", row.paraphrase)
        for rule, reason in rules.flaws(row.paraphrase, cell):
            yield Fault(row.line, rule, reason, row.paraphrase)
