"""How the seventeen tasks can be worded: meta-templates, and the words that can stand for each other in them.

``<put>`` is a class of words, or what the task says there (an angle, a texture); a class that occurs twice
in a template is the same word in both places. ``{base_obj}`` is a picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from assay.errors import PerturbationError
from assay.extensions.tabletop.prompts.prompt import OPEN, ORIGINALS
from assay.extensions.tabletop.tasks.task import TableTask

_FRAMES = "{frame_0} {frame_1} {frame_2}"

WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "the": ("", "the "),
        "a": ("", "the "),
        "put": ("put", "place", "drop", "deposit", "set", "lay"),
        "putting": ("putting", "placing", "dropping", "depositing", "setting", "laying"),
        "also": ("put", "place", "drop", "deposit", "set", "lay"),
        "into": ("into", "in", "inside", "within"),
        "inside": ("inside", "in", "within"),
        "lift": ("pick up", "lift", "grab", "take hold of", "take"),
        "move": ("move", "bring", "carry", "take", "transfer"),
        "over": ("to", "over to", "across to"),
        "leave": ("leave it there", "release it there", "let go of it there"),
        "holding": ("holding", "containing", "with", "having"),
        "hold": ("hold", "contain", "have"),
        "thing": ("object", "item", "piece", "thing"),
        "things": ("the objects", "the items", "the pieces", "the things"),
        "some": ("objects", "items", "pieces", "things"),
        "ensure": ("make sure", "see to it", "take care"),
        "look_at": ("look at", "have a look at", "study"),
        "find": ("find", "locate"),
        "turn": ("turn", "rotate", "spin", "pivot", "swivel"),
        "turned": ("turned", "rotated", "spun", "pivoted", "swivelled"),
        "turning": ("turning", "rotating", "spinning"),
        "a_turn": ("turn", "rotation", "spin"),
        "exactly": ("exactly", "precisely", "just"),
        "by": ("", "by "),
        "arrange": ("arrange", "position", "organise", "rearrange", "reposition"),
        "match": ("match", "look like", "resemble"),
        "matches": ("matches", "looks like", "resembles"),
        "shift": ("move", "shift", "push"),
        "recreate": ("recreate", "reproduce", "copy"),
        "layout": ("layout", "arrangement", "configuration", "setup", "scene", "composition"),
        "then": ("then", "after that", "afterwards"),
        "restore": (
            "put everything back as it was",
            "return everything to its original place",
            "bring everything back to where it started",
            "restore the original state",
            "undo it all",
        ),
        "texture": ("texture", "surface pattern", "pattern", "look"),
        "profile": ("profile", "outline", "contour", "shape"),
        "same": ("same", "identical", "very same"),
        "everything": ("everything", "every object", "every item", "all things"),
        "gather": ("gather", "collect", "put", "place"),
        "sweep": ("sweep", "brush", "push", "shove", "move"),
        "sweeping": ("sweeping", "brushing", "pushing", "shoving", "moving"),
        "beyond": ("beyond", "past", "over"),
        "crossing": ("crossing", "passing", "going over", "overstepping"),
        "limit": ("limit", "boundary"),
        "contact": ("contact with", "touch"),
        "guide": ("move", "guide", "lead", "shift"),
        "path": ("path", "route", "way"),
        "motion": ("motion", "movement"),
        "likewise": ("in the same way", "just like that"),
        "repeat": ("repeat", "do", "imitate", "copy"),
        "stack": ("stack", "pile up"),
        "stacked": ("stacked", "piled up"),
        "build": ("build", "make", "create", "construct"),
        "pile": ("pile", "stack", "tower"),
        "order": ("order", "sequence", "way", "manner"),
        "amount": ("angle", "amount"),
        "every": ("all <look> objects", "all <look> pieces", "every <look> item", "each <look> object"),
        "neighbour": (
            "what used to be <way> of it",
            "the <thing> that was <way> of it before",
            "the <thing> that stood <way> of it before you moved it",
        ),
        "receive": ("receive", "get", "be given"),
        "finally": ("finally", "lastly", "in the end"),
        "bring": ("bring", "take", "return"),
        "back": (
            "back to where it came from",
            "back to where it started",
            "back to its original place",
            "back to its first container",
        ),
        "defined": (
            "{dragged_obj} is called a <piece>, and {base_obj} a <base>.",
            "{base_obj} is called a <base>, and {dragged_obj} a <piece>.",
            "by a <piece> we mean {dragged_obj}, and by a <base> we mean {base_obj}.",
            "a <base> looks like {base_obj}, and a <piece> looks like {dragged_obj}.",
            "{base_obj} goes by the name of <base>. {dragged_obj} goes by the name of <piece>.",
            "let us call {dragged_obj} a <piece> and {base_obj} a <base>.",
        ),
        "compared": (
            "compared with {less_1}, {more_1} is <adjective>. Compared with {less_2}, {more_2} is "
            "<adjective>. Compared with {less_3}, {more_3} is <adjective>.",
            "{more_1}, {more_2} and {more_3} are <adjective> than {less_1}, {less_2} and {less_3}, "
            "respectively.",
            "of {more_1} and {less_1}, of {more_2} and {less_2}, and of {more_3} and {less_3}, the first is "
            "always <adjective> than the second.",
            "{more_1} is <adjective> than {less_1}; likewise, {more_2} is <adjective> than {less_2}, and "
            "{more_3} is <adjective> than {less_3}.",
        ),
        "twisting": (
            "a twist takes {before_1} to {after_1}, {before_2} to {after_2} and {before_3} to {after_3}: "
            "it is always the same <amount>.",
            "what is twisted turns by one fixed <amount>, as from {before_1} to {after_1}, from {before_2} to "
            "{after_2} and from {before_3} to {after_3}.",
            "see how {before_1} becomes {after_1}, {before_2} becomes {after_2} and {before_3} becomes "
            "{after_3}: that turn is called a twist.",
            "twisting means <turning> by a certain <amount>. It changes {before_1} into {after_1}, {before_2} "
            "into {after_2} and {before_3} into {after_3}.",
        ),
    }
)
"""What can stand for each other. Classes may hold classes."""


def _placing_templates(piece: str, base: str) -> tuple[str, ...]:
    """Ways to say that a piece is to go into a base."""
    return (
        f"<put> {piece} <into> {base}.",
        f"<lift> {piece} and <put> it <into> {base}.",
        f"<move> {piece} <over> {base} and <leave>.",
        f"{base} should end up <holding> {piece}.",
        f"make {base} <hold> {piece}.",
        f"{piece} belongs <inside> {base}.",
    )


def _gathering_templates(what: str) -> tuple[str, ...]:
    """Ways to say that everything that shares something with the base is to go into it."""
    return (
        f"<put> everything that has the <same> <{what}> as <the>{{base_obj}} <into> it.",
        f"<gather> in <the>{{base_obj}} <everything> that shares its <{what}>.",
        f"whatever has the <{what}> of <the>{{base_obj}} goes <into> it.",
        f"<the>{{base_obj}} should end up <holding> <everything> that has its <{what}>.",
        f"look at the <{what}> of <the>{{base_obj}}, then <put> <everything> that has the <same> one <into> it.",
        f"<everything> with the <{what}> of <the>{{base_obj}} belongs <inside> it.",
    )


TEMPLATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "T1": (
            *_placing_templates("<the>{dragged_obj}", "<a>{base_obj}"),
            "the place for {dragged_obj} is <inside> <a>{base_obj}.",
            "<ensure> that <the>{dragged_obj} ends up <inside> <a>{base_obj}.",
        ),
        "T2": (
            "from {scene}, take the <look> <thing> and <put> it <into> the <base_look> one.",
            "<look_at> {scene}, then <put> the <look> <thing> shown there <into> the <base_look> one.",
            "the <base_look> <thing> should end up <holding> the <look> one from {scene}.",
            "make the <base_look> <thing> <hold> the <look> one in {scene}.",
            "in {scene}, <find> the <look> <thing>, then <put> it <into> the <base_look> one.",
            "<find> the <look> <thing> that {scene} shows and <put> it <into> the <base_look> one.",
            "<shift> <things> in {scene} so that the <look> one is <inside> the <base_look> <thing>.",
            "the <look> <thing> in {scene} belongs <inside> the <base_look> one.",
        ),
        "T3": (
            "<turn> <the>{dragged_obj} by <angle> degrees.",
            "<turn> <the>{dragged_obj} <by><exactly> <angle> degrees.",
            "give <the>{dragged_obj} a <a_turn> of <angle> degrees.",
            "<the>{dragged_obj} should be <turned> by <exactly> <angle> degrees.",
            "by <angle> degrees, no more and no less, <turn> <the>{dragged_obj}.",
            "<lift> <the>{dragged_obj}, <turn> it <by><angle> degrees and set it down where it was.",
            "<lift> <the>{dragged_obj} and <turn> it <exactly> <angle> degrees.",
            "keep <the>{dragged_obj} where it is, but <turn> it <by><angle> degrees.",
        ),
        "T4": (
            "make the table <match> {scene}.",
            "<arrange> <things> to <match> {scene}.",
            "<arrange> <things> the way {scene} shows.",
            "<arrange> <some> into this <layout>: {scene}.",
            "{scene} shows how <things> should lie: <arrange> them like that.",
            "<shift> <things> until the table <matches> {scene}.",
            "<recreate> the <layout> that {scene} shows.",
        ),
        "T5": (
            "make the table <match> {scene}, and <then> <restore>.",
            "<arrange> <things> to <match> {scene}, <then> <restore>.",
            "first <arrange> <things> the way {scene} shows, and <then> <restore>.",
            "<recreate> the <layout> that {scene} shows and, once that is done, <restore>.",
            "<shift> <things> until the table <matches> {scene}; as soon as it does, <restore>.",
        ),
        "T6": tuple(
            f"<compared> {placing}"
            for placing in _placing_templates("the <wanted> {dragged_obj}", "<a>{base_obj}")
        ),
        "T7": tuple(f"<defined> {placing}" for placing in _placing_templates("the <piece>", "the <base>")),
        "T8": tuple(
            f"{lesson} {placing}"
            for lesson in ("<defined> <compared>", "<compared> <defined>")
            for placing in _placing_templates("the <wanted> <piece>", "the <base>")
        ),
        "T9": tuple(
            f"<twisting> {template}"
            for template in (
                "give <every> a twist.",
                "do this to <every>.",
                "please twist <every> in this way.",
                "now twist <every>.",
            )
        ),
        "T10": (
            f"move <the>{{dragged_obj}} as it moves here: {_FRAMES}.",
            f"let <the>{{dragged_obj}} travel as in {_FRAMES}.",
            f"<guide> <the>{{dragged_obj}} along the <path> that {_FRAMES} show.",
            f"{_FRAMES}: <guide> <the>{{dragged_obj}} <likewise>.",
            f"<repeat> with <the>{{dragged_obj}} what happens in {_FRAMES}.",
            f"step by step, <guide> <the>{{dragged_obj}} as {_FRAMES} show.",
            f"take <the>{{dragged_obj}} through the <motion> of {_FRAMES}.",
        ),
        "T11": (
            f"<stack> <some>, one move after the other, as here: {_FRAMES}.",
            f"pile <things> up step by step as in {_FRAMES}.",
            f"<repeat> the stacking steps of {_FRAMES}.",
            f"{_FRAMES} show how <things> are to be <stacked>, one move after the other.",
            f"<stack> <things> the way {_FRAMES} show, in the same <order>.",
            f"<build> a <pile> of <some> in this <order>: {_FRAMES}.",
            f"follow this sequence to <build> a <pile> of <some>: {_FRAMES}.",
            f"go through {_FRAMES} and <stack> <things> accordingly, one move at a time.",
        ),
        "T12": (
            "<sweep> <count> {swept_obj} <into> <the>{bounds}, and stop before <a>{constraint}.",
            "<sweep> <count> {swept_obj} <into> <the>{bounds}, but not <beyond> <a>{constraint}.",
            "get <count> {swept_obj} <into> <the>{bounds} and stop short of <a>{constraint}.",
            "<sweep> <count> {swept_obj} <into> <the>{bounds} without <crossing> <a>{constraint}.",
            "<a>{constraint} is the <limit>: <sweep> <count> {swept_obj} <into> <the>{bounds} without <crossing> it.",
            "up to <a>{constraint} and no further, <sweep> <count> {swept_obj} <into> <the>{bounds}.",
            "<sweep> <count> {swept_obj} <into> <the>{bounds}; do not go <beyond> <a>{constraint}.",
        ),
        "T13": (
            "<sweep> <count> {swept_obj} <into> <the>{bounds}, never touching <a>{constraint}.",
            "keep clear of <a>{constraint} while <sweeping> <count> {swept_obj} <into> <the>{bounds}.",
            "<sweep> <count> {swept_obj} <into> <the>{bounds}; <a>{constraint} is off limits.",
            "<sweep> <count> {swept_obj} <into> <the>{bounds} and make no <contact> <a>{constraint}.",
            "leave <a>{constraint} untouched and <sweep> <count> {swept_obj} <into> <the>{bounds}.",
            "avoid <a>{constraint} when you <sweep> <count> {swept_obj} <into> <the>{bounds}.",
        ),
        "T14": _gathering_templates("texture"),
        "T15": _gathering_templates("profile"),
        "T16": (
            "<put> {dragged_obj} <into> {base_obj} first, and after it the <thing> that stood <way> of it "
            "<inside> the same {base_obj}.",
            "begin by <putting> {dragged_obj} <into> {base_obj}; then do the same with <neighbour>.",
            "{base_obj} should <receive> {dragged_obj} first, and then <neighbour>.",
            "<put> {dragged_obj} <into> {base_obj} and, after it, <neighbour>.",
            "<put> {dragged_obj} <into> {base_obj}, then <also> <neighbour> there too.",
            "<lift> {dragged_obj} and <put> it <into> {base_obj}. Next comes <neighbour>.",
            "<put> {dragged_obj} and the <thing> at its <way> <into> {base_obj}, starting with {dragged_obj}.",
            "{dragged_obj} goes <into> {base_obj} first; <neighbour> follows.",
        ),
        "T17": (
            "<put> {dragged_obj} <into> {base_obj_1}, then <into> {base_obj_2}, and <finally> <back>.",
            "<move> {dragged_obj} to {base_obj_1}, on to {base_obj_2}, and <finally> <back>.",
            "{dragged_obj} visits {base_obj_1} first and {base_obj_2} next, and <finally> goes <back>.",
            "<put> {dragged_obj} <into> {base_obj_1}. After that, <put> it <into> {base_obj_2}. In the end, "
            "<bring> it <back>.",
            "<put> {dragged_obj} <into> {base_obj_1} and then {base_obj_2} before you <bring> it <back>.",
            "first {base_obj_1}, then {base_obj_2}: <put> {dragged_obj} <into> one after the other, and "
            "<finally> <bring> it <back>.",
        ),
    }
)
"""By the kind of task."""


Fields = Mapping[str, tuple[str, ...]]
"""What can stand in each place that a template leaves open."""
_BEGINNING = re.compile(r"(?:^|(?<=\. ))[a-z]")


def read_fields(task: TableTask) -> Fields:
    """What a task says in the places that templates leave open, as an angle or a texture.

    Raises PerturbationError for a prompt in other words than the task's own.
    """
    for original in ORIGINALS[task.setting.task]:
        match = _pattern(original).fullmatch(task.prompt.text)
        if match is not None:
            return {name: (value,) for name, value in match.groupdict().items()}
    raise PerturbationError(f"{task.id}: the prompt was changed before: '{task.prompt.text:.60}'")


def list_wordings(task: TableTask) -> Iterator[str]:
    """Every wording of a task but its own. Raises PerturbationError for a prompt in other words than that."""
    fields = {**WORDS, **read_fields(task)}
    for template in TEMPLATES[task.setting.task]:
        for text in _fill(template, fields):
            if text != task.prompt.text:
                yield text


def draw_wording(task: TableTask, rng: np.random.Generator) -> str:
    """One of the wordings: a template, then a word of each class. Raises PerturbationError as above."""
    fields = {**WORDS, **read_fields(task)}
    templates = TEMPLATES[task.setting.task]
    while True:
        text = templates[int(rng.integers(len(templates)))]
        while (place := OPEN.search(text)) is not None:
            options = fields[place[1]]
            text = text.replace(place[0], options[int(rng.integers(len(options)))])
        if (text := capitalise(text)) != task.prompt.text:
            return text


def _fill(text: str, fields: Fields) -> Iterator[str]:
    """A template with every choice of words."""
    place = OPEN.search(text)
    if place is None:
        yield capitalise(text)
        return
    for option in fields[place[1]]:
        yield from _fill(text.replace(place[0], option), fields)


def capitalise(text: str) -> str:
    """A text whose sentences begin with capitals."""
    return _BEGINNING.sub(lambda letter: letter[0].upper(), text)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What finds the words in a template's open places."""
    seen_texts: set[str] = set()
    parts: list[str] = []
    for index, part in enumerate(OPEN.split(template)):
        if index % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen_texts else f"(?P<{part}>.+?)")
            seen_texts.add(part)
    return re.compile("".join(parts))
