"""The questions put to a board of language models are answered on an edition as a refresh leaves it."""

from __future__ import annotations

import sys

from tests.bench import board_questions
from tests.flows.refreshing import EDITION, add_reviews, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM

SAID = {
    "careful": "The reviewer criticizes the missing baselines of paper {n}.\nThe reviewer suggests more seeds.",
    "hasty": "The reviewer appreciates the idea of paper {n}.",
    "fond": "The reviewer appreciates the clear proofs.\nThe reviewer appreciates the experiments of paper {n}.",
}


def test_contrasts_and_the_stability_of_ranks_are_printed(tmp_path, monkeypatch, capsys):
    state = refreshed(tmp_path / "state")
    use(OverlapLM())
    for name, said in SAID.items():
        rows = reviews_by(name)
        add_reviews(state, [row | {"judgments": said.format(n=n)} for n, row in enumerate(rows, 1)])
    assert run(state)["outcome"] == "done"
    asked = [EDITION, "gem", "--state", str(state), "--contrast", "careful", "hasty", "--contrast", "fond", "careful"]
    monkeypatch.setattr(sys, "argv", ["board_questions", *asked])
    capsys.readouterr()
    board_questions.main()
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{EDITION} gem: 16 papers; slope ")
    assert [line.partition(": ")[2].partition(":")[0] for line in said[1:5]] == [
        "careful - hasty",
        "fond - careful",
    ] * 2
    assert [line.partition(" (")[0].rpartition(" ")[0] for line in said[5:]] == [
        "split papers: rho",
        "split references: rho",
    ]
