"""``gre-bench study validate --certificate`` on the sample edition: its curves, its file, and what is left out."""

from __future__ import annotations

import json
import shutil
from statistics import fmean

import pytest

from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.records import build_signature_from_row
from gre_bench.lm import opening
from gre_bench.perturbations.harms import HARMS
from gre_bench.pipeline import perturbed_reviews
from gre_bench.pipeline.certificates import FOLDER, find_certificate
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validating import validate
from gre_bench.reports.publish_editions import open_release_store, publish_edition
from gre_bench.store import Store
from gre_bench.store.queries import CERTIFIED
from gre_bench.studies.certificate import certify_metrics
from tests.cli.calling import shown
from tests.flows.refreshing import DEMO, EDITION, demo, query, refreshed, use
from tests.scripted_lms import OverlapLM

ASKED = ('scoring.metrics=["gem", "gem_raw", "length"]', "edition.papers=5", "validation.resamples=400")


def run(state, *overrides, **more):
    return certify_metrics(Job(demo(*ASKED, *overrides), state, **more))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A certificate that nothing disturbed: its state, which nobody may change, and its summary."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("certified")
    return state, run(state)


@pytest.fixture
def state(made, tmp_path):
    return shutil.copytree(made[0], tmp_path / "state")


@pytest.fixture(autouse=True)
def scripted():
    return use(OverlapLM())


def files(state):
    return {path.name: path.read_bytes() for path in (state / FOLDER / EDITION).iterdir()}


def test_a_curve_is_of_the_stored_scores_by_paper(made):
    state, summary = made
    assert summary["outcome"] == "done"
    assert [row["metric"] for row in summary["certificates"]] == ["gem", "gem_raw"]
    for row in summary["certificates"]:
        assert list(row["harms"]) == list(HARMS) and not row["untried"]
        found = query(
            state,
            f"""select h.paper_id, avg(c.value - h.value) from pairs h join pairs c using (signature_id, paper_id,
            reference_id) where h.candidate_id = 'human' and c.candidate_id = 'human~garbling-50~judgments'
            and signature_id = '{row["signature_id"]}' group by h.paper_id""",
        )
        curve = row["harms"]["garbling"]
        assert curve["papers"] == len(found) == 5
        assert curve["means"][4] == pytest.approx(fmean(value for _, value in found))
        assert curve["means"] == sorted(curve["means"], reverse=True)
        assert curve["means"][-1] < curve["means"][0] < 0


def test_a_certificate_made_twice_is_the_same_file_and_asks_the_lm_nothing(made, state, scripted, tmp_path):
    before = files(state)
    assert len(before) == 2
    run(state)
    assert scripted.asked == [] and files(state) == before
    run(tmp_path / "anew")
    assert files(tmp_path / "anew") == before


def test_a_certificate_of_some_degrees_has_the_curve_of_these_degrees(made, tmp_path, scripted):
    summary = run(tmp_path, "validation.degrees=[20, 50, 100]")
    some = [1, 4, 9]
    for row, whole in zip(summary["certificates"], made[1]["certificates"], strict=True):
        assert row["degrees"] == [2, 5, 10] and whole["degrees"] == list(range(1, 11))
        for name, curve in row["harms"].items():
            assert curve["means"] == [whole["harms"][name]["means"][index] for index in some]
            assert {*curve["told"].values(), curve["pays"]} <= {None, 2, 5, 10}
    assert query(tmp_path, "select count(*) from candidates where candidate_id like '%garbling%'") == [(3,)]
    asked = len(scripted.asked)
    run(tmp_path)
    assert files(tmp_path) == files(made[0]) and len(scripted.asked) > asked


@pytest.mark.parametrize("degrees", ["[]", "[25]", "[50, 20]", "[20, 20]", "[0, 10]", "[110]"])
def test_degrees_are_rising_multiples_of_ten(degrees):
    with pytest.raises(SettingsError, match=r"validation\.degrees: .*multiples of 10, from 10 to 100"):
        demo(f"validation.degrees={degrees}")


def test_a_stopped_certificate_goes_on_from_the_scores_it_has(made, tmp_path, scripted):
    run(tmp_path, limit=3)
    pilot = len(scripted.asked)
    assert pilot > 0 and not (tmp_path / FOLDER).exists()
    run(tmp_path)
    assert files(tmp_path) == files(made[0])
    assert len({(item.x, item.synopsis, item.reply) for item in scripted.asked}) == len(scripted.asked) > pilot


def test_a_harm_whose_text_the_lm_learnt_by_contrast_is_left_out_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "is_trained_by_contrast", lambda _: True)
    monkeypatch.setattr(opening, "_find_local_folder", lambda _: tmp_path / "weights")
    summary = run(tmp_path / "state")
    for row in summary["certificates"]:
        assert list(row["harms"]) == [name for name in HARMS if name != "invention"]
        assert row["untried"] == {
            "invention": "weights learnt to tell reviews of other papers (contrast), so it proves nothing"
        }
        assert row["line"].endswith("invention untried")
    assert query(tmp_path / "state", "select count(*) from plan where candidate_id like '%invention%'") == [(0,)]
    assert "invention-10" not in perturbed_reviews.list_harm_degrees(demo())[0]


