"""Files made to harm whoever imports them: one clear line each, within the stated memory and time, and nothing read astray."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gre_bench.core.errors import LMError
from gre_bench.core.resources import locate_resource as shipped
from gre_bench.core.training_registers import read_register
from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.lm.weights import read_adapter
from tests.conftest import ROOT
from tests.faults.endpoints import said

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


def xlsx(path: Path, kind: str) -> Path:
    """A workbook of reviews with a cell *far* away, or with a sheet that is a *bomb*."""
    book = openpyxl.Workbook()
    book.active.append(("paper_id", "review"))
    if kind == "far":
        book.active["XFD1048576"] = "x"
    book.save(path)
    if kind == "bomb":
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/more.xml", "w") as file:
            for _ in range(200):
                file.write(b"<c></c>" * 150_000)
    return path


def linked(folder: Path, ending: str) -> Path:
    """A folder of a link to a file elsewhere, a pipe and a linked folder."""
    folder.mkdir()
    secret = folder.parent / "secret.txt"
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


MEMORY = 4_000_000 * 1024
"""Address space of a command and of each process that it starts, in bytes: what the settings allow for one file."""
SECONDS = 100


def told(*arguments: object, memory: int = MEMORY) -> tuple[int, str, float]:
    """Exit code, what was said, and peak memory in MB of ``gre-bench`` in a process of its own, which is ended in time."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))  # noqa: E731
    command = [sys.executable, "-m", "gre_bench.cli.app", *map(os.fsencode, map(str, arguments))]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"COLUMNS": "2000"}, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, preexec_fn=limit, start_new_session=True)  # fmt: skip
    try:
        out, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out = process.communicate()[0] + b"\nTIMEOUT"
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return process.returncode, out.decode("utf-8", "replace"), used


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    """A state folder with an edition of two papers."""
    folder = tmp_path_factory.mktemp("imports")
    papers = rows(folder / "papers.jsonl", '{"paper_id": "s1", "title": "One"}', '{"paper_id": "s2", "title": "Two"}')
    code, _, err = said("import", "papers", papers, "--new", "--edition", EDITION, "--state", folder / "state")
    assert code == 0, err
    return folder / "state"


INSPECT = ("import", "inspect")
REVIEWS = ("import", "reviews")
PLAIN = ("--as", "m")

