"""Statistics: proportions with intervals, exact tests, resampling, agreement.

intervals      intervals by Wilson and Newcombe, for medians, and over tasks; effective sample sizes
significance   distribution functions, exact tests of paired outcomes, Holm's correction, inter-rater agreement
resampling     the cluster bootstrap; permutation tests of labels and tables
regression     logistic regression, unconditional and conditional on strata
power          power of an experiment before it is run
betting        anytime-valid tests and intervals
thresholds     the smallest change at which success is lost
judgement      comparison of two policies
"""
