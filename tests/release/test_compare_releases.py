"""``gre-bench compare`` of two releases: what changed, and never more than compares."""

from __future__ import annotations

import json

import pytest

from gre_bench.cli.views import screen
from gre_bench.cli.views.comparison import has_candidate_changed, show_release_comparison
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.comparisons import compare_releases
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store.queries import CANDIDATES, CURRENT_SIGNATURES
from tests.release import made_up
from tests.release.made_up import EDITION, make, release_store_of, store_of

FIRST, SECOND = f"{EDITION}-r1", f"{EDITION}-r2"


def change(state, *statements: str) -> None:
    """Changes the edition behind the releases, and publishes it again."""
    made_up.change(store_of(state), *statements)
    made_up.rank_again(store_of(state))
    publish_edition(store_of(state), release_store_of(state), again=True)


def of(found, metric: str):
    return next(row for row in found["metrics"] if row["metric"] == metric)


def candidate(row, name: str):
    return next(line for line in row["candidates"] if line["candidate"] == name)


def test_an_edition_published_again_has_not_changed(own, call):
    change(own)
    found = compare_releases((FIRST, SECOND), own)
    assert (found["provenance"], found["tables"]) == ([], [])
    assert {row["compares"] for row in found["metrics"]} == {"scores"}
    code, out, _ = call("compare", FIRST, SECOND, "--state", own)
    assert code == 0 and "what differs: nothing in settings, program, sample and imports\n" in out
    assert "4 candidates as before\n" in out and ", as before\n" in out
    code, out, _ = call("compare", FIRST, SECOND, "--details", "--state", own)
    assert code == 0 and out.count("nothing has changed: 4 candidates, score for score") == 3
    assert "settings, program, packages, sample, snapshot and imports are the same" in out


def test_scores_and_pairs_that_changed_are_counted_by_candidate(own, call):
    model = store_of(own).read(CANDIDATES)[-1]["candidate_id"]
    where = (
        f"where candidate_id = '{model}' and signature_id = (select signature_id from signatures where metric = 'gem')"
    )
    change(
        own,
        f"update scores set value = value + 3 {where} and paper_id in ('p00001', 'p00002')",
        f"update scores set value = value * (1 + 1e-9) {where} and paper_id = 'p00003'",
        f"update scores set value = null, problem = 'span' {where} and paper_id = 'p00004'",
        f"delete from scores {where} and paper_id = 'p00005'",
        f"delete from plan {where} and paper_id = 'p00005'",
    )
    found = compare_releases((FIRST, SECOND), own)
    row = candidate(of(found, "gem"), model)
    assert (row["other_score"], row["other_state"], row["only_first"], row["only_second"]) == (4, 2, 2, 0)
    assert row["scored"] == [12, 8] and row["score"][0] != row["score"][1]
    for name in ("gem_s_abstract", "gem_s_assw"):
        assert all(line["other_score"] == 0 for line in of(found, name)["candidates"])
    tables = {row["table"] for row in found["tables"]}
    of_scores = {"plan", "scores", "rank_statistics", "pair_tests", "differences", "profiles", "chance"}
    assert {"plan", "scores"} <= tables <= of_scores
    code, out, _ = call("compare", FIRST, SECOND, "--state", own)
    assert (
        code == 0
        and f"GEM: No order: not validated (failed on ICLR-2023), as before\n  {model} has other scores; " in out
    )
    code, out, _ = call("compare", FIRST, SECOND, "--details", "--state", own)
    shown = out.split(model)[1].split()
    assert code == 0 and shown[shown.index("gone") + 1] == "2" and shown[shown.index("score") + 1] == "4"
    assert out.count("nothing has changed") == 2


@pytest.mark.parametrize(
    ("means", "listed"), [((None, None), False), ((1.0, 1.0), False), ((1.0, None), True), ((None, 1.0), True)]
)
def test_a_candidate_without_scores_in_both_releases_is_not_listed_as_changed(means, listed):
    assert has_candidate_changed({"candidate": "m", "rank": [None, None], "score": list(means)}) == listed


def test_two_years_are_compared_by_the_change_of_the_difference_to_the_human_baseline(own, call):
    publish_edition(make(own, "ICLR-2024", papers=9, candidates=4), ReleaseStore(own / "releases", "ICLR-2024"))
    found = compare_releases(("ICLR-2024-r1", FIRST), own)
    for row in found["metrics"]:
        assert row["compares"] == "differences"
        for line in row["candidates"]:
            assert "score" not in line
            if line["change"]:
                one, other = line["differences"]
                assert line["change"]["value"] == pytest.approx(other["difference"] - one["difference"])
                assert line["change"]["low"] < line["change"]["value"] < line["change"]["high"]
                assert line["change"]["p"] <= line["change"]["p_holm"] <= 1
        assert sum(line["change"] is not None for line in row["candidates"]) == 3
    code, out, _ = call("compare", "ICLR-2024-r1", FIRST, "--state", own)
    assert code == 0 and "other papers, so only differences to human compare: " in out
    code, out, _ = call("compare", "ICLR-2024-r1", FIRST, "--details", "--state", own)
    assert code == 0 and "differences to the human baseline compare, scores do not" in out
    assert "what the numbers rest on differs in" in out


