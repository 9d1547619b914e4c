"""Verdicts: the paper's own cells (tables 3, 4, 8, 9, 11-14 of seed 004) through our rules and through the paper's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gre_bench.stats.effects import Effect, degradation_verdict, holm, manipulation_verdict, overall, paper_rule

# table | metric | d (low, high) for each change, as printed. Tables 13 and 14 repeat rows of 3 and 4, which are left out.
DEGRADATIONS = """
3 | BLEU | -0.282 (-0.346,-0.218) | 0.016 (-0.013,0.046) | -0.692 (-0.778,-0.607)
3 | ROUGE-L | -0.073 (-0.122,-0.025) | 0.091 (0.062,0.121) | 0.022 (-0.054,0.098)
3 | BERTScore | -0.100 (-0.131,-0.069) | -0.188 (-0.222,-0.155) | 0.840 (0.769,0.910)
3 | BARTScore-F1 | 0.401 (0.380,0.422) | 0.201 (0.184,0.218) | 0.394 (0.344,0.445)
3 | BARTScore-precision | 0.627 (0.595,0.659) | 0.317 (0.292,0.343) | 0.617 (0.536,0.698)
3 | BARTScore-recall | -0.017 (-0.019,-0.016) | -0.016 (-0.017,-0.014) | 0.004 (0.001,0.007)
3 | LMExaminer | -1.290 (-1.343,-1.238) | -0.417 (-0.472,-0.363) | 0.715 (0.630,0.799)
3 | GEM-raw | -0.123 (-0.126,-0.120) | -0.126 (-0.132,-0.121) | 0.020 (0.017,0.023)
3 | GEM | -0.401 (-0.448,-0.354) | -0.308 (-0.358,-0.258) | -0.191 (-0.261,-0.122)
3 | GEM-S | -0.409 (-0.455,-0.362) | -0.206 (-0.254,-0.158) | -0.566 (-0.639,-0.492)
8 | GEM | -0.566 (-0.625,-0.507) | -0.317 (-0.371,-0.263) | -0.078 (-0.154,-0.002)
8 | GEM-S | -0.549 (-0.607,-0.491) | -0.205 (-0.258,-0.153) | -0.327 (-0.399,-0.254)
11 | BLEU | -0.348 (-0.436,-0.260) | -0.113 (-0.200,-0.026) | -0.231 (-0.355,-0.107)
11 | ROUGE-L | -0.677 (-0.765,-0.589) | 0.009 (-0.064,0.081) | -0.345 (-0.462,-0.229)
11 | BERTScore | -0.318 (-0.359,-0.276) | 0.011 (-0.032,0.054) | -0.722 (-0.836,-0.609)
11 | BARTScore-F1 | 0.744 (0.705,0.784) | 0.457 (0.427,0.487) | -0.042 (-0.163,0.079)
11 | BARTScore-precision | 0.877 (0.831,0.924) | 0.536 (0.501,0.571) | -0.023 (-0.159,0.113)
11 | BARTScore-recall | -0.015 (-0.018,-0.012) | -0.014 (-0.017,-0.011) | -0.046 (-0.051,-0.041)
11 | LMExaminer | -1.245 (-1.328,-1.162) | -0.466 (-0.550,-0.382) | -0.204 (-0.340,-0.068)
11 | GEM | -0.386 (-0.459,-0.314) | -0.238 (-0.318,-0.159) | -0.516 (-0.624,-0.408)
11 | GEM-S | -0.361 (-0.436,-0.287) | -0.195 (-0.277,-0.114) | -0.283 (-0.385,-0.182)
13 | GEM-finetune | -0.155 (-0.199,-0.110) | -0.135 (-0.180,-0.090) | -0.043 (-0.106,0.020)
13 | GEM-S-finetune | -0.192 (-0.244,-0.140) | -0.099 (-0.148,-0.049) | -0.355 (-0.422,-0.288)
"""
MANIPULATIONS = """
4 | BLEU | -0.975 (-1.020,-0.930) | -0.920 (-0.971,-0.870) | -0.165 (-0.230,-0.101)
4 | ROUGE-L | 0.028 (0.009,0.047) | 0.120 (0.080,0.160) | -0.196 (-0.241,-0.151)
4 | BERTScore | 0.134 (0.113,0.155) | 0.063 (0.032,0.093) | 0.064 (0.042,0.086)
4 | BARTScore-F1 | 0.130 (0.120,0.140) | 0.332 (0.299,0.365) | -0.304 (-0.308,-0.299)
4 | BARTScore-precision | 0.218 (0.204,0.233) | 0.541 (0.490,0.593) | -0.439 (-0.446,-0.433)
4 | BARTScore-recall | -0.027 (-0.028,-0.027) | -0.028 (-0.029,-0.027) | 0.004 (0.004,0.005)
4 | LMExaminer | 0.187 (0.153,0.221) | 0.104 (0.060,0.147) | 0.105 (0.069,0.140)
4 | GEM-raw | -0.123 (-0.126,-0.120) | -0.126 (-0.132,-0.121) | 0.020 (0.017,0.023)
4 | GEM | -0.058 (-0.090,-0.026) | -0.107 (-0.143,-0.070) | -0.063 (-0.097,-0.030)
4 | GEM-S | -0.046 (-0.079,-0.013) | -0.114 (-0.149,-0.078) | -0.070 (-0.104,-0.036)
9 | GEM | -0.132 (-0.180,-0.084) | 0.124 (0.075,0.173) | 0.138 (0.086,0.189)
9 | GEM-S | -0.126 (-0.173,-0.079) | 0.156 (0.109,0.203) | 0.112 (0.061,0.163)
12 | BLEU | 0.100 (0.014,0.185) | 0.046 (-0.063,0.156)
12 | ROUGE-L | 0.020 (-0.037,0.076) | 0.083 (0.008,0.157)
12 | BERTScore | -0.016 (-0.041,0.008) | -0.098 (-0.133,-0.064)
12 | BARTScore-F1 | 0.316 (0.287,0.346) | 0.425 (0.371,0.478)
12 | BARTScore-precision | 0.371 (0.337,0.405) | 0.508 (0.445,0.571)
12 | BARTScore-recall | -0.012 (-0.013,-0.010) | -0.016 (-0.018,-0.014)
12 | LMExaminer | 0.300 (0.240,0.361) | 0.453 (0.387,0.518)
12 | GEM | 0.021 (-0.035,0.076) | 0.010 (-0.055,0.075)
12 | GEM-S | 0.020 (-0.037,0.077) | -0.012 (-0.080,0.055)
14 | GEM-finetune | -0.014 (-0.044,0.015) | -0.010 (-0.044,0.024) | -0.056 (-0.088,-0.025)
14 | GEM-S-finetune | -0.026 (-0.062,0.010) | -0.045 (-0.085,-0.004) | -0.074 (-0.112,-0.037)
"""


def cell(value: float, low: float, high: float) -> Effect:
    """The effect that a printed cell states; its p is the normal one of the printed interval."""
    p = 2 * norm.sf(abs(value) / ((high - low) / (2 * 1.959964)))
    return Effect(value, low, high, p, low, high, p, 300, 600, "Student")


def rows(text: str) -> dict[tuple[int, str], list[Effect]]:
    found = {}
    for line in text.strip().splitlines():
        table, metric, *cells = line.split(" | ")
        found[int(table), metric] = [cell(*map(float, re.findall(r"-?[\d.]+", one))) for one in cells]
    return found


FALLS, RISES = rows(DEGRADATIONS), rows(MANIPULATIONS)


def degraded(effects: list[Effect]) -> list[str]:
    return [degradation_verdict(found, p) for found, p in zip(effects, holm([e.p for e in effects]), strict=True)]


def metrics_that_pass(found: dict[tuple[int, str], list[Effect]], table: int, kind: str) -> set[str]:
    return {
        metric
        for (number, metric), effects in found.items()
        if number == table and overall(paper_rule(kind, effect) for effect in effects) == "pass"
    }


def test_finetuned_gem_fails_the_abstract_only_review_of_the_papers_table_13():
    effects = FALLS[13, "GEM-finetune"]
    assert degraded(effects) == ["pass", "pass", "fail"]
    assert [paper_rule("degradation", effect) for effect in effects] == ["pass", "pass", "fail"]


def test_papers_rule_on_the_papers_cells_says_what_the_paper_says():
    # §4.2: "GEM and GEM-S are only two metrics that consistently have significant negative SMD on all three".
    assert metrics_that_pass(FALLS, 3, "degradation") == {"GEM", "GEM-S"}
    # A.3: "also shows significant sensitivity to all degradations".
    assert metrics_that_pass(FALLS, 8, "degradation") == {"GEM", "GEM-S"}
    # A.4: "GEM and GEM-S consistently exhibit significant SMD across all three"; so do three others.
    assert metrics_that_pass(FALLS, 11, "degradation") == {"BLEU", "BARTScore-recall", "LMExaminer", "GEM", "GEM-S"}
    # §4.3: "LMExaminer has significant score increases after all three manipulations"; "GEM and GEM-S exhibit no".
    assert [paper_rule("manipulation", effect) for effect in RISES[4, "LMExaminer"]] == ["fail"] * 3
    assert metrics_that_pass(RISES, 4, "manipulation") == {"BLEU", "GEM", "GEM-S"}
    # A.3: "robust against GPT4 rephrase but fails in the Llama-3.1 rephrase and Meaningless Elongation".
    for metric in ("GEM", "GEM-S"):
        assert [paper_rule("manipulation", effect) for effect in RISES[9, metric]] == ["pass", "fail", "fail"]
    # A.4: "GEM metrics remain robust against both"; "LMExaminer shows a significant increase".
    assert {"GEM", "GEM-S"} <= metrics_that_pass(RISES, 12, "manipulation")
    assert [paper_rule("manipulation", effect) for effect in RISES[12, "LMExaminer"]] == ["fail"] * 2
    assert metrics_that_pass(RISES, 14, "manipulation") == {"GEM-finetune", "GEM-S-finetune"}


def test_our_degradation_rule_agrees_with_the_papers_on_every_printed_cell():
    for name, effects in FALLS.items():
        assert degraded(effects) == [paper_rule("degradation", effect) for effect in effects], name


def test_our_manipulation_rule_differs_from_the_papers_on_these_printed_cells_only():
    differs = {
        (table, metric, place): (manipulation_verdict(effect), paper_rule("manipulation", effect))
        for (table, metric), effects in RISES.items()
        for place, effect in enumerate(effects)
        if manipulation_verdict(effect) != paper_rule("manipulation", effect)
    }
    assert differs == {
        # A significant rise below the margin.
        (4, "ROUGE-L", 0): ("pass", "fail"),
        (4, "BERTScore", 1): ("pass", "fail"),
        (4, "BERTScore", 2): ("pass", "fail"),
        (4, "BARTScore-recall", 2): ("pass", "fail"),
        (4, "GEM-raw", 2): ("pass", "fail"),
        # A significant rise that may or may not reach the margin.
        (4, "ROUGE-L", 1): ("undecided", "fail"),
        (4, "LMExaminer", 1): ("undecided", "fail"),
        (4, "LMExaminer", 2): ("undecided", "fail"),
        (9, "GEM", 1): ("undecided", "fail"),
        (9, "GEM", 2): ("undecided", "fail"),
        (9, "GEM-S", 2): ("undecided", "fail"),
        (12, "BLEU", 0): ("undecided", "fail"),
        (12, "ROUGE-L", 1): ("undecided", "fail"),
        # No significant rise, and none excluded.
        (12, "BLEU", 1): ("undecided", "pass"),
    }


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (cell(-0.30, -0.40, -0.20), "pass"),
        (cell(-0.10, -0.25, 0.05), "undecided"),
        (cell(-0.05, -0.15, 0.05), "fail"),
        (cell(0.30, 0.20, 0.40), "fail"),
        (cell(0.30, -0.40, 1.00), "undecided"),
    ],
)
def test_a_degradation_passes_fails_or_stays_open(found, verdict):
    assert degradation_verdict(found, found.p) == verdict


def test_holm_can_take_a_degradation_its_pass():
    found = cell(-0.15, -0.29, -0.01)
    assert (degradation_verdict(found, found.p), degradation_verdict(found, min(1.0, 3 * found.p))) == (
        "pass",
        "undecided",
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (cell(-0.9, -1.0, -0.8), "pass"),
        (cell(0.05, 0.02, 0.08), "pass"),
        (cell(0.05, -0.05, 0.15), "undecided"),
        (cell(0.2, 0.1, 0.3), "fail"),
    ],
)
def test_a_manipulation_passes_fails_or_stays_open(found, verdict):
    assert manipulation_verdict(found) == verdict


@given(st.lists(st.sampled_from(["pass", "fail", "undecided"]), min_size=1))
def test_one_failure_fails_and_one_open_cell_leaves_all_open(verdicts):
    found = overall(verdicts)
    assert (found == "fail") == ("fail" in verdicts)
    assert (found == "pass") == (set(verdicts) == {"pass"})


def test_a_metric_without_a_verdict_is_not_judged():
    with pytest.raises(ValueError, match="no change was tried"):
        overall([])
