"""Files made to take a machine, to read what nobody named, or to stop a command with a traceback."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

EDITION = "ICLR-2024-hostile"
"""Of a venue whose form is known, for files of notes."""
DIGITS = "9" * 5_000
DEEP = 200_000
SECRET = "a line of a file that nobody named"

_OUTPUT = '{"model":"m","choices":[{"message":{"role":"assistant","content":"A review."},"stop_reason":"stop"}],"completion":"A review."}'
_SAMPLE = '{"id":"s1","epoch":1,"input":"x","target":"","messages":[],"output":%s,"metadata":%s}'
_HEADER = (
    '{"version":2,"status":"success","eval":{"created":"2026-01-01T00:00:00+00:00","task":"t","dataset":{"sample_ids":["s1"]},'
    '"model":"m","config":{"epochs":%s}}}'
)


def log(path: Path, metadata: str = "{}", epochs: str = "1", filler: int = 0) -> Path:
    """A log of inspect_ai as an archive; *filler*: MiB of blanks in its sample."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("header.json", _HEADER % epochs)
        with archive.open("samples/s1_epoch_1.json", "w", force_zip64=True) as member:
            for _ in range(filler):
                member.write(b" " * 2**20)
            member.write((_SAMPLE % (_OUTPUT, metadata)).encode())
    return path


def json_log(path: Path, metadata: str) -> Path:
    """The same as one JSON file."""
    path.write_text(_HEADER[:-1] % 1 + f',"samples":[{_SAMPLE % (_OUTPUT, metadata)}]}}')
    return path


def deep(opening: str, closing: str, inner: str = "1") -> str:
    """JSON or TOML that is nested `DEEP` levels deep."""
    return opening * DEEP + inner + closing * DEEP


def packed(path: Path, piece: bytes, times: int) -> Path:
    """A small .gz file that unpacks to *piece*, *times* over."""
    with gzip.open(path, "wb", compresslevel=6) as file:
        for _ in range(times):
            file.write(piece)
    return path


def parquet(path: Path, kind: str) -> Path:
    """A Parquet file of reviews that is wrong in the way *kind*."""
    row = {"paper_id": ["s1"], "candidate": ["m"], "review": ["A review."]}
    if kind == "rows":
        many = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000_000, pa.int8()), pa.array(["x" * 50]))
        table = pa.table({name: many for name in row})
    elif kind == "utf8":
        text = pa.array([b"\xff\xfe bad"], pa.binary()).view(pa.string())
        table = pa.table(row | {"review": text})
    elif kind == "twice":
        table = pa.Table.from_arrays([pa.array(["s1"]), pa.array(["m"]), pa.array(["a"]), pa.array(["b"])],
                                     names=["paper_id", "candidate", "review", "review"])  # fmt: skip
    else:
        table = pa.table(row).replace_schema_metadata({"pandas": '{"index_columns": [5], "columns": 7}'})
    pq.write_table(table, path)
    return path


def linked(folder: Path, ending: str, target: Path | None = None) -> Path:
    """A folder with a sound text, a link to a file elsewhere, a pipe and a linked folder."""
    folder.mkdir()
    secret = target or folder.parent / "secret.txt"
    if target is None:
        secret.write_text(SECRET)
    (folder / f"s1{ending}").symlink_to(secret)
    os.mkfifo(folder / f"s2{ending}")
    (folder / "beside").symlink_to(folder.parent)
    return folder


def notes(path: Path, **changes: object) -> Path:
    """A file of notes of API v2: a submission and a review that has *changes*."""
    group = "ICLR.cc/2024/Conference"
    paper = {"id": "p1", "forum": "p1", "invitations": [f"{group}/-/Submission"],
             "content": {"title": {"value": "T"}, "abstract": {"value": "A"}, "venueid": {"value": group}}}  # fmt: skip
    review = {"id": "r1", "forum": "p1", "invitations": [f"{group}/Submission1/-/Official_Review"],
              "content": {"summary": {"value": "A review."}}}  # fmt: skip
    path.write_text("".join(json.dumps(note) + "\n" for note in (paper, review | changes)))
    return path


def rows(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


Made = Callable[[Path], list[object]]
