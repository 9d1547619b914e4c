"""What the published experiments would take: counts worked out by hand, none of their files at hand."""

from __future__ import annotations

import json

import pytest

from gre_bench.catalogs.experiments import experiments
from gre_bench.catalogs.models import load
from gre_bench.preflight.plan_published import plan_published, row_of
from tests.cli.calling import shown


def row(name: str) -> dict:
    (one,) = (one for one in experiments() if one.path.stem == name)
    return row_of(one, load())


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        # 300 papers: 20 reviews each, judgments of those and of 3 human reviews, one synopsis.
        ("004_board", 300 * (20 + 23 + 1)),
        ("004_board_other_writer", 300 * (18 + 21 + 1)),
        # 5 writers' changes and one by rule, two lines for the elongation; judgments of 3 + 6; LMExaminer of 1 + 6.
        ("004_validation", 300 * (1 + 1 + 2 + 2 + 9 + 7)),
        ("004_symmetry", 1874),
        # 30 abstracts, judgments and grades of 180 reviews.
        ("004_proposals", 30 + 180 + 180),
        ("002_comparison", 3 * 13 * 1500),
        ("002_filter", 3 * 28_028),
        ("002_generation", 13),
        # P1 to P14 and Direct Assessment, which asks once; Table 9 asks nothing more.
        ("003_development", 15 * 1280),
        ("003_test", 3 * 825),
        # Human guideline of three aspects, with filtering, and with both (binning asks what filtering does).
        ("001_test", 2 * 825 * (3 + (3 + 1) + (3 + 1))),
    ],
)
def test_requests_are_those_of_the_published_sizes(name, requests):
    assert row(name)["requests"] == requests


def test_gpu_hours_follow_from_tokens_and_parameters():
    small, large = row("004_board"), row("004_board_70b")
    # 300 papers, 21 candidates, 2 references, 3 metrics, 333 tokens a pair.
    assert small["scored_tokens"] == large["scored_tokens"] == 300 * 21 * 2 * 3 * 333
    assert small["gpu_hours"] == pytest.approx(small["scored_tokens"] * 2 * 8e9 / 4e14 / 3600, abs=0.005)
    assert large["gpu_hours"] == pytest.approx(70 / 8 * small["scored_tokens"] * 2 * 8e9 / 4e14 / 3600, abs=0.005)
    assert row("001_development")["gpu_hours"] > 1 and row("001_development")["usd"] == 0


def test_a_price_that_is_not_known_is_named_and_never_a_zero_in_silence():
    found = row("004_board")
    assert "deepseek/deepseek-r1" in found["unpriced"] and found["usd"] > 100
    models = load()
    priced = [name for name, model in models.items() if model.price_in is not None]
    assert not set(found["unpriced"]) & set(priced)


def test_an_lm_whose_context_a_paper_exceeds_is_named():
    """8,192 tokens of Llama 3, and of GPT-3.5 16,385 with a reply of 4,000."""
    small = ["meta-llama/llama-3-70b-instruct", "meta-llama/llama-3-8b-instruct", "openai/gpt-3.5-turbo"]
    assert row("004_board")["does_not_fit"] == small


def test_one_table_plans_all_of_them_without_their_files():
    code, told = shown("plan", "--all", "--json")
    assert code == 0
    found = json.loads(told)
    assert [one["experiment"] for one in found["experiments"]] == [one.name for one in experiments()]
    assert all(one["give"] for one in found["experiments"]) and found["assumed"]
    code, told = shown("plan", "--all")
    assert code == 0 and "give evaluation_lm.folder: Llama-3.1-8B-Instruct" in told
    assert "then gre-bench compare --published table7 RUN" in " ".join(told.split())
    assert plan_published([])["experiments"] == []
