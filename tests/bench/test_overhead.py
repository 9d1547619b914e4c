"""Tests the overhead bench, which measures a whole edition scored by an LM without cost."""

from __future__ import annotations

import json
from pathlib import Path

from gre_bench.core.judgments import count_judgments
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.lm.protocol import validate_span_logprob
from tests.bench.bench_overhead import FLOOR_S_PER_PAIR, measure
from tests.bench.made_edition import LINES, write_edition
from tests.bench.null_lm import NullLM


def test_what_costs_nothing_is_still_a_sound_answer_and_as_long_as_a_real_one() -> None:
    text = "The reviewer questions the proof. " * 38
    first, again, other = NullLM().logprob([Prediction("x", None, text)] * 2 + [Prediction("z", None, text)])
    assert all(isinstance(validate_span_logprob(span), SpanLogprob) for span in (first, other))
    assert first == again != other
    assert abs(len(first.ids) - len(text) / 6.2) < 2


def test_a_small_edition_is_scored_to_the_last_pair_and_its_stages_add_up(tmp_path: Path) -> None:
    files = write_edition(tmp_path, papers=4, candidates=5)
    found = measure(files, "alone", papers=4, workers=1, chunk_papers=2)
    assert found["pairs"] == found["scored"] == 4 * 5 * 2 * 3
    taken = sum(stage["at"] for stage in found["stages"].values())
    assert abs(taken - found["wall_s"]) < 0.1 * found["wall_s"]
    besides = found["wall_s"] - found["stages"]["writing synopses"]["at"]
    assert abs(found["share_of_floor"] - besides / (120 * FLOOR_S_PER_PAIR)) < 1e-9


def test_made_up_judgments_are_lines_of_judgments(tmp_path: Path) -> None:
    _, reviews = write_edition(tmp_path, papers=30, candidates=4)
    texts = [json.loads(line)["judgments"] for line in reviews.read_text().splitlines()]
    assert {count_judgments(text) for text in texts} == {(LINES, 0)}
    assert 1100 < sum(map(len, texts)) / len(texts) < 1500
