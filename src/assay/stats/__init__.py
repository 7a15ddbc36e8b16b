"""Statistics: shares and their intervals, exact tests, resampling, agreement. Arrays in, numbers out.

intervals      Wilson's, Newcombe's, order statistics; effective sample sizes
significance   exact tests of paired outcomes; Holm
bootstrap      of clusters
logistic       regression for factorial designs
agreement      of annotators: Gwet's AC1, kappa
"""
