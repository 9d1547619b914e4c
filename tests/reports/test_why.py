"""``gre-bench why``: a number is taken apart to its tokens and comes out again; a tampered one does not."""

from __future__ import annotations

import json
import math
import shutil

import pytest

from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.core.records import Prediction
from gre_bench.reports.explanations import ScoreExplanation, check_mean, explain_score
from gre_bench.store import Store
from gre_bench.store.queries import CANDIDATE_PAIRS, PLANNED_SIGNATURES
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, query, reviews_by, run, use
from tests.release.made_up import change
from tests.scripted_lms import OverlapLM

METRICS = "scoring.metrics=['gem', 'gem_raw', 'bleu']"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    use(OverlapLM())
    state = tmp_path_factory.mktemp("why")
    run(state)
    add_reviews(state, reviews_by("model-a"))
    run(state, METRICS)
    return state


@pytest.fixture
def state(made, tmp_path):
    use(OverlapLM())
    shutil.copytree(made / "editions", tmp_path / "editions")
    return tmp_path


def explained(state, metric, candidate, paper=None, recount=True):
    signature = next(row for row in Store(state, EDITION).read(PLANNED_SIGNATURES) if row["metric"] == metric)
    return explain_score(state, EDITION, signature, candidate, paper if recount else None)


def tamper(state, statement: str) -> None:
    change(Store(state, EDITION), statement)


def failed(found) -> list[str]:
    return [row["what"] for row in found.checks if not row["holds"]]


@pytest.mark.parametrize("metric", ["gem", "gem_raw", "bleu"])
@pytest.mark.parametrize("candidate", ["human", "model-a", "other-paper"])
def test_every_metric_of_every_kind_of_candidate_comes_out_again(made, metric, candidate):
    use(OverlapLM())
    found = explained(made, metric, candidate)
    assert failed(found) == []
    assert len(found.checks) == 4
    assert all(row["recount"] == pytest.approx(row["value"], rel=1e-6) for row in found.pairs)


def test_a_paper_shows_tokens_that_gained_texts_prompts_and_digests(state):
    found = explained(state, "gem", "model-a", "s03")
    assert [row["reference_id"] for row in found.pairs] == [row["reference_id"] for row in found.details]
    for detail, row in zip(found.details, found.pairs, strict=True):
        given, alone = detail["terms"]
        assert row["value"] == pytest.approx(given["total"] - alone["total"])
        assert sum(token["gain"] for token in detail["tokens"]) == pytest.approx(row["value"], rel=1e-5)
        assert detail["x"] in given["prompt"]["user"] and detail["x"] not in alone["prompt"]["user"]
        assert given["prompt"]["reply"] == detail["y"]
        words = [*detail["y"].split(), "."]
        gained = {words[k] for k, token in enumerate(detail["tokens"][:-1]) if token["gain"] > 0}
        assert gained <= set(detail["x"].split()) | {word for word in words if word.lower() in detail["x"].lower()}
    assert found.paper["paper_id"] == "s03" and len(found.paper["abstract_sha256"]) == 64
    assert {row["candidate"] for row in found.reviews} == {"human", "model-a"}
    assert failed(found) == []


def test_each_judgment_of_the_candidate_tells_what_the_score_loses_without_it(made):
    use(OverlapLM())
    found = explained(made, "gem", "model-a", "s03")
    lines = found.details[0]["x"].splitlines()

    def told(x: str) -> float:
        totals = [OverlapLM.span(Prediction(x, None, detail["y"])).total for detail in found.details]
        return sum(totals) / len(totals)

    lost = {line: told("\n".join(lines)) - told("\n".join(set(lines) - {line})) for line in lines}
    assert [row["text"] for row in found.judgments] == sorted(lines, key=lambda line: -lost[line])
    assert [row["nats"] for row in found.judgments] == pytest.approx(sorted(lost.values(), reverse=True))
    assert max(lost.values()) > 0
    for metric, recount in (("gem", False), ("gem_raw", True), ("bleu", True)):
        assert explained(made, metric, "model-a", "s03", recount).judgments == []


