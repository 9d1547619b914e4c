"""Validation: changed reviews are written, judged, planned and scored as candidates; effects, verdicts, validation records."""

from __future__ import annotations

import json
import shutil

import pytest

from gre_bench.changes.catalog import CHANGES
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.records import signature_of
from gre_bench.flows.annual_refresh import refresh
from gre_bench.flows.validate_metrics import validate
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validation_records import validation_record
from gre_bench.stats.effects import effect
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.tasks import steps
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, demo, query, use, with_papers_read
from tests.scripted_lms import OverlapLM

NOTES = ROOT / "tests" / "flows" / "notes_and_pdfs.toml"
BY_RULE = ("sentence_deletion", "copied_abstract", "concatenation", "shuffled_lines")


@pytest.fixture(autouse=True)
def scripted():
    return use(OverlapLM())


def asked(*overrides):
    few = json.dumps([*BY_RULE, "random_replacement", "generic"])
    return settings.load(
        NOTES,
        (
            "evaluation_lm.backend=scripted", 'scoring.metrics=["gem", "gem_s_abstract", "rouge_l", "length"]',
            f"validation.changes={few}", "validation.resamples=400", "edition.papers=6", *overrides,
        ),
    )  # fmt: skip


def run(state, *overrides, **more):
    return validate(Job(asked(*overrides), with_papers_read(state), **more), steps.undecorated())


