"""Bounds of studies, everything made again from the reply archive alone, and what became of requests; over real HTTP."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest

from gre_bench.core import settings
from gre_bench.core.errors import BudgetReached, SettingsError, Stopped
from gre_bench.core.settings import BudgetSettings
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.running_studies import summarise_studies
from gre_bench.pipeline.validating import validate
from gre_bench.store import Store
from gre_bench.store.queries import OUTCOMES
from gre_bench.studies import guideline_comparison, review_quality
from gre_bench.studies.examiners import comparison
from gre_bench.studies.examiners.inputs import parse_study
from gre_bench.studies.examiners.study import ExaminerJob
from gre_bench.studies.examiners.study import estimate_study_cost as estimate_grades
from gre_bench.studies.guideline_comparison import GuidelineJob
from gre_bench.studies.review_quality import QualityJob, generate_group_guideline, load_fielded_reviews
from gre_bench.tasks import steps
from gre_bench.writing import http_writer
from gre_bench.writing.spend_log import open_spend_log
from tests.cli.calling import shown
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, assert_same, query, tables, use, with_papers_read
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat, written

ENTRY = '[[model]]\nname = "a/b-1.5"\nendpoint = "{url}"\nmodel = "{model}"\nprice_in = 1.0\nprice_out = 2.0\n'
LM = "a/b-1.5"
KINDS = ("examiners", "guidelines", "quality")
DEMO = ROOT / "tests" / "flows" / "notes_and_pdfs.toml"


@pytest.fixture(autouse=True)
def lm(monkeypatch):
    monkeypatch.setattr(http_writer, "RetryPolicy", partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01))
    use(OverlapLM())


def answer(body):
    """What each kind of study can read: a score, a rating, a verdict; sometimes nothing, by the text itself."""
    text = body["messages"][-1]["content"]
    if "Overall Rating" in text:
        return f"It is sound.\nOverall Rating: ({3 + len(text) % 5})"
    if "quality_score" in text:
        which = "content_consistency" if "**overall rating**" in text else "subscore_consistency"
        return f'```yaml\nquality_score: 1\n{which}: "somewhat inconsistent"\n```'
    return "No idea." if "text 3" in text else str(len(text) % 100)


def notes():
    """Four reviews of one submission."""
    group = "SAMPLE.cc/2026/Conference"
    paper = {name: {"value": name} for name in ("title", "abstract")} | {"venueid": {"value": group}}
    yield {"id": "paper", "forum": "paper", "invitations": [f"{group}/-/Submission"], "content": paper}
    for place in range(4):
        fields = {
            "summary": "word " * (20 * place + 9), "strengths": f"It is strong in {place}.", "weaknesses": "w",
            "questions": "q", "soundness": "3 good", "presentation": "2 fair", "contribution": "3 good",
            "rating": "6: weak accept", "confidence": "4",
        }  # fmt: skip
        yield {
            "id": f"r{place}", "forum": "paper", "replyto": "paper", "tcdate": 1_700_000_000_000 + place,
            "invitations": [f"{group}/Submission1/-/Official_Review"],
            "content": {name: {"value": value} for name, value in fields.items()},
        }  # fmt: skip


@pytest.fixture
def job(tmp_path):
    """Makes the job of a study of one of `KINDS` that asks the server at *url*, within *bounds*, in a *state* folder."""

    def make(kind, url, state="state", **bounds):
        models, budget = tmp_path / "models.toml", BudgetSettings(**bounds)
        models.write_text(ENTRY.format(url=url, model=MODEL))
        lines = [f"source {n // 3}\ttext {n} {'so ' * n}\t{n % 5 + 1}\tM{n % 3}\tdoc{n // 3}" for n in range(9)]
        (tmp_path / "texts.tsv").write_text("\n".join(["SRC\tHYP\tScore\tmodel_id\tid", *lines]) + "\n")
        papers = [{"paper_id": f"p{n}", "title": f"Paper {n}", "abstract": "An abstract.", "text": "so " * n}
                  for n in range(1, 10)]  # fmt: skip
        (tmp_path / "papers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in papers))
        ratings = "".join(f"p{n}\t{n}\t{n + 1}\n" for n in range(1, 10))
        (tmp_path / "ratings.tsv").write_text(f"paper_id\t0\t1\n{ratings}")
        (tmp_path / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes()))
        if kind == "examiners":
            tree = {
                "models": [LM], "models_file": str(models), "resamples": 200, "baselines": ["length"],
                "examiners": {"base": {"template": "base"}, "p1": {"template": "p1"}}, "pairwise": {"games": 4},
            }  # fmt: skip
            chosen = parse_study(tree).model_copy(update={"budget": budget})
            return ExaminerJob("mine", chosen, tmp_path / "texts.tsv", state=tmp_path / state)
        if kind == "guidelines":
            files = {"papers": tmp_path / "papers.jsonl", "ratings": tmp_path / "ratings.tsv", "models_file": models}
            return GuidelineJob("mine", (LM,), ("none", "arr"), **files, state=tmp_path / state, budget=budget)
        more = {"models_file": models, "state": tmp_path / state, "budget": budget}
        return QualityJob("mine", tmp_path / "notes.jsonl", "SAMPLE-2026", LM, **more)

    return make


DOING = {
    ExaminerJob: comparison.compare,
    GuidelineJob: guideline_comparison.run_guideline_comparison,
    QualityJob: review_quality.grade,
}
ESTIMATES = {
    ExaminerJob: estimate_grades,
    GuidelineJob: guideline_comparison.estimate_comparison_cost,
    QualityJob: review_quality.estimate_grading_cost,
}


def run(made):
    return DOING[type(made)](made)


def estimated(made):
    return ESTIMATES[type(made)](made)


def folder_of(made):
    return made.state / "studies" / ("examiners" if isinstance(made, ExaminerJob) else "guidelines") / "mine"


def left_by(made):
    """Every table of a study by its file's name; how long it took is another each time."""
    found = {}
    for file in sorted(folder_of(made).glob("*.csv")):
        with file.open() as lines:
            found[file.name] = [row | {"seconds": None} for row in csv.DictReader(lines)]
    return found | {file.name: file.read_text() for file in folder_of(made).glob("*.jsonl")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_pauses_at_its_bound_as_estimated_and_a_raise_pays_only_the_rest_for_the_same_tables(job, kind):
    with scripted_chat(write=answer) as server:
        plan = estimated(job(kind, server.url))
        [row] = plan["models"]
        assert (plan["over_budget"], row["archived"], server.count) == ([], 0, 0)
        planned = row["requests"]
        tight = estimated(job(kind, server.url, requests=planned - 1, models={LM: {"usd": 1e-6}}))["over_budget"]
        assert [line.partition(" ")[0] for line in tight] == ["budget.requests", f"budget.models.{LM}.usd"]
        assert f"would be reached: at most {planned} needed, {planned - 1} left" in tight[0]
        undisturbed = job(kind, server.url, "undisturbed")
        assert run(undisturbed)["outcome"] == "done"
        whole = server.count
        # What could not be read was asked for anew, with two other seeds: no estimate knows that before.
        assert planned <= whole <= 3 * planned
        for bound in (0, 3, 4):
            with pytest.raises(
                BudgetReached,
                match=rf"paused at budget.requests: {bound} of {bound} requests spent on studies/.*/mine .*"
                r"is kept. Raise it \(--set budget.requests=\.\.\.\) and give the same command again",
            ):
                run(job(kind, server.url, requests=bound))
            assert server.count == whole + bound
            [row] = summarise_studies(job(kind, server.url).state)
            assert (row["state"], row["spent"]["requests"], row["remaining"]) == ("paused", bound, {"requests": 0})
        plan = estimated(job(kind, server.url, requests=planned))
        [row] = plan["models"]
        assert (row["archived"], row["requests"], plan["over_budget"]) == (4, planned - 4, [])
        resumed = job(kind, server.url, requests=whole)
        assert (run(resumed)["outcome"], server.count) == ("done", 2 * whole)
        assert estimated(job(kind, server.url))["models"][0]["requests"] == 0
        assert server.count == 2 * whole
    assert left_by(resumed) == left_by(undisturbed) and len(left_by(resumed)) >= 1
    [row] = summarise_studies(resumed.state)
    assert (row["state"], row["remaining"], row["spent_by_model"][LM]["answered"]) == ("done", {"requests": 0}, whole)


@pytest.mark.parametrize(
    ("bounds", "named"),
    [
        ({"prompt_tokens": 300}, "budget.prompt_tokens"),
        ({"reply_tokens": 2}, "budget.reply_tokens"),
        ({"usd": 0.0003}, "budget.usd"),
        ({"models": {LM: {"requests": 2}}}, f"budget.models.{LM}.requests"),
        ({"models": {LM: {"hours": 1e-7}}}, f"budget.models.{LM}.hours"),
        ({"hours": 2e-5}, "budget.hours"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_bound_binds_a_study(job, bounds, named):
    with scripted_chat(write=answer, pause_s=0.1) as server:
        with pytest.raises(BudgetReached, match=f"paused at {named}: .*--set {named}="):
            run(job("guidelines", server.url, **bounds))
        assert server.count < 18
        assert run(job("guidelines", server.url))["outcome"] == "done"
        assert server.count == 18


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_is_made_again_from_the_archive_without_one_request(job, kind):
    stunts = iter(["refusal", "empty", "empty", "too_long", "length"])
    with scripted_chat(write=answer, when=lambda _: next(stunts, None)) as server:
        made = job(kind, server.url)
        run(made)
        before, asked = left_by(made), server.count
    shutil.rmtree(folder_of(made))
    again = job(kind, server.url, requests=asked)
    run(again)
    assert left_by(again) == before
    assert open_spend_log(made.state).spent_on_all_models(made.writer_context.account).requests == asked == server.count


def test_a_made_guideline_is_bounded_and_kept(job, tmp_path):
    with scripted_chat(write=answer) as server:
        made = job("quality", server.url)
        run(made)
        rows = [json.dumps(asdict(review)) + "\n" for review in load_fielded_reviews(made)]
        (folder_of(made) / "good.jsonl").write_text("".join(rows))
        asked, writer_context = server.count, replace(made.writer_context, budget=BudgetSettings(requests=server.count))
        with pytest.raises(BudgetReached, match="paused at budget.requests: .* spent on studies/guidelines/mine"):
            generate_group_guideline("mine", "good", LM, tmp_path / "own.txt", writer_context, made.state)
        assert server.count == asked and not (tmp_path / "own.txt").exists()


def test_the_commands_end_with_one_line_and_code_3_at_a_bound_and_status_tells_it(job):
    with scripted_chat(write=answer) as server:
        made = job("guidelines", server.url)
        asked = ("study", "guidelines", "compare", "--model", LM, "--papers-file", made.papers, "--ratings", made.ratings,
                 "--name", "mine", "--models-file", made.models_file, "--state", made.state, "--no-prefect")  # fmt: skip
        code, line = shown(*asked, "--set", f"budget.models.{LM}.requests=4")
        assert (code, server.count) == (3, 4), line
        assert line.startswith(f"paused at budget.models.{LM}.requests: 4 of 4 requests") and "\n" not in line
        assert f"--set budget.models.{LM}.requests=" in line
        _, told = shown("status", "--state", made.state)
        assert "studies/guidelines/mine: paused. paused at budget.models" in told
        assert f"spent on {LM}: 4 requests (4 ok)" in told and f"budget left: 0 models.{LM}.requests" in told
        code, told = shown(*asked, "--set", "budget.requests=5", "--dry-run")
        assert code == 0 and "5 requests (4 more are archived)" in told
        assert "budget.requests would be reached: at most 5 needed, 1 left" in told
        assert shown(*asked, "--set", f"budget.models.{LM}.requests=9")[0] == 0
        assert server.count == 9
    [row] = json.loads(shown("status", "--json", "--state", made.state)[1])
    assert (row["state"], row["remaining"]) == ("done", {f"models.{LM}.requests": 0})
    assert row["spent"]["outcomes"] == {"ok": 9}


def test_a_study_that_was_stopped_or_killed_says_so(job, monkeypatch):
    with scripted_chat(write=answer) as server:
        made = job("guidelines", server.url)

        def stop(*_):
            raise Stopped("SIGTERM")

        with monkeypatch.context() as patched, pytest.raises(Stopped):
            patched.setattr(steps, "rate_papers", stop)
            guideline_comparison.run_guideline_comparison(made)
        [row] = summarise_studies(made.state)
        assert (row["state"], row["message"]) == ("stopped", "stopped by hand; the same command goes on from there")
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        file = folder_of(made) / "status.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"state": "running", "pid": gone.pid}))
        assert summarise_studies(made.state)[0]["state"] == "cut short"
        file.write_text("{")
        assert (summarise_studies(made.state)[0]["state"], summarise_studies(made.state)[0]["remaining"]) == (
            "unknown",
            {},
        )
        assert run(made)["outcome"] == "done" and summarise_studies(made.state)[0]["state"] == "done"


def test_a_bound_that_would_bind_nothing_is_refused_before_anything_is_asked(job):
    why = "budget.models: no model 'gpt-9' in the models file; known: a/b-1.5"
    with scripted_chat(write=answer) as server:
        for kind in KINDS:
            with pytest.raises(SettingsError, match=why):
                run(job(kind, server.url, models={"gpt-9": {"usd": 5}}))
        assert server.count == 0


@pytest.mark.parametrize(
    ("override", "why"),
    [
        ("usd=5", "only limits can be set here, such as budget.usd=5"),
        ("edition.papers=5", "only limits"),
        ("budget.dollars=5", "unknown setting budget.dollars"),
        ("budget.models.a/b-1.5.euro=1", "unknown setting budget.models.a/b-1.5.euro"),
        ("budget.usd=-1", "setting budget.usd"),
    ],
)
def test_a_bound_that_is_none_is_one_line(override, why):
    with pytest.raises(SettingsError) as caught:
        settings.load_budget_settings(BudgetSettings(), (override,))
    assert why in str(caught.value) and "\n" not in str(caught.value)


def test_a_bound_at_the_command_line_goes_over_that_of_the_file_and_leaves_the_others():
    given = BudgetSettings(usd=5, models={LM: {"requests": 3, "usd": 1}, "other": {"hours": 2}})
    found = settings.load_budget_settings(given, (f"budget.models.{LM}.requests=9", "budget.hours=4"))
    assert found == BudgetSettings(usd=5, hours=4, models={LM: {"requests": 9, "usd": 1}, "other": {"hours": 2}})


# -- editions: everything again without one request --


def of_edition(state: Path, url: str, *more: str) -> Job:
    """A refresh in which an LM writes and grades all that one can."""
    models = state.parent / "edition.toml"
    models.write_text(ENTRY.format(url=url, model=MODEL))
    by_lm = (f"writing.judgments={LM}", f"writing.assw={LM}", f"writing.candidates=['{LM}']", f"scoring.examiner={LM}",
             "scoring.metrics=['gem', 'gem_s_assw', 'lm_examiner']")  # fmt: skip
    chosen = settings.load(DEMO, ("evaluation_lm.backend=scripted", f"writing.models={models}", *by_lm, *more))
    return Job(chosen, state, limit=3)


def test_an_edition_is_made_again_from_the_archive_without_one_request(tmp_path, monkeypatch):
    """Whatever became of a text, too: refused, empty, cut, unreadable, too long for the model."""
    # One at a time: who meets which stunt must not hang on the threads.
    monkeypatch.setattr(http_writer, "RetryPolicy", partial(http_writer.RetryPolicy, concurrency=1))
    stunts = iter(
        ["ok", "refusal", "ok", "empty", "empty", "too_long", "length"] + ["ok"] * 9 + ["too_long", "refusal", "length"]
    )

    def odd(body):
        asked = body["messages"]
        return "No." if "summarize each evaluation" in str(asked) and len(str(asked)) % 3 == 0 else written(body)

    state = tmp_path / "state"
    with scripted_chat(write=odd, when=lambda _: next(stunts, None)) as server:
        refresh(of_edition(with_papers_read(state), server.url))
        before, asked = tables(state), server.count
    outcomes = query(state, "select task, item, outcome, detail, final from replies order by all")
    assert {row[2] for row in outcomes} >= {"ok", "refused", "unparsable", "failed"}
    shutil.rmtree(state / "editions")
    refresh(of_edition(state, server.url, f"budget.requests={asked}"))
    assert_same(tables(state), before)
    assert query(state, "select task, item, outcome, detail, final from replies order by all") == outcomes
    assert query(state, "select distinct archived from replies where outcome <> 'no_text'") == [(True,)]
    assert open_spend_log(state).spent_on_all_models(EDITION).requests == asked


@pytest.mark.night
def test_changes_that_an_lm_writes_and_grades_that_it_gives_are_bounded_as_the_rest(tmp_path):
    more = ("validation.perturbations=['abstract_only', 'rephrase_1']", "validation.resamples=200",
            f"validation.makers={{abstract_only='{LM}', rephrase_1='{LM}'}}",
            "scoring.metrics=['gem', 'lm_examiner']", "writing.candidates=[]")  # fmt: skip
    state, stages = tmp_path / "state", set()
    with scripted_chat() as server:

        def validated(state: Path, *bounds: str):
            return validate(replace(of_edition(state, server.url, *more, *bounds), limit=2))

        undisturbed = validated(with_papers_read(tmp_path / "whole"))
        whole = server.count
        for bound in (whole // 4, whole // 2, whole - 1):
            with pytest.raises(BudgetReached, match="paused at budget.requests"):
                validated(state, f"budget.requests={bound}")
            assert server.count == whole + bound
            stages |= {row[0] for row in query(state, "select distinct task from replies where outcome = 'ok'")}
            assert Store(state, EDITION).status()["state"] == "paused"
        found = validated(state, f"budget.requests={whole}")
        assert (found["outcome"], server.count) == (undisturbed["outcome"], 2 * whole)
    assert {"review", "judgments"} <= stages
    assert_same(tables(state), tables(tmp_path / "whole"))


ENDS = ("ok", "cut", "refused", "empty", "unparsable", "rate_limited", "failed", "not_asked")


@pytest.fixture(scope="module")
def with_outcomes(tmp_path_factory):
    """Three papers: one review refused, one cut; no judgments of the other two; a grade that is always refused; 429 for synopses."""
    state = tmp_path_factory.mktemp("outcomes") / "state"
    use(OverlapLM())
    reviews = iter(["refusal", "length", "ok"])

    def due(body):
        system = body["messages"][0]["content"]
        if "<summary> tags" in system:
            return next(reviews)
        refused = {"<strengths_claimed_by_the_paper>": "429", "<overall_score>": "filter"}
        return next((what for tag, what in refused.items() if tag in system), None)

    def write(body):
        system, user = (part["content"] for part in body["messages"])
        mine = "It is good that" in user or "appreciates clarity" in user
        return "No." if "summarize each evaluation" in system and mine else written(body)

    impatient = partial(http_writer.RetryPolicy, attempts=1, first_wait_s=0.01, concurrency=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_writer, "RetryPolicy", impatient)
        with scripted_chat(when=due, write=write) as server:
            refresh(of_edition(with_papers_read(state), server.url))
        return state


def counted(rows):
    """The kinds that there are, by candidate and purpose."""
    assert all(row["asked"] == sum(row[kind] for kind in ENDS) for row in rows)
    assert {row["model"] for row in rows} == {f"{LM}@{MODEL}"}
    return {(row["candidate"], row["purpose"]): {kind: row[kind] for kind in ENDS if row[kind]} for row in rows}


def test_every_outcome_is_counted_by_candidate_purpose_and_lm(with_outcomes):
    found = counted(Store(with_outcomes, EDITION).read(OUTCOMES))
    assert found[LM, "reviews"] == {"ok": 1, "cut": 1, "refused": 1}
    assert found[LM, "judgments"] == {"unparsable": 2}
    # Of further papers too: those whose human review stands in for another one's as a control.
    for whose in ("human", "references"):
        assert found[whose, "judgments"].keys() == {"ok"} and found[whose, "judgments"]["ok"] >= 3
    assert found[None, "synopses"] == {"rate_limited": 3}
    assert found["human", "grades of lm_examiner"] == {"refused": 3}
    # The whole of it on the board, as a table and as JSON, and in the status.
    told = shown("leaderboard", "--details", "--state", with_outcomes)[1]
    table = [line.split() for line in told[told.index("Requests to LMs and their outcomes") :].splitlines()]
    head = next(words for words in table if "candidate" in words)
    assert head == ["candidate", "purpose", "LM", "asked", "ok", "cut", "refused", "unparsable", "rate", "limited"]
    assert any(words[:2] == [LM, "reviews"] and words[-5:] == ["1", "1", "1", "0", "0"] for words in table)
    as_json, status = (
        json.loads(shown(name, "--json", "--state", with_outcomes)[1]) for name in ("leaderboard", "status")
    )
    assert counted(as_json["outcomes"]) == counted(status[0]["outcomes"]) == found
    # Requests, not texts: after two in a row that came to nothing the endpoint is left alone.
    assert status[0]["spent_by_model"][LM]["outcomes"]["rate_limited"] == 2
    # Judgments that could not be read are judged reviews that say nothing: their share stands on the board.
    row = next(row for row in as_json["rows"] if row["candidate"] == LM and row["metric"] == "gem")
    assert (row["judged"], row["unparsable"]) == (2, 2)


def test_a_problem_that_passed_is_counted_no_more(with_outcomes, tmp_path):
    edition = shutil.copytree(with_outcomes, tmp_path / "state")
    with scripted_chat() as server:
        refresh(of_edition(edition, server.url))
    found = counted(Store(edition, EDITION).read(OUTCOMES))
    assert found[None, "synopses"] == {"ok": 3} and found[LM, "reviews"] == {"ok": 1, "cut": 1, "refused": 1}
