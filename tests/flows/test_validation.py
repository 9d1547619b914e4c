"""Validation: changed reviews are written, judged and scored as candidates; effects and verdicts; what is done beside it."""

from __future__ import annotations

import json
import shutil

import pytest

import gre_bench.pipeline.validating
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Candidate, Paper, Signature, build_signature_from_row
from gre_bench.metrics.cases import MissingText, ReviewWithJudgments, SampledPaper, plan_edition_pairs
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.pipeline.perturbed_reviews import add_perturbed_judgments
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validating import validate
from gre_bench.pipeline.validation_records import find_validation_record
from gre_bench.stats.effects import compute_effect_size
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.studies.symmetry import check_symmetry
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, demo, query, use, with_papers_read
from tests.one_line import one_line
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
            f"validation.perturbations={few}", "validation.resamples=400", "edition.papers=6", *overrides,
        ),
    )  # fmt: skip


def run(state, *overrides, **more):
    return validate(Job(asked(*overrides), with_papers_read(state), **more))


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
    expected = compute_effect_size(before, after, papers, resamples=400, seed=0)
    row = found["gem", "sentence_deletion"]
    assert (row["d"], row["low"], row["high"]) == pytest.approx((expected.value, expected.low, expected.high))
    assert (row["pairs"], row["papers"]) == (12, 6)
    assert row["d"] < 0
    # No metric passes while one of the paper's changes is untried.
    assert "rephrase_1" in summary["untried"]
    assert {row["verdict"] for row in summary["verdicts"]} <= {"fail", "undecided"}


def test_a_metric_without_reference_is_scored_once_a_response(once_validated):
    found = cells(once_validated[1])
    assert found["length", "concatenation"]["pairs"] == 6
    assert found["length", "concatenation"]["d"] > 1
    assert found["length", "shuffled_lines"]["d"] == pytest.approx(0.0, abs=0.05)
    assert found["length", "concatenation"]["length_d"] is None


def test_a_change_that_no_pair_allows_is_left_out_if_it_is_ours_and_open_if_it_is_the_papers(tmp_path):
    found = cells(run(tmp_path, 'validation.perturbations=["generic", "elongation"]', "validation.headings=[]"))
    assert ("rouge_l", "generic") not in found
    assert found["rouge_l", "elongation"]["d"] is None
    assert found["rouge_l", "elongation"]["verdict"] == "undecided"
    assert "no_sections" in found["rouge_l", "elongation"]["problem"]


def test_the_whole_set_of_the_paper_is_made_by_rule_where_no_lm_is_at_hand(tmp_path):
    summary = run(
        tmp_path,
        f"validation.perturbations={json.dumps([*list(PERTURBATIONS)[:3], 'rephrase_1', 'rephrase_2', 'elongation'])}",
    )
    made = {row["change"]: row["made_by"] for row in summary["effects"]}
    assert made["rephrase_1"] == "rule" and made["rephrase_2"] == "rule-2"
    writers = dict(query(tmp_path, "select distinct candidate_id, prompt from candidates where kind = 'change'"))
    assert set(writers) >= {"human~completion", "human~abstract_only", "human~elongation"}
    assert all(row["pairs"] == 12 for row in summary["effects"] if row["metric"] == "gem")


def test_judgments_are_changed_themselves_where_the_settings_say_so_and_not_scored_with_another_seed(tmp_path):
    def judgments(*overrides):
        asked = (
            "validation.level=judgments",
            'scoring.metrics=["gem"]',
            "validation.resamples=400",
            "edition.papers=6",
        )
        return validate(Job(demo(*asked, *overrides), tmp_path))

    first = judgments()
    found = cells(first)
    assert found["gem", "line_deletion"]["d"] < 0
    assert ("gem", "sentence_deletion") not in found
    assert query(tmp_path, "select count(*) from reviews where candidate like '%~%'") == [(0,)]
    due = "select count(*) > 0 from plan where candidate_id = 'human~line_deletion~judgments' and state = 'due'"
    assert query(tmp_path, due) == [(True,)]
    assert judgments()["effects"] == first["effects"]
    with pytest.raises(SettingsError, match=r"change \w+ .* seed 0.* seed 7.*never mixed"):
        judgments("validation.seed=7")


