"""Statistics on plain numbers: nothing here knows what the numbers mean, or reads or writes files.

samples      checks of the numbers that a statistic takes
intervals    intervals of a mean, the paired test
auc          separation of two samples
resampling   bootstrap by group: seeded weights, in blocks
effects      standardised mean difference of paired scores, Holm's correction
verdicts     pass, fail or undecided from an effect
claims       does a claim about several differences hold
chance       a candidate's score above the score of its own reviews of other papers
association  Pearson, Spearman and Kendall of all resamples at once
correlation  correlations with grades: over all items, within groups, with length held fixed
comparison   two correlations that share the grades
length       scores at the length of a human review
pair_tests   every candidate against every other, papers needed to tell two apart
ranks        intervals of ranks, consistency of two boards
orders       whether two measures order the same candidates alike
welch        whether a mean has changed from one set of papers to another
symmetry     whether an evaluation LM gives a pair the same probability in both directions
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
