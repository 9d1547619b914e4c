"""The guideline study from end to end, against a scripted server over real HTTP: what it is known to say comes back."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from functools import partial

import pytest
from typer.testing import CliRunner

from gre_bench.cli.app import app
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.flows.compare_guidelines import compare_guidelines
from gre_bench.guidelines.ratings import convert_temporary_score_to_rating
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.prompts.conditions import load_condition
from gre_bench.studies.guideline_comparison import GuidelineJob, estimate_comparison_cost, run_guideline_comparison
from gre_bench.studies.guidelines import build_outcome_row, parse_outcomes, parse_rmse_reference
from tests.conftest import ROOT
from tests.flows.refreshing import query, use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat, written
from tests.studies.asking import models_file

PAPERS = 12
HUMAN = [3, 4, 5, 6, 7, 8, 3, 5, 6, 5, 4, 6]
OFFICIAL = "Reviewers are asked to be kind."


CONDITIONS = ("none", "arr", "neurips", "iclr", "iclr_official", "good", "good+rubric", "bad+rubric")


def job_in(folder, server, *conditions, name="scripted", **more):
    """A job over papers whose human means are `HUMAN`, with the server's models file."""
    papers, ratings = folder / "papers.jsonl", folder / "ratings.tsv"
    rows = [{"paper_id": f"p{place}", "title": f"Paper number {place}", "abstract": "An abstract.",
             "text": "A body of text."} for place in range(PAPERS)]  # fmt: skip
    papers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"p{place}\t{mean - 1}\t{mean + 1}\t\tReject" for place, mean in enumerate(HUMAN)]
    ratings.write_text("\n".join(["paper_id\t0\t1\t2\tdecision", *lines]) + "\n")
    (folder / "own.txt").write_text(OFFICIAL)
    asked = {"papers": papers, "ratings": ratings, "models_file": models_file(folder, server, name)}
    return GuidelineJob("study", (name,), conditions, **asked | {"state": folder / "state"} | more)


