"""CoGeLoT: paraphrased, nonsense and masked instructions, harder tasks, permuted objects."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from statistics import mean, stdev
from types import MappingProxyType

import polars as pl

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.measure import TABLETOP
from assay.extensions.tabletop.measures.scores import TaskScore, mean_of
from assay.extensions.tabletop.tasks.task import Difficulty
from assay.extensions.tabletop.world.env import TABLETOP_WORLD
from assay.measures.result import MeasureError
from assay.measures.success.rates import Rate
from assay.measures.views.table import Column, Table, Value
from assay.perturb.words.rewordings.corrupted import token_count
from assay.report.papers import Paper, PaperRun, PaperSection, by_run, exhibit

PUBLISHED_SOURCE = (
    "Parekh et al., arXiv:2407.03967v2, Tables F.2 to F.14 and 8; 200 episodes of each task and level"
)
TASK_IDS = tuple(f"T{number}" for number in range(1, 18))


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """A published score of one network under one condition at one level."""

    table: str
    """Table of the paper: F.2 to F.14, or 8 if the paper gives only the mean."""
    trained: str
    """Training data: original instructions, paraphrases, or paraphrases with permuted objects."""
    condition: str
    mistakes: bool
    """Whether mistakes were allowed."""
    model: str
    level: str
    tasks: Mapping[str, float]
    """Task kind -> success rate, 0 to 1."""
    mean: float


@cache
def published_scores() -> tuple[PublishedScore, ...]:
    """Return all published scores, in the order of the paper's tables."""
    text = files(__package__).joinpath("cogelot.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedScore(
            row["table"],
            row["trained"],
            row["condition"],
            row["mistakes"] == "allowed",
            row["model"],
            row["level"],
            {kind: float(row[kind]) / 100 for kind in TASK_IDS if row[kind]},
            float(row["average"]) / 100,
        )
        for row in csv.DictReader(text.splitlines())
    )


_SHOWN = re.compile(r"\[[^]]*\]")
"""Pattern of an image's description in a recorded prompt."""
LEVELS = ("L1", "L2", "L3", "L4")
ORIGINAL, PARAPHRASED, PERMUTED = "original", "paraphrase", "permuted"


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A part of one of the paper's tables: one condition, with mistakes allowed or not."""

    what: str
    """The paper's name for the condition."""
    condition: str
    mistakes: bool = True
    trained: str = PARAPHRASED
    """Training data of the corresponding published scores."""
    same_tasks_as: str = ""
    """Condition to whose tasks the block is restricted; empty for all tasks."""


Scores = tuple[str, Sequence[TaskScore]]
"""The training data stated by a run's policy, and the run's scores."""


def _read_scores(run: PaperRun) -> Scores:
    metadata = run.meta.get("policy_metadata") or {}
    trained = {"True": PARAPHRASED, "False": ORIGINAL}.get(str(metadata.get("paraphrased")), "")
    if str(metadata.get("permuted")) == "True":
        trained = PERMUTED
    return trained, run.data.result(TABLETOP).tasks


def _select(
    results: Mapping[str, Scores], block: TableBlock, blocks: Sequence[TableBlock]
) -> Iterator[tuple[str, str, dict[str, dict[str, Rate]]]]:
    """Yield run, training and rates (level -> kind -> rate) of the runs in a block that have its condition.

    A run belongs to the block with its training, or to the first block of the condition if none has that training.
    """
    alike = [
        other for other in blocks if (other.condition, other.mistakes) == (block.condition, block.mistakes)
    ]
    for name, (trained, tasks) in results.items():
        if block is not next((other for other in alike if other.trained == trained), alike[0]):
            continue
        same = {(task.kind, task.level) for task in tasks if task.condition == block.same_tasks_as}
        scores = [
            task
            for task in tasks
            if task.condition == block.condition
            and (not block.same_tasks_as or (task.kind, task.level) in same)
        ]
        rates: dict[str, dict[str, Rate]] = {}
        for score in scores:
            if score.allowed.count:
                rate = score.allowed if block.mistakes else score.flawless
                rates.setdefault(score.level, {})[score.kind] = rate
        if scores:
            yield name, trained, rates


def _select_published(block: TableBlock) -> list[PublishedScore]:
    wanted = (block.condition, block.mistakes, block.trained)
    return [
        score for score in published_scores() if (score.condition, score.mistakes, score.trained) == wanted
    ]


def _no_condition(blocks: Sequence[TableBlock]) -> MeasureError:
    return MeasureError(
        f"no run has a condition of it ({', '.join(dict.fromkeys(block.condition for block in blocks))})"
    )


