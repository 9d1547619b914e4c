"""Statistics on plain numbers: the functions do not depend on what the numbers mean, and none reads or writes files.

In all modules, a sequence has one entry per item, such as a score. *level* is the coverage of an interval, *low* and
*high* are its ends, and *p* is a two-sided p-value. *resamples* and *seed* belong to the bootstrap.

samples           checks of the numbers that a statistic takes; the bootstrap, which resamples whole groups
intervals         confidence intervals of a mean, Student's and Welch's tests, scores above chance
auc               how well a score separates two samples
effects           standardised mean difference of paired scores, Holm's correction, verdicts on changes
association       Pearson, Spearman and Kendall coefficients of many resamples at once
correlation       correlations with grades, their comparison, and the symmetry of an evaluation LM
families          records of the tests of a board that are corrected together
length            scores as they would be if every review were as long as a human one
pair_tests        tests of every two candidates, and the smallest difference that a test detects
degrees           how scores change with the degree of a harm
detection         what reviews say about planted flaws
reference_shares  how far the order of two candidates depends on who wrote the references
ranks             intervals of ranks, and whether two boards or measures order the same candidates alike
"""
