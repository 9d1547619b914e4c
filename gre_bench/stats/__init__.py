"""Statistics on plain numbers: no function here knows what its numbers mean, and none reads or writes files.

samples      checks of the numbers that a statistic takes
intervals    confidence intervals of a mean, Student's paired test
auc          how well a score separates two samples
resampling   the bootstrap, which resamples whole groups
effects      standardised mean difference of paired scores, Holm's correction
verdicts     whether a metric passes a change: pass, fail or undecided
claims       whether a claim about several differences holds
chance       how far a candidate scores above its own reviews of other papers
association  Pearson, Spearman and Kendall coefficients of many resamples at once
correlation  correlations with grades: over all items, within groups, with length held fixed
comparison   which of two scores follows the same grades more closely
length       scores as if every review were as long as a human one
pair_tests   tests of every two candidates, and how many papers would tell them apart
ranks        intervals of ranks, correlation of the ranks on two boards
orders       whether two measures order the same candidates alike
welch        whether a mean has changed from one set of papers to another
symmetry     whether an evaluation LM gives a pair of reviews the same probability in both directions
"""

from gre_bench.stats.auc import Separation, separation
from gre_bench.stats.intervals import (
    Interval,
    PairedTest,
    clustered_error,
    clustered_interval,
    clustered_test,
    flat_interval,
    paired_test,
    student_quantiles,
)

__all__ = [
    "Interval",
    "PairedTest",
    "Separation",
    "clustered_error",
    "clustered_interval",
    "clustered_test",
    "flat_interval",
    "paired_test",
    "separation",
    "student_quantiles",
]
