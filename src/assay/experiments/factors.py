"""Which change costs how much: every combination of chosen changes, or a well-chosen fraction of them.

A fraction of 2^(k-p) combinations takes the first k - p changes in all combinations, and switches each
further one on when an odd number of those in its generator are on. So "all off", the control, is always among
them. The resolution says what can be told apart: at III a change from other changes, though not from two
others together; at IV from those too, but two together not from two others; from V on all of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from types import MappingProxyType

from assay.episodes.spec import Label
from assay.errors import ExperimentError, did_you_mean
from assay.experiments.base import Experiment, Variant
from assay.experiments.changes import CHANGES, contradiction, ordered
from assay.perturb import Perturbation
from assay.tasks import Task

MOST = 8
"""Changes; 256 combinations."""
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
"""Changes k and halvings p -> what each of the last p changes follows from, with the least aberration."""
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII")


def factors(over: tuple[str, ...] = ("words", "world", "senses"), halvings: int = 0) -> Experiment:
    """Every combination of the changes named in ``over``, or a half, a quarter, ... of them."""
    for name in over:
        if name not in CHANGES:
            raise ExperimentError(f"factors: there is no change '{name}': {did_you_mean(name, CHANGES)}")
    if not 1 <= len(over) <= MOST or len(set(over)) < len(over):
        raise ExperimentError(f"factors: over={','.join(over)}; valid: 1 to {MOST} changes, each once")
    for one, other in combinations(over, 2):
        reason = contradiction(one, other)
        if reason:
            raise ExperimentError(f"factors: '{one}' and '{other}' contradict each other: {reason}")
    if halvings and (len(over), halvings) not in GENERATORS:
        valid = ["0", *(str(p) for k, p in GENERATORS if k == len(over))]
        raise ExperimentError(
            f"factors: halvings={halvings} for {len(over)} changes; valid: {', '.join(valid)}"
        )
    return Experiment(
        name="factors",
        about=f"{_design(len(over), halvings)} of {', '.join(over)}: which of them breaks a policy?",
        variants=lambda task: _variants(task, over, halvings),
        certified=True,
    )


def fraction(count: int, halvings: int = 0) -> tuple[tuple[bool, ...], ...]:
    """The combinations of a design, each with on or off for ``count`` changes; all off comes first."""
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
    """The length of the shortest word of a design's defining relation; 0 for a full one, which has none."""
    generators = GENERATORS[count, halvings] if halvings else ()
    last = "ABCDEFGH"[count - halvings : count]
    words = [frozenset(each) | {letter} for each, letter in zip(generators, last, strict=True)]
    products = []
    for size in range(1, len(words) + 1):
        for chosen in combinations(words, size):
            word: frozenset[str] = frozenset()
            for each in chosen:
                word ^= each
            products.append(len(word))
    return min(products, default=0)


def _design(count: int, halvings: int) -> str:
    if not halvings:
        return f"All {2**count} combinations"
    roman = _ROMAN[resolution(count, halvings)]
    return f"{2 ** (count - halvings)} of {2**count} combinations (resolution {roman})"


def _variants(task: Task, over: Sequence[str], halvings: int) -> Iterator[Variant]:
    changes: dict[str, tuple[Perturbation, ...]] = {name: CHANGES[name](task) for name in over}
    for row in fraction(len(over), halvings):
        chosen = [name for name, on in zip(over, row, strict=True) if on]
        if not chosen:
            continue  # the control
        perturbations = tuple(each for name in ordered(chosen) for each in changes[name])
        flags: dict[str, Label] = {f"factor:{name}": name in chosen for name in over}
        yield Variant(f"factors/{'+'.join(chosen)}", perturbations, flags)
