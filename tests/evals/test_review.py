"""`gre_bench/review`: providers are asked as the pipeline's writers ask, and scores equal the board's after an import."""

from __future__ import annotations

import json
import math
import shutil
import tomllib
from importlib import import_module

import pytest

pytest.importorskip("inspect_ai", reason="the task of inspect_ai needs the extra `inspect`")

from inspect_ai import eval as evaluate
from inspect_ai import eval_retry
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score

from gre_bench.core.records import Paper, Sampling
from gre_bench.evals.review import gem, mean, open_board, review, stderr
from gre_bench.ingest.records.cells import UNFINISHED, ImportResult
from gre_bench.ingest.records.inspect_logs import read_logs
from gre_bench.stats.intervals import clustered_test
from gre_bench.store import Store
from gre_bench.writing.lm_writer import build_paper_chat
from tests.cli.calling import call
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, add_papers, refreshed, run
from tests.ingest.records.test_inspect_logs import failed, sample, written
from tests.lm.test_pretrained_real import needed

MOCK = "mockllm/model"
FAILING, REFUSED = "s03", "s05"
METRICS = ("gem", "gem_s_abstract")
BY_RULE = ("evaluation_lm.backend=cache-ngram", "writing.judgments=rule")


@pytest.fixture(scope="module")
def by_rule(tmp_path_factory):
    """The sample, judged by rule and scored by cache-ngram."""
    state = tmp_path_factory.mktemp("evals") / "state"
    run(state, *BY_RULE, "scoring.metrics=['gem', 'gem_s_abstract']")
    return state


@pytest.fixture
def state(by_rule, tmp_path):
    return shutil.copytree(by_rule, tmp_path / "state")


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


class Mock:
    """A model whose review tells of the paper; it fails on one paper until it is *mended*, and refuses another."""

    def __init__(self, papers: list[Paper], failing: str = FAILING):
        self.failing = failing
        self.ids = {paper.whole: paper.paper_id for paper in papers}
        self.asked: list[tuple[list[dict[str, str]], GenerateConfig]] = []
        self.mended = False

    def __call__(self, messages, tools, tool_choice, config) -> ModelOutput:
        self.asked.append(([{"role": one.role, "content": one.text} for one in messages], config))
        paper_id = self.ids[messages[-1].text]
        if paper_id == self.failing and not self.mended:
            raise RuntimeError("the provider is down")
        topic = messages[-1].text.split("\n")[0]
        text = (
            f"<think>{paper_id}</think>\n<strengths>1. The method is sound. 2. The study of {topic} is clear.</strengths>"
            f"\n<weaknesses>1. The evaluation of {topic} is {'very ' * (len(topic) % 3)}weak.</weaknesses>"
        )
        output = ModelOutput.from_content(MOCK, text, stop_reason="content_filter" if paper_id == REFUSED else "stop")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    def model(self):
        return get_model(MOCK, custom_outputs=self, memoize=False)


def board_of(state, candidate: str) -> dict[str, dict]:
    code, printed, said = call("leaderboard", EDITION, "--state", state, "--json")
    assert code == 0, said
    return {row["metric"]: row for row in json.loads(printed)["rows"] if row["candidate"] == candidate}


def scores_of(log) -> dict[str, dict[str, float]]:
    return {one.name: {name: found.value for name, found in one.metrics.items()} for one in log.results.scores}


