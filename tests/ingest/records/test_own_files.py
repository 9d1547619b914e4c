"""Files as other programs write them: every word of a review that a file holds is stored, or its row is refused by name."""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Review
from gre_bench.ingest.datasets.graded import read_graded_reviews
from gre_bench.ingest.records import row_files
from gre_bench.ingest.records.columns import ColumnOptions, parse_stated_columns
from gre_bench.ingest.records.isolated import replace_non_json
from gre_bench.ingest.records.tables import read_new_papers, read_new_points, read_new_reviews
from tests.one_line import one_line

LONG = "The comparison lacks strong recent baselines, and the ablation study of the second module is missing."
PARTS = ("Summary", "Strengths", "Weaknesses")


def write(folder, rows, name="rows.jsonl"):
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name.endswith(".json"):
        path.write_text(json.dumps(rows))
    elif name.endswith(".parquet"):
        pd.DataFrame(rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
    return path


def read(path, columns=(), guess=True, papers=("p1", "p2"), by="m", **how):
    return read_new_reviews(
        path, {}, {}, papers, by=by, reading=ColumnOptions(parse_stated_columns(columns), guess), **how
    )


def said(imported):
    return [(refusal.number, refusal.reason) for refusal in imported.refusals]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.parquet"])
def test_a_cell_that_is_a_list_is_its_items_one_a_line_in_every_part_of_a_review(tmp_path, name):
    rows = [{"paper_id": paper, "Summary": LONG, "Strengths": ["Clear.", "Sound."], "Weaknesses": [LONG, f"{paper}."],
             "Limitations": ["Two tasks."], "Overall": 6, "Decision": "Accept"} for paper in ("p1", "p2")]  # fmt: skip
    whole = f"Summary:\n{LONG}\n\nStrengths:\nClear.\nSound.\n\nWeaknesses:\n{LONG}\np1.\n\nLimitations:\nTwo tasks."
    found = read(write(tmp_path, rows, name))
    assert (found.reviews[0].text, found.reviews[0].rating, found.refusals) == (whole, 6.0, [])
    assert found.ignored_columns == ("Decision",)
    columns = [f"review={part}" for part in (*PARTS, "Limitations")]
    assert read(write(tmp_path, rows, name), columns).reviews == found.reviews
    lists = [{"paper_id": "p1", "review": [LONG, "Second."], "title": ["A", "B"]}]
    assert read(write(tmp_path, lists, name)).reviews[0].text == f"{LONG}\nSecond."
    assert read_new_papers(write(tmp_path, lists, name), {}).papers[0].title == "A\nB"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (3, "3"), (2.5, "2.5"), (True, "true"), (["a", None, "", "b"], "a\nb"),
        (None, None), ("", None), (" ", None), ([], None), ([""], None), ([None], None), (float("nan"), None),
    ],
)  # fmt: skip
def test_a_chosen_column_of_numbers_is_stored_under_its_header_and_a_blank_one_has_none(tmp_path, cell, text):
    rows = [{"paper_id": "p1", "Summary": "One.", "Soundness": cell}]
    (review,) = read(write(tmp_path, rows), ["review=Summary", "review=Soundness"]).reviews
    assert review.text == "Summary:\nOne." + (f"\n\nSoundness:\n{text}" if text else "")


@pytest.mark.parametrize("cell", [{"a": "b"}, [{"a": "b"}], [["a"], "b"], ["a", 1], {}, "\ud800", ["\ud800"]])
def test_a_row_with_an_object_or_a_nested_list_in_a_chosen_column_is_refused_by_name(tmp_path, cell):
    rows = [{"paper_id": "p1", "Summary": "One.", "Points": cell}, {"paper_id": "p2", "Summary": "One.", "Points": "b"}]
    found = read(write(tmp_path, rows), ["review=Summary", "review=Points"])
    assert [review.paper_id for review in found.reviews] == ["p2"]
    ((number, reason),) = said(found)
    assert number == 1 and reason.startswith("Points is not ")
    found = read(write(tmp_path, rows), ["review=Points"])
    assert [review.paper_id for review in found.reviews] == ["p2"]
    assert said(found)[0][1].startswith("review is not ")


