"""The paraphrase grid: object names x phrasings of the action, 43 cells (after LIBERO-Para).

for paraphrase in paraphrases(tasks.load("libero_goal/3"), per_cell=2, seed=0):
    paraphrase.cell, paraphrase.text

cells          the two axes
sentences      the action axis: the steps of an instruction, inserted in frames.yaml's sentences
generate       the object axis, and both axes together
table          paraphrases as CSV files, and their statistics
rules          checks of paraphrases against the rules of their cell
"""