EXPLODING = {
    "log: metadata nested 200,000 deep": (lambda d: [*INSPECT, log(d / "a.eval", deep('{"a":', "}"))], "nested more than"),
    "log in JSON: metadata nested 200,000 deep": (lambda d: [*INSPECT, json_log(d / "a.json", deep("[", "]"))], "nested more than"),
    "log: 1 MB that unpacks to 1 GiB": (lambda d: [*INSPECT, log(d / "a.eval", filler=1024)], "unpacks to more than 200 times"),
    "log: 1e9 epochs": (lambda d: [*INSPECT, log(d / "a.eval", epochs="1000000000")], "1,000,000,000"),
    "log: metadata of 20 million lists": (lambda d: [*INSPECT, log(d / "a.eval", '{"a":[' + "[]," * 20_000_000 + "1]}")], "inputs.memory"),
    "JSON lines: 1.4 MB that unpack to 1 GB of rows": (lambda d: [*REVIEWS, packed(d / "a.jsonl.gz", b"{}\n" * 10_000, 40_000), *PLAIN], "more than 2,000,000 rows"),
    "JSON lines: a line without end": (lambda d: [*REVIEWS, rows(d / "a.jsonl", "x" * 70_000_000), *PLAIN], "line 1 is longer than 64 MiB"),
    "JSON lines: 50 million lists": (lambda d: [*REVIEWS, rows(d / "a.jsonl", *['{"x": [' + "[]," * 10_000_000 + "1]}"] * 5), *PLAIN], "inputs.memory"),
    "CSV: cells without end": (lambda d: [*REVIEWS, rows(d / "a.csv", "paper_id,review", "," * 60_000_000), *PLAIN], "inputs.memory"),
    "CSV: 2.2 MB that unpack to 2 GB": (lambda d: [*REVIEWS, packed(d / "a.csv.gz", b"paper_id,review\n" * 10_000, 13_000), *PLAIN], "more than 2,000,000 rows"),
    "CSV: a bomb of one line": (lambda d: [*REVIEWS, packed(d / "a.csv.gz", b"x," * 500_000, 2_000), *PLAIN], "is longer than"),
    "XLSX: a cell at the other end of the sheet": (lambda d: [*REVIEWS, xlsx(d / "a.xlsx", "far"), *PLAIN], "inputs.memory"),
    "XLSX: 0.2 MB that unpack to 200 MB": (lambda d: [*REVIEWS, xlsx(d / "a.xlsx", "bomb"), *PLAIN], "unpacks to more than 200 times"),
    "Parquet: 50 million rows in a few kB": (lambda d: [*REVIEWS, parquet(d / "a.parquet", "rows"), *PLAIN], "more than 2,000,000 rows"),
    "texts of papers: a bomb": (lambda d: ["import", "notes", notes(d / "n.jsonl"), "--texts", packed(d / "t.jsonl.gz", b"{}\n" * 10_000, 40_000)], "more than 2,000,000 rows"),
    "notes: a bomb": (lambda d: ["import", "notes", packed(d / "n.jsonl.gz", b"{}\n" * 10_000, 40_000)], "more than 2,000,000 rows"),
    "settings that name an endless device": (lambda d: ["refresh", "--no-prefect", "--settings", "/dev/zero"], "/dev/zero is not a regular file"),
    "settings: a models file that is a device": (lambda d: ["refresh", "--no-prefect", "--set", "writing.models=/dev/zero", "--set", "writing.candidates=['x']"], "/dev/zero is not a regular file"),
    "study settings that are a device": (lambda d: ["study", "examiners", "compare", "--settings", "/dev/zero"], "/dev/zero is not a regular file"),
    "reviews: a device": (lambda d: [*REVIEWS, "/dev/zero", *PLAIN], "/dev/zero"),
    "texts: a folder of 12 GB that takes no disk": (lambda d: [*REVIEWS, sparse(d / "in", 200, 60 * 2**20), *PLAIN], "inputs.memory"),
    "PDFs: a folder of a link and a pipe": (lambda d: ["import", "notes", notes(d / "n.jsonl"), "--pdfs", linked(d / "in", ".pdf")], "s1.pdf: it is a link; s2.pdf: it is not a regular file"),
}  # fmt: skip
"""Fault → (a command on a file made in a folder, what its one line says). Each took the machine, or never ended."""

