"""Asking questions: models behind endpoints, models on this machine, and baselines, all in one way.

models     what answers: an address such as ``gemini:NAME`` opened    local     models of ``transformers``
prompts    what a model is told                                       parsing   the letter in what it says
cost       tokens and price before anything is sent                   answers   what was answered, in a file
session    asks all, a few at a time; what breaks is counted and the rest goes on
"""