def test_an_evaluation_its_retry_and_its_import_end_on_the_board(state, tmp_path):
    papers = open_board(EDITION, state).papers()
    mock, logs = Mock(papers), tmp_path / "logs"
    asked = review(EDITION, str(state))
    how = {"log_dir": str(logs), "display": "none", "fail_on_error": False, "retry_on_error": 0}
    (log,) = evaluate(asked, model=mock.model(), **how)
    assert log.status == "success" and log.eval.dataset.name == EDITION
    assert log.eval.metadata["signatures"].keys() == set(METRICS)

    # What a provider gets is what the pipeline's own writer sends.
    sent = {json.dumps(messages) for messages, _ in mock.asked}
    chats = [build_paper_chat("review", paper.whole) for paper in papers]
    assert sent == {json.dumps([message("system", chat.system), message("user", chat.user)]) for chat in chats}
    config = mock.asked[0][1]
    assert (config.temperature, config.max_tokens) == (Sampling().temperature, Sampling().max_tokens)

    samples = {sample.id: sample for sample in log.samples}
    assert samples[FAILING].error is not None
    refused = samples[REFUSED].scores["gem"]
    assert math.isnan(refused.as_float()) and refused.reason == "refused"
    nats = samples["s01"].scores["gem"].metadata["nats"]
    assert samples["s01"].scores["gem"].as_float() == pytest.approx(math.fsum(nats.values()) / len(nats))

    code, printed, said = call("import", "inspect", logs, "-e", EDITION, "--state", state)
    assert code == 2 and "14 reviews added" in printed
    assert f"review of {FAILING} by {MOCK}: its sample ended with an error: RuntimeError" in said.replace("\n", " ")
    assert f"review of {REFUSED} by {MOCK}: its output is refused" in said.replace("\n", " ")

    mock.mended = True
    (log,) = evaluate(asked, model=mock.model(), **how)
    code, printed, _ = call("import", "inspect", logs, "-e", EDITION, "--state", state)
    assert code == 2 and "1 reviews added, 14 known already, 1 refused" in printed
    code, *_ = call("refresh", "-e", EDITION, "--no-prefect", "--state", state, "--json")
    assert code == 0
    board, scores = board_of(state, MOCK), scores_of(log)
    assert set(scores) == set(METRICS)
    for metric, found in scores.items():
        row = board[metric]
        assert row["papers"] == 15
        assert found["mean"] == pytest.approx(row["score"], abs=1e-6)
        assert found["stderr"] == pytest.approx((row["high"] - row["score"]) / student(15), abs=1e-6)

    # The same logs can be ranked at once, as any file of reviews.
    code, printed, said = call(
        "rank", logs, "--edition", EDITION, "--as", "mine", "--partial", "--state", state, "--json"
    )
    assert code == 0, said
    assert board_of(state, "mine")["gem"]["score"] == pytest.approx(board["gem"]["score"], abs=1e-9)


def test_a_retry_of_inspects_own_mends_what_an_error_left(by_rule, tmp_path, monkeypatch):
    papers = open_board(EDITION, by_rule).papers(3)
    mock, logs = Mock(papers, failing=papers[1].paper_id), tmp_path / "logs"

    async def generate(self, input, tools, tool_choice, config):
        return mock(input, tools, tool_choice, config)

    monkeypatch.setattr("inspect_ai.model._providers.mockllm.MockLLM.generate", generate)
    how = {"log_dir": str(logs), "display": "none"}
    (log,) = evaluate(review(EDITION, str(by_rule), limit=3), model=MOCK, **how)
    assert log.status == "error"
    taken = ImportResult()
    rows = read_logs(logs, taken)
    assert {one.code for one in taken.refusals} == {UNFINISHED} and len(rows) + len(taken.refusals) == 3

    mock.mended = True
    (again,) = eval_retry(log, **how)
    assert again.status == "success", again.error
    assert again.eval.task_id == log.eval.task_id
    taken = ImportResult()
    rows = read_logs(logs, taken)
    assert {row["paper_id"] for _, row in rows} == {paper.paper_id for paper in papers} and not taken.refusals


def student(papers: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(papers - 1, 0.95))


def test_an_import_that_a_retry_can_complete_says_so(state, tmp_path):
    log = written(tmp_path / "logs", "run.eval", [sample("s01"), failed("s02")], status="error")
    code, printed, said = call("import", "inspect", log, "-e", EDITION, "--as", "mine", "--state", state)
    assert code == 3 and "papers that a retry may bring: 1; inspect eval-retry LOG" in printed
    assert "RateLimitError: slow down" in said and "mine: rule" in printed
    assert call("import", "inspect", log, "-e", EDITION, "--as", "human", "--state", state)[0] == 2
    code, _, said = call("import", "inspect", tmp_path, "-e", "SAMPLE-2025", "--state", state)
    assert code == 2 and "did you mean SAMPLE-2026?" in said
    (tmp_path / "empty").mkdir()
    code, _, said = call("import", "inspect", tmp_path / "empty", "-e", EDITION, "--state", state)
    assert code == 2 and "is or holds no log of inspect_ai" in said


