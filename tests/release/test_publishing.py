"""Releases: what goes in and what stays behind, that none is ever half there, and that no byte of one can change."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest
from scipy.stats import ttest_ind

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.metrics import METRICS, find_recipe
from gre_bench.release import manifest
from gre_bench.release.manifest import redact_settings
from gre_bench.release.public_tables import (
    ADDED,
    RECORDS,
    REDACTED,
    WHOLE,
    ReleaseOnlyTables,
    open_release_tables,
    write_public_tables,
)
from gre_bench.release.publishing import publish, read_differences_by_edition
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports import publish_editions
from gre_bench.reports.publish_editions import build_release_inputs, publish_edition
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.store import TABLES, open_frozen_copy
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD, PROGRESS
from tests.release.made_up import EDITION, FREE, change, make, rank_again, release_store_of, store_of


def test_every_table_of_an_edition_is_either_public_as_it_is_or_redacted():
    assert sorted(TABLES) == sorted((*WHOLE, *REDACTED, *RECORDS, "word_counts")) and "word_counts" in ADDED


def test_a_release_holds_its_tables_its_page_and_pages_of_papers_and_is_the_latest(state, monkeypatch):
    folder = state / "releases" / f"{EDITION}-latest"
    found = manifest.verify_release(folder)
    assert os.readlink(folder) == f"{EDITION}-r1" == found["release"]
    assert not list(folder.rglob("*.wal"))
    tables = sorted(path.stem for path in (folder / "tables").iterdir())
    assert tables == sorted(found["tables"]) == sorted((*WHOLE, *REDACTED, *ADDED))
    with open_release_tables(folder) as run:
        for table, count in found["tables"].items():
            assert run.sql(f"select count(*) from {table}").fetchall() == [(count,)]
        assert run.sql("select count(*) from leaderboard").fetchall() == [(12,)]
    monkeypatch.chdir(folder)
    with duckdb.connect() as run:
        run.execute(Path("views.sql").read_text())
        assert run.sql("select count(*) from leaderboard").fetchall() == [(12,)]
    assert len(list((folder / "papers").glob("*.html"))) == 6
    for name in ("program", "settings", "signatures", "seeds", "validations", "snapshots", "imports"):
        assert name in found
    assert found["program"]["packages"]["duckdb"] and found["validations"]["gem"]["verdict"] == "fail"
    assert found["validations"]["gem_s_assw"] == {"verdict": "unvalidated"}


def everything_in(folder):
    """All texts of a release: its pages, its manifest, and every value of every table."""
    texts = [path.read_text() for path in folder.rglob("*") if path.suffix in (".html", ".json", ".svg")]
    with open_release_tables(folder) as run:
        texts += [str(run.sql(f"from {path.stem}").fetchall()) for path in (folder / "tables").iterdir()]
    return "\n".join(texts)


def test_texts_are_published_only_where_their_licence_allows_it(state):
    said = everything_in(state / "releases" / f"{EDITION}-r1")
    assert "Private words of p00000-r1" in said and FREE[0] in said
    for paper in range(1, 6):
        assert f"Private words of p0000{paper}" not in said and f"Paper {paper}" not in said
    with open_release_tables(state / "releases" / f"{EDITION}-r1") as run:
        rows = run.sql("select text is null, text_sha256 is null, paper_id = 'p00000' from reviews").fetchall()
        assert {(hidden, hashed) for hidden, hashed, free in rows if free} == {(False, False)}
        assert {(hidden, hashed) for hidden, hashed, free in rows if not free} == {(True, False)}
        spelled = run.sql("select count(*) filter (ids is not null), count(*) from spans").fetchall()[0]
        # Token ids spell a text: those of the one free paper's references alone, under each metric.
        assert 0 < spelled[0] == spelled[1] // 6
        assert run.sql("select count(*) from judgments where text is not null").fetchall() == [(3,)]


def test_all_texts_are_in_a_release_that_is_not_to_be_passed_on(own):
    made = publish_edition(store_of(own), release_store_of(own), everything=True)
    assert made.name == f"{EDITION}-r2" and "Private words of p00005-r2" in everything_in(made.folder)
    assert manifest.verify_release(made.folder)["texts"] == "all: not to be passed on"


def test_settings_are_published_without_paths_and_addresses():
    given = {"sources": {"notes": "/home/me/notes.jsonl", "text": None}, "evaluation_lm": {"endpoint": "http://10.0.0.1"},
             "fetch": {"login": "env:X", "host": None}, "edition": {"reference_slots": [1, "/a/b"]}}  # fmt: skip
    assert redact_settings(given) == {
        "sources": {"notes": "notes.jsonl", "text": None},
        "evaluation_lm": {"endpoint": "(not published)"},
        "fetch": {"login": "(not published)", "host": None},
        "edition": {"reference_slots": [1, "b"]},
    }


def test_an_unchanged_edition_is_not_published_twice_even_with_another_package(own, monkeypatch):
    assert manifest.list_package_versions()["duckdb"]
    monkeypatch.setattr(
        publish_editions, "list_package_versions", lambda: {**manifest.list_package_versions(), "another": "1.0"}
    )
    again = publish_edition(store_of(own), release_store_of(own))
    assert (again.new, again.name, release_store_of(own).names()) == (False, f"{EDITION}-r1", [f"{EDITION}-r1"])
    assert publish_edition(store_of(own), release_store_of(own), again=True).name == f"{EDITION}-r2"


def test_a_line_of_the_log_that_a_kill_cut_off_is_none_and_is_taken_off(own):
    release_store = release_store_of(own)
    whole = release_store.log.path.read_bytes()
    release_store.log.path.write_bytes(whole + b'{"what": "publi')
    assert [entry["what"] for entry in release_store.log.entries()] == ["published"]
    with release_store.lock():
        release_store.log_event("erratum", f"{EDITION}-r1", {"text": "later"})
    assert release_store.log.path.read_bytes().startswith(whole)
    assert [entry["what"] for entry in release_store.log.entries()] == ["published", "erratum"]


def test_errata_stand_beside_a_release_and_on_later_pages_and_a_retired_one_is_no_longer_the_latest(own, call):
    state = ("--state", own)
    assert call("publish", EDITION, "--again", *state)[0] == 0
    code, out, _ = call(
        "publish", "--erratum", "Two reviews were swapped <b>", "--of", f"{EDITION}-r2", "--retire", *state
    )
    assert code == 0 and f"latest is {EDITION}-r1" in out
    assert os.readlink(release_store_of(own).latest) == f"{EDITION}-r1"
    code, out, _ = call("verify", own / "releases" / f"{EDITION}-r2")
    assert code == 0 and "retired" in out and "Two reviews were swapped <b>" in out
    made = publish_edition(store_of(own), release_store_of(own), again=True)
    assert made.name == f"{EDITION}-r3" == os.readlink(release_store_of(own).latest)
    page = (made.folder / "index.html").read_text()
    assert "Two reviews were swapped &lt;b&gt;" in page
    code, _, err = call("publish", "--erratum", "x", "--of", f"{EDITION}-r9", *state)
    assert code == 2 and f"no release {EDITION}-r9" in err and f"{EDITION}-r3" in err
    assert call("publish", "--erratum", "x", "--of", "nonsense", *state)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--erratum", "x"), "an erratum needs both: --erratum TEXT and --of RELEASE"),
        (("--of", f"{EDITION}-r1"), "an erratum needs both"),
        (("--retire",), "an erratum needs both"),
        (("--erratum", "x", "--of", f"{EDITION}-r1", "--again"), "--of RELEASE publishes nothing"),
        (("ICLR-2020", "--erratum", "x", "--of", f"{EDITION}-r1"), f"{EDITION}-r1 is no release of ICLR-2020"),
        (("--erratum", "two\nlines", "--of", f"{EDITION}-r1"), "an erratum is one line of text"),
    ],
)
def test_an_erratum_is_asked_for_whole_and_publishes_nothing(own, call, arguments, says):
    before = release_store_of(own).log.entries()
    code, out, err = call("publish", *arguments, "--state", own)
    assert (code, out) == (2, "") and says in err
    assert release_store_of(own).log.entries() == before


def test_releases_stand_where_they_are_asked_to_and_an_erratum_comes_as_json_too(own, tmp_path, call):
    code, out, _ = call("publish", EDITION, "--out", tmp_path / "there", "--state", own, "--json")
    assert code == 0 and json.loads(out)["folder"] == str(tmp_path / "there" / f"{EDITION}-r1")
    code, out, _ = call("verify", tmp_path / "there" / f"{EDITION}-latest", "--json")
    assert code == 0 and json.loads(out)["release"] == f"{EDITION}-r1"
    code, out, _ = call("publish", EDITION, "--erratum", "x", "--of", f"{EDITION}-r1", "--json", "--state", own)
    found = json.loads(out)
    assert (code, found["release"], found["erratum"], found["retired"]) == (0, f"{EDITION}-r1", "x", False)


def test_what_cannot_be_published_is_one_line(own, call, tmp_path):
    code, _, err = call("publish", "ICLR-2024", "--state", own)
    assert code == 2 and err.count("\n") == 1 and f"did you mean {EDITION}?" in err
    older = tmp_path / "older.duckdb"
    shutil.copyfile(store_of(own).read_file, older)
    with duckdb.connect(str(older)) as run:
        run.sql("drop view leaderboard; drop table profiles")
    with pytest.raises(StoreError, match="has no table profiles; run gre-bench refresh"):
        write_public_tables(older, tmp_path / "made.duckdb", ReleaseOnlyTables(), lambda licence: False)
    source = store_of(own).file
    whole = source.read_bytes()
    for damaged in (b"no database", whole[: len(whole) // 2]):
        source.write_bytes(damaged)
        with pytest.raises(
            StoreError, match="edition.duckdb is damaged or no DuckDB file.*copy read.* to edition.duckdb"
        ):
            publish_edition(store_of(own), release_store_of(own))
    assert manifest.verify_release(release_store_of(own).latest)["release"] == f"{EDITION}-r1"
    with pytest.raises(SourceError):
        manifest.verify_release(tmp_path)
    with pytest.raises(SettingsError):
        release_store_of(own).log_event("erratum", "ICLR-2025-r7", {})


def leads(store, candidate, title):
    """Mean difference to the human baseline by paper, under the metric with this *title*."""
    metric = next(name for name in METRICS.own if find_recipe(name).title == title)
    with store.transaction() as run:
        return [value for (value,) in run.execute(
            "select avg(c.value - h.value) from pairs c join pairs h using (signature_id, paper_id, reference_id) "
            "join signatures s using (signature_id) where s.metric = $2 and c.candidate_id = $1 "
            "and h.candidate_id = 'human' group by paper_id", [candidate, metric]).fetchall()]  # fmt: skip


def test_two_years_are_set_beside_each_other_by_differences_to_the_human_baseline_with_welchs_test_of_their_change(own):
    earlier = make(own, "ICLR-2024", papers=9, candidates=4)
    publish_edition(earlier, ReleaseStore(own / "releases", "ICLR-2024"))
    made = publish_edition(store_of(own), release_store_of(own), again=True)
    page = (made.folder / "index.html").read_text()
    years = page[page.index('id="years"') : page.index('id="papers"')]
    assert years.index("ICLR-2024") < years.index("ICLR-2025")
    ids = [row["signature_id"] for row in store_of(own).read(CURRENT_SIGNATURES)]
    board = store_of(own).read(LEADERBOARD, signature_ids=ids)
    row = next(row for row in board if row["kind"] == "model" and row["metric"] == "gem")
    assert f"{row['vs_human']:+.2f}".replace("-", "−") in years and f"{row['score']:+.2f}" not in years
    found, *others = all_metrics = read_differences_by_edition(release_store_of(own), release_store_of(own).latest)
    assert len(others) == 2 and found["editions"] == ["ICLR-2024", EDITION] and len(found["changes"]) == 3
    of_all = []
    for table in all_metrics:
        for one in table["changes"]:
            both = (leads(store, one["candidate"], table["title"]) for store in (store_of(own), earlier))
            of_all.append((one, ttest_ind(*both, equal_var=False)))
    corrected = adjust_by_holm([test.pvalue for _, test in of_all])
    for (one, test), p in list(zip(of_all, corrected, strict=True))[: len(found["changes"])]:
        low, high = test.confidence_interval(0.9)
        assert (one["low"], one["high"], one["p"]) == pytest.approx((low, high, p))
        differences = {year["edition"]: year["difference"] for year in dict(found["lines"])[one["candidate"]]}
        assert one["value"] == pytest.approx(differences[one["later"]] - differences[one["earlier"]])


def test_editions_of_two_signatures_are_no_history(own):
    earlier = make(own, "ICLR-2024", papers=9, candidates=4)
    change(
        earlier,
        "insert into signatures by name select * replace (reverse(signature_id) as signature_id) from signatures",
        *(
            f"update {table} set signature_id = reverse(signature_id)"
            for table in ("plan", "scores", "effects", "validations", "rank_statistics")
        ),
    )
    rank_again(earlier)
    publish_edition(earlier, ReleaseStore(own / "releases", "ICLR-2024"))
    assert read_differences_by_edition(release_store_of(own), release_store_of(own).latest) == []


def test_what_is_published_is_the_store_at_one_moment_and_never_while_a_run_writes_it(own, call):
    store = store_of(own)
    with store.lock("refresh"):
        code, out, err = call("publish", EDITION, "--again", "--state", own)
    assert (code, out, err.count("\n")) == (3, "", 1) and "is being written by process" in err
    assert release_store_of(own).names() == [f"{EDITION}-r1"]
    with open_frozen_copy(store, "publish") as copy:
        with store.lock("refresh"), store.transaction() as run:
            run.execute("delete from scores")
        publication = build_release_inputs(copy, again=True)
        made = publish(release_store_of(own), publication)
    assert made.tables["scores"] == sum(row["scored"] for row in store.read(
        PROGRESS, signature_ids=[row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    ))  # fmt: skip
