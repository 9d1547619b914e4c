"""Writes sentences for a board: warnings about candidates, ties, and LMs that may have been trained on the reviews."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gre_bench.core.terminal import counted
from gre_bench.release.pages.board import Flag
from gre_bench.release.pages.notation import number
from gre_bench.store import Row

_HANDS = {"evaluation_lm": "evaluation LM", "writer": "writer", "synopsis_writer": "writer of synopses"}


def order(board: Sequence[Row]) -> Iterator[str]:
    """Yields one sentence for any two neighbours in rank on *board* that no test tells apart.

    The sentence says how many more papers would tell the two candidates apart. If ranks were not tested, yields a
    sentence that says why.
    """
    ranked = [row for row in board if row["rank"] is not None]
    yield from sorted({f"The order is not tested: {row['untested']}." for row in ranked if row["untested"]})
    if len(ranked) > 1 and all(row["tests"] is None for row in ranked):
        yield "The order is not tested yet: the refresh that adds scores has not ended."
    for row in ranked:
        if row["tied"]:
            more = row["more_papers"]
            hope = (
                f"{counted(more, 'paper')} more would, if both go on as here" if more else "nor would a million papers"
            )
            p = f"p {row['next_p']:.3f}" if row["next_p"] is not None else "no test"
            yield f"Not told apart: {row['candidate']} and {row['next_candidate']} ({p}); {hope}."


def exposed(signature: Row, exposures: Sequence[Row], gap: Row | None) -> Iterator[str]:
    """Yields a sentence for each evaluation LM or writer of *signature* that may have been trained on the reviews.

    *exposures*: for each LM, whether it may have been trained on the reviews (`ExposureRow`).
    *gap*: how much higher contaminated candidates score than the other models (`CleanGapRow`). If given, yields one
    more sentence that says so.
    """
    for row in exposures:
        mine = row["role"] in _HANDS and signature[row["role"]] == row["name"]
        if mine and row["learnt"]:
            papers = counted(row["papers"], "paper")
            yield f"The {_HANDS[row['role']]} {row['name']} was learnt from {row['learnt']:,} of these {papers}."
        elif mine and row["status"] in ("contaminated", "unknown"):
            known = f"learnt until {row['cutoff']}, reviews of {row['released']}" if row["cutoff"] else "cutoff unknown"
            base = "" if row["learnt"] is None else "base of the "
            yield f"The {base}{_HANDS[row['role']]} {row['name']} may have read these reviews before ({known})."
    if gap is not None:
        between = f" ({number(gap['low'])} to {number(gap['high'])})" if gap["low"] is not None else ""
        yield (
            f"Contaminated candidates, which have no rank here, score {number(gap['gap'])}{between} against the "
            f"others, paired on {counted(gap['papers'], 'paper')}."
        )


def flags(row: Row, writer: str) -> Iterator[Flag]:
    """Yields the warnings about one candidate of a board, the most severe first.

    *row*: the candidate's row of the board. *writer*: name of the writer of the judgments.
    """
    status, model = row.get("contamination"), row["kind"] == "model"
    if status == "contaminated":
        why = (row["unranked"] or "").removeprefix("contaminated: ")
        ranked = "it may have read these reviews, as every other model of this board may"
        yield Flag("contaminated", f"{why}; it has no rank" if why else ranked, "fail")
    elif row["unranked"] and row["kind"] != "control":
        yield Flag("unranked", f"No rank: {row['unranked']}", "fail")
    for state in ("failed", "missing"):
        if row[state]:
            yield Flag(
                state, f"{row[state]:,} of its pairs {'have failed' if state == 'failed' else 'are missing'}", "fail"
            )
    if row.get("conflict"):
        yield Flag("same family", f"It is of the family of {row['conflict']}: an LM may find its own phrasing likelier")
    if row.get("surely_above_chance") is False:
        yield Flag("not above chance", "No test shows that its reviews score above its own reviews of other papers")
    if status == "unknown" and model:
        yield (
            Flag("may have read them", f"It learnt until {row['cutoff']}; the day on which these reviews were first "
                 "shown is not known")
            if row["cutoff"]
            else Flag("cutoff unknown", "Its makers do not state until when it learnt: it may have read these reviews")
        )  # fmt: skip
    if row.get("few_lines"):
        yield Flag("few judgments", f"{writer} found {row['median_lines']:.0f} judgments in a review of its, "
                   f"{row['human_lines']:.0f} in a human one")  # fmt: skip
    if row.get("extrapolated"):
        yield Flag("other length", f"Its reviews have {row['shortest']:,} to {row['longest']:,} words, never the human "
                   "length: a score there would be a guess, and is left out")  # fmt: skip
    if row.get("guideline"):
        yield Flag("guideline", f"{row['model_name']} under the guideline {row['guideline']}", "")
    if row["excluded"]:
        yield Flag("excluded", f"{row['excluded']:,} of its pairs are excluded", "")
