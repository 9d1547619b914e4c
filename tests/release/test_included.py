"""The real board that comes with the program: whole, without a text, and read by every command from the first minute."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import locate_resource
from gre_bench.release.loading import INCLUDED, find_release, load_release
from gre_bench.release.public_tables import open_release_tables
from gre_bench.reports import contrasts
from gre_bench.reports.contrasts import compare_candidates, compare_lms, compute_contrasts_of_file
from gre_bench.reports.verifying import verify_release
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.length import estimate_length_slope
from gre_bench.store import INCLUDED_EDITION, INCLUDED_EDITIONS

CONTRASTS = locate_resource("deployments", "contrasts", "iclr2022.toml")
LMS = ("cache-ngram-3", "gem-smollm2-2")
LATEST = (f"{INCLUDED_EDITION}-r3", "Agents4Science-2025-r2")
PAGES = {LATEST[0]: 13, LATEST[1]: 7}


@pytest.fixture(scope="module")
def folder():
    return find_release(INCLUDED_EDITION)


def test_an_editions_name_stands_for_its_latest_release():
    assert {path.name for path in INCLUDED.glob("*-r*")} == set(PAGES)
    assert tuple(find_release(edition).name for edition in INCLUDED_EDITIONS) == LATEST


@pytest.mark.parametrize("release", PAGES)
def test_it_is_whole_and_what_this_program_makes_of_its_scores(release):
    found, pages = verify_release(find_release(release), again=True)["made_again"], PAGES[release]
    assert found["pages"] == pages  # its last digits are those of the processor that made it
    assert {"separation", "differences", "rank_statistics", "lengths", "profiles"} <= set(found["statistics"])


def test_no_page_tells_its_reader_to_install_anything(folder):
    pages = [page.read_text(encoding="utf-8") for page in folder.rglob("*.html")]
    assert len(pages) == 13 and not [page for page in pages if re.search(r"\binstall", page, re.I)]


@pytest.mark.parametrize(("edition", "scores"), [*zip(INCLUDED_EDITIONS, (15_000, 700), strict=True)])
def test_it_has_no_text_and_no_log_probability(edition, scores):
    folder = find_release(edition)
    assert not (folder / "papers").exists()
    columns = ["papers.title", "papers.abstract", "papers.text", "reviews.text", "judgments.text"]
    with open_release_tables(folder) as run:
        for table, column in (name.split(".") for name in columns):
            assert run.sql(f"select count({column}) from {table}").fetchall() == [(0,)], (table, column)
        kept = f"select (select count(*) from spans), max(len(predictions)), count(value) > {scores} from scores"
        assert run.sql(kept).fetchall() == [(0, 0, True)]


def test_it_is_loaded_by_its_name_and_read_by_the_commands(tmp_path, call):
    def told(*command):
        code, printed, said = call(*command, "--state", tmp_path)
        assert code == 0, said
        return printed

    assert f"gre-bench leaderboard {INCLUDED_EDITION}" in told("import", "release", INCLUDED_EDITION)
    board = told("leaderboard", INCLUDED_EDITION)
    assert "\nscored by cache-ngram-3" in board and "\nscored by gem-smollm2" not in board
    assert "No model leads: gpt-4o" in board and "anthropic/claude-3-5" in board
    # Each half width is that of an interval of the board, and what a release without texts lacks is not printed.
    details = told("leaderboard", INCLUDED_EDITION, "--details")
    rows = json.loads(told("leaderboard", INCLUDED_EDITION, "--json"))["rows"]
    intervals = ("score", "high"), *((name, f"{name}_high") for name in ("vs_human", "above_chance", "at_length"))
    halves = {f"{row[high] - row[name]:.2f}" for row in rows for name, high in intervals if row[high] is not None}
    halves |= {f"{(row['flat_high'] - row['flat_low']) / 2:.2f}" for row in rows if row["flat_high"] is not None}
    assert set(re.findall(r"±(\d+\.\d+)", details)) <= halves and "None" not in details
    rows = json.loads(told("compare", INCLUDED_EDITION, "--contrasts", CONTRASTS, "--json"))["contrasts"]
    assert Counter(row["evaluation_lm"] for row in rows) == {LMS[0]: 10, LMS[1]: 5}
    assert all(row["at_length"]["overlap"] is not None for row in rows)
    ordered = {(row["metric"], row["evaluation_lm"]) for row in rows if row["validated"]}
    assert ordered == {("gem_s_abstract", LMS[0])}
    said = told("compare", INCLUDED_EDITION, "--contrasts", CONTRASTS)
    assert f"\ngem_s_abstract by {LMS[1]}, not validated (undecided on " in said and f"by {LMS[0]}\n" in said
    page = (
        (find_release(INCLUDED_EDITION) / "index.html").read_text(encoding="utf-8").split('<section id="contrasts"')[1]
    )
    assert page.index("GEM-S (abstract)") < page.index("fails validation"), "validated metrics first, others are marked"
    told("verify", LATEST[0])
    code, _, said = call("verify", INCLUDED_EDITION, "--state", tmp_path)
    named = f"{INCLUDED_EDITION} is an edition; name a release of it, such as {LATEST[0]}"
    assert code == 2 and named in said
    again = f"{INCLUDED_EDITION} was loaded from a release and can only be read"
    code, _, said = call("refresh", "--edition", INCLUDED_EDITION, "--state", tmp_path)
    assert code == 2 and again in said
    # Papers have two to six references: the board's number is the mean of their means. No text is missed.
    why = told("why", INCLUDED_EDITION, "openai/gpt-4o-2024-05-13", "--checks")
    assert "is the mean over 113 papers of 445 pairs" in why and "its texts are not here" in why
    assert "DOES NOT HOLD" not in why
    assert "difference to human, paired by paper" in told("history", INCLUDED_EDITION)
    asked = "select count(*) as n from leaderboard where rank = 1"
    assert json.loads(told("sql", INCLUDED_EDITION, asked, "-f", "json"))[0]["n"] > 0
    assert f"{INCLUDED_EDITION}: loaded" in told("status")


def test_the_board_of_a_venues_own_ai_reviewers_has_no_order_no_human_row_and_says_why(tmp_path, call):
    edition = "Agents4Science-2025"
    code, printed, said = call("leaderboard", edition, "--state", tmp_path)
    assert code == 2 and f"gre-bench import release {edition} loads it" in said
    assert call("import", "release", edition, "--state", tmp_path)[0] == 0
    code, printed, said = call("leaderboard", edition, "--state", tmp_path)
    told = " ".join(printed.split())
    assert code == 0 and "No order: not validated" in told and "1 AIRev" not in told
    assert "No human candidate, and no AUC: each paper has one human review here, which is the reference." in told
    rows = json.loads(call("leaderboard", edition, "--json", "--state", tmp_path)[1])["rows"]
    assert {row["metric"] for row in rows} == {"gem"} and "human" not in {row["candidate"] for row in rows}
    assert {row["papers"] for row in rows if row["candidate"] in ("AIRev1", "AIRev2", "AIRev3")} == {79}
    page = (find_release(edition) / "index.html").read_text(encoding="utf-8")
    assert "No order: not validated" in page and "No human candidate, and no AUC" in page


def test_its_family_of_tests_is_that_of_its_pairs_in_plain_numpy(folder, tmp_path, call):
    """Of each LM: Student's p by paper, Holm over all groups and tests against chance, trimmed mean and win rate."""
    load_release(folder, tmp_path)
    report = json.loads(call("leaderboard", INCLUDED_EDITION, "--json", "--state", tmp_path)[1])
    groups: dict[str | None, list[str]] = {}
    for row in report["rows"]:
        if row["metric"] == "gem_s_abstract" and row["rank"]:
            groups.setdefault(row["group_name"], []).append(row["candidate"])
    assert sorted(map(len, groups.values())) == [3, 7]
    for lm in LMS:
        named = f"metric = 'gem_s_abstract' and evaluation_lm = '{lm}'"
        with open_release_tables(folder) as run:
            rows = run.sql("select candidate_id, paper_id, reference_id, value from pairs "
                           f"join signatures using (signature_id) where state = 'scored' and {named}").fetchall()  # fmt: skip
            above = dict(run.sql("select candidate_id, above_p from chance join signatures using (signature_id) "
                                 f"where {named}").fetchall())  # fmt: skip
            found = run.sql("select first, second, p_holm, trimmed, trimmed_low, sign_p from pair_tests "
                            f"join signatures using (signature_id) where board = 'all' and {named}").fetchall()  # fmt: skip
        tests = {row[:2]: row[2:] for row in found}
        shown = {(row["first"], row["second"]): row for row in report["pair_tests"] if row["evaluation_lm"] == lm}
        values = {row[:3]: row[3] for row in rows}
        differences: dict[tuple[str, str], np.ndarray] = {}
        for pair in (pair for names in groups.values() for pair in combinations(names, 2)):
            by_paper: dict[str, list[float]] = {}
            for name, paper, reference in values:
                if name == pair[0] and (pair[1], paper, reference) in values:
                    lead = values[name, paper, reference] - values[pair[1], paper, reference]
                    by_paper.setdefault(paper, []).append(lead)
            differences[pair] = np.array([np.mean(each) for each in by_paper.values()])
        ps = [stats.ttest_1samp(each, 0).pvalue for each in differences.values()]
        ps += [above[name] for names in groups.values() for name in names if name in above]
        corrected = dict(zip(differences, adjust_by_holm(ps), strict=False))
        assert len(tests) == len(differences) == 24
        # Only a validated LM has an order that a board shows.
        assert {row["tests"] for row in shown.values()} == ({len(ps)} if lm == LMS[0] else set())
        for pair, each in differences.items():
            sign, names = (1, pair) if pair in tests else (-1, pair[::-1])
            low, _ = stats.mstats.trimmed_mean_ci(sign * each, (0.1, 0.1), alpha=0.1)
            p = stats.binomtest(int((each > 0).sum()), int((each != 0).sum())).pvalue
            assert tests[names] == pytest.approx((corrected[pair], stats.trim_mean(sign * each, 0.1), low, p))
            if lm == LMS[0]:
                sign, row = (1, shown[pair]) if pair in shown else (-1, shown[pair[::-1]])
                low, _ = stats.mstats.trimmed_mean_ci(sign * each, (0.1, 0.1), alpha=0.1)
                assert row["win_rate"] == pytest.approx((sign * each > 0).mean())
                assert row["surely_ahead"] == (corrected[pair] < 0.05 and low > 0 and p < 0.05)


