"""Examiners at work over real HTTP on a scripted server: known scores come back, what cannot be read is missing."""

from __future__ import annotations

import csv
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import kendalltau

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Case, Chat, LMIdentity, Sampling
from gre_bench.examiners.examiner import Examiner, GradingItem
from gre_bench.examiners.grading import ExaminerMetric, grade_by_endpoint, grade_by_replies, grading_identity
from gre_bench.examiners.templates import TEMPLATES
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.http_writer import HttpWriter, LogprobWriter, RetryPolicy
from tests.conftest import real
from tests.servers.chat import MODEL, scripted_chat
from tests.servers.scripted_examiner import examiner, logprobs_of, reply

QUICK = RetryPolicy(concurrency=8, timeout_s=60.0, attempts=2, first_wait_s=0.01, longest_wait_s=0.1)


def writer(server, tmp_path: Path, kind=HttpWriter) -> HttpWriter:
    model = Model(name="examiner", endpoint=server.url, model=MODEL)
    return kind(model, ReplyArchive(tmp_path / "replies"), QUICK)


def items(*qualities: float) -> list[GradingItem]:
    return [
        GradingItem(str(place), "A source.", f"A text of quality {value}.") for place, value in enumerate(qualities)
    ]


def graded(folder: Path, one: Examiner, quality: float = 0.5, **server):
    """The grade of one text by an examiner whose server behaves so, and the requests."""
    with scripted_chat(**server) as scripted:
        [found] = grade_by_replies(one, items(quality), writer(scripted, folder))
        return found, scripted.requests


@pytest.mark.parametrize("name", [
    name for name, form in TEMPLATES.items() if form.answer != "nothing" and name != "generated"
])  # fmt: skip
def test_every_template_brings_known_scores_back_in_their_order(name, tmp_path):
    with scripted_chat(write=examiner()) as server:
        for granularity, item in itertools.product(TEMPLATES[name].granularities, ("summary", "review")):
            one, before = Examiner(template=name, granularity=granularity, item=item), server.count
            grades = grade_by_replies(one, items(0.0, 0.25, 0.5, 0.75, 1.0), writer(server, tmp_path / one.name / item))
            assert server.count - before == 5 * len(one.aspects)
            values = [found.value for found in grades]
            assert values == sorted(values) and len(set(values)) == 5
            assert (values[0], values[-1]) == (one.form.scale.low, one.form.scale.high)
            assert {len(found.parts) for found in grades} == {len(one.aspects) if one.form.answer == "score" else 4}
            assert values == pytest.approx([sum(found.parts.values()) / len(found.parts) for found in grades])


@pytest.mark.shared
@pytest.mark.parametrize("template", ["p1", "p5", "p7", "explanation", "direct_assessment"])
def test_human_scores_of_real_summaries_come_back_with_the_tau_of_their_rounding(template, tmp_path):
    """80 summaries: an LM that knows the human score and rounds it to the scale agrees as much as rounding allows."""
    with real("summarization-eval4nlp", "train_summarization.tsv").open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[::4]
    human = [float(row["Score"]) for row in rows]
    known = dict(zip((row["HYP"] for row in rows), human, strict=True))
    one = Examiner(template=template, item="summary")

    def quality(prompt: str) -> float:
        text = prompt.partition("\nSummary: ")[2].partition("\n")[0]
        return (known[text] - 1) / 4

    def rounded(value: float) -> float:
        scale = one.form.scale
        if scale.only_declared:
            return scale.values[min(len(scale.values) - 1, int((value - 1) / 4 * len(scale.values)))]
        return round(scale.low + (value - 1) / 4 * (scale.high - scale.low))

    texts = [GradingItem(str(place), row["SRC"], row["HYP"]) for place, row in enumerate(rows)]
    with scripted_chat(write=examiner(quality=quality)) as server:
        grades = grade_by_replies(one, texts, writer(server, tmp_path))
    assert [found.problem for found in grades if found.problem] == []
    tau = kendalltau(human, [found.value for found in grades]).statistic
    assert tau == pytest.approx(kendalltau(human, [rounded(value) for value in human]).statistic)
    assert tau > 0.75


