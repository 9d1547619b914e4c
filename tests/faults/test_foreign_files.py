"""Releases and editions from elsewhere: they are read, and nothing in them runs, reads a file, or is believed unseen."""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import resource
import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gre_bench.release import manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports import web_view as viewing_module
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.reports.web_view import StatePages, build_server
from gre_bench.store import Store, get_statement
from tests.faults.endpoints import refused, said
from tests.release.made_up import EDITION, FREE, make
from tests.servers.scripted import serve_in_thread

OTHER = "ICLR-2024"
SECRET = "a-local-file-that-is-nobodys-business"
LEADERBOARD = get_statement("views", "leaderboard").partition(" as\n")[2].rstrip(";\n")
READS = "leaderboard as from read_text('%s')"
PLANTED = {
    "a view that reads a file": (
        f"create or replace view leaderboard as with own as ({LEADERBOARD}) "
        "select * replace (candidate || (select content from read_text('{secret}')) as candidate) from own"
    ),
    "a view in a table's place": (
        "create table kept as from candidates; drop table candidates; create view candidates as select * replace "
        "(candidate_id || (select content from read_text('{secret}')) as candidate_id) from kept"
    ),
    "a macro in a function's place": (
        "create macro greatest(a, b) as (select length(content) from read_text('{secret}')); "
        "create macro round(a, b) as (select content from read_text('{secret}')); create macro sqrt(a) as 7"
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An edition with its release, and the same numbers as the edition and the release of another year."""
    state = tmp_path_factory.mktemp("foreign")
    for edition in (EDITION, OTHER):
        store = make(state, edition, papers=4, candidates=3, titles=FREE, metrics=("gem",))
        publish_edition(store, ReleaseStore(state / "releases", edition))
    return state


@pytest.fixture
def own(made, tmp_path):
    """The same for a test that changes it."""
    shutil.copytree(made, tmp_path / "own", symlinks=True)
    for path in (tmp_path / "own" / "releases").rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o644)
    (tmp_path / "secret").write_text(SECRET)
    return tmp_path / "own"


@pytest.fixture(scope="module")
def before(made):
    """What the commands tell of the edition and of the two releases when nothing is planted."""
    compare, rows = said(*compared(made, "--json")), said("leaderboard", OTHER, "--format", "json", "--state", made)
    return rows_of(compare[1])["metrics"], rows_of(rows[1])


@pytest.fixture
def foreign(own):
    """The release of the other year as it comes from elsewhere: without its log."""
    (own / "releases" / f"{OTHER}.log.jsonl").unlink()
    return own / "releases" / f"{OTHER}-r1"


def planted(database: Path, statements: str, secret: Path) -> None:
    with duckdb.connect(str(database)) as run:
        for one in statements.replace("{secret}", str(secret)).split("; "):
            run.execute(one)


def sealed(folder: Path, **about) -> None:
    """The release in *folder* with a manifest of what is in it now."""
    old = json.loads((folder / manifest.NAME).read_text())
    for name in (manifest.NAME, manifest.SUMS):
        (folder / name).unlink()
    manifest.write_manifest(
        folder, {name: value for name, value in old.items() if name not in ("format", "files")} | about
    )


def publish_again(state: Path) -> tuple[object, ...]:
    return ("publish", EDITION, "--again", "--state", state)


def compared(state: Path, *more: object) -> tuple[object, ...]:
    return ("compare", f"{EDITION}-r1", f"{OTHER}-r1", *more, "--state", state)


def rows_of(out: str):
    """What a command said as JSON, without the last digits of sums, which are added up in any order."""
    return json.loads(out, parse_float=lambda text: float(f"{float(text):.9g}"))


def a_link(tables: Path, secret: Path) -> None:
    (tables / "candidates.parquet").unlink()
    (tables / "candidates.parquet").symlink_to(secret)


def another_type(tables: Path, _: Path) -> None:
    table = pq.read_table(tables / "scores.parquet")
    place = table.column_names.index("value")
    pq.write_table(table.set_column(place, "value", pa.array(["x"] * len(table))), tables / "scores.parquet")


IN_RELEASE = {
    "a view": lambda tables, secret: (tables.parent / "views.sql").write_text(f"create or replace view {READS % secret};\n"),
    "a database": lambda tables, secret: planted(tables.parent / "release.duckdb", f"create view {READS}" % secret, secret),
    "a link": a_link,
    "a text": lambda tables, secret: (tables / "candidates.parquet").write_text(f"candidate_id\n{secret}\n"),
    "other columns": lambda tables, _: pq.write_table(pa.table({"x": [1]}), tables / "candidates.parquet"),
    "another type": another_type,
}  # fmt: skip


def zeros(times: int, type_: pa.DataType) -> pa.Array:
    return pa.nulls(times, type_).fill_null(0)


def repeated(text: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(zeros(times, pa.int8()), pa.array([text]))


TWO = ("candidate_id", "kind")
LARGE = {
    "many rows": lambda: {"candidates": dict.fromkeys(TWO, repeated("x", 5_000_000))},
    "long texts": lambda: {"candidates": dict.fromkeys(TWO, repeated("x" * 10**6, 10**4))},
    "long lists": lambda: {"spans": {"token_ids": pa.ListArray.from_arrays([0, 10**7], zeros(10**7, pa.int32()))}},
}
"""5 million rows in 140 kB, 10 GB of text in 100 kB, 10 million values in a few kB."""


@pytest.mark.parametrize("planting", LARGE)
def test_a_foreign_release_that_unpacks_to_a_multiple_of_its_size_is_refused_before_it_is_read(
    own, foreign, trial, planting
):
    for name, columns in LARGE[planting]().items():
        pq.write_table(pa.table(columns), foreign / "tables" / f"{name}.parquet", compression="zstd")
    sealed(foreign)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for asked in (publish_again(own), compared(own), ("verify", foreign, "--again")):
        refused(*asked, says="its tables unpack to more than 200 times")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10**6
    trial(f"foreign release: {planting}", "one line, before a row is read", 3)


@pytest.mark.parametrize("planting", IN_RELEASE)
def test_a_foreign_release_runs_nothing_and_reads_no_file(own, foreign, before, trial, planting):
    """It is sealed anew, as its maker would do, and has no log."""
    compare = compared(own, "--json")
    IN_RELEASE[planting](foreign / "tables", own.parent / "secret")
    sealed(foreign)
    for asked in (publish_again(own), compare):
        code, out = kept_secret(asked, foreign.name)
        assert code in (0, 2), asked
        assert code or asked != compare or rows_of(out)["metrics"] == before[0]
    no_page_holds_it(own)
    trial(f"foreign release: {planting}", UNREAD, 2)


UNREAD = "its file is in no page and no answer; one line, or its own rows"


def kept_secret(asked: tuple, named: str) -> tuple[int, str]:
    """Exit code and answer of a command that does not tell the secret; if it fails, in one line that has *named*."""
    code, out, err = said(*asked)
    assert SECRET not in out + err, asked
    assert "Traceback" not in err and err.count("\n") == (code != 0), (asked, err)
    assert code == 0 or named in err, (asked, err)
    return code, out


def no_page_holds_it(state: Path) -> None:
    for page in (state / "releases").rglob("*.html"):
        assert SECRET not in page.read_text(), page


@pytest.mark.parametrize("planting", PLANTED)
def test_a_foreign_edition_runs_nothing_and_reads_no_file(own, before, trial, planting):
    folder, rows = own / "editions" / OTHER, ("leaderboard", OTHER, "--format", "json")
    trial(f"foreign edition: {planting}", UNREAD, 4)
    for file in (folder / "edition.duckdb", Store(own, OTHER).read_file):
        planted(file, PLANTED[planting], own.parent / "secret")
    for asked in (
        rows,
        ("leaderboard", OTHER, "--details"),
        ("publish", OTHER, "--again"),
    ):
        code, out = kept_secret((*asked, "--state", own), ".duckdb")
        assert code or asked != rows or rows_of(out) == before[1]
    no_page_holds_it(own)


def test_a_sibling_that_was_altered_is_refused_before_it_is_read(own, trial):
    another_type(own / "releases" / f"{OTHER}-r1" / "tables", own)
    refused(*publish_again(own), says="tables/scores.parquet is not as it was written")
    assert ReleaseStore(own / "releases", EDITION).names() == [f"{EDITION}-r1"]
    trial("foreign release: a sibling whose table was altered", "publish names the file, and publishes nothing")


STATUSES = {
    "a list": "[]",
    "nothing": "null",
    "a number": "5",
    "no state": "{}",
    "a state alone": '{"state": "running"}',
    "values of other types": '{"state": ["done"], "message": {"x": 1}, "metrics": 7}',
    "counts of other types": '{"state": "done", "message": "", "stage": "ended", "due": "x", "done": 0, "pid": 1, '
    '"remaining_s": null, "metrics": [{"metric": "gem"}]}',
    "a nest of lists": "[" * 100_000,
    "a state in a list": '{"state": ["running"], "message": {"x": 1}, "budget": "x", "pid": [1]}',
    "a budget without end": '{"state": "done", "message": "", "budget": {"usd": 1e400}}',
    "a number of 5,000 digits": '{"state": "running", "pid": %s}' % ("9" * 5_000),
}


@pytest.mark.parametrize("shape", STATUSES)
def test_a_status_of_another_shape_is_one_line_and_a_study_with_one_is_shown_all_the_same(own, trial, shape):
    study = own / "studies" / "guidelines" / "x"
    study.mkdir(parents=True)
    (study / "status.json").write_text(STATUSES[shape])
    for more in ((), ("--json",)):
        code, out, err = said("status", *more, "--state", own)
        assert (code, err) == (0, "") and "studies/guidelines/x" in out, (more, err)
    (own / "editions" / EDITION / "status.json").write_text(STATUSES[shape])
    for more in ((), ("--json",)):
        refused("status", EDITION, *more, "--state", own, says="status.json is damaged", code=1)
    with viewed(own) as ask:
        status, _, body = ask("/status.json")
        assert status == 200 and json.loads(body)[1]["state"] == "fault" and ask("/")[0] == 200
    trial("foreign edition: a status of another shape", "one line; the overview says fault", 3)
    trial("a study's status of another shape", "its state is unknown; other rows are shown", 2)


@contextmanager
def viewed(state: Path):
    """A function that asks the server of *state* for a path: (status, headers, body)."""
    with closing(StatePages(state)) as viewing, serve_in_thread(build_server(viewing, 0)) as server:

        def ask(path: str):
            with closing(http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)) as connection:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()

        yield ask


def moved_out(path: Path) -> None:
    """*path* lies outside of the state now; a link leads there."""
    state = next(folder for folder in path.parents if folder.name == "own")
    path.symlink_to(path.rename(state.with_name("outside")))


def moved_inside(path: Path) -> None:
    path.rename(path.parent / "candidates" / path.name)
    path.symlink_to(f"candidates/{path.name}")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


VIEWED = {
    "linked release": (moved_out, ".", "index.html"),
    "linked folder": (moved_out, "papers", "papers/p00000.html"),
    "linked inside": (moved_inside, "index.html", "index.html"),
    "unlisted": (lambda path: path.write_text("<script>alert(1)</script>"), "more.html", "more.html"),
    "pipe": (piped, "index.html", "index.html"),
    "tampered": (lambda path: path.write_text("{"), manifest.NAME, "index.html"),
}
"""Fault → (what is done, to which file or folder of a release, the page that is asked for)."""


@pytest.mark.parametrize("fault", VIEWED)
def test_view_serves_the_files_of_a_releases_manifest_alone(own, trial, fault):
    folder, (change, changed, asked) = own / "releases" / f"{OTHER}-r1", VIEWED[fault]
    with viewed(own) as ask:
        for name in ("index.html", "manifest.json", "SHA256SUMS", "tables/papers.parquet"):
            assert ask(f"/releases/{folder.name}/{name}")[0] == 200, name
        change(folder / changed)
        status, _, body = ask(f"/releases/{folder.name}/{asked}")
    assert status in (404, 503) and b"<" not in body and body.count(b"\n") == 1
    trial(f"view: {fault}", "not served")


def test_a_page_of_a_release_may_send_no_request_and_reads_no_other_page(own, trial):
    """Its origin is its own: `sandbox` without ``allow-same-origin``. `default-src 'none'` covers every connection."""
    with viewed(own) as ask:
        for path in ("index.html", "papers/p00000.html", "manifest.json"):
            policy = ask(f"/releases/{OTHER}-r1/{path}")[1]["Content-Security-Policy"]
            rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
            assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == ["'none'"]
            assert "allow-same-origin" not in rules["sandbox"] and "connect-src" not in rules
        assert "sandbox" not in (ask("/")[1]["Content-Security-Policy"] or "")
    trial("view: a release's scripts", "no connection, an origin of its own", 3)


@pytest.mark.parametrize("path", ["/editions/{}/papers/{}", "/editions/{}/{}", "/releases/{}-r1/{}", "/{}{}"])
def test_an_address_of_any_length_is_answered(own, trial, capfd, path):
    with viewed(own) as ask:
        assert ask(path.format(EDITION, "x" * 5000))[0] in (302, 404)
        assert ask("/")[0] == 200
    assert "Traceback" not in capfd.readouterr().err
    trial("view: an address of 5,000 characters", "404, and the server goes on")


def test_view_says_in_one_line_that_there_is_no_room_for_its_pages(own, trial, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    refused("view", "--state", own, says="TMPDIR")
    monkeypatch.setattr(tempfile, "tempdir", None)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path))

    monkeypatch.setattr(viewing_module, "write_edition_pages", full)
    with viewed(own) as ask:
        status, _, body = ask(f"/editions/{EDITION}/index.html")
        assert status == 503 and b"No space left" in body and body.count(b"\n") == 1
        assert ask("/")[0] == 200
    assert "Traceback" not in capfd.readouterr().err
    trial("view: a full or missing temporary folder", "one line; the server goes on", 2)


GONE = object()


def edited(name: str, value: object = GONE):
    """A manifest with *value* under *name*, or without it."""
    return lambda about: {key: item for key, item in (about | {name: value}).items() if item is not GONE}


def one_file(name: str, entry: object):
    return lambda about: about | {"files": about["files"] | {name: entry}}


KEYS = ("format", "release", "edition", "created_at", "texts", "tables", "files", "program", "settings")
SOUND = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
MANIFESTS = {
    **{f"no {name}": edited(name) for name in KEYS},
    **{f"{name} is 5 in a list": edited(name, [5]) for name in KEYS},
    "texts of two lines": edited("texts", "where their licence allows it\nsigned by " + "0" * 64),
    "a release with an escape": edited("release", f"{OTHER}-r1\x1b[2J"),
    "a date that is none": edited("created_at", "yesterday"),
    "a file without a digest": one_file("more", {"bytes": 0}),
    "a file of -1 bytes": one_file("more", SOUND | {"bytes": -1}),
    "a file outside": one_file("../more", SOUND),
    "a file by its whole path": one_file("/etc/hostname", SOUND),
    "a file of two lines": one_file("a\nb", SOUND),
    "text": lambda about: "manifest",
}


@pytest.mark.parametrize("fault", MANIFESTS)
def test_a_sealed_manifest_of_another_shape_is_one_line(own, foreign, trial, fault):
    text = json.dumps(MANIFESTS[fault](json.loads((foreign / manifest.NAME).read_text())))
    (foreign / manifest.NAME).write_text(text)
    sums = (foreign / manifest.SUMS).read_text().splitlines()[1:]
    sums.insert(0, f"{hashlib.sha256(text.encode()).hexdigest()}  {manifest.NAME}")
    (foreign / manifest.SUMS).write_text("\n".join(sums) + "\n")
    compare = ("compare", foreign, f"{EDITION}-r1", "--state", own)
    for asked in (("verify", foreign), ("verify", foreign, "--json"), compare):
        assert "\x1b" not in refused(*asked, says=manifest.NAME), asked
    trial("foreign release: a manifest of another shape", "one line that names it", 3)


INSTEAD = {
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a nest": lambda path: path.write_text("[" * 100_000 + "\n"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["manifest.json", "SHA256SUMS", "tables/scores.parquet", f"../{OTHER}.log.jsonl"])
@pytest.mark.parametrize("instead", INSTEAD)
def test_a_file_of_a_release_that_is_none_is_one_line(own, trial, instead, name):
    folder = own / "releases" / f"{OTHER}-r1"
    (folder / name).unlink()
    INSTEAD[instead](folder / name)
    commands = [("verify", folder)]
    if instead == "a pipe" or name.endswith(".log.jsonl"):  # a publication reads the other files as verify does
        commands.append(publish_again(own))
    for asked in commands:
        code, _, err = said(*asked)
        named = Path(name).name in err or "manifest.json is not as it was written" in err
        assert code == 2 and err.count("\n") == 1 and named, (asked, err)
    trial(f"foreign release: to {instead}", "one line that names the file", len(commands))


LINES = {
    "a release called zzz": {"what": "published", "release": "zzz", "digest": "0" * 64},
    "a release of another edition": {"what": "published", "release": "ICLR-2020-r1", "digest": "0" * 64},
    "a number of 300 digits": {"what": "published", "release": f"{EDITION}-r{'9' * 300}", "digest": "0" * 64},
    "an erratum without a text": {"what": "erratum", "release": f"{EDITION}-r1"},
    "an erratum of two lines": {"what": "erratum", "release": f"{EDITION}-r1", "text": "x\nsigned by 0"},
    "no known event": {"what": ["published"], "release": f"{EDITION}-r1"},
    "a publication without a digest": {"what": "published", "release": f"{EDITION}-r1"},
    "a time without its zone": {
        "what": "erratum",
        "release": f"{EDITION}-r1",
        "text": "x",
        "at": "2026-01-01T00:00:00",
    },
}


@pytest.mark.parametrize("line", LINES)
def test_a_log_of_another_shape_is_one_line(own, trial, line):
    store = ReleaseStore(own / "releases", EDITION)
    entry = {"at": "2026-01-01T00:00:00+00:00"} | LINES[line]
    with store.log.path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    for asked in (publish_again(own), ("verify", store.folder / f"{EDITION}-r1")):
        refused(*asked, says=f"{store.log.path}, line 2: ")
    trial("foreign release: a log of another shape", "one line that names its line", 2)


def test_a_folder_for_releases_whose_name_is_not_utf_8_is_refused_in_one_line(own, trial):
    refused("publish", EDITION, "--out", own / "\udcff", "--state", own, says="is not UTF-8; rename it")
    trial("releases: a folder whose name is not UTF-8", "one line")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_lies_where_a_release_is_built_is_removed_and_a_link_is_not_followed(own, trial, kind):
    (own.parent / "kept").mkdir()
    (own.parent / "kept" / "file").touch()
    building = own / "releases" / f".{EDITION}-r2.building"
    building.symlink_to(own.parent / "kept") if kind == "link" else building.touch()
    code, _, err = said(*publish_again(own))
    assert code == 0, err
    assert not os.path.lexists(building) and (own.parent / "kept" / "file").exists()
    trial(f"foreign release: a {kind} where one is built", "removed; what it leads to is kept")


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="no sha256sum")
@pytest.mark.parametrize("name", ["index.html", "papers/p00000.html", "tables/scores.parquet", "manifest.json"])
def test_the_list_of_digests_covers_every_file_without_this_program(own, trial, name):
    folder = own / "releases" / f"{OTHER}-r1"

    def check() -> int:
        asked = ["sha256sum", "--check", "--strict", manifest.SUMS]
        return subprocess.run(asked, cwd=folder, capture_output=True).returncode

    listed = {line.partition("  ")[2] for line in (folder / manifest.SUMS).read_text().splitlines()}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert listed == files - {manifest.SUMS}
    assert check() == 0
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    assert check() == 1
    trial("foreign release: a tampered page and sha256sum", "it does not say OK")


def test_verify_says_that_no_log_lies_beside_a_release(own, trial):
    folder, log = own / "releases" / f"{OTHER}-r1", own / "releases" / f"{OTHER}.log.jsonl"
    assert "no log" not in said("verify", folder)[1]
    log.unlink()
    code, out, _ = said("verify", folder)
    assert code == 0 and f"no log beside it ({log.name}): errata, retirement and later releases are unknown" in out
    trial("foreign release: a log that was deleted", "verify says that there is none")
