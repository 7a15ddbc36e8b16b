"""Instructions that have lost their meaning but not all of their words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.episodes import perturbation
from assay.errors import PerturbationError
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.tasks import Scene
from assay.tasks.names import names_of, words

FUNCTION_WORDS = frozenset(
    words("a an and at between both for from front in inside into it next of off on onto the them then to")
    + words("top up")
)
"""Words that stay: they name neither a thing nor an act."""
UNRELATED = words(
    """
    anchor avenue balloon banjo bishop blanket bridge camel candle canyon carpet castle cathedral
    cloud comet compass curtain dentist desert diamond dolphin donkey eagle elbow engine feather
    forest fountain galaxy garden giraffe glacier guitar hammer harbour helmet horizon island jacket
    jungle kettledrum ladder lantern lawyer library lizard magnet meadow mirror monkey mountain museum
    needle notebook ocean orchestra palace parrot passport penguin piano pilot pirate planet pocket
    prairie pyramid rabbit railway rainbow river rocket saddle sailor satellite scarecrow shadow
    singer skeleton stadium statue submarine tailor temple thunder ticket tiger tornado tractor tunnel
    umbrella valley violin volcano waterfall weather whistle window winter wizard zebra
    """
)
"""Ordinary words that have nothing to do with tables and kitchens."""
_DRAWS = 20


@perturbation
@dataclass(frozen=True, slots=True)
class Substitute(TextPerturbation):
    """Puts unrelated words in the place of others, names of things first: nobody can tell what is wanted."""

    kind = "words/substitute"
    plausible = False

    share: float = 0.5
    """Of the words with a meaning of their own, how many are replaced: above 0, at most 1; one at least."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise PerturbationError(
                f"words/substitute: the share must be above 0 and at most 1, not {self.share:g}"
            )

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction about something else."""
        return substitute_words(text, scene, self.share, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class Shuffle(TextPerturbation):
    """Keeps every word and loses their order."""

    kind = "words/shuffle"
    plausible = False
    guessable = True

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction with its words in another order."""
        return shuffle_words(text, rng)


def substitute_words(text: str, scene: Scene, share: float, rng: np.random.Generator) -> str:
    """A text with a share of its content words replaced, names of things in the scene first."""
    said = text.split()
    content = [index for index, word in enumerate(said) if word.lower() not in FUNCTION_WORDS]
    content = content or list(range(len(said)))
    named = {word for entity in scene.entities for form in names_of(entity.category) for word in words(form)}
    order = [content[place] for place in rng.permutation(len(content))]
    order.sort(
        key=lambda index: not named.intersection(words(said[index]))
    )  # stable: chance decides the rest
    chosen = order[: max(1, math.ceil(share * len(content)))]
    strangers = [word for word in UNRELATED if word not in named]
    # As many different words as there are; 10,000 replaced words have to repeat some.
    drawn = np.concatenate([rng.permutation(len(strangers)) for _ in range(0, len(chosen), len(strangers))])
    for index, stranger in zip(sorted(chosen), drawn, strict=False):
        said[index] = strangers[stranger]
    return " ".join(said)


def shuffle_words(text: str, rng: np.random.Generator) -> str:
    """A text with its words in another order, in which few stand beside those they stood beside.

    Just any order would do at times: "turn the stove on". Raises PerturbationError where there is no other.
    """
    said = text.split()
    if len(set(said)) < 2:
        raise PerturbationError("there are no two words to change places")
    beside = set(pairwise(said))
    drawn = ([said[place] for place in rng.permutation(len(said))] for _ in range(_DRAWS))
    mixed = min(drawn, key=lambda order: (order == said, sum(pair in beside for pair in pairwise(order))))
    return " ".join(mixed if mixed != said else reversed(said))