@pytest.mark.parametrize("manner", ["exact", "labelled", "stray", "chatter", "reasons"])
def test_the_ways_in_which_lms_answer_do_not_change_a_score(manner, tmp_path):
    found, _ = graded(tmp_path, Examiner(template="rationale"), 0.75, write=examiner(manner))
    assert (found.value, found.cost.unparsable) == (4.0, 0)
    assert manner != "reasons" or found.rationales == {"overall": "It names 2 of the 3 main points."}


@pytest.mark.parametrize("manner", ["wrong_language", "refusing", "out_of_range", "undecided"])
def test_what_cannot_be_read_is_asked_three_times_and_then_missing(manner, tmp_path):
    found, sent = graded(tmp_path, Examiner(template="human"), 0.75, write=examiner(manner))
    seeds = [body.get("seed") for body in sent]
    assert found.value is None
    assert (found.problem.code, found.problem.final) == ("unparsable", True)
    assert (found.cost.replies, found.cost.unparsable) == (3, 3)
    assert seeds == [None, 1000, 2000]


def asked_for_none(body):
    return "\nAnswer: ".join(f"{name}: 3" for name in ("Relevance", "Consistency", "Fluency", "Coherence"))


SAMPLED = {"template": "human", "aggregation": "approximation", "samples": 4}


@pytest.mark.parametrize(("tree", "server", "value", "unparsable", "hallucinated"), [
    # A reply that can be read the second time counts.
    ({"template": "human"}, {"write": lambda body: "Well." if body.get("seed") is None else "4"}, 4.0, 1, 0),
    # Thinking is no part of the reply.
    ({"template": "human"}, {"write": lambda body: "<think>\nMaybe 2, maybe 3.\n</think>\n4"}, 4.0, 0, 0),
    # The last word of a cut reply does not count.
    ({"template": "base"}, {"write": lambda body: "Score: 10\nIt is a po", "then": "length"}, 10.0, 0, 0),
    # Samples that cannot be read are left out of the mean.
    (SAMPLED, {"write": lambda body: "Hm." if body["seed"] % 1000 % 2 else "4"}, 4.0, 6, 0),
    # Replies with an "Answer:" that nobody asked for are read all the same.
    ({"template": "explanation", "item": "summary"}, {"write": asked_for_none}, 3.0, 0, 1),
])  # fmt: skip
def test_what_can_be_read_counts(tree, server, value, unparsable, hallucinated, tmp_path):
    found, _ = graded(tmp_path, Examiner.model_validate(tree), **server)
    assert (found.value, found.cost.unparsable, found.cost.hallucinated) == (value, unparsable, hallucinated)


FINE = {"template": "human", "granularity": "fine"}


@pytest.mark.parametrize(("tree", "server", "code", "final", "said"), [
    *((FINE, {"then": behaviour, "retry_after": None}, code, final, "") for behaviour, code, final in (
        ("refusal", "refused", True), ("500", "failed", False), ("429", "rate_limited", False),
        ("empty", "empty", True), ("401", "failed", False),
    )),
    # A score at the end of a cut reply may be the 10 of 100.
    ({"template": "base"}, {"write": lambda body: "Score: 10", "then": "length"}, "unparsable", True, ""),
    # A sample that failed for now makes the whole grade wait.
    (SAMPLED, {"write": examiner(), "when": lambda body: "500" if body["seed"] == 2 else None}, "failed", False, ""),
    ({"template": "human", "filtering": True}, {"write": lambda body: "Perhaps."}, "unparsable", True, "filter: "),
    (FINE, {"write": lambda body: "Pardon?" if "its fluency" in body["messages"][-1]["content"] else "4"},
     "unparsable", True, "fluency: "),
])  # fmt: skip
def test_what_is_missing_has_its_reason(tree, server, code, final, said, tmp_path):
    found, _ = graded(tmp_path, Examiner.model_validate(tree), **server)
    assert (found.value, found.problem.code, found.problem.final) == (None, code, final)
    assert found.problem.message.startswith(said)


