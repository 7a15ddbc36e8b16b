"""The measure of runs on the tabletop: results, views, tests and flaws."""

from __future__ import annotations

from assay.extensions.tabletop.measures.figures import kept_figure, levels_figure, runs_figure, tasks_figure
from assay.extensions.tabletop.measures.findings import FLAWS, prompt_tests, tabletop_wording
from assay.extensions.tabletop.measures.scores import NEEDED
from assay.extensions.tabletop.measures.tables import (
    difficulty_table,
    levels_table,
    numbers,
    order_table,
    prompts_table,
    reading_table,
    runs_table,
    sentences,
    tasks_table,
)
from assay.extensions.tabletop.measures.tabletop import NAME, measure_tabletop
from assay.measures.measure import Measure, Panel
from assay.measures.success.rates import SUCCESS

TABLETOP = Measure(
    NAME,
    "Success by task and level, with mistakes and without, and the reliance on the prompt.",
    lambda run: measure_tabletop(run.whole, run.world.start_columns),
    needs=NEEDED,
    world="tabletop",
    instead_of=("changes", "names", "nonsense", "starts", "levels", "task_changes", "other_tasks"),
    panels=(
        Panel("Reliance on the prompt", (reading_table,), (kept_figure,)),
        Panel("Tasks and levels", (levels_table, tasks_table), (tasks_figure, levels_figure)),
        Panel(SUCCESS, (prompts_table, order_table, difficulty_table)),
    ),
    side_by_side=(runs_table, runs_figure),
    sentences=sentences,
    numbers=numbers,
    tests=prompt_tests,
    flaws=FLAWS,
    wording=tabletop_wording,
)
