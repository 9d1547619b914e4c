"""That the same inputs give the same numbers, and the same release: with any number of threads, anywhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from gre_bench.core import settings
from gre_bench.core.errors import SourceError
from gre_bench.core.whole_files import sha256
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.release import manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.reports.verifying import recompute_release
from gre_bench.store import Store, fetch
from gre_bench.store.queries import ANCHORED, CLEAN_GAP, CURRENT_SIGNATURES, LEADERBOARD, STRATA
from tests.cli.calling import call
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, with_papers_read
from tests.release.made_up import change, make
from tests.release.publishing import published_apart

DATED = {manifest.NAME, manifest.SUMS}
"""The one file of a release that says when and by which runs, and the list of digests."""


def test_twenty_readings_of_a_board_with_one_to_four_threads_are_equal_to_the_last_digit(tmp_path):
    store = make(tmp_path, papers=200, candidates=6)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    readings = set()
    for number in range(20):
        with duckdb.connect(str(store.read_file), read_only=True, config={"threads": 1 + number % 4}) as connection:
            boards = [
                fetch(connection, query, signature_ids=ids, **named)
                for query, named in ((LEADERBOARD, {}), (LEADERBOARD, {"board": "all"}), (STRATA, {}), (CLEAN_GAP, {}))
            ]
            readings.add(repr([*boards, fetch(connection, ANCHORED, signature_ids=ids, anchors=["human"])]))
    assert len(readings) == 1


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Eight papers of the sample edition, made twice of the same inputs, as `make demo` does it."""
    asked = settings.load(ROOT / "deployments" / "demo.toml", ("edition.papers=8",))
    states = [tmp_path_factory.mktemp(name) for name in ("one", "other")]
    for state in states:
        refresh(Job(asked, with_papers_read(state)))
    return states


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_releases_of_the_same_inputs_are_the_same_bytes_but_for_one_file_and_with_a_date_given_whole(
    states, tmp_path
):
    here = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "1"}
    there = {"TZ": "America/Los_Angeles", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "2"}
    dated = {manifest.EPOCH: "1796083200"}
    made = [
        bytes_of(published_apart(state, EDITION, tmp_path / str(number), threads, **where))
        for number, (state, threads, where) in enumerate(
            [(states[0], 1, here | dated), (states[0], 4, there | dated), (states[1], 4, there)]
        )
    ]
    assert len(made[0]) > 50 and made[0] == made[1]
    about, other = (json.loads(files[manifest.NAME]) for files in made[1:])
    assert about["created_at"] == "2026-12-01T00:00:00+00:00"
    assert {name for name in {*made[1], *made[2]} if made[1].get(name) != made[2].get(name)} == DATED
    assert {name for name in about if about[name] != other[name]} == {"created_at", "draw", "runs"}


def test_a_date_that_is_none_is_refused_in_one_line(states, tmp_path, monkeypatch):
    monkeypatch.setenv(manifest.EPOCH, "tomorrow")
    code, _, err = call("publish", EDITION, "--state", states[0], "--out", tmp_path)
    assert code == 2 and err == "SOURCE_DATE_EPOCH is 'tomorrow'; set it to whole seconds since 1970, or unset it"


@pytest.fixture(scope="module")
def release(states, tmp_path_factory):
    out = tmp_path_factory.mktemp("made-again")
    return publish_edition(Store(states[0], EDITION), ReleaseStore(out, EDITION)).folder


def table(name: str, statement: str) -> Callable[[Path], None]:
    """Changes a table of a release by an SQL *statement* on ``t``."""

    def changed(folder: Path) -> None:
        file = folder / "tables" / f"{name}.parquet"
        with duckdb.connect() as run:
            run.execute(f"create table t as from '{file}'")
            run.execute(statement)
            run.execute(f"copy t to '{file}'")

    return changed


