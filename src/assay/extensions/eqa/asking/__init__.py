"""Puts questions to models behind endpoints, local models and baselines.

models     models by address, such as ``gemini:NAME``
prompts    prompts, and their cost in tokens
session    ask questions; categorise mistakes (judge); write wrong instructions (distractors)
answers    answer files, and the letter in a model's reply
"""
