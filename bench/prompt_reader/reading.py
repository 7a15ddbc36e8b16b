"""Rule-based parser of prompts: the kind of request, and the roles of its images and words.

Only the text and the images are used: the names of placeholders, which reveal the roles, are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.extensions.tabletop.world.scene import solids
from assay.extensions.tabletop.world.textures import TEXTURES

RequestKind = Literal[
    "put", "find", "rotate", "rearrange", "restore", "twist", "motion", "order", "sweep", "texture", "profile",
    "neighbour", "round",
]  # fmt: skip
COUNTS = ("one", "two", "three", "four", "five")
_SLOT = re.compile(r"@(\d+)@")
_WORD = re.compile(r"@\d+@|[a-z-]+|\d+")
_LOOKS = "|".join(sorted(map(re.escape, TEXTURES), key=len, reverse=True))
_SHAPES = "|".join(sorted(map(re.escape, solids()), key=len, reverse=True))
_NAMED = re.compile(rf"\b((?:dark )?(?:{_LOOKS})) ({_SHAPES})(?:e?s)?\b", re.IGNORECASE)
_SHAPED = re.compile(rf"\b({_SHAPES})\b", re.IGNORECASE)
_LOOK = re.compile(rf"\b((?:dark )?(?:{_LOOKS}))\b", re.IGNORECASE)
_DEFINES = re.compile(r"\bis a\b|\bcalled?\b|\bwe mean\b|\blooks like\b|by the name of")
_REVERSED = re.compile(r"should end up|should (?:receive|get|be given)|^make .*\b(?:hold|contain|have)\b")
_BACK = re.compile(r"\brestore\b|\bback\b|\breturn\b|\bundo\b|\brevert\b")
_TOUCH = re.compile(r"touch|\bclear of\b|off limits|\bcontact\b|\bavoid\b")
_SMALL = frozenset(
    ["a", "an", "and", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "its", "of", "on", "one",
     "that", "the", "then", "this", "to", "up", "with"]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object that is named in words."""

    look: str | None
    shape: str


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A parsed prompt. Slots are indices of images and named objects, in reading order."""

    kind: RequestKind
    things: tuple[int, ...] = ()
    """Slots by role: object and destination; frames; or swept blocks, rectangle and line."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Pairs of slots: more and less in comparisons, or before and after."""
    less: bool = False
    looks: tuple[str, ...] = ()
    angle: int = 0
    """Rotation, degrees, clockwise."""
    way: str = ""
    count: str = ""
    touching: bool = False
    """Whether a sweep must not touch the line; otherwise it must not go beyond it."""


@dataclass(slots=True)
class MarkedPrompt:
    """A prompt with a mark for each image or named object."""

    text: str
    slots: list[object] = field(default_factory=list)

    def numbers(self, text: str | None = None) -> list[int]:
        """Return the distinct slots in a text, in order of appearance."""
        return list(
            dict.fromkeys(int(number) for number in _SLOT.findall(self.text if text is None else text))
        )

    @staticmethod
    def of(segments: Sequence[object], *, scene: Callable[[object], bool]) -> MarkedPrompt:
        """Mark each image and each named object of a prompt.

        An object that is shown or named twice has one slot; images of entire tables (``scene``) have one each.
        """
        marked = MarkedPrompt("")

        def mark(thing: object) -> str:
            if thing not in marked.slots or scene(thing):
                marked.slots.append(thing)
                return f" @{len(marked.slots) - 1}@ "
            return f" @{marked.slots.index(thing)}@ "

        parts = []
        for segment in segments:
            if not isinstance(segment, str):
                parts.append(mark(segment))
                continue
            words = _NAMED.sub(lambda match: mark(NamedObject(match[1].lower(), _shape(match[2]))), segment)
            if _DEFINES.search(segment.lower()) and not any(not isinstance(part, str) for part in segments):
                words = _SHAPED.sub(lambda match: mark(NamedObject(None, _shape(match[1]))), words)
            parts.append(words)
        text = re.sub(r"\s+", " ", " ".join(parts)).strip().lower()
        marked.text = re.sub(r" ([.,:;])", r"\1", text)
        return marked


def _shape(word: str) -> str:
    return next(name for name in solids() if name.lower() == word.lower())


def parse_request(prompt: MarkedPrompt, scenes: frozenset[int]) -> PromptRequest | None:
    """Parse a prompt; return None if it is not understood. ``scenes``: the slots that show entire tables."""
    text, slots = prompt.text, prompt.numbers()
    objects = [slot for slot in slots if slot not in scenes]
    if "twist" in text and len(scenes) == 6:
        looks = _LOOK.findall(text)
        paired = looks and len(slots) % 2 == 0
        return PromptRequest("twist", pairs=_pair_up(slots), looks=(looks[-1],)) if paired else None
    if len(scenes) == 3 and len(objects) == 1:
        moves = re.search(
            r"\bmo(?:ve|tion)|\bguide\b|\blead\b|\bshift\b|\btravel\b|\bhappens\b|\bway\b", text
        )
        return PromptRequest("motion", (objects[0], *(s for s in slots if s in scenes))) if moves else None
    if len(scenes) == 3:
        return PromptRequest("order", tuple(slots)) if re.search(r"stack|\bpile|\btower\b", text) else None
    if len(scenes) == 1:
        return _read_scene_request(text, slots[0])
    return None if scenes else _read_object_request(prompt, text, objects)