@by_run(_read_scores)
def levels_table(results: dict[str, Scores], blocks: Sequence[TableBlock], beside: bool) -> Table:
    """Return a table of success by level: the unweighted mean over tasks, with intervals."""
    rows: list[tuple[Value, ...]] = []
    for block in blocks:
        for name, trained, rates in _select(results, block, blocks):
            means = [mean_of(list(rates[level].values())) if level in rates else None for level in LEVELS]
            cells = [
                cell for mean in means for cell in ((mean.score, mean.interval) if mean else (None, None))
            ]
            rows.append((block.what, name, trained, *(("run",) if beside else ()), *cells))
        if beside:
            rows += _published_levels(block)
    if not any(row[1] in results for row in rows):
        raise _no_condition(blocks)
    heads = ("condition", "model", "trained on", *(("source",) if beside else ()))
    columns = [Column(name, "share", bare=True) for level in LEVELS for name in (level, f"{level}, interval")]
    return Table(
        "levels",
        "Success by level",
        (*map(Column, heads), *columns),
        tuple(rows),
        "In per cent: unweighted means over tasks; 95 % Wilson intervals, stratified by task; errors are excluded."
        + (f" Published: {PUBLISHED_SOURCE}." if beside else ""),
    )


def _published_levels(block: TableBlock) -> Iterator[tuple[Value, ...]]:
    """Return the published rows of a block, one for each network."""
    models: dict[str, dict[str, float]] = {}
    same = {
        (kind, score.level)
        for score in published_scores()
        if score.condition == block.same_tasks_as
        for kind in score.tasks
    }
    for score in _select_published(block):
        shares = [share for kind, share in score.tasks.items() if (kind, score.level) in same]
        models.setdefault(score.model, {})[score.level] = mean(shares) if shares else score.mean
    for model, levels in models.items():
        cells = [value for level in LEVELS for value in (levels.get(level), None)]
        yield block.what, model, block.trained, "published", *cells


@by_run(_read_scores)
def tasks_tables(results: dict[str, Scores], blocks: Sequence[TableBlock], beside: bool) -> Iterator[Table]:
    """Return tables of success by task and level in the paper's layout, and of the 95 % intervals."""
    shares: list[tuple[Value, ...]] = []
    intervals: list[tuple[Value, ...]] = []
    for block in blocks:
        for name, _, by_level in _select(results, block, blocks):
            for level in sorted(by_level):
                rates, score = by_level[level], mean_of(list(by_level[level].values()))
                cells = [(rates[kind].rate, rates[kind].interval) if kind in rates else (None, None)
                         for kind in TASK_IDS]  # fmt: skip
                head = (block.what, name, level)
                shares.append((*head, *(share for share, _ in cells), score.score))
                intervals.append((*head, *(interval for _, interval in cells), score.interval))
        if beside:
            shares += [
                (
                    block.what,
                    f"{score.model}, published",
                    score.level,
                    *map(score.tasks.get, TASK_IDS),
                    score.mean,
                )
                for score in _select_published(block)
                if score.tasks
            ]
    if not intervals:
        raise _no_condition(blocks)
    columns = (
        *map(Column, ("condition", "model", "level")),
        *(Column(kind, "share", bare=True) for kind in (*TASK_IDS, "mean")),
    )
    note = "In per cent. " + (f"Published: {PUBLISHED_SOURCE}." if beside else "")
    yield Table("tasks", "Success by task", columns, tuple(shares), note)
    yield Table(
        "intervals",
        "95 % intervals of success by task",
        columns,
        tuple(intervals),
        "In per cent; Wilson's, of the mean stratified by task.",
    )


def _measure_lengths(run: PaperRun) -> list[tuple[Value, ...]]:
    """Return condition, number of prompts, and mean and deviation of their lengths in words and in sub-words."""
    rows: list[tuple[Value, ...]] = []
    for condition in (CONTROL, "gobbledygook=tokens", "gobbledygook=words"):
        texts = run.data.whole.filter(pl.col("condition") == condition)["instruction"].drop_nulls().to_list()
        if len(texts) > 1:
            words = [len(_SHOWN.sub("picture", text).split()) for text in texts]
            tokens = [len(_SHOWN.findall(text)) + token_count(_SHOWN.sub(" ", text)) for text in texts]
            rows.append((condition, len(texts), mean(words), stdev(words), mean(tokens), stdev(tokens)))
    if not rows:
        raise MeasureError("it has no prompts")
    return rows


