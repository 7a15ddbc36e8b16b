"""Words that would say something about a task: what nonsense must not contain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assay.extensions.tabletop.originals import ORIGINALS
from assay.extensions.tabletop.perturb.wordings import TEMPLATES, WORDS
from assay.extensions.tabletop.shapes import SOLIDS
from assay.extensions.tabletop.tasks.learning import ADJECTIVES, NOUNS, STRANGE_ADJECTIVES, STRANGE_NOUNS
from assay.extensions.tabletop.textures import DARK, TEXTURES
from assay.perturb.words.distance.stems import stem

_LETTERS = re.compile(r"[a-z]+")
_SYNONYMS = """
put place set lay drop deposit insert stow store stick situate settle position park plant rest load stash tuck pop plop
take lift pick grab grasp grip fetch retrieve raise hoist seize catch pull draw drag haul
move bring carry transfer transport transit shift relocate displace deliver convey send slide push shove nudge sweep
brush wipe clear scoot glide guide lead steer direct
turn rotate spin pivot swivel twist revolve roll twirl swing tilt clockwise degree angle
arrange rearrange reorder organize organise sort order align match copy recreate reproduce imitate mimic follow repeat
layout setup scene configuration arrangement composition
restore return undo reverse revert reset back original origin initial start begin first second third last next then
finally after before previous former
stack pile heap tower build construct assemble create make form
gather collect group assemble join combine include contain hold enclose
same similar identical equal alike like match texture pattern look colour color surface profile shape outline contour
touch contact reach avoid exceed cross pass overstep limit bound boundary line border stop
north south east west left right up down above below over under in into inside within on onto top bottom near beside
between behind front neighbour neighbor adjacent
all any every each one two three four five six seven eight nine ten
object item thing piece container box bowl block table picture image frame
more less than compare
"""
"""Of what commands say, and of what they say it about: whatever the wordings have not got themselves."""


@cache
def telling() -> frozenset[str]:
    """The stems of words that tell: all that prompts are made of, textures and shapes, and synonyms of commands."""
    texts = [text for group in (ORIGINALS, TEMPLATES, WORDS) for each in group.values() for text in each]
    bare = re.sub(r"<\w+>|\{\w+\}", " ", " ".join(texts))
    invented = (*ADJECTIVES, *NOUNS, *STRANGE_ADJECTIVES, *STRANGE_NOUNS)
    said = " ".join([bare, _SYNONYMS, *TEXTURES, DARK, *SOLIDS, *invented]).lower()
    return frozenset(stem(word) for word in _LETTERS.findall(said) if len(word) > 1)


def tells(words: Iterable[str]) -> bool:
    """Whether one of some words tells."""
    return any(_stem(word) in telling() for word in words)


@cache
def _stem(word: str) -> str:
    return stem(word.lower())