REFUSED = {
    "JSON lines: a row nested 200,000 deep": (lambda d: [*REVIEWS, rows(d / "a.jsonl", '{"paper_id": ' + deep("[", "]") + "}"), *PLAIN], "nested more than"),
    "Parquet: text that is not UTF-8": (lambda d: [*REVIEWS, parquet(d / "a.parquet", "utf8")], "not UTF-8"),
    "Parquet: two columns of one name": (lambda d: [*REVIEWS, parquet(d / "a.parquet", "twice")], "two columns have the same name"),
    "XLSX: no workbook": (lambda d: [*REVIEWS, rows(d / "a.xlsx", "PK\x03\x04 nothing of it"), *PLAIN], "cannot be read as .xlsx"),
    "Parquet: no Parquet": (lambda d: [*REVIEWS, rows(d / "a.parquet", "nothing of it")], "cannot be read as parquet"),
    "notes: content nested 990 deep": (lambda d: ["import", "notes", notes(d / "n.jsonl", content=json.loads('{"a":' * 500 + "1" + "}" * 500))], "nested more than"),
    "file name that is not UTF-8": (lambda d: [*REVIEWS, rows(d / "\udcff.jsonl", '{"paper_id": "s9", "review": "x"}'), *PLAIN], "not UTF-8"),
    "folder: a file name that is not UTF-8": (lambda d: [*REVIEWS, texts(d / "in", "s1.txt", "\udcff.txt"), *PLAIN], "not UTF-8"),
    "state folder that is not UTF-8": (lambda d: [*REVIEWS, rows(d / "a.jsonl", '{"paper_id": "s9", "review": "x"}'), *PLAIN, "--new", "--state", d / "\udcff"], "not UTF-8"),
    "--rows of 5,000 digits": (lambda d: [*REVIEWS, "none.csv", "--rows", f"0:{DIGITS}"], "not written as FIRST:END"),
    "--set with 5,000 digits": (lambda d: ["refresh", "--no-prefect", "--set", f"edition.papers={DIGITS}"], "edition.papers"),
    "settings file with 5,000 digits": (lambda d: ["refresh", "--no-prefect", "--settings", rows(d / "s.toml", "[edition]", f"papers = {DIGITS}")], "s.toml"),
    "settings file nested 200,000 deep": (lambda d: ["refresh", "--no-prefect", "--settings", rows(d / "s.toml", f"x = {deep('[', ']')}")], "nested too deeply"),
    "study settings nested 200,000 deep": (lambda d: ["study", "examiners", "compare", "--settings", rows(d / "s.toml", f"x = {deep('[', ']')}")], "nested too deeply"),
    "study items: a cell of 200 MB": (lambda d: ["study", "examiners", "compare", "--dry-run", "--items", rows(d / "i.tsv", "SRC\tHYP\tScore", "x" * 200_000_000)], "is longer than"),
    "filled sheet: a cell of 200 kB": (lambda d: ["study", "examiners", "errors", f"x={rows(d / 's.csv', 'inconsistent,x', 'maybe,' + 'x' * 200_000)}"], "write yes or no"),
    "ratings: a cell of 200 kB": (lambda d: ["study", "guidelines", "compare", "--reviews", given(d / "in")], "is not a rating"),
    "candidate called ..": (lambda d: [*REVIEWS, rows(d / "a.jsonl", '{"paper_id": "s1", "candidate": "..", "review": "x"}')], "candidate"),
    "candidate called ../../x": (lambda d: [*REVIEWS, rows(d / "a.jsonl", '{"paper_id": "s1", "candidate": "../../x", "review": "x"}')], "candidate"),
    "--as ..": (lambda d: [*REVIEWS, rows(d / "a.jsonl", '{"paper_id": "s1", "review": "x"}'), "--as", ".."], "cannot be called .."),
    "--as a/../b, for logs": (lambda d: [*INSPECT, log(d / "a.eval"), "--as", "a/../b"], "cannot be called a/../b"),
    "paper called /etc/passwd": (lambda d: ["import", "papers", rows(d / "a.jsonl", '{"paper_id": "/etc/passwd"}')], "paper_id"),
    "model called a/../b": (lambda d: ["study", "examiners", "compare", "--dry-run", "--items", rows(d / "i.tsv", "SRC\tHYP\tScore", "a\tb\t1"), "--models-file", models(d, "a/../b"), "--model", "a/../b"], "name"),
}  # fmt: skip
"""The same for what ended with a traceback, or was taken though it should not be."""


