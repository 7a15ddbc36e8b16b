"""LIBERO-Para's tables, computed from the cells of its grid: means over seeds, and means over cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter, methodcaller

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import AssayError
from assay.measures.frames import ACTIONS, NONE, OBJECTS, valid_rows
from assay.measures.measure import Measure
from assay.measures.result import MeasureError, Missing, Result
from assay.measures.success.rates import CONTROLS, Rate, success_rate
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import methods, task_instruction
from assay.measures.words import paraphrase
from assay.measures.words.paraphrase import all_paraphrases, paraphrases, wording_columns
from assay.measures.words.pride import OVERESTIMATION, Overestimation
from assay.perturb.words.distance.pride import ALPHA
from assay.perturb.words.grid.table import GridRow, GridStats, grid_stats
from assay.report.papers import ExhibitPlan, PaperRun, Part, by_run, model_table, of_each
from assay.support.extras import require

CellKey = tuple[str, str]
"""Object type and action type of a cell."""
ORIGINAL: CellKey = (NONE, NONE)
"""Cell of the original instruction, which holds the controls."""
CATEGORIES = {
    "lexical": ("addition", "contextual", "habitual"),
    "structural": ("coordination", "subordination"),
    "pragmatic": ("need", "embedded", "permission", "question", "hint"),
}
"""The paper's categories of action types."""
SCOPES: dict[str, Callable[[CellKey], bool]] = {
    "object only": lambda key: key[0] != NONE and key[1] == NONE,
    "action only": lambda key: key[0] == NONE and key[1] != NONE,
    "both": lambda key: NONE not in key,
    "all": lambda key: key != ORIGINAL,
}
"""Part of the instruction that paraphrases change -> filter for its cells, as in the release's analysis script."""
EXAMPLE_ORIGINALS = 3
"""Number of original instructions in Table 10's examples: those with the most paraphrases are shown."""
_RENAMED = ("contextual", "habitual")


@dataclass(frozen=True, slots=True)
class ParaCell(Result):
    """Results of one cell of the grid."""

    key: CellKey
    success: float
    """Success rate, mean over seeds."""
    spread: float | None
    """Population standard deviation over seeds, as in the release; None for a single seed."""
    seeds: dict[int, float]
    """Success rate by seed."""
    episodes: int
    pd: float | None
    """Mean paraphrase distance of the cell's wordings from the original; None if the wordings were not scored."""


def para_cells(frame: pl.DataFrame) -> tuple[ParaCell, ...]:
    """Return the grid cells with episodes, row by row; includes the original instruction if there are controls."""
    worded = valid_rows(paraphrases(frame))
    controls = frame.filter((pl.col("condition") == CONTROL) & (pl.col("outcome") != "error")).with_columns(
        success=(pl.col("outcome") == "success").cast(pl.Int64), object=pl.lit(NONE), action=pl.lit(NONE)
    )
    columns = ("object", "action", "seed", "success")
    rows = pl.concat([controls.select(columns), worded.select(columns)])
    by_seed = rows.group_by(*columns[:3]).agg(pl.col("success").mean(), pl.len().alias("count")).sort("seed")
    parts = by_seed.partition_by("object", "action", as_dict=True)
    distances: dict[CellKey, float | None] = {}
    if "pd" in worded.columns:  # each wording once
        wordings = worded.unique(wording_columns(worded), maintain_order=True)
        unique = wordings.group_by("object", "action", maintain_order=True).agg(pl.col("pd").mean())
        distances = {(thing, action): pd for thing, action, pd in unique.iter_rows()}
    cells = []
    for key in product(OBJECTS, ACTIONS):
        if (part := parts.get(key)) is not None:
            rates, episodes = part["success"].to_numpy(), int(part["count"].sum())
            spread = float(rates.std()) if len(rates) > 1 else None
            seeds = dict(part.select("seed", "success").iter_rows())
            pd = 0.0 if key == ORIGINAL else distances.get(key)
            cells.append(ParaCell(key, float(rates.mean()), spread, seeds, episodes, pd))
    return tuple(cells)


CELLS = Measure(
    "para_cells",
    "Success rate in each cell of LIBERO-Para's grid, averaged over seeds.",
    lambda run: para_cells(run.frame),
)


def cell_rates(run: PaperRun) -> dict[CellKey, float]:
    """Return the success rate of each cell of a run."""
    return {cell.key: cell.success for cell in run.data.result(CELLS)}


def average(models: Sequence[Mapping[CellKey, float]]) -> dict[CellKey, float]:
    """Return the mean success rate over models for each cell in which all models have episodes."""
    shared = [key for key in models[0] if all(key in model for model in models)] if models else []
    return {key: float(np.mean([model[key] for model in models])) for key in shared}


