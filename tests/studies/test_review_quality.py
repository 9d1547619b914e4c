"""The quality of human reviews from notes to groups and guidelines; ratings given elsewhere; both on real reviews too."""

from __future__ import annotations

import csv
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from gre_bench.cli.app import app
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.guidelines import checklist
from gre_bench.guidelines.quality_points import DAY_MS, NAMES
from gre_bench.ingest.datasets.rated import read_human_ratings, read_rated_reviews
from gre_bench.ingest.records.notes import list_review_fields
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.prompts.conditions import load_condition
from gre_bench.studies.guideline_comparison import compare_guidelines_of_given_reviews
from gre_bench.studies.guidelines import parse_outcomes
from gre_bench.studies.review_quality import QualityJob, generate_group_guideline, grade
from tests.conftest import SIXTEEN, real
from tests.servers.chat import scripted_chat
from tests.studies.asking import models_file

GROUP = "SAMPLE.cc/2026/Conference"
START = 1_760_000_000_000


def notes(rows):
    """Notes of SAMPLE 2026: one submission, and a review for each of *rows* (days after the first, words, changes)."""
    content = {name: {"value": name} for name in ("title", "abstract")} | {"venueid": {"value": GROUP}}
    yield {"id": "paper", "forum": "paper", "invitations": [f"{GROUP}/-/Submission"], "content": content}
    for place, (days, words, changes) in enumerate(rows):
        fields = {
            "summary": "word " * words, "strengths": f"Review {place} is strong.", "weaknesses": "w", "questions": "q",
            "soundness": "3 good", "presentation": "2 fair", "contribution": "3 good", "rating": "6: weak accept",
            "confidence": "4",
        }  # fmt: skip
        fields = {name: value for name, value in (fields | changes).items() if value is not None}
        yield {
            "id": f"r{place}", "forum": "paper", "replyto": "paper",
            "invitations": [f"{GROUP}/Submission1/-/Official_Review"], "tcdate": START + round(days * DAY_MS),
            "content": {name: {"value": value} for name, value in fields.items()},
        }  # fmt: skip


@pytest.fixture
def job(tmp_path):
    def make(rows, server=None, **more):
        file = tmp_path / "notes.jsonl"
        file.write_text("".join(json.dumps(note) + "\n" for note in notes(rows)))
        if server:
            more = {"judge": "scripted", "models_file": models_file(tmp_path, server)} | more
        return QualityJob(name="q", notes=file, edition="SAMPLE-2026", state=tmp_path / "state", **more)

    return make


def run(made):
    return grade(made)


def judge_of(points):
    """A server that gives review *n* the points (reference, content, subscore) of ``points(n)``, in the printed form."""

    def write(body):
        text = body["messages"][0]["content"]
        number = re.search(r"Review (\d+) is strong", text)
        reference, content, subscore = points(int(number[1]) if number else 0)
        if "references" in text[:300]:
            return (
                f'Some items apply.\n```yaml\n"suggests_references": true,\n"reference_count": 1,\n"points_out_missing_citations": false,\n'
                f'"quality_score": {reference},\n"reasoning": "so: it is",\n"reference_quality": "{("low", "medium", "high", "high")[reference]}"\n```'
            )
        which, score = ("content", content) if "**overall rating**" in text else ("subscore", subscore)
        word = ("inconsistent", "somewhat inconsistent", "consistent")[score]
        return f'```yaml\nquality_score: {score}\n{which}_consistency: "{word}"\n```'

    return write


def rows_of(made):
    file = made.state / "studies" / "guidelines" / "q" / "quality.csv"
    return {row["review_id"]: row for row in csv.DictReader(file.open())}


def test_totals_are_the_sum_of_rules_and_verdicts(job):
    table = [(0, 100, {}), (0, 1000, {}), (0, 100, {}), (30, 1, {})]
    with scripted_chat(write=judge_of(lambda number: (3, 2, 2) if number == 1 else (0, 0, 2))) as server:
        made = job(table, server)
        summary = run(made)
        assert server.count == 4 + 4 + 1  # the four subscore prompts are word for word the same
        run(made)
        assert server.count == 9
    # The mean date is 7.5 days after the first: three reviews are 7.5 days early (3 points), one 22.5 late (1 point).
    columns = (*NAMES, "total")
    assert {name: "".join(row[key] for key in columns) for name, row in rows_of(made).items()} == {
        "r0": "330028", "r1": "3532215", "r2": "330028", "r3": "110024",
    }  # fmt: skip
    assert (summary["outcome"], summary["computable"], summary["totals"]) == ("done", 4, {4: 1, 8: 2, 15: 1})
    drawn = {group: found["drawn"] for group, found in summary["groups"].items()}
    assert (drawn["good"], drawn["middle"], drawn["bad"]) == ([], [], ["r3"])
    assert (drawn["good.review_length"], drawn["bad.review_length"]) == (["r1"], ["r3"])
    assert (drawn["good.reference_quality"], drawn["bad.submission_date"]) == (["r1"], ["r3"])


