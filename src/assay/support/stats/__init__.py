"""Statistics: shares and their intervals, exact tests, resampling, agreement. Arrays in, numbers out.

intervals      Wilson's, Newcombe's, order statistics; effective sample sizes
sampled_tasks  intervals about tasks in general, of which these are a sample
significance   exact tests of paired outcomes; Holm
permutation    labels, rows and columns that are dealt anew
bootstrap      of clusters
logistic       regression for factorial designs
conditional    logistic regression of one change within starts
agreement      of annotators: Gwet's AC1, kappa
"""
