"""Which categories are like each other, and which no built-in task has."""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from assay import tasks
from assay.errors import PerturbationError, did_you_mean
from assay.sim.categories import OPENING, SWITCHING
from assay.sim.footprints import footprint
from assay.sim.packs.primitives import PrimitivesPack, fixtures, objects
from assay.sim.packs.primitives.objects import abstract

SHAPES = tuple(abstract.BUILDERS)
"""Things that are nothing in particular."""
SMALL = (
    "alphabet_soup", "bbq_sauce", "butter", "chocolate_pudding", "cookies", "cream_cheese", "ketchup", "milk",
    "orange_juice", "porcelain_mug", "red_coffee_mug", "salad_dressing", "tomato_sauce", "wine_bottle",
)  # fmt: skip
"""Categories of the built-in tasks that take little room."""
_NOUNS = frozenset({"basket", "book", "bottle", "bowl", "cabinet", "mug", "plate"})
_SMALLEST = 0.065
"""Half-length of what counts as small, metres."""


class Among(StrEnum):
    """What a category is drawn from."""

    SAME = "same"
    """Of the same sort: another bowl for a bowl."""
    OTHER = "other"
    """Of another sort, among the small things of the built-in tasks."""
    UNSEEN = "unseen"
    """Small things that no built-in task has, nor anything of their sort."""
    SHAPE = "shape"
    """Cube, sphere, cylinder, pyramid."""


def candidates(category: str, among: Among) -> tuple[str, ...]:
    """What may take the place of a category, sorted."""
    match among:
        case Among.SAME:
            family = fixtures.BUILDERS if category in fixtures.BUILDERS else objects.BUILDERS
            found = {each for each in family if sort_of(each) == sort_of(category)}
        case Among.OTHER:
            found = {each for each in SMALL if sort_of(each) != sort_of(category)}
        case Among.UNSEEN:
            found = set(unseen())
        case Among.SHAPE:
            found = set(SHAPES)
    return tuple(sorted(found - {category}))


@cache
def unseen() -> tuple[str, ...]:
    """Small movable things of sorts that no built-in task has."""
    seen = {sort_of(entity.category) for task in tasks.resolve("all") for entity in task.scene.entities}
    new = sorted(each for each in objects.BUILDERS if sort_of(each) not in seen and each not in SHAPES)
    return tuple(each for each in new if max(footprint(each).half) < _SMALLEST)


def sort_of(category: str) -> str:
    """What a category is when its colour, size and make do not matter: ``bowl`` for ``akita_black_bowl``."""
    words = category.split("_")
    noun = next((word for word in reversed(words) if word in _NOUNS), None)
    if noun is not None:
        return noun
    known = PrimitivesPack().categories
    ends = ["_".join(words[start:]) for start in range(len(words) - 1, -1, -1)]
    return next((end for end in ends if end in known), category)


def works_alike(one: str, other: str) -> bool:
    """Whether two categories are both fixtures or both not, and open and turn on in the same way."""
    mechanisms = [(OPENING.get(each), SWITCHING.get(each)) for each in (one, other)]
    return (one in fixtures.BUILDERS) == (other in fixtures.BUILDERS) and mechanisms[0] == mechanisms[1]


@cache
def places_of(category: str) -> frozenset[str]:
    """The names of the regions that a category brings along."""
    root = PrimitivesPack().entity(category).root
    return frozenset(str(site.get("name")) for site in root.iterfind("./worldbody/body/body//site"))


def is_category(category: str) -> bool:
    """Whether the primitives have a category."""
    return category in PrimitivesPack().categories


def check_category(category: str) -> None:
    """Raise PerturbationError with the nearest name if there is no such category."""
    known = PrimitivesPack().categories
    if category not in known:
        raise PerturbationError(f"there is no category '{category}': {did_you_mean(category, known)}")
