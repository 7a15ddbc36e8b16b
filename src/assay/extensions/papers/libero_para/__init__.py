"""LIBERO-Para: paraphrased instructions over a grid of object and action types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from assay.extensions.papers.libero_para import failures, figures, tables
from assay.measures.words import paraphrase_statistics
from assay.report.papers.base import Exhibit, Paper, PaperRun, PaperSection, Part, exhibit, exhibit_of_each


def make(runs: Sequence[PaperRun]) -> Iterator[PaperSection]:
    """Its tables and figures, by question."""
    yield PaperSection(
        "Success",
        "Success rates with the original instructions and with paraphrases, and PRIDE.",
        (
            exhibit(
                "Table 2",
                "Success with the original instructions and with paraphrases",
                tables.success_table,
                runs,
            ),
            exhibit("Table 3", "Success and PRIDE", tables.pride_table, runs),
            exhibit("Figure 6", "Success of each cell, mean over models", figures.average_grid, runs),
            exhibit_of_each("Figure 17", "Success of each cell, model by model", _cells, runs),
            exhibit("Summary by seed", "As in the release's analysis", tables.seeds_table, runs),
            exhibit("Summary by scope", "As in the release's analysis", tables.scopes_table, runs),
            exhibit("Table 11", "Cost of the evaluation", tables.cost_table, runs),
        ),
    )
    yield PaperSection(
        "Difficulty of paraphrases",
        "Object names against action types, and the distance from the original instruction.",
        (
            exhibit("Figure 7", "Original and other object names", figures.names_figure, runs),
            exhibit("Figure 14", "Action types", figures.action_figure, runs),
            exhibit("Figure 13", "PRIDE over its weight", figures.weight_figure, runs),
            exhibit(
                "Figure 16", "Distance against success, model by model", figures.correlation_figure, runs
            ),
            exhibit("Table 10", "PD beside general-purpose distances", tables.distances_table, runs),
        ),
    )
    yield PaperSection(
        "Failures",
        "Near failures follow the successful trajectory (execution errors); far ones do not (planning errors).",
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
        "The wordings in the runs. `assay words stats` makes the same tables from a file of wordings.",
        tuple(_paraphrases(runs)),
    )


def _cells(run: PaperRun) -> tuple[Part, ...]:
    return tables.cells_table(run), figures.model_grid(run)


def _paraphrases(runs: Sequence[PaperRun]) -> Iterator[Exhibit]:
    def of(show: Callable[..., Part], *args: str) -> Callable[[Sequence[PaperRun]], Part]:
        return lambda runs: show(tables.stats_of(runs), *args)

    yield exhibit("Table 8", "Paraphrases of each cell", of(paraphrase_statistics.counts_table), runs)
    yield exhibit("Table 9", "Paraphrases of each original", of(paraphrase_statistics.originals_table), runs)
    yield exhibit("Figure 12", "Object names", of(paraphrase_statistics.names_table), runs)
    for which, (label, title) in paraphrase_statistics.DISTANCES.items():
        yield exhibit(label, title, of(paraphrase_statistics.distance_grid, which), runs)


PAPER = Paper(
    "libero-para",
    "LIBERO-Para: A Diagnostic Benchmark and Metrics for Paraphrase Robustness in VLA Models",
    make,
)
