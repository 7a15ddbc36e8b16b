"""Tables of the CoGeLoT paper: success with perturbed prompts, at higher difficulties and with permuted objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from statistics import mean, stdev
from types import MappingProxyType
from typing import Any

import polars as pl

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.measure import TABLETOP
from assay.extensions.tabletop.measures.scores import TaskScore, mean_of
from assay.extensions.tabletop.prompts.perturbations import HARDER
from assay.extensions.tabletop.tasks import KINDS
from assay.extensions.tabletop.tasks.task import Level
from assay.measures.result import MeasureError
from assay.measures.success.rates import Rate
from assay.measures.views.table import Column, Table, Value
from assay.perturb.words.rewordings.corrupted import token_count
from assay.report.papers import Exhibit, Paper, PaperRun, PaperSection, by_run, exhibit

PUBLISHED_SOURCE = (
    "Parekh et al., arXiv:2407.03967v2, Tables F.2 to F.14 and 8; 200 episodes per task and level"
)
TASK_IDS, LEVELS = tuple(KINDS), tuple(map(str, Level))
ORIGINAL, PARAPHRASED, PERMUTED = "original", "paraphrase", "permuted"
"""Kinds of training data: original instructions, paraphrases, or paraphrases with permuted objects."""
_SHOWN = re.compile(r"\[[^]]*\]")
"""Pattern of an image's description in a recorded prompt."""


@cache
def published_scores() -> pl.DataFrame:
    """Return the published success rates, 0 to 1: one row per table, condition, model and level.

    The column of a task is null if the paper gives only the average.
    """
    text = files(__package__).joinpath("cogelot.csv").read_bytes()
    return pl.read_csv(text, infer_schema_length=None).with_columns(pl.col(*TASK_IDS, "average") / 100)


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Part of a table in the paper: the results for one condition, with or without mistakes allowed."""

    tables: str
    """Numbers of the tables that contain this block, separated by spaces."""
    what: str
    """The paper's name for the condition."""
    condition: str
    mistakes: bool = True
    """Whether mistakes are allowed."""
    trained: str = PARAPHRASED
    """Training data of the models whose published scores are shown."""
    same_tasks_as: str = ""
    """Condition to whose tasks the results are restricted; empty to include all tasks."""

    def published(self) -> list[dict[str, Any]]:
        """Return the published scores for this block."""
        mistakes = "allowed" if self.mistakes else "none"
        chosen = {"condition": self.condition, "mistakes": mistakes, "trained": self.trained}
        return published_scores().filter(**chosen).to_dicts()


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
    """Yield the name, training data and success rates (level -> task kind -> rate) of each run that belongs to a block.

    A run belongs to the block with its training data or, if there is none, to the first block of its condition.
    """
    same_condition = [
        other for other in blocks if (other.condition, other.mistakes) == (block.condition, block.mistakes)
    ]
    for name, (trained, tasks) in results.items():
        if block is not next((b for b in same_condition if b.trained == trained), same_condition[0]):
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


def _no_condition(blocks: Sequence[TableBlock]) -> MeasureError:
    conditions = dict.fromkeys(block.condition for block in blocks)
    return MeasureError(f"no run contains any of the conditions ({', '.join(conditions)})")


@by_run(_read_scores)
def levels_table(results: dict[str, Scores], blocks: Sequence[TableBlock], beside: bool) -> Table:
    """Return a table of success rates by level: unweighted means over tasks, with intervals."""
    rows: list[tuple[Value, ...]] = []
    for block in blocks:
        for name, trained, rates in _select(results, block, blocks):
            scores = [mean_of(list(rates[level].values())) if level in rates else None for level in LEVELS]
            cells = [
                cell
                for score in scores
                for cell in ((score.score, score.interval) if score else (None, None))
            ]
            rows.append((block.what, name, trained, *(("run",) if beside else ()), *cells))
        if not beside:
            continue
        models: dict[str, dict[str, float]] = {}
        reference = published_scores().filter(condition=block.same_tasks_as).to_dicts()
        same = {(kind, row["level"]) for row in reference for kind in TASK_IDS if row[kind] is not None}
        for published in block.published():
            level = published["level"]
            shares = [published[kind] for kind in TASK_IDS if (kind, level) in same]
            models.setdefault(published["model"], {})[level] = (
                mean(shares) if shares else published["average"]
            )
        for model, levels in models.items():
            values = [value for level in LEVELS for value in (levels.get(level), None)]
            rows.append((block.what, model, block.trained, "published", *values))
    if not any(row[1] in results for row in rows):
        raise _no_condition(blocks)
    heads = ("condition", "model", "trained on", *(("source",) if beside else ()))
    columns = [Column(name, "share", bare=True) for level in LEVELS for name in (level, f"{level}, interval")]
    return Table(
        "levels",
        "Success by level",
        (*map(Column, heads), *columns),
        tuple(rows),
        "Unweighted means over tasks, in percent; 95 % Wilson intervals, stratified by task; errors are excluded."
        + (f" Published: {PUBLISHED_SOURCE}." if beside else ""),
    )


