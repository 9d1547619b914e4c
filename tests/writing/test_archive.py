"""The reply archive: final replies only, intact or not at all, shared without harm."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import StoreError
from gre_bench.core.records import Chat, Completion, Sampling
from gre_bench.writing.archive import ROOM_BYTES, ReplyArchive, request_digest

REQUEST = request_digest("model@1", Chat("system", "user"), Sampling())
REPLY = Completion("ok", "The reviewer suggests x.", model="m", thinking=3, prompt_tokens=5, reply_tokens=None)


def entry(folder: Path) -> Path:
    return folder / REQUEST[:2] / f"{REQUEST}.json"


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (REPLY, True), (Completion("cut", "The rev"), True), (Completion("refused", None, "no"), True),
        (Completion("empty", None), True), (Completion("empty", None, final=False), False),
        (Completion("failed", None, "too long"), True), (Completion("failed", None, "500", final=False), False),
        (Completion("rate_limited", None, "429", final=False), False),
    ],
)  # fmt: skip
def test_only_final_replies_are_kept(tmp_path, reply, kept):
    archive = ReplyArchive(tmp_path)
    assert archive.get(REQUEST) is None
    assert archive.put(REQUEST, reply) is kept
    assert ReplyArchive(tmp_path).get(REQUEST) == (replace(reply, archived=True) if kept else None)


def test_every_part_of_a_request_decides_its_entry():
    base = ("model@1", Chat("system", "user"), Sampling())
    others = [
        ("model@2", *base[1:]), (base[0], Chat("systemu", "ser"), base[2]),
        (base[0], Chat("system", "User"), base[2]), (*base[:2], Sampling(temperature=None)),
        (*base[:2], Sampling(max_tokens=1)), (*base[:2], Sampling(top_p=1.0)), (*base[:2], Sampling(seed=0)),
    ]  # fmt: skip
    assert len({request_digest(*request) for request in (base, *others)}) == 8
    assert request_digest(*base) == REQUEST


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@settings(max_examples=30)
def test_any_text_comes_back_as_it_was(tmp_path_factory, text):
    archive = ReplyArchive(tmp_path_factory.mktemp("archive"))
    archive.put(REQUEST, replace(REPLY, text=text, detail=text))
    assert archive.get(REQUEST) == replace(REPLY, text=text, detail=text, archived=True)


def damaged_entries(written: bytes = b"") -> dict[str, bytes]:
    kept = asdict(replace(REPLY, text="The reviewer suggests y."))
    return {
        "empty file": b"",
        "zeros": b"\0" * 400,
        "half": b'{"format": 1, "reply": {"outco',
        "not a table": b"[]",
        "number": b"3",
        "latin-1": b'{"reply": "\xff"}',
        "deep": b"[" * 100_000,
        "other fields": b'{"format": 1}',
        "forged": json.dumps({"format": 1, "request": REQUEST, "sha256": "0" * 64, "reply": kept}).encode(),
        "of another request": written.replace(REQUEST.encode(), b"0" * 64),
        "one changed character": written.replace(b"suggests x", b"suggests y"),
    }


@pytest.mark.parametrize("kind", damaged_entries())
def test_a_damaged_entry_is_moved_aside_counted_and_asked_again(tmp_path, kind):
    archive = ReplyArchive(tmp_path)
    archive.put(REQUEST, REPLY)
    damage = damaged_entries(entry(tmp_path).read_bytes())[kind]
    entry(tmp_path).write_bytes(damage)
    assert archive.get(REQUEST) is None
    assert archive.damaged == 1
    (aside,) = entry(tmp_path).parent.glob("*.damaged-*")
    assert aside.read_bytes() == damage
    archive.put(REQUEST, REPLY)
    assert archive.get(REQUEST) == replace(REPLY, archived=True)
    assert archive.damaged == 1


def test_an_entry_is_whole_or_does_not_count_and_nothing_is_left_beside_it(tmp_path, monkeypatch):
    def killed(*_args):
        raise KeyboardInterrupt

    archive = ReplyArchive(tmp_path)
    monkeypatch.setattr("gre_bench.writing.archive.os.fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        archive.put(REQUEST, REPLY)
    monkeypatch.undo()
    assert archive.get(REQUEST) is None
    with archive.lock_request(REQUEST):
        archive.put(REQUEST, REPLY)
    assert archive.get(REQUEST) is not None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [entry(tmp_path)]


def test_room_for_a_reply_is_taken_before_it_is_asked_for_and_given_back(tmp_path):
    archive = ReplyArchive(tmp_path)
    with archive.lock_request(REQUEST):
        assert [path.stat().st_size for path in tmp_path.rglob("*.beside")] == [ROOM_BYTES]
        archive.put(REQUEST, REPLY)
    assert entry(tmp_path).stat().st_size < ROOM_BYTES and archive.get(REQUEST) == replace(REPLY, archived=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [entry(tmp_path)]


def test_one_asks_while_the_others_wait(tmp_path):
    inside, most, lock = 0, 0, threading.Lock()

    def ask() -> None:
        nonlocal inside, most
        for _ in range(20):
            with ReplyArchive(tmp_path).lock_request(REQUEST):
                with lock:
                    inside += 1
                    most = max(most, inside)
                threading.Event().wait(0.001)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, most) == (0, 1)


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the reply archive .*file/archive cannot be used: Not a directory"):
        ReplyArchive(tmp_path / "file" / "archive")
    archive = ReplyArchive(tmp_path / "archive")
    entry(archive.folder).mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be used: Is a directory"):
        archive.get(REQUEST)
