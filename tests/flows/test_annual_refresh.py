"""The refresh: every planned pair ends with a score or a reason, nothing is done twice, the board is right."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest

from gre_bench.checks.dry_run import estimate_refresh_cost
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, SourceError, SpanError
from gre_bench.core.records import Prediction
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.spending import describe_unanswered_requests
from gre_bench.stats.intervals import clustered_test, flat_interval, paired_test
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.writing.spend_log import open_spend_log
from tests.flows.refreshing import (
    EDITION,
    add_papers,
    add_reviews,
    assert_same,
    demo,
    query,
    refreshed,
    reviews_by,
    run,
    tables,
    use,
)
from tests.one_line import one_line
from tests.release.made_up import change
from tests.scripted_lms import FaultyLM, OverlapLM


@pytest.fixture(autouse=True)
def lm():
    return use(OverlapLM())


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board of the sample edition, which nobody may change."""
    return refreshed(tmp_path_factory.mktemp("board") / "state")


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A board with three more candidates, which nobody may change, and the summary of the refresh that scored them."""
    use(OverlapLM())
    state = refreshed(tmp_path_factory.mktemp("grown") / "state")
    lazy, unjudged = reviews_by("lazy", range(1, 16)), reviews_by("unjudged", writer="someone-else")
    add_reviews(state, [*reviews_by("model-a"), *lazy, *unjudged])
    return state, run(state)


def without_seeds(span):
    """Makes an evaluation LM that fails for good with *span* where a review speaks of a seed; returns it."""
    return use(FaultyLM(span, lambda prediction: "seed" in (prediction.x or "")))


def test_every_planned_pair_is_scored_or_excluded_a_second_run_does_no_work_and_an_import_leaves_what_it_said(
    tmp_path, lm
):
    summary = run(tmp_path)
    assert (summary["outcome"], summary["papers"]) == ("done", 16)
    counts = {
        row["metric"]: tuple(row[name] for name in ("planned", "scored", "failed", "excluded", "missing"))
        for row in summary["metrics"]
    }
    assert counts == {"gem": (96, 96, 0, 0, 0), "gem_s_abstract": (96, 96, 0, 0, 0), "gem_raw": (96, 64, 0, 32, 0)}
    asked, before = len(lm.asked), tables(tmp_path)
    summary = run(tmp_path)
    assert (len(lm.asked), summary["outcome"], summary["scored_now"]) == (asked, "done", 0)
    assert_same(tables(tmp_path), before)
    add_reviews(tmp_path, reviews_by("model-a"))
    status = Store(tmp_path, EDITION).status()
    assert (status["command"], status["state"], len(status["metrics"])) == ("refresh", "done", 3)


def test_scores_equal_those_of_the_texts_one_by_one_and_the_stored_log_probabilities_add_up_to_them(grown):
    texts = query(
        grown[0],
        """select p.value, c.text, r.text
        from pairs p
        join signatures using (signature_id)
        join sample s on s.paper_id = p.paper_id and s.role = 'candidate'
        join judgments c on c.review_id = s.review_id
        join judgments r on r.review_id = p.reference_id
        where metric = 'gem' and candidate_id = 'human'""",
    )
    assert len(texts) == 32
    for value, x, y in texts:
        expected = OverlapLM.span(Prediction(x, None, y)).total - OverlapLM.span(Prediction(None, None, y)).total
        assert value == pytest.approx(expected, rel=1e-9)
    rows = query(
        grown[0],
        """select s.value, c.logprobs, m.logprobs from scores s
        join spans c on c.prediction = s.predictions[1] join spans m on m.prediction = s.predictions[2]""",
    )
    assert len(rows) == 256 + 96 + 90 + 32
    for value, conditional, marginal in rows:
        assert value == pytest.approx(math.fsum(conditional) - math.fsum(marginal), rel=1e-5, abs=1e-4)


def test_the_board_equals_the_statistics_computed_apart(grown):
    by_row = defaultdict(list)
    for signature_id, candidate, paper, value in query(
        grown[0], "select signature_id, candidate_id, paper_id, value from pairs where state = 'scored'"
    ):
        by_row[signature_id, candidate].append((paper, value))
    names = (
        "signature_id, candidate, score, low, high, flat_low, flat_high, vs_human, vs_human_low, vs_human_high, p_alone"
    )
    checked = 0
    for signature_id, candidate, *numbers in query(grown[0], f"select {names} from leaderboard where scored > 0"):
        papers, values = zip(*by_row[signature_id, candidate], strict=True)
        clustered, flat = clustered_test(values, papers), flat_interval(values)
        assert numbers[:5] == pytest.approx([clustered.value, clustered.low, clustered.high, flat.low, flat.high])
        if candidate == "human":
            assert numbers[5:] == [None] * 4
            continue
        means = [{}, {}]
        for place, name in enumerate((candidate, "human")):
            grouped = defaultdict(list)
            for paper, value in by_row[signature_id, name]:
                grouped[paper].append(value)
            means[place] = {paper: sum(group) / len(group) for paper, group in grouped.items()}
        test = paired_test([means[0][paper] - means[1][paper] for paper in means[0] if paper in means[1]])
        assert numbers[5:] == pytest.approx([test.value, test.low, test.high, test.p], rel=1e-6)
        checked += 1
    assert checked == 5 + 3 + 3 + 1


def test_ranks_are_for_candidates_with_enough_pairs_and_judgments_of_another_writer_are_never_paired(grown):
    state, summary = grown
    rows = query(state, "select candidate, rank, kind, unranked from leaderboard where metric = 'gem'")
    assert {row[0]: row[2:] for row in rows if row[0] != "unjudged"} == {
        "generic": ("control", "control"), "human": ("human", None), "model-a": ("model", None),
        "other-paper": ("control", "control"), "lazy": ("model", "only 30 of 32 pairs scored"),
    }  # fmt: skip
    assert sorted(row[1] for row in rows if row[1]) == [1, 2]
    unsupplied = {"metric": "gem", "state": "missing", "reason": "no_review", "broken": False, "unfinished": False,
                  "pairs": 2, "example": ""}  # fmt: skip
    assert unsupplied in summary["reasons"]
    assert summary["outcome"] == "incomplete" and "no judgments by sample-author" in summary["message"]
    assert "--set writing.judgments=rule" in summary["message"]
    found = query(state, "select metric, scored, missing from leaderboard where candidate = 'unjudged' order by all")
    assert found == [("gem", 0, 32), ("gem_raw", 32, 0), ("gem_s_abstract", 0, 32)]


def test_a_candidate_added_later_costs_only_its_own_predictions(tmp_path, lm):
    refreshed(tmp_path)
    own = "candidate, score, low, high, flat_low, flat_high, vs_human, p_alone, expected, scored, unranked"
    others = f"select {own} from leaderboard where kind <> 'model' order by signature_id, candidate"
    before = query(tmp_path, others)
    add_reviews(tmp_path, reviews_by("model-a"))
    summary = run(tmp_path, candidates=("model-a",))
    assert summary["scored_now"] == len(lm.asked) == 96
    assert all(prediction.x is not None for prediction in lm.asked)
    assert_same({"board": query(tmp_path, others)}, {"board": before})


def test_a_candidate_added_brings_the_human_baseline_and_one_planned_on_other_papers_than_the_rest_is_unranked(
    tmp_path,
):
    run(tmp_path, limit=2)
    add_reviews(tmp_path, [*reviews_by("model-a"), *reviews_by("model-b")])
    run(tmp_path, candidates=("model-a",))
    found = dict(query(tmp_path, "select candidate, scored from leaderboard where metric = 'gem'"))
    assert found == {"human": 32, "model-a": 32, "other-paper": 32, "generic": 32}
    run(tmp_path, candidates=("model-b",), limit=2)
    board = "select candidate, scored, expected, rank is not null from leaderboard where metric = 'gem'"
    rows = {row[0]: row[1:] for row in query(tmp_path, board)}
    assert rows["model-b"] == (4, 32, False)
    assert rows["human"] == rows["model-a"] == (32, 32, True)
    run(tmp_path, "scoring.form=strict", candidates=("model-a",), limit=2)
    planned = "select distinct candidate_id from plan join signatures using (signature_id) where form = 'strict'"
    assert {row[0] for row in query(tmp_path, planned)} == {"human", "model-a"}


def test_a_pilot_is_part_of_the_full_run_and_a_dry_run_tells_what_is_left_and_changes_nothing(tmp_path):
    def dry(**asked):
        return estimate_refresh_cost(Job(demo(), tmp_path / "state", **asked), Path(mkdtemp(dir=tmp_path)))

    state, scores = (
        tmp_path / "state",
        "select signature_id || paper_id || candidate_id || reference_id, value from scores",
    )
    fresh = dry()
    assert (fresh["due"], fresh["sampled"]) == (256, 16)
    assert not (state / "editions").exists()
    summary = run(state, limit=4)
    assert (summary["papers"], summary["sampled"]) == (4, 16)
    before, pilot = tables(state), dict(query(state, scores))
    assert len(pilot) == 64
    found, done = dry(limit=8), dry(limit=4)
    assert (found["due"], found["papers"], found["seconds"] >= 0) == (64, 8, True)
    assert (done["due"], done["seconds"]) == (0, 0.0)
    assert_same(tables(state), before)
    run(state)
    full = dict(query(state, scores))
    assert len(full) == 256 and pilot.items() <= full.items()
    run(state, limit=4)
    assert query(state, "select count(*) from plan") == [(288,)]


def test_a_transient_problem_leaves_the_pair_missing_and_the_next_run_tries_again(tmp_path):
    hit = []

    def once(span):
        hit.append(span)
        return SpanError("unreachable", "the server is down", final=False)

    use(FaultyLM(once, lambda prediction: "sparsity" in (prediction.x or "") or not hit))
    summary = run(tmp_path)
    missing = sum(row["missing"] for row in summary["metrics"])
    assert (summary["outcome"], missing > 0) == ("incomplete", True)
    assert "unreachable" in {row["reason"] for row in summary["reasons"]}
    assert "the server is down" in summary["message"]
    assert query(tmp_path, "select count(*) from scores where problem is not null") == [(0,)]
    use(OverlapLM("scripted-faulty"))
    again = run(tmp_path)
    assert (again["outcome"], again["scored_now"]) == ("done", missing)


def test_a_final_problem_is_stored_and_tried_again_only_when_asked_and_for_whom(tmp_path):
    def lost(where="true"):
        return query(tmp_path, f"select count(*) from scores where problem is not null and {where}")[0][0]

    without_seeds(lambda _span: SpanError("too_long", "9 tokens where 8 fit"))
    first = run(tmp_path)
    assert (first["outcome"], lost()) == ("done", sum(row["failed"] for row in first["metrics"]))
    elsewhere = "candidate_id = 'human' and paper_id <> (select paper_id from sample where position = 0 and place = 0)"
    before = lost(elsewhere)
    assert before > 0
    lm = use(OverlapLM("scripted-faulty"))
    assert (run(tmp_path)["scored_now"], lm.asked) == (0, [])
    run(tmp_path, candidates=("generic",), retry_failed=True, limit=1)
    assert lost(elsewhere) == before
    left = lost()
    healed = run(tmp_path, retry_failed=True)
    assert (healed["scored_now"], sum(row["failed"] for row in healed["metrics"])) == (left, 0)


def test_a_nan_is_a_fault_that_names_the_pair_and_reaches_no_table(tmp_path):
    without_seeds(lambda span: replace(span, logprobs=(math.nan, *span.logprobs[1:])))
    summary = run(tmp_path)
    assert summary["outcome"] == "fault"
    assert "paper s" in summary["message"] and "reference s" in summary["message"]
    for table, column in (("scores", "value"), ("leaderboard", "score")):
        wrong = f"select count(*) from {table} where {column} is not null and not isfinite({column})"
        assert query(tmp_path, wrong) == [(0,)]
    assert sum(row["scored"] + row["failed"] + row["excluded"] for row in summary["metrics"]) == 288


def test_the_separation_goes_with_its_controls_and_scores_of_different_signatures_stand_apart(tmp_path):
    refreshed(tmp_path)
    assert query(tmp_path, "select count(*) from separation") == [(3,)]
    run(tmp_path, "scoring.candidates=['human','generic']")
    assert query(tmp_path, "select count(*) from separation") == [(0,)]
    run(tmp_path, "scoring.form=strict", "scoring.metrics=['gem']")
    assert query(tmp_path, "select count(distinct signature_id) from leaderboard where metric = 'gem'") == [(2,)]
    shown = Store(tmp_path, EDITION).read(CURRENT_SIGNATURES)
    assert [(row["metric"], row["form"]) for row in shown] == [("gem", "strict")]


def test_a_run_says_how_many_requests_were_in_flight_when_another_was_killed(tmp_path):
    store, log = Store(refreshed(tmp_path), EDITION), open_spend_log(tmp_path)
    log.add("sent", "another edition", "model")
    assert describe_unanswered_requests(store) == []
    for _ in range(3):
        log.add("sent", EDITION, "model")
    told = "in flight when a run was killed: each may have been paid, without a reply or cost on record"
    assert describe_unanswered_requests(store) == [f"3 requests were {told}"]
    for _ in range(2):
        paid = {"outcome": "ok", "prompt_tokens": 1, "reply_tokens": 1, "usd": 0.0, "estimated": False}
        log.add("answered", EDITION, "model", **paid)
    assert run(tmp_path, "scoring.metrics=['gem']", limit=2)["notes"] == [f"1 request was {told}"]


def test_a_drawn_sample_never_changes(tmp_path):
    run(tmp_path, limit=2)
    before = query(tmp_path, "from sample order by all")
    with pytest.raises(SettingsError, match="was drawn with seed = 0, the settings ask for 1"):
        run(tmp_path, "edition.seed=1")
    add_papers(tmp_path, [{"paper_id": "new", "abstract": "A late one."}])
    summary = run(tmp_path, limit=2)
    assert summary["notes"] == ["1 papers came after the sample was drawn and are not in it"]
    assert query(tmp_path, "from sample order by all") == before
    other = run(tmp_path, "edition.seed=1", "edition.sample=second", limit=2)
    assert other["edition"] == "SAMPLE-2026-second"


def test_what_cannot_be_run_is_one_line_and_draws_no_sample(tmp_path):
    bare = settings.load(None, ("edition.venue=TYPO", "evaluation_lm.backend=scripted"))
    with one_line("no edition TYPO-2026 in ", "; known: none yet (no sources to make it from", kind=SettingsError):
        refresh(Job(bare, tmp_path))
    assert not (tmp_path / "editions").exists()
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"paper_id": "s01", "slot": 1, "review": ""}\n')
    row = "bad.jsonl: 1 row refused, first review s01 (row 1): empty review"
    known = "no evaluation LM backend 'gpt'; known: cache-ngram, gem-smollm2, transformers"
    for kind, says, overrides, asked in (
        (SettingsError, "limit 0: a pilot needs at least one paper", (), {"limit": 0}),
        (SettingsError, known, ("evaluation_lm.backend=gpt",), {}),
        (SourceError, row, (f"sources.reviews={bad}",), {}),
    ):
        with one_line(says, kind=kind):
            run(tmp_path, *overrides, **asked)
    assert query(tmp_path, "select count(*) from sample") == [(0,)]
    assert len(list(tmp_path.rglob("refused/*.jsonl"))) == 1
    with one_line("no candidate gpt-9 ", " known, nearest first: ", "human", kind=SettingsError):
        run(tmp_path, candidates=("gpt-9",))
    assert Store(tmp_path, EDITION).status()["state"] == "refused"
    assert query(tmp_path, "select distinct outcome from runs") == [("refused",)]


def test_reviews_without_judgments_are_named_instead_of_an_empty_board(tmp_path):
    raw = [{"paper_id": f"s{n:02d}", "review_id": f"h{n}-{k}", "review": "Good."} for n in (1, 2) for k in range(3)]
    chosen = settings.load(None, (
        "edition.venue=RAW", "evaluation_lm.backend=scripted", "scoring.metrics=['gem']",
        "sources.papers_from_reviews=true", "sources.reviews_by=human", f"sources.reviews={tmp_path / 'raw.jsonl'}",
    ))  # fmt: skip
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in raw))
    with one_line("gem can score no human review (no_judgments): import what is missing, or have it", kind=SourceError):
        refresh(Job(chosen, tmp_path))
    assert query(tmp_path, "select count(*) from sample", "RAW-2026") == [(0,)]


def test_status_tells_how_far_a_run_is_and_the_tables_do_not_depend_on_how_the_work_is_cut(tmp_path, board):
    seen = []

    class Watching(OverlapLM):
        def logprob(self, predictions):
            seen.append(Store(tmp_path, EDITION).status())
            return super().logprob(predictions)

    use(Watching(pause_s=0.01))
    run(tmp_path, "run.chunk_papers=5")
    first, last = seen[0], seen[-1]
    assert (first["state"], first["stage"], first["due"], first["done"]) == ("running", "scoring", 256, 0)
    assert last["done"] == 240 and last["remaining_s"] == pytest.approx(16 / last["pairs_per_s"], abs=0.06)
    ended = Store(tmp_path, EDITION).status()
    assert (ended["state"], ended["done"], ended["remaining_s"]) == ("done", 256, None)
    assert_same(tables(tmp_path), tables(board))


def test_a_difference_is_paired_by_reference_and_then_by_paper(tmp_path):
    store = Store(refreshed(tmp_path), EDITION)
    human = "select * replace ('twin' as candidate_id) from {} where candidate_id = 'human'"
    # Of two references of some papers the twin of the human lacks one.
    lacking = (
        "not (paper_id < 's06' and reference_id in (select min(reference_id) from scores where candidate_id = 'human' "
        "group by paper_id))"
    )
    change(
        store,
        "insert into candidates (candidate_id, kind, model) values ('twin', 'model', 'twin')",
        f"insert into plan {human.format('plan')}",
        f"insert into scores {human.format('scores')} and {lacking}",
    )
    found = query(tmp_path, "select vs_human, vs_human_papers from leaderboard where candidate = 'twin'")
    assert [(pytest.approx(0.0, abs=1e-12), 16)] * 3 == found
