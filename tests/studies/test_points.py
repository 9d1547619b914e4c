"""Labelled points: scored alone and by what the review loses without them, and set beside their labels."""

from __future__ import annotations

import json
import shutil

import pytest

from gre_bench.store import Store
from gre_bench.store.queries import IMPORTS
from tests.cli.calling import call

KEY = "POINTS-2026"
TOPICS = (
    "an ablation of the encoder", "a corpus of annotated proteins", "a proof of the second lemma",
    "baselines for translation", "variance over random seeds", "the cost of training the policy",
)  # fmt: skip
"""What the human reviews of a paper are about, a topic a paper."""


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A state with six papers, each with two human reviews, and with right and wrong points of a model; its study."""
    folder = tmp_path_factory.mktemp("points")
    state = folder / "state"
    papers = [{"paper_id": f"p{number}", "title": f"Paper {number}"} for number in range(6)]
    human = [
        {"paper_id": f"p{number}", "review_id": f"p{number}-{place}", "review": f"The paper lacks {TOPICS[number]}. {end}"}
        for number in range(6) for place, end in enumerate(("The writing is weak.", "The results are weak."))
    ]  # fmt: skip
    points = [
        {"paper_id": f"p{number}", "candidate": "model", "point": f"The paper lacks {TOPICS[(number + wrong) % 6]}.",
         "correct": not wrong, "note": "free text"}
        for number in range(6) for wrong in (0, 1)
    ]  # fmt: skip
    points[0]["point"] = "Hello."
    where = ("-e", KEY, "--state", str(state))
    run(("import", "papers", write(folder / "papers.jsonl", papers), "--new", *where))
    run(("import", "reviews", write(folder / "human.jsonl", human), "--human", *where))
    report = json.loads(run(("import", "points", write(folder / "points.jsonl", points), "--json", *where)))
    assert (report["points"], report["refused"], report["ignored_columns"]) == (12, 0, ["note"])
    return state, studied(where)


@pytest.fixture
def edition(made, tmp_path):
    return "-e", KEY, "--state", str(shutil.copytree(made[0], tmp_path / "state", symlinks=True))


def run(words, code=0):
    ended, out, line = call(*words)
    assert ended == code, out + line
    return out


def studied(where):
    more = ("--set", "writing.judgments=rule", "--set", 'scoring.metrics=["gem"]', "--json")
    return json.loads(run(("study", "points", *more, *where)))


def test_points_that_other_reviewers_made_as_well_have_more_information(made, edition):
    _, summary = made
    (label,) = summary["labels"]
    assert (label["label"], label["labelled"], label["points"], label["papers"]) == ("correct", 12, 9, 6)
    by_score = {row["score"]: row for row in label["rows"]}
    for name in ("own", "alone", "left_out"):
        assert by_score[name]["auc"] > 0.9 and by_score[name]["within_auc"] > 0.9
    assert by_score["words"]["auc"] < 0.9
    lost = [(row["state"], row["reason"]) for row in summary["reasons"] if row["reason"]]
    assert lost == [("failed", "no_judgments")]
    assert studied(edition)["labels"] == summary["labels"]


def test_a_point_is_never_compared_with_its_own_review(edition, tmp_path):
    own = [{"paper_id": "p0", "review_id": "p0-0", "point": "The lemma is wrong.", "correct": True}]
    run(("import", "points", write(tmp_path / "own.jsonl", own), *edition))
    studied(edition)
    store = Store(edition[3], KEY)
    with store.reading() as con:
        (ids,) = con.execute("select list(distinct p.reference_id) from plan p join points q on p.candidate_id = "
                             "'point:' || q.point_id where q.review_id = 'p0-0'").fetchone()  # fmt: skip
    assert ids == ["p0-1"]


def test_the_import_can_be_taken_back_and_the_study_says_what_is_missing(edition):
    store = Store(edition[3], KEY)
    number = next(row["number"] for row in store.read_with_repair(IMPORTS) if row["points"])
    assert "12 points" in run(("import", "undo", KEY, str(number), "--yes", *edition[2:]))
    with store.reading() as con:
        assert con.execute("select count(*) from judgments where review_id like 'point:%'").fetchone() == (0,)
    code, _, line = call("study", "points", *edition)
    assert code == 2 and "has no labelled points; import some" in line
    code, _, line = call("study", "points", "--set", 'scoring.metrics=["length"]', *edition)
    assert code == 2 and "points are scored by gem or gem_s_abstract" in line