def action_means(cells: Mapping[CellKey, float]) -> dict[str, float]:
    """Return the unweighted mean over cells by action type; ``none`` includes the original, if present."""
    return _group_means((key[1], value) for key, value in cells.items())


def category_means(cells: Mapping[CellKey, float]) -> dict[str, float]:
    """Return the mean over the action types in each category."""
    types = action_means(cells)
    return _group_means(
        (name, types[kind]) for name, kinds in CATEGORIES.items() for kind in kinds if kind in types
    )


def scope_means(cells: Mapping[CellKey, float]) -> dict[str, tuple[float, float | None]]:
    """Return the mean and the sample standard deviation over cells by changed part, as in the release."""
    means = {}
    for name, contains in SCOPES.items():
        values = [value for key, value in cells.items() if contains(key)]
        if values:
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            means[name] = (float(np.mean(values)), spread)
    return means


def _group_means(members: Iterable[tuple[str, float]]) -> dict[str, float]:
    groups: dict[str, list[float]] = {}
    for group, value in members:
        groups.setdefault(group, []).append(value)
    return {group: float(np.mean(values)) for group, values in groups.items()}


def _controls_and_paraphrases(run: PaperRun) -> tuple[Rate, Rate]:
    controls = run.data.attempt(CONTROLS)
    if isinstance(controls, Missing):
        controls = Rate({}, 0, 0, 0, None, None, None)
    return controls, success_rate(all_paraphrases(run.data.frame))


@by_run(_controls_and_paraphrases)
def success_table(results: dict[str, tuple[Rate, Rate]]) -> Iterator[Part]:
    """Yield Table 2: success rates with original instructions and with paraphrases, and the drop between them."""

    def columns(name: str, place: int) -> Iterator[Column]:
        yield Column(name, "share", value=lambda rates: rates[place].rate)
        yield Column(f"{name}, interval", "share", value=lambda rates: rates[place].interval)
        yield Column(f"{name}, episodes", "count", value=lambda rates: rates[place].count)

    drops = {
        name: None if controls.rate is None or changed.rate is None else changed.rate - controls.rate
        for name, (controls, changed) in results.items()
    }
    yield model_table(
        "success",
        "Success rates with the original instructions and with paraphrases",
        {name: (*rates, drops[name]) for name, rates in results.items()},
        *columns("LIBERO-Goal", 0),
        *columns("LIBERO-Para", 1),
        Column("drop", "change", value=itemgetter(2)),
        note="LIBERO-Goal: the controls, with the original instruction. LIBERO-Para: all paraphrases. Errors are "
        f"excluded. 95 % intervals: {methods(rate.interval for _, rate in results.values())}.",
    )
    for name, drop in drops.items():
        if drop is None:
            yield Missing(f"of {name}: no LIBERO-Goal rate and no drop, because there are no controls")


@by_run(lambda run: run.data.result(OVERESTIMATION))
def pride_table(results: dict[str, Overestimation]) -> Table:
    """Return Table 3: success rate, PRIDE and overestimation, with the most overestimated model first."""
    return model_table(
        "pride",
        "Success rate and PRIDE, sorted by decreasing overestimation",
        dict(sorted(results.items(), key=lambda item: -item[1].overestimation)),
        Column("success", "share", value=lambda model: model.success_rate),
        Column("PRIDE", "share", value=lambda model: model.pride / 100),
        Column("overestimation", "share", value=lambda model: model.overestimation),
        Column("95 % interval", "share", value=lambda model: model.interval),
        Column("episodes", "count", value=lambda model: model.episodes),
        note="PRIDE at alpha 0.5: success weighted by the distance PD of each paraphrase. Overestimation: "
        "(success - PRIDE) / success. Paraphrases without both similarities are excluded. "
        f"95 % intervals: {methods(model.interval for model in results.values())}.",
    )


@by_run(
    lambda run: dict(
        valid_rows(paraphrases(run.data.frame))
        .group_by("seed")
        .agg(pl.col("success").mean())
        .sort("seed")
        .iter_rows()
    )
)
def seeds_table(results: dict[str, dict[int, float]]) -> Table:
    """Return a table of success rates with paraphrases by seed, and their standard deviation."""
    seeds = sorted({seed for shares in results.values() for seed in shares})
    return model_table(
        "seeds",
        "Success rate with paraphrases, by seed",
        results,
        *(Column(f"seed {seed}", "share", value=methodcaller("get", seed)) for seed in seeds),
        Column("mean", "share", value=lambda shares: float(np.mean(list(shares.values())))),
        Column(
            "deviation",
            "share",
            value=lambda shares: float(np.std(list(shares.values()))) if len(shares) > 1 else None,
        ),
        note="Deviation: population standard deviation over seeds, as in the release's analysis.",
    )


