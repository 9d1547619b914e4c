"""Reads the results of a study of planted flaws from the edition's folder, and summarises them in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, TypedDict

from pydantic import BaseModel

from gre_bench.board.words import warn_of_flaw_signature_mismatch
from gre_bench.core.errors import SourceError, StoreError
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES

RESULTS = "correctness.json"


class MeanWithTest(TypedDict):
    """A mean over papers with its 95% interval and p-value.

    *p_holm*: the p-value with Holm's correction over all kinds of flaws, if the mean is over one kind, such as
    contradictions. None for other means.
    """

    value: float
    low: float
    high: float
    p: float
    p_holm: float | None


class ReviewerResult(TypedDict):
    """How well one reviewer's reviews reveal planted flaws, by one metric (`gre_bench.stats.detection`).

    - *score*: how much more the review of the text with the flaw says about the flaw than the review of a text of the
      paper with another flaw.
    - *other*, *again*: two nulls, that is, the same for two reviews of texts without the flaw. *other*: of the text
      with another flaw and of the paper as it is. *again*: of the paper as it is and after a harmless edit. The means
      differ from zero only by chance.
    - *nulls*: the number of nulls, two per flaw.
    - *specific*: how much more the review says about the flaw than the reviewer's review of another paper into which
      the same flaw was planted; None if fewer than two papers have such a score.
    - *families*: kind of flaw, such as ``omission`` → the mean score on flaws of this kind.
    - *detected*: the share of flaws detected. *true*: the same share for the control that names every flaw.
    - *rate*: the estimated share of flaws that the reviewer names; None if it cannot be estimated.
    """

    metric: str
    title: str
    candidate: str
    control: bool
    papers: int
    score: MeanWithTest
    other: MeanWithTest
    again: MeanWithTest
    specific: MeanWithTest | None
    families: dict[str, MeanWithTest]
    nulls: int
    detected: float | None
    true: float | None
    rate: float | None


class ReviewerWithTooFewPapers(TypedDict):
    title: str
    candidate: str
    control: bool


class FlawResults(TypedDict):
    """The results of a study: see `gre_bench.studies.flaws`.

    A study makes four texts of a paper: with a flaw, with another flaw, as it is, and after a harmless edit. *too_few*:
    reviewers that lack a row for a metric, because fewer than two papers have scores for all four texts.
    *unlike*: metrics whose evaluation LM, writer or texts differ from the board's; only `load_flaw_results` adds them.
    """

    edition: str
    flaws_edition: str
    papers: int
    signatures: dict[str, str]
    alpha: float
    flaws: dict[str, int]
    left_out: dict[str, int]
    not_plantable: list[dict[str, Any]]
    too_few: list[ReviewerWithTooFewPapers]
    rows: list[ReviewerResult]
    unlike: NotRequired[list[str]]


class _StoredTest(BaseModel, strict=True, defer_build=True):
    value: float
    low: float
    high: float


class _StoredRow(BaseModel, strict=True, defer_build=True):
    metric: str
    title: str
    candidate: str
    control: bool
    score: _StoredTest
    rate: float | None


class _StoredResults(BaseModel, strict=True, defer_build=True):
    """The fields of the stored results that boards and pages use, for checking the file."""

    papers: int
    signatures: dict[str, str]
    too_few: list[dict[str, str | bool]]
    rows: list[_StoredRow]


def locate_results_file(store: Store) -> Path:
    return store.folder / RESULTS


def load_flaw_results(store: Store) -> FlawResults | None:
    """Returns the results of the study of planted flaws on *store*'s edition; None if there was no such study.

    Raises `StoreError` if the file is damaged.
    """
    file = locate_results_file(store)
    if not file.is_file():
        return None
    from gre_bench.core.strict import load_json

    try:
        results = load_json(file.read_bytes())
        _StoredResults.model_validate(results)
    except (OSError, ValueError, SourceError):
        raise StoreError(f"{file} is damaged; make it again: gre-bench study flaws --edition {store.key}") from None
    board = {row["metric"]: row["signature_id"] for row in store.read(CURRENT_SIGNATURES)}
    unlike = [metric for metric, own in results["signatures"].items() if board.get(metric, own) != own]
    return results | {"unlike": unlike}


NOT_MEASURED = "correctness: not measured"


def format_correctness_line(results: FlawResults | None) -> str:
    """Returns a line for a board that says, by the first metric, which models' reviews reveal planted flaws."""
    if results is None:
        return NOT_MEASURED
    rows = [row for row in results["rows"] if row["metric"] == results["rows"][0]["metric"]] if results["rows"] else []
    models = [row for row in rows if not row["control"]]
    clear = [f"{row['candidate']} {row['score']['value']:+.2f}" for row in models if row["score"]["low"] > 0]
    if not models:
        few = ", ".join(sorted({row["candidate"] for row in results["too_few"] if not row["control"]}))
        why = f"fewer than two have all scores of {few}" if few else "no model has reviewed them"
        return f"correctness: {results['papers']} papers with planted flaws; {why}"
    who = ", ".join(clear) or "no model"
    warning = f"; {warn_of_flaw_signature_mismatch(unlike)}" if (unlike := results.get("unlike")) else ""
    measured = f"correctness: {results['papers']} papers with planted flaws"
    return f"{measured}, which {who} tells of (nats, 95% above zero){warning}"
