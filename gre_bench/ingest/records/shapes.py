"""Converts the output of known review tools into rows; each entry of `SHAPES` describes the format of one tool.

An entry recognises a record (an object of the file) by its fields alone. It also states which fields hold the paper,
the reviewer and the text. It is an error if a file has records of two forms, or if a record fits two entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.records import HUMAN
from gre_bench.core.replies import parse_rating
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.cells import (
    NOT_IN_A_NAME,
    CellsByHeader,
    ImportResult,
    RefusedError,
    Row,
    Rows,
    is_blank,
    shorten_cell,
)
from gre_bench.ingest.records.columns import CONFIDENTIAL, USUAL, header_letters

IDS = (*USUAL["paper_id"], "slug", "customid")
"""Fields that name the paper of a record, most reliable first; lower-case letters only, as in `header_letters`."""
_PART = re.compile(
    r"summary|strength|weakness|question|limitation|comment|suggestion|pros\b|cons\b|quality,|reproducib|main_?review"
    r"|^review$|review_?text|justification|reasons_to|feedback|negatives|positives|^concerns",
    re.IGNORECASE,
)
_NO_PART = re.compile(r"ethic|code_of_conduct|flag|_id$|_ids$|" + CONFIDENTIAL, re.IGNORECASE)
_NO_TEXT_OF_NOTE = re.compile(r"^(?:title|decision)$|confidence|expertise|experience|first_time|acknowledge", re.I)
_GRADE = re.compile(r"\s*\d+(?:\s*[:.)-]|\s+\w+\s*$|\s*$)")
_WHOLE = ("review", "review_text", "text", "content", "body", "comments")
_RATINGS = ("rating", "overall", "overall_score", "score", "recommendation", "overall_recommendation")
_NESTED = re.compile(r"(?:^|_)review(?P<many>s)?(?:_json|_list)?$", re.IGNORECASE)
_FINAL_REVIEW = re.compile(r"\\boxed_review\{(.*?)\n}", re.DOTALL)
_LABEL_RANKS: dict[str, dict[str, int]] = {
    "correctness": {"not correct": 0, "correct": 1},
    "significance": {"not significant": 0, "marginally significant": 1, "significant": 2, "very significant": 2},
    "evidence": {"requires more": 0, "sufficient": 1},
}
"""Label of PeerReview Bench → the ranks of its values. The two best values of significance share a rank, because the
benchmark's authors merge them."""


@dataclass(frozen=True, slots=True)
class ReviewToolFormat:
    """The form of the records that one review tool, or another source such as OpenReview, writes.

    - *seen*: the version of the tool from which this form was taken.
    - *fits*: whether a record has this form.
    - *rows*: a function that converts a record into rows. *points*: whether each row holds, in the column ``point``,
      a single remark of a review; if not, each row holds a review.
    """

    name: str
    seen: str
    fits: Callable[[Row], bool]
    rows: Callable[[Row], Iterable[Row]]
    points: bool = False


def adapt_tool_records_to_rows(
    file: str, records: Rows, wanted: str, imported: ImportResult
) -> tuple[Rows, ReviewToolFormat | None]:
    """Converts the *records* of the file *file* into rows; returns the rows and the records' shape.

    If the records fit no shape, returns them unchanged, and None. *wanted*: ``review`` or ``point``. If reviews are
    wanted, points are joined into reviews. If a record cannot be used, *imported* lists it as refused. Raises
    `SourceError` for records of two shapes.
    """
    shapes = [shape for shape in SHAPES if wanted == "review" or shape.points]
    first: tuple[int, list[ReviewToolFormat]] | None = None
    for number, record in records:
        fitting = [shape for shape in shapes if shape.fits(record)]
        if len(fitting) > 1:
            names = " and of ".join(shape.name for shape in fitting)
            raise SourceError(f"{file}: row {number} has the form of {names}; write it as columns paper_id and review")
        if first is None:
            first = number, fitting
        elif fitting != first[1]:
            forms = [next((shape.name for shape in kind), "a plain table") for kind in (first[1], fitting)]
            raise SourceError(
                f"{file}: row {number} has the form of {forms[1]}, and row {first[0]} that of {forms[0]}; give each "
                "form a file of its own"
            )
    if first is None or not first[1]:
        return records, None
    (shape,) = first[1]
    rows: Rows = []
    without = 0
    for number, record in records:
        try:
            adapted_rows = list(shape.rows(record))
            rows += [(number, row) for row in adapted_rows]
            without += not adapted_rows
        except (RefusedError, AttributeError, IndexError, KeyError, TypeError) as error:
            reason = error if isinstance(error, RefusedError) else f"its fields are not those of {shape.name}"
            imported.refuse(number, f"review {shorten_cell(_find_first_value(record, IDS))}", reason)
    if without:
        imported.notes.append(f"{file}: {counted(without, 'record')} without a review")
    return (_join_points(rows) if shape.points and wanted == "review" else rows), shape


