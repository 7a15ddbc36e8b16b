"""What a sentence of each action type looks like, and how the original's verbs and frame show in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from assay.perturb.words.grid.cells import ActionType
from assay.perturb.words.grid.names import words_of
from assay.tasks.language import Meaning, Step
from assay.tasks.language.phrases import pronoun
from assay.tasks.language.verbs import PARTICLES, verb_table

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
    """What does not fit an action type."""
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
    """The original, and manner adverbs."""
    known = {adverb for each in verb_table().adverbs.values() for adverb in each}
    adverbs = [word for word in words_of(low) if word in known or word.endswith("ly")]
    bare = " ".join(word for word in low.split() if word.strip(",") not in adverbs)
    if not adverbs:
        yield "there is no manner adverb in it"
    elif not _frame(meaning).fullmatch(bare):
        yield "more than names and a manner adverb has changed"


def _verb_flaws(low: str, action: ActionType, meaning: Meaning) -> Iterator[str]:
    """The original with another verb of the right type."""
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
    said = set(words_of(low))
    for step in meaning.steps:
        for verb in filter(None, (step.fetch, step.verb)):
            if not said & {verb.base, verb.ing, verb.participle, *(step.states or ())[:1]}:
                yield f"the verb '{verb.name}' is gone"


@cache
def _bases() -> set[str]:
    """The verbs that commands begin with."""
    senses = verb_table().senses.values()
    return {verb.split()[0] for sense in senses for verb in (*sense.habitual, *sense.contextual)}


@lru_cache(maxsize=64)
def _frame(meaning: Meaning) -> re.Pattern[str]:
    """The original with any name for each noun."""
    return re.compile(_open(meaning.slotted, meaning))


def _open(text: str, meaning: Meaning) -> str:
    """A pattern of a text with any name for each noun: a few words, or one of its own with "and" in it."""

    def names(field: re.Match[str]) -> str:
        mention = meaning.mentions[int(field[1])]
        own = "|".join(
            re.escape(mention.in_number(name)) for name in sorted(mention.noun.all_names) if " and " in name
        )
        return rf"(?:(?:{_NAME_WORD}\ ){{0,3}}(?:{own})|{_NAME})" if own else _NAME

    return re.sub(r"\\\{[np](\d+)\\\}", names, re.escape(text))


@lru_cache(maxsize=64)
def _any_verbs(meaning: Meaning) -> re.Pattern[str]:
    """The original with any names and any verbs."""
    return re.compile("(?:,? and(?: then)?|, then) ".join(_any_verb(step, meaning) for step in meaning.steps))


def _any_verb(step: Step, meaning: Meaning) -> str:
    """A step with any verbs, and with "onto" for "on" or "to" for "in" ("add the cheese to the bowl")."""
    verb = r"[a-z]+"
    place = re.sub(r"^on\\ ", r"on(?:to)?\\ ", _open(step.place_said, meaning))
    place = re.sub(r"^in\\ ", r"(?:in|to|into)\\ ", place)
    place = re.sub(r"^on\(\?:to\)\?\\ top", r"on(?:to the)?\\ top", place)
    after = rf"\ {place}" if place else ""
    if step.fetch is not None:
        thing, it = _open(step.thing, meaning), pronoun(step.thing)
        return rf"{verb}{_PARTICLE} {thing} and {verb} {it}{_PARTICLE}{after}"
    return rf"{verb}{_PARTICLE} {_open(step.thing_said, meaning)}{_PARTICLE}{after}"