@pytest.mark.parametrize(
    ("statement", "what", "count"),
    [
        ("update scores set value = value * 1.00001 where candidate_id = 'model-a' and paper_id = 's05'", "the log-probabilities give the score", 2),
        ("update scores set value = value * 1.00001 where candidate_id = 'model-a' and paper_id = 's05'", "a recount of 2 pairs", 1),
        ("update spans set logprobs = list_transform(logprobs, lambda x: x * 0.9)", "tokens add up", 2),
        ("update judgments set text = text || ' criticizes' where review_id = 's05:model-a'", "a recount of 2 pairs", 1),
    ],
)  # fmt: skip
def test_what_was_changed_since_is_found(state, statement, what, count):
    tamper(state, statement)
    assert sum(what in line for line in failed(explained(state, "gem", "model-a", "s05"))) == count
    if "judgments" in statement:
        of_all = failed(explained(state, "gem", "model-a", recount=False))
        assert "texts and prompts are those that were scored" in of_all
        assert failed(explained(state, "gem", "model-a", "s04")) == []


def test_another_evaluation_lm_is_told_by_what_differs(state):
    use(OverlapLM("scripted-other"))
    found = explained(state, "gem", "model-a", "s05")
    (check,) = [row for row in found.checks if row["what"] == "the evaluation LM and engine are those that scored"]
    assert not check["holds"]
    assert check["detail"] == "evaluation_lm: scripted-overlap then, scripted-other now"


def test_a_small_model_that_answers_otherwise_does_not_agree(state):
    class Off(OverlapLM):
        @staticmethod
        def span(prediction):
            span = OverlapLM.span(prediction)
            logprobs = (span.logprobs[0] * 1.001, *span.logprobs[1:])
            return type(span)(math.fsum(logprobs), span.ids, logprobs)

    use(Off())
    (what,) = failed(explained(state, "gem", "model-a", "s05"))
    assert what.startswith("a recount of 2 pairs")


def call(state, *arguments: object) -> tuple[int, str]:
    return shown("why", *arguments, "--state", state)


def test_the_command_tells_all_and_its_exit_code_says_whether_it_holds(state):
    code, shown = call(state, EDITION, "model-a", "--metric", "gem", "--paper", "s03", "--checks", "--details")
    assert code == 0
    for part in ("gained most", "the candidate's review (x)", "holds a recount of 2 pairs agrees within 1e-06"):
        assert part in shown
    code, shown = call(state, EDITION, "model-a", "--metric", "gem", "--json")
    assert (code, json.loads(shown)["holds"]) == (0, True)
    tamper(state, "update scores set value = value + 0.01 where candidate_id = 'model-a' and paper_id = 's05'")
    code, shown = call(state, EDITION, "model-a", "--metric", "gem")
    assert (code, "DOES NOT HOLD a recount of 32 pairs" in shown) == (1, True)
    assert call(state, EDITION, "model-a", "--metric", "gem", "--no-recount")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("nobody", "--metric", "gem"), "has no candidate nobody; known, nearest first: "),
        (("human", "--metric", "length"), "has no scores of length"),
        (("human", "--metric", "gem", "--paper", "zz"), "no pair of paper zz; known: s"),
    ],
)
def test_what_is_not_there_is_one_line(state, arguments, part):
    code, line = call(state, EDITION, *arguments)
    assert (code, part in line, "\n" in line) == (2, True, False), line


def test_a_pair_without_a_score_keeps_its_reason(state):
    assert query(state, "select count(*) from pairs where state = 'excluded'")[0][0] > 0
    with pytest.raises(GreBenchError, match="generic has no pair that was scored by gem_raw"):
        explained(state, "gem_raw", "generic")
    with pytest.raises(SettingsError, match="no edition"):
        explain_score(state, "NONE-2020", {"signature_id": "x", "metric": "gem"}, "human", None, None)


