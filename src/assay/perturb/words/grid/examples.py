"""The grid for readers: one example for each cell, as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.perturb.words.grid.generate import Paraphrase


def markdown(paraphrases: Sequence[Paraphrase]) -> str:
    """A table with one paraphrase of each cell, the tasks in turn."""
    cells = dict.fromkeys(each.cell for each in paraphrases)
    lines = ["| object | action | original | paraphrase |", "| --- | --- | --- | --- |"]
    for number, cell in enumerate(cells):
        found = [each for each in paraphrases if each.cell == cell]
        one = found[number * 7 % len(found)]
        lines.append(f"| {cell.object_type} | {cell.action_type} | {one.task.instruction} | {one.text} |")
    return "\n".join(lines)