def _join_points(points: Rows) -> Rows:
    """Returns one row per review in *points*; the text of the review is its points in order."""
    reviews: dict[tuple[Any, ...], tuple[int, Row]] = {}
    for number, row in points:
        key = tuple(str(row.get(name)) for name in ("paper_id", "candidate", "review_id"))
        about = {name: row[name] for name in ("paper_id", "candidate", "review_id") if name in row}
        review = reviews.setdefault(key, (number, about | {"review": ""}))[1]
        review["review"] = "\n\n".join(text for text in (review["review"], row["point"]) if text)
    return list(reviews.values())


def _find_first_value(record: Row, names: Iterable[str]) -> Any:
    """Returns the value of the first of *names* that *record* has; None if it has none of them.

    *names*: lower-case letters only, as `header_letters` returns.
    """
    values = {header_letters(name): value for name, value in record.items()}
    return next((values[name] for name in names if not is_blank(values.get(name))), None)


def _unwrap_content(content: Mapping[str, Any]) -> Row:
    """Returns the fields of a note's *content*, without the ``{"value": ...}`` of OpenReview's API v2."""
    wrapped = {name: cell["value"] for name, cell in content.items() if isinstance(cell, dict) and "value" in cell}
    return {**content, **wrapped}


def _join_review_parts(fields: Row) -> Row:
    """Returns *fields* with the parts of the review joined as ``review``, and with the rating as ``rating``."""
    parts = {name: cell for name, cell in fields.items()
             if _PART.search(name) and not _NO_PART.search(name) and not isinstance(cell, int | float)}  # fmt: skip
    whole = next((name for name in fields if name.lower() in _WHOLE and not is_blank(fields[name])), None)
    sections = {name: cell for name, cell in parts.items() if not is_blank(cell)}
    if whole is not None and whole not in sections and isinstance(fields[whole], str) and sections:
        # The text either contains the parts, and is then the review, or is one more part.
        contains = all(str(cell).strip() in fields[whole] for cell in sections.values())
        sections = {whole: fields[whole]} if contains else sections | {whole: fields[whole]}
        parts |= {whole: fields[whole]}
    row = {name: cell for name, cell in fields.items() if name not in parts and name.lower() not in _RATINGS}
    if len(sections) > 1:
        row["review"] = CellsByHeader(sections)
    elif sections or whole is not None:
        row["review"] = next(iter(sections.values()), None) if sections else row.pop(whole or "")
    ratings = (cell for name, cell in fields.items() if name.lower() in _RATINGS and parse_rating(cell) is not None)
    rating = next(ratings, None)
    return row if rating is None else row | {"rating": rating}


def _build_paper_id_row(record: Row) -> Row:
    """Returns a row with the ``paper_id`` of *record*; an empty row if no field names the paper."""
    paper = _find_first_value(record, IDS)
    return {} if paper is None else {"paper_id": paper}


def _adapt_openaireview(record: Row) -> Iterator[Row]:
    for name, method in record["methods"].items():
        about = {"paper_id": record["slug"], "candidate": NOT_IN_A_NAME.sub("-", name)}
        yield about | {"point": method.get("overall_feedback") or ""}
        for comment in method.get("comments") or ():
            texts = (comment.get(part) for part in ("title", "explanation", "suggestion"))
            yield about | {"point": "\n".join(text for text in texts if text)}


def _adapt_cmu_item(record: Row) -> Iterator[Row]:
    parts = [record.get(name) for name in ("title", "claim_full", "claim", "evidence_full", "evidence")]
    yield _build_paper_id_row(record) | {"point": "\n".join(part for part in parts if part) or record.get("text") or ""}


def _adapt_peerreview_bench(record: Row) -> Iterator[Row]:
    paper, reviewer = record["paper_id"], NOT_IN_A_NAME.sub("-", str(record["reviewer_id"]))
    is_ai = str(record["reviewer_type"]).lower() == "ai"
    labels: Row = {}
    for name, ranks in _LABEL_RANKS.items():
        if not is_blank(record.get(name)):
            if str(record[name]).lower() not in ranks:
                raise RefusedError(f"{name} is {shorten_cell(record[name])}, which is none of {', '.join(ranks)}")
            labels[name] = ranks[str(record[name]).lower()]
    author = {"candidate": reviewer} if is_ai else {"candidate": HUMAN, "review_id": f"{paper}:{reviewer}"}
    yield {"paper_id": paper, **author, "point": record["review_content"] or "", **labels}