@pytest.mark.parametrize("name", ["review", "Weaknesses", "outputs"])
def test_a_cell_of_bytes_is_its_text_in_utf_8_or_its_row_is_refused(tmp_path, name):
    rows = [{"paper_id": "p1", name: f"é {LONG} {LONG}".encode()}, {"paper_id": "p2", name: b"\xff" + LONG.encode()}]
    found = read(write(tmp_path, rows, "rows.parquet"), [] if name.startswith("review") else [f"review={name}"])
    assert [(review.paper_id, review.text) for review in found.reviews] == [("p1", f"é {LONG} {LONG}")]
    ((number, reason),) = said(found)
    assert number == 2 and "bytes" in reason


def test_decimals_and_uuids_are_numbers_and_ids_and_another_type_is_none():
    identity = UUID(int=7)
    cells = [Decimal("6"), Decimal("6.5"), Decimal("NaN"), identity, timedelta(1), {1}]
    found = json.loads(json.dumps(cells, default=replace_non_json))
    assert found[:2] == [6, 6.5] and isinstance(found[0], int) and found[2] != found[2]
    assert found[3:] == [str(identity), [["timedelta"]], [["set"]]]


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
@pytest.mark.parametrize("by", ["human", "m"])
@pytest.mark.parametrize("ids", [("p1", "p2"), ("paper1", "paper2"), ("1", "2")])
def test_a_table_without_a_row_of_column_names_is_one_line_and_loses_no_row(tmp_path, name, by, ids):
    first, second = ids
    path = write(tmp_path, [{first: second, LONG: LONG}, {first: first, LONG: f"{LONG} Again."}], name)
    with one_line(f"its first row holds the paper id {first}; add a row of column names", kind=SourceError):
        read(path, by=by, papers=ids)


def test_columns_of_numbers_beside_a_named_column_of_ids_are_no_missing_header(tmp_path):
    rows = [{"Paper ID": paper, "review": f"{LONG} {paper}", "1": "2", "2": "1"} for paper in ("1", "2")]
    assert len(read(write(tmp_path, rows, "rows.csv"), papers=("1", "2")).reviews) == 2


def test_a_human_review_that_a_file_repeats_counts_once_whether_in_one_import_or_two(tmp_path):
    rows = [{"paper_id": paper, "review": f"{LONG} {text}"} for paper in ("p1", "p2") for text in "abab"]
    found = read(write(tmp_path, rows, "rows.csv"), by="human")
    assert sorted(review.review_id for review in found.reviews) == ["p1:1", "p1:2", "p2:1", "p2:2"]
    assert found.notes[-1] == "4 rows repeat another row; each review counts once" and not found.refusals
    known = {review.review_id: review for review in found.reviews}
    more = write(tmp_path, [{"paper_id": "p1", "review": f"{LONG} {text}"} for text in "ca"], "more.csv")
    again = read_new_reviews(more, known, {}, ("p1", "p2"), by="human", reading=ColumnOptions({}, True))
    assert [(review.review_id, review.text) for review in again.reviews] == [("p1:3", f"{LONG} c")]
    assert (again.added, again.unchanged, again.notes) == (1, 1, [])


@pytest.mark.parametrize("by", ["human", "m"])
def test_a_text_that_a_human_review_of_the_paper_has_is_told(tmp_path, by):
    known = {f"{paper}:1": Review(f"{paper}:1", paper, "human", LONG, 1) for paper in ("p1", "p2")}
    rows = [{"paper_id": paper, "review_id": f"{paper}-x", "review": text} for paper, text in
            (("p1", LONG), ("p2", f"{LONG} Else."))]  # fmt: skip
    found = read_new_reviews(write(tmp_path, rows), known, {}, ("p1", "p2"), by=by, reading=ColumnOptions({}, True))
    assert len(found.reviews) == 2
    assert found.notes == [
        "word for word a human review of the same paper, so scored against its own text: 1 review (p1)"
    ]