def test_a_missing_field_date_or_verdict_is_not_computable_and_what_may_come_yet_leaves_it_incomplete(job):
    table = [(0, 100, {}), (0, 100, {"soundness": None}), (0, 100, {"rating": None}), (0, 100, {})]

    def write(body):
        silent = "Review 3" in body["messages"][0]["content"]
        return "I would rather not." if silent else judge_of(lambda _: (2, 2, 2))(body)

    ill = {"when": lambda body: "500" if "Review 0" in str(body) else None}
    with scripted_chat(write=write, **ill) as server:
        made = job(table, server)
        summary = run(made)
        assert (summary["outcome"], summary["computable"]) == ("incomplete", 0)
        server.when = None
        summary = run(made)
    rows = rows_of(made)
    assert [rows[name]["total"] for name in ("r0", "r1", "r2", "r3")] == ["14", *["not computable"] * 3]
    assert rows["r1"]["why"] == "subscore_consistency: no soundness"
    assert rows["r2"]["why"] == "content_consistency: no rating; subscore_consistency: no rating"
    assert "reference_quality: no_" in rows["r3"]["why"] and rows["r3"]["submission_date"] == "5"
    assert (summary["outcome"], summary["computable"], summary["not_computable"]) == ("done", 1, 3)


def test_a_guideline_is_made_from_a_group_and_used_as_a_condition(job, tmp_path):
    # Three reviews of the printed 17 points and one of few; ten and ten questions come back, in prose.
    table = [(0, 1000, {}), (0, 1000, {}), (0, 1000, {}), *[(0, 10, {})] * 9]

    def write(body):
        text = body["messages"][0]["content"]
        if "# Form of the guideline" not in text:
            return judge_of(lambda _: (3, 2, 2))(body)
        return f"Here it is:\n```yaml\n{load_condition('middle').guideline.partition(chr(10) * 2)[2]}\n```\nI hope it helps."

    with scripted_chat(write=write) as server:
        made = job(table, server, size=2)
        summary = run(made)
        assert summary["groups"]["good"]["reviews"] == 3 and len(summary["groups"]["good"]["drawn"]) == 2
        out = tmp_path / "good.txt"
        asked = ("q", "good", "scripted", out, made.writer_context, made.state)
        assert generate_group_guideline(*asked)["reviews"] == 2
        prompt = server.requests[-1]["messages"][0]["content"]
        assert "Below are 2 peer reviews" in prompt and "Soundness: 3 good" in prompt
        assert prompt.count("## Review ") == 2
        assert generate_group_guideline("q", "good.review_length", *asked[2:])["reviews"]
        generate_group_guideline(*asked)
        count = server.count
        generate_group_guideline(*asked)
        assert server.count == count
        with pytest.raises(SettingsError, match="group bad of study q has no reviews"):
            generate_group_guideline("q", "bad", *asked[2:])
        with pytest.raises(SettingsError, match="no study nope with a group good"):
            generate_group_guideline("nope", *asked[1:])
    assert out.read_text().strip() == load_condition("middle").guideline
    assert checklist.parse_checklist(out.read_text()).has_ten_good_and_ten_bad
    assert load_condition("mine+rubric", {"mine": out.read_text()}).template == "guideline_rubric"


CHECKLIST = "peer_review_behavior_checklist:\n  good_paper:"


