"""Tests that the benches of boards, releases and queries run to the end on the smallest possible edition."""

from __future__ import annotations

import sys

import pytest

from tests.bench import bench_board, bench_publish


@pytest.mark.parametrize(
    ("bench", "said"),
    [(bench_board, "30 score rows: board"), (bench_publish, "30 score rows published in")],
)
def test_a_bench_of_a_small_edition_ends_with_its_figures(bench, said, monkeypatch, capsys):
    arguments = ["--papers", "5", "--candidates", "3", "--metrics", "1"]
    monkeypatch.setattr(sys, "argv", [bench.__name__, *arguments])
    bench.main()
    assert said in capsys.readouterr().out