def test_ids_that_repeat_between_papers_get_the_paper_in_front_and_alone_stay_as_they_are(tmp_path):
    rows = [{"paper_id": paper, "review_id": f"R{place}", "review": f"{LONG} {paper} {place}"}
            for paper in ("p1", "p2") for place in (1, 2)]  # fmt: skip
    found = read(write(tmp_path, rows), by="human")
    assert [review.review_id for review in found.reviews] == ["p1:R1", "p1:R2", "p2:R1", "p2:R2"]
    assert found.notes == ["review ids repeat between papers, so each gets its paper's id in front, such as p1:R1"]
    assert [review.review_id for review in read(write(tmp_path, rows[:2]), by="human").reviews] == ["R1", "R2"]
    refused = read(write(tmp_path, rows), by="human", guess=False)
    assert [reason for _, reason in said(refused)] == [
        f"review id R{place} belongs to a review of paper p1; give each review an id of its own" for place in (1, 2)
    ]


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85"), max_size=20)
CELLS = st.recursive(
    st.none() | WORDS | st.integers(-9, 99) | st.booleans(),
    lambda cells: st.lists(cells, max_size=3) | st.dictionaries(WORDS, cells, max_size=2),
    max_leaves=5,
)


def words_of(cell):
    """Returns the words of all texts in *cell*, at any depth."""
    if isinstance(cell, dict):
        cell = [*cell, *cell.values()]
    if isinstance(cell, list):
        return [word for item in cell for word in words_of(item)]
    return cell.split() if isinstance(cell, str) else []


@given(st.lists(st.fixed_dictionaries({part: CELLS for part in PARTS}), min_size=1, max_size=4), st.integers(1, 3),
       st.sampled_from(["jsonl", "json"]))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_every_word_of_a_chosen_column_is_stored_or_its_row_is_refused(tmp_path_factory, parts, chosen, kind):
    papers = [f"p{number}" for number in range(len(parts))]
    rows = [{"paper_id": paper, **cells} for paper, cells in zip(papers, parts, strict=True)]
    path = write(tmp_path_factory.mktemp("words"), rows, f"rows.{kind}")
    found = read(path, [f"review={part}" for part in PARTS[:chosen]], papers=papers)
    texts = {review.paper_id: review.text or "" for review in found.reviews}
    assert len(texts) + len(found.refusals) == len(rows)
    for number, row in enumerate(rows, start=1):
        if number not in {refusal.number for refusal in found.refusals}:
            stored = texts[row["paper_id"]].split()
            for word in words_of([row[part] for part in PARTS[:chosen]]):
                assert word in stored, (word, row)


@given(st.lists(st.tuples(WORDS.filter(str.strip), WORDS), min_size=1, max_size=4), st.sampled_from(["csv", "tsv"]))
@settings(max_examples=60, deadline=None)
def test_every_word_of_a_table_of_text_is_stored_or_its_file_is_refused(tmp_path_factory, texts, kind):
    papers = [f"p{number}" for number in range(len(texts))]
    rows = [{"paper_id": paper, "First": f"{first}\n\n{second}", "Second": f'"{second}"\t.'}
            for paper, (first, second) in zip(papers, texts, strict=True)]  # fmt: skip
    path = write(tmp_path_factory.mktemp("words"), rows, f"rows.{kind}")
    found = read(path, ["review=First", "review=Second"], papers=papers)
    assert [review.text for review in found.reviews] == [
        "\n\n".join(f"{part}:\n{row[part]}" for part in ("First", "Second")) for row in rows
    ]


DECIDES = 'A tab\there, and "quotes"\nbefore a break; commas, too.'
"""A text by which a whole TSV file shows how its cells are quoted."""
PROSE = st.text(st.sampled_from("ab,;|\t\"'\n=[]{}#é論\ufeff. "), max_size=12)
ROWS = st.fixed_dictionaries({
    "Summary": PROSE, "Points": st.lists(PROSE.filter(str.strip), max_size=3), "When": st.none() | st.dates(),
    "rating": st.none() | st.integers(0, 10) | st.floats(0, 10).map(lambda number: round(number, 3)),
})  # fmt: skip


