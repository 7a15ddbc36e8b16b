"""Asking models and baselines the questions in a folder.

prompts    built-in prompts, and prompts from a user's file
session    ask questions; categorise mistakes (judge); write wrong instructions (distractors)
answers    answer files; parsing the letter from a model's reply
"""