def test_a_validation_after_a_certificate_has_its_own_changes_and_the_detail_names_what_is_certified(state):
    asked = demo(*ASKED, "validation.level=judgments", 'validation.perturbations=["line_deletion", "shuffled_lines"]')
    summary = validate(Job(asked, state))
    assert {row["change"] for row in summary["effects"]} == {"line_deletion", "shuffled_lines"}
    details = dict(query(state, "select metric, detail from validations join signatures using (signature_id)"))
    line = find_certificate(
        state, build_signature_from_row(json.loads(next(iter(files(state).values())))["signature"])
    ).sentence
    assert line.startswith("on 113 papers (computed from 5) tells garbling from ")
    assert any(detail.endswith(CERTIFIED + line) for detail in details.values())


def test_the_board_and_its_json_say_what_the_certificate_does(state):
    asked = demo(*ASKED, "validation.level=judgments", 'validation.perturbations=["line_deletion"]')
    validate(Job(asked, state))
    code, text = shown("leaderboard", EDITION, "--metric", "gem", "--state", state)
    assert code == 0 and "on 113 papers (computed from 5) tells garbling from " in " ".join(text.split())
    code, text = shown("leaderboard", EDITION, "--json", "--state", state)
    assert all(CERTIFIED in row["detail"] for row in json.loads(text)["validations"] if row["metric"] == "gem")


def test_a_damaged_certificate_is_one_line(state):
    file = next((state / FOLDER / EDITION).iterdir())
    signature = build_signature_from_row(json.loads(file.read_text())["signature"])
    file.write_text(file.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(StoreError, match=r"is damaged; remove it, or make it again: gre-bench study validate --cert"):
        find_certificate(state, signature)


def test_the_command_prints_a_line_for_each_harm_within_80_columns(state):
    settings = [word for item in ASKED for word in ("--set", item)]
    code, text = shown("study", "validate", "--certificate", "--settings", DEMO, *settings,
                       "--set", "evaluation_lm.backend=scripted", "--no-prefect", "--state", state)  # fmt: skip
    assert code == 0, text
    table = [line for line in text.splitlines() if line.strip().startswith(tuple(harm.said for harm in HARMS.values()))]
    assert len(table) == 2 * len(HARMS)
    assert all(len(line.rstrip()) <= 80 for line in table)
    assert "gem: on 113 papers (computed from 5) tells garbling from" in text


def test_only_metrics_of_information_are_certified(tmp_path):
    with pytest.raises(SettingsError, match=r"^scoring.metrics: a certificate is of GEM, GEM-S or GEM-raw"):
        run(tmp_path, 'scoring.metrics=["length"]')


def test_an_edition_with_a_release_is_refused_in_one_line_and_another_sample_of_it_is_certified(tmp_path):
    refreshed(tmp_path)
    publish_edition(Store(tmp_path, EDITION), open_release_store(tmp_path, EDITION))
    refused = rf"^edition {EDITION} has the release {EDITION}-r1, and the next one would hold every degree"
    with pytest.raises(SettingsError, match=refused):
        run(tmp_path)
    with pytest.raises(SettingsError, match=refused):
        run(tmp_path, "edition.sample=certificate", f'validation.together_with=["{EDITION}"]')
    assert run(tmp_path, "edition.sample=certificate")["edition"] == f"{EDITION}-certificate"
    assert query(tmp_path, "select count(*) from candidates where kind = 'graded' or candidate_id like '%~%'") == [(0,)]


def test_publishing_an_edition_says_that_it_holds_the_degrees_of_a_certificate(state):
    refresh(Job(demo(*ASKED), state))
    code, text = shown("publish", EDITION, "--scores-only", "--state", state)
    assert code == 0, text
    assert f"it also holds {10 * len(HARMS)} degrees of harm, scored for a certificate" in " ".join(text.split())


def test_a_plan_counts_the_pairs_that_a_certificate_scores_and_says_so_in_a_line(made):
    state, summary = made
    settings = [word for item in ASKED for word in ("--set", item)]
    code, text = shown("plan", "SAMPLE", "2026", "--settings", DEMO, *settings,
                       "--set", "evaluation_lm.backend=scripted", "--state", state)  # fmt: skip
    signature = summary["certificates"][0]["signature_id"]
    degrees = "candidate_id like 'human~%' and state <> 'excluded'"
    scored = query(state, f"select count(*) from pairs where signature_id = '{signature}' and {degrees}")[0][0]
    assert code == 0 and scored == 5 * len(HARMS) * 10 * 2
    line = f"score: {scored} pairs more a metric for study validate --certificate, if you run it"
    assert line in " ".join(text.split())