@by_run(_measure_lengths)
def lengths_table(results: dict[str, list[tuple[Value, ...]]]) -> Table:
    """Return a table of the lengths of original and nonsense prompts."""
    heads = ("words", "words, deviation", "sub-words", "sub-words, deviation")
    return Table(
        "lengths",
        "Length of prompts",
        (
            Column("run"),
            Column("condition"),
            Column("prompts", "count"),
            *(Column(head, "number") for head in heads),
        ),
        tuple((name, *row) for name, rows in results.items() for row in rows),
        "Mean and standard deviation over prompts. A picture is one word and one sub-word; sub-words are those of "
        "all-MiniLM-L6-v2, in the paper T5's.",
    )


_ORDER, _MASKED = "order=permuted", "mask=instruction"
_HARDER = {
    str(difficulty): str(difficulty).replace("-", " ").capitalize()
    for difficulty in Difficulty
    if difficulty is not Difficulty.DEFAULT
}
_HARD = tuple(
    TableBlock(name, f"difficulty={difficulty}", mistakes=False) for difficulty, name in _HARDER.items()
)
_HARD_MASKED = tuple(
    TableBlock(f"{name}; mask instructions", f"difficulty={difficulty},{_MASKED}", mistakes=False)
    for difficulty, name in _HARDER.items()
)
_BASE = TableBlock("Original instructions", CONTROL)


def _permuted_blocks(*, mistakes: bool, trained: str = "paraphrase") -> tuple[TableBlock, ...]:
    """Return blocks with permuted objects at the default difficulty and at each of the others."""
    suffix = "mistakes allowed" if mistakes else "no mistakes"
    return (
        TableBlock(f"Permuted objects; {suffix}", _ORDER, mistakes, trained),
        *(
            TableBlock(
                f"Permuted objects; {name}; {suffix}", f"difficulty={difficulty},{_ORDER}", mistakes, trained
            )
            for difficulty, name in _HARDER.items()
        ),
    )


TABLES = MappingProxyType(
    {
        "1": (
            "Original and paraphrased instructions",
            (
                TableBlock("Original instructions", CONTROL, trained=ORIGINAL),
                TableBlock("Paraphrases", "paraphrase", trained=ORIGINAL),
                _BASE,
                TableBlock("Paraphrases", "paraphrase"),
            ),
            ("F.2", "F.3"),
        ),
        "2": (
            "Pictures replaced by descriptions",
            (
                TableBlock("With pictures, the same tasks", CONTROL, same_tasks_as="referents=text"),
                TableBlock("With descriptions", "referents=text"),
            ),
            ("F.4",),
        ),
        "3": (
            "Nonsense",
            (_BASE, *(TableBlock(f"Gobbledygook {unit}", f"gobbledygook={unit}") for unit in ("tokens", "words"))),
            ("F.5",),
        ),
        "4": (
            "One modality masked",
            (_BASE, TableBlock("Mask language", "mask=language"), TableBlock("Mask pictures", "mask=visual")),
            ("F.6",),
        ),
        "5": (
            "With and without mistakes",
            (TableBlock("Mistakes allowed", CONTROL), TableBlock("No mistakes", CONTROL, mistakes=False)),
            ("F.7",),
        ),
        "6": (
            "The whole instruction masked",
            tuple(
                TableBlock(f"Mask instructions; {heading}", _MASKED, mistakes)
                for heading, mistakes in (("mistakes allowed", True), ("no mistakes", False))
            ),
            ("F.8",),
        ),
        "7": ("Difficulties, without mistakes", (*_HARD, *_HARD_MASKED), ("F.9", "F.10")),
        "8": (
            "Objects in another order",
            (*_permuted_blocks(mistakes=True)[:1], *_permuted_blocks(mistakes=False),
             *(_permuted_blocks(mistakes=mistakes, trained=PERMUTED)[0] for mistakes in (True, False))),
            ("F.11", "F.12", "F.13", "F.14"),
        ),
    }
)  # fmt: skip
"""Table number -> title, blocks, and the appendix tables with the same scores by task."""
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
        "F.11": tuple(_permuted_blocks(mistakes=mistakes)[0] for mistakes in (True, False)),
        "F.12": _permuted_blocks(mistakes=True)[1:],
        "F.13": _permuted_blocks(mistakes=True, trained=PERMUTED),
        "F.14": _permuted_blocks(mistakes=False, trained=PERMUTED),
    }
)


def make_sections(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
    """Return the sections with the paper's tables; ``beside`` adds the published scores."""
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
    of = {part: number for number, (_, _, parts) in TABLES.items() for part in parts}
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
    make_sections,
    partial(make_sections, beside=True),
    TABLETOP_WORLD.traits.name,
)
