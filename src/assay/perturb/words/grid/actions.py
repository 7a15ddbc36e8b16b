"""The action axis: every way to say what is to be done, with fields for nouns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from assay.perturb.words.grid.cells import ActionType
from assay.perturb.words.grid.clauses import act, all_steps, one_step
from assay.perturb.words.grid.lexicon import Lexicon, Pragmatic
from assay.perturb.words.grid.meaning import Meaning, Step
from assay.perturb.words.grid.structure import coordinations, subordinations
from assay.perturb.words.grid.verbs import Verb, verb_of

_HOLDING = ("on", "onto", "in", "into", "inside", "on top of")
_TAKING = ("on", "onto", "in", "into")
_STUCK_TOGETHER = re.compile(r"\{(?:x|bare)\} \{there\}|\{so\}")


def templates(meaning: Meaning, action: ActionType, lexicon: Lexicon) -> tuple[str, ...]:
    """The sentences of a type, each once: "could you put the {n0} on the {n1}?"."""
    return tuple(dict.fromkeys(_templates(meaning, action, lexicon)))


def _templates(meaning: Meaning, action: ActionType, lexicon: Lexicon) -> Iterable[str]:
    frames, steps = lexicon.frames, meaning.steps
    match action:
        case ActionType.NONE:
            return (meaning.slotted,)
        case ActionType.ADDITION:
            return _with_adverb(steps, lexicon)
        case ActionType.HABITUAL | ActionType.CONTEXTUAL:
            return _with_other_verbs(steps, action, lexicon)
        case ActionType.COORDINATION:
            return coordinations(steps, lexicon)
        case ActionType.SUBORDINATION:
            return subordinations(steps, lexicon)
        case ActionType.QUESTION:
            return _pragmatic(frames.question, steps)
        case ActionType.HINT:
            return _pragmatic(frames.hint, steps)
        case _:
            fitting = (
                frame
                for frame in getattr(frames, action.value)
                if not (_long(steps) and _STUCK_TOGETHER.search(frame))
            )
            clauses = all_steps(steps)
            return (frame.format_map(clauses) for frame in fitting)


def _with_adverb(steps: Sequence[Step], lexicon: Lexicon) -> Iterator[str]:
    """One step done in some manner: the adverb before its verb, or at the end."""
    plain = [act(step) for step in steps]
    for index, step in enumerate(steps):
        for adverb in (*lexicon.verbs.adverbs["any"], *lexicon.verbs.adverbs.get(step.sense, ())):
            yield " and ".join([*plain[:index], f"{adverb} {plain[index]}", *plain[index + 1 :]])
            if step.lift is not None:
                placed = act(step, x=step.x.pronoun)
                between = f"{step.lift.act(step.x.text)} and {adverb} {placed}"
                yield " and ".join([*plain[:index], between, *plain[index + 1 :]])
            if step is steps[-1]:
                yield f"{' and '.join(plain)} {adverb}"


def _with_other_verbs(steps: Sequence[Step], action: ActionType, lexicon: Lexicon) -> Iterator[str]:
    """At least one verb is another."""
    versions = [[act(step), *_versions(step, action, lexicon)] for step in steps]
    together = itertools.product(*versions)
    next(together)
    return (" and ".join(each) for each in together)


def _versions(step: Step, action: ActionType, lexicon: Lexicon) -> list[str]:
    """A step with other verbs."""
    others = _others(step.sense, step.verb, action, lexicon)
    said = [act(step, verb=verb) for verb in others]
    if step.lift is not None:
        lifts = _others("take", step.lift, action, lexicon)
        return [
            act(step, verb=verb, lift=lift)
            for verb, lift in itertools.product((step.verb, *others), (step.lift, *lifts))
            if (verb, lift) != (step.verb, step.lift)
        ]
    # "pull the drawer of the cabinet out" will do; "open the drawer of the cabinet up" will not.
    apart = [verb for verb in others if verb.particle and not (step.x.long and verb.particle == "up")]
    if not step.x.long or step.states is not None:
        said += [act(step, verb=verb, apart=True) for verb in apart]
    return said


def _others(sense: str, verb: Verb, action: ActionType, lexicon: Lexicon) -> list[Verb]:
    listed = lexicon.verbs.senses[sense]
    written = listed.habitual if action is ActionType.HABITUAL else listed.contextual
    found = (verb_of(each, lexicon.verbs.irregular) for each in written)
    return [each for each in found if each.name != verb.name]


def _pragmatic(frames: Pragmatic, steps: Sequence[Step]) -> Iterator[str]:
    """Questions and hints: the same is said of each step."""
    moving = all(step.states is None for step in steps)
    groups = [frames.any]
    if moving:
        groups.append(frames.move)
    if moving and all(step.relation in _HOLDING for step in steps):
        groups.append(frames.holds)
    if moving and all(step.relation in _TAKING for step in steps):
        groups.append(frames.takes)
    if all(step.states is not None for step in steps):
        groups.append(frames.change)
    for frame in itertools.chain.from_iterable(groups):
        if _long(steps) and _STUCK_TOGETHER.search(frame):
            continue
        first, further, end = (part.strip() for part in frame.split("//"))
        rest = (further.format_map(one_step(each)) for each in steps[1:])
        text = " ".join(filter(None, (first.format_map(one_step(steps[0])), *rest, end)))
        yield re.sub(r" ([,?])", r"\1", text)


def _long(steps: Sequence[Step]) -> bool:
    return any(step.x.long and step.states is None for step in steps)