def test_its_two_lms_order_candidates_as_its_boards_do_papers_weighing_alike(folder, tmp_path):
    load_release(folder, tmp_path)
    lms, metrics = LMS, ["gem_s_abstract"]
    with open_release_tables(folder) as run:
        pairs = run.sql("select metric, evaluation_lm, candidate_id, paper_id, value from pairs "
                        "join signatures using (signature_id) where state = 'scored'").fetchall()  # fmt: skip
    for row in compare_lms(tmp_path, INCLUDED_EDITION, lms, metrics)["evaluation_lms"]:
        names = [line["candidate"] for line in row["candidates"]]
        by_lm = []
        for lm in lms:
            papers: dict[str, dict[str, list[float]]] = {name: {} for name in names}
            for metric, own, name, paper, value in pairs:
                if (metric, own) == (row["metric"], lm) and name in papers:
                    papers[name].setdefault(paper, []).append(value)
            by_lm.append([np.mean([np.mean(values) for values in papers[name].values()]) for name in names])
        ranks = [[1 + sum(other > mean for other in means) for mean in means] for means in by_lm]
        assert [line["ranks"] for line in row["candidates"]] == [list(both) for both in zip(*ranks, strict=True)]
        assert row["agreement"]["spearman"] == pytest.approx(stats.spearmanr(*by_lm)[0])


