"""CoGeLoT's tables from runs on tables: success by level, and by task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import polars as pl

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.cogelot.published import KINDS, SOURCE, Score, published
from assay.extensions.tabletop.measures import TaskScore
from assay.extensions.tabletop.measures.scores import mean_of
from assay.extensions.tabletop.measures.tabletop import TABLETOP
from assay.measures.result import MeasureError
from assay.measures.views.table import Column, Table, Value
from assay.perturb.words.rewordings.gobbledygook import token_count
from assay.report.papers.base import PaperRun, Part, of_each

_SHOWN = re.compile(r"\[[^]]*\]")
"""What a picture shows, in a recorded prompt."""
LEVELS = ("L1", "L2", "L3", "L4")
ORIGINAL, PARAPHRASED, PERMUTED = "original", "paraphrase", "permuted"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of one of the paper's tables: one condition, with mistakes allowed or without."""

    what: str
    """As the paper calls it."""
    condition: str
    mistakes: bool = True
    trained: str = PARAPHRASED
    """Of the published numbers that belong to it."""
    same_tasks_as: str = ""
    """Only tasks that this condition has, too."""


def levels_table(runs: Sequence[PaperRun], blocks: Sequence[Block], beside: bool) -> Iterator[Part]:
    """Success by level: the unweighted mean over tasks, each with its interval."""
    found, missing = of_each(runs, lambda run: (_trained(run), run.data.result(TABLETOP).tasks))
    rows: list[tuple[Value, ...]] = []
    for block in blocks:
        for name, (trained, tasks) in found.items():
            chosen = _chosen(tasks, block) if _belongs(trained, block, blocks) else []
            cells: list[Value] = []
            for level in LEVELS:
                rates = [
                    each.allowed if block.mistakes else each.flawless
                    for each in chosen
                    if each.level == level and each.allowed.count
                ]
                score = mean_of(rates) if rates else None
                cells += [score.score, score.interval] if score else [None, None]
            if chosen:
                rows.append((block.what, name, trained, *(("run",) if beside else ()), *cells))
        if beside:
            rows += [(*row[:3], "published", *row[3:]) for row in _published_levels(block)]
    if not any(row[1] in found for row in rows):
        wanted = ", ".join(dict.fromkeys(block.condition for block in blocks))
        raise MeasureError(f"no run has a condition of it ({wanted})")
    columns = [Column(name, "share", bare=True) for level in LEVELS for name in (level, f"{level}, interval")]
    yield Table(
        "levels",
        "Success by level",
        (
            Column("condition"),
            Column("model"),
            Column("trained on"),
            *((Column("source"),) if beside else ()),
            *columns,
        ),
        tuple(rows),
        "In per cent: unweighted means over tasks; 95 % Wilson intervals, stratified by task; errors are excluded."
        + (f" Published: {SOURCE}." if beside else ""),
    )
    yield from missing


def tasks_tables(runs: Sequence[PaperRun], blocks: Sequence[Block], beside: bool) -> Iterator[Part]:
    """Success by task and level as the paper has it, and the 95 % intervals in a table of the same form."""
    found, missing = of_each(runs, lambda run: (_trained(run), run.data.result(TABLETOP).tasks))
    shares: list[tuple[Value, ...]] = []
    intervals: list[tuple[Value, ...]] = []
    for block in blocks:
        for name, (trained, tasks) in found.items():
            for level in LEVELS if _belongs(trained, block, blocks) else ():
                known = {each.kind: each.allowed if block.mistakes else each.flawless
                         for each in _chosen(tasks, block)
                         if each.level == level and each.allowed.count}  # fmt: skip
                if known:
                    score, head = mean_of(list(known.values())), (block.what, name, level)
                    shares.append(
                        (*head, *(known[k].rate if k in known else None for k in KINDS), score.score)
                    )
                    intervals.append(
                        (*head, *(known[k].interval if k in known else None for k in KINDS), score.interval)
                    )
        if beside:
            shares += [
                (block.what, f"{each.model}, published", each.level,
                 *(each.tasks.get(kind) for kind in KINDS), each.mean)
                for each in _published(block) if each.tasks
            ]  # fmt: skip
    if not intervals:
        wanted = ", ".join(dict.fromkeys(block.condition for block in blocks))
        raise MeasureError(f"no run has a condition of it ({wanted})")
    columns = (Column("condition"), Column("model"), Column("level"))
    cells = tuple(Column(kind, "share", bare=True) for kind in (*KINDS, "mean"))
    note = "In per cent. " + (f"Published: {SOURCE}." if beside else "")
    yield Table("tasks", "Success by task", (*columns, *cells), tuple(shares), note)
    yield Table(
        "intervals",
        "95 % intervals of success by task",
        (*columns, *cells),
        tuple(intervals),
        "In per cent; Wilson's, of the mean stratified by task.",
    )
    yield from missing


