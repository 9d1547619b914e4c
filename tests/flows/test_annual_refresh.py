"""The refresh: every planned pair ends with a score or a reason, nothing is done twice, the board is right."""

from __future__ import annotations

import json
import math
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, SourceError, SpanError
from gre_bench.core.records import Prediction
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.spending import in_flight_when_killed
from gre_bench.preflight.dry_run import estimate
from gre_bench.stats.intervals import clustered_test, flat_interval, paired_test
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.tasks import steps
from gre_bench.writing.spend_log import spend_log_of
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
from tests.scripted_lms import FaultyLM, OverlapLM


@pytest.fixture(autouse=True)
def lm():
    return use(OverlapLM())


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


def too_long(_span):
    return SpanError("too_long", "9 tokens where 8 fit")


def test_every_planned_pair_is_scored_or_excluded(tmp_path):
    summary = run(tmp_path)
    assert (summary["outcome"], summary["papers"]) == ("done", 16)
    counts = {
        row["metric"]: tuple(row[name] for name in ("planned", "scored", "failed", "excluded", "missing"))
        for row in summary["metrics"]
    }
    assert counts == {"gem": (96, 96, 0, 0, 0), "gem_s_abstract": (96, 96, 0, 0, 0), "gem_raw": (96, 64, 0, 32, 0)}


def test_scores_equal_those_of_the_texts_one_by_one(grown):
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


def test_token_log_probabilities_are_stored_and_add_up(tmp_path):
    refreshed(tmp_path)
    rows = query(
        tmp_path,
        """select s.value, c.logprobs, m.logprobs from scores s
        join spans c on c.prediction = s.predictions[1] join spans m on m.prediction = s.predictions[2]""",
    )
    assert len(rows) == 256
    for value, conditional, marginal in rows:
        assert value == pytest.approx(math.fsum(conditional) - math.fsum(marginal), rel=1e-5, abs=1e-4)


def test_the_board_equals_the_statistics_computed_apart(tmp_path):
    refreshed(tmp_path)
    by_row = defaultdict(list)
    for signature_id, candidate, paper, value in query(
        tmp_path, "select signature_id, candidate_id, paper_id, value from pairs where state = 'scored'"
    ):
        by_row[signature_id, candidate].append((paper, value))
    names = (
        "signature_id, candidate, score, low, high, flat_low, flat_high, vs_human, vs_human_low, vs_human_high, p_alone"
    )
    checked = 0
    for signature_id, candidate, *numbers in query(tmp_path, f"select {names} from leaderboard where scored > 0"):
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
    assert checked == 5


def test_ranks_are_for_candidates_and_controls_have_none(grown):
    rows = query(grown[0], "select candidate, rank, kind, unranked from leaderboard where metric = 'gem'")
    assert {row[0]: row[2:] for row in rows if row[0] not in ("lazy", "unjudged")} == {
        "generic": ("control", "control"), "human": ("human", None), "model-a": ("model", None),
        "other-paper": ("control", "control"),
    }  # fmt: skip
    assert sorted(row[1] for row in rows if row[1]) == [1, 2]


def test_a_second_run_does_no_work(tmp_path, lm):
    refreshed(tmp_path)
    asked, before = len(lm.asked), tables(tmp_path)
    summary = run(tmp_path)
    assert len(lm.asked) == asked
    assert (summary["outcome"], summary["scored_now"]) == ("done", 0)
    assert_same(tables(tmp_path), before)


def test_a_candidate_added_later_costs_only_its_own_predictions(tmp_path, lm):
    refreshed(tmp_path)
    own = "candidate, score, low, high, flat_low, flat_high, vs_human, p_alone, expected, scored, unranked"
    others = f"select {own} from leaderboard where kind <> 'model' order by signature_id, candidate"
    before = query(tmp_path, others)
    lm.asked.clear()
    add_reviews(tmp_path, reviews_by("model-a"))
    summary = run(tmp_path, candidates=("model-a",))
    assert summary["scored_now"] == 96
    assert len(lm.asked) == 96
    assert all(prediction.x is not None for prediction in lm.asked)
    assert_same({"board": query(tmp_path, others)}, {"board": before})