@pytest.mark.parametrize(("reply", "why"), [
    ("I cannot do that.", "no peer_review_behavior_checklist"), (f"{CHECKLIST} []\n", "it lacks the parts"),
    (f"{CHECKLIST}\n    a:\n      - question: x?\n  bad_paper:\n    a:\n      - question: y?\n",
     "1 good and 1 bad questions, not 10 and 10"),
    (f"{CHECKLIST}\n    a: [x]\n  bad_paper:\n    a: [y]\n", "an item without a question"),
])  # fmt: skip
def test_a_reply_that_is_no_guideline_is_refused_and_nothing_is_written(job, tmp_path, reply, why):
    def write(body):
        asked = "# Form of the guideline" in body["messages"][0]["content"]
        return reply if asked else judge_of(lambda _: (0, 0, 0))(body)

    with scripted_chat(write=write) as server:
        made = job([(0, 1, {}), (30, 1, {}), (30, 1, {})], server)
        assert run(made)["groups"]["bad"]["reviews"] == 3
        with pytest.raises(SourceError, match=why):
            generate_group_guideline("q", "bad", "scripted", tmp_path / "bad.txt", made.writer_context, made.state)
    assert not (tmp_path / "bad.txt").exists()


def test_the_fields_of_the_sample_edition_are_read():
    raw = read_notes_file(SIXTEEN / "notes.jsonl")
    found = list_review_fields(raw, find_venue_entry("SAMPLE", 2026))
    assert len(found) > 40
    fields = {"summary", "strengths", "weaknesses", "questions", "rating", "soundness"}
    assert all(fields <= set(one.fields) and one.written_ms for one in found)


RATINGS = "paper_id\t0\t1\tdecision\np1\t5\t7\tReject\np2\t3\t3\t\np3\t8\t\tAccept\np4\t\t\t\n"
ROWS = [
    {"paper_id": f"p{place}", "model": "m", "run": run_, "Overall": rating, "Summary": "A fine paper.",
     "Strengths": "['It is new', 'It is clear']"}
    for run_, offset in (("m_base_x", 1), ("m_few_x", 0))
    for place, rating in ((1, 6 + offset), (2, str(3 + offset)), (3, f"{8 + offset}.0"))
]  # fmt: skip


def given(folder, human=RATINGS, rows=ROWS, file="llm_reviews.jsonl"):
    folder.mkdir(exist_ok=True)
    (folder / "human_ratings.tsv").write_text(human)
    if file.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist([{**row, "Overall": str(row["Overall"])} for row in rows]), folder / file)
    else:
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("file", ["llm_reviews.jsonl", "llm_reviews.parquet"])
def test_reviews_written_elsewhere_are_held_against_human_means(tmp_path, file):
    summary = compare_guidelines_of_given_reviews("given", given(tmp_path / "d", file=file), tmp_path / "state")
    found = {outcome.condition: outcome for outcome in parse_outcomes(summary)}
    numbers = {name: (one.closeness.rmse.value, one.scored, one.planned) for name, one in found.items()}
    assert numbers == {"base": (1, 3, 3), "few": (0, 3, 3)}
    assert found["base"].wording.mean_words == 11
    lists = [review.text for review in read_rated_reviews(tmp_path / "d")]
    assert lists[0] == "Summary:\nA fine paper.\n\nStrengths:\nIt is new\nIt is clear"
    human = {"p1": (5, 7), "p2": (3, 3), "p3": (8,), "p4": ()}
    assert read_human_ratings(tmp_path / "d" / "human_ratings.tsv") == human


def test_a_review_of_an_unrated_paper_is_excluded_and_a_paper_without_review_failed(tmp_path):
    rows = [{"paper_id": paper, "model": "m", "Overall": 5} for paper in ("p1", "p2", "p4", "p9")]
    (outcome,) = parse_outcomes(
        compare_guidelines_of_given_reviews("given", given(tmp_path / "d", rows=rows), tmp_path / "state")
    )
    assert (outcome.planned, outcome.scored, outcome.excluded, outcome.failed) == (5, 2, 2, 1)
    assert outcome.reasons == {"no_review": 1, "no_human_rating": 2} and outcome.closeness is None


