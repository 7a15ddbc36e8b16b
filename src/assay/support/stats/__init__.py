"""Statistics: proportions with intervals, exact tests, resampling, agreement. Functions from arrays to numbers.

intervals      Wilson's, Newcombe's, order statistics, over tasks; effective sample sizes
significance   distribution functions, exact tests of paired outcomes, Holm, agreement of raters
resampling     the cluster bootstrap; permutation tests of labels and tables
regression     logistic regression, unconditional and conditional on strata
power          power of an experiment before it is run
betting        anytime-valid tests and intervals
thresholds     the smallest change at which success is lost
judgement      comparison of two policies
"""