def test_a_candidate_added_to_nothing_brings_the_human_baseline(tmp_path):
    run(tmp_path, limit=2)
    add_reviews(tmp_path, reviews_by("model-a"))
    run(tmp_path, "scoring.form=strict", candidates=("model-a",))
    found = query(
        tmp_path, "select distinct candidate_id from plan join signatures using (signature_id) where form = 'strict'"
    )
    assert {row[0] for row in found} == {"human", "model-a"}


def test_a_pilot_is_part_of_the_full_run(tmp_path, lm):
    summary = run(tmp_path, limit=4)
    assert (summary["papers"], summary["sampled"]) == (4, 16)
    pilot = dict(query(tmp_path, "select signature_id || paper_id || candidate_id || reference_id, value from scores"))
    assert len(pilot) == 64
    run(tmp_path)
    full = dict(query(tmp_path, "select signature_id || paper_id || candidate_id || reference_id, value from scores"))
    assert len(full) == 256
    assert pilot.items() <= full.items()
    run(tmp_path, limit=4)
    assert query(tmp_path, "select count(*) from plan") == [(288,)]


def test_a_transient_problem_leaves_the_pair_missing_and_the_next_run_tries_again(tmp_path):
    hit = []

    def once(span):
        hit.append(span)
        return SpanError("unreachable", "the server is down", final=False)

    use(FaultyLM(once, lambda prediction: "sparsity" in (prediction.x or "") or not hit))
    summary = run(tmp_path)
    assert summary["outcome"] == "incomplete"
    missing = sum(row["missing"] for row in summary["metrics"])
    assert missing > 0
    assert "unreachable" in {row["reason"] for row in summary["reasons"]}
    assert "the server is down" in summary["message"]
    assert query(tmp_path, "select count(*) from scores where problem is not null") == [(0,)]
    use(OverlapLM("scripted-faulty"))
    again = run(tmp_path)
    assert (again["outcome"], again["scored_now"]) == ("done", missing)


def test_a_final_problem_is_stored_and_tried_again_only_when_asked(tmp_path):
    without_seeds(too_long)
    first = run(tmp_path)
    failed = sum(row["failed"] for row in first["metrics"])
    assert first["outcome"] == "done"
    assert failed > 0
    lm = use(OverlapLM("scripted-faulty"))
    assert run(tmp_path)["scored_now"] == 0
    assert lm.asked == []
    healed = run(tmp_path, retry_failed=True)
    assert healed["scored_now"] == failed
    assert sum(row["failed"] for row in healed["metrics"]) == 0


def test_a_nan_is_a_fault_that_names_the_pair_and_reaches_no_table(tmp_path):
    without_seeds(lambda span: replace(span, logprobs=(math.nan, *span.logprobs[1:])))
    summary = run(tmp_path)
    assert summary["outcome"] == "fault"
    assert "paper s" in summary["message"] and "reference s" in summary["message"]
    assert query(tmp_path, "select count(*) from scores where value is not null and not isfinite(value)") == [(0,)]
    assert query(tmp_path, "select count(*) from leaderboard where score is not null and not isfinite(score)") == [(0,)]
    assert sum(row["scored"] + row["failed"] + row["excluded"] for row in summary["metrics"]) == 288


def test_a_candidate_with_too_few_scored_pairs_is_unranked(grown):
    state, summary = grown
    lazy = query(state, "select rank, unranked from leaderboard where metric = 'gem' and candidate = 'lazy'")
    assert lazy == [(None, "only 30 of 32 pairs scored")]
    failed = {"metric": "gem", "state": "failed", "reason": "no_review", "broken": False, "pairs": 2, "example": ""}
    assert failed in summary["reasons"]


def test_judgments_of_another_writer_are_never_paired(grown):
    state, summary = grown
    assert summary["outcome"] == "incomplete" and "no judgments by sample-author" in summary["message"]
    assert "--set writing.judgments=rule" in summary["message"]
    found = query(state, "select metric, scored, missing from leaderboard where candidate = 'unjudged' order by all")
    assert found == [("gem", 0, 32), ("gem_raw", 32, 0), ("gem_s_abstract", 0, 32)]


