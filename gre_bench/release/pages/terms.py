"""Explains each term of a board once: next to its column, or in the section on how to read the page."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TERMS: Mapping[str, tuple[str, str]] = MappingProxyType({
    "nats": (
        "Nats",
        "A unit of information, as bits are: 1 nat is 1.44 bits. A text that became one nat more predictable is 2.7 "
        "times as likely as before.",
    ),
    "evaluation_lm": (
        "Evaluation LM",
        "The language model that reads the reviews and says how likely each token of a human review is. It writes "
        "nothing, and every candidate is scored by the same one.",
    ),
    "writer": (
        "Writer",
        "Who turns each review into judgments, one a line (The reviewer appreciates, criticizes, questions, suggests), "
        "so that style counts for little. Scores by two writers do not compare.",
    ),
    "signature": (
        "Signature",
        "A short name for all that a score rests on: metric, prompt, evaluation LM, precision and writer. Scores "
        "compare only where their signatures are equal.",
    ),
    "assw": (
        "ASSW",
        "A summary of the strengths and weaknesses that a paper's authors state themselves. GEM-S (ASSW) takes away "
        "what it already tells: what is left is due to the reviewer.",
    ),
    "auc": (
        "AUC",
        "How often a review of the same paper scores above one of another paper: 0.5 is chance, 1 is always. The "
        "interval is 95%.",
    ),
    "score": (
        "Score",
        "For GEM: how many nats likelier the evaluation LM finds a human review's judgments once it has read the "
        "candidate's, summed over the tokens, then averaged over papers and human reviews. Above zero it told "
        "something; nothing is compared with a right answer.",
    ),
    "interval": (
        "± and the line",
        "The 90% interval of the mean, with the pairs of one paper as one cluster: where the mean would be expected"
        " on other papers of the same kind.",
    ),
    "human": (
        "Human baseline",
        "One human review of each paper, scored against the others as a candidate's would be. The grey band is its "
        "interval.",
    ),
    "difference": (
        "vs human",
        "The candidate's score less the human baseline's on the same pairs: surer than two intervals side by side, "
        "as hard papers are hard for both.",
    ),
    "p": (
        "p",
        "How often a difference to the human baseline as large as this would come from chance alone, paired by "
        "paper, Holm-corrected for all comparisons of the board. Candidates without a rank have none.",
    ),
    "above_chance": (
        "Above chance",
        "The candidate's score less that of its own reviews of other papers, on the same human reviews: does it say "
        "anything of its papers? Not above chance: the test of the difference does not show one at 5%. It is no order "
        "of candidates, because longer reviews of other papers score lower.",
    ),
    "rank": (
        "Rank",
        "In parentheses the ranks that the tests allow, 95% for all at once: no test tells these candidates apart.",
    ),
    "at_length": (
        "At human length",
        "The score where the candidate's reviews are as long as human ones are: longer reviews tell more, and that "
        "alone is no merit. Blank where it never wrote at that length: that would be a guess.",
    ),
    "control": (
        "Control",
        "A text that should tell little or too much: a review of another paper, a generic one, sentences copied "
        "from the paper. It has no rank, and shows what a score is worth.",
    ),
    "contamination": (
        "Clean, contaminated, cutoff unknown",
        "Whether what a model learnt from ends before the reviews were first shown. Those known to be contaminated "
        "have no rank here, unless no model is clean; where there are some, a badge says what they gain.",
    ),
    "conflict": (
        "Same family",
        "The candidate is of the family of the LM that scores it, or of the writer whose words it is scored in: an "
        "LM may find the phrasing of its own kind likelier.",
    ),
    "validation": (
        "Validated",
        "The metric, with this evaluation LM and writer, fell when reviews were made worse and did not rise when "
        "they were dressed up. Where it is not, read its board as an experiment.",
    ),
    "pdf_version": (
        "Version of a PDF",
        "OpenReview gives the latest PDF of a paper, and reviewers may have read another. Submitted: the one that was "
        "reviewed. Revised after review: changed while authors answered. Camera ready: the one to be published. "
        "Unknown: nothing here tells.",
    ),
    "pairs": (
        "Pairs",
        "Scored of expected. A pair is a candidate's review and one human review of the same paper; under 98% "
        "scored, a candidate has no rank.",
    ),
    "words": ("Words", "Mean length of the candidate's texts that the metric reads."),
    "tokens": (
        "Tokens",
        "Read and written by the candidate, and by the writer of its judgments, as their endpoints count.",
    ),
    "usd": ("USD", "What these tokens cost at list prices; empty where a price or a count is not known."),
    "unparsable": (
        "No judgments",
        "Share of the candidate's reviews whose judgments say nothing that could be scored.",
    ),
    "parameters": ("Parameters", "Of the model, in billions; those of closed models are estimates."),
    "released": ("Came out", "First day on which anybody could use the model."),
    "cutoff": ("Cutoff", "Last day that the texts the model learnt from can be from, where its makers state it."),
})  # fmt: skip
"""Key of a term → its name on the page and its explanation."""

PASSAGE = (
    "score", "nats", "evaluation_lm", "writer", "signature", "assw", "interval", "human", "difference", "p",
    "above_chance", "rank", "at_length", "pairs", "control", "contamination", "conflict", "validation", "auc",
)  # fmt: skip
"""Terms that the section on how to read the page explains, in order. Other terms are explained at their columns."""
