"""The grid for readers: one example for each cell, as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.perturb.words.grid.generate import Paraphrase


def markdown(paraphrases: Sequence[Paraphrase]) -> str:
    """A table with one paraphrase of each cell, the tasks in turn."""
    cells = dict.fromkeys(paraphrase.cell for paraphrase in paraphrases)
    lines = ["| object | action | original | paraphrase |", "| --- | --- | --- | --- |"]
    for number, cell in enumerate(cells):
        found = [paraphrase for paraphrase in paraphrases if paraphrase.cell == cell]
        one = found[number * 7 % len(found)]
        lines.append(f"| {cell.object_type} | {cell.action_type} | {one.task.instruction} | {one.text} |")
    return "\n".join(lines)