def test_a_paper_weighs_by_its_references_as_on_a_board():
    values = {"s01": [1.0, 2.0, 6.0], "s02": [-1.0], "s03": [0.5, 0.25]}
    scores = [
        SampleScore(
            sample_id=paper, score=Score(value=sum(found) / len(found), metadata={"nats": dict(enumerate(found))})
        )
        for paper, found in values.items()
    ]
    pairs = [(value, paper) for paper, found in values.items() for value in found]
    expected = clustered_test([value for value, _ in pairs], [paper for _, paper in pairs])
    assert mean()(scores) == pytest.approx(expected.value)
    assert stderr()(scores) == pytest.approx((expected.high - expected.value) / student(3))
    assert math.isnan(stderr()(scores[:1])) and math.isnan(mean()([]))


def test_what_cannot_be_scored_has_its_reason(by_rule):
    board = open_board(EDITION, by_rule)
    assert board.score("gem", "elsewhere", "A review.").problem == "unknown_paper"
    found = board.score("gem", "s01", "Hello.")
    assert (found.nats, found.problem) == ({}, "no_judgments")
    assert open_board(EDITION, by_rule) is board
    assert [paper.paper_id for paper in board.papers(3)] == [paper.paper_id for paper in board.papers()[:3]]


def test_what_cannot_be_asked_is_one_line(by_rule, tmp_path):
    def line(*asked, **more) -> str:
        with pytest.raises(PrerequisiteError) as caught:
            review(*asked, **more)
        return str(caught.value.message)

    assert "did you mean SAMPLE-2026?" in line("SAMPLE-2025", str(by_rule))
    assert line(EDITION, str(by_rule), limit=0) == "limit 0: a review needs at least one paper"
    unscored = tmp_path / "unscored"
    add_papers(unscored, [{"paper_id": "s01", "text": "A paper."}])
    none_yet = f"edition {EDITION} has no board yet; run: gre-bench refresh --edition {EDITION}"
    assert line(EDITION, str(unscored)) == none_yet
    given = refreshed(tmp_path / "given")
    assert "which nothing here writes" in line(EDITION, str(given))
    other = shutil.copytree(by_rule, tmp_path / "other")
    store = Store(other, EDITION)
    folds = "update runs set settings = replace(settings, '\"ascii_fold\":false', '\"ascii_fold\":true')"
    with store.lock("test"), store.transaction() as connection:
        connection.execute(folds)
    with store.lock("test"):
        store.copy_for_readers()
    assert "scores of different signatures are never mixed" in line(EDITION, str(other))


def test_a_metric_that_a_board_lacks_is_named(tmp_path, by_rule):
    state = shutil.copytree(by_rule, tmp_path / "state")
    run(state, *BY_RULE, "scoring.metrics=['gem_s_abstract']")
    with pytest.raises(PrerequisiteError, match="has no gem; it has gem_s_abstract"):
        gem(EDITION, str(state))


def test_inspect_finds_the_task_by_the_entry_point():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["inspect_ai"]
    module = import_module(stated["gre_bench"])
    assert module.review is review


@pytest.mark.night
@pytest.mark.pretrained
def test_smollm2_reviews_through_the_provider_of_hugging_face(by_rule, tmp_path):
    from gre_bench.core.pretrained import find_cached_model, find_pretrained_model

    name = needed("smollm2-135m", "torch", "transformers")
    folder = find_cached_model(find_pretrained_model(name)).folder
    (log,) = evaluate(
        review(EDITION, str(by_rule), limit=1),
        model=get_model("hf/smollm2-135m", model_path=str(folder), device="cpu", do_sample=False, memoize=False),
        max_tokens=8,
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    (sample,) = log.samples
    assert log.status == "success" and sample.error is None
    assert sample.output.usage.output_tokens <= 8
    assert set(sample.scores) == set(METRICS)
    assert all(not math.isnan(one.as_float()) or one.reason for one in sample.scores.values())
