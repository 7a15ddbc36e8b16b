"""LIBERO-Para's Table 10: PD beside general-purpose similarities, and which of them goes with success."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from assay.errors import AssayError
from assay.extensions.papers.libero_para.cells import CELLS, average, success_of
from assay.measures.frames import valid_rows
from assay.measures.result import MeasureError
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import task_instruction
from assay.measures.views.heat_map import NONE
from assay.measures.words.paraphrase import paraphrases
from assay.report.papers.base import PaperRun, Part, of_each
from assay.report.wording_statistics import stats_of, wordings_of
from assay.support.extras import require
from assay.support.stats.distributions import pearson

OWN = ("PD", "1 - S_K", "1 - S_T")
"""LIBERO-Para's distances."""
EXAMPLES = 3
"""Original instructions from which examples are taken: those with the most paraphrases."""
_RENAMED = ("contextual", "habitual")
_INDIRECT = ("question", "hint")


def rivals_tables(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """How each distance goes with success, and examples."""
    found, missing = of_each(runs, _scored)
    distances = [
        name for name in next(iter(found.values())).columns if name in OWN or name.startswith("1 - ")
    ]
    rows: list[tuple[Value, ...]] = []
    for run, table in found.items():
        cells = table.group_by("object", "action").agg(pl.col(*distances, "success").mean())
        for distance in distances:
            by_cell, by_wording = (_correlation(each[distance], each["success"]) for each in (cells, table))
            rows.append((run, distance, *by_cell, len(cells), *by_wording, len(table)))
    yield Table(
        "correlations",
        "How each distance goes with success",
        (
            Column("model"),
            Column("distance"),
            Column("r over cells", "number"),
            Column("p over cells", "p"),
            Column("cells", "count"),
            Column("r over wordings", "number"),
            Column("p over wordings", "p"),
            Column("wordings", "count"),
        ),
        tuple(rows),
        "Pearson's r between a mean distance and success: the more negative, the better the distance tells what is "
        "hard. METEOR with exact and stem matches, without synonyms; BERTScore without weights, with the model "
        "that its name says; BLEU by sacrebleu.",
    )
    yield _examples(runs, distances, pl.concat(found.values()))
    yield from missing


def _examples(runs: Sequence[PaperRun], distances: Sequence[str], scored: pl.DataFrame) -> Table:
    """Of some originals: an added adverb, another name, and another name asked or hinted at."""
    cells, _ = of_each(runs, lambda run: success_of(run.data.result(CELLS)))
    success = average(list(cells.values()))
    kinds = (
        (pl.col("object") == NONE) & (pl.col("action") == "addition"),
        pl.col("object").is_in(_RENAMED) & (pl.col("action") == NONE),
        pl.col("object").is_in(_RENAMED) & pl.col("action").is_in(_INDIRECT),
    )
    rows: list[tuple[Value, ...]] = []
    for original in list(stats_of(runs).originals)[:EXAMPLES]:
        for kind in kinds:
            mine = scored.filter((pl.col("original") == original) & kind).sort("PD", "text")
            if len(mine):
                row = mine.row(len(mine) // 2, named=True)
                key = row["object"], row["action"]
                axes = zip(("names", "action"), key, strict=True)
                changed = ", ".join(f"{axis} {name}" for axis, name in axes if name != NONE)
                rows.append(
                    (original, row["text"], changed, success.get(key), *(row[name] for name in distances))
                )
    return Table(
        "examples",
        "Examples",
        (
            Column("original"),
            Column("paraphrase"),
            Column("type"),
            Column("success of the cell", "share"),
            *(Column(name, "number") for name in distances),
        ),
        tuple(rows),
        "Of the originals with the most paraphrases: the paraphrase with the median PD of an added adverb, of another "
        "name, and of another name in a question or hint. Success: mean over models.",
    )


def _scored(run: PaperRun) -> pl.DataFrame:
    """One row for each wording: object, action, original, text, success and the distances."""
    rows = valid_rows(paraphrases(run.data.frame)).with_columns(pl.col("instruction").str.strip_chars())
    won = rows.group_by("task", "object", "action", "instruction").agg(pl.col("success").mean())
    success = {
        (task_instruction(task) or task, thing, action, text): share
        for task, thing, action, text, share in won.iter_rows()
    }
    wordings = [each for each in wordings_of(run) if each.s_k is not None and each.s_t is not None]
    wordings = [wording for wording in wordings if (wording.original, *wording.key, wording.text) in success]
    if not wordings:
        raise MeasureError("needs paraphrases with both similarities")
    try:
        require("bleu", "Table 10 needs sacrebleu")
        from assay.perturb.words.distance.baselines import baselines

        others = baselines([(wording.original, wording.text) for wording in wordings])
    except AssayError as error:
        raise MeasureError(str(error)) from None
    return pl.DataFrame(
        [
            {
                "original": each.original,
                "object": each.object,
                "action": each.action,
                "text": each.text,
                "success": success[each.original, *each.key, each.text],
                "PD": each.pd,
                "1 - S_K": 1 - (each.s_k or 0.0),
                "1 - S_T": 1 - (each.s_t or 0.0),
                **{f"1 - {name}": 1 - value for name, value in other.columns.items()},
            }
            for each, other in zip(wordings, others, strict=True)
        ]
    )


def _correlation(distance: pl.Series, success: pl.Series) -> tuple[float | None, float | None]:
    x, y = distance.to_numpy(), success.to_numpy()
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    return pearson(x, y)