def test_of_two_signatures_ranks_alone_compare(own, call):
    moved = ("plan", "scores", "effects", "validations", "rank_statistics", "profiles")
    old = next(row["signature_id"] for row in store_of(own).read(CURRENT_SIGNATURES) if row["metric"] == "gem")
    change(
        own,
        "insert into signatures by name select * replace ('feedfeedfeedfeed' as signature_id, 'somebody' as writer) "
        f"from signatures where signature_id = '{old}'",
        *(f"update {table} set signature_id = 'feedfeedfeedfeed' where signature_id = '{old}'" for table in moved),
    )
    row = of(compare_releases((FIRST, SECOND), own), "gem")
    assert (row["compares"], row["differ_in"]) == ("ranks", {"writer": ["made-up-writer", "somebody"]})
    assert row["agreement"]["spearman"] == pytest.approx(1) and row["agreement"]["shared"] == 4
    assert not any({"score", "differences", "other_score"} & set(line) for line in row["candidates"])
    code, out, _ = call("compare", FIRST, SECOND, "--state", own)
    assert code == 0 and "scored otherwise (writer), so only ranks compare: 4 candidates as before" in out
    code, out, _ = call("compare", FIRST, SECOND, "--details", "--state", own)
    assert code == 0 and "writer: made-up-writer | somebody" in out and "ranks compare, scores do not" in out


def test_a_candidate_that_is_new_or_gone_is_named(own, call):
    model = store_of(own).read(CANDIDATES)[-1]["candidate_id"]
    where = f"where candidate_id = '{model}'"
    change(own, *(f"delete from {table} {where}" for table in ("plan", "scores", "rank_statistics", "profiles")))
    code, out, _ = call("compare", FIRST, SECOND, "--state", own)
    assert code == 0 and f"gone: {model}; " in out
    code, out, _ = call("compare", SECOND, FIRST, "--state", own)
    assert code == 0 and f"new: {model}; " in out


@pytest.mark.parametrize(
    ("validated", "told"),
    [
        (
            True,
            ["new: third (rank 2); ranks: b 1 → 3; 1 candidate as before", "GEM: scored by lm: validated on ICLR-2020"],
        ),
        (False, ["new: third; 2 candidates as before human: a note"]),
    ],
)
def test_ranks_are_told_only_where_the_metric_is_validated(validated, told):
    lines = [{"candidate": name, "rank": rank, "scored": scored, "score": [1.0 if scored[0] else None, 1.0]}
             for name, rank, scored in (("a", [1, 1], [2, 2]), ("third", [None, 2], [None, 2]), ("b", [1, 3], [2, 2]))]  # fmt: skip
    row = {"metric": "gem", "compares": "scores", "differ_in": {}, "candidates": lines, "answers": ["b leads.", "a leads."],
           "validated": validated, "validation": "validated on ICLR-2020", "evaluation_lm": "lm"}  # fmt: skip
    with screen.out.capture() as captured:
        show_release_comparison({"compared": ["r1", "r2"], "metrics": [row], "provenance": [], "only_first": [],
                       "only_second": [], "notes": ["human: a note"]})  # fmt: skip
    shown = " ".join(captured.get().split())
    for part in ["GEM: a leads before: b leads", "human: a note", *told]:
        assert part in shown


def test_folders_are_releases_too_and_json_says_all(own, call, tmp_path):
    publish_edition(store_of(own), ReleaseStore(tmp_path / "there", EDITION))
    one, other = own / "releases" / FIRST, tmp_path / "there" / f"{EDITION}-latest"
    code, out, _ = call("compare", one, other, "--json", "--state", own)
    assert code == 0
    assert [row["release"] for row in json.loads(out)["releases"]] == [FIRST, FIRST]


def test_a_release_that_is_damaged_or_is_none_is_one_line(own, call):
    code, out, err = call("compare", FIRST, EDITION, "--state", own)
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{EDITION} is no release" in err
    change(own)
    page = own / "releases" / FIRST / "index.html"
    page.chmod(0o644)
    page.write_text("another")
    code, out, err = call("compare", FIRST, SECOND, "--state", own)
    assert (code, out, err.count("\n")) == (2, "", 1) and "index.html is not as it was written" in err
