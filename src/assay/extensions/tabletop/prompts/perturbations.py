"""Perturbations of tabletop tasks, most of which change the prompt."""

from __future__ import annotations

import math
import re
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import ClassVar

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.errors import PerturbationError
from assay.extensions.tabletop.prompts import prompt
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.learning import ADJECTIVES, EXTREME_ADJECTIVES, EXTREME_NOUNS, NOUNS
from assay.extensions.tabletop.tasks.task import Difficulty, TableTask
from assay.extensions.tabletop.world.goals import Goal, Put, PutGoal
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.scene import solids
from assay.extensions.tabletop.world.textures import DARK, GREY, TEXTURES
from assay.perturb.words.rewordings.corrupted import random_letters, random_tokens, sub_words
from assay.perturb.words.stems import stem

Fields = Mapping[str, tuple[str, ...]]
"""Template field -> its possible values."""
_BEGINNING = re.compile(r"(?:^|(?<=\. ))[a-z]")


def read_fields(task: TableTask) -> Fields:
    """Return the values of a prompt's template fields, such as an angle or a texture.

    Raises PerturbationError if the prompt is not in its original wording.
    """
    for template in prompt.ORIGINALS[task.setting.task]:
        pattern, seen = "", set[str]()
        for index, part in enumerate(prompt.OPEN.split(template)):
            if index % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P={part})" if part in seen else f"(?P<{part}>.+?)"
                seen.add(part)
        if match := re.fullmatch(pattern, task.prompt.text):
            return {name: (value,) for name, value in match.groupdict().items()}
    raise PerturbationError(f"{task.id}: the prompt is not in its original wording: '{task.prompt.text:.60}'")


def capitalise(text: str) -> str:
    """Capitalise the first letter of each sentence."""
    return _BEGINNING.sub(lambda letter: letter[0].upper(), text)


@dataclass(frozen=True, slots=True)
class TablePerturbation(Perturbation, ABC):
    """A perturbation of a tabletop task; by default, of its prompt."""

    world = "tabletop"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    only: ClassVar[tuple[str, ...]] = ()
    """Task kinds (``T1`` to ``T17``) to which the perturbation applies; all kinds if empty."""

    @classmethod
    def concerns(cls, kind: str) -> bool:
        """Return whether the perturbation applies to a kind of task."""
        return not cls.only or kind in cls.only


@perturbation
class Harder(TablePerturbation):
    """Tabletop: changes the difficulty; the seed yields another scene of the same kind and level."""

    kind = "world/harder"
    effects = frozenset({Effect.WORDS, Effect.LOOKS, Effect.PHYSICS, Effect.GOAL})
    change = Change.DIFFICULTY

    difficulty: Difficulty

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """Return a task of the same kind and level, sampled at the other difficulty."""
        return make(replace(task.setting, difficulty=self.difficulty))


class PromptPart(StrEnum):
    """The part of a prompt that is masked."""

    LANGUAGE = "language"
    VISUAL = "visual"
    INSTRUCTION = "instruction"


@perturbation
class PromptMask(TablePerturbation):
    """Tabletop: masks the words, the images or both. A few tasks are still specified by the remaining prompt."""

    kind = "words/prompt_mask"
    plausible = False

    part: PromptPart
    """The masked part: the words, the images, or the entire instruction."""

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """Return the task with only the unmasked part of its prompt, which then requests no particular goal."""
        masked = task.prompt
        if self.part is PromptPart.INSTRUCTION:
            masked = masked.saying("")
        elif self.part is PromptPart.LANGUAGE:
            # The names of placeholders are words, too: they state which object is moved, and where.
            distinct = dict.fromkeys(masked.placeholders)
            names = {name: f"picture_{number}" for number, name in enumerate(distinct, start=1)}
            text = " ".join(f"{{{names[name]}}}" for name in masked.placeholders)
            pictures = tuple((names[name], picture) for name, picture in masked.pictures if name in names)
            masked = replace(masked, text=text, pictures=pictures)
        else:
            bare = " ".join(prompt.PLACEHOLDER.sub(" ", masked.text).split())
            masked = masked.saying(re.sub(r"[ ,:;]+(?=[.,:;])", "", bare))
        return replace(task, prompt=masked, asked=None)