def seven_formats(folder, rows):
    """*rows* as seven programs write them; a list in a table of text, or in a spreadsheet, is JSON."""
    flat = [row | {"Points": json.dumps(row["Points"], ensure_ascii=False) if row["Points"] else None} for row in rows]
    table, nested = pd.DataFrame(flat), pd.DataFrame(rows)
    table.to_csv(folder / "r.csv", index=False)
    table.to_csv(folder / "r.tsv", index=False, sep="\t")
    with (folder / "semicolons.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")  # Excel's line ends
        writer.writeheader()
        writer.writerows(flat)
    nested.to_parquet(folder / "r.parquet")
    dated = [row | {"When": row["When"] and str(row["When"])} for row in rows]
    (folder / "r.json").write_text(json.dumps(dated))
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in dated))
    book = openpyxl.Workbook()
    for place, row in enumerate([dict(zip(flat[0], flat[0], strict=True)), *flat], start=1):
        for column, cell in enumerate((row[name] for name in flat[0]), start=1):
            written = book.active.cell(place, column, cell)
            written.data_type = "s" if isinstance(cell, str) else written.data_type  # "=a" is no formula here
    book.save(folder / "r.xlsx")
    return sorted(folder.iterdir())


@given(st.lists(ROWS, max_size=4))
@settings(max_examples=40, deadline=None)
def test_a_table_written_in_seven_formats_makes_the_same_records(tmp_path_factory, rows):
    rows = [{"paper_id": f"p{n}"} | row for n, row in enumerate(rows)]
    rows.append(
        {"paper_id": "07", "Summary": DECIDES, "Points": ["One.", "Two"], "When": date(2026, 1, 2), "rating": 6.5}
    )

    def read_here(reader, files):
        """A process for each file would take a second."""
        return [(file, json.loads(json.dumps(reader(file), default=replace_non_json))) for file in files]

    stores = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_files, "read_files_in_child_process", read_here)
        for path in seven_formats(tmp_path_factory.mktemp("seven"), rows):
            columns = [f"review={name}" for name in ("Summary", "Points", "When")]
            imported = read(path, columns, papers=[str(row["paper_id"]) for row in rows])
            stores[path.name] = (imported.reviews, said(imported), imported.row_counts)
    first = stores["r.jsonl"]
    assert len(stores) == 7 and {name: store for name, store in stores.items() if store != first} == {}
    assert first[0][-1].text == f"Summary:\n{DECIDES}\n\nPoints:\nOne.\nTwo\n\nWhen:\n2026-01-02"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("paper_id|review\np1|Déjà; vu, – again\n", "cp1252"), ("sep=;\npaper_id;review\np1;Déjà; vu, – again\n".replace("Déjà; vu, – again", '"Déjà; vu, – again"'), "utf-8"),
        ("paper_id\treview\r\np1\tDéjà; vu, – again\r\n", "utf-16"), ("\n\npaper_id;review;;\np1;\"Déjà; vu, – again\";;\n;;;\n", "utf-8-sig"),
        ('paper_id,review\np1,"Déjà; vu, – again"\n', "utf-32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["r.csv", "r.txt", "export"])
def test_delimiter_quoting_and_encoding_are_those_that_the_whole_file_agrees_with(tmp_path, text, encoding, name):
    (tmp_path / name).write_bytes(text.encode(encoding))
    imported = read(tmp_path / name)
    assert [review.text for review in imported.reviews] == ["Déjà; vu, – again"] and imported.refusals == []
    western = f"{name} is not UTF-8 and was read as Windows-1252, with words such as Déjà"
    assert imported.notes == ([western] if encoding == "cp1252" else [])


def test_quotation_marks_with_a_backslash_before_them_are_text_and_json_is_json_whatever_its_name(tmp_path):
    (tmp_path / "r.csv").write_text('paper_id,review\np1,"He says \\"no\\", twice"\n')
    assert read(tmp_path / "r.csv").reviews[0].text == 'He says "no", twice'
    rows = [{"paper_id": paper, "review": LONG} for paper in ("p1", "p2")]
    for kind in ("json", "jsonl"):
        text = write(tmp_path, rows, f"made.{kind}").read_text()
        for name in ("r.json", "r.jsonl", "r.txt"):
            (tmp_path / name).write_text(text)
            assert len(read(tmp_path / name).reviews) == 2, (kind, name)


@pytest.mark.parametrize("bad", [["p1"], {"a": 1}, [], 1.5, True])
@pytest.mark.parametrize("guess", [False, True])
def test_an_id_that_is_a_list_or_an_object_is_refused_by_name_wherever_ids_are_read(tmp_path, bad, guess):
    good = {"paper_id": "p2", "review": LONG, "candidate": "m"}
    for column in ("paper_id", "review_id", "candidate"):
        rows = [good | {"paper_id": "p1", column: bad}, good]
        for how in ({"by": "human"}, {"by": "m"}, {"by": "m", "make_papers": True}):
            found = read(write(tmp_path, rows), guess=guess, **how)
            assert said(found) == [(1, f"{column} is {str(bad).strip()}, which is neither text nor a whole number")]
    found = read_new_papers(
        write(tmp_path, [{"paper_id": bad}, {"paper_id": "p2"}]), {}, reading=ColumnOptions({}, guess)
    )
    assert [paper.paper_id for paper in found.papers] == ["p2"] and len(found.refusals) == 1
    points = [{"paper_id": bad, "review_id": "r", "point": "x"}, {"paper_id": "p1", "review_id": bad, "point": "x"},
              {"paper_id": "p1", "review_id": "r", "point": ["x", "y"], "sound": 1}]  # fmt: skip
    reviews = {"r": Review("r", "p1", "human", "x")}
    found, imported = read_new_points(write(tmp_path, points), {}, reviews, {"p1"}, {})
    assert [point.text for point in found] == ["x\ny"]
    assert [refusal.number for refusal in imported.refusals] == [1, 2]


def test_a_label_whose_name_is_no_text_is_one_line_and_such_a_column_that_is_not_read_changes_nothing(tmp_path):
    rows = [{"paper_id": "p1", "review_id": "r", "point": "x", "\ud800": 1}]
    with one_line("rows.jsonl: the name of the column '\\ud800' is not valid Unicode; rename it", kind=SourceError):
        read_new_points(write(tmp_path, rows), {}, {"r": Review("r", "p1", "human", "x")}, {"p1"}, {})
    assert read(write(tmp_path, [{"paper_id": "p1", "review": LONG, "\ud800": 1}])).reviews[0].text == LONG


THINKING = "<think>\nI like the proofs. The comparison might lack baselines.\n</think>\n\n"
JUDGED = "The reviewer criticizes that there is no baseline."


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv", "rows.tsv", "rows.parquet", "folder"])
def test_thinking_is_no_review_in_any_form_of_file_and_a_note_says_how_much_of_it_was_removed(tmp_path, name):
    texts = {"p1": f"{THINKING}{LONG}\n\nSecond.", "p2": f"I like it.</think>{LONG}", "p3": LONG, "p4": THINKING}
    if name == "folder":
        path = tmp_path / "folder"
        path.mkdir()
        for paper, text in texts.items():
            (path / f"{paper}.txt").write_text(text)
    else:
        path = write(tmp_path, [{"paper_id": paper, "review": text} for paper, text in texts.items()], name)
    for by in ("m", "human"):
        found = read(path, by=by, papers=texts)
        assert [review.text for review in found.reviews] == [f"{LONG}\n\nSecond.", LONG, LONG]
        assert said(found) == [
            (4, f"review is thinking alone: {len(THINKING.rstrip())} characters, and no text besides")
        ]
        removed = len(THINKING.rstrip()) + len("I like it.</think>")
        assert found.notes[-1] == f"thinking removed, which is not part of a review: {removed} characters of 2 texts"


def test_thinking_is_removed_from_each_part_of_a_review_from_judgments_points_and_graded_reviews(tmp_path):
    row = {"paper_id": "p1", "Summary": f"{THINKING}One.", "Weaknesses": [f"hm.</think>{LONG}", "Two."]}
    found = read(write(tmp_path, [row]), ["review=Summary", "review=Weaknesses"])
    assert found.reviews[0].text == f"Summary:\nOne.\n\nWeaknesses:\n{LONG}\nTwo."
    row |= {"Weaknesses": "<think>hm"}
    assert said(read(write(tmp_path, [row]), ["review=Summary", "review=Weaknesses"])) == [
        (1, "Weaknesses is thinking alone: 9 characters, and no text besides")
    ]
    row = {"paper_id": "p1", "judgments": f"<think>\n{JUDGED}\n</think>\n{JUDGED} One.", "writer": "w"}
    assert read(write(tmp_path, [row])).judgments[0].text == f"{JUDGED} One."
    rows = [{"paper_id": "p1", "review_id": "r", "point": f"{THINKING}One."}]
    points, imported = read_new_points(write(tmp_path, rows), {}, {"r": Review("r", "p1", "human", "x")}, {"p1"}, {})
    assert points[0].text == "One." and any(note.startswith("thinking removed") for note in imported.notes)
    rows = [{"item_id": "i", "grade": 1, "strengths": [f"{THINKING}One.", "Two."], "reviewer": "a"},
            {"item_id": "i", "grade": 1, "review": THINKING, "reviewer": "b"}]  # fmt: skip
    graded = read_graded_reviews(write(tmp_path, rows), {}, {}).imported
    assert graded.reviews[0].text.endswith(":\nOne.\nTwo.") and "review is thinking alone" in said(graded)[0][1]
    assert graded.notes[-1].startswith("thinking removed")


TEXTS = (
    "One.",
    'The "idea" is new.',
    'First.\n\nSecond "quoted" line.',
    "A\ttab.",
    '"Whole."',
    '"Open',
    'Half" a "mark',
    "\r\n.",
)


def tsv(path, texts, quoting=csv.QUOTE_MINIMAL, end="\n"):
    quotes = None if quoting == csv.QUOTE_NONE else '"'
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter="\t", quoting=quoting, lineterminator=end, quotechar=quotes)
        table.writerows([("paper_id", "review"), *((f"p{number}", text) for number, text in enumerate(texts))])
    return path