def test_a_validation_goes_on_where_it_stopped_and_changes_nothing_when_done(once_validated, validated, scripted):
    texts = query(validated, "select review_id, text from reviews order by 1")
    second = run(validated)
    assert scripted.asked == []
    assert query(validated, "select review_id, text from reviews order by 1") == texts
    assert second["effects"] == once_validated[1]["effects"]
    # Texts made in two ways are never mixed.
    with pytest.raises(SettingsError, match=r"change sentence_deletion .* never mixed"):
        run(validated, "validation.splitter=linguistic")


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (['validation.perturbations=["line_deletion"]'], "leave out line_deletion"),
        (['validation.perturbations=["wings"]'], "no change 'wings'"),
        (["validation.perturbations=[]"], "names no change"),
        (
            ['validation.perturbations=["rephrase_1", "rephrase_2"]', 'validation.makers={rephrase_2="rule"}'],
            "makers names rule for both",
        ),
    ],
)
def test_changes_that_cannot_be_made_are_one_line_and_the_edition_is_free(tmp_path, overrides, why):
    with one_line(why, kind=SettingsError):
        run(tmp_path, *overrides)
    assert not Store(tmp_path, EDITION).is_being_written()


def test_boards_say_what_became_of_the_validation_and_leave_changes_out(validated):
    refresh(Job(asked(), validated))
    marks = dict(query(validated, "select distinct metric, validation from leaderboard"))
    assert marks["length"] in (f"unvalidated: fail on {EDITION}", f"unvalidated: undecided on {EDITION}")
    assert query(validated, "select count(*) from leaderboard where candidate like '%~%'") == [(0,)]
    assert query(validated, "select count(*) from plan where candidate_id = 'human~sentence_deletion'")[0][0] > 0