def _find_nested_review_columns(record: Row) -> list[str]:
    def holds_nested_reviews(name: str, cell: Any) -> bool:
        match = _NESTED.search(name)
        many = bool(match and (match["many"] or "_json" in name.lower()))
        inner = isinstance(cell, dict) or (isinstance(cell, str) and cell.lstrip()[:2] in ("[{", '{"', "[["))
        inner = inner or (isinstance(cell, list) and any(isinstance(item, dict) for item in cell))
        return bool(match) and (inner or (many and (cell is None or isinstance(cell, list))))

    return [name for name, cell in record.items() if holds_nested_reviews(name, cell)]


def _adapt_nested_reviews(record: Row) -> Iterator[Row]:
    names = _find_nested_review_columns(record)
    if len(names) > 1:
        raise RefusedError(f"it has reviews in {' and '.join(names)}; keep one of these columns")
    cell, about = record[names[0]], _build_paper_id_row(record)
    if isinstance(cell, str):
        try:
            cell = load_json(cell)
        except ValueError as error:
            raise RefusedError(f"{names[0]} is not JSON: {str(error)[:100]}") from None
    author = {name: record[name] for name in ("candidate", "model") if name in record}
    for item in [cell] if isinstance(cell, dict) else cell or ():
        if isinstance(item, list):
            raise RefusedError(f"{names[0]} is a list of lists: {shorten_cell(item)}")
        if not isinstance(item, dict):
            item = {"review": item}
        content = item.get("content")
        fields = _unwrap_content({**item, **content} if isinstance(content, dict) else item)
        fields.pop("content", None) if isinstance(content, dict) else None
        own = {"review_id": fields["id"]} if "id" in fields and about else {}
        inner = {name: value for name, value in fields.items() if header_letters(name) not in IDS or not about}
        yield author | _join_review_parts(inner) | about | own


def _find_deepreviewer_output(record: Row) -> Row | None:
    """Returns the output object of DeepReviewer or CycleReviewer; None if there is none.

    That object is *record* itself, or the value of one of its fields.
    """
    objects = [cell for cell in (record, *record.values()) if isinstance(cell, dict)]
    return next((cell for cell in objects if {"raw_text", "reviews"} <= cell.keys()), None)


def _find_unparsed_deepreviewer_text(record: Row) -> str | None:
    """Returns the text of an unparsed output of DeepReviewer; None if *record* is not one."""
    texts = (cell for cell in record.values() if isinstance(cell, str) and "\\boxed_review{" in cell)
    return next(texts, None)


def _adapt_deepreview(record: Row) -> Iterator[Row]:
    inner, text = _find_deepreviewer_output(record), _find_unparsed_deepreviewer_text(record)
    about = _build_paper_id_row(record)
    if inner is not None:
        meta = inner.get("meta_review")
        final = meta.get("content") if isinstance(meta, dict) else meta
        reviews = [item.get("text") if isinstance(item, dict) else item for item in inner["reviews"]]
        texts = [final] if isinstance(meta, dict) and final else [*reviews, final]
        rating = meta.get("rating") if isinstance(meta, dict) else inner.get("avg_rating")
        review = "\n\n".join(text for text in texts if isinstance(text, str) and text)
        yield about | {"review": review} | ({} if parse_rating(rating) is None else {"rating": rating})
    else:
        final = _FINAL_REVIEW.search(text or "")
        if final is None:
            raise RefusedError("its \\boxed_review has no end; the output was cut")
        yield about | {"review": final[1].strip()}


def _is_openreview_note(record: Row) -> bool:
    return {"forum", "content"} <= record.keys() and bool({"invitation", "invitations"} & record.keys())


def _adapt_openreview_note(record: Row) -> Iterator[Row]:
    invitations = record.get("invitations") or [record.get("invitation")]
    is_review = any(
        str(name).lower().replace("_", " ").endswith(("official review", "/review")) for name in invitations
    )
    if is_review and record.get("ddate") is None:  # OpenReview keeps deleted notes, with their date
        content = _unwrap_content(record["content"])
        texts = {name: cell for name, cell in content.items() if _is_review_text_field(name, cell)}
        given = {name: cell for name, cell in _join_review_parts(content).items() if name == "rating"}
        used = {*texts, *(name for name in content if given and name.lower() in _RATINGS)}
        left = {f"content.{name}": cell for name, cell in content.items() if name not in used and not is_blank(cell)}
        about = {"paper_id": record["forum"], "review_id": record.get("id")}
        review = CellsByHeader(texts) if len(texts) > 1 else next(iter(texts.values()), None)
        yield about | {"review": review} | given | left


