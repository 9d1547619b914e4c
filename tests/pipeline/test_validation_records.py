"""Certificates: which one counts, what it says, and when there is none."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest

from gre_bench.core.errors import SpanError, StoreError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import LMIdentity
from gre_bench.core.settings import ScoringSettings, ValidationSettings
from gre_bench.core.training_registers import Register
from gre_bench.metrics.scoring import build_signature
from gre_bench.pipeline import validation_records
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.pipeline.validating import validate
from gre_bench.pipeline.validation_records import EFFECT, find_validation_record, write_validation_record
from tests.flows.refreshing import query, use, with_papers_read
from tests.flows.test_validation import asked
from tests.scripted_lms import FaultyLM, OverlapLM

SIGNED = build_signature(find_recipe("gem"), LMIdentity("lm", "0" * 64, "1"), ScoringSettings(), "rule")


@pytest.fixture(autouse=True)
def nothing_ships(monkeypatch, tmp_path):
    monkeypatch.setattr(validation_records, "SHIPPED", tmp_path / "shipped")


def granted(state, edition, verdict, at, monkeypatch, trained_on=TrainingOverlap(0, {}), **settings):
    monkeypatch.setattr(validation_records, "now", lambda: datetime(2026, 1, at, tzinfo=UTC))
    row = {"change": "injection", "verdict": verdict, "papers": 300, "d": 0.0, "made_by": "rule"}
    return write_validation_record(state, edition, SIGNED, [row], [], ValidationSettings(**settings), trained_on)


def file_in(state):
    return state / "validations" / "A-2024" / f"{SIGNED.signature_id}.json"


def counts(state, edition=None):
    found = find_validation_record(state, SIGNED, edition)
    return found.edition, found.verdict


def test_a_failure_elsewhere_is_not_washed_off_by_a_later_pass_and_what_is_open_undoes_neither(tmp_path, monkeypatch):
    granted(tmp_path, "A-2024", "pass", 1, monkeypatch)
    granted(tmp_path, "B-2024", "undecided", 2, monkeypatch)
    assert counts(tmp_path) == ("A-2024", "pass")
    granted(tmp_path, "C-2024", "fail", 3, monkeypatch)
    granted(tmp_path, "D-2024", "pass", 4, monkeypatch)
    assert counts(tmp_path) == ("C-2024", "fail")


def test_an_editions_own_decision_stands_before_all_others_and_its_own_open_one_does_not(tmp_path, monkeypatch):
    granted(tmp_path, "A-2024", "fail", 1, monkeypatch)
    granted(tmp_path, "B-2024", "pass", 2, monkeypatch)
    granted(tmp_path, "C-2024", "undecided", 3, monkeypatch)
    assert counts(tmp_path, "B-2024") == ("B-2024", "pass")
    assert counts(tmp_path, "C-2024") == counts(tmp_path, "D-2024") == ("A-2024", "fail")


def test_the_newest_validation_of_one_edition_takes_the_place_of_the_older_one_and_of_the_one_that_ships(
    tmp_path, monkeypatch
):
    granted(tmp_path, "A-2024", "fail", 1, monkeypatch)
    granted(tmp_path, "A-2024", "pass", 2, monkeypatch)
    assert counts(tmp_path) == ("A-2024", "pass")
    old = json.loads(file_in(tmp_path).read_text())
    del old["sha256"]
    (tmp_path / "shipped").mkdir()
    file = tmp_path / "shipped" / f"{SIGNED.signature_id}.json"
    file.write_text(json.dumps(old | {"verdict": "fail"}))
    assert counts(tmp_path) == ("A-2024", "pass")
    file.write_text(json.dumps(old | {"verdict": "fail", "edition": "Z-2020"}))
    assert counts(tmp_path) == ("Z-2020", "fail")


def test_a_verdict_holds_on_another_device_and_in_another_precision_and_for_no_other_weights(tmp_path, monkeypatch):
    lm = LMIdentity("lm", "0" * 64, "trie-2, 1024 tokens on cpu", dtype="bfloat16")

    def signed(**other):
        return build_signature(find_recipe("gem"), replace(lm, **other), ScoringSettings(), "rule")

    monkeypatch.setattr(sys.modules[__name__], "SIGNED", signed())
    granted(tmp_path, "A-2024", "pass", 1, monkeypatch)
    for other in ({"engine_version": "trie-2, 16384 tokens on cuda"}, {"engine_version": "trie-2", "dtype": "float32"}):
        found = find_validation_record(tmp_path, signed(**other))
        assert found.verdict == "pass"
        assert found.detail.endswith(" (by trie-2, 1024 tokens on cpu in bfloat16)")
    assert "(by" not in find_validation_record(tmp_path, SIGNED).detail
    others = (
        "trie-3, 1024 tokens on cpu",
        "trie-2, examiner a#1",
        "trie-2, sampling 7",
        "one-by-one-1, one text on cpu",
    )
    for other in ({"digest": "1" * 64}, {"quantisation": "nf4"}, *({"engine_version": version} for version in others)):
        assert find_validation_record(tmp_path, signed(**other)) is None


def test_ones_own_record_goes_first_then_that_of_the_very_signature_then_the_newest(tmp_path, monkeypatch):
    lm = LMIdentity("cache-ngram", "0" * 64, "cache-ngram-1+unicode-14.0.0", dtype="float64")

    def under(unicode, verdict, at):
        own = replace(lm, engine_version=f"cache-ngram-1+unicode-{unicode}")
        monkeypatch.setattr(
            sys.modules[__name__], "SIGNED", build_signature(find_recipe("gem"), own, ScoringSettings(), "rule")
        )
        if verdict:
            granted(tmp_path, "A-2024", verdict, at, monkeypatch)

    under("15.1.0", "fail", 2)
    under("14.0.0", "pass", 1)
    assert counts(tmp_path) == ("A-2024", "pass")
    under("16.0.0", None, None)
    assert counts(tmp_path) == ("A-2024", "fail"), "the newest of those that round otherwise"
    (tmp_path / "validations").rename(tmp_path / "shipped")
    under("15.0.0", "pass", 1)
    under("14.0.0", None, None)
    assert counts(tmp_path) == ("A-2024", "pass")
    under("15.1.0", None, None)
    assert counts(tmp_path) == ("A-2024", "pass"), "one's own, though the shipped one is of this very signature"


def test_a_certificate_says_which_registers_its_papers_were_checked_against_and_how_many_it_left_out(
    tmp_path, monkeypatch
):
    known = Register("lm", frozenset(), "0123456789abcdef"), frozenset({"a", "b"})
    unknown = Register("rule", None, None, "it is unknown what rule was learnt from"), frozenset()
    made = granted(
        tmp_path, "A-2024", "pass", 1, monkeypatch, TrainingOverlap(302, {"evaluation_lm": known, "writer": unknown})
    )
    assert (made.registers, made.left_out) == ({"lm": "0123456789abcdef", "rule": "unknown"}, 2)
    assert made.detail == (
        "passes 1 of 1 changes on 300 papers; 2 learnt papers left out; unknown what rule was learnt from"
    )


def test_a_record_says_on_how_many_papers_by_which_rules_and_every_effect_and_one_without_them_is_read(
    tmp_path, monkeypatch
):
    made = granted(tmp_path, "A-2024", "pass", 1, monkeypatch, seed=5)
    assert made.detail == "passes 1 of 1 changes on 300 papers"
    assert (made.rules["margin"], made.rules["seed"], made.made_by) == (0.1, 5, {"injection": "rule"})
    kept = json.loads(file_in(tmp_path).read_text())
    assert kept["effects"] == made.effects and set(kept["effects"]["injection"]) == set(EFFECT)
    assert (made.effects["injection"]["d"], made.effects["injection"]["papers"]) == (0.0, 300)
    older = {name: value for name, value in kept.items() if name not in ("effects", "sha256")}
    file_in(tmp_path).write_text(json.dumps(older))
    assert find_validation_record(tmp_path, SIGNED).effects == {}


@pytest.mark.parametrize(
    "wrong",
    ["{", "[]", '{"signature_id": "x"}', "null", {"of_no_version": "x"}, {"engine_version": 5}, {"engine_version": None},
     {"metric": "gem_raw"}, {"edition": ["A-2024"]}],
)  # fmt: skip
def test_a_record_that_is_damaged_has_another_signature_or_no_edition_is_one_line(tmp_path, monkeypatch, wrong):
    made = asdict(granted(tmp_path, "A-2024", "pass", 1, monkeypatch))
    if isinstance(wrong, dict):
        wrong = json.dumps(made | (wrong if "edition" in wrong else {"signature": made["signature"] | wrong}))
    file_in(tmp_path).write_text(wrong)
    for wanted in (SIGNED, replace(SIGNED, lm_digest="1" * 64)):
        with pytest.raises(StoreError, match="is damaged; remove it"):
            find_validation_record(tmp_path, wanted)


def test_nothing_is_certified_while_pairs_are_missing_or_the_evaluation_lm_misbehaves(tmp_path):
    down = SpanError("timed_out", "no answer", final=False)
    use(FaultyLM(lambda _: down, lambda prediction: "ablation" in prediction.reply))
    wanted = asked('scoring.metrics=["gem", "rouge_l"]', 'validation.perturbations=["sentence_deletion"]')
    summary = validate(Job(wanted, with_papers_read(tmp_path)))
    assert summary["outcome"] == "incomplete"
    certified = query(tmp_path, "select metric from validations join signatures using (signature_id)")
    assert certified == [("rouge_l",)]
    assert any("no validation record" in note for note in summary["notes"])
    use(OverlapLM("scripted-faulty"))
    again = validate(Job(wanted, tmp_path, retry_failed=True))
    assert again["outcome"] == "done"
    assert query(tmp_path, "select count(*) from validations") == [(2,)]


def test_a_board_forgets_a_validation_whose_certificate_was_removed(tmp_path):
    use(OverlapLM())
    wanted = asked('scoring.metrics=["rouge_l"]', 'validation.perturbations=["sentence_deletion"]')
    found = validate(Job(wanted, with_papers_read(tmp_path)))["verdicts"][0]["signature_id"]
    assert query(tmp_path, "select signature_id from validations") == [(found,)]
    (file,) = (tmp_path / "validations").rglob(f"{found}.json")
    file.unlink()
    refresh(Job(wanted, tmp_path))
    assert query(tmp_path, "select distinct validation from leaderboard") == [("unvalidated",)]