def test_its_contrasts_above_chance_are_tested_by_exchanges_of_reviews_as_its_board_is(folder, tmp_path):
    load_release(folder, tmp_path)
    with open_release_tables(folder) as run:
        scores = run.sql("select metric, evaluation_lm, candidate_id, paper_id, reference_id, value from pairs "
                         "join signatures using (signature_id) where state = 'scored'").fetchall()  # fmt: skip
        swap = {(name, paper): swap for name, paper, swap in
                run.sql("select candidate_id, paper_id, swap from moved").fetchall()}  # fmt: skip
    value = {row[:5]: row[5] for row in scores}

    def tested(metric: str, lm: str, part: str, pair: Sequence[str]) -> tuple[float, float, float]:
        """Difference, half of its 95% interval, and p, in plain numpy."""
        by_paper: dict[str, list[float]] = {}
        for name, own, candidate, paper, reference in value:
            keys = [[(of, lm, each, paper, reference) for each in pair] for of in (metric, f"{metric}_specific")]
            if (name, own, candidate) == (metric, lm, pair[0]) and all(key in value for both in keys for key in both):
                whole, above = (value[both[0]] - value[both[1]] for both in keys)
                by_paper.setdefault(paper, []).append(above if part == "above_chance" else whole - above)
        differences = np.array([np.mean(values) for values in by_paper.values()])
        away, size = differences - differences.mean(), len(differences)
        swaps = np.array([[swap[name, paper] for name in pair] for paper in by_paper])
        squares, units = [], []
        for labels in (swaps[:, 0], swaps[:, 1], np.char.add(swaps[:, 0], swaps[:, 1])):
            sums = np.array([away[labels == label].sum() for label in np.unique(labels)])
            units.append(len(sums))
            squares.append(len(sums) / (len(sums) - 1) * sums @ sums / size**2)
        error = np.sqrt(max(squares[0] + squares[1] - squares[2], squares[2]))
        freedom = min(units) - 1
        p = 2 * stats.t.sf(abs(differences.mean()) / error, freedom)
        return float(differences.mean()), float(stats.t.ppf(0.975, freedom) * error), float(p)

    for row in compute_contrasts_of_file(tmp_path, INCLUDED_EDITION, CONTRASTS)["contrasts"]:
        for part in ("chance", "above_chance") if row["evaluation_lm"] == LMS[0] else ():
            mean, half, p = tested(row["metric"], row["evaluation_lm"], part, (row["first"], row["second"]))
            found = [row[part][name] for name in ("difference", "low", "high", "p")]
            assert found == pytest.approx([mean, mean - half, mean + half, p])
    models = sorted({name for _, _, name, *_ in value if name.startswith(("openai/", "anthropic/"))})
    ps = [tested("gem_s_abstract", LMS[0], "above_chance", pair)[2] for pair in combinations(models, 2)]
    assert len(ps) == 15 and sum(p < 0.05 for p in adjust_by_holm(ps)) == 8
    _, _, p = tested("gem_s_abstract", LMS[0], "above_chance", models[:2])
    metrics = ["gem_s_abstract", "gem_s_abstract_specific"]
    plain, specific = compare_candidates(tmp_path, INCLUDED_EDITION, models[:2], metrics)["candidates"]
    assert (plain["above_chance"]["p"], specific["p"]) == pytest.approx((p, p))