@pytest.mark.parametrize(("more", "why"), [
    ({"human": "paper\t0\np1\t5\n"}, "human_ratings.tsv has no column paper_id"),
    ({"human": "paper_id\t0\np1\tfive\n"}, "human_ratings.tsv, row 1: 'five' in column 0 is not a rating"),
    ({"human": "paper_id\t0\np1\tnan\n"}, "row 1: 'nan' in column 0 is not a rating"),
    ({"human": "paper_id\t0\np1\t5\np1\t6\n"}, "row 2: paper p1 occurs twice"),
    ({"human": "paper_id\t0\np1\t5\t6\n"}, "row 1: it has 3 cells, and the heading has 2"),
    ({"human": "paper_id\t0\n"}, "human_ratings.tsv has columns and no row"),
    ({"rows": []}, "llm_reviews.jsonl is empty: no row in it"),
    ({"rows": [{"paper_id": "p1", "model": "m"}]}, "llm_reviews.jsonl, row 1: there is no column Overall"),
    ({"rows": [{"paper_id": "p1", "Overall": 5}]}, "row 1: model is missing"),
    ({"rows": [{"paper_id": "p1", "model": "m", "Overall": 5}] * 2}, "row 2: m rates paper p1 twice in run none"),
    ({"file": "other.jsonl"}, "has neither llm_reviews.parquet nor llm_reviews.jsonl"),
])  # fmt: skip
def test_a_folder_that_cannot_be_read_says_where_and_why(tmp_path, more, why):
    with pytest.raises(SourceError, match=re.escape(why)):
        compare_guidelines_of_given_reviews("given", given(tmp_path / "d", **more), tmp_path / "state")
    assert not (tmp_path / "state" / "studies").exists()


def test_the_commands_show_what_was_found(tmp_path):
    def command(line):
        return CliRunner().invoke(app, ["study", "guidelines", *line.split()])

    state = f"--state {tmp_path / 'state'}"
    shown = command(f"compare --reviews {given(tmp_path / 'd')} {state}")
    assert shown.exit_code == 0 and "one human reviewer" in shown.output.lower()
    assert "N/A" not in shown.output.split("published")[0]
    shown = command(f"quality {SIXTEEN / 'notes.jsonl'} -e SAMPLE-2026 {state} --no-prefect")
    assert shown.exit_code == 0 and "not_asked: no LM was asked" in shown.output
    assert isinstance(command("compare --reviews x --model m").exception, SettingsError)
    assert "human_ratings.tsv" in command("compare --help").output


@pytest.mark.shared
def test_six_real_runs_of_three_models_against_the_human_means_of_300_papers(tmp_path):
    summary = compare_guidelines_of_given_reviews("real", real("llm-reviews-iclr2022"), tmp_path)
    found = {(one.model.partition("-2")[0], one.condition): one for one in parse_outcomes(summary)}
    assert len(found) == 6 and all(one.scored == one.planned == 300 for one in found.values())
    numbers = {
        key: tuple(round(part.value, 2) for part in (one.closeness.rmse, one.closeness.bias, one.closeness.spearman))
        for key, one in found.items()
    }
    assert numbers == {
        ("claude-3-5-sonnet", "reflect_5_ensemble_5"): (2.08, 1.69, 0.35),
        ("gpt-4o", "fewshot_1_reflect_5_ensemble_5"): (1.28, -0.22, 0.36),
        ("gpt-4o", "plain"): (1.79, -0.42, 0.2),
        ("gpt-4o", "reflect_5_ensemble_5"): (1.38, -0.1, 0.26),
        ("gpt-4o", "reflect_5"): (1.7, -0.44, 0.3),
        ("gpt-4o-mini", "fewshot_1_reflect_5_ensemble_5"): (1.5, -0.51, 0.25),
    }
    assert (round(summary["yardstick"]["constant"], 2), round(summary["yardstick"]["reviewer"], 2)) == (1.29, 1.57)


@pytest.mark.shared
def test_real_reviews_of_2024_have_points_for_their_length(tmp_path):
    made = QualityJob("q", real("openreview", "iclr2024.notes.jsonl.gz"), "ICLR-2024", state=tmp_path)
    summary = run(made)
    assert summary["points"]["review_length"] == {"1": 12, "2": 41, "3": 53, "4": 25, "5": 26}
    assert (summary["reviews"], summary["median_characters"], summary["computable"]) == (157, 2476, 0)


@pytest.mark.shared
def test_real_reviews_of_2020_have_no_subscores_and_are_not_computable(tmp_path):
    made = QualityJob("q", real("openreview", "iclr2020.notes.jsonl.gz"), "ICLR-2020", state=tmp_path)
    summary = run(made)
    assert (summary["reviews"], summary["computable"], summary["not_computable"]) == (909, 0, 909)
    assert summary["points"]["subscore_consistency"] == {"no_field: no soundness, presentation, contribution": 909}
    assert all(group["reviews"] == 0 for name, group in summary["groups"].items() if "." not in name)
