"""LIBERO-Para: paraphrased instructions over a grid of object and action types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from assay.extensions.papers.libero_para import failures, figures, rivals, tables
from assay.report import wording_statistics
from assay.report.papers.base import Exhibit, Paper, PaperRun, PaperSection, Part, exhibit, exhibit_of_each


def make(runs: Sequence[PaperRun]) -> Iterator[PaperSection]:
    """Its tables and figures, by the questions that they answer."""
    yield PaperSection(
        "Success",
        "How often each model succeeds with the original instructions and with paraphrases, and what PRIDE adds.",
        (
            exhibit(
                "Table 2",
                "Success with the original instructions and with paraphrases",
                tables.success_table,
                runs,
            ),
            exhibit("Table 3", "Success and PRIDE", tables.pride_table, runs),
            exhibit("Figure 6", "Success of each cell, mean over models", figures.average_grid, runs),
            exhibit_of_each(
                "Figure 17",
                "Success of each cell, model by model",
                _cells,
                runs,
            ),
            exhibit("Summary by seed", "As the release's analysis has it", tables.seeds_table, runs),
            exhibit("Summary by scope", "As the release's analysis has it", tables.scopes_table, runs),
            exhibit("Table 11", "Cost of the evaluation", tables.cost_table, runs),
        ),
    )
    yield PaperSection(
        "What makes paraphrases hard",
        "Names of objects against ways to say what to do, and the distance of the words from the original.",
        (
            exhibit("Figure 7", "Objects' names kept and changed", figures.names_figure, runs),
            exhibit("Figure 14", "Ways to say what to do", figures.action_figure, runs),
            exhibit("Figure 13", "PRIDE over its weight", figures.weight_figure, runs),
            exhibit(
                "Figure 16", "Distance against success, model by model", figures.correlation_figure, runs
            ),
            exhibit("Table 10", "PD beside general-purpose distances", rivals.rivals_tables, runs),
        ),
    )
    yield PaperSection(
        "How it fails",
        "Near failures follow the successful trajectory (execution); far ones do not (planning).",
        (
            exhibit("Table 4", "Near and far failures", failures.failures_table, runs),
            exhibit(
                "Table 16", "Near and far failures with stricter thresholds", failures.thresholds_table, runs
            ),
            exhibit_of_each(
                "Figure 8", "Trajectories of the task with the most failures", failures.paths_figure, runs
            ),
            exhibit_of_each("Figure 18", "Successful trajectories", failures.successes_figure, runs),
            exhibit("Figure 19", "Near and far failures by type", failures.types_figure, runs),
        ),
    )
    yield PaperSection(
        "The paraphrases",
        "What the runs were told: `assay words stats` makes the same from a table without a run.",
        tuple(_paraphrases(runs)),
    )


def _cells(run: PaperRun) -> tuple[Part, ...]:
    return tables.cells_table(run), figures.model_grid(run)


def _paraphrases(runs: Sequence[PaperRun]) -> Iterator[Exhibit]:
    def of(show: Callable[..., Part], *args: str) -> Callable[[Sequence[PaperRun]], Part]:
        return lambda runs: show(wording_statistics.stats_of(runs), *args)

    yield exhibit("Table 8", "Paraphrases of each cell", of(wording_statistics.counts_table), runs)
    yield exhibit("Table 9", "Paraphrases of each original", of(wording_statistics.originals_table), runs)
    yield exhibit("Figure 12", "One name for each thing", of(wording_statistics.names_table), runs)
    for which, (label, title) in wording_statistics.DISTANCES.items():
        yield exhibit(label, title, of(wording_statistics.distance_grid, which), runs)


PAPER = Paper(
    "libero-para",
    "LIBERO-Para: A Diagnostic Benchmark and Metrics for Paraphrase Robustness in VLA Models",
    make,
)