def test_the_doubt_of_the_slope_widens_contrasts_of_unlike_lengths_most(folder, tmp_path, monkeypatch):
    """An ensemble's reviews are twice as long: with a slope taken as known, its interval would be far too short."""
    load_release(folder, tmp_path)

    def contrasts_by_the_board() -> list[dict[str, Any]]:
        rows = compute_contrasts_of_file(tmp_path, INCLUDED_EDITION, CONTRASTS)["contrasts"]
        return [row for row in rows if (row["metric"], row["evaluation_lm"]) == ("gem_s_abstract", "cache-ngram-3")]

    doubted = contrasts_by_the_board()

    def known(*values, **more):
        slope = estimate_length_slope(*values, **more)
        return replace(slope, influence=dict.fromkeys(slope.influence, 0.0))

    monkeypatch.setattr(contrasts, "estimate_length_slope", known)
    sure = contrasts_by_the_board()
    wider = {}
    for row, other in zip(doubted, sure, strict=True):
        one, two = row["at_length"]["common"], other["at_length"]["common"]
        assert one["value"] == two["value"]
        wider[row["at_length"]["overlap"]] = (one["high"] - one["low"]) / (two["high"] - two["low"])
    assert wider[min(wider)] > 2  # of the ensemble
    assert all(ratio == pytest.approx(1, abs=0.05) for overlap, ratio in wider.items() if overlap > 0.8)


def test_what_is_no_release_is_one_line_that_names_those_that_there_are(tmp_path, call):
    with pytest.raises(SettingsError, match=f"comes with the program; .*{LATEST[0]}"):
        find_release("ICLR-2022-llm")
    code, _, said = call("leaderboard", INCLUDED_EDITION, "--state", tmp_path)
    assert code == 2 and f"gre-bench import release {INCLUDED_EDITION}" in said


def test_a_release_of_scores_only_has_neither_texts_nor_pages_of_papers(own, call):
    code, _, said = call("publish", "ICLR-2025", "--scores-only", "--state", own)
    assert code == 0, said
    release = own / "releases" / "ICLR-2025-r2"
    assert not (release / "papers").exists() and "papers/" not in (release / "index.html").read_text()
    with open_release_tables(release) as run:
        assert run.sql("select count(text), (select count(*) from spans) from reviews").fetchall() == [(0, 0)]
    code, _, said = call("verify", release, "--state", own)
    assert code == 0, said
    assert call("publish", "ICLR-2025", "--scores-only", "--all-texts", "--state", own)[0] == 2
