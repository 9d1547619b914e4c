"""The public API: scores one review against another, returns boards as data frames, and ranks your own reviews.

Import it as ``gre_bench``. Every error is a `gre_bench.core.errors.GreBenchError` whose text is one line.
"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core import settings as configuration
from gre_bench.core.errors import GreBenchError, LMError, SettingsError, SpanError, UnfinishedError
from gre_bench.core.judgments import has_judgments
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.pretrained import is_model_name, load_pretrained_models
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.lm import opening
from gre_bench.lm.opening import Pieces, find_reply_splitter
from gre_bench.lm.protocol import EvaluationLM, compute_checked_span_logprobs
from gre_bench.reports.board_pictures import draw_board_svg
from gre_bench.reports.board_rows import (
    load_candidate,
    read_paper_leads,
    read_release_boards,
    read_release_pairs,
    release_folder,
)
from gre_bench.reports.signatures import headline_signature, resolve_candidate, shown_signatures
from gre_bench.store import Row, Store, missing_edition_error
from gre_bench.store.queries import CANDIDATE_PAIRS, KNOWN_CANDIDATES, LEADERBOARD
from gre_bench.writing.rules.judgments import write_rule_judgments

if TYPE_CHECKING:
    import pandas

Text = str | Sequence[str]
"""Judgments: one text, or its lines."""
FRAME = "reviews.parquet"
IN_PYTHON = {
    FRAME: "the data frame",
    "with --replace": "with replace=True",
    "with --partial": "with partial=True",
    "another name with --as": "another name",
    "--state FOLDER": "state=FOLDER",
    "--where ": "where ",
}
"""Words about the command line in an error message → the words that replace them for users of Python."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a candidate's judgments against a reference's judgments (Xu et al. 2025, §3).

    Attributes:
        nats: the pointwise mutual information (PMI) of the two texts, in nats.
        tokens: the text of each of the reference's n tokens, end of turn included. None if the evaluation LM's
            tokenizer is not available.
        conditional: the log-probability of each of the n tokens given the candidate's judgments, in nats.
        marginal: the log-probability of each of the n tokens without the candidate's judgments, in nats.
    """

    nats: float
    tokens: tuple[str, ...] | None = field(repr=False)
    conditional: tuple[float, ...] = field(repr=False)
    marginal: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenedLM:
    """An open evaluation LM, for `score`.

    Attributes:
        lm: the evaluation LM.
        pieces: a function that splits a text into the texts of its tokens. None if the LM's tokenizer is not available.
    """

    lm: EvaluationLM
    pieces: Pieces | None

    @property
    def identity(self) -> LMIdentity:
        return self.lm.identity


@contextmanager
def _reword_errors_for_python() -> Iterator[None]:
    try:
        yield
    except GreBenchError as error:
        line = str(error)
        for words, ours in IN_PYTHON.items():
            line = line.replace(words, ours)
        columns: dict[str, list[str]] = {}
        for name, header in re.findall(r'--columns (\w+)="([^"]*)"', line):
            columns.setdefault(name, []).append(header)
        line = re.sub(r'--columns \w+="[^"]*"(?: --columns \w+="[^"]*")*', lambda _: f"columns={columns}", line)
        error.args = (line, *error.args[1:])
        raise


def open_lm(name: str | Path = "cache-ngram", **settings: Any) -> OpenedLM:
    """Opens an evaluation LM.

    Args:
        name: a backend such as ``cache-ngram``, a pretrained model, or the folder of a model.
        settings: settings of the group ``evaluation_lm``, such as ``dtype="bfloat16"`` or ``device="cuda"``.

    Returns:
        The open LM, for `score`.

    Raises:
        LMError: *name* is unknown, or the model cannot be used.
        SettingsError: a setting is unknown or invalid.
    """
    if not isinstance(name, str | Path) or not str(name).strip():
        raise SettingsError(f"an evaluation LM is a name or a folder, not {name!r}; {_suggest_known_lms(str(name))}")
    is_backend = str(name) in opening.BACKENDS
    if not is_backend and not is_model_name(Path(name)) and not Path(name).is_dir():
        raise LMError(f"no evaluation LM {name}, and no such folder; {_suggest_known_lms(str(name))}")
    tree = {"backend": str(name)} if is_backend else {"backend": "transformers", "folder": str(name)}
    chosen = configuration.parse_settings({"evaluation_lm": tree | settings}, "open_lm").evaluation_lm
    return OpenedLM(opening.open_lm(chosen), find_reply_splitter(chosen))


def judgments(review: str) -> list[str]:
    """Returns the judgments in a review. Rules extract them, without an LM.

    Args:
        review: the text of a review.

    Returns:
        One text per judgment, in the review's order; empty if the review contains no judgment.

    Raises:
        SettingsError: *review* is not a string, for example because a cell of a data frame is empty.
    """
    if not isinstance(review, str):
        raise SettingsError(f"a review is a text, not {type(review).__name__}")
    return write_rule_judgments(review).splitlines()


def score(lm: OpenedLM, candidate: Text, reference: Text, synopsis: str | None = None) -> Score:
    """Returns the GEM score of a candidate's judgments against a reference's judgments.

    Warns if either text has no line in the form of a judgment. Only judgments should be compared, because raw reviews
    share style as well as content.

    Args:
        lm: the evaluation LM that `open_lm` returned.
        candidate: the judgments to score: one text, or a list of lines.
        reference: the judgments to compare with, in the same form.
        synopsis: a synopsis of the paper. If it is given, the score is GEM-S.

    Returns:
        The score in nats, with the log-probabilities of the reference's tokens.

    Raises:
        SettingsError: a text is blank, or an argument has another type.
        SpanError: the LM cannot score a text, such as one that is too long.
    """
    if not isinstance(lm, OpenedLM):
        raise SettingsError(f"the evaluation LM is what open_lm returns, not {type(lm).__name__}")
    x, y = _join_judgments("candidate", candidate), _join_judgments("reference", reference)
    spans: list[SpanLogprob] = []
    for span in compute_checked_span_logprobs(lm.lm, [Prediction(x, synopsis, y), Prediction(None, synopsis, y)]):
        if isinstance(span, SpanError):
            raise span
        spans.append(span)
    conditional, marginal = spans
    tokens = lm.pieces(y, conditional.ids) if lm.pieces else None
    return Score(
        nats=conditional.total - marginal.total,
        tokens=tuple(tokens) if tokens else None,
        conditional=conditional.logprobs,
        marginal=marginal.logprobs,
    )


SHOWN = (
    "metric", "rank", "rank_low", "rank_high", "candidate", "kind", "group_name", "score", "low", "high", "vs_human",
    "vs_human_low", "vs_human_high", "p", "above_chance", "above_chance_low", "above_chance_high", "papers", "unranked",
    "validation",
)  # fmt: skip
"""The columns of a board without details."""


@_reword_errors_for_python()
def leaderboard(
    edition: str | Path, metric: str | None = None, state: str | Path = "state", *, details: bool = False
) -> pandas.DataFrame:
    """Returns the board of an edition or of a release.

    In a notebook, the frame is shown with a chart of the scores.

    Args:
        edition: the name of an edition in the folder *state*, the name of a release, or the folder of a release.
        metric: the only metric to return; None means all.
        state: the folder that holds the edition.
        details: whether to return all columns of the view ``leaderboard``.

    Returns:
        One row per metric and candidate: validated metrics first, and within a metric the best candidate first.
        Scores, differences and intervals are in the metric's unit, such as nats for GEM. Intervals are 90% intervals.

    Raises:
        SettingsError: there is no such edition, release or metric.
        SourceError: the release was altered.
    """
    if (folder := release_folder(str(edition), Path(state))) is not None:
        rows = read_release_boards(folder, metric)
    else:
        store = _open_existing_store(edition, state)
        ids = [row["signature_id"] for row in shown_signatures(store, [metric] if metric else None)]
        rows = store.read(LEADERBOARD, signature_ids=ids)
    frame = _make_board_frame_class()(_rows_to_frame(rows))
    return frame if details or frame.empty else frame.filter(SHOWN)


@_reword_errors_for_python()
def pairs(
    edition: str | Path, metric: str, candidate: str | None = None, state: str | Path = "state"
) -> pandas.DataFrame:
    """Returns a metric's planned pairs. A pair is a candidate and a reference review of one paper.

    Args:
        edition: as in `leaderboard`.
        metric: the metric.
        candidate: the candidate whose pairs are returned; None means all candidates.
        state: as in `leaderboard`.

    Returns:
        One row per pair, with ``candidate``, ``paper_id``, ``reference_id``, ``state``, ``score`` and ``reason``. The
        state is ``scored``, ``failed``, ``excluded`` or ``missing``. The score is in the metric's unit. If there is no
        score, ``reason`` states why.

    Raises:
        SettingsError: there is no such edition, release, metric or candidate.
        SourceError: the release was altered.
    """
    if (folder := release_folder(str(edition), Path(state))) is not None:
        rows = read_release_pairs(folder, metric, candidate)
    else:
        store = _open_existing_store(edition, state)
        (signature,) = shown_signatures(store, [metric])
        known = [row["candidate"] for row in store.read(KNOWN_CANDIDATES)]
        names = [resolve_candidate(store, candidate)] if candidate else known
        rows = store.read(CANDIDATE_PAIRS, signature_id=signature["signature_id"], candidates=names)
    return _rows_to_frame(rows).drop(columns="unit").rename(columns={"candidate_id": "candidate", "value": "score"})


@_reword_errors_for_python()
def why(edition: str, candidate: str, metric: str | None = None, state: str | Path = "state") -> pandas.DataFrame:
    """Returns the scores of a candidate by paper, with the largest lead over the human baseline first.

    Args:
        edition: the name of an edition in the folder *state*.
        candidate: the candidate; the end of its name is enough.
        metric: the metric; None means the headline metric.
        state: the folder that holds the edition.

    Returns:
        One row per paper, with ``paper_id``, ``score``, ``human`` and ``lead``, in the metric's unit. The score is the
        mean over the paper's references. ``human`` (the human baseline's score) and ``lead`` are means over the
        references against which both the candidate and the baseline are scored.

    Raises:
        SettingsError: there is no such edition, metric or candidate.
    """
    store = _open_existing_store(edition, state)
    signature = headline_signature(store) if metric is None else shown_signatures(store, [metric])[0]
    rows = read_paper_leads(store, signature["signature_id"], resolve_candidate(store, candidate))
    return _rows_to_frame(rows).rename(columns={"mean": "score"})


@_reword_errors_for_python()
def compare(
    first: str, second: str, edition: str, metric: str | None = None, state: str | Path = "state"
) -> pandas.DataFrame:
    """Compares two candidates of an edition, paired by paper.

    Args:
        first: a candidate; the end of its name is enough.
        second: the candidate to compare it with.
        edition: the name of an edition in the folder *state*.
        metric: the only metric to return; None means all.
        state: the folder that holds the edition.

    Returns:
        One row per metric. ``difference`` is the mean score of *first* minus the mean score of *second*. ``low`` and
        ``high`` are the bounds of its 90% interval. All three are in the metric's unit. ``p`` is not corrected for
        multiple tests; use it for a single comparison that was chosen beforehand. ``p_board`` is corrected for all
        tests of the board; it is None unless the board ranks both candidates together. ``validated`` says whether the
        metric was validated and may rank candidates.

    Raises:
        SettingsError: there is no such edition or metric, or *first* and *second* are not two different candidates.
    """
    from gre_bench.reports.contrasts import compare_candidates

    _open_existing_store(edition, state)
    report = compare_candidates(Path(state), edition, [first, second], [metric] if metric else None)
    names = ("metric", "validated", "difference", "low", "high", "p", "papers", "won", "lost", "problem")
    return _rows_to_frame(
        [
            {name: row.get(name) for name in names} | {"p_board": row["board"] and row["board"]["p_holm"]}
            for row in report["candidates"]
        ]
    )


@_reword_errors_for_python()
def remove(edition: str, candidate: str, state: str | Path = "state") -> dict[str, int]:
    """Removes a candidate from an edition, with its reviews, judgments and scores.

    Published releases do not change.

    Args:
        edition: the name of an edition in the folder *state*.
        candidate: the candidate; the end of its name is enough.
        state: the folder that holds the edition.

    Returns:
        The numbers of removed reviews, judgments and scores.

    Raises:
        SettingsError: *candidate* is the human baseline, a control, or unknown.
    """
    from gre_bench.pipeline.own_reviews import find_candidate
    from gre_bench.pipeline.own_reviews import remove_candidate as remove_from
    from gre_bench.pipeline.runs.job import read_last_settings

    store = _open_existing_store(edition, state)
    name = find_candidate(store, candidate)["candidate"]
    report = remove_from(store, read_last_settings(store), Path(state).resolve(), name)
    return {name: report[name] for name in ("reviews", "judgments", "scores")}


@_reword_errors_for_python()
def publish(
    edition: str, state: str | Path = "state", out: str | Path | None = None, *, scores_only: bool = False
) -> Path:
    """Publishes an edition as a numbered release.

    A text is included only if its licence allows redistribution, or if it is the title of one of your own papers.

    Args:
        edition: the name of an edition in the folder *state*.
        state: the folder that holds the edition.
        out: the folder for releases; None means the folder ``releases`` in *state*.
        scores_only: whether to leave out texts and the log-probabilities of tokens.

    Returns:
        The folder of the new release, or of the latest release if nothing has changed since then.

    Raises:
        SettingsError: there is no such edition.
    """
    from gre_bench.release.release_store import ReleaseStore
    from gre_bench.reports.publish_editions import publish_edition

    store = _open_existing_store(edition, state)
    releases = ReleaseStore(Path(out) if out else Path(state) / "releases", store.key)
    return publish_edition(store, releases, scores_only=scores_only).folder


@_reword_errors_for_python()
def rank(
    reviews: str | Path | pandas.DataFrame,
    on: str,
    name: str,
    *,
    replace: bool = False,
    partial: bool = False,
    licence: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    state: str | Path = "state",
) -> pandas.DataFrame:
    """Imports a candidate's reviews into an edition, scores them, and returns the candidate's results.

    Args:
        reviews: a file or folder in a form that ``gre-bench rank`` reads, or a data frame with the columns ``paper_id``
            and ``review``.
        on: the name of an edition in the folder *state*; the edition must have a board.
        name: the candidate's name.
        replace: whether to replace all reviews that the candidate already has in the edition.
        partial: whether to skip unusable rows; if False, an unusable row raises an error and nothing is stored.
        licence: the licence of the reviews, such as CC BY 4.0. None means that it is unknown, so releases withhold the
            reviews.
        columns: field → its column or columns, such as ``{"review": ["Summary", "Weaknesses"]}``. The columns of other
            fields are found by their headers and contents.
        where: column → the value or values that a row must have there to be used.
        state: the folder that holds the edition.

    Returns:
        One row per metric, with the columns of `leaderboard` and the column ``of``: the number of ranked candidates.

    Raises:
        SettingsError: the reviews or an argument cannot be used.
        SourceError: the reviews cannot be read.
        UnfinishedError: some pairs are not scored yet.
    """
    from gre_bench.ingest.records.columns import ColumnOptions, parse_row_filters
    from gre_bench.ingest.records.columns import parse_stated_columns as stated_columns
    from gre_bench.pipeline.importing import parse_licence
    from gre_bench.pipeline.own_reviews import import_candidate
    from gre_bench.pipeline.refreshing import check_job_and_name_candidates, refresh
    from gre_bench.pipeline.runs.job import Job, read_last_settings

    store = _open_existing_store(on, state)
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        if not isinstance(reviews, str | Path):
            if not hasattr(reviews, "to_parquet"):
                raise SettingsError(f"reviews are a file, a folder or a data frame, not {type(reviews).__name__}")
            file = Path(folder) / FRAME
            reviews.to_parquet(file)
            reviews = file
        job = check_job_and_name_candidates(Job(read_last_settings(store), Path(state).resolve(), texts_first=True))
        stated = parse_licence(licence)
        reading = ColumnOptions(
            stated_columns(_format_options(columns)), guess=True, where=parse_row_filters(_format_options(where))
        )
        job, _ = import_candidate(store, job, Path(reviews), name, None, replace, stated, reading, partial)
    summary = refresh(job)
    if summary["outcome"] != "done":
        raise UnfinishedError(f"{on}: {summary['outcome']}: {summary['message']}")
    return _rows_to_frame(load_candidate(store, name)["rows"]).filter([*SHOWN, "of"])


def _format_options(options: Mapping[str, str | Sequence[str]] | None) -> list[str]:
    """Returns *options* in the form of the command line: a list of ``NAME=VALUE``."""
    listed = {name: [given] if isinstance(given, str) else given for name, given in (options or {}).items()}
    return [f"{name}={value}" for name, values in listed.items() for value in values]


def _suggest_known_lms(name: str) -> str:
    own = [known for known in opening.BACKENDS if known not in ("transformers", "vllm")]
    return suggest_known_names(
        name, [*own, *(known for known, entry in load_pretrained_models().items() if entry.kind == "lm")]
    )


def _join_judgments(title: str, given: Text) -> str:
    lines = [given] if isinstance(given, str) else given
    if not isinstance(lines, Sequence) or not all(isinstance(line, str) for line in lines):
        raise SettingsError(f"the {title}'s judgments are one text or a list of texts, not {type(given).__name__}")
    text = "\n".join(lines)
    if not text.strip():
        raise SettingsError(f"the {title}'s judgments are blank: there is nothing to score")
    if not has_judgments(text, "as_written"):
        warnings.warn(f"the {title} holds no judgment; make them with gre_bench.judgments(review)", stacklevel=3)
    return text


def _open_existing_store(name: str | Path, state: str | Path) -> Store:
    store = Store(Path(state), str(name))
    if not store.exists:
        raise missing_edition_error(Path(state), store.key)
    return store


@cache
def _make_board_frame_class() -> type[pandas.DataFrame]:
    """Returns a data frame class that shows a chart of the first metric above the table in a notebook."""
    import pandas

    class BoardFrame(pandas.DataFrame):
        @property
        def _constructor(self) -> type[pandas.DataFrame]:
            return BoardFrame

        def _repr_html_(self) -> str | None:
            return str(_draw_board_svg(self)) + (super()._repr_html_() or "")  # pyrefly: ignore

    return BoardFrame


def _draw_board_svg(board: pandas.DataFrame) -> str:
    """Returns a chart of the first metric's scores and intervals on *board* as SVG; "" for fewer than two scores."""
    if not {"metric", "candidate", "kind", "score", "low", "high"} <= {*board.columns} or board.empty:
        return ""
    records: list[Any] = board.to_dict("records")
    metric = records[0]["metric"]
    rows = [row | {name: _nan_to_none(row[name]) for name in ("score", "low", "high")} for row in records]
    return draw_board_svg([row for row in rows if row["metric"] == metric], metric)


def _nan_to_none(given: float | None) -> float | None:
    return None if given is None or math.isnan(given) else float(given)


def _rows_to_frame(rows: Sequence[Row]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(list(rows))
