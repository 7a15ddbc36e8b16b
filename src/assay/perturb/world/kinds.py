"""Similar categories, and categories that occur in no built-in task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from functools import cache

from assay import tasks
from assay.errors import AssetError, PerturbationError, did_you_mean
from assay.sim.categories import VARIANTS
from assay.sim.footprints import footprint
from assay.sim.packs.pack import SHAPES, AssetPack
from assay.sim.packs.registry import PACKS, load_pack, planned_on, planning_pack

SMALL = (
    "alphabet_soup", "bbq_sauce", "butter", "chocolate_pudding", "cookies", "cream_cheese", "ketchup", "milk",
    "orange_juice", "porcelain_mug", "red_coffee_mug", "salad_dressing", "tomato_sauce", "wine_bottle",
)  # fmt: skip
"""Categories of small objects in the built-in tasks."""
_BUILTIN_PACK = "primitives"
"""Asset pack with the categories of the built-in tasks."""
_NOUNS = frozenset({"basket", "book", "bottle", "bowl", "cabinet", "mug", "plate"})
_MAX_SMALL_M = 0.065
"""Maximum half-length of a small object, in metres."""


class Among(StrEnum):
    """Set of categories from which a replacement is chosen."""

    SAME = "same"
    """Categories of the same sort, for example another bowl for a bowl."""
    OTHER = "other"
    """Small objects of another sort, from the built-in tasks or the asset pack."""
    UNSEEN = "unseen"
    """Small objects of sorts that occur in no built-in task."""
    SHAPE = "shape"
    """Primitive shapes: cube, sphere, cylinder, pyramid."""


def candidates(category: str, among: Among) -> tuple[str, ...]:
    """Return the categories in the scene's asset pack that may replace a category, sorted."""
    pack = planning_pack()
    match among:
        case Among.SAME:
            same_sort = (base for base in _bases(pack) if sort_of(base) == sort_of(category))
            chosen = {base for base in same_sort if (base in pack.fixtures) == (category in pack.fixtures)}
        case Among.OTHER:
            chosen = {other for other in small() if sort_of(other) != sort_of(category)}
        case Among.UNSEEN:
            chosen = set(unseen())
        case Among.SHAPE:
            chosen = set(SHAPES) & pack.categories
    return tuple(sorted(chosen - {category}))


def _bases(pack: AssetPack) -> frozenset[str]:
    """Return the base categories of a pack, without their variants in other colours or sizes."""
    return pack.categories - VARIANTS.keys()


def small() -> frozenset[str]:
    """Return the pack's small movable categories: those of the built-in tasks, and those that only the pack has."""
    pack = planning_pack()
    return pack.categories & frozenset(SMALL) | (_small_in_pack(pack) - load_pack(_BUILTIN_PACK).categories)


def unseen() -> tuple[str, ...]:
    """Return the small movable categories of sorts that occur in no built-in task, sorted."""
    trained = _trained_sorts()
    return tuple(
        sorted(category for category in _small_in_pack(planning_pack()) if sort_of(category) not in trained)
    )


@cache
def _trained_sorts() -> frozenset[str]:
    """Return the sorts of objects in the built-in tasks."""
    with planned_on(_BUILTIN_PACK):
        return frozenset(
            sort_of(entity.category) for task in tasks.resolve("all") for entity in task.scene.entities
        )


@cache
def _small_in_pack(pack: AssetPack) -> frozenset[str]:
    """Return the small movable categories of a pack, without variants and primitive shapes."""
    movable = _bases(pack) - pack.fixtures - frozenset(SHAPES)
    return frozenset(category for category in movable if max(footprint(category).half) < _MAX_SMALL_M)


def sort_of(category: str) -> str:
    """Return the sort of a category, without colour, size and brand: ``bowl`` for ``akita_black_bowl``."""
    words = category.split("_")
    noun = next((word for word in reversed(words) if word in _NOUNS), None)
    if noun is not None:
        return noun
    categories = planning_pack().categories
    ends = ["_".join(words[start:]) for start in range(len(words) - 1, -1, -1)]
    return next((end for end in ends if end in categories), category)


def places_of(category: str) -> frozenset[str]:
    """Return the names of the regions that a category defines. Raises AssetError if the pack lacks the category."""
    return _places(planning_pack(), category)


@cache
def _places(pack: AssetPack, category: str) -> frozenset[str]:
    root = pack.entity(category)
    return frozenset(str(site.get("name")) for site in root.iterfind("./worldbody/body/body//site"))


def _packs() -> Iterator[AssetPack]:
    """Yield asset packs, Assay's own first, because importing those of plugins may be slow."""
    yield load_pack(_BUILTIN_PACK)
    for name in PACKS:
        with suppress(AssetError):  # skip packs whose files are not installed
            yield load_pack(name)


def check_category(category: str, *, movable: bool = False) -> None:
    """Raise PerturbationError if no asset pack has a category (suggesting the closest name), or if it is not movable as
    required.
    """
    categories: set[str] = set()
    for pack in _packs():
        if category in pack.categories:
            if movable and category in pack.fixtures:
                raise PerturbationError(f"{category} is a fixture: expected a movable object")
            return
        categories |= pack.categories
    raise PerturbationError(f"there is no category '{category}': {did_you_mean(category, categories)}")


def is_category(category: str) -> bool:
    """Whether an asset pack has a category."""
    return any(category in pack.categories for pack in _packs())