def _is_review_text_field(name: str, cell: Any) -> bool:
    """Whether the field *name* of an OpenReview review is text of the review: neither a grade nor confidential."""
    if _NO_PART.search(name) or _NO_TEXT_OF_NOTE.search(name) or not isinstance(cell, str) or is_blank(cell):
        return False
    return bool(_PART.search(name)) or (cell.count(" ") > 1 and not _GRADE.match(cell))


def _join_message_parts(message: Any) -> str:
    """Returns the text of a chat message, which may be a list of parts; leaves out the LM's thinking."""
    if isinstance(message, list):
        return "\n".join(part["text"] for part in message if part.get("type") in ("text", "output_text"))
    return message if isinstance(message, str) else ""


def _is_batch_api_output(record: Row) -> bool:
    answers = [record[name] for name in ("response", "result") if name in record]
    return "custom_id" in record and bool(answers) and all(isinstance(answer, dict | None) for answer in answers)


def _adapt_batch_api_output(record: Row) -> Iterator[Row]:
    answer = record.get("response") or record.get("result") or {}
    body = answer.get("body") or answer.get("message") or {}
    if choices := body.get("choices"):
        if len(choices) != 1:
            raise RefusedError(f"its request has {len(choices)} replies, and a paper takes one review")
        text = _join_message_parts(choices[0].get("message", {}).get("content"))
    elif "output" in body:
        texts = (_join_message_parts(item.get("content")) for item in body["output"] if item.get("type") == "message")
        text = "\n".join(texts)
    else:
        text = _join_message_parts(body.get("content"))
    if not text:
        failure = record.get("error") or answer.get("error") or body.get("error") or answer.get("type") or "no text"
        raise RefusedError(f"its request has no reply: {shorten_cell(failure)}")
    yield {"paper_id": record["custom_id"], "review": text}


def _is_lm_eval_sample(record: Row) -> bool:
    return {"doc_id", "doc"} <= record.keys() and bool({"filtered_resps", "resps"} & record.keys())


def _adapt_lm_eval_sample(record: Row) -> Iterator[Row]:
    texts = record.get("filtered_resps") or record.get("resps") or [""]
    while isinstance(texts, list):
        if len(texts) != 1:
            raise RefusedError(f"its sample has {len(texts)} replies, and a paper takes one review")
        texts = texts[0]
    yield _build_paper_id_row(record["doc"] if isinstance(record["doc"], dict) else {}) | {"review": texts}


SHAPES = (
    ReviewToolFormat(
        "AI-Scientist's reviews", "SakanaAI/AI-Scientist at 9419a3d",
        lambda record: {"Summary", "Strengths", "Weaknesses", "Questions", "Decision"} <= record.keys(),
        lambda record: [_join_review_parts(record)],
    ),
    ReviewToolFormat(
        "OpenAIReview's results", "ChicagoHAI/OpenAIReview at 30e54d1",
        lambda record: "slug" in record and isinstance(record.get("methods"), dict), _adapt_openaireview, points=True,
    ),
    ReviewToolFormat(
        "cmu-paper-reviewer's items", "prometheus-eval/cmu-paper-reviewer at 4e05df3",
        lambda record: "item_number" in record and bool({"claim", "claim_full"} & record.keys()),
        _adapt_cmu_item, points=True,
    ),
    ReviewToolFormat(
        "PeerReview Bench's annotations", "prometheus-eval/cmu-paper-reviewer at 1fb3d87",
        lambda record: {"paper_id", "reviewer_id", "reviewer_type", "review_content"} <= record.keys(),
        _adapt_peerreview_bench, points=True,
    ),
    ReviewToolFormat(
        "DeepReviewer's or CycleReviewer's outputs",
        "zhu-minjun/Researcher, the copy zhihang344/Researcher at edaf94e; hexuandeng/CoCoReviewBench at 4a43129",
        lambda record: (
            _find_deepreviewer_output(record) is not None or _find_unparsed_deepreviewer_text(record) is not None
        ),
        _adapt_deepreview,
    ),
    ReviewToolFormat(
        "OpenReview notes", "API v1 and v2 of openreview-py 2.9", _is_openreview_note, _adapt_openreview_note
    ),
    ReviewToolFormat(
        "a batch API's output", "OpenAI and Anthropic, as documented in 2026",
        _is_batch_api_output, _adapt_batch_api_output,
    ),
    ReviewToolFormat("lm-eval's samples", "lm-evaluation-harness 0.4", _is_lm_eval_sample, _adapt_lm_eval_sample),
    ReviewToolFormat(
        "papers with their reviews", "dumps of OpenReview, and data sets of the Hub; no fixed schema",
        lambda record: bool(_find_nested_review_columns(record)) and _find_deepreviewer_output(record) is None,
        _adapt_nested_reviews,
    ),
)  # fmt: skip