def test_the_approximation_is_the_mean_of_twenty_samples_at_temperature_one(tmp_path):
    def drawn(body):
        return reply(body["messages"][-1]["content"], random.Random(body["seed"]).random())

    expected = [int(reply("1 to 5", random.Random(seed).random())) for seed in range(20)]
    found, sent = graded(tmp_path, Examiner(template="human", aggregation="approximation"), 0.5, write=drawn)
    assert found.value == pytest.approx(sum(expected) / 20)
    assert 1 < found.value < 5
    assert Counter((body["temperature"], body["top_p"]) for body in sent) == {(1.0, 0.1): 20}
    assert sorted(body["seed"] for body in sent) == list(range(20))


@pytest.mark.parametrize(("base", "sent"), [
    (None, {"temperature": 0.0, "top_p": 0.1, "max_tokens": 64}), (Sampling(None, 4000), {"max_tokens": 4000}),
])  # fmt: skip
def test_direct_is_asked_once_at_temperature_zero_if_the_model_takes_one(base, sent, tmp_path):
    with scripted_chat(write=examiner()) as server:
        grade_by_replies(Examiner(template="human"), items(0.5), writer(server, tmp_path), base)
        [body] = server.requests
    assert {name: body[name] for name in ("temperature", "top_p", "max_tokens") if name in body} == sent


@pytest.mark.parametrize(("template", "low"), [("human", 1.0), ("base", 0.0), ("p6", -100.0)])
def test_a_redundant_text_gets_the_lowest_score_and_is_not_graded(template, low, tmp_path):
    texts = [
        GradingItem("a", "S.", "It says so again and again, quality 1"),
        GradingItem("b", "S.", "It says so once, quality 1"),
    ]
    one = Examiner(template=template, filtering=True)
    with scripted_chat(write=examiner()) as server:
        first, second = grade_by_replies(one, texts, writer(server, tmp_path))
        assert server.count == 3
    assert (first.value, first.filtered) == (low, True)
    assert (second.value, second.filtered) == (one.form.scale.high, False)


def test_the_random_baseline_asks_nobody_and_is_the_same_every_time():
    one = Examiner(template="random")
    first, second = (grade_by_replies(one, items(*[0.5] * 50), None) for _ in range(2))
    assert first == second
    assert len({found.value for found in first}) == 50


# -- an endpoint's log-probabilities

SHARES = {"4": 0.5, "5": 0.3, "3": 0.1, "The": 0.1}


def weighed(server, folder: Path, one: Examiner, texts=None):
    shown = writer(server, folder, LogprobWriter)
    return grade_by_endpoint(one, texts or items(0.5), shown, shown)


def test_an_endpoints_likeliest_tokens_give_the_score(tmp_path):
    one = Examiner(template="human", aggregation="logprob", granularity="fine")
    with scripted_chat(write=lambda body: "4", logprobs=logprobs_of(SHARES)) as server:
        [found] = weighed(server, tmp_path, one)
        assert all((body["logprobs"], body["top_logprobs"]) == (True, 20) for body in server.requests)
        count = server.count
        [again] = weighed(server, tmp_path, one)
        assert server.count == count == 4, "an archived reply was bought twice"
    assert found.value == pytest.approx((2.0 + 1.5 + 0.3) / 0.9)
    assert found.mass["relevance"] == pytest.approx(0.9)
    assert again.value == found.value


def test_a_reply_without_log_probabilities_is_paid_for(tmp_path):
    with scripted_chat(write=lambda body: "4 of 5") as server:
        chat = Chat("", "How fluent is this review? Give a grade from 1 to 5.")
        [reply] = writer(server, tmp_path, LogprobWriter).write([chat], Sampling())
    assert (reply.outcome, reply.text) == ("failed", None)
    assert reply.prompt_tokens and reply.reply_tokens


