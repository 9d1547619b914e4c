"""Agreement with human grades, and symmetry: every ordered pair of an item's reviews, scored and correlated."""

from __future__ import annotations

import json
import shutil
from statistics import fmean

import pytest
from scipy import stats

from gre_bench.core import settings
from gre_bench.core.errors import SourceError
from gre_bench.core.resources import locate_resource
from gre_bench.pipeline.agreeing import score_and_correlate_with_grades
from gre_bench.pipeline.importing import import_graded_reviews
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job, record_run
from gre_bench.store import Store
from gre_bench.studies.symmetry import check_symmetry
from tests.flows.refreshing import demo, query, use
from tests.scripted_lms import OverlapLM

KEY = "PROPOSALS-2026"
PROPOSALS = locate_resource("data", "sample_proposals", "proposals.jsonl")


@pytest.fixture(autouse=True)
def scripted():
    return use(OverlapLM())


def asked(*overrides):
    tree = {"edition": {"venue": "PROPOSALS", "year": 2026}}
    metrics = json.dumps(["gem", "gem_s_abstract", "rouge_l", "length"])
    return settings.load_recorded_settings(
        tree,
        (
            "evaluation_lm.backend=scripted", "writing.judgments=rule", f"scoring.metrics={metrics}",
            "validation.resamples=400", *overrides,
        ),
    )  # fmt: skip


def bring(state):
    store = Store(state, KEY)
    with store.lock("import"), record_run(store, "import", asked(), shown=False) as progress:
        import_graded_reviews(store, progress.run_id, PROPOSALS, "proposals", None, None)
        progress.end("done")


def run(state, *overrides):
    return score_and_correlate_with_grades(Job(asked(*overrides), state))


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """The state of an agreement, which nobody may change, its summary, and the evaluation LM."""
    state, lm = tmp_path_factory.mktemp("scored"), use(OverlapLM())
    bring(state)
    return state, run(state), lm


@pytest.fixture
def copied(scored, tmp_path):
    """A copy of that state, for a test to go on from."""
    return shutil.copytree(scored[0], tmp_path / "state")


def test_a_score_is_the_mean_over_the_other_reviews_and_the_coefficients_are_those_of_scipy(scored):
    state, summary, lm = scored
    assert summary["outcome"] == "done"
    assert {prediction.prompt for prediction in lm.asked} == {"predict_judgments_proposals"}, "that of the domain"
    found = {(row["metric"], row["kind"]): row for row in summary["agreements"]}
    assert len(found) == 4 * 3
    for metric in ("gem", "length"):
        rows = query(
            state,
            f"""select r.grade, list(p.value order by p.reference_id) from pairs p join signatures s using (signature_id)
            join reviews r on p.candidate_id = 'review:' || r.review_id
            where s.metric = '{metric}' and p.state = 'scored' group by r.review_id, r.grade""",
            KEY,
        )
        grades, values = zip(*((grade, fmean(own)) for grade, own in rows), strict=True)
        assert len(rows) == found[metric, "kendall"]["reviews"] == 54
        assert found[metric, "kendall"]["value"] == pytest.approx(stats.kendalltau(values, grades)[0])
        assert found[metric, "spearman"]["value"] == pytest.approx(stats.spearmanr(values, grades)[0])
        assert found[metric, "pearson"]["value"] == pytest.approx(stats.pearsonr(values, grades)[0])
    # A metric is set beside mere length, and length beside nothing.
    gem, length = found["gem", "kendall"], found["length", "kendall"]
    assert gem["over_length"] == pytest.approx(gem["value"] - length["value"], abs=1e-9)
    assert gem["over_length_low"] < gem["over_length"] < gem["over_length_high"]
    assert gem["at_length"] is not None and gem["within"] is not None
    assert length["over_length"] is None and length["at_length"] is None


def test_graded_reviews_are_on_no_leaderboard_and_a_second_run_asks_nothing(scored, copied, scripted):
    assert run(copied)["agreements"] == scored[1]["agreements"]
    assert scripted.asked == []
    assert query(copied, "select count(*) from leaderboard", KEY) == [(0,)]


def test_an_edition_without_grades_is_one_line(tmp_path):
    store = Store(tmp_path, KEY)
    with store.lock("import"), record_run(store, "import", asked(), shown=False) as progress:
        progress.end("done")
    with pytest.raises(SourceError, match=r"no graded reviews.*import graded"):
        run(tmp_path)


def test_symmetry_takes_every_two_reviews_once_from_spans_that_are_there_already(copied, scripted):
    summary = check_symmetry(Job(asked(), copied))
    assert scripted.asked == []
    sizes = query(copied, "select count(*) from reviews group by paper_id", KEY)
    assert summary["symmetry"]["joint"]["items"] == sum(n * (n - 1) // 2 for (n,) in sizes)
    assert summary["symmetry"]["joint"]["groups"] == 12
    spans = query(
        copied,
        """select s.paper_id, s.candidate_id, s.reference_id, c.total, m.total from scores s join signatures g
        using (signature_id) join spans c on c.prediction = s.predictions[1] join spans m on m.prediction =
        s.predictions[2] where g.metric = 'gem'""",
        KEY,
    )
    by_pair = {(paper, x.partition(":")[2], y): (given, alone) for paper, x, y, given, alone in spans}
    one, other = [], []
    for (paper, x, y), (y_given_x, y_alone) in by_pair.items():
        if x < y:
            x_given_y, x_alone = by_pair[paper, y, x]
            one.append(x_given_y + y_alone)
            other.append(y_given_x + x_alone)
    assert summary["symmetry"]["joint"]["value"] == pytest.approx(stats.spearmanr(one, other)[0])


def test_a_board_is_the_same_after_the_symmetry_of_its_edition_was_checked(tmp_path):
    wanted = demo('scoring.metrics=["gem"]', "edition.papers=6")
    refresh(Job(wanted, tmp_path))
    text = "select candidate, rank, expected, scored, unranked from leaderboard order by all"
    before = query(tmp_path, text)
    check_symmetry(Job(wanted, tmp_path))
    assert query(tmp_path, text) == before
    assert any(rank == 1 for _, rank, *_ in before)
