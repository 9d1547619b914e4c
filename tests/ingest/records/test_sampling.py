"""The sample: eligibility, the seeded draw, the roles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Paper, Review
from gre_bench.core.settings import EditionSettings
from gre_bench.ingest.records.sampling import draw_papers_and_roles
from tests.one_line import one_line


def corpus(papers: int, reviews: int = 4, source_rows: bool = False):
    made = [Paper(f"p{n}", source_row=n if source_rows else None) for n in range(papers)]
    return made, [Review(f"p{n}-{k}", f"p{n}", "human", "x", k) for n in range(papers) for k in range(reviews)]


@given(st.integers(2, 12), st.integers(2, 12), st.integers(0, 5))
def test_each_paper_has_one_candidate_and_two_references_all_different(papers, wanted, seed):
    drawn = draw_papers_and_roles(*corpus(papers), EditionSettings(papers=wanted, seed=seed))
    assert len(drawn.roles) == 3 * min(papers, wanted)
    for place in range(min(papers, wanted)):
        roles = [role for role in drawn.roles if role.position == place]
        assert [role.role for role in roles] == ["candidate", "reference", "reference"]
        assert len({role.review_id for role in roles}) == 3
        assert {role.review_id.split("-")[0] for role in roles} == {roles[0].paper_id}


def test_a_draw_is_the_same_whatever_the_order_of_the_input_and_differs_by_seed():
    papers, reviews = corpus(30)
    settings = EditionSettings(papers=10)
    assert draw_papers_and_roles(papers, reviews, settings) == draw_papers_and_roles(
        papers[::-1], reviews[::-1], settings
    )
    assert (
        draw_papers_and_roles(papers, reviews, settings).roles
        != draw_papers_and_roles(papers, reviews, EditionSettings(papers=10, seed=1)).roles
    )
    many = draw_papers_and_roles(*corpus(200), EditionSettings(papers=200))
    assert {role.review_id.split("-")[1] for role in many.roles if role.role == "candidate"} == set("0123")


def test_papers_with_too_few_human_reviews_are_not_eligible():
    papers, reviews = corpus(4, reviews=3)
    machine = [Review("m", "p0", "gpt", "x"), *(review for review in reviews if review.review_id != "p0-1")]
    drawn = draw_papers_and_roles(papers, machine, EditionSettings(papers=10))
    assert (drawn.known, drawn.eligible) == (4, 3)
    assert "p0" not in {role.paper_id for role in drawn.roles}
    with pytest.raises(SourceError, match="1 of 4 papers are eligible, .* at least 3 human reviews"):
        draw_papers_and_roles(
            papers, [review for review in reviews if review.paper_id == "p1"], EditionSettings(papers=10)
        )


def test_slots_name_the_candidate_and_the_references_in_the_order_of_the_source():
    papers, reviews = corpus(3, source_rows=True)
    drawn = draw_papers_and_roles(papers[::-1], reviews, EditionSettings(papers=3, roles="slots"))
    assert [role.review_id for role in drawn.roles[:3]] == ["p0-2", "p0-1", "p0-3"]
    assert [role.paper_id for role in drawn.roles if role.place == 0] == ["p0", "p1", "p2"]


def listed(tmp_path, text: str) -> EditionSettings:
    (tmp_path / "ids.txt").write_text(text)
    return EditionSettings(papers=10, only=tmp_path / "ids.txt")


def test_a_list_of_papers_is_the_sample_whatever_the_form_of_its_lines_and_what_has_too_few_reviews_is_told(tmp_path):
    chosen = listed(tmp_path, "\ufeff# of last year\np3\n\n  https://openreview.net/forum?id=p7 \np3\n")
    drawn = draw_papers_and_roles(*corpus(20), chosen)
    assert {role.paper_id for role in drawn.roles} == {"p3", "p7"} and drawn.notes == []
    whole = draw_papers_and_roles(*corpus(20), EditionSettings(papers=20))
    roles = {role.review_id: role.role for role in whole.roles}
    assert all(roles[role.review_id] == role.role for role in drawn.roles), "a paper's roles are those of any sample"
    papers, reviews = corpus(5)
    few = [one for one in reviews if one.paper_id != "p2" or one.slot < 2]
    drawn = draw_papers_and_roles(papers, few, listed(tmp_path, "p1\np2\np3"))
    assert drawn.short == ("p2",) and drawn.notes == ["1 papers of the list have too few human reviews: p2"]


def test_listed_reviews_have_no_role_and_are_counted(tmp_path):
    (tmp_path / "ids.txt").write_text("p1-0\np2-3\np2-2\n")
    drawn = draw_papers_and_roles(
        *corpus(5), EditionSettings(papers=10, references="all", not_human=tmp_path / "ids.txt")
    )
    assert {role.review_id for role in drawn.roles if role.paper_id == "p1"} == {"p1-1", "p1-2", "p1-3"}
    assert "p2" not in {role.paper_id for role in drawn.roles}, "too few human reviews are left"
    assert drawn.notes == ["3 reviews taken out of the human reviews: edition.not_human"]


@pytest.mark.parametrize(
    ("setting", "text", "says"),
    [
        ("not_human", "p1-0\ngpt-1\np9-9", "ids.txt: 2 of 3 reviews are not among the 20 human reviews here: gpt-1, p9-9; correct"),
        ("not_human", "p1-0\ntwo words", "ids.txt, line 2: 'two words' is not a review id"),
        ("not_human", "\n# nothing\n", "ids.txt names no review"),
        ("only", "p1\nq1\nq2", "ids.txt: 2 of 3 papers are not among the 5 that are kept here: q1, q2; they were withdrawn"),
        ("only", "p1\ntwo words", "ids.txt, line 2: 'two words' is not a paper id"),
        ("only", "\n# nothing\n", "ids.txt names no paper"),
    ],
)  # fmt: skip
def test_a_list_that_cannot_be_is_one_line(tmp_path, setting, text, says):
    (tmp_path / "ids.txt").write_text(text)
    papers, reviews = corpus(5)
    chosen = EditionSettings(papers=10, **{setting: tmp_path / "ids.txt"})
    with one_line(says, kind=SourceError):
        draw_papers_and_roles(papers, [*reviews, Review("gpt-1", "p1", "gpt", "x")], chosen)
