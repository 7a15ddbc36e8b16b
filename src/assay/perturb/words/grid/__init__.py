"""The paraphrase grid: how objects are named x how the action is expressed, 43 cells (after LIBERO-Para).

for each in paraphrases(tasks.load("libero_goal/3"), per_cell=2, seed=0):
    each.cell, each.text

cells                       the two axes
wordings                    the object axis: what objects may be called in their scene
clauses, frames, structure, actions    the action axis: the steps as clauses, in the sentences of frames.yaml
generate, examples, table   both together; tables for readers and for files
names, shapes, rules, verify    whether a paraphrase keeps to the rules
"""

from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import Paraphrase, grid, paraphrases

__all__ = ["CELLS", "ActionType", "Cell", "ObjectType", "Paraphrase", "grid", "paraphrases"]