@by_run(_read_scores)
def tasks_tables(results: dict[str, Scores], blocks: Sequence[TableBlock], beside: bool) -> Iterator[Table]:
    """Yield two tables in the paper's layout: success rates by task and level, and their 95 % intervals."""
    rates: list[tuple[Value, ...]] = []
    intervals: list[tuple[Value, ...]] = []
    for block in blocks:
        for name, _, by_level in _select(results, block, blocks):
            for level, by_kind in sorted(by_level.items()):
                score, head = mean_of(list(by_kind.values())), (block.what, name, level)
                cells = [by_kind.get(kind) for kind in TASK_IDS]
                rates.append((*head, *(None if rate is None else rate.rate for rate in cells), score.score))
                intervals.append(
                    (*head, *(None if rate is None else rate.interval for rate in cells), score.interval)
                )
        for row in block.published() if beside else ():
            if any(row[kind] is not None for kind in TASK_IDS):
                head = (block.what, f"{row['model']}, published", row["level"])
                rates.append((*head, *(row[kind] for kind in TASK_IDS), row["average"]))
    if not intervals:
        raise _no_condition(blocks)
    columns = (
        *map(Column, ("condition", "model", "level")),
        *(Column(kind, "share", bare=True) for kind in (*TASK_IDS, "mean")),
    )
    note = "In percent. " + (f"Published: {PUBLISHED_SOURCE}." if beside else "")
    yield Table("tasks", "Success by task", columns, tuple(rates), note)
    note = "Wilson intervals, in percent; the interval of the mean is stratified by task."
    yield Table("intervals", "95 % intervals of success rates by task", columns, tuple(intervals), note)


def _measure_lengths(run: PaperRun) -> list[tuple[Value, ...]]:
    """Return for each condition the number of prompts and the mean and standard deviation of their lengths."""
    rows: list[tuple[Value, ...]] = []
    for condition in (CONTROL, "gobbledygook=tokens", "gobbledygook=words"):
        texts = run.data.whole.filter(pl.col("condition") == condition)["instruction"].drop_nulls().to_list()
        if len(texts) > 1:
            words = [len(_SHOWN.sub("picture", text).split()) for text in texts]
            tokens = [len(_SHOWN.findall(text)) + token_count(_SHOWN.sub(" ", text)) for text in texts]
            rows.append((condition, len(texts), mean(words), stdev(words), mean(tokens), stdev(tokens)))
    if not rows:
        raise MeasureError("the run has no prompts")
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
        "Mean and standard deviation over prompts. An image counts as one word and one sub-word. Sub-words "
        "come from the tokenizer of all-MiniLM-L6-v2; the paper uses that of T5.",
    )


def _at_difficulties(
    tables: str, what: str, condition: str = "", *, mistakes: bool = False, trained: str = PARAPHRASED
) -> tuple[TableBlock, ...]:
    """Return a block for each difficulty above the default, combined with ``condition`` if it is not empty."""
    return tuple(
        TableBlock(
            tables,
            what.format(difficulty.replace("-", " ").capitalize()),
            f"difficulty={difficulty}{condition and ','}{condition}",
            mistakes,
            trained,
        )
        for difficulty in HARDER
    )


