"""Asks questions of models behind endpoints and of baselines.

models     models by address, such as ``gemini:NAME``
prompts    prompts
session    ask questions; categorise mistakes (judge); write wrong instructions (distractors)
answers    answer files, and the letter in a model's reply
"""
