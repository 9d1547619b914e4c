"""Records: a score has a value or a reason; a signature tells every difference."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from gre_bench.core.records import LMIdentity, Problem, Score, Signature

SIGNATURE = Signature(
    "gem", "p", "lm", "d", "float32", "none", "sdpa", "t", "writer", "none", "as_written", "none", False, "1"
)


def test_a_score_has_exactly_one_of_value_and_problem():
    ids = ("s", "p", "c", "r")
    assert Score(*ids, 1.0).problem is None
    with pytest.raises(ValueError):
        Score(*ids, None)
    with pytest.raises(ValueError):
        Score(*ids, 1.0, Problem("too_long", "..."))


@pytest.mark.parametrize("name", [field.name for field in fields(Signature)])
def test_every_field_of_a_signature_changes_its_id(name):
    other = replace(SIGNATURE, **{name: not SIGNATURE.ascii_fold if name == "ascii_fold" else "other"})
    assert other.signature_id != SIGNATURE.signature_id


def test_a_signature_id_is_the_same_on_every_machine():
    assert SIGNATURE.signature_id == replace(SIGNATURE).signature_id == "8bf8fb946a78bc69"


def test_identities_of_different_dtypes_differ():
    assert LMIdentity("m", "d", "1", "float32").lm_id != LMIdentity("m", "d", "1", "bfloat16").lm_id