@by_run(cell_rates)
def scopes_table(results: dict[str, dict[CellKey, float]]) -> Iterator[Part]:
    """Yield tables of mean success rates over cells: by scope, and by object type and action-type category."""
    models = results | ({"mean": average(list(results.values()))} if len(results) > 1 else {})
    scopes: dict[str, dict[str, float | None]] = {}
    types: dict[str, dict[str, float]] = {}
    for model, cells in models.items():
        means = scope_means(cells)
        scopes[model] = {scope: mean for scope, (mean, _) in means.items()}
        scopes[model] |= {f"{scope}, deviation": spread for scope, (_, spread) in means.items()}
        objects = _group_means((key[0], value) for key, value in cells.items() if key != ORIGINAL)
        types[model] = {f"names: {name}": value for name, value in objects.items()}
        types[model] |= {f"action: {name}": value for name, value in category_means(cells).items()}

    def columns(*names: str) -> list[Column]:
        return [Column(name, "share", value=methodcaller("get", name)) for name in names]

    note = "Unweighted means over cells, without the original instruction"
    yield model_table(
        "scopes",
        "Success rate by the changed part of the instruction",
        scopes,
        *columns(*(name for scope in SCOPES for name in (scope, f"{scope}, deviation"))),
        note=f"{note}; deviation: sample standard deviation over cells, as in the release's analysis.",
    )
    yield model_table(
        "types",
        "Success rate by object type and action-type category",
        types,
        *columns(*(f"names: {name}" for name in OBJECTS), *(f"action: {name}" for name in CATEGORIES)),
        note=f"{note}; a category is the mean of its action types.",
    )


def _timed_rows(run: PaperRun) -> pl.DataFrame:
    rows = run.data.whole
    if not rows["seconds"].sum() > 0:
        raise MeasureError("needs the durations of the episodes, which the run lacks")
    return rows


@by_run(_timed_rows)
def cost_table(results: dict[str, pl.DataFrame]) -> Table:
    """Return Table 11: duration of the episodes."""

    def mean(name: str) -> Column:
        return Column(f"{name} per episode", "number", value=lambda rows: float(rows[name].sum()) / len(rows))

    return model_table(
        "cost",
        "Cost of the evaluation",
        results,
        Column("episodes", "count", value=len),
        Column("hours", "number", value=lambda rows: float(rows["seconds"].sum()) / 3600),
        *map(mean, ("seconds", "steps", "decisions")),
        note="Total duration of all episodes over all workers, including simulation. GPUs and their memory are not "
        "recorded.",
    )


def _scored_wordings(run: PaperRun) -> pl.DataFrame:
    """Return one row per scored wording: original, types, text, success rate and distances."""
    rows = valid_rows(paraphrases(run.data.frame))
    scores = ("s_k", "s_t")
    scored = rows.drop_nulls(scores) if set(scores) <= set(rows.columns) else rows.clear()
    if not len(scored):
        raise MeasureError("needs paraphrases with both similarities")
    originals = {task: task_instruction(task) or task for task in scored["task"].unique()}
    text = pl.col("instruction").str.strip_chars().alias("text")
    table = (
        scored.group_by("task", "object", "action", text, *scores, maintain_order=True)
        .agg(pl.col("success").mean())
        .with_columns(
            pl.col("task").replace_strict(originals).alias("original"),
            (1 - (ALPHA * pl.col("s_k") + (1 - ALPHA) * pl.col("s_t"))).alias("PD"),
            (1 - pl.col("s_k")).alias("1 - S_K"),
            (1 - pl.col("s_t")).alias("1 - S_T"),
        )
        .drop("task", *scores)
    )
    try:
        require("words", "Table 10 needs sacrebleu")
        from assay.perturb.words.distance.baselines import baselines

        others = baselines(table.select("original", "text").rows())
    except AssayError as error:
        raise MeasureError(str(error)) from None
    distances = [{f"1 - {name}": 1 - value for name, value in other.items()} for other in others]
    return table.hstack(pl.DataFrame(distances))