BLOCKS = (
    TableBlock("1 F.2", "Original instructions", CONTROL, trained=ORIGINAL),
    TableBlock("1 F.2", "Paraphrases", "paraphrase", trained=ORIGINAL),
    TableBlock("1 3 4 F.3", "Original instructions", CONTROL),
    TableBlock("1 F.3", "Paraphrases", "paraphrase"),
    TableBlock("2 F.4", "With images, on the same tasks", CONTROL, same_tasks_as="referents=text"),
    TableBlock("2 F.4", "With descriptions", "referents=text"),
    TableBlock("3 F.5", "Gobbledygook tokens", "gobbledygook=tokens"),
    TableBlock("3 F.5", "Gobbledygook words", "gobbledygook=words"),
    TableBlock("4 F.6", "Mask language", "mask=language"),
    TableBlock("4 F.6", "Mask images", "mask=visual"),
    TableBlock("5", "Mistakes allowed", CONTROL),
    TableBlock("5 F.7", "No mistakes", CONTROL, mistakes=False),
    TableBlock("6 F.8", "Mask instructions; mistakes allowed", "mask=instruction"),
    TableBlock("6 F.8", "Mask instructions; no mistakes", "mask=instruction", mistakes=False),
    *_at_difficulties("7 F.9", "{}"),
    *_at_difficulties("7 F.10", "{}; mask instructions", "mask=instruction"),
    TableBlock("8 F.11", "Permuted objects; mistakes allowed", "order=permuted"),
    TableBlock("8 F.11", "Permuted objects; no mistakes", "order=permuted", mistakes=False),
    *_at_difficulties("8", "Permuted objects; {}; no mistakes", "order=permuted"),
    *_at_difficulties("F.12", "Permuted objects; {}; mistakes allowed", "order=permuted", mistakes=True),
    TableBlock("8 F.13", "Permuted objects; mistakes allowed", "order=permuted", trained=PERMUTED),
    *_at_difficulties(
        "F.13", "Permuted objects; {}; mistakes allowed", "order=permuted", mistakes=True, trained=PERMUTED
    ),
    TableBlock("8 F.14", "Permuted objects; no mistakes", "order=permuted", mistakes=False, trained=PERMUTED),
    *_at_difficulties("F.14", "Permuted objects; {}; no mistakes", "order=permuted", trained=PERMUTED),
)
"""Blocks of the paper's tables; a block can appear in several tables."""
TABLES: Mapping[str, str] = MappingProxyType(
    {
        "1": "Original and paraphrased instructions",
        "2": "Images replaced by descriptions",
        "3": "Nonsense",
        "4": "One modality masked",
        "5": "With and without mistakes",
        "6": "The whole instruction masked",
        "7": "Difficulties, without mistakes",
        "8": "Permuted objects",
        **dict.fromkeys(("F.2", "F.3"), "Table 1 by task"),
        **{f"F.{number + 2}": f"Table {number} by task" for number in range(2, 8)},
        "F.10": "Table 7 by task",
        **{f"F.{number}": "Table 8 by task" for number in range(11, 15)},
    }
)
"""Table number -> title."""


def make_sections(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
    """Yield the sections with the paper's tables. With ``beside``, include the published scores."""
    by_level: list[Exhibit] = []
    by_task: list[Exhibit] = []
    for number, title in TABLES.items():
        blocks = [block for block in BLOCKS if number in block.tables.split()]
        make = tasks_tables if number.startswith("F") else levels_table
        target = by_task if number.startswith("F") else by_level
        target.append(exhibit(f"Table {number}", title, make, runs, blocks, beside))
    yield PaperSection(
        "Success by level",
        "Tables 1 to 8. Each run evaluates one model; its training data is read from the policy's metadata.",
        tuple(by_level),
    )
    title = "Length of original and nonsense prompts"
    yield PaperSection("Prompts", "", (exhibit("Table D.1", title, lengths_table, runs),))
    yield PaperSection("Success by task", "Tables F.2 to F.14: the same scores by task.", tuple(by_task))


PAPER = Paper(
    "cogelot",
    "Investigating the role of instruction variety and task difficulty in robotic manipulation tasks",
    make_sections,
    partial(make_sections, beside=True),
    "tabletop",
)
