"""How the seventeen tasks can be worded: meta-templates, and the words that can stand for each other in them.

``<put>`` is a class of words, or what the task says there (an angle, a texture); a class that occurs twice
in a template is the same word in both places. ``{base_obj}`` is a picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_COMPARED = " ".join(f"{{more_{number}}} is <adjective> than {{less_{number}}}." for number in (1, 2, 3))
_PIECE, _BASE = "This is a <piece>: {dragged_obj}.", "This is a <base>: {base_obj}."
_EXAMPLES = ", ".join(f"from {{before_{number}}} to {{after_{number}}}" for number in (1, 2, 3))
_FRAMES = "{frame_0} {frame_1} {frame_2}"

ORIGINALS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "T1": ("Put {dragged_obj} into {base_obj}.",),
        "T2": ("From {scene}, take the <look> object and put it into the <base_look> one.",),
        "T3": ("Turn {dragged_obj} clockwise by <angle> degrees.",),
        "T4": ("Rearrange the objects to look like {scene}.",),
        "T5": ("Rearrange the objects to look like {scene}, then put them back where they were.",),
        "T6": (f"{_COMPARED} Put the <wanted> {{dragged_obj}} into {{base_obj}}.",),
        "T7": tuple(
            f"{first} {second} Put the <piece> into the <base>."
            for first, second in ((_PIECE, _BASE), (_BASE, _PIECE))
        ),
        "T8": tuple(
            f"{first} {second} {_COMPARED} Put the <wanted> <piece> into the <base>."
            for first, second in ((_PIECE, _BASE), (_BASE, _PIECE))
        ),
        "T9": (f"To twist is to turn by a fixed angle: {_EXAMPLES}. Give every <look> object such a twist.",),
        "T10": (f"Move {{dragged_obj}} as it moves here: {_FRAMES}.",),
        "T11": (f"Stack things up, one move after the other, as here: {_FRAMES}.",),
        "T12": ("Sweep <count> {swept_obj} into {bounds}, and stop before {constraint}.",),
        "T13": ("Sweep <count> {swept_obj} into {bounds}, never touching {constraint}.",),
        "T14": ("Put everything that has the same texture as {base_obj} into it.",),
        "T15": ("Put everything that has the same profile as {base_obj} into it.",),
        "T16": (
            "Put {dragged_obj} into {base_obj} first, and after it the piece that stood <way> of it "
            "into the same {base_obj}.",
        ),
        "T17": (
            "Put {dragged_obj} into {base_obj_1}, then into {base_obj_2}, "
            "and finally back where it came from.",
        ),
    }
)
"""What the tasks say by themselves, in either order where there are two."""

WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "put": ("put", "place", "drop", "deposit"),
        "putting": ("putting", "placing", "dropping", "depositing"),
        "into": ("into", "in", "inside"),
        "inside": ("inside", "in"),
        "lift": ("pick up", "lift", "grab", "take hold of"),
        "move": ("move", "bring", "carry", "take", "transfer"),
        "over": ("to", "over to", "across to"),
        "leave": ("leave it there", "release it there", "let go of it there"),
        "holding": ("holding", "containing"),
        "thing": ("object", "item", "piece", "thing"),
        "things": ("the objects", "the items", "the pieces", "the things"),
        "ensure": ("make sure", "see to it", "take care"),
        "look_at": ("look at", "have a look at", "study"),
        "find": ("find", "locate"),
        "turn": ("turn", "rotate", "spin"),
        "turned": ("turned", "rotated", "spun"),
        "a_turn": ("turn", "rotation", "spin"),
        "exactly": ("exactly", "precisely"),
        "arrange": ("arrange", "position", "organise"),
        "match": ("match", "look like", "resemble"),
        "matches": ("matches", "looks like", "resembles"),
        "shift": ("move", "shift"),
        "recreate": ("recreate", "reproduce", "copy"),
        "layout": ("layout", "arrangement", "configuration"),
        "then": ("then", "after that", "afterwards"),
        "restore": (
            "put everything back as it was",
            "return everything to its original place",
            "bring everything back to where it started",
            "restore the original state",
        ),
        "texture": ("texture", "surface pattern"),
        "profile": ("profile", "outline", "contour"),
        "everything": ("everything", "every object", "every item"),
        "gather": ("gather", "collect"),
        "sweep": ("sweep", "brush", "push"),
        "sweeping": ("sweeping", "brushing", "pushing"),
        "beyond": ("beyond", "past"),
        "crossing": ("crossing", "passing"),
        "guide": ("move", "guide", "lead"),
        "path": ("path", "route", "way"),
        "motion": ("motion", "movement"),
        "likewise": ("in the same way", "just like that"),
        "repeat": ("repeat", "do"),
        "stack": ("stack", "pile up"),
        "stacked": ("stacked", "piled up"),
        "order": ("order", "sequence"),
        "every": ("all <look> objects", "all <look> pieces", "every <look> item", "each <look> object"),
        "neighbour": ("what used to be <way> of it", "the <thing> that was <way> of it before"),
        "receive": ("receive", "get"),
        "finally": ("finally", "lastly", "in the end"),
        "bring": ("bring", "take"),
        "back": (
            "back to where it came from",
            "back to where it started",
            "back to its original place",
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
            "it is always the same angle.",
            "what is twisted turns by one fixed angle, as from {before_1} to {after_1}, from {before_2} to "
            "{after_2} and from {before_3} to {after_3}.",
            "see how {before_1} becomes {after_1}, {before_2} becomes {after_2} and {before_3} becomes "
            "{after_3}: that turn is called a twist.",
            "twisting means turning by a certain angle. It changes {before_1} into {after_1}, {before_2} "
            "into {after_2} and {before_3} into {after_3}.",
        ),
    }
)
"""What can stand for each other. Classes may hold classes."""


def _placed(piece: str, base: str) -> tuple[str, ...]:
    """Ways to say that a piece is to go into a base."""
    return (
        f"<put> {piece} <into> {base}.",
        f"<lift> {piece} and <put> it <into> {base}.",
        f"<move> {piece} <over> {base} and <leave>.",
        f"{base} should end up <holding> {piece}.",
        f"{piece} belongs <inside> {base}.",
    )


def _gathered(what: str) -> tuple[str, ...]:
    """Ways to say that everything that shares something with the base is to go into it."""
    return (
        f"<gather> in {{base_obj}} <everything> that shares its <{what}>.",
        f"whatever has the <{what}> of {{base_obj}} goes <into> it.",
        f"{{base_obj}} should end up <holding> <everything> that has its <{what}>.",
        f"look at the <{what}> of {{base_obj}}, then <put> <everything> that has the same one <into> it.",
        f"<everything> with the <{what}> of {{base_obj}} belongs <inside> it.",
    )


TEMPLATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "T1": (
            *_placed("{dragged_obj}", "{base_obj}"),
            "the place for {dragged_obj} is <inside> {base_obj}.",
            "<ensure> that {dragged_obj} ends up <inside> {base_obj}.",
        ),
        "T2": (
            "<look_at> {scene}, then <put> the <look> <thing> shown there <into> the <base_look> one.",
            "the <base_look> <thing> should end up <holding> the <look> one from {scene}.",
            "in {scene}, <find> the <look> <thing>, then <put> it <into> the <base_look> one.",
            "<find> the <look> <thing> that {scene} shows and <put> it <into> the <base_look> one.",
            "the <look> <thing> in {scene} belongs <inside> the <base_look> one.",
        ),
        "T3": (
            "give {dragged_obj} a clockwise <a_turn> of <angle> degrees.",
            "<turn> {dragged_obj} <angle> degrees clockwise.",
            "{dragged_obj} should be <turned> clockwise by <exactly> <angle> degrees.",
            "by <angle> degrees, no more and no less, <turn> {dragged_obj} clockwise.",
            "<lift> {dragged_obj}, <turn> it clockwise by <angle> degrees and set it down where it was.",
            "keep {dragged_obj} where it is, but <turn> it <angle> degrees clockwise.",
        ),
        "T4": (
            "make the table <match> {scene}.",
            "<arrange> <things> the way {scene} shows.",
            "{scene} shows how <things> should lie: <arrange> them like that.",
            "<shift> <things> until the table <matches> {scene}.",
            "<recreate> the <layout> that {scene} shows.",
        ),
        "T5": (
            "make the table <match> {scene}, and <then> <restore>.",
            "first <arrange> <things> the way {scene} shows, and <then> <restore>.",
            "<recreate> the <layout> that {scene} shows and, once that is done, <restore>.",
            "<shift> <things> until the table <matches> {scene}; as soon as it does, <restore>.",
        ),
        "T6": tuple(f"<compared> {each}" for each in _placed("the <wanted> {dragged_obj}", "{base_obj}")),
        "T7": tuple(f"<defined> {each}" for each in _placed("the <piece>", "the <base>")),
        "T8": tuple(
            f"{lesson} {each}"
            for lesson in ("<defined> <compared>", "<compared> <defined>")
            for each in _placed("the <wanted> <piece>", "the <base>")
        ),
        "T9": tuple(
            f"<twisting> {each}"
            for each in ("give <every> a twist.", "do this to <every>.", "please twist <every> in this way.")
        ),
        "T10": (
            f"let {{dragged_obj}} travel as in {_FRAMES}.",
            f"<guide> {{dragged_obj}} along the <path> that {_FRAMES} show.",
            f"{_FRAMES}: <guide> {{dragged_obj}} <likewise>.",
            f"<repeat> with {{dragged_obj}} what happens in {_FRAMES}.",
            f"step by step, <guide> {{dragged_obj}} as {_FRAMES} show.",
            f"take {{dragged_obj}} through the <motion> of {_FRAMES}.",
        ),
        "T11": (
            f"pile <things> up step by step as in {_FRAMES}.",
            f"<repeat> the stacking steps of {_FRAMES}.",
            f"{_FRAMES} show how <things> are to be <stacked>, one move after the other.",
            f"<stack> <things> the way {_FRAMES} show, in the same <order>.",
            f"go through {_FRAMES} and <stack> <things> accordingly, one move at a time.",
        ),
        "T12": (
            "<sweep> <count> {swept_obj} into {bounds}, but not <beyond> {constraint}.",
            "get <count> {swept_obj} into {bounds} and stop short of {constraint}.",
            "{constraint} is the limit: <sweep> <count> {swept_obj} into {bounds} without <crossing> it.",
            "up to {constraint} and no further, <sweep> <count> {swept_obj} into {bounds}.",
            "<sweep> <count> {swept_obj} into {bounds}; do not go <beyond> {constraint}.",
        ),
        "T13": (
            "keep clear of {constraint} while <sweeping> <count> {swept_obj} into {bounds}.",
            "<sweep> <count> {swept_obj} into {bounds}; {constraint} is off limits.",
            "<sweep> <count> {swept_obj} into {bounds} and make no contact with {constraint}.",
            "leave {constraint} untouched and <sweep> <count> {swept_obj} into {bounds}.",
            "avoid {constraint} when you <sweep> <count> {swept_obj} into {bounds}.",
        ),
        "T14": _gathered("texture"),
        "T15": _gathered("profile"),
        "T16": (
            "begin by <putting> {dragged_obj} <into> {base_obj}; then do the same with <neighbour>.",
            "{base_obj} should <receive> {dragged_obj} first, and then <neighbour>.",
            "<put> {dragged_obj} <into> {base_obj} and, after it, <neighbour>.",
            "<lift> {dragged_obj} and <put> it <into> {base_obj}. Next comes <neighbour>.",
            "{dragged_obj} goes <into> {base_obj} first; <neighbour> follows.",
        ),
        "T17": (
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
