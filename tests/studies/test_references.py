"""``gre-bench study references`` on the sample edition: scores on other candidates' reviews, kept by paper."""

from __future__ import annotations

import json
import shutil
from html import unescape
from itertools import accumulate, permutations

import pytest

from gre_bench.core.records import Prediction
from gre_bench.store import Store
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, query, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM

MODELS = ("model-a", "model-b", "model-c")
SAID = {
    "model-a": "The reviewer appreciates the experiments of paper {n}.\nThe reviewer questions the seeds.",
    "model-b": "The reviewer suggests s{n:02d}.",
    "model-c": "The reviewer criticizes the proofs and the experiments of paper {n}, which has too few baselines. "
    * 12,
}
STORED = "select * exclude (run_id) from stand_ins order by all"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The sample with reviews by three models, scored in chunks of two papers."""
    state = refreshed(tmp_path_factory.mktemp("references"))
    use(OverlapLM())
    for name in MODELS:
        rows = [row | {"judgments": SAID[name].format(n=int(row["paper_id"][1:]))} for row in reviews_by(name)]
        add_reviews(state, rows)
    run(state, "run.chunk_papers=2")
    store = Store(state, EDITION)
    with store.lock("test"):
        with store.transaction() as connection:
            connection.execute(
                "insert or replace into validations select signature_id, 'pass', 'ICLR-2023', '', now() from signatures"
            )
        store.copy_for_readers()
    return state


@pytest.fixture(scope="module")
def state(made):
    use(OverlapLM())
    code, text = shown("study", "references", EDITION, "-m", "gem", "--state", made)
    assert code == 0, text
    return made


@pytest.fixture
def call(state):
    use(OverlapLM())

    return lambda *arguments: shown("study", "references", EDITION, *arguments, "--state", state)


def test_each_model_is_scored_on_each_others_review_and_each_human_on_each_others(state):
    found = query(state, "select paper_id, candidate_id, reference_by from stand_ins")
    papers = {paper for paper, *_ in found}
    assert sorted(row for row in found if row[1] != "human") == sorted(
        (paper, *pair) for paper in papers for pair in permutations(MODELS, 2)
    )
    of_people = [row for row in found if "human" in row[1:]]
    assert {row[1:] for row in of_people} == {("human", "human")} and len(of_people) == 6 * len(papers)


def test_a_score_on_another_models_review_is_the_metrics_own_whole_and_cut(state):
    texts = {row["paper_id"]: row["judgments"] for row in reviews_by("model-a")}
    references = dict(query(state, "select review_id, text from judgments"))
    lengths: dict[str, list[int]] = {}
    for paper, reference in query(state, "select paper_id, review_id from sample where role = 'reference'"):
        lengths.setdefault(paper, []).append(len(references[reference].split()) + 1)
    rows = query(
        state,
        "select paper_id, value, cut from stand_ins where candidate_id = 'model-a' and reference_by = 'model-c'",
    )
    assert len(rows) == len(texts) and any(value != cut for _, value, cut in rows)
    for paper, value, cut in rows:
        reply = SAID["model-c"].format(n=int(paper[1:]))
        given, alone = (OverlapLM.span(Prediction(x, None, reply)).logprobs for x in (texts[paper], None))
        gains = list(accumulate(one - other for one, other in zip(given, alone, strict=True)))
        assert value == pytest.approx(gains[-1])
        own = [gains[min(length, len(gains)) - 1] for length in lengths[paper]]
        assert cut == pytest.approx(sum(own) / len(own))


def test_the_board_stays_as_it_was_and_its_screen_json_and_page_say_what_was_computed(state, call, tmp_path):
    board = query(state, "select * from leaderboard order by all")
    code, text = call("-m", "gem", "--json")
    (found,) = json.loads(text)["metrics"]
    assert code == 0 and query(state, "select * from leaderboard order by all") == board
    assert shown("study", "references", EDITION, "-m", "gem", "--state", state)[1].startswith(found["line"])
    asked = ("leaderboard", EDITION, "--metric", "gem", "--state", state)
    assert found["line"] in " ".join(shown(*asked)[1].split())
    assert json.loads(shown(*asked, "--json")[1])["headline"]["tipping"] == found["line"]
    assert {row["what"] for row in found["reviewers"]} == {"without reviewer 1", "without reviewer 2"}
    assert found["likeness"]["references"] == len(query(state, "select * from sample where role = 'reference'"))
    names = {row["review_id"] for row in reviews_by("x") if "review_id" in row}
    ids = {row[0] for row in query(state, "select review_id from sample")} | names
    assert not any(name in text for name in ids), "a distribution names no reference"


def test_a_stopped_study_goes_on_and_ends_the_same(tmp_path, made, state):
    whole = query(state, STORED)
    again = shutil.copytree(made, tmp_path / "again")
    store = Store(again, EDITION)
    with store.lock("test"):
        with store.transaction() as connection:
            connection.execute("delete from stand_ins")
            connection.execute("delete from spans where prediction not in (select unnest(predictions) from scores)")
        store.copy_for_readers()
    asked = ("study", "references", EDITION, "-m", "gem", "--state", again)

    class Stopping(OverlapLM):
        def logprob(self, predictions):
            if len(self.asked) > 150:
                raise MemoryError("killed")
            return super().logprob(predictions)

    use(Stopping())
    with pytest.raises(MemoryError, match="killed"):
        shown(*asked)
    kept = query(again, STORED)
    assert 0 < len(kept) < len(whole)
    lm = use(OverlapLM())
    assert shown(*asked)[0] == 0
    assert query(again, STORED) == whole
    fresh = len({row[0] for row in query(again, "select unnest(predictions) from stand_ins")})
    assert len(lm.asked) < fresh, "what was scored is not scored again"
    lm = use(OverlapLM())
    assert shown(*asked)[0] == 0 and not lm.asked


def test_strata_come_from_a_file(call, state, tmp_path):
    references = query(state, "select review_id, place from sample where role = 'reference'")
    file = tmp_path / "likelihood.csv"
    file.write_text(
        "review_id,likelihood\n" + "".join(f"{name},{0.9 if place == 1 else 0.2}\n" for name, place in references)
    )
    (found,) = json.loads(call("-m", "gem", "--likelihood", file, "--json")[1])["metrics"]
    assert {row["candidate"] for row in found["strata"]} == set(MODELS)
    assert "an LM likely wrote" in call("-m", "gem", "--likelihood", file)[1]


def test_who_has_no_rank_on_the_board_takes_no_part_in_shifts_and_is_named_with_the_reason(state, tmp_path):
    use(OverlapLM())
    again = shutil.copytree(state, tmp_path / "again")
    rows = [row | {"judgments": SAID["model-a"].format(n=1)} for row in reviews_by("half", range(1, 9))]
    add_reviews(again, rows)
    run(again)
    file = tmp_path / "likelihood.csv"
    references = query(again, "select review_id, place from sample where role = 'reference'")
    file.write_text("review_id,likelihood\n" + "".join(f"{name},{place - 1}\n" for name, place in references))
    asked = ("study", "references", EDITION, "-m", "gem", "--likelihood", file, "--state", again)
    (found,) = json.loads(shown(*asked, "--json")[1])["metrics"]
    for part in ("reviewers", "strata"):
        assert {row["candidate"] for row in found[part]} == set(MODELS)
    board = dict(query(again, "select candidate, rank from leaderboard where metric = 'gem' and rank is not null"))
    assert {row["candidate"]: row["rank"] for row in found["reviewers"]} == {name: board[name] for name in MODELS}
    assert found["unranked"] == {"half": "only 16 of 32 pairs scored"}
    said = "left out, because the board does not rank them: half (only 16 of 32 pairs scored)"
    assert said in " ".join(shown(*asked)[1].split())


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("review_id,score\na,1\n", "row 1: needs review_id and a number in likelihood"),
        ("review_id,likelihood\na," + "x" * 200_000 + "\n", "row 1: "),
        ("review_id,likelihood\na,nan\n", "row 1: the likelihood is no finite number"),
        ("review_id,likelihood\n", "has columns and no row"),
    ],
)
def test_a_file_that_says_nothing_is_one_line(call, tmp_path, content, part):
    file = tmp_path / "likelihood.csv"
    file.write_text(content)
    code, line = call("-m", "gem", "--likelihood", file)
    assert (code, part in line, "\n" in line) == (2, True, False)


def test_another_evaluation_lm_is_one_line(state):
    use(OverlapLM("scripted-other"))
    code, line = shown("study", "references", EDITION, "-m", "gem_s_abstract", "--state", state)
    assert (code, "scripted-overlap then, scripted-other now" in line, "\n" in line) == (2, True, False)


def test_a_removed_candidate_leaves_no_score_on_its_reviews_and_no_token_of_them(state, tmp_path):
    again = shutil.copytree(state, tmp_path / "again")
    assert shown("remove", EDITION, "model-c", "--yes", "--state", again)[0] == 0
    assert query(again, "select * from stand_ins where 'model-c' in (candidate_id, reference_by)") == []
    assert query(again, "select count(*) from stand_ins where reference_by = 'model-a'")[0][0] > 0
    used = "select unnest(predictions) from scores union select unnest(predictions) from stand_ins"
    assert query(again, f"select * from spans where prediction not in ({used})") == []


def test_a_release_of_scores_carries_what_it_needs_and_says_the_same(state, tmp_path):
    said = shown("leaderboard", EDITION, "--metric", "gem", "--json", "--state", state)[1]
    line = json.loads(said)["headline"]["tipping"]
    code, text = shown("publish", EDITION, "--scores-only", "--out", tmp_path / "out", "--state", state)
    assert code == 0, text
    (release,) = (tmp_path / "out").glob("*-r1")
    assert line in unescape((release / "index.html").read_text(encoding="utf-8"))
    code, text = shown("import", "release", release, "--state", tmp_path / "other")
    assert code == 0, text
    asked = ("study", "references", EDITION, "-m", "gem", "--json", "--state", tmp_path / "other")
    (found,) = json.loads(shown(*asked)[1])["metrics"]
    assert found["line"] == line