def test_a_certificate_is_found_by_its_signature_and_a_damaged_one_is_one_line(once_validated, validated):
    summary = once_validated[1]
    signature_id = summary["verdicts"][0]["signature_id"]
    rows = Store(validated, EDITION).read(CURRENT_SIGNATURES)
    signed = build_signature_from_row(next(row for row in rows if row["signature_id"] == signature_id))
    made = find_validation_record(validated, signed)
    assert made.signature["metric"] == "gem"
    assert made.changes["sentence_deletion"] == cells(summary)["gem", "sentence_deletion"]["verdict"]
    (validated / "validations" / f"{signature_id}.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        find_validation_record(validated, signed)


def test_a_pilot_certifies_nothing(tmp_path):
    run(tmp_path, limit=4)
    assert not (tmp_path / "validations").exists()


def test_shipped_certificates_are_whole_and_named_by_their_signature():
    files = list((ROOT / "data" / "validations").glob("*/*.json"))
    assert files
    for file in files:
        found = json.loads(file.read_text())
        assert found["edition"] == file.parent.name
        assert Signature(**found["signature"]).signature_id == found["signature_id"] == file.stem


FEW = json.dumps(["sentence_deletion", "concatenation", "random_replacement"])
TWO = ('scoring.metrics=["gem", "rouge_l"]', f"validation.perturbations={FEW}")


def of_two(state, *overrides, **more):
    return validate(Job(asked(*TWO, *overrides), with_papers_read(state), **more))


def refreshed_two(state, *overrides):
    return refresh(Job(asked(*TWO, *overrides), with_papers_read(state)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A validation that nothing disturbed: its state, which nobody may change, and its summary."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("whole")
    return state, of_two(state)


def test_a_validation_that_was_killed_keeps_no_refresh_incomplete_and_comes_to_the_same_effects(whole, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gre_bench.pipeline.validating, "score", stop)
        with pytest.raises(KeyboardInterrupt):
            of_two(tmp_path)
    summary = refreshed_two(tmp_path)
    assert (summary["outcome"], summary["message"]) == ("done", "")
    assert all(row["planned"] == row["scored"] + row["excluded"] for row in summary["metrics"])
    again = of_two(tmp_path)
    assert (again["outcome"], again["effects"]) == ("done", whole[1]["effects"])


def test_a_board_goes_on_showing_what_the_last_refresh_planned_after_a_validation_of_the_same(tmp_path):
    humans = ("writing.candidates=[]", 'scoring.candidates=["human", "other-paper", "generic"]')
    refreshed_two(tmp_path, *humans, 'scoring.metrics=["bleu"]')
    refreshed_two(tmp_path, *humans)
    of_two(tmp_path, *humans)
    shown = [row["metric"] for row in Store(tmp_path, EDITION).read(CURRENT_SIGNATURES)]
    assert shown == ["gem", "rouge_l"]


def test_a_pilot_after_a_whole_validation_tells_of_its_papers_alone_and_leaves_the_stored_effects(whole, tmp_path):
    state = shutil.copytree(whole[0], tmp_path / "state")
    stored = query(state, "from effects order by all")
    pilot = of_two(state, limit=3)
    for row in pilot["effects"]:
        assert (row["papers"], row["pairs"], row["planned"]) == (3, 6, 6)
        assert row["length_d"] is not None
    assert query(state, "from effects order by all") == stored


def test_what_waits_for_the_judgments_it_changes_waits_and_is_not_excluded_by_rule(tmp_path):
    texts = {"w": "The reviewer suggests an ablation.\nThe reviewer questions the seeds."}
    late = {"judgments": MissingText("timed_out", waiting=True)}
    humans = [
        ReviewWithJudgments("h0", "A.", {}, late),
        ReviewWithJudgments("h1", "B.", texts),
        ReviewWithJudgments("h2", "C.", {}),
    ]
    entries = [
        SampledPaper(Paper(f"p{place}", "A title", "An abstract."), human, (ReviewWithJudgments("r", "R.", texts),), {})
        for place, human in enumerate(humans)
    ]
    job = Job(
        demo("validation.level=judgments"), tmp_path, perturbations={"line_deletion": "human~line_deletion~judgments"}
    )
    candidate = Candidate("human~line_deletion~judgments", "change", change="line_deletion")
    planned = plan_edition_pairs(add_perturbed_judgments(job, entries, "w"), [candidate], find_recipe("gem"), "w")
    assert [(pair.state, pair.reason) for pair in planned] == [
        ("waiting", "timed_out"), ("due", None), ("failed", "no_judgments"),
    ]  # fmt: skip


def test_a_metric_to_which_no_change_applies_is_told_as_undecided(tmp_path):
    summary = of_two(tmp_path, 'scoring.metrics=["rouge_l"]', 'validation.perturbations=["generic"]')
    assert summary["effects"] == []
    assert [(row["metric"], row["verdict"]) for row in summary["verdicts"]] == [("rouge_l", "undecided")]


def test_a_scored_pair_is_compared_only_with_itself_before_the_change(whole):
    state, summary = whole
    found = cells(summary)
    before, after = query(
        state,
        """select avg(h.value), avg(c.value) from pairs h join pairs c using (signature_id, paper_id, reference_id)
        join signatures s using (signature_id)
        where s.metric = 'rouge_l' and h.candidate_id = 'human' and c.candidate_id = 'human~concatenation'""",
    )[0]
    row = found["rouge_l", "concatenation"]
    assert (row["mean_before"], row["mean_after"]) == pytest.approx((before, after))


def test_symmetry_of_some_papers_counts_these_alone_and_of_one_paper_is_one_line(tmp_path):
    settings = demo("validation.resamples=400", 'scoring.metrics=["gem"]')
    for limit, groups in ((None, 16), (6, 6)):
        found = check_symmetry(Job(settings, tmp_path, limit=limit))
        assert found["symmetry"]["joint"]["groups"] == groups
    with one_line("symmetry", kind=SourceError):
        check_symmetry(Job(settings, tmp_path, limit=1))
