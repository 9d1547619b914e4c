"""Contrasts of a file: against SciPy, corrected together, at equal length, in a release; faults of the file."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest
from scipy import stats

from gre_bench.core.errors import SettingsError
from gre_bench.release.manifest import read_manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.contrasts import compare_candidates, compute_contrasts_of_file, load_contrasts
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.reports.verifying import verify_release
from gre_bench.store import Store
from tests.cli.calling import ended, shown
from tests.flows.refreshing import EDITION, add_reviews, query, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM

JUDGED = {
    "careful": "The reviewer criticizes the missing baselines of paper {n}.\nThe reviewer suggests more seeds.",
    "hasty": "The reviewer appreciates the idea of paper {n}.",
    "fond": "The reviewer appreciates the clear proofs.\nThe reviewer appreciates the experiments of paper {n}.",
}
FILE = """\
[[contrast]]
name = "care"
question = "Does care help?"
first = "careful"
second = "hasty"

[[contrast]]
name = "praise"
first = "fond"
second = "careful"
metrics = ["gem"]
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board of three candidates, its release, and the contrasts file that its settings name."""
    use(OverlapLM())
    folder = tmp_path_factory.mktemp("contrasts")
    path = folder / "fixed.toml"
    path.write_text(FILE)
    state = refreshed(folder / "state")
    for name, judgments in JUDGED.items():
        rows = reviews_by(name)
        add_reviews(state, [row | {"judgments": judgments.format(n=n)} for n, row in enumerate(rows, 1)])
    assert run(state, f"board.contrasts={path}")["outcome"] == "done"
    return state, path


def test_a_contrast_is_students_test_of_the_papers_with_the_p_of_the_board(board):
    state, path = board
    report = compute_contrasts_of_file(state, EDITION, path)
    rows = {(row["name"], row["metric"]): row for row in report["contrasts"]}
    assert {metric for name, metric in rows if name == "praise"} == {"gem"} < {m for n, m in rows if n == "care"}
    differences = query(
        state,
        """select avg(a.value - b.value) from pairs a join pairs b using (signature_id, paper_id, reference_id)
        join signatures s using (signature_id) where s.metric = 'gem' and a.candidate_id = 'careful'
        and b.candidate_id = 'hasty' group by a.paper_id order by a.paper_id""",
    )
    row, values = rows["care", "gem"], [value for (value,) in differences]
    expected = stats.ttest_1samp(values, 0)
    interval = expected.confidence_interval(0.95)
    assert (row["difference"], row["p"]) == pytest.approx((sum(values) / len(values), expected.pvalue))
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    # The family of a metric: the six pairs of human and the three candidates.
    assert {each["tests"] for each in rows.values()} == {6}
    for each in rows.values():
        compared = compare_candidates(state, EDITION, [each["first"], each["second"]], [each["metric"]])
        assert compared["candidates"][0]["board"]["p_holm"] == each["p_holm"]
    power = 1 - stats.t.cdf(
        stats.t.ppf(0.975, row["papers"] - 1) - row["detectable"] / (interval.high - interval.low)
        * 2 * stats.t.ppf(0.975, row["papers"] - 1), row["papers"] - 1,
    )  # fmt: skip
    assert power == pytest.approx(0.8, abs=0.01)
    assert row["at_length"]["p_holm"] >= row["at_length"]["p"]
    assert report["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_screen_has_every_contrast_and_what_could_not_be_told(board):
    state, path = board
    code, printed = shown("compare", EDITION, "--contrasts", path, "--state", state)
    assert code == 0
    assert "care: careful − hasty. Does care help?" in printed and "could show" in printed
    assert printed.count("at equal length:") >= 3
    code, printed = shown("compare", EDITION, "--contrasts", path, "--state", state, "--metric", "gem", "--json")
    assert code == 0 and {row["metric"] for row in json.loads(printed)["contrasts"]} == {"gem"}


def test_a_release_states_the_contrasts_with_the_digest_of_their_file_and_they_are_made_again(board, tmp_path):
    state, path = board
    release = publish_edition(Store(state, EDITION), ReleaseStore(tmp_path, EDITION)).folder
    about = read_manifest(release)
    assert about["contrasts"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(about["contrasts"]["rows"]) == len(compute_contrasts_of_file(state, EDITION, path)["contrasts"])
    assert "Does care help?" in (release / "index.html").read_text()
    verify_release(release, again=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("contrast = []", "has no"),
        ("x = 1", "write every entry as"),
        (FILE.replace('"careful"', '"hasty"', 1), "first and second are one candidate"),
        (FILE.replace('"hasty"', '"hastier"'), "no scores of candidate"),
        (FILE.replace('"praise"', '"care"'), "already there"),
        (FILE.replace('"gem"', '"gems"'), "no scores of gems"),
        ("[[contrast]\n", "cannot be read"),
    ],
)
def test_a_wrong_file_is_one_line(board, tmp_path, text, why):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    code, printed = shown("compare", EDITION, "--contrasts", path, "--state", board[0])
    assert code == 2 and why in " ".join(printed.split()) and "Traceback" not in printed


def test_a_missing_file_and_too_many_names_are_one_line(board, tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_contrasts(tmp_path / "none.toml")
    code, printed = shown("compare", EDITION, "careful", "--contrasts", board[1], "--state", board[0])
    assert code == 2 and "gre-bench compare EDITION --contrasts FILE" in " ".join(printed.split())


def test_a_release_whose_contrasts_are_gone_names_the_setting_and_the_command(board, tmp_path):
    state = tmp_path / "state"
    shutil.copytree(board[0], state)
    run(state, f"board.contrasts={shutil.copy(board[1], tmp_path / 'moved.toml')}")
    (tmp_path / "moved.toml").unlink()
    code, _, said = ended("publish", EDITION, "--state", state)
    assert code == 2 and said.startswith("error: board.contrasts: ") and "moved.toml" in said
    change = f"gre-bench refresh --edition {EDITION} --set board.contrasts= (with --state {state})"
    assert said.strip().endswith(f"name another file, or none: {change}")
