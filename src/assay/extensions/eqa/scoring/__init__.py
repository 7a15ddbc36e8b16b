"""Scoring: accuracy of each model by level and direction, with intervals.

accuracy      accuracy per kind and data set, and hierarchical means
score         all scores for the answers to a folder of questions: contrasts, error analysis, letter balance, agreement
report        the report, with the tables (tables) and figures (figures) of the ActionEQA paper
"""
