"""Scoring: accuracy of each model by level and direction, with intervals.

answer_sheet  questions and answers as arrays
accuracy      accuracy per kind and data set, and hierarchical means
score         all scores of the answers to a folder: contrasts, error analysis, letter balance, agreement
page          the report with figures and tables
actioneqa*    the tables and figures of the ActionEQA paper
"""
