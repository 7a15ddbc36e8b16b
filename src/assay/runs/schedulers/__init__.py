"""Schedulers, which decide which episode of a run is executed next.

plan      all planned episodes, start by start
until     early stopping per condition, with confidence sequences
allocate  episodes go where a loss is still open
duel      two policies on the same episodes, until one is known to be better
search    the smallest change that breaks a policy
budget    as many seeds as fit into a given time
"""
