"""CoGeLoT: instructions reworded, made nonsense and masked, tasks made harder, objects in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import MappingProxyType

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.cogelot.tables import (
    ORIGINAL,
    PERMUTED,
    Block,
    lengths_table,
    levels_table,
    tasks_tables,
)
from assay.extensions.tabletop.pools import Difficulty
from assay.extensions.tabletop.world import TABLETOP_WORLD
from assay.report.papers.base import Paper, PaperRun, PaperSection, exhibit

_ORDER, _MASKED = "order=permuted", "mask=instruction"
_HARDER = {
    str(each): str(each).replace("-", " ").capitalize()
    for each in Difficulty
    if each is not Difficulty.DEFAULT
}
_HARD = tuple(Block(name, f"difficulty={each}", mistakes=False) for each, name in _HARDER.items())
_HARD_MASKED = tuple(
    Block(f"{name}; mask instructions", f"difficulty={each},{_MASKED}", mistakes=False)
    for each, name in _HARDER.items()
)
_BASE = Block("Original instructions", CONTROL)


def _permuted(*, mistakes: bool, trained: str = "paraphrase") -> tuple[Block, ...]:
    """Objects in another order at the usual difficulty and at each of the others."""
    suffix = "mistakes allowed" if mistakes else "no mistakes"
    return (
        Block(f"Permuted objects; {suffix}", _ORDER, mistakes, trained),
        *(
            Block(f"Permuted objects; {name}; {suffix}", f"difficulty={each},{_ORDER}", mistakes, trained)
            for each, name in _HARDER.items()
        ),
    )


TABLES = MappingProxyType(
    {
        "1": (
            "Original and paraphrased instructions",
            (
                Block("Original instructions", CONTROL, trained=ORIGINAL),
                Block("Paraphrases", "paraphrase", trained=ORIGINAL),
                _BASE,
                Block("Paraphrases", "paraphrase"),
            ),
            ("F.2", "F.3"),
        ),
        "2": (
            "Pictures replaced by descriptions",
            (
                Block("With pictures, the same tasks", CONTROL, same_tasks_as="referents=text"),
                Block("With descriptions", "referents=text"),
            ),
            ("F.4",),
        ),
        "3": (
            "Nonsense",
            (_BASE, *(Block(f"Gobbledygook {unit}", f"gobbledygook={unit}") for unit in ("tokens", "words"))),
            ("F.5",),
        ),
        "4": (
            "One modality masked",
            (_BASE, Block("Mask language", "mask=language"), Block("Mask pictures", "mask=visual")),
            ("F.6",),
        ),
        "5": (
            "With and without mistakes",
            (Block("Mistakes allowed", CONTROL), Block("No mistakes", CONTROL, mistakes=False)),
            ("F.7",),
        ),
        "6": (
            "The whole instruction masked",
            tuple(
                Block(f"Mask instructions; {told}", _MASKED, mistakes)
                for told, mistakes in (("mistakes allowed", True), ("no mistakes", False))
            ),
            ("F.8",),
        ),
        "7": ("Difficulties, without mistakes", (*_HARD, *_HARD_MASKED), ("F.9", "F.10")),
        "8": (
            "Objects in another order",
            (*_permuted(mistakes=True)[:1], *_permuted(mistakes=False),
             *(_permuted(mistakes=mistakes, trained=PERMUTED)[0] for mistakes in (True, False))),
            ("F.11", "F.12", "F.13", "F.14"),
        ),
    }
)  # fmt: skip
"""Number -> title, parts, and the tables of the appendix that have the same task by task."""
PER_TASK = MappingProxyType(
    {
        "F.2": TABLES["1"][1][:2],
        "F.3": TABLES["1"][1][2:],
        "F.4": TABLES["2"][1],
        "F.5": TABLES["3"][1][1:],
        "F.6": TABLES["4"][1][1:],
        "F.7": TABLES["5"][1][1:],
        "F.8": TABLES["6"][1],
        "F.9": _HARD,
        "F.10": _HARD_MASKED,
        "F.11": tuple(_permuted(mistakes=mistakes)[0] for mistakes in (True, False)),
        "F.12": _permuted(mistakes=True)[1:],
        "F.13": _permuted(mistakes=True, trained=PERMUTED),
        "F.14": _permuted(mistakes=False, trained=PERMUTED),
    }
)


def make(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
    """Its tables; ``beside``: with what the authors published."""
    yield PaperSection(
        "Success by level",
        "Tables 1 to 8. Each run is a model; what it was trained on is what its policy says.",
        tuple(
            exhibit(f"Table {number}", title, levels_table, runs, blocks, beside)
            for number, (title, blocks, _) in TABLES.items()
        ),
    )
    yield PaperSection(
        "Prompts",
        "",
        (
            exhibit(
                "Table D.1", "Length of prompts before and after they are made nonsense", lengths_table, runs
            ),
        ),
    )
    of = {each: number for number, (_, _, parts) in TABLES.items() for each in parts}
    yield PaperSection(
        "Success by task",
        "Tables F.2 to F.14: the same task by task.",
        tuple(
            exhibit(f"Table {name}", f"Table {of[name]} by task", tasks_tables, runs, blocks, beside)
            for name, blocks in PER_TASK.items()
        ),
    )


PAPER = Paper(
    "cogelot",
    "Investigating the role of instruction variety and task difficulty in robotic manipulation tasks",
    make,
    partial(make, beside=True),
    TABLETOP_WORLD.traits.name,
)
