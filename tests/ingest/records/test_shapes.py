"""What tools of the field write comes in as it is: each known form gives the reviews that it holds, or one line says why not."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import HUMAN, Review
from gre_bench.ingest.records.columns import ColumnOptions, parse_row_filters, parse_stated_columns
from gre_bench.ingest.records.opening import resolve_local_path
from gre_bench.ingest.records.shapes import SHAPES
from gre_bench.ingest.records.tables import read_new_points, read_new_reviews
from tests.ingest.records.test_own_files import write
from tests.one_line import one_line

WEAK = "The comparison of p1 lacks a tuned baseline, and no error bar is given for any of the three tables."
BRIEF = "It sorts leaves by colour."

AI_SCIENTIST = {
    "paper_id": "p1", "Summary": BRIEF, "Strengths": ["Clear.", "Short."], "Weaknesses": [WEAK], "Originality": 2,
    "Questions": ["Why leaves?"], "Limitations": [], "Ethical Concerns": False, "Overall": 4, "Decision": "Reject",
}  # fmt: skip
OPENAIREVIEW = {
    "slug": "p1", "title": "Leaves", "paragraphs": [{"index": 0, "text": "We sort leaves."}],
    "methods": {"progressive__m 1": {
        "label": "L", "model": "m", "overall_feedback": BRIEF,
        "comments": [{"title": "No baseline", "quote": "We sort", "explanation": WEAK, "suggestion": "Add one."}],
    }},
}  # fmt: skip
CMU_ITEMS = [
    {"item_number": 1, "title": "Baseline", "main_point": WEAK, "claim_full": WEAK, "evidence_full": "Table 2.", "text": WEAK},
    {"item_number": 2, "title": "Seeds", "claim": "One seed.", "evidence": "Section 4."},
]  # fmt: skip
ANNOTATION = {
    "paper_id": "p1", "reviewer_id": "m 1", "reviewer_type": "AI", "review_item_number": 1, "review_content": WEAK,
    "correctness": "Correct", "significance": "Marginally Significant", "evidence": None, "annotator_source": "primary",
}  # fmt: skip
DEEP = {"raw_text": "...", "reviews": [{"reviewer_id": 1, "text": BRIEF}], "meta_review": {"content": WEAK, "rating": 5.0},
        "decision": "Reject"}  # fmt: skip
NOTE_1 = {"id": "n1", "forum": "p1", "invitation": "V.cc/2020/Conference/Paper7/-/Official_Review",
          "content": {"title": "Official Blind Review", "review": WEAK, "rating": "6: Weak Accept", "confidence": "3: sure"}}  # fmt: skip
NOTE_2 = {"id": "n1", "forum": "p1", "invitations": ["V.cc/2025/Conference/Submission7/-/Official_Review"],
          "content": {"summary": {"value": BRIEF}, "weaknesses": {"value": WEAK}, "rating": {"value": 6},
                      "flag_for_ethics_review": {"value": ["No"]}}}  # fmt: skip
CHAT = {"custom_id": "task-p1", "error": None, "response": {"status_code": 200, "body": {
    "choices": [{"message": {"role": "assistant", "content": f"<think>hm</think>{WEAK}"}}]}}}  # fmt: skip
RESPONSE = {"custom_id": "p1", "response": {"body": {"output": [
    {"type": "reasoning", "summary": []}, {"type": "message", "content": [{"type": "output_text", "text": WEAK}]}]}}}  # fmt: skip
MESSAGE = {"custom_id": "p1", "result": {"type": "succeeded", "message": {
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": WEAK}]}}}  # fmt: skip
SAMPLE = {
    "doc_id": 0,
    "doc": {"paper_id": "p1", "title": "Leaves"},
    "target": "",
    "resps": [["raw"]],
    "filtered_resps": [WEAK],
}
NESTED = {"id": "p1", "title": "Leaves", "decision": "Reject",
          "reviews": [{"id": "r1", "summary": BRIEF, "weaknesses": WEAK, "rating": "6: weak accept"}]}  # fmt: skip
PARTS = f"summary:\n{BRIEF}\n\nweaknesses:\n{WEAK}"

KNOWN = {
    "AI-Scientist": ([AI_SCIENTIST], 0, f"Summary:\n{BRIEF}\n\nStrengths:\nClear.\nShort.\n\nWeaknesses:\n{WEAK}\n\nQuestions:\nWhy leaves?", 4),
    "OpenAIReview": ([OPENAIREVIEW], 1, f"{BRIEF}\n\nNo baseline\n{WEAK}\nAdd one.", None),
    "PeerReview Bench": ([ANNOTATION, ANNOTATION | {"review_item_number": 2, "review_content": "One seed."}], 3, f"{WEAK}\n\nOne seed.", None),
    "DeepReviewer": ([{"id": "p1", "pred": DEEP}], 4, WEAK, 5),
    "DeepReviewer, not parsed": ([{"id": "p1", "text": f"Thinking.\n\\boxed_review{{\n{WEAK}\n}}\n"}], 4, WEAK, None),
    "CycleReviewer": ([{"id": "p1", "raw_text": "", "reviews": [BRIEF, WEAK], "meta_review": "", "avg_rating": 5}], 4, f"{BRIEF}\n\n{WEAK}", 5),
    "notes v1": ([NOTE_1, NOTE_1 | {"id": "p1", "invitation": "V.cc/2020/Conference/-/Blind_Submission"}], 5, WEAK, 6),
    "notes v2": ([NOTE_2], 5, PARTS, 6),
    "batch, chat": ([CHAT], 6, WEAK, None),
    "batch, responses": ([RESPONSE], 6, WEAK, None),
    "batch, messages": ([MESSAGE], 6, WEAK, None),
    "lm-eval": ([SAMPLE], 7, WEAK, None),
    "nested": ([NESTED], 8, PARTS, 6),
    "nested JSON in a cell": ([{"id": "p1", "reviews_json": json.dumps(NESTED["reviews"])}], 8, PARTS, 6),
    "nested notes": ([{"id": "p1", "reviews": [NOTE_2]}], 8, PARTS, 6),
    "nested texts": ([{"forum": "p1", "reviews": [WEAK]}], 8, WEAK, None),
    "a review as an object": ([{"paper": "p1", "review": NESTED["reviews"][0]}], 8, PARTS, 6),
}  # fmt: skip
"""Name → records, the place of their shape, and the text and the rating of their only review."""


def read(path, by: str | None = "m", columns=(), where=(), guess=False, papers=("p1", "p2"), **how):
    reading = ColumnOptions(parse_stated_columns(columns), guess, parse_row_filters(where))
    imported = read_new_reviews(path, {}, {}, papers, by=by, reading=reading, **how)
    reading.require_all_headers_used()
    return imported


IN_PARQUET = [(name, "parquet") for name in ("AI-Scientist", "nested")]


@pytest.mark.parametrize("guess", [False, True])
@pytest.mark.parametrize(
    ("name", "kind"), [*((name, kind) for name in KNOWN for kind in ("jsonl", "json")), *IN_PARQUET]
)
def test_a_known_form_gives_the_review_that_it_holds_and_says_what_it_was(tmp_path, name, kind, guess):
    records, place, text, rating = KNOWN[name]
    imported = read(write(tmp_path, records, f"rows.{kind}"), guess=guess, only=True)
    assert [(review.paper_id, review.text, review.rating) for review in imported.reviews] == [("p1", text, rating)]
    assert imported.refusals == []
    assert any(note.startswith(f"read as {SHAPES[place].name}") for note in imported.notes)


def test_a_note_gives_all_its_texts_but_no_grade_and_nothing_confidential(tmp_path):
    content = {"summary": BRIEF, "claims_and_evidence": WEAK, "other_strengths": "None.", "soundness": "3 good",
               "rating": "6: weak accept, but not by much", "confidence": "4: I am confident in my assessment",
               "confidential_comments_to_AC": "I know the authors.", "code_of_conduct": "I will adhere to it."}  # fmt: skip
    kept = NOTE_2 | {"content": {name: {"value": text} for name, text in content.items()}}
    imported = read(write(tmp_path, [kept, kept | {"id": "n2", "ddate": 1700000000000}], "rows.jsonl"), by=HUMAN)
    assert [(review.text, review.rating) for review in imported.reviews] == [
        (f"summary:\n{BRIEF}\n\nclaims_and_evidence:\n{WEAK}\n\nother_strengths:\nNone.", 6)
    ]
    left = {"content.soundness", "content.confidence", "content.confidential_comments_to_AC", "content.code_of_conduct"}
    assert set(imported.ignored_columns) == left
    assert any("1 record without a review" in note for note in imported.notes)


@pytest.mark.parametrize("private", ["Confidential comments to the chairs", "note_to_AC", "private remarks"])
def test_a_column_of_confidential_comments_is_named_and_not_read(tmp_path, private):
    rows = [{"paper_id": "p1", "summary": f"{BRIEF} {WEAK}", "weaknesses": WEAK, private: f"I know them. {WEAK}"}]
    imported = read(write(tmp_path, rows, "rows.csv"), guess=True)
    assert "I know them" not in str(imported.reviews[0].text) and private in imported.ignored_columns


def test_the_text_of_a_nested_review_is_kept_beside_its_parts_unless_it_holds_them(tmp_path):
    apart = read(write(tmp_path, [{"id": "p1", "reviews": [{"summary": BRIEF, "text": WEAK}]}], "apart.jsonl"))
    assert [review.text for review in apart.reviews] == [f"summary:\n{BRIEF}\n\ntext:\n{WEAK}"]
    whole = f"{BRIEF}\n\n{WEAK}"
    held = read(write(tmp_path, [{"id": "p1", "reviews": [{"summary": BRIEF, "text": whole}]}], "held.jsonl"))
    assert [review.text for review in held.reviews] == [whole]


@pytest.mark.parametrize("missing", ["nan", "None", "N/A", "NULL", "<NA>"])
def test_what_programs_write_for_a_missing_review_is_no_review(tmp_path, missing):
    imported = read(
        write(tmp_path, [{"paper_id": "p1", "review": missing}, {"paper_id": "p2", "review": WEAK}], "a.csv")
    )
    assert [review.paper_id for review in imported.reviews] == ["p2"]
    assert "empty review" in imported.refusals[0].reason


def test_a_file_of_human_reviews_is_no_models(tmp_path):
    file = write(tmp_path, [{"paper_id": "p1", "candidate": "Human", "review": WEAK}], "theirs.csv")
    with one_line("its column candidate says that the reviews are human", kind=SourceError):
        read(file, only=True)


def test_every_entry_has_a_test_and_says_which_version_was_seen():
    tested = {place for _, place, _, _ in KNOWN.values()}
    assert tested | {2} == set(range(len(SHAPES))), "items of cmu-paper-reviewer are read in folders"
    assert all(shape.seen and sum(other.name == shape.name for other in SHAPES) == 1 for shape in SHAPES)


def test_items_of_a_review_lie_in_the_folder_of_their_paper_and_are_named_by_their_reviewer(tmp_path):
    for paper in ("p1", "p2"):
        (tmp_path / "runs" / paper / "review").mkdir(parents=True)
        write(tmp_path / "runs" / paper / "review", CMU_ITEMS, "review_items_gpt-5.json")
    imported = read(tmp_path / "runs", by=None)
    text = f"Baseline\n{WEAK}\nTable 2.\n\nSeeds\nOne seed.\nSection 4."
    assert [(one.paper_id, one.candidate, one.text) for one in imported.reviews] == [
        (p, "gpt-5", text) for p in ("p1", "p2")
    ]
    assert read(tmp_path / "runs/p1/review/review_items_gpt-5.json").reviews[0].paper_id == "p1"
    write(tmp_path, CMU_ITEMS, "review_items_gpt-5.json")
    with one_line("no field names its paper; name the file, or its folder, by the paper", kind=SourceError):
        read(tmp_path / "review_items_gpt-5.json")


def test_a_folder_has_a_file_for_each_reviewer_and_paper_and_a_file_of_a_paper_needs_no_id(tmp_path):
    for reviewer in ("gpt 5", "claude"):
        (tmp_path / "prism" / reviewer).mkdir(parents=True)
        for paper in ("p1", "p2"):
            (tmp_path / "prism" / reviewer / f"{paper}.md").write_text(f"{WEAK} {reviewer}")
    by = {(one.candidate, one.paper_id): one.text for one in read(tmp_path / "prism", by=None).reviews}
    assert by == {
        (name.replace(" ", "-"), paper): f"{WEAK} {name}" for name in ("gpt 5", "claude") for paper in ("p1", "p2")
    }
    assert {one.text for one in read(tmp_path / "prism", by="claude", only=True).reviews} == {f"{WEAK} claude"}
    with one_line("prism holds reviews of 2 candidates, and none is called m; name one of them", kind=SourceError):
        read(tmp_path / "prism", only=True)
    (tmp_path / "own").mkdir()
    write(tmp_path / "own", [{"summary": BRIEF, "weaknesses": [WEAK]}], "p1.json")
    (tmp_path / "own" / "review.pdf").write_text("%PDF")
    imported = read(tmp_path / "own", guess=True)
    assert [(one.paper_id, one.text) for one in imported.reviews] == [("p1", PARTS)]
    assert "is a PDF" in imported.refusals[0].reason
    (tmp_path / "tables").mkdir()
    for paper in ("p1", "p2"):
        write(tmp_path / "tables", [{"paper_id": paper, "review": WEAK}], f"{paper}-x.csv")
    assert len(read(tmp_path / "tables").reviews) == 2
    write(tmp_path, {"p1": WEAK, "P2.pdf": [{"weaknesses": WEAK}]}, "by_paper.json")
    assert {one.paper_id for one in read(write(tmp_path, {"p1": WEAK, "P2.pdf": BRIEF}, "by_paper.json")).reviews} == {
        "p1",
        "p2",
    }


BOTH = SAMPLE | CHAT
BAD = {
    "a form that fits two entries": ([BOTH], "row 1 has the form of a batch API's output and of lm-eval's samples"),
    "rows of two forms": ([CHAT, SAMPLE], "row 2 has the form of lm-eval's samples, and row 1 that of a batch API's output"),
    "rows of a form and others": ([CHAT, {"paper_id": "p1", "review": WEAK}], "row 2 has the form of a plain table, and row 1"),
}  # fmt: skip
REFUSED = {
    "a list of lists": ({"id": "p1", "reviews": [{"review": WEAK}, [WEAK]]}, "reviews is a list of lists"),
    "a nested cell that is no JSON": ({"id": "p1", "reviews_json": "[{'review': 'x'}]"}, "reviews_json is not JSON"),
    "two nested cells": ({"id": "p1", "reviews": [{"review": "x"}], "ai_reviews": [{"review": "y"}]}, "it has reviews in reviews and ai_reviews"),
    "thinking alone": ({"id": "p1", "reviews": ["<think>Only this.</think>"]}, "review is thinking alone"),
    "a request that failed": ({"custom_id": "p1", "response": None, "error": {"code": "expired"}}, "its request has no reply"),
    "fields of another type": ({"slug": "p1", "methods": {"m": "none"}}, "its fields are not those of OpenAIReview's results"),
    "two replies": (SAMPLE | {"filtered_resps": ["a", "b"]}, "its sample has 2 replies, and a paper takes one review"),
    "several choices": (
        {"custom_id": "p1", "response": {"body": {"choices": [{"message": {"content": WEAK}}] * 2}}},
        "its request has 2 replies, and a paper takes one review",
    ),
    "an output that was cut": ({"id": "p1", "text": "\\boxed_review{\nIt is"}, "the output was cut"),
    "a label that nobody knows": (ANNOTATION | {"correctness": "Perhaps"}, "correctness is Perhaps, which is none of not correct"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_file_of_mixed_or_unclear_forms_is_one_line(tmp_path, name):
    records, line = BAD[name]
    with one_line(line, kind=SourceError):
        read(write(tmp_path, records))
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, record in enumerate(records):
        write(folder, [record], f"{number}.json")
    with one_line("the form of", kind=SourceError) if len(records) > 1 else pytest.raises(SourceError):
        read(folder)


@pytest.mark.parametrize("name", REFUSED)
def test_a_record_that_holds_no_review_is_refused_with_its_reason(tmp_path, name):
    record, reason = REFUSED[name]
    imported = read(write(tmp_path, [record]))
    assert imported.reviews == [] and [reason in refusal.reason for refusal in imported.refusals] == [True]


def test_annotated_items_are_points_with_labels_and_a_number_of_an_item_is_no_label(tmp_path):
    rows = [
        ANNOTATION,
        ANNOTATION | {"review_item_number": 2, "review_content": "One seed.", "correctness": "Not Correct"},
    ]
    path, reviews = write(tmp_path, rows), {"h": Review("p1:h", "p1", "human", "x")}
    points, imported = read_new_points(path, {}, reviews, {"p1"}, {})
    assert [(point.candidate, dict(point.labels)) for point in points] == [
        ("m-1", {"correctness": 1, "significance": 1}), ("m-1", {"correctness": 0, "significance": 1}),
    ]  # fmt: skip
    plain = [{"paper_id": "p1", "candidate": "m", "point": WEAK, "review_item_number": 7, "Point #": 7, "sound": 1}]
    points, imported = read_new_points(write(tmp_path, plain), {}, reviews, {"p1"}, {})
    assert dict(points[0].labels) == {"sound": 1}
    assert imported.ignored_columns == ("Point #", "review_item_number")


MIXED = [
    {"paper_id": p, "reviewer_type": kind, "review": f"{WEAK} {kind}"} for p in ("p1", "p2") for kind in ("Human", "ai")
]


def test_rows_of_ai_reviewers_are_never_taken_for_human_ones_and_where_chooses_rows(tmp_path):
    path = write(tmp_path, [row | {"slot": 1} for row in MIXED], "rows.csv")
    with one_line(
        "column reviewer_type (Human 2, ai 2); choose these with --where reviewer_type=Human", kind=SourceError
    ):
        read(path, by="human")
    imported = read(path, by="human", where=["Reviewer_Type=human"])
    assert [one.text for one in imported.reviews] == [f"{WEAK} Human"] * 2
    assert imported.row_counts == "4 rows: 2 used · 2 not chosen"
    both = read(path, by="human", columns=["candidate=reviewer_type"])
    assert sorted(one.candidate for one in both.reviews) == ["ai", "ai", "human", "human"]
    with pytest.raises(
        SettingsError, match="--where reviewer_type=.robot.: no row of rows.csv has that; its values: Human, ai"
    ):
        read(path, where=["reviewer_type=robot"])
    with pytest.raises(SettingsError, match="--where kind=.ai.: no file here has a column of that name"):
        read(path, where=["kind=ai"])
    with pytest.raises(SettingsError, match="--where kind: write COLUMN=VALUE"):
        parse_row_filters(["kind"])


def test_one_line_says_what_became_of_every_row(tmp_path):
    rows = [{"paper_id": "p1", "review": WEAK}, {"paper_id": "p2", "review": " "}, {"paper_id": "", "review": None},
            {"paper_id": "p9", "review": WEAK}, {"paper_id": "p1", "review": BRIEF}]  # fmt: skip
    for name in ("rows.jsonl", "rows.csv"):
        imported = read(write(tmp_path, rows, name))
        assert imported.row_counts == (
            "5 rows: 1 used · 1 blank · row 2 empty (p2) · row 4 unknown paper p9 · row 5 second review of p1, first kept"
        )
        assert imported.added + imported.unchanged + imported.empty + len(imported.refusals) == 5
    many = [{"paper_id": f"q{number}", "review": WEAK} for number in range(9)]
    assert read(write(tmp_path, many)).row_counts.endswith("row 5 unknown paper q4 · 4 more refused")
    assert read(write(tmp_path, rows[:1])).row_counts == ""


def sheet(path: Path, change) -> Path:
    book = openpyxl.Workbook()
    for row in (("paper_id", "review"), ("p1", WEAK), (None, None), ("p2", BRIEF)):
        book.active.append(row)
    change(book)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda book: book.active.merge_cells("A2:A4"), "x.xlsx: cells A2:A4 are merged; unmerge them"),
        (lambda book: book.active.__setitem__("B4", "=B2"), "x.xlsx: cell B4 is a formula; put its value there"),
        (lambda book: book.active.__setitem__("B4", "#REF!"), "x.xlsx: cell B4 is the error #REF!"),
        (lambda book: book.create_sheet("More").append(("a",)), "x.xlsx has rows in 2 sheets (Sheet, More); keep one"),
        (lambda book: book.active.__setitem__("C1", "review"), "x.xlsx: two columns have the same name"),
    ],
)
def test_a_spreadsheet_that_holds_more_than_values_is_one_line(tmp_path, change, line):
    with one_line(line, kind=SourceError):
        read(sheet(tmp_path / "x.xlsx", change))


def test_a_spreadsheet_is_a_table_and_its_blank_rows_are_counted(tmp_path):
    imported = read(sheet(tmp_path / "x.xlsx", lambda book: book.create_sheet("Empty")))
    assert [one.text for one in imported.reviews] == [WEAK, BRIEF] and imported.row_counts == "3 rows: 2 used · 1 blank"


def test_a_file_of_the_hub_is_fetched_and_what_cannot_be_had_is_one_line(tmp_path, monkeypatch):
    import huggingface_hub

    path = write(tmp_path, [{"paper_id": "p1", "review": WEAK}])
    asked = []

    def fetched(repository, name, **how):
        asked.append((repository, name, how["revision"]))
        if name == "gone.csv":
            raise OSError("404 Client Error.\n\nEntry Not Found")
        return str(path)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetched)
    assert resolve_local_path(Path("hf://datasets/lab/set@v1/data/rows.jsonl")) == path
    assert resolve_local_path(path) == path
    with one_line("hf://datasets/lab/set: gone.csv cannot be fetched: 404 Client Error.", kind=SourceError):
        resolve_local_path(Path("hf://datasets/lab/set/gone.csv"))
    assert asked == [("lab/set", "data/rows.jsonl", "v1"), ("lab/set", "gone.csv", None)]
    with one_line("write hf://datasets/OWNER/NAME/PATH", kind=SourceError):
        resolve_local_path(Path("hf://lab/set"))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with one_line("huggingface_hub is not installed: pip install huggingface_hub", kind=SourceError):
        resolve_local_path(Path("hf://datasets/lab/set/rows.jsonl"))


def test_a_data_frame_written_with_lists_as_python_prints_them_is_read_as_lists(tmp_path):
    pd.DataFrame([{"paper_id": "p1", "review": ["It's short.", 'A "b".']}]).to_csv(tmp_path / "rows.csv", index=False)
    assert read(tmp_path / "rows.csv").reviews[0].text == 'It\'s short.\nA "b".'
    for text in ("[1] is not cited.", "['a' is no list", '["a", 1]', "['a'] and ['b']"):
        assert read(write(tmp_path, [{"paper_id": "p1", "review": text}])).reviews[0].text == text
