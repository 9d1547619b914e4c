"""What a change of a review is given: the texts about other papers, in the order of their distance."""

from __future__ import annotations

from types import SimpleNamespace

from gre_bench.core.settings import load
from gre_bench.pipeline.changes import material

ENTRIES = [
    SimpleNamespace(
        paper=SimpleNamespace(paper_id=f"p{number}", title=f"title {number}", abstract=f"abstract {number}"),
        human=SimpleNamespace(text=f"review {number}", judgments={"rule": f"judgments {number}"}),
    )
    for number in range(5)
]


def test_the_reviews_of_other_papers_begin_half_the_list_away_and_end_at_its_start():
    given = material(load(None, ()), ENTRIES, 2)  # pyright: ignore[reportArgumentType]
    assert given.others == ("review 4", "review 0")
    assert (given.text, given.title, given.abstract) == ("review 2", "title 2", "abstract 2")
    by_rule = material(load(None, ()), ENTRIES, 2, "rule")  # pyright: ignore[reportArgumentType]
    assert (by_rule.text, by_rule.others) == ("judgments 2", ("judgments 4", "judgments 0"))
