"""Registers of what was learnt: every planted overlap is seen, and a register that cannot be trusted knows nothing."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import locate_resource
from gre_bench.core.training_registers import (
    FILE,
    INCLUDED,
    PaperTexts,
    load_named_registers,
    read_register,
    write_register,
)
from gre_bench.ingest.records.sampling import build_evaluation_set_register
from gre_bench.writing.rules.judgments import WRITER
from tests.conftest import real

REVIEW = "The ﬁrst bound is naïve.\nStraße 7 is missing."
LEARNT = PaperTexts("Ab1", "We study   bounds.", (REVIEW, "Good."))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "weights.tsv").write_text("word\t1\n")
    write_register(tmp_path, [LEARNT])
    return tmp_path


@pytest.mark.parametrize(
    ("paper", "seen"),
    [
        (PaperTexts("Ab1"), True),  # the same paper, with a review edited later
        (PaperTexts("Ab1", None, ("edited later",)), True),
        (PaperTexts("zz", None, (REVIEW,)), True),  # another file of the same review
        (PaperTexts("zz", None, ("another", "  " + REVIEW.replace(" ", "\n\t ") + "\n")), True),
        (PaperTexts("zz", None, (REVIEW.upper(),)), True),
        (PaperTexts("zz", None, (unicodedata.normalize("NFD", REVIEW),)), True),
        (PaperTexts("zz", None, (unicodedata.normalize("NFKC", REVIEW),)), True),
        (PaperTexts("zz", "WE STUDY BOUNDS."), True),
        (PaperTexts("ab1"), False),  # ids are not folded
        (PaperTexts("zz", "Good."), False),  # a review's text is no abstract
        (PaperTexts("zz", "", ("", "  ")), False),
        (PaperTexts("zz", None, (REVIEW[:-1],)), False),
    ],
)
def test_a_paper_is_learnt_if_its_id_or_any_of_its_texts_is_registered(folder, paper, seen):
    assert read_register(folder, "it").trained_on([paper, PaperTexts("other")]) == ({paper.paper_id} if seen else set())


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_a_register_knows_what_was_written_into_it(name, abstract, reviews):
    with TemporaryDirectory() as folder:
        write_register(Path(folder), [PaperTexts(name, abstract, tuple(reviews))], ["review 0123456789abcdef"])
        register = read_register(Path(folder), "it")
    assert register.trained_on([PaperTexts(name)]) == {name}
    assert "review 0123456789abcdef" in register.entries


def test_the_lines_are_a_kind_and_sixteen_digits_in_order(folder):
    lines = (folder / FILE).read_text().splitlines()
    kinds = ["abstract", "artefact", "paper", "register", "review", "review"]
    assert [line.partition(" ")[0] for line in lines] == kinds == sorted(kinds)
    assert all(len(line.partition(" ")[2]) == 16 for line in lines)


def test_the_digest_of_a_text_is_that_of_its_folded_form():
    assert f"abstract {hashlib.sha256(b'we study bounds.').hexdigest()[:16]}" in LEARNT.entries
    assert f"paper {hashlib.sha256(b'Ab1').hexdigest()[:16]}" in LEARNT.entries


@pytest.mark.parametrize(
    ("file", "harm", "why"),
    [
        (FILE, None, "no learnt_from.txt"),
        (FILE, lambda data: b"", "damaged"),
        (FILE, lambda data: b"\xff\xfe", "damaged"),
        (FILE, lambda data: data[: data.rstrip().rindex(b"\n") + 1], "damaged"),
        (FILE, lambda data: data + b"review zzz\n", "damaged"),
        ("weights.tsv", lambda data: b"word\t2\n", "that of other weights"),
        ("more.safetensors", lambda data: b"x", "that of other weights"),
    ],
)
def test_a_register_that_cannot_be_trusted_is_unknown_and_never_clean(folder, file, harm, why):
    assert read_register(folder, "it").problem is None
    data = (folder / file).read_bytes() if (folder / file).exists() else b""
    (folder / file).write_bytes(harm(data)) if harm else (folder / file).unlink()
    register = read_register(folder, "it")
    assert register.entries is None and register.digest is None
    assert "it is unknown what it was learnt from" in register.problem and why in register.problem
    assert register.trained_on([LEARNT]) == set()
    with pytest.raises(SettingsError, match="unknown"):
        load_named_registers([str(folder)])


def test_every_included_evaluation_lm_and_the_writer_by_rule_have_a_register():
    folders = {path.name for path in locate_resource("data", "evaluation_lm").iterdir() if path.is_dir()}
    assert set(INCLUDED) == {*folders, WRITER}


@pytest.mark.parametrize("name", INCLUDED)
def test_what_comes_with_the_program_says_what_it_was_learnt_from(name):
    register = read_register(INCLUDED[name], name)
    assert register.problem is None and len(register.entries) > 1000


@pytest.fixture(scope="module")
def judging(tmp_path_factory):
    """Name of each set of papers that judges evaluation LMs → its entries, as ``--never`` reads them."""
    rows = parquet.read_table(real("iclr2023", "human_reviews.parquet"), filters=[("row", "<", 300)])
    parquet.write_table(rows, file := tmp_path_factory.mktemp("judging") / "rows_0_299.parquet")
    notes = (real("openreview", f"iclr{year}.notes.jsonl.gz") for year in (2020, 2023, 2024))
    return {path.name: build_evaluation_set_register(path).entries
            for path in (file, *notes, real("llm-boards", "iclr2022", "papers.jsonl"))}  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", INCLUDED)
def test_no_paper_that_judges_was_learnt(name, judging):
    trained_on = read_register(INCLUDED[name], name).entries
    assert not {each for each, entries in judging.items() if trained_on & entries}
