"""An examiner must not have seen the exam: papers that an evaluation LM or a writer was learnt from are left out."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gre_bench.checks import doctor
from gre_bench.checks.plan_ahead import plan_fetch_and_refresh
from gre_bench.core import settings, training_registers
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.resources import locate_resource
from gre_bench.core.training_registers import PaperTexts, read_register, write_register
from gre_bench.pipeline import training, validation_records
from gre_bench.pipeline.agreeing import score_and_correlate_with_grades
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.training import TrainingJob, train_and_score_cache_ngram
from gre_bench.pipeline.validating import validate
from gre_bench.studies.symmetry import check_symmetry
from tests.cli.calling import shown
from tests.conftest import ROOT
from tests.flows.refreshing import query, with_papers_read
from tests.flows.test_agreement import KEY, bring
from tests.flows.test_agreement import asked as graded_settings

NOTES = ROOT / "tests" / "flows" / "notes_and_pdfs.toml"
SOURCES = locate_resource("data", "evaluation_lm", "cache-ngram-3")


@pytest.fixture(autouse=True)
def nothing_ships(monkeypatch, tmp_path):
    monkeypatch.setattr(validation_records, "SHIPPED", tmp_path / "shipped")


@pytest.fixture
def lm(tmp_path):
    """Returns a function: a copy of `cache-ngram` that was learnt from *papers*, by its register."""

    def trained_on(*papers: PaperTexts) -> Path:
        folder = tmp_path / "cache-ngram"
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        write_register(folder, papers)
        return folder

    return trained_on


def asked(folder, *overrides):
    return settings.load(
        NOTES, (f"evaluation_lm.folder={folder}", 'scoring.metrics=["gem"]', "validation.resamples=200",
                'validation.perturbations=["generic"]', *overrides),
    )  # fmt: skip


def ids_and_reviews(state):
    return query(state, "select paper_id, any_value(text) from reviews where candidate = 'human' group by 1 order by 1")


def test_dry_run_board_and_validation_say_which_papers_were_learnt_by_id_or_by_text_and_leave_them_out(tmp_path, lm):
    state = with_papers_read(tmp_path / "state")
    papers = ids_and_reviews(state)
    folder = lm(PaperTexts(papers[0][0]), PaperTexts("elsewhere", None, (f" {papers[1][1].upper()}\n",)))
    code, said = shown(
        "refresh", "--settings", NOTES, "--dry-run", "--no-prefect", "--state", state, "--set", "scoring.metrics=['gem']",
        "--set", f"evaluation_lm.folder={folder}",
    )  # fmt: skip
    told = "cache-ngram was learnt from 2 of 16 papers"
    assert code == 0 and f"note: {told}" in said
    assert told in refresh(Job(asked(folder), state))["notes"]
    assert query(state, "select distinct left_out, same_pairs from separation") == [(2, 28)]
    summary = validate(Job(asked(folder), state))
    assert told in summary["notes"]
    (effect,) = summary["effects"]
    assert effect["papers"] == summary["papers"] == summary["sampled"] == 14
    (separation,) = summary["separations"]
    assert (separation["left_out"], separation["same_pairs"]) == (2, 28)
    (record,) = (state / "validations" / "SAMPLE-2026").glob("*.json")
    said = json.loads(record.read_text())
    assert said["left_out"] == 2 and "2 learnt papers left out" in said["detail"]
    assert said["registers"] == {
        "cache-ngram": read_register(folder, "it").digest,
        "rule-judgments-4": read_register(locate_resource("data", "judgments"), "it").digest,
    }
    status = query(state, "select status, learnt, papers from exposures where role = 'evaluation_lm'")
    assert status == [("contaminated", 2, 16)]


def test_an_agreement_leaves_out_the_papers_that_were_learnt_by_id_or_by_a_graded_text(tmp_path, lm):
    bring(tmp_path)
    rows = query(tmp_path, "select paper_id, any_value(text) from reviews group by 1 order by 1", KEY)
    folder = lm(PaperTexts(rows[0][0]), PaperTexts("elsewhere", None, (rows[1][1].upper(),)))
    own = graded_settings("evaluation_lm.backend=cache-ngram", f"evaluation_lm.folder={folder}")
    summary = score_and_correlate_with_grades(Job(own, tmp_path))
    assert f"cache-ngram was learnt from 2 of {len(rows)} papers" in summary["notes"]
    left = {row[0] for row in query(tmp_path, "select distinct paper_id from pairs where state = 'scored'", KEY)}
    assert left == {name for name, _ in rows[2:]}


def test_an_edition_that_was_learnt_as_a_whole_is_refused_by_every_study_of_the_metric(tmp_path, lm):
    state = with_papers_read(tmp_path / "state")
    job = Job(asked(lm(*(PaperTexts(name) for name, _ in ids_and_reviews(state)))), state)
    for study in (validate, check_symmetry):
        with pytest.raises(SourceError, match="cache-ngram was learnt from all 16 papers"):
            study(job)
    with pytest.raises(SourceError, match="no graded reviews"):
        score_and_correlate_with_grades(job)


@pytest.mark.parametrize("harm", ["missing", "of other weights"])
def test_a_register_that_cannot_be_trusted_makes_its_lm_unknown_in_every_place(tmp_path, lm, harm):
    state, folder = with_papers_read(tmp_path / "state"), lm()
    if harm == "missing":
        (folder / training_registers.FILE).unlink()
    else:
        (folder / "another.safetensors").write_text("")
    job = Job(asked(folder), state)
    summary = refresh(job)
    said = next(note for note in summary["notes"] if note.startswith("it is unknown what cache-ngram was learnt from"))
    assert query(state, "select status, learnt from exposures where role = 'evaluation_lm'") == [("unknown", None)]
    assert said in plan_fetch_and_refresh(job.settings, state)["learnt"]
    assert [(item.verdict, item.found) for item in doctor.check_training_overlap(job.settings, state)] == [
        ("warning", said)
    ]
    summary = validate(job)
    (record,) = (state / "validations" / "SAMPLE-2026").glob("*.json")
    assert "unknown what cache-ngram was learnt from" in json.loads(record.read_text())["detail"]


def test_a_sample_avoids_the_papers_that_named_models_were_learnt_from(tmp_path, lm):
    state = with_papers_read(tmp_path / "state")
    folder = lm(*(PaperTexts(name) for name, _ in ids_and_reviews(state)[:3]))
    summary = refresh(Job(asked(folder, f"edition.avoid_trained_on=[{str(folder)!r}]"), state))
    assert summary["papers"] == 13 and "3 papers were not drawn: edition.avoid_trained_on" in summary["notes"]
    assert query(state, "select learnt from exposures where role = 'evaluation_lm'") == [(0,)]
    with pytest.raises(SettingsError, match="was drawn with avoid_trained_on"):
        refresh(Job(asked(folder), state))
    with pytest.raises(SettingsError, match="it is unknown what nowhere was learnt from"):
        other = asked(folder, "edition.avoid_trained_on=['nowhere']", "edition.sample=other")
        refresh(Job(other, state))


WORDS = ("bounds", "proofs", "tables", "figures", "seeds", "samples", "layers", "tokens", "graphs", "kernels")


def judged(file: Path, writer: str, papers: int = 34) -> Path:
    """A file of judgments by *writer* of three reviews of each of some papers."""
    rows = [
        {"row": paper, "paper_id": f"p{paper}", "slot": slot, "writer": writer,
         "review": f"Review {slot} of {paper}: the {WORDS[paper % 10]} and {WORDS[slot]} are weak.",
         "judgments": f"The reviewer criticizes the {WORDS[paper % 10]}."}
        for paper in range(papers) for slot in range(3)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_training_writes_its_register_and_refuses_the_papers_of_evaluation_sets(tmp_path):
    file, one, two = (tmp_path / name for name in ("judged.jsonl", "set.jsonl", "notes.jsonl"))
    first = json.loads(judged(file, "rule-judgments-4").read_text().splitlines()[0])
    one.write_text(json.dumps({"paper_id": "x", "review": f"  {first['review'].upper()} "}) + "\n")
    two.write_text(json.dumps({"id": "n", "forum": "p33", "content": {"abstract": {"value": "A."}}}) + "\n")
    job = TrainingJob(judgments=(file,), train=("0:30",), choose=("30:34",), out=tmp_path / "out", never=(one, two))
    report = train_and_score_cache_ngram(job)
    assert report["refused"] == {"set.jsonl": 1, "notes.jsonl": 1}
    assert (report["trained_on"], report["chosen_on"]) == (29, 3)
    register = read_register(tmp_path / "out", "out")
    trained_on = register.trained_on(PaperTexts(f"p{paper}") for paper in range(34))
    assert trained_on == {f"p{paper}" for paper in range(1, 33)}
    # The judgments' writer had a part in it, so what that was learnt from counts too.
    assert read_register(locate_resource("data", "judgments"), "it").entries <= register.entries
    with pytest.raises(SourceError, match="judgments of 0 papers; training needs at least 2; 1 are in evaluation sets"):
        train_and_score_cache_ngram(replace(job, train=("0:1",), choose=(), out=tmp_path / "none", never=(one,)))
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"title": "nobody"}\n')
    with pytest.raises(SourceError, match="evaluation set bad.jsonl: row 1 names no paper"):
        train_and_score_cache_ngram(replace(job, choose=(), out=tmp_path / "none", never=(bad,)))


def test_what_learns_from_an_unknown_writer_or_base_is_unknown_and_says_so(tmp_path):
    file = judged(tmp_path / "judged.jsonl", "rule-judgments-2")
    job = TrainingJob(judgments=(file,), train=("0:30",), choose=("30:34",), out=tmp_path / "out")
    report = train_and_score_cache_ngram(job)
    (said,) = report["unknown"]
    assert said.startswith("it is unknown what rule-judgments-2 was learnt from")
    assert "no learnt_from.txt" in read_register(tmp_path / "out", "out").problem
    assert train_and_score_cache_ngram(job) == report
    # An adapter whose register is missing, and a model as its makers published it, which needs none.
    papers = training.judged_papers(judged(file, "by-hand"), "0:3")
    (tmp_path / "out" / training_registers.FILE).write_text("of an earlier training")
    for base, unknown in ((training_registers.Register("base", None, None, "why"), ["why"]), (None, [])):
        assert training._write_training_register(tmp_path / "out", papers, [], base) == unknown
        assert (tmp_path / "out" / training_registers.FILE).is_file() is not unknown


def test_a_training_refuses_a_paper_whose_abstract_an_evaluation_set_holds_under_another_id(tmp_path, monkeypatch):
    file, papers, exam = (tmp_path / f"{name}.jsonl" for name in ("judged", "papers", "exam"))
    judged(file, "by-hand", 4)
    papers.write_text("".join(json.dumps({"paper_id": f"p{n}", "abstract": f"We study {n}."}) + "\n" for n in range(4)))
    exam.write_text(json.dumps({"id": "elsewhere", "abstract": "WE  STUDY 1."}) + "\n")
    seen = []

    def fine_tune(base, trained_on, kept, *more):
        seen.extend(paper.paper_id for paper in trained_on)
        raise SourceError("no training here")

    monkeypatch.setattr(training.steps, "fine_tune_lm", fine_tune)
    given = {"judgments": (file,), "train": ("0:4",), "papers": papers, "never": (exam,)}
    job = training.FineTuningJob(base=tmp_path / "base", out=tmp_path / "out", **given)
    with pytest.raises(SourceError, match="no training here"):
        training.fine_tune_evaluation_lm(job)
    assert seen == ["p0", "p2", "p3"]
