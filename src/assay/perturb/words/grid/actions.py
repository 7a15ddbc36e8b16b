"""The action axis: every way to say what is to be done, with fields for nouns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from assay.perturb.words.grid.cells import ActionType
from assay.perturb.words.grid.clauses import act, all_steps, one_step
from assay.perturb.words.grid.frames import Pragmatic, frames
from assay.perturb.words.grid.structure import coordinations, subordinations
from assay.tasks.language import Meaning, Step, Verb, verb_named
from assay.tasks.language.phrases import is_long, pronoun
from assay.tasks.language.verbs import verb_table

_HOLDING = ("on", "onto", "in", "into", "inside", "on top of")
_TAKING = ("on", "onto", "in", "into")
_STUCK_TOGETHER = re.compile(r"\{(?:x|bare)\} \{there\}|\{so\}")


def templates(meaning: Meaning, action: ActionType) -> tuple[str, ...]:
    """The sentences of a type, each once: "could you put the {n0} on the {n1}?"."""
    return tuple(dict.fromkeys(_templates(meaning, action)))


def _templates(meaning: Meaning, action: ActionType) -> Iterable[str]:
    steps = meaning.steps
    match action:
        case ActionType.NONE:
            return (meaning.slotted,)
        case ActionType.ADDITION:
            return _with_adverb(steps)
        case ActionType.HABITUAL | ActionType.CONTEXTUAL:
            return _with_other_verbs(steps, action)
        case ActionType.COORDINATION:
            return coordinations(steps)
        case ActionType.SUBORDINATION:
            return subordinations(steps)
        case ActionType.QUESTION:
            return _pragmatic(frames().question, steps)
        case ActionType.HINT:
            return _pragmatic(frames().hint, steps)
        case _:
            fitting = (
                frame
                for frame in getattr(frames(), action.value)
                if not (_long(steps) and _STUCK_TOGETHER.search(frame))
            )
            clauses = all_steps(steps)
            return (frame.format_map(clauses) for frame in fitting)


def _with_adverb(steps: Sequence[Step]) -> Iterator[str]:
    """One step done in some manner: the adverb before its verb, or at the end."""
    adverbs, plain = verb_table().adverbs, [act(step) for step in steps]
    for index, step in enumerate(steps):
        for adverb in (*adverbs["any"], *adverbs.get(step.sense, ())):
            yield " and ".join([*plain[:index], f"{adverb} {plain[index]}", *plain[index + 1 :]])
            if step.fetch is not None:
                placing = act(step, thing=pronoun(step.thing))
                between = f"{step.fetch.phrase(step.thing)} and {adverb} {placing}"
                yield " and ".join([*plain[:index], between, *plain[index + 1 :]])
            if step is steps[-1]:
                yield f"{' and '.join(plain)} {adverb}"


def _with_other_verbs(steps: Sequence[Step], action: ActionType) -> Iterator[str]:
    """At least one verb is another."""
    versions = [[act(step), *_versions(step, action)] for step in steps]
    together = itertools.product(*versions)
    next(together)
    return (" and ".join(each) for each in together)


def _versions(step: Step, action: ActionType) -> list[str]:
    """A step with other verbs."""
    others = _others(step.sense, step.verb, action)
    if step.fetch is not None:
        fetches = _others("take", step.fetch, action)
        return [
            act(step, verb=verb, fetch=fetch)
            for verb, fetch in itertools.product((step.verb, *others), (step.fetch, *fetches))
            if (verb, fetch) != (step.verb, step.fetch)
        ]
    # "pull the drawer of the cabinet out" will do; "open the drawer of the cabinet up" will not.
    long, versions = is_long(step.thing), [act(step, verb=verb) for verb in others]
    apart = [verb for verb in others if verb.particle and not (long and verb.particle == "up")]
    if not long or step.states is not None:
        versions += [act(step, verb=verb, apart=True) for verb in apart]
    return versions


def _others(sense: str, verb: Verb, action: ActionType) -> list[Verb]:
    listed = verb_table().senses[sense]
    written = listed.habitual if action is ActionType.HABITUAL else listed.contextual
    found = (verb_named(each) for each in written)
    return [each for each in found if each.name != verb.name]


def _pragmatic(listed: Pragmatic, steps: Sequence[Step]) -> Iterator[str]:
    """Questions and hints: the same is said of each step."""
    moving = all(step.states is None for step in steps)
    groups = [listed.any]
    if moving:
        groups.append(listed.move)
    if moving and all(step.preposition in _HOLDING for step in steps):
        groups.append(listed.holds)
    if moving and all(step.preposition in _TAKING for step in steps):
        groups.append(listed.takes)
    if all(step.states is not None for step in steps):
        groups.append(listed.change)
    for frame in itertools.chain.from_iterable(groups):
        if _long(steps) and _STUCK_TOGETHER.search(frame):
            continue
        first, further, end = (part.strip() for part in frame.split("//"))
        rest = (further.format_map(one_step(each)) for each in steps[1:])
        text = " ".join(filter(None, (first.format_map(one_step(steps[0])), *rest, end)))
        yield re.sub(r" ([,?])", r"\1", text)


def _long(steps: Sequence[Step]) -> bool:
    return any(is_long(step.thing) and step.states is None for step in steps)