@pytest.fixture(scope="module")
def once_validated(tmp_path_factory):
    """A validation that nothing disturbed: its state, which nobody may change, and its summary."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("validated")
    return state, run(state)


@pytest.fixture
def validated(once_validated, tmp_path):
    """A copy of that state, for a test to go on from."""
    return shutil.copytree(once_validated[0], tmp_path / "state")


def cells(summary):
    return {(row["metric"], row["change"]): row for row in summary["effects"]}


def test_every_pair_of_every_change_is_scored_or_excluded_and_effects_are_those_of_the_stored_scores(once_validated):
    state, summary = once_validated
    assert summary["outcome"] == "done"
    assert all(row["missing"] == row["failed"] == 0 for row in summary["metrics"])
    found = cells(summary)
    assert {change for _, change in found} == {*BY_RULE, "random_replacement", "generic"}
    rows = query(
        state,
        """select h.value, c.value, h.paper_id from pairs h join pairs c using (signature_id, paper_id, reference_id)
        join signatures s using (signature_id)
        where s.metric = 'gem' and h.candidate_id = 'human' and c.candidate_id = 'human~sentence_deletion'
        order by h.paper_id, h.reference_id""",
    )
    before, after, papers = zip(*rows, strict=True)
    expected = effect(before, after, papers, resamples=400, seed=0)
    row = found["gem", "sentence_deletion"]
    assert (row["d"], row["low"], row["high"]) == pytest.approx((expected.value, expected.low, expected.high))
    assert (row["pairs"], row["papers"]) == (12, 6)
    assert row["d"] < 0


def test_a_metric_without_reference_is_scored_once_a_response(once_validated):
    found = cells(once_validated[1])
    assert found["length", "concatenation"]["pairs"] == 6
    assert found["length", "concatenation"]["d"] > 1
    assert found["length", "shuffled_lines"]["d"] == pytest.approx(0.0, abs=0.05)
    assert found["length", "concatenation"]["length_d"] is None


def test_a_change_that_no_pair_allows_is_left_out_if_it_is_ours_and_open_if_it_is_the_papers(tmp_path):
    found = cells(run(tmp_path, 'validation.changes=["generic", "elongation"]', "validation.headings=[]"))
    assert ("rouge_l", "generic") not in found
    assert found["rouge_l", "elongation"]["d"] is None
    assert found["rouge_l", "elongation"]["verdict"] == "undecided"
    assert "no_sections" in found["rouge_l", "elongation"]["problem"]


def test_no_metric_passes_while_one_of_the_papers_changes_is_untried(once_validated):
    summary = once_validated[1]
    assert "rephrase_1" in summary["untried"]
    assert {row["verdict"] for row in summary["verdicts"]} <= {"fail", "undecided"}


def test_the_whole_set_of_the_paper_is_made_by_rule_where_no_lm_is_at_hand(tmp_path):
    summary = run(
        tmp_path, f"validation.changes={json.dumps([*list(CHANGES)[:3], 'rephrase_1', 'rephrase_2', 'elongation'])}"
    )
    made = {row["change"]: row["made_by"] for row in summary["effects"]}
    assert made["rephrase_1"] == "rule" and made["rephrase_2"] == "rule-2"
    writers = dict(query(tmp_path, "select distinct candidate_id, prompt from candidates where kind = 'change'"))
    assert set(writers) >= {"human~completion", "human~abstract_only", "human~elongation"}
    assert all(row["pairs"] == 12 for row in summary["effects"] if row["metric"] == "gem")


def test_judgments_are_changed_themselves_where_the_settings_say_so(tmp_path):
    overrides = ("evaluation_lm.backend=scripted", "validation.level=judgments", 'scoring.metrics=["gem"]')
    summary = validate(Job(demo(*overrides, "validation.resamples=400"), tmp_path), steps.undecorated())
    found = cells(summary)
    assert found["gem", "line_deletion"]["d"] < 0
    assert ("gem", "sentence_deletion") not in found
    assert query(tmp_path, "select count(*) from reviews where candidate like '%~%'") == [(0,)]
    due = "select count(*) > 0 from plan where candidate_id = 'human~line_deletion~judgments' and state = 'due'"
    assert query(tmp_path, due) == [(True,)]


def test_a_validation_goes_on_where_it_stopped_and_changes_nothing_when_done(once_validated, validated, scripted):
    texts = query(validated, "select review_id, text from reviews order by 1")
    second = run(validated)
    assert scripted.asked == []
    assert query(validated, "select review_id, text from reviews order by 1") == texts
    assert second["effects"] == once_validated[1]["effects"]


def test_texts_made_in_two_ways_are_never_mixed(validated):
    with pytest.raises(SettingsError, match=r"change sentence_deletion .* never mixed"):
        run(validated, "validation.splitter=linguistic")


def test_a_change_that_the_domain_or_the_level_does_not_allow_is_one_line_and_the_edition_is_free(tmp_path):
    with pytest.raises(SettingsError, match="leave out line_deletion"):
        run(tmp_path, 'validation.changes=["line_deletion"]')
    with pytest.raises(SettingsError, match="no change 'wings'"):
        run(tmp_path, 'validation.changes=["wings"]')
    assert not Store(tmp_path, EDITION).is_being_written()


def test_boards_say_what_became_of_the_validation_and_leave_changes_out(validated):
    refresh(Job(asked(), validated), steps.undecorated())
    marks = dict(query(validated, "select distinct metric, validation from leaderboard"))
    assert marks["length"] in (f"unvalidated: fail on {EDITION}", f"unvalidated: undecided on {EDITION}")
    assert query(validated, "select count(*) from leaderboard where candidate like '%~%'") == [(0,)]
    assert query(validated, "select count(*) from plan where candidate_id = 'human~sentence_deletion'")[0][0] > 0


def test_a_certificate_is_found_by_its_signature_and_a_damaged_one_is_one_line(once_validated, validated):
    summary = once_validated[1]
    signature_id = summary["verdicts"][0]["signature_id"]
    signed = signature_of(next(row for row in Store(validated, EDITION).read(CURRENT_SIGNATURES)
                               if row["signature_id"] == signature_id))  # fmt: skip
    made = validation_record(validated, signed)
    assert made.signature["metric"] == "gem"
    assert made.changes["sentence_deletion"] == cells(summary)["gem", "sentence_deletion"]["verdict"]
    (validated / "validations" / f"{signature_id}.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        validation_record(validated, signed)


def test_a_pilot_certifies_nothing(tmp_path):
    run(tmp_path, limit=4)
    assert not (tmp_path / "validations").exists()


def test_shipped_certificates_are_whole_and_named_by_their_signature():
    from gre_bench.core.records import Signature

    files = list((ROOT / "data" / "validations").glob("*/*.json"))
    assert files
    for file in files:
        found = json.loads(file.read_text())
        assert found["edition"] == file.parent.name
        assert Signature(**found["signature"]).signature_id == found["signature_id"] == file.stem