@perturbation
class PermutedObjects(Sense):
    """Tabletop: presents object tokens and segmentation labels in a new random order at every observation.

    The order is the same in both views. Images, patches and the prompt are unchanged.
    """

    kind = "senses/permuted_objects"
    world = "tabletop"

    def begin(self, key: Key) -> Filter:
        """Return the observation filter of an episode."""
        return _Permuting(key)


class _Permuting(Filter):
    def __init__(self, key: Key) -> None:
        self._key = key

    def observe(self, observation: TableObservation) -> TableObservation:
        return observation.reorder(Chance(self._key, observation.step).now().permutation(observation.count))


_ANGLES = range(30, 151, 30)


@perturbation
class OtherInstruction(TablePerturbation):
    """Tabletop: uses the prompt of another kind of task; success is judged by the original goal.

    T1 receives the prompt of T3 (rotate), T13 that of T12 (sweep), T14 that of T15 (gather by profile), T15 that
    of T14 (by texture). T12 is omitted: in its scene, following T13 also solves T12. In about one in a hundred
    scenes of T14, the profile selects the same objects as the texture.
    """

    kind = "words/prompt_other"
    plausible = False
    only: ClassVar[tuple[str, ...]] = ("T1", "T13", "T14", "T15")

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """Return the task with the prompt of another kind. Raises PerturbationError if no kind is suitable."""
        kind = task.setting.task
        if not self.concerns(kind):
            raise PerturbationError(f"{self.kind} applies only to {', '.join(self.only)}, not to {task.id}")
        fields = read_fields(task)
        requested: Goal | None = None
        if kind == "T13":
            # Its line is in front of the rectangle, so that no block can enter it and stop before the line.
            text = prompt.original("T12", count=fields["count"][0])
        elif kind == "T1":
            angle = int(rng.choice(list(_ANGLES)))
            text = prompt.original("T3", angle=str(angle))
            assert isinstance(task.goal, PutGoal)
            piece = task.scene.item("dragged_obj")
            put = Put(piece.name, piece.x, piece.y, piece.yaw - math.radians(angle), turned=True)
            requested = PutGoal(((put,),), task.goal.bystanders)
        else:
            text = prompt.original("T15" if kind == "T14" else "T14")
            assert isinstance(task.goal, PutGoal)
            base, within = task.scene.item("base_obj"), task.goal.stages[0][0].within
            puts, others = [], []
            for item in task.scene.items:
                same_profile = item.solid.profile == base.solid.profile != ""
                if item.fixed:
                    continue
                if item.texture == base.texture if kind == "T15" else same_profile:
                    puts.append(Put(item.name, base.x, base.y, base.yaw, within))
                else:
                    others.append(item.name)
            if puts:
                requested = PutGoal((tuple(puts),), tuple(others))
        return replace(task, prompt=task.prompt.saying(text), asked=requested)


@perturbation
class PromptParaphrase(TablePerturbation):
    """Tabletop: paraphrases the prompt, keeping every image, number, direction and invented word."""

    kind = "words/prompt_paraphrase"

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """Return the paraphrased task. Raises PerturbationError if the prompt is not in its original wording."""
        fields = {**prompt.WORDS, **read_fields(task)}
        templates = prompt.TEMPLATES[task.setting.task]
        text = task.prompt.text
        while text == task.prompt.text:
            text = templates[int(rng.integers(len(templates)))]
            while (place := prompt.OPEN.search(text)) is not None:
                options = fields[place[1]]
                text = text.replace(place[0], options[int(rng.integers(len(options)))])
            text = capitalise(text)
        return replace(task, prompt=task.prompt.saying(text))


_DEFINITION = re.compile(r"This is a (\w+) (\{\w+\})\.")
_REFERENT = re.compile(r"(?:(\w+) )?\{(\w+)\}")
_SINGULAR, _PLURAL = ("any", "one"), ("two", "three", "four", "five", "all")
_NO_ARTICLE = (*_SINGULAR, *_PLURAL, "the", "same")