def texts_of(path, papers=9):
    return [review.text for review in read(path, papers=[f"p{number}" for number in range(papers)]).reviews]


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]),
       st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE]))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_a_tsv_file_is_read_as_it_was_written_or_refused_whole(tmp_path_factory, texts, end, quoting):
    if quoting == csv.QUOTE_NONE:
        texts = [" ".join(text.split()) for text in texts]
    path = tsv(tmp_path_factory.mktemp("tsv") / "rows.tsv", texts, quoting, end)
    try:
        assert texts_of(path) == texts
    except SourceError as error:
        assert "its quotation marks may be text, or may quote cells" in str(error)
        assert any('"' in text for text in texts) and quoting != csv.QUOTE_ALL


def test_a_tsv_file_with_line_breaks_in_its_reviews_keeps_them_and_one_of_plain_lines_keeps_its_quotation_marks(
    tmp_path,
):
    path = tmp_path / "rows.tsv"
    for end in ("\n", "\r\n"):
        assert texts_of(tsv(path, TEXTS, end=end)) == list(TEXTS)
        assert texts_of(tsv(path, TEXTS, csv.QUOTE_ALL, end)) == list(TEXTS)
    plain = ['"Open', 'The "idea" is new.', '"Good" work.']
    assert texts_of(tsv(path, plain, csv.QUOTE_NONE)) == plain
    with one_line("rows.tsv: its quotation marks may be text, or may quote cells, first in row 2", kind=SourceError):
        texts_of(tsv(path, ["One.", '"Whole."'], csv.QUOTE_NONE))
    path.write_text('paper_id\treview\np0\t"One.\nTwo."\np1\tx\textra\n')
    with one_line("rows.tsv, row 2: it has 3 cells, and the heading has 2", kind=SourceError):
        texts_of(path)
    path.write_text("paper_id\treview\np0\tx\np1\tx\textra\n")
    assert said(read(path, papers=["p0"])) == [(2, "it has 3 cells, and the heading has 2")]