def test_papers_weigh_alike_however_many_pairs_they_have():
    pairs = [{"paper_id": paper, "state": "scored", "value": value} for paper, value in (("a", 1), ("a", 3), ("b", 8))]
    answer = ScoreExplanation("E-2026", "c", {}, {"score": 5.0}, {}, pairs)
    check_mean(answer)
    assert answer.holds and answer.checks[0]["what"] == "the board's +5.000000 is the mean over 2 papers of 3 pairs"
    answer.board["score"] = 4.0
    check_mean(answer)
    assert not answer.holds


def test_details_are_of_one_paper(state):
    assert call(state, EDITION, "model-a", "--details")[1] == "--details prints the texts of one paper: add --paper ID"


def test_a_paper_is_told_in_a_sentence_and_checks_that_hold_are_counted(state):
    _, out = call(state, EDITION, "model-a", "--metric", "gem", "--paper", "s03")
    (paper,) = [row for row in explained(state, "gem", "model-a", "s03").papers if row["paper_id"] == "s03"]
    assert f"s03: {paper['mean']:+.1f} nats, mean of 2 references; human {paper['human']:+.1f}" in out
    assert paper["lead"] == pytest.approx(paper["mean"] - paper["human"])
    assert "all 8 checks hold" in out and "holds the" not in out
    words = " ".join(out.split())
    for part in (
        "all papers: ",
        "scored by ",
        "human: the baseline, one human review of each paper",
        f"next: gre-bench leaderboard {EDITION}",
    ):
        assert part in words, "one paper shows no order: what it rests on and where the order stands is named"


def test_the_papers_of_a_candidate_are_ordered_by_its_lead_over_human_and_the_last_is_explained_next(state):
    _, out = call(state, EDITION, "model-a", "--metric", "gem")
    found = explained(state, "gem", "model-a")
    values = {(row["candidate_id"], row["paper_id"], row["reference_id"]): row["value"] for row in query_rows(state)}
    for row in found.papers:
        own = {key[2]: value for key, value in values.items() if key[:2] == ("model-a", row["paper_id"])}
        human = {key[2]: value for key, value in values.items() if key[:2] == ("human", row["paper_id"])}
        assert row["lead"] == pytest.approx(sum(own[name] - human[name] for name in own) / len(own))
    leads = [row["lead"] for row in found.papers]
    assert leads == sorted(leads, reverse=True)
    ahead = f"ahead of human on {sum(lead > 0 for lead in leads)} of {len(leads)} papers"
    assert ahead in out and "no order: not validated" in out
    assert (
        "human: the baseline, one human review of each paper; it is ranked" in out
        and f"--paper {found.papers[-1]['paper_id']} " in out
    )


def test_where_lead_is_not_score_less_human_a_line_says_on_which_references_it_is_taken(state):
    line = "score: over all references of a paper; human, lead: only over those that human is scored on too"
    asked = (state, EDITION, "model-a", "--metric", "gem", "--no-recount")
    assert line not in " ".join(call(*asked)[1].split())
    some = "select min(reference_id) from scores where paper_id <> 's04' group by paper_id"
    tamper(state, f"delete from scores where candidate_id = 'human' and reference_id in ({some})")
    for more, told in (((), True), (("--paper", "s03"), True), (("--paper", "s04"), False)):
        assert (line in " ".join(call(*asked, *more)[1].split())) == told


@pytest.mark.parametrize(("more", "listed"), [((), 10), (("--checks",), 30), (("--paper", "s04"), 2)])
def test_of_pairs_without_a_score_it_is_said_how_many_more_there_are(state, more, listed):
    tamper(state, "delete from scores where candidate_id = 'model-a' and paper_id <> 's03'")
    _, out = call(state, EDITION, "model-a", "--metric", "gem", "--no-recount", *more)
    assert sum(line.startswith("missing: paper ") for line in out.splitlines()) == listed
    assert (f"and {30 - listed} more pairs without a score" in out) == (listed < 30)


def query_rows(state):
    signature = next(row for row in Store(state, EDITION).read(PLANNED_SIGNATURES) if row["metric"] == "gem")
    return Store(state, EDITION).read(
        CANDIDATE_PAIRS, signature_id=signature["signature_id"], candidates=["human", "model-a"]
    )
