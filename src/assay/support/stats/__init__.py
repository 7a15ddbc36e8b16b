"""Statistics: shares and their intervals, exact tests, resampling, agreement. Arrays in, numbers out.

intervals      Wilson's, Newcombe's, order statistics, over tasks; effective sample sizes
significance   distribution functions, exact tests of paired outcomes, Holm, agreement of raters
resampling     the cluster bootstrap; permutation tests of labels and tables
regression     logistic regression, unconditional and conditional on strata
power          what an experiment can find before it is run
betting        tests and intervals that hold whenever one looks
thresholds     the smallest change at which success is lost
judgement      which of two policies is better
"""