def texts(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("A review.")
    return folder


def sparse(folder: Path, files: int, size: int) -> Path:
    folder.mkdir()
    for number in range(files):
        with (folder / f"s{number}.txt").open("wb") as file:
            file.truncate(size)
    return folder


def models(folder: Path, name: str) -> Path:
    return rows(folder / "models.toml", "[[model]]", f'name = "{name}"', 'endpoint = "http://127.0.0.1:1"')


def given(folder: Path) -> Path:
    folder.mkdir()
    rows(folder / "human_ratings.tsv", "paper_id\tone", "s1\t5" + "0" * 200_000)
    rows(folder / "llm_reviews.jsonl", "")
    return folder


@pytest.mark.night
@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("fault", EXPLODING)
def test_a_file_that_explodes_is_refused_in_one_line_before_it_takes_the_machine(fault, state, tmp_path, trial):
    trial(f"hostile file: {fault}", "one line and exit code 2, in 4 GB and 100 s")
    make, line = EXPLODING[fault]
    arguments = make(tmp_path)
    more = () if arguments[0] == "study" or "refresh" in arguments else ("--edition", EDITION)
    began = time.monotonic()
    code, said_, used = told(*arguments, *more, "--state", state)
    assert code == 2 and line in said_, (code, said_[-2000:], used)
    assert said_.count("\n") <= 3 and "Traceback" not in said_ and used < 4_100 and time.monotonic() - began < SECONDS


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_used_is_one_line_that_names_it(fault, state, tmp_path, trial):
    trial(f"hostile file: {fault}", "one line that names the item, exit code 2")
    make, line = REFUSED[fault]
    arguments = make(tmp_path)
    more = ("--edition", EDITION) if arguments[0] in ("import", "refresh") else ()
    more += () if "errors" in arguments or "--state" in arguments else ("--state", state)
    code, out, err = said(*arguments, *more)
    assert code == 2 and line in out + err, (code, (out + err)[-2000:])
    assert "Traceback" not in out + err and err.count("\n") <= 2 and len(out + err) < 5_000


def test_a_parquet_file_is_read_whatever_its_pandas_metadata_claim(state, tmp_path):
    file = parquet(tmp_path / "a.parquet", "pandas")
    code, out, err = said(*REVIEWS, file, "--edition", EDITION, "--state", state)
    assert (code, "Traceback" in out + err) == (0, False) and "1 reviews added" in out, (out, err)


@pytest.mark.parametrize("kind", ["reviews", "inspect"])
def test_links_and_pipes_in_a_folder_are_refused_by_name_and_never_read(kind, state, tmp_path, trial):
    trial(f"hostile folder: links, pipes, linked folders ({kind})", "each named; nothing behind them is read")
    folder = linked(tmp_path / "in", {"reviews": ".txt", "inspect": ".eval"}[kind])
    if kind == "reviews":
        (folder / "s2.md").write_text("A review.")
        arguments = [*REVIEWS, folder, "--as", "linked", "--json"]
    else:
        log(folder / "sound.eval")
        arguments = [*INSPECT, folder, "--as", "logged", "--json"]
    code, out, err = said(*arguments, "--edition", EDITION, "--state", state)
    assert code == 2 and "Traceback" not in err, err
    for name in ("s1", "s2", "beside"):
        assert f"file {name}" in out or (kind == "inspect" and name == "beside"), (name, out)
    assert out.count("is a link") >= 1 and SECRET not in out
    assert SECRET not in said("sql", EDITION, "select text from reviews", "--state", state)[1]


MODELS = {
    "its settings nested 200,000 deep": ("config.json", lambda file: file.write_text(deep("[", "]")), "nested more than"),
    "its settings are a device": ("config.json", lambda file: file.symlink_to("/dev/zero"), "is not a regular file"),
    "its weights are a device": ("weights.safetensors", lambda file: file.symlink_to("/dev/zero"), "is not a regular file"),
    "an adapter nested 200,000 deep": ("adapter_config.json", lambda file: file.write_text(deep("[", "]")), "nested more than"),
    "a register beside weights that are a device": ("weights.safetensors", lambda file: file.symlink_to("/dev/zero"), "its learnt_from.txt is damaged"),
    "a register that is a device": ("learnt_from.txt", lambda file: file.symlink_to("/dev/zero"), "its learnt_from.txt is damaged"),
}  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fault", MODELS)
def test_a_model_folder_from_elsewhere_is_refused_in_one_line(fault, tmp_path, trial):
    name, change, line = MODELS[fault]
    folder = shutil.copytree(shipped("data", "evaluation_lm", "cache-ngram-3"), tmp_path / "lm")
    (folder / name).unlink(missing_ok=True)
    change(folder / name)
    if fault.startswith("a register"):
        told_ = read_register(folder, "lm").problem or ""
    else:
        with pytest.raises(LMError) as error:
            read_adapter(folder) if name.startswith("adapter") else CacheNgram.load(folder)
        told_ = str(error.value)
    assert line in told_ and "\n" not in told_
    trial(f"hostile model: {fault}", "one line")