def distances_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Yield Table 10: correlation of PD and of general-purpose distances with success, and examples."""
    from scipy.stats import pearsonr  # importing it takes a quarter of a second

    tables, missing = of_each(runs, _scored_wordings)
    columns = next(iter(tables.values())).columns
    distances = columns[columns.index("PD") :]

    def correlate(table: pl.DataFrame, distance: str) -> tuple[float | None, float | None]:
        x, y = table[distance].to_numpy(), table["success"].to_numpy()
        if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return None, None
        correlation = pearsonr(x, y)
        return float(correlation.statistic), float(correlation.pvalue)

    rows: list[tuple[Value, ...]] = []
    for run, table in tables.items():
        cells = table.group_by("object", "action", maintain_order=True).agg(
            pl.col(*distances, "success").mean()
        )
        for distance in distances:
            by_cell, by_wording = correlate(cells, distance), correlate(table, distance)
            rows.append((run, distance, *by_cell, len(cells), *by_wording, len(table)))
    yield Table(
        "correlations",
        "Correlation of each distance with success",
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
        "Pearson's r between mean distance and success; the more negative, the better the distance predicts "
        "difficulty. METEOR with exact and stem matches, without synonyms; BERTScore without weights, with the model "
        "in its name; BLEU by sacrebleu.",
    )
    yield _examples(runs, distances, pl.concat(tables.values()))
    yield from missing


def _examples(runs: Sequence[PaperRun], distances: Sequence[str], scored: pl.DataFrame) -> Table:
    """Return example paraphrases: an added adverb, another object name, or another name in a question or hint."""
    cells, _ = of_each(runs, cell_rates)
    success = average(list(cells.values()))
    is_renamed = pl.col("object").is_in(_RENAMED)
    kinds = (
        (pl.col("object") == NONE) & (pl.col("action") == "addition"),
        is_renamed & (pl.col("action") == NONE),
        is_renamed & pl.col("action").is_in(("question", "hint")),
    )
    rows: list[tuple[Value, ...]] = []
    for original in list(stats_of(runs).originals)[:EXAMPLE_ORIGINALS]:
        for kind in kinds:
            matches = scored.filter((pl.col("original") == original) & kind).sort("PD", "text")
            if len(matches):
                row = matches.row(len(matches) // 2, named=True)
                key = row["object"], row["action"]
                axes = zip(("names", "action"), key, strict=True)
                changed = ", ".join(f"{axis} {name}" for axis, name in axes if name != NONE)
                values = (row[name] for name in distances)
                rows.append((original, row["text"], changed, success.get(key), *values))
    return Table(
        "examples",
        "Examples",
        (
            *map(Column, ("original", "paraphrase", "type")),
            Column("success of the cell", "share"),
            *(Column(name, "number") for name in distances),
        ),
        tuple(rows),
        "For the originals with the most paraphrases: the paraphrase with the median PD among those with an "
        "added adverb, another name, or another name in a question or hint. Success: mean over models.",
    )


EXHIBITS = (
    ExhibitPlan(
        "Table 2", "Success rates with the original instructions and with paraphrases", success_table
    ),
    ExhibitPlan("Table 3", "Success and PRIDE", pride_table),
    ExhibitPlan("Summary by seed", "As in the release's analysis", seeds_table),
    ExhibitPlan("Summary by scope", "As in the release's analysis", scopes_table),
    ExhibitPlan("Table 11", "Cost of the evaluation", cost_table),
    ExhibitPlan("Table 10", "PD compared with general-purpose distances", distances_table),
)


def stats_of(runs: Sequence[PaperRun]) -> GridStats:
    """Return statistics of all runs' paraphrases; each counts with its maximum number of occurrences per seed."""
    results, _ = of_each(runs, wordings_of)
    together: Counter[GridRow] = Counter()
    for wordings in results.values():
        together |= wordings
    return grid_stats(together.elements())


def wordings_of(run: PaperRun) -> Counter[GridRow]:
    """Return the paraphrases in a run, each with its maximum number of occurrences per seed."""
    rows = paraphrases(run.data.frame)
    scores = [
        pl.col(name) if name in rows.columns else pl.lit(None, pl.Float64).alias(name)
        for name in ("s_k", "s_t")
    ]
    columns = ["task", "object", "action", "instruction", "s_k", "s_t"]
    by_seed = rows.with_columns(scores).group_by(*columns, "seed", maintain_order=True).len()
    table = by_seed.group_by(columns, maintain_order=True).agg(pl.col("len").max())
    if not len(table):
        raise MeasureError("no episode has a paraphrase")
    originals = {task: task_instruction(task) or task for task in table["task"].unique()}
    return Counter(
        {
            GridRow(0, "", thing, action, originals[task], text.strip(), s_k, s_t): count
            for task, thing, action, text, s_k, s_t, count in table.iter_rows()
        }
    )


def _of_wordings(show: Callable[..., Part], *args: str) -> Callable[[Sequence[PaperRun]], Part]:
    return lambda runs: show(stats_of(runs), *args)


PARAPHRASES = (
    ExhibitPlan("Table 8", "Paraphrases in each cell", _of_wordings(paraphrase.counts_table)),
    ExhibitPlan("Table 9", "Paraphrases of each original", _of_wordings(paraphrase.originals_table)),
    ExhibitPlan("Figure 12", "Object names", _of_wordings(paraphrase.names_table)),
    *(
        ExhibitPlan(label, title, _of_wordings(paraphrase.distance_grid, which))
        for which, (label, title) in paraphrase.DISTANCES.items()
    ),
)