@pytest.mark.parametrize("content", [
    None, [{"token": 4}], [{"token": "4", "logprob": 0.7, "top_logprobs": []}],
    [{"token": "4", "logprob": None, "top_logprobs": None}], [3], {},
])  # fmt: skip
def test_absent_and_broken_log_probabilities_are_a_problem(content, tmp_path):
    logprobs = {} if content is None else {"logprobs": lambda body: content}
    with scripted_chat(write=lambda body: "4", **logprobs) as server:
        [found] = weighed(server, tmp_path, Examiner(template="human", aggregation="logprob"))
    assert found.problem.code == "failed"
    assert content is not None or "no log-probabilities" in found.problem.message


# -- any examiner is a metric


def case(number: int, quality: float, synopsis: str | None = "The paper.") -> Case:
    return Case(f"p{number}", "human", "none", "review", f"A review of quality {quality}.", "", synopsis)


def test_an_examiner_scores_cases_and_says_why_it_does_not(tmp_path):
    one = Examiner(template="five_level", item="review")
    cases = [case(1, 1.0), case(2, 0.5, None), case(3, 0.0)]
    cases.append(Case("p4", "human", "none", "review", " ", "", "The paper."))
    with scripted_chat(write=examiner()) as server:
        metric = ExaminerMetric(one, lambda items: grade_by_replies(one, items, writer(server, tmp_path)), "s" * 16)
        scores = metric.score(cases)
    assert [score.value for score in scores] == [5.0, None, 1.0, None]
    assert [score.problem.code for score in scores if score.problem] == ["no_paper", "empty_text"]
    assert [(score.paper_id, score.signature_id) for score in scores] == [(f"p{n}", "s" * 16) for n in (1, 2, 3, 4)]
    assert metric.needs_reference is False


def test_a_metric_may_weigh_an_endpoints_probabilities_and_bin_them(tmp_path):
    one = Examiner.model_validate({"template": "human", "aggregation": "logprob", "binning": {"bins": 4}})
    with scripted_chat(write=lambda body: "4", logprobs=logprobs_of(SHARES)) as server:
        metric = ExaminerMetric(one, lambda texts: weighed(server, tmp_path, one, texts), "s")
        [score] = metric.score([case(1, 0.5)])
    assert score.value == 4.5


def test_a_signature_names_the_examiner_and_whom_it_asks():
    one, other = Examiner(template="human"), Examiner(template="human", criteria="ad")
    lm = LMIdentity("llama", "d" * 64, "trie 2", dtype="bfloat16")
    found = [
        grading_identity(one, "gpt@1"), grading_identity(other, "gpt@1"), grading_identity(one, "gpt@1", Sampling(0.0, 4000)),
        grading_identity(one, lm=lm), grading_identity(other, lm=lm),
    ]  # fmt: skip
    assert len({each.lm_id for each in found}) == 5
    assert (found[3].name, found[3].dtype) == ("llama", "bfloat16")
    assert found[3].engine_version == f"trie 2, examiner {one.identity}"


@pytest.mark.parametrize(("tree", "made", "line"), [
    ({"item": "summary"}, lambda one: ExaminerMetric(one, None, "s"), 'set item = "review"'),
    ({"binning": {"method": "quantile"}}, lambda one: ExaminerMetric(one, None, "s"), "quantile bins depend"),
    ({"template": "human", "aggregation": "logprob"}, lambda one: grade_by_replies(one, items(0.5), None),
     "examiner human-coarse-logprob needs an evaluation LM"),
])  # fmt: skip
def test_an_examiner_that_cannot_be_a_metric_or_cannot_ask_is_refused(tree, made, line):
    with pytest.raises(SettingsError, match=line):
        made(Examiner.model_validate(tree))