@perturbation
class TextReferents(TablePerturbation):
    """Tabletop: replaces images in the prompt with descriptions: ``Put the tiger letter A into the blue bowl.``"""

    kind = "words/prompt_referents"
    only: ClassVar[tuple[str, ...]] = ("T1", "T3", "T7", "T12", "T13", "T14", "T15", "T16", "T17")

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """Return the task with a text-only prompt. Raises PerturbationError if names cannot replace the images."""
        if not self.concerns(task.setting.task):
            raise PerturbationError(f"{self.kind} applies only to {', '.join(self.only)}, not to {task.id}")
        pictures = dict(task.prompt.pictures)
        definition = _DEFINITION.sub(r"\2 is a \1.", task.prompt.text)

        def describe(match: re.Match[str]) -> str:
            """Return the word before an image, and the image's description, with an article if one is missing."""
            before, (item,) = match[1] or "", pictures[match[2]].scene.items
            # Grey stands for any texture: such an image shows only a shape.
            name = item.shape if item.texture == GREY else item.words
            if before in _PLURAL:
                name += "es" if name.endswith("s") else "s"
            return " ".join(filter(None, (before, "" if before.lower() in _NO_ARTICLE else "the", name)))

        text = _REFERENT.sub(describe, definition)
        return replace(task, prompt=task.prompt.saying(capitalise(text)))


@cache
def informative_stems() -> frozenset[str]:
    """Return the stems of informative words: those in prompts, textures and shapes, and synonyms of commands."""
    groups = (prompt.ORIGINALS, prompt.TEMPLATES, prompt.WORDS, prompt.SYNONYMS)
    texts = " ".join(text for group in groups for wordings in group.values() for text in wordings)
    bare = re.sub(r"<\w+>|\{\w+\}", " ", texts)
    invented = (*ADJECTIVES, *NOUNS, *EXTREME_ADJECTIVES, *EXTREME_NOUNS)
    vocabulary = " ".join([bare, *TEXTURES, DARK, *solids(), *invented]).lower()
    return frozenset(stem(word) for word in re.findall("[a-z]+", vocabulary) if len(word) > 1)


class Unit(StrEnum):
    """Unit in which a nonsense prompt has the same length as the original."""

    WORDS = "words"
    TOKENS = "tokens"


@perturbation
class Gobbledygook(TablePerturbation):
    """Tabletop: replaces the words between the images with nonsense that does not specify the task."""

    kind = "words/prompt_gobbledygook"
    plausible = False

    unit: Unit
    """Kind of nonsense: random letters in words of the same lengths, or random sub-words.

    Sub-words are drawn from the tokenizer of all-MiniLM-L6-v2; their number is the same as in the original.
    """

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """Return the task with a nonsense prompt. Raise ModelError if the tokenizer for sub-words is missing."""
        words = task.prompt.text.split()
        places = [index for index, word in enumerate(words) if not prompt.PLACEHOLDER.search(word)]
        drawn = []
        for index in places:
            informative = True
            while informative:
                if self.unit is Unit.WORDS:
                    parts = [nonsense := random_letters(words[index], rng)]
                else:
                    parts = [nonsense := random_tokens(words[index], rng), *sub_words(nonsense)]
                informative = any(stem(part.lower()) in informative_stems() for part in parts)
            drawn.append(nonsense)
        for place, index in zip(places, rng.permutation(len(drawn)), strict=True):
            words[place] = drawn[index]
        return replace(task, prompt=task.prompt.saying(" ".join(words)), asked=None)


HARDER = tuple(difficulty for difficulty in Difficulty if difficulty is not Difficulty.DEFAULT)
PERMUTED = "order=permuted"
PROMPT_CHANGES: tuple[tuple[str, TablePerturbation | PermutedObjects], ...] = (
    ("paraphrase", PromptParaphrase()),
    ("referents=text", TextReferents()),
    *((f"gobbledygook={unit}", Gobbledygook(unit)) for unit in Unit),
    *((f"mask={part}", PromptMask(part)) for part in PromptPart),
    ("instruction=other", OtherInstruction()),
    (PERMUTED, PermutedObjects()),
)
"""Conditions that change the prompt or the object order, with their perturbations."""