def test_scores_of_different_signatures_stand_apart(tmp_path):
    refreshed(tmp_path)
    run(tmp_path, "scoring.form=strict", "scoring.metrics=['gem']")
    assert query(tmp_path, "select count(distinct signature_id) from leaderboard where metric = 'gem'") == [(2,)]
    shown = Store(tmp_path, EDITION).read(CURRENT_SIGNATURES)
    assert [(row["metric"], row["form"]) for row in shown] == [("gem", "strict")]


def test_a_run_says_how_many_requests_were_in_flight_when_another_was_killed(tmp_path):
    store, log = Store(refreshed(tmp_path), EDITION), spend_log_of(tmp_path)
    log.add("sent", "another edition", "model")
    assert in_flight_when_killed(store) == []
    for _ in range(3):
        log.add("sent", EDITION, "model")
    told = "in flight when a run was killed: each may have been paid, without a reply or cost on record"
    assert in_flight_when_killed(store) == [f"3 requests were {told}"]
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


def test_an_unknown_candidate_is_named_with_the_known_ones(tmp_path):
    with pytest.raises(SettingsError, match="no candidate gpt-9 .* known, nearest first: .*human"):
        run(tmp_path, candidates=("gpt-9",))
    assert Store(tmp_path, EDITION).status()["state"] == "refused"
    assert query(tmp_path, "select outcome from runs") == [("refused",)]


def test_an_unknown_backend_is_named_with_the_known_ones(tmp_path):
    with pytest.raises(
        SettingsError, match="no evaluation LM backend 'gpt'; known: cache-ngram, gem-smollm2, transformers"
    ):
        run(tmp_path, "evaluation_lm.backend=gpt")


def test_refused_rows_of_a_source_stop_the_run_before_the_sample_is_drawn(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"paper_id": "s01", "slot": 1, "review": ""}\n')
    with pytest.raises(SourceError, match=r"bad.jsonl: 1 row refused, first review s01 \(row 1\): empty review"):
        run(tmp_path, f"sources.reviews={bad}")
    assert query(tmp_path, "select count(*) from sample") == [(0,)]
    assert len(list(tmp_path.rglob("refused/*.jsonl"))) == 1


def dry(state, **asked):
    with tempfile.TemporaryDirectory() as scratch:
        return estimate(Job(demo(), state, **asked), Path(scratch))


def test_a_dry_run_tells_and_changes_nothing(tmp_path, lm):
    fresh = dry(tmp_path)
    assert (fresh["due"], fresh["sampled"]) == (256, 16)
    assert not (tmp_path / "editions").exists()
    run(tmp_path, limit=4)
    before = tables(tmp_path)
    found = dry(tmp_path, limit=8)
    assert (found["due"], found["papers"]) == (64, 8)
    assert found["seconds"] >= 0
    assert_same(tables(tmp_path), before)
    done = dry(tmp_path, limit=4)
    assert (done["due"], done["seconds"]) == (0, 0.0)


def test_status_tells_how_far_a_run_is(tmp_path):
    seen = []

    class Watching(OverlapLM):
        def logprob(self, predictions):
            seen.append(Store(tmp_path, EDITION).status())
            return super().logprob(predictions)

    use(Watching(pause_s=0.002))
    run(tmp_path, "run.chunk_papers=4")
    first, last = seen[0], seen[-1]
    assert (first["state"], first["stage"], first["due"], first["done"]) == ("running", "scoring", 256, 0)
    assert last["done"] == 192
    assert last["remaining_s"] > 0
    ended = Store(tmp_path, EDITION).status()
    assert (ended["state"], ended["done"], ended["remaining_s"]) == ("done", 256, None)


@pytest.mark.parametrize("chunk", [1, 5])
def test_the_tables_do_not_depend_on_how_the_work_is_cut(tmp_path, chunk):
    run(tmp_path / "a", f"run.chunk_papers={chunk}")
    assert_same(tables(tmp_path / "a"), tables(refreshed(tmp_path / "b")))


def test_a_candidate_planned_on_other_papers_than_the_rest_is_unranked(tmp_path):
    run(tmp_path, limit=2)
    add_reviews(tmp_path, reviews_by("model-a"))
    run(tmp_path)
    run(tmp_path, "edition.sample=pilot", limit=3)
    board = (
        "select candidate, scored, expected, rank is not null from leaderboard where metric = 'gem' order by candidate"
    )
    add_reviews(tmp_path, reviews_by("model-b"))
    run(tmp_path, candidates=("model-b",), limit=2)
    rows = {row[0]: row[1:] for row in query(tmp_path, board)}
    assert rows["model-b"] == (4, 32, False)
    assert rows["human"] == rows["model-a"] == (32, 32, True)