NUMBERS = [
    *((6, cell) for cell in (6, 6.0, "6", " 6 ", "6.0", "6,0", "+6", "6: weak accept", "6 = Strong", "6 - weak accept",
                             "6-weak accept", "6 (weak accept)", "6. Weak accept", "6 weak accept", "6; confident",
                             "6: Top 50% of accepted papers, clear accept", "6 Top 50% of papers")),
    *((6.5, cell) for cell in (6.5, "6.5", "6,5", "6,50", "6,5: weak accept", "6.5 (weak accept)")),
    (-2, "\u22122"), (-1.5, "-1,5"), (-1.5, "\u22121,5: reject"), (0.125, "0,125"),
    (10, "10: strong accept,\nshould be highlighted (see 2)"),
    *((None, cell) for cell in ("", " ", None)),
    *((str, cell) for cell in ("2/5", "2 / 5", "2 of 5", "2 out of 5", "7-8", "7 - 8", "7\u20138", "6 or 7", "6 to 8", "6,5,4",
                               "1,250", "1.250,5", "1,250.5", "6, 7", "6; 7", "2:5", "2: 5", "7%", "6½", "6 (was 5)", "8-Jul",
                               "8. Jul", "2026-11-27", "1_0", "6 7", "6 or more", "nan", "inf", "good")),
]  # fmt: skip


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl"])
@pytest.mark.parametrize("header", ["rating", "Overall score"])
def test_a_rating_is_the_one_number_that_its_cell_states_or_the_row_is_refused(tmp_path, name, header):
    for number, cell in NUMBERS:
        others = {"paper_id": "p2", header: 3, "review": LONG}
        path = write(tmp_path, [{"paper_id": "p1", header: cell, "review": LONG}, others], name)
        if number is str and header != "rating" and not str(cell)[:1].isdigit():
            continue
        found = read(path)
        if number is str:
            assert [review.paper_id for review in found.reviews] == ["p2"], cell
            assert said(found)[0][1].startswith(f"rating is not a number: {cell}"), cell
        else:
            assert [review.rating for review in found.reviews] == [number, 3], cell