@pytest.fixture
def study(tmp_path):
    return partial(job_in, tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study under `CONDITIONS`: its folder, its summary, and the requests."""
    folder = tmp_path_factory.mktemp("guidelines")
    with scripted_chat(write=reviewer) as server:
        job = job_in(folder, server, *CONDITIONS, guidelines={"iclr_official": folder / "own.txt"})
        summary = run(job)
        return job.state / "studies" / "guidelines" / "study", summary, list(server.requests)


def command(job):
    return ["study", "guidelines", "compare", *f"--model scripted --papers-file {job.papers} --ratings {job.ratings}".split(),
            *f"--models-file {job.models_file} --state {job.state} --no-prefect".split()]  # fmt: skip


def run(job):
    return run_guideline_comparison(job)


def paper_of(body):
    return int(re.search(r"Paper number (\d+)", body["messages"][-1]["content"])[1])


def condition_of(body):
    """Which condition a request is of, by what it holds."""
    text = body["messages"][-1]["content"]
    if "# Scoring Procedure" in text:
        return "rubric"
    names = ("arr", "neurips", "iclr", "good", "middle", "bad")
    return next(
        (name for name in names if load_condition(name).guideline in text), "own" if OFFICIAL in text else "none"
    )


def reviewer(body):
    """Rates as follows: without a guideline 2 too high; ARR right; NeurIPS 1 off to either side; ICLR always 5."""
    mean, name = HUMAN[paper_of(body)], condition_of(body)
    if name == "rubric":
        temporary = (-10, 0, 4)[paper_of(body) % 3]
        return f"Temporary score: {temporary}\nNormalized: {convert_temporary_score_to_rating(temporary)}\nIt is sound.\nOverall Rating: (8)"
    offset = {"none": 2, "arr": 0, "neurips": (-1) ** paper_of(body), "own": 1}.get(name, 0)
    rating = 5 if name == "iclr" else mean + offset
    return f"<think>\nOverall Rating: (1)\n</think>\nThe paper is sound and clear, and the method is sound.\n\n**Overall Rating: ({rating})**"


def found(summary):
    return {outcome.condition: outcome for outcome in parse_outcomes(summary)}


def test_known_ratings_come_back_as_known_errors(whole):
    _, summary, requests = whole
    assert summary["outcome"] == "done"
    close = {name: outcome.closeness for name, outcome in found(summary).items()}
    assert {name: (close[name].rmse.value, close[name].bias.value) for name in ("none", "arr", "neurips")} == {
        "none": (2, 2), "arr": (0, 0), "neurips": (1, 0),
    }  # fmt: skip
    assert (close["none"].rmse.low, close["none"].rmse.high) == (2, 2)
    assert close["none"].spearman.value == close["arr"].spearman.value == pytest.approx(1)
    assert close["iclr"].spearman is None
    assert close["iclr"].rmse.value ** 2 == pytest.approx(sum((mean - 5) ** 2 for mean in HUMAN) / PAPERS)
    # An official text is the user's own.
    assert close["iclr_official"].bias.value == 1
    own = f"# Reviewer Guideline\n{OFFICIAL}\n"
    assert sum(own in body["messages"][0]["content"] for body in requests) == PAPERS
    pairs = {(row["first"], row["second"]): row for row in summary["differences"]["scripted"]}
    assert len(pairs) == 28 and pairs["none", "arr"]["rmse"]["value"] == 2
    assert found(summary)["arr"].wording.mean_words == 14
    assert parse_rmse_reference(summary).reviewer == 2.0


def test_every_file_of_a_study_accounts_for_every_planned_paper(whole):
    folder, summary, _ = whole
    rows = list(csv.DictReader((folder / "ratings.csv").open()))
    assert len(rows) == len(CONDITIONS) * PAPERS and {row["state"] for row in rows} == {"scored"}
    assert {(row["rating"], row["recomputed"]) for row in rows if row["condition"] == "good+rubric"} == {
        ("8", "1"), ("8", "5"), ("8", "7"),
    }  # fmt: skip
    assert len((folder / "reviews.jsonl").read_text().splitlines()) == len(CONDITIONS) * PAPERS
    assert json.loads((folder / "study.json").read_text())["outcomes"] == json.loads(json.dumps(summary))["outcomes"]
    assert (folder / "distributions.svg").read_text().startswith("<svg")
    signed = summary["signatures"]["scripted · none"]
    assert signed["writer"] == f"scripted@{MODEL}" and signed["sha256"] == load_condition("none").sha256
    assert tuple(row["condition"] for row in csv.DictReader((folder / "outcomes.csv").open())) == CONDITIONS
    assert not list(folder.glob(".*"))


def test_a_rubric_shows_the_models_own_rating_and_the_recomputed_one(whole):
    outcome = found(whole[1])["bad+rubric"]
    expected = [convert_temporary_score_to_rating((-10, 0, 4)[place % 3]) - mean for place, mean in enumerate(HUMAN)]
    assert outcome.closeness.bias.value == pytest.approx(8 - sum(HUMAN) / PAPERS)
    assert outcome.recomputed.bias.value == pytest.approx(sum(expected) / PAPERS)
    assert outcome.recomputed.papers == build_outcome_row(outcome)["recomputed_papers"] == PAPERS


def test_the_tables_have_the_layout_of_the_paper_with_its_values_beneath(whole):
    lines = (whole[0] / "tables.md").read_text().splitlines()
    assert "## Table 1: Official conference guidelines" in lines
    instruction = lines[lines.index("## Table 1: Guidelines rewritten into instruction-style prompts") :]
    assert instruction[2] == "| Model | No-Guideline | ARR | NeurIPS | ICLR |"
    assert instruction[4].startswith(
        "| scripted | 2.00 (2.00, 2.00) | **0.00 (0.00, 0.00)** | <u>1.00 (1.00, 1.00)</u> | 1."
    )
    assert "| Qwen3-32B (published) | 3.58 | <u>3.16</u> | 3.32 | **3.09** |" in instruction
    assert "| Qwen3-32B (published) | 3.58 | 3.32 | **2.51** | <u>2.89</u> |" in lines
    imitating = lines[lines.index("## Table 2: reviewer-imitating guidelines") :]
    assert imitating[2] == "| Model | Setting | Base. | Good | Mid. | Bad |"
    assert [line.split(" | ")[1] for line in imitating[4:7]] == ["w/o Rubric", "w/ Rubric", "w/ Rubric, recomputed"]
    assert "| Qwen3-32B (published) | w/ Rubric | N/A | <u>4.57</u> | **4.31** | 4.62 |" in imitating
    assert any("above No-Guideline" in line for line in lines)


def test_each_paper_without_a_rating_has_its_reason(study):
    manner = {2: "refusal", 3: "empty", 4: "too_long", 5: "length"}

    def write(body):
        paper = paper_of(body)
        if paper == 1 and body.get("seed") != 2:  # another seed gives a rating, which counts
            return "Overall Rating: (Your Rating)"
        return {0: "A fine paper. Rating: 9", 5: "The paper is sound. Overall Rat"}.get(paper) or reviewer(body)

    with scripted_chat(write=write, when=lambda body: manner.get(paper_of(body))) as server:
        job = study(server, "arr")
        rows = [json.loads(line) for line in job.papers.read_text().splitlines()]
        rows[6]["text"] = None
        rows.append({"paper_id": "unrated", "text": "A body."})
        job.papers.write_text("".join(json.dumps(row) + "\n" for row in rows))
        summary = run(job)
        seeds = [[body.get("seed") for body in server.requests if paper_of(body) == paper] for paper in (0, 1, 2, 6)]
    assert seeds == [[None, 1, 2], [None, 1, 2], [None], []]
    outcome = found(summary)["arr"]
    assert (summary["outcome"], outcome.planned, outcome.scored, outcome.failed) == ("done", PAPERS, PAPERS - 6, 6)
    assert outcome.reasons == {
        "unparsable: no_rating": 1, "refused": 1, "empty": 1, "failed": 1, "no_text": 1,
        "unparsable: no_rating (cut at the token limit)": 1,
    }  # fmt: skip
    assert (outcome.closeness.papers, outcome.closeness.rmse.value) == (PAPERS - 6, 0)


@pytest.mark.parametrize(("change", "kind", "why"), [
    ({"models": ()}, SettingsError, "name at least one model"),
    ({"models": ("nope",)}, SettingsError, "no model 'nope' in the models file; known: scripted"),
    ({"conditions": ("nope",)}, SettingsError, "no guideline condition 'nope'"),
    ({"papers": None}, SettingsError, "name the papers: --edition"),
    ({"edition": "ICLR-2099"}, SettingsError, "an edition has papers and ratings of its own"),
    ({"edition": "ICLR-2099", "papers": None, "ratings": None}, SettingsError, "no edition ICLR-2099"),
    ({"name": "../up"}, SettingsError, "study name"),
    ({"guidelines": {"mine": ROOT / "nope.txt"}}, SourceError, "guideline mine: .*nope.txt cannot be read"),
    ({"conditions": ("mine+rubric",)}, SourceError, "needs 10 good and 10 bad questions, this has 1 good and 1 bad"),
])  # fmt: skip
def test_what_cannot_be_asked_says_so_and_asks_nothing(study, tmp_path, change, kind, why):
    few = tmp_path / "few.txt"
    sides = (f"  {side}:\n    all:\n      - question: x?\n" for side in ("good_paper", "bad_paper"))
    few.write_text("peer_review_behavior_checklist:\n" + "".join(sides))
    with scripted_chat(write=reviewer) as server:
        with pytest.raises(kind, match=why):
            run(replace(study(server, "none", guidelines={"mine": few}), **change))
        assert server.count == 0


@pytest.mark.night
def test_the_flow_runs_under_the_prefect_engine(study):
    with scripted_chat(write=reviewer) as server:
        summary = compare_guidelines(study(server, "arr", limit=3))
        assert (summary["outcome"], server.count) == ("done", 3)


def test_the_command_ends_with_a_code_that_says_how_it_went_and_no_paper_is_rated_twice(study):
    with scripted_chat(write=reviewer, when=lambda body: "500" if paper_of(body) == 0 else None) as server:
        job = study(server, "none", limit=5)
        (row,) = estimate_comparison_cost(job)["models"]
        assert (row["requests"], row["reply_tokens_at_most"], server.count) == (5, 20_000, 0)
        assert row["usd_at_most"] == pytest.approx((row["prompt_tokens"] + 2 * 20_000) / 1e6, rel=0.01)
        asked = [*command(job), "--condition=none"]
        shown = CliRunner().invoke(app, asked)
        assert shown.exit_code == 3 and "1 rating still missing" in shown.output
        server.when, before = None, server.count
        shown = CliRunner().invoke(app, [*asked, "--json"])
        assert shown.exit_code == 0 and json.loads(shown.output)["outcomes"][0]["scored"] == PAPERS
        assert server.count - before == 1
        shown = CliRunner().invoke(app, [*asked, "--dry-run"])
        assert shown.exit_code == 0 and f"scripted: 0 requests ({PAPERS} more are archived)" in shown.output
        for wrong in (["--guideline", "x"], ["--condition", "nope"]):
            assert isinstance(CliRunner().invoke(app, [*asked, *wrong]).exception, SettingsError)
        assert CliRunner().invoke(app, [*asked, "--condition=arr"]).exit_code == 0
        assert server.count - before == 1 + PAPERS, "a further condition pays for itself only"
        job.ratings.write_text(job.ratings.read_text().replace("p0\t2\t4", "p0\t3\t4"))
        shown = CliRunner().invoke(app, asked)
        assert "was made of other papers or ratings; choose another name" in str(shown.exception)


def test_gem_ranks_reviews_that_one_model_wrote_under_several_guidelines(tmp_path):
    use(OverlapLM())

    def answers(body):
        if len(body["messages"]) > 1:
            return written(body)
        sentences = re.findall(r"[A-Z][^.!?\n]{20,}[.]", body["messages"][-1]["content"])[3:9]
        return "\n".join(sentences) + "\nOverall Rating: (6)"

    with scripted_chat(write=answers) as server:
        models = models_file(tmp_path, server)
        chosen = settings.load(ROOT / "tests" / "flows" / "notes_and_pdfs.toml", (
            "evaluation_lm.backend=scripted", f"writing.models={models}", "writing.judgments=scripted",
            "writing.candidates=['scripted', 'scripted@none', 'scripted@iclr', 'scripted@good+rubric']",
            "scoring.metrics=['gem']",
        ))  # fmt: skip
        summary = refresh(Job(chosen, tmp_path, limit=3))
        # The same texts under the same prompt: what was written to be ranked is what the study rates, and is not bought again.
        asked, key = server.count, "SAMPLE-2026"
        study = run(GuidelineJob(key, ("scripted",), ("iclr",), edition=key, models_file=models, state=tmp_path))
        assert server.count == asked
    (rated,) = parse_outcomes(study)
    assert (rated.planned, rated.scored, rated.reasons) == (16, 3, {"no_text": 13})
    assert summary["outcome"] == "done"
    names = ["scripted", "scripted@good+rubric", "scripted@iclr", "scripted@none"]
    where = "metric = 'gem' and candidate like 'scripted%' order by candidate"
    assert query(tmp_path, f"select candidate, scored from leaderboard where {where}") == [(name, 6) for name in names]
    known = "select candidate_id, model, guideline from candidates where model = 'scripted' order by all"
    assert query(tmp_path, known) == [(name, "scripted", name.partition("@")[2] or None) for name in names]