def test_a_candidate_added_to_a_pilot_brings_the_human_baseline_to_the_same_papers(tmp_path):
    run(tmp_path, limit=3)
    add_reviews(tmp_path, reviews_by("model-a"))
    run(tmp_path, candidates=("model-a",))
    found = dict(query(tmp_path, "select candidate, scored from leaderboard where metric = 'gem'"))
    assert found == {"human": 32, "model-a": 32, "other-paper": 32, "generic": 32}


def test_a_difference_is_paired_by_reference_and_then_by_paper(tmp_path):
    run(tmp_path, "scoring.metrics=['gem']")
    store = Store(tmp_path, EDITION)
    with store.lock("test"), store.transaction() as change:
        # A twin of the human that lacks one of two references of some papers.
        change.execute("insert into candidates (candidate_id, kind, model) values ('twin', 'model', 'twin')")
        change.execute(
            "insert into plan select * replace ('twin' as candidate_id) from plan where candidate_id = 'human'"
        )
        change.execute(
            "insert into scores select * replace ('twin' as candidate_id) from scores where candidate_id = "
            "'human' and not (paper_id < 's06' and reference_id in (select min(reference_id) from scores "
            "where candidate_id = 'human' group by paper_id))"
        )
    ((difference, papers),) = query(
        tmp_path, "select vs_human, vs_human_papers from leaderboard where candidate = 'twin'"
    )
    assert difference == pytest.approx(0.0, abs=1e-12)
    assert papers == 16


def test_retrying_one_candidate_forgets_no_failure_of_another(tmp_path):
    without_seeds(too_long)
    run(tmp_path)
    lost = "select count(*) from scores where problem is not null and candidate_id = 'human'"
    ((before,),) = query(tmp_path, lost)
    assert before > 0
    add_reviews(tmp_path, reviews_by("model-a", range(1, 3)))
    run(tmp_path, candidates=("generic",), retry_failed=True, limit=1)
    ((after,),) = query(tmp_path, lost)
    assert after >= before - 8


def test_the_separation_goes_when_its_controls_are_no_longer_planned(tmp_path):
    refreshed(tmp_path)
    assert query(tmp_path, "select count(*) from separation") == [(3,)]
    run(tmp_path, "scoring.candidates=['human','generic']")
    assert query(tmp_path, "select count(*) from separation") == [(0,)]


def test_reviews_without_judgments_are_named_instead_of_an_empty_board(tmp_path):
    raw = [{"paper_id": f"s{n:02d}", "review_id": f"h{n}-{k}", "review": "Good."} for n in (1, 2) for k in range(3)]
    chosen = settings.load(None, (
        "edition.venue=RAW", "evaluation_lm.backend=scripted", "scoring.metrics=['gem']",
        "sources.papers_from_reviews=true", "sources.reviews_by=human", f"sources.reviews={tmp_path / 'raw.jsonl'}",
    ))  # fmt: skip
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in raw))
    with one_line("gem can score no human review (no_judgments): import what is missing, or have it", kind=SourceError):
        refresh(Job(chosen, tmp_path), steps.undecorated())
    assert query(tmp_path, "select count(*) from sample", "RAW-2026") == [(0,)]


def test_an_edition_that_is_not_there_is_not_made_by_asking_for_it(tmp_path):
    bare = settings.load(None, ("edition.venue=TYPO", "evaluation_lm.backend=scripted"))
    with pytest.raises(SettingsError, match="no edition TYPO-2026 in .*; known: none yet .no sources to make it from"):
        refresh(Job(bare, tmp_path), steps.undecorated())
    assert not (tmp_path / "editions").exists()
    with pytest.raises(SettingsError, match="limit 0: a pilot needs at least one paper"):
        run(tmp_path, limit=0)


def test_an_import_leaves_what_the_last_refresh_said(tmp_path):
    refreshed(tmp_path)
    add_reviews(tmp_path, reviews_by("model-a"))
    status = Store(tmp_path, EDITION).status()
    assert (status["command"], status["state"], len(status["metrics"])) == ("refresh", "done", 3)