def lengths_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """How long prompts are, as they are and as nonsense."""
    found, missing = of_each(runs, _lengths)
    yield Table(
        "lengths",
        "Length of prompts",
        (
            Column("run"),
            Column("condition"),
            Column("prompts", "count"),
            Column("words", "number"),
            Column("words, deviation", "number"),
            Column("sub-words", "number"),
            Column("sub-words, deviation", "number"),
        ),
        tuple((name, *row) for name, rows in found.items() for row in rows),
        "Mean and standard deviation over prompts. A picture is one word and one sub-word; sub-words are those of "
        "all-MiniLM-L6-v2, in the paper T5's.",
    )
    yield from missing


def _lengths(run: PaperRun) -> list[tuple[Value, ...]]:
    rows: list[tuple[Value, ...]] = []
    for condition in (CONTROL, "gobbledygook=tokens", "gobbledygook=words"):
        texts = run.data.whole.filter(pl.col("condition") == condition)["instruction"].drop_nulls().to_list()
        if len(texts) < 2:
            continue
        words = [len(_SHOWN.sub("picture", text).split()) for text in texts]
        tokens = [len(_SHOWN.findall(text)) + token_count(_SHOWN.sub(" ", text)) for text in texts]
        counts = (number for each in (words, tokens) for number in (mean(each), stdev(each)))
        rows.append((condition, len(texts), *counts))
    if not rows:
        raise MeasureError("it has no prompts")
    return rows


def _trained(run: PaperRun) -> str:
    """What its policy says that it was trained on; nothing where it says nothing."""
    told = run.meta.get("policy_metadata") or {}
    if str(told.get("permuted")) == "True":
        return PERMUTED
    return {"True": PARAPHRASED, "False": ORIGINAL}.get(str(told.get("paraphrased")), "")


def _belongs(trained: str, block: Block, blocks: Sequence[Block]) -> bool:
    """Whether a run goes with a block: what it was trained on does, or no block of the condition has that."""
    alike = [each for each in blocks if (each.condition, each.mistakes) == (block.condition, block.mistakes)]
    own = [each for each in alike if each.trained == trained]
    return block is (own or alike)[0]


def _chosen(tasks: Sequence[TaskScore], block: Block) -> list[TaskScore]:
    also = {(each.kind, each.level) for each in tasks if each.condition == block.same_tasks_as}
    return [
        each
        for each in tasks
        if each.condition == block.condition and (not block.same_tasks_as or (each.kind, each.level) in also)
    ]


def _published(block: Block) -> Iterator[Score]:
    return (
        each
        for each in published()
        if (each.condition, each.mistakes, each.trained) == (block.condition, block.mistakes, block.trained)
    )


def _published_levels(block: Block) -> Iterator[tuple[Value, ...]]:
    """What the authors have of a block, network by network."""
    models: dict[str, dict[str, float]] = {}
    also = {
        (kind, each.level)
        for each in published()
        if each.condition == block.same_tasks_as
        for kind in each.tasks
    }
    for each in _published(block):
        known = [share for kind, share in each.tasks.items() if (kind, each.level) in also]
        models.setdefault(each.model, {})[each.level] = mean(known) if known else each.mean
    for model, levels in models.items():
        cells = [value for level in LEVELS for value in (levels.get(level), None)]
        yield block.what, model, block.trained, *cells