def _pair_up(slots: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(slots[::2], slots[1::2], strict=True))


def _read_scene_request(text: str, scene: int) -> PromptRequest | None:
    looks = _LOOK.findall(text)
    if len(looks) == 2 and re.search(r"\bin|\bwithin\b|\bhold|contain|\bha(?:ve|ving)\b|\bwith\b", text):
        ordered = looks[::-1] if _REVERSED.search(text) else looks
        return PromptRequest("find", (scene,), looks=tuple(ordered))
    arranged = re.search(
        r"arrange|position|organise|\bmatch|\blooks? like\b|resembl|recreate|reproduce|copy|\bsetup\b|\blie\b",
        text,
    )
    if looks or arranged is None:
        return None
    return PromptRequest("restore" if _BACK.search(text) else "rearrange", (scene,))


def _read_object_request(prompt: MarkedPrompt, text: str, objects: Sequence[int]) -> PromptRequest | None:
    way = re.search(r"\b(north|south|east|west)\b", text)
    angle = re.search(r"\b(\d+) degrees", text)
    counted = re.search(rf"\b(any|all|{'|'.join(COUNTS)}) @(\d+)@", text)
    if way is not None and len(objects) == 2:
        dragged, base = objects[::-1] if _REVERSED.search(text) else objects
        return PromptRequest("neighbour", (dragged, base), way=way[1])
    if angle is not None and len(objects) == 1:
        return PromptRequest("rotate", tuple(objects), angle=int(angle[1]))
    if counted is not None and len(objects) == 3:
        bounds = re.search(r"\b(?:into|in|inside|within)(?: the)? @(\d+)@", text)
        swept = int(counted[2])
        if bounds is None or int(bounds[1]) == swept:
            return None
        line = next(slot for slot in objects if slot not in (swept, int(bounds[1])))
        return PromptRequest(
            "sweep", (swept, int(bounds[1]), line), count=counted[1], touching=bool(_TOUCH.search(text))
        )
    if len(objects) == 1:
        if re.search(r"\bprofile\b|\boutline\b|\bcontour\b|\bshape\b", text):
            return PromptRequest("profile", tuple(objects))
        return (
            PromptRequest("texture", tuple(objects))
            if re.search(r"\btexture\b|\bpattern\b|\blook\b", text)
            else None
        )
    if len(objects) == 3 and _BACK.search(text):
        first = re.match(r"first @\d+@, then @\d+@", text)
        return PromptRequest("round", (*objects[2:], *objects[:2]) if first else tuple(objects))
    return _read_put(prompt, text, objects)


def _read_put(prompt: MarkedPrompt, text: str, objects: Sequence[int]) -> PromptRequest | None:
    """Parse a request to put one object into another, possibly named by invented words."""
    sentences = [sentence.strip() for sentence in re.split(r"\.(?:\s|$)", text) if sentence.strip()]
    command = sentences[-1] if sentences else ""
    if not re.search(r"\bput|\bplace|\bdrop|\bdeposit|\bset\b|\blay\b|\bmove|\bbring|\bcarry|\btake|\btransfer|belongs|"
                     r"ends? up|^make ", command):  # fmt: skip
        return None
    lessons = [sentence for sentence in sentences[:-1] if re.search(r"\bthan\b|\bcompared\b", sentence)]
    compared = prompt.numbers(" ".join(lessons))
    if len(compared) % 2:
        return None
    if "respectively" in " ".join(lessons):
        half = len(compared) // 2
        pairs = tuple(zip(compared[:half], compared[half:], strict=True))
    else:
        pairs = _pair_up(compared)
        if "compared" in " ".join(lessons):
            pairs = tuple((more, less) for less, more in pairs)
    slots_named = prompt.numbers(command)
    if len(slots_named) < 2:
        slots_named = _resolve_nouns(
            " ".join(sentence for sentence in sentences[:-1] if sentence not in lessons), command
        )
    if len(slots_named) != 2 or (not lessons and len(objects) != 2):
        return None
    ordered = slots_named[::-1] if _REVERSED.search(command) else slots_named
    return PromptRequest("put", tuple(ordered), pairs, less=re.search(r"\bless\b", command) is not None)


def _resolve_nouns(definitions: str, command: str) -> list[int]:
    """Return the slots that a command's invented words refer to, in the command's order."""
    words = _WORD.findall(command)
    parts = [
        word
        for word in _WORD.findall(definitions)
        if _SLOT.match(word) or (word in words and word not in _SMALL)
    ]
    parts = [part for index, part in enumerate(parts) if index == 0 or part != parts[index - 1]]
    nouns = [part for part in parts if not _SLOT.match(part)]
    slots = [int(match[1]) for part in parts if (match := _SLOT.match(part))]
    if len(nouns) != 2 or len(slots) != 2:
        return []
    meant = dict(zip(nouns, slots, strict=True))
    return [meant[word] for word in words if word in meant]
