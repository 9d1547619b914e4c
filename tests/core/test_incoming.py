"""The door for files that come in: depth, size and kind are judged before anything is parsed."""

from __future__ import annotations

import gzip
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core import incoming
from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import (
    DEPTH,
    check_json_depth,
    compute_value_count_bound,
    iterate_lines,
    list_regular_files,
    read_bytes,
    use_file_limits,
)
from gre_bench.ingest.records.cells import ImportResult
from gre_bench.ingest.records.row_files import read_rows

JSON = st.recursive(
    st.none() | st.text(alphabet='a"\\[]{},\n') | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='"[{}]\\', max_size=3), inner, max_size=3),
    max_leaves=20,
)  # fmt: skip


def depth(value: object) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def count(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(count, value.values()))
    return 1 + (sum(map(count, value)) if isinstance(value, list) else 0)


@given(value=JSON, levels=st.integers(0, DEPTH + 5), kind=st.sampled_from("[{"))
def test_json_is_too_deep_exactly_if_its_brackets_outside_quotes_are(value, levels, kind):
    text = json.dumps(value)
    text = ("[" * levels + text + "]" * levels) if kind == "[" else ('{"[": ' * levels + text + "}" * levels)
    if depth(value) + levels <= DEPTH:
        check_json_depth(text.encode())
    else:
        with pytest.raises(ValueError, match="more than 100 levels"):
            check_json_depth(text.encode())


@given(value=JSON)
def test_a_row_never_holds_more_values_than_are_counted_before_it_is_parsed(value):
    assert compute_value_count_bound(json.dumps(value).encode()) >= count(value)


@pytest.mark.parametrize(
    ("unpacked", "held"), [(b"x" * 60_000_000 + b"\n", True), (b"x" * 63_000_000 + b"\n" + b"y" * 2_000_000, False)]
)
def test_a_packed_file_may_unpack_to_64_mb_or_200_times_its_size(unpacked, held, tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(unpacked, 9))
    if held:
        assert sum(len(line) for *_, line in iterate_lines(tmp_path / "a.jsonl.gz")) == len(unpacked)
    else:
        with pytest.raises(SourceError, match="a.jsonl.gz unpacks to more than 200 times its size"):
            list(iterate_lines(tmp_path / "a.jsonl.gz"))


@pytest.mark.parametrize(
    ("memory", "seconds", "line"), [(0.001, 9, r"memory; split it, or allow more \(inputs.memory"), (9, 0, "raise inputs.seconds")]
)  # fmt: skip
def test_a_file_beyond_a_setting_is_refused_in_a_line_that_names_the_setting(memory, seconds, line, tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n" * 100)
    with use_file_limits(memory, seconds), pytest.raises(SourceError, match=line):
        list(iterate_lines(tmp_path / "a.jsonl"))
    assert len(list(iterate_lines(tmp_path / "a.jsonl"))) == 100 and incoming.current_file_limits() == incoming.DEFAULT


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "folder", "pipe.csv"])
@pytest.mark.parametrize("read", [read_bytes, lambda path: read_rows(path, ImportResult())])
def test_what_is_no_regular_file_is_never_read(name, read, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SourceError, match="is not a regular file|is a folder"):
        read(tmp_path / name)


def test_a_folder_has_its_regular_files_and_says_what_else_is_in_it(tmp_path):
    (tmp_path / "in" / "deeper").mkdir(parents=True)
    (tmp_path / "in" / "deeper" / "a.eval").touch()
    (tmp_path / "in" / ".hidden").touch()
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    found, refused = list_regular_files(tmp_path / "in")
    assert [path.name for path in found] == ["a.eval"]
    assert [(path.name, reason) for path, reason in refused] == [("up", "it is a link")]


def test_a_file_that_vanishes_while_its_folder_is_listed_is_named_as_refused(tmp_path, monkeypatch):
    for name in ("a.txt", "gone.txt"):
        (tmp_path / name).touch()
    look = os.lstat

    def look_late(path):
        if path.name == "gone.txt":
            path.unlink()
        return look(path)

    monkeypatch.setattr(os, "lstat", look_late)
    found, refused = list_regular_files(tmp_path)
    assert [path.name for path in found] == ["a.txt"]
    assert [(path.name, reason) for path, reason in refused] == [
        ("gone.txt", "it cannot be read: No such file or directory")
    ]
