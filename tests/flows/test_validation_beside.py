"""A validation beside what else is done to its edition: refreshes, pilots, kills, other settings, other checks."""

from __future__ import annotations

import json
import shutil

import pytest

import gre_bench.flows.validate_metrics
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Candidate, Paper
from gre_bench.flows.annual_refresh import refresh
from gre_bench.flows.validate_metrics import validate
from gre_bench.metrics.cases import Entry, Lack, Response, plan
from gre_bench.pipeline.changes import changed_judgments
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.studies.symmetry import check_symmetry
from gre_bench.tasks import steps
from tests.flows.refreshing import EDITION, demo, query, use, with_papers_read
from tests.flows.test_validation import asked, cells
from tests.scripted_lms import OverlapLM

FEW = json.dumps(["sentence_deletion", "concatenation", "random_replacement"])
TWO = ('scoring.metrics=["gem", "rouge_l"]', f"validation.changes={FEW}")


@pytest.fixture(autouse=True)
def scripted():
    return use(OverlapLM())


def run(state, *overrides, **more):
    return validate(Job(asked(*TWO, *overrides), with_papers_read(state), **more), steps.undecorated())


def refreshed(state, *overrides):
    return refresh(Job(asked(*TWO, *overrides), with_papers_read(state)), steps.undecorated())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A validation that nothing disturbed: its state, which nobody may change, and its summary."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("whole")
    return state, run(state)


@pytest.fixture(scope="module")
def killed_while_scoring(tmp_path_factory):
    """The state of a validation that was killed while it scored; nobody may change it."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("killed")

    def stop(*_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gre_bench.flows.validate_metrics, "score", stop)
        with pytest.raises(KeyboardInterrupt):
            run(state)
    return state


def test_a_refresh_is_not_kept_incomplete_by_a_validation_that_was_killed(killed_while_scoring, tmp_path):
    state = shutil.copytree(killed_while_scoring, tmp_path / "state")
    summary = refreshed(state)
    assert (summary["outcome"], summary["message"]) == ("done", "")
    assert all(row["planned"] == row["scored"] + row["excluded"] for row in summary["metrics"])
    assert run(state)["outcome"] == "done"


def test_a_validation_that_was_killed_comes_to_the_same_effects_when_it_goes_on(killed_while_scoring, whole, tmp_path):
    assert run(shutil.copytree(killed_while_scoring, tmp_path / "state"))["effects"] == whole[1]["effects"]


def test_a_board_goes_on_showing_what_the_last_refresh_planned_after_a_validation_of_the_same(tmp_path):
    humans = ("writing.candidates=[]", 'scoring.candidates=["human", "other-paper", "generic"]')
    refreshed(tmp_path, *humans, 'scoring.metrics=["bleu"]')
    refreshed(tmp_path, *humans)
    run(tmp_path, *humans)
    shown = [row["metric"] for row in Store(tmp_path, EDITION).read(CURRENT_SIGNATURES)]
    assert shown == ["gem", "rouge_l"]


def test_a_pilot_after_a_whole_validation_tells_of_its_papers_alone_and_leaves_the_stored_effects(whole, tmp_path):
    state = shutil.copytree(whole[0], tmp_path / "state")
    stored = query(state, "from effects order by all")
    pilot = run(state, limit=3)
    for row in pilot["effects"]:
        assert (row["papers"], row["pairs"], row["planned"]) == (3, 6, 6)
        assert row["length_d"] is not None
    assert query(state, "from effects order by all") == stored


def test_judgments_changed_with_another_seed_are_not_scored_as_if_they_were_the_same(tmp_path):
    def judgments(*overrides):
        few = 'validation.changes=["shuffled_lines", "generic"]'
        more = ("validation.level=judgments", 'scoring.metrics=["gem"]', "validation.resamples=400", few, *overrides)
        return validate(Job(demo(*more), tmp_path), steps.undecorated())

    first = judgments()
    assert judgments()["effects"] == first["effects"]
    with pytest.raises(SettingsError, match=r"change shuffled_lines .* seed 0.* seed 7.*never mixed"):
        judgments("validation.seed=7")


def test_what_waits_for_the_judgments_it_changes_waits_and_is_not_excluded_by_rule(tmp_path):
    texts = {"w": "The reviewer suggests an ablation.\nThe reviewer questions the seeds."}
    late = {"judgments": Lack("timed_out", waiting=True)}
    humans = [Response("h0", "A.", {}, late), Response("h1", "B.", texts), Response("h2", "C.", {})]
    entries = [
        Entry(Paper(f"p{place}", "A title", "An abstract."), human, (Response("r", "R.", texts),), {})
        for place, human in enumerate(humans)
    ]
    job = Job(demo("validation.level=judgments"), tmp_path, changes={"line_deletion": "human~line_deletion~judgments"})
    candidate = Candidate("human~line_deletion~judgments", "change", change="line_deletion")
    planned = plan(changed_judgments(job, entries, "w"), [candidate], recipe_of("gem"), "w")
    assert [(pair.state, pair.reason) for pair in planned] == [
        ("waiting", "timed_out"), ("due", None), ("failed", "no_judgments"),
    ]  # fmt: skip


def test_a_metric_to_which_no_change_applies_is_told_as_undecided(tmp_path):
    summary = run(tmp_path, 'scoring.metrics=["rouge_l"]', 'validation.changes=["generic"]')
    assert summary["effects"] == []
    assert [(row["metric"], row["verdict"]) for row in summary["verdicts"]] == [("rouge_l", "undecided")]


def test_no_change_at_all_or_one_rephraser_for_two_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match="names no change"):
        run(tmp_path, "validation.changes=[]")
    with pytest.raises(SettingsError, match=r"makers names rule for both"):
        run(tmp_path, 'validation.changes=["rephrase_1", "rephrase_2"]', 'validation.makers={rephrase_2="rule"}')


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


def test_symmetry_of_one_paper_is_one_line(tmp_path):
    job = Job(demo(), tmp_path, limit=1)
    with pytest.raises(SourceError, match=r"symmetry"):
        check_symmetry(job, steps.undecorated())


def test_symmetry_of_some_papers_counts_these_alone(tmp_path):
    settings = demo("validation.resamples=400")
    whole = check_symmetry(Job(settings, tmp_path), steps.undecorated())
    some = check_symmetry(Job(settings, tmp_path, limit=6), steps.undecorated())
    assert whole["symmetry"]["joint"]["groups"] == 16
    assert some["symmetry"]["joint"]["groups"] == 6