def text(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Changes a text file of a release."""

    def changed(folder: Path) -> None:
        before = (folder / name).read_text()
        assert old in before
        (folder / name).write_text(before.replace(old, new, 1))

    return changed


def about(**entries: object) -> Callable[[Path], None]:
    """Changes entries of the manifest."""

    def changed(folder: Path) -> None:
        old = json.loads((folder / manifest.NAME).read_text())
        (folder / manifest.NAME).write_text(json.dumps(old | entries))

    return changed


def edited(folder: Path, target: Path, change: Callable[[Path], None]) -> Path:
    """The release in *folder* as somebody else would pass it on: changed, and sealed anew."""
    shutil.copytree(folder, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    change(target)
    croissant = json.loads((target / "croissant.json").read_text())
    for file in croissant["distribution"]:
        path = target / file["contentUrl"]
        file |= {"sha256": sha256(path), "contentSize": f"{path.stat().st_size} B"}
    (target / "croissant.json").write_text(json.dumps(croissant, indent=1, ensure_ascii=False) + "\n")
    old = json.loads((target / manifest.NAME).read_text())
    for name in DATED:
        (target / name).unlink()
    manifest.write_manifest(target, {name: value for name, value in old.items() if name not in ("format", "files")})
    return target


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (table("scores", "update t set value = value + 1 where paper_id = 's01' and candidate_id = 'human'"), r"gem\w* of human, paper s01, reference s01-r\d is \S+, not \S+,"),
        (table("spans", "update t set total = total - 1"), "the log-probabilities of .* are others"),
        (table("spans", "delete from t"), "the log-probabilities of .* are others"),
        (table("spans", "update t set logprobs = list_transform(logprobs, lambda x, i: x - case i when 1 then 0.01 else 0 end)::float[]"), "the log-probabilities of .* are others"),
        (table("rank_statistics", "update t set rank_low = rank_low + 1 where candidate_id = 'human'"), "rank_low of .*, human in tables/rank_statistics.parquet is"),
        (table("rank_statistics", "delete from t where candidate_id = 'human'"), "the row of .*, human in tables/rank_statistics.parquet is new"),
        (table("separation", "update t set auc = 0.99"), "auc of .* in tables/separation.parquet is .*, not 0.99,"),
        (table("differences", "update t set p = p / 2"), "p of .* in tables/differences.parquet"),
        (table("chance", "update t set above = above * 1.001"), "above of .* in tables/chance.parquet"),
        (table("lengths", "update t set longest = longest + 1"), "longest of .* in tables/lengths.parquet"),
        (table("profiles", "update t set at_length = at_length + 1e-6"), "at_length of .* in tables/profiles.parquet"),
        (table("board", "update t set vs_human_low = vs_human_low - 1"), "vs_human_low of .* in tables/board.parquet"),
        (table("board", "delete from t where board = 'all'"), "the row of all, .* in tables/board.parquet is new"),
        (table("judgment_kinds", "update t set reviews = reviews + 1"), "tables/judgment_kinds.parquet is another"),
        (table("student_t", "update t set q90 = q90 / 2 where df = 29"), "q90 of 29 in tables/student_t.parquet is .*, not .*,"),
        (table("metrics", "update t set title = 'GEM' where metric = 'bleu'"), "title of bleu in tables/metrics.parquet"),
        (table("changes", "delete from t where change = (select min(change) from t)"), "the row of .* in tables/changes.parquet is new"),
        (table("signatures_shown", "update t set place = place + 7"), "place of .* in tables/signatures_shown.parquet"),
        (text("index.html", "human", "hunam"), r"index.html is another in line \d+"),
        (text("papers/s01.html", "</h1>", "!</h1>"), r"papers/s01.html is another in line \d+"),
        (text("views.sql", "count(*)", "count(1)"), r"views.sql is another in line \d+"),
        (lambda folder: (folder / "papers" / "more.html").touch(), "papers/more.html is not there"),
        (lambda folder: (folder / "papers" / "s03.html").unlink(), "papers/s03.html is there"),
        (about(histories="none", errata=[{}]), "it cannot be made again, .*use the version that made it"),
    ],
)  # fmt: skip
def test_what_is_not_what_the_release_itself_gives_is_named(release, tmp_path, change, says):
    folder = edited(release, tmp_path / EDITION, change)
    with pytest.raises(SourceError, match=says if "version" in says else f"{says}.* when it is made again") as error:
        recompute_release(folder, manifest.verify_release(folder))
    assert "\n" not in str(error.value)


def test_columns_that_only_earlier_versions_filled_are_not_compared(release, tmp_path):
    filled = table("rank_statistics", "update t set likely_low = 1, likely_high = 2, more_papers = 7")
    folder = edited(release, tmp_path / EDITION, filled)
    assert recompute_release(folder, manifest.verify_release(folder))["to_the_last_digit"]


def test_a_release_is_made_again_from_itself_alone_and_says_what_it_took_as_stated(release, tmp_path):
    apart = tmp_path / release.name
    shutil.copytree(release, apart)
    code, out, _ = call("verify", apart, "--again")
    assert (
        code == 0 and "made again from its own pairs, and equal: " in out and "as the release states it: texts, " in out
    )
    found = json.loads(call("verify", apart, "--again", "--json")[1])["made_again"]
    assert (
        found["scores"] > 500 and found["pages"] > 16 and len(found["statistics"]) == 9 and found["to_the_last_digit"]
    )
    assert found["left_out"] == [] and found["figures"] == 4
    assert call("verify", tmp_path, "--again")[0] == 2


def test_log_probabilities_are_rounded_and_their_sums_are_those_of_the_edition(states, release):
    with duckdb.connect(str(Store(states[0], EDITION).read_file), read_only=True) as run:
        stored = dict(run.execute("select prediction, logprobs from spans").fetchall())
    with duckdb.connect() as run:
        rows = run.execute(f"select prediction, total, logprobs from '{release}/tables/spans.parquet'").fetchall()
    assert len(rows) == len(stored)
    for prediction, total, rounded in rows:
        assert all((256 * value).is_integer() and value <= 0 for value in rounded)
        assert max(abs(a - b) for a, b in zip(rounded, stored[prediction], strict=True)) < 1 / 256
        assert abs(sum(rounded) - total) <= 1 / 512 + 1e-5 * abs(total)


def test_a_release_without_the_words_of_reviews_says_what_cannot_be_made_of_it(states, tmp_path):
    state = shutil.copytree(states[0], tmp_path / "state", symlinks=True)
    for name in ("paper_sources", "review_versions", "licences"):
        change(Store(state, EDITION), f"update {name} set licence = 'all rights reserved'")
    made = publish_edition(Store(state, EDITION), ReleaseStore(tmp_path, EDITION))
    found = recompute_release(made.folder, manifest.verify_release(made.folder))
    (line,) = (line for line in found["left_out"] if line.startswith("kinds of judgments"))
    assert "the words of" in line and "lengths" in found["statistics"] and found["scores"]
    folder = edited(made.folder, tmp_path / "edited", table("profiles", "update t set lines = lines + 1"))
    with pytest.raises(SourceError, match="lines of .* in tables/profiles.parquet"):
        recompute_release(folder, manifest.verify_release(folder))


def test_an_auc_without_learnt_papers_says_so_on_the_page_and_cannot_be_made_again(states, tmp_path):
    state = shutil.copytree(states[0], tmp_path / "state", symlinks=True)
    change(Store(state, EDITION), "update separation set left_out = 2")
    made = publish_edition(Store(state, EDITION), ReleaseStore(tmp_path, EDITION))
    assert "; 2 learnt papers left out)" in (made.folder / "index.html").read_text()
    found = recompute_release(made.folder, manifest.verify_release(made.folder))
    (line,) = (line for line in found["left_out"] if "AUC" in line)
    assert line.endswith("learnt papers are left out of them, and which is not here")