def test_a_slot_or_a_grade_is_a_whole_cell_and_a_label_of_points_has_a_decimal_comma_too(tmp_path):
    row = {"paper_id": "p1", "review": LONG, "slot": "1,0", "grade": "2,5"}
    (review,) = read(write(tmp_path, [row], "rows.csv"), by="human").reviews
    assert (review.slot, review.grade) == (1, 2.5)
    for cell, reason in (
        ("1,5", "slot is not a whole number"),
        ("1: x", "slot is not a number: 1: x"),
        ("1-2", "slot is not"),
    ):
        found = read(write(tmp_path, [row | {"slot": cell}], "rows.csv"), by="human")
        assert said(found)[0][1].startswith(reason)
    cells = ("1,5", "2", "2/5")
    rows = [{"paper_id": "p1", "review_id": "r", "point": cell, "sound": cell} for cell in cells]
    points, imported = read_new_points(
        write(tmp_path, rows, "rows.csv"), {}, {"r": Review("r", "p1", "human", "x")}, {"p1"}, {}
    )
    assert [dict(point.labels) for point in points] == [{"sound": 1.5}, {"sound": 2.0}]
    assert said(imported) == [(3, "sound is 2/5: no number, no true or false, no yes or no")]
    rows = [{"item_id": "i", "review": LONG, "grade": cell, "reviewer": cell} for cell in ("2,5", "2/5")]
    graded = read_graded_reviews(write(tmp_path, rows, "rows.csv"), {}, {}).imported
    assert [review.grade for review in graded.reviews] == [2.5] and len(graded.refusals) == 1
