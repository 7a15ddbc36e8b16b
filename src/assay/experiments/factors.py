"""Effect of each change: a full or fractional factorial design over selected changes.

A fraction of 2^(k-p) combinations contains all combinations of the first k - p changes, and switches each of the
other p changes on when an odd number of the changes in its generator are on. The control, "all off", is therefore
always included. The resolution states which effects are confounded: at III, main effects with two-way
interactions; at IV, two-way interactions with one another; from V on, neither.

`changes_to` returns one perturbation of each kind, of medium size, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import combinations, product
from operator import xor
from types import MappingProxyType

from assay.episodes.spec import Label
from assay.errors import ExperimentError, did_you_mean
from assay.experiments.base import Experiment, Variant
from assay.perturb import Mask, Perturbation
from assay.perturb.senses import senses_at
from assay.perturb.senses.images import BlankPictures, DroppedCamera, PictureSense
from assay.perturb.words.rewordings.corrupted import Shuffle, Substitute, Typos
from assay.perturb.words.rewordings.sentences import (
    Concise,
    Passive,
    Reorder,
    Semantic,
    Synonyms,
    Telegraphic,
    Verbose,
)
from assay.perturb.world.kinds import Among
from assay.perturb.world.layout import Confound, Distractors, Obstacle
from assay.perturb.world.objects import Recolour, Remove, Replace, Resize
from assay.perturb.world.position import Displace, Jitter, MoveFixture, Relocate, Swap
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, Repaint, Room, StartPose
from assay.tasks import Arena, Task
from assay.tasks.language.lexicon import words
from assay.tasks.scene import Pattern, Surface

MEDIUM_SEVERITY = 5
"""Medium severity, on a scale of 1 to 10."""
ROOMS = dict.fromkeys(Arena, Arena.TABLE) | {
    Arena.TABLE: Arena.KITCHEN,
    Arena.COFFEE_TABLE: Arena.LIVING_ROOM,
}
"""Arena of a task -> arena to which the task is moved, chosen for a similar camera distance."""


@cache
def single_changes() -> dict[str, Perturbation]:
    """Return the changes that apply to any task, by name; an axis name stands for a typical change along it."""
    senses = senses_at(MEDIUM_SEVERITY)
    return {
        "words": Synonyms(),
        "world": Relocate(0.5),
        "senses": senses["Gaussian noise"],
        "semantic": Semantic(),
        "synonyms": Synonyms(),
        "concise": Concise(),
        "reorder": Reorder(),
        "passive": Passive(),
        "verbose": Verbose(),
        "telegraphic": Telegraphic(),
        "typos": Typos(),
        "substitute": Substitute(),
        "shuffle": Shuffle(),
        "mask": Mask(),
        "jitter": Jitter(0.05),
        "displace": Displace(0.15),
        "relocate": Relocate(0.5),
        "swap": Swap(),
        "move_fixture": MoveFixture(0.1),
        "recolour": Recolour(),
        "pattern": Recolour(pattern=Pattern.CHECKER),
        "resize": Resize(0.9),
        "replace": Replace(),
        "unseen": Replace(among=Among.UNSEEN),
        "shape": Replace(among=Among.SHAPE),
        "remove": Remove(),
        "distractors": Distractors(3),
        "confound": Confound((0.75, 0.3, 0.2)),
        "obstacle": Obstacle(),
        "table": Repaint(Surface.TABLE),
        "walls": Repaint(Surface.WALLS),
        "floor": Repaint(Surface.FLOOR),
        "light": Relight(0.5, tilt=(0.6, 0.0)),
        "camera": MoveCamera(shift=(0.0, 0.15, 0.1), turn=(0.0, 0.1, 0.0)),
        "orbit": Orbit(azimuth=0.4),
        "robot": StartPose(joints=0.2),
        "base": StartPose(base=(0.0, 0.08)),
        **{name.replace(" ", "_").lower(): sense for name, sense in senses.items()},
    }


def changes_to(task: Task) -> dict[str, Perturbation]:
    """Return all changes to a task by name."""
    return {**single_changes(), "room": Room(ROOMS[task.scene.arena])}


_WORDS = frozenset(
    words("words semantic synonyms concise reorder passive verbose telegraphic typos substitute shuffle mask")
)
_ROOMS = frozenset({"room", "environment"})
_POSITIONS = frozenset({"world", "position", "jitter", "displace", "relocate", "swap", "move_fixture"})
_ON_TARGET = frozenset(words("recolour pattern resize replace unseen shape displace swap confound obstacle"))
_EXCLUSIVE = (
    (frozenset({"replace", "unseen", "shape"}), "they replace the same object"),
    (frozenset({"recolour", "pattern"}), "they cover the surface of the same object"),
    (frozenset({"displace", "swap", "relocate", "world"}), "they set the position of the same object"),
    (frozenset({"darker", "lighter"}), "they cancel each other out"),
    (frozenset({"flatter", "harsher"}), "they cancel each other out"),
)


def sort_changes(names: Iterable[str]) -> list[str]:
    """Return changes in the order of application.

    The room comes first, because reach and camera position depend on it. Then come positions, which depend on object
    sizes and should not depend on other changes. Instructions come last, because new colours are chosen to differ from
    the task's.
    """
    return sorted(names, key=lambda name: (name not in _ROOMS, name not in _POSITIONS, name in _WORDS))


def contradiction(one: str, other: str) -> str:
    """Return the reason why two changes cannot be combined; empty if they can."""
    pair, single = {one, other}, single_changes()
    if one in single and single[one] == single.get(other):
        return "they are the same"
    for names, reason in _EXCLUSIVE:
        if pair <= names:
            return reason
    for name, rest in ((one, other), (other, one)):
        if name == "mask" and rest in _WORDS:
            return "no words are left to reword"
        if name == "remove" and rest in _ON_TARGET:
            return "the object to change has been removed"
        hidden = isinstance(single.get(name), (BlankPictures, DroppedCamera))
        if hidden and isinstance(single.get(rest), PictureSense):
            return "no image is left to change"
    return ""


MAX_CHANGES = 8
"""Maximum number of changes: 256 combinations."""
GENERATORS: Mapping[tuple[int, int], tuple[str, ...]] = MappingProxyType(
    {
        (3, 1): ("AB",),
        (4, 1): ("ABC",),
        (5, 1): ("ABCD",),
        (5, 2): ("AB", "AC"),
        (6, 1): ("ABCDE",),
        (6, 2): ("ABC", "BCD"),
        (6, 3): ("AB", "AC", "BC"),
        (7, 1): ("ABCDEF",),
        (7, 2): ("ABCD", "ABDE"),
        (7, 3): ("ABC", "BCD", "ACD"),
        (7, 4): ("AB", "AC", "BC", "ABC"),
        (8, 1): ("ABCDEFG",),
        (8, 2): ("ABCD", "ABEF"),
        (8, 3): ("ABC", "ABD", "BCDE"),
        (8, 4): ("BCD", "ACD", "ABC", "ABD"),
    }
)
"""(Number of changes k, number of halvings p) -> minimum-aberration generators of the last p changes."""
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII")


def factors(over: tuple[str, ...] = ("words", "world", "senses"), halvings: int = 0) -> Experiment:
    """Every combination of the changes listed in ``over``, or a half, a quarter, ... of the combinations."""
    names = (*single_changes(), "room")
    for name in over:
        if name not in names:
            raise ExperimentError(f"factors: there is no change '{name}': {did_you_mean(name, names)}")
    if not 1 <= len(over) <= MAX_CHANGES or len(set(over)) < len(over):
        raise ExperimentError(f"factors: over={','.join(over)}: expected 1 to {MAX_CHANGES} distinct changes")
    for one, other in combinations(over, 2):
        reason = contradiction(one, other)
        if reason:
            raise ExperimentError(f"factors: '{one}' and '{other}' cannot be combined: {reason}")
    if halvings and (len(over), halvings) not in GENERATORS:
        valid = ["0", *(str(p) for k, p in GENERATORS if k == len(over))]
        raise ExperimentError(
            f"factors: halvings={halvings} for {len(over)} changes: expected one of {', '.join(valid)}"
        )
    design = f"All {2 ** len(over)} combinations"
    if halvings:
        roman = _ROMAN[resolution(len(over), halvings)]
        design = f"{2 ** (len(over) - halvings)} of {2 ** len(over)} combinations (resolution {roman})"
    return Experiment(
        name="factors",
        about=f"{design} of {', '.join(over)}: which of these changes break a policy?",
        variants=lambda task: _variants(task, over, halvings),
        certified=True,
    )


def fraction(count: int, halvings: int = 0) -> tuple[tuple[bool, ...], ...]:
    """Return the combinations of a design, each with ``count`` changes switched on or off; "all off" comes first."""
    generators = GENERATORS[count, halvings] if halvings else ()
    free = "ABCDEFGH"[: count - halvings]
    rows = []
    for chosen in product((False, True), repeat=len(free)):
        on = dict(zip(free, chosen, strict=True))
        rows.append(
            (*chosen, *(sum(on[letter] for letter in generator) % 2 == 1 for generator in generators))
        )
    return tuple(rows)


def resolution(count: int, halvings: int) -> int:
    """Return the resolution: the length of the shortest word in the defining relation; 0 for a full design."""
    generators = GENERATORS[count, halvings] if halvings else ()
    last = "ABCDEFGH"[count - halvings : count]
    words = [frozenset(generator) | {letter} for generator, letter in zip(generators, last, strict=True)]
    chosen = (subset for size in range(1, len(words) + 1) for subset in combinations(words, size))
    return min((len(reduce(xor, subset)) for subset in chosen), default=0)


def _variants(task: Task, over: Sequence[str], halvings: int) -> Iterator[Variant]:
    changes = changes_to(task)
    for row in fraction(len(over), halvings):
        chosen = [name for name, on in zip(over, row, strict=True) if on]
        if not chosen:
            continue  # the control
        perturbations = tuple(changes[name] for name in sort_changes(chosen))
        flags: dict[str, Label] = {f"factor:{name}": name in chosen for name in over}
        yield Variant(f"factors/{'+'.join(chosen)}", perturbations, flags)
