"""Verifies a release.

Checks its files, its line in the release log, and the numbers and pages that can be recomputed from its tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.metrics import find_recipe, find_specific_form_signature_id
from gre_bench.core.records import build_signature_from_row
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.metrics.scoring import combine_logprobs
from gre_bench.pipeline.pair_scoring import compute_and_store_auc
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import Job, code_version
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.release import manifest
from gre_bench.release.manifest import convert_to_plain_json
from gre_bench.release.public_tables import (
    FILLED,
    FOLDER,
    VIEWS_FILE,
    build_views_sql,
    compute_judgment_kinds,
    open_release_tables,
    read_table,
    run_page_query,
)
from gre_bench.release.publishing import FIGURES, write_pages
from gre_bench.release.release_store import ReleaseStore
from gre_bench.release.site import SCORES_ONLY
from gre_bench.reports.board_rows import locate_release_store
from gre_bench.reports.contrasts import PlannedContrast, compute_contrast_rows
from gre_bench.reports.publish_editions import build_lm_id, build_tables_made_by_program
from gre_bench.stats.intervals import student_quantiles
from gre_bench.store import Row, Store, fetch, fetch_columns
from gre_bench.store.queries import OWN_VIEWS, SignatureRow


def verify_release(folder: Path, again: bool = False) -> dict[str, Any]:
    """Verifies the release in *folder* and returns facts about it; raises `SourceError` for the first fault.

    *again*: whether to also recompute the release's numbers, pages and figures with `recompute_release`.
    """
    about = manifest.verify_release(folder)
    release_store, name = locate_release_store(str(folder.resolve()), folder.parent)
    if about["release"] != name:
        raise SourceError(f"{folder} holds the files of {about['release']}; get {name} again from where it came")
    digest, entries = manifest.compute_release_digest(folder), release_store.log.entries()
    if entries:
        _check_release_is_logged(release_store, folder, name, digest)
    published = [entry["release"] for entry in entries if entry["what"] == "published"]
    return {"release": name, "digest": digest, "files": len(about["files"]),
            "errata": [entry for entry in entries if entry["release"] == name and entry["what"] != "published"],
            "signatures": manifest.list_signature_files(folder),
            "newer": published[published.index(name) + 1 :] if published else None, "log": release_store.log.path.name,
            "log_lines": len(entries), "created_at": about["created_at"], "texts": about["texts"],
            "made_again": recompute_release(folder, about) if again else None}  # fmt: skip


def _check_release_is_logged(release_store: ReleaseStore, folder: Path, name: str, digest: str) -> None:
    """Raises `SourceError` unless the log lists this release with *digest*.

    If *folder* is the link to the latest release, the log must also list this release as the newest.
    """
    stated = [entry["digest"] for entry in release_store.log.entries(name) if entry["what"] == "published"]
    if not stated:
        raise SourceError(
            f"{folder}: {release_store.log.path} has no line that publishes it; publish the edition again"
        )
    if digest not in stated:
        raise SourceError(f"{folder}: not the release that was published under this name; see {release_store.log.path}")
    newest = release_store.find_latest_entry()
    if folder.name == release_store.latest.name and newest and newest["release"] != name:
        raise SourceError(f"{folder} leads to {name}, and the latest release is {newest['release']}")


NEAR = 1e-9
"""The largest relative difference at which statistics count as equal, because last digits depend on the processor."""
STATISTICS = {
    "separation": ("signature_id",),
    "chance": ("signature_id", "candidate_id"),
    "differences": ("signature_id", "candidate_id"),
    "rank_statistics": ("board", "signature_id", "candidate_id"),
    "pair_tests": ("board", "signature_id", "first", "second"),
    "lengths": ("signature_id", "candidate_id"),
    "profiles": ("signature_id", "candidate_id"),
    "board": ("board", "signature_id", "candidate"),
    "strata": ("signature_id", "stratum", "value", "candidate"),
}
"""The tables that a refresh computes from scores and texts → the columns that identify a row."""
OF_CATALOGUE = {"usd", "conflict"}
"""Columns of ``profiles`` that are not compared, because they depend on prices and families of models."""
NOT_COMPUTED = {"likely_low", "likely_high", "more_papers", "needed"}
"""Columns of ``rank_statistics`` that only earlier program versions filled. They are not compared."""
OF_TEXTS = {"covered"}
"""Columns of ``profiles`` that depend on the texts themselves, not only on their numbers of words."""
STATED = (
    "texts, log-probabilities, plan and sample",
    "what is known of models: prices, cutoffs, registers of what they learnt",
    "validations, effects of changes, and agreement with grades",
    "other years, and errata of earlier releases",
)
OF_PROGRAM = {
    "student_t": ("df",),
    "metrics": ("metric",),
    "changes": ("change",),
    "signatures_shown": ("signature_id",),
}
"""The tables whose rows come from the program itself → the columns that identify a row."""


class ReleaseTables(Store):
    """A `Store` that reads the tables of a release and writes nothing to them.

    *written*: name of a query → the rows that were to be written with it.
    """

    def __init__(self, edition: str, connection: Any):
        super().__init__(Path(), edition)
        self._connection = connection
        self.written: dict[str, list[Any]] = defaultdict(list)

    def read(self, query: Any, **parameters: Any) -> list[Any]:
        return fetch(self._connection, query, **parameters)

    rows = read

    def columns(self, query: Any, **parameters: Any) -> list[list[Any]]:
        return fetch_columns(self._connection, query, **parameters)

    # pyrefly: ignore[bad-override]
    def transaction(self) -> AbstractContextManager[Any]:
        return nullcontext(self._connection)

    def fill_board(self) -> None:
        """Does nothing, because the board of an opened release is computed from its tables."""

    def write(self, *steps: tuple[str, Sequence[Any] | Mapping[str, Any]]) -> None:
        for name, values in steps:
            self.written[name] += [values] if isinstance(values, Mapping) else values


def recompute_release(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes a release from its own tables, as far as possible, and compares the results with the release.

        log-probabilities → scores → statistics;  scores and statistics → boards, contrasts, pages, figures

    *about*: the release's manifest. The caller must have verified the manifest and the files. Keys of the result:

    - *scores*, *pages*, *figures*: how many were recomputed. *statistics*: the recomputed tables.
    - *to_the_last_digit*: whether statistics are exactly equal; otherwise they are equal up to `NEAR`.
    - *stated*: what is taken from the release unchecked. *left_out*: what cannot be recomputed for
      lack of data.

    Raises `SourceError` for the first difference, which its message names.
    """
    try:
        return _recompute_tables_and_pages(folder, about)
    except _Difference as unlike:
        theirs, own = about["program"]["version"], code_version()
        by = f"; it was made by gre-bench {theirs}, and this is {own}" if theirs != own else ""
        raise SourceError(f"{folder}: {unlike} when it is made again{by}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SourceError(
            f"{folder}: it cannot be made again, because its manifest.json or a table is of another form than this "
            f"program's ({type(error).__name__}: {str(error).splitlines()[0]}); use the version that made it"
        ) from None


class _Difference(Exception):
    """The first difference between a release and its recomputation; `recompute_release` completes the message."""


def _recompute_tables_and_pages(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    left_out = []
    with open_release_tables(folder) as connection:
        kept: list[Any] = read_table(connection, "signatures")
        shown = [row for row in kept if row["signature_id"] in {row["signature_id"] for row in about["signatures"]}]
        specific = {find_specific_form_signature_id(row, kept) for row in shown}
        signatures = [row for row in kept if row in shown or row["signature_id"] in specific]
        only_scores = about["texts"] == SCORES_ONLY
        scores = 0 if only_scores else sum(_recompute_scores(connection, row) for row in signatures)
        if only_scores:
            left_out.append("scores: the log-probabilities that they are made of are not here")
        withheld = run_page_query(connection, "withheld")[0]["reviews"]
        if withheld:
            left_out.append(
                f"kinds of judgments and the share of words covered: the words of {withheld:,} reviews are not here"
            )
        if apart := sum(bool(row["left_out"]) for row in read_table(connection, "separation")):
            left_out.append(f"{counted(apart, 'AUC')}: learnt papers are left out of them, and which is not here")
        exact = _recompute_statistics(connection, about["edition"], signatures, bool(withheld))
        if not withheld and compute_judgment_kinds(connection) != read_table(connection, "judgment_kinds"):
            raise _Difference(f"{FOLDER}/judgment_kinds.parquet is another")
        store = ReleaseTables(about["edition"], connection)
        exact &= _recompute_tables_made_by_program(connection, shown, about["settings"]["board"]["headline"])
        if tested := about.get("contrasts"):
            entries = [PlannedContrast.model_validate(entry) for entry in tested["entries"]]
            exact &= _compare_with_manifest(
                "contrasts", tested["rows"], compute_contrast_rows(store, entries, about["signatures"], kept)
            )
    pages, figures = _rebuild_pages(folder, about)
    return {
        "scores": scores, "statistics": [*STATISTICS],
        "to_the_last_digit": exact, "pages": pages, "figures": figures, "stated": [*STATED],
        "left_out": left_out,
    }  # fmt: skip


def _compare_with_manifest(name: str, stated: object, made: object) -> bool:
    """Returns whether *made* and *stated*, the manifest's value of *name*, are exactly equal.

    Raises `_Difference` if they are not even nearly equal.
    """
    made = convert_to_plain_json({name: made})[name]
    if not _is_nearly_equal(stated, made):
        raise _Difference(f"{name} of its manifest.json are others")
    return stated == made


def _recompute_scores(connection: Any, signature: SignatureRow) -> int:
    """Recomputes the scores of *signature* from log-probabilities if its metric uses these; returns their number."""
    recipe = find_recipe(signature["metric"])
    if recipe.formula is None:
        return 0
    terms = run_page_query(
        connection, "score_terms", signature_id=signature["signature_id"], lm_id=build_lm_id(signature)
    )
    for row in terms:
        totals = row["totals"]
        if None in totals or not row["summed"]:
            raise _Difference(f"the log-probabilities of {_describe_pair(signature, row)} are others")
        if not _is_nearly_equal(row["value"], combine_logprobs(recipe, totals), sum(map(abs, totals))):
            raise _Difference(
                f"{_describe_pair(signature, row)} is {combine_logprobs(recipe, totals):+.9g}, not {row['value']:+.9g},"
            )
    return len(terms)


def _describe_pair(signature: SignatureRow, row: Row) -> str:
    return f"{signature['metric']} of {row['candidate_id']}, paper {row['paper_id']}, reference {row['reference_id']}"


def _recompute_statistics(connection: Any, edition: str, signatures: Sequence[SignatureRow], withheld: bool) -> bool:
    """Recomputes the `STATISTICS`; returns whether all exactly equal those in the release.

    *withheld*: whether texts are withheld. If so, the columns `OF_TEXTS` are not compared.
    """
    store = ReleaseTables(edition, connection)
    ids, exact = {row["signature_id"] for row in signatures}, True
    views = {row["view_name"] for row in fetch(connection, OWN_VIEWS)}
    tables = {name: name if name not in FILLED else f"stated_{name}" for name in STATISTICS}
    stated = {name: [row for row in read_table(connection, table) if row["signature_id"] in ids]
              for name, table in tables.items() if table in views}  # fmt: skip
    store_rank_statistics(store, Job(Settings(), Path()), signatures, "")
    unseparated = {row["signature_id"] for row in stated["separation"] if row["left_out"]}
    for row in signatures:
        if row["signature_id"] not in unseparated:
            compute_and_store_auc(store, build_signature_from_row(row), TrainingOverlap(0, {}))
    for name, key in STATISTICS.items():
        if name not in stated:
            continue
        skipped = {"run_id"} | NOT_COMPUTED
        if name == "profiles":
            skipped |= OF_CATALOGUE | (OF_TEXTS if withheld else set())
        kept = [row for row in stated[name] if name != "separation" or row["signature_id"] not in unseparated]
        made = store.written[f"put_{name}"]
        if name in FILLED:
            made = [row for row in read_table(connection, name) if row["signature_id"] in ids]
        exact &= _compare_rows(
            name, key, kept, made, skipped, {row["signature_id"]: row["metric"] for row in signatures}
        )
    return exact


def _recompute_tables_made_by_program(connection: Any, shown: Sequence[SignatureRow], headline: str | None) -> bool:
    """Makes the tables `OF_PROGRAM` again for the boards *shown*; returns whether they exactly equal the release's."""
    validations = read_table(connection, "validations")
    added = build_tables_made_by_program(
        shown, {row["signature_id"] for row in validations if row["verdict"] == "pass"}, headline
    )
    made: dict[str, Sequence[Row]] = {
        "student_t": student_quantiles(), "metrics": added.metrics, "changes": added.changes,
        "signatures_shown": added.shown,
    }  # fmt: skip
    metrics = {row["signature_id"]: row["metric"] for row in shown}
    return all(
        [
            _compare_rows(name, key, read_table(connection, name), made[name], set(), metrics)
            for name, key in OF_PROGRAM.items()
        ]
    )


def _compare_rows(
    table: str, key: Sequence[str], stated: Sequence[Row], made: Sequence[Row], skipped: set[str],
    metrics: Mapping[str, str],
) -> bool:  # fmt: skip
    """Returns whether *stated* and *made* rows are exactly equal; raises `_Difference` if they differ by more than
    `NEAR`.

    *key*: columns that identify a row. *skipped*: columns not to compare. *metrics*: signature id → metric.
    """
    rows = [{tuple(row[name] for name in key): row for row in side} for side in (stated, made)]
    exact = True
    for place in sorted({*rows[0], *rows[1]}):
        names = ", ".join(str(metrics.get(name, name)) for name in place)
        if any(place not in side for side in rows):
            raise _Difference(
                f"the row of {names} in {FOLDER}/{table}.parquet is {'new' if place in rows[1] else 'gone'}"
            )
        stated_row, made_row = (side[place] for side in rows)
        for column in sorted(stated_row.keys() - skipped):
            first, second = stated_row[column], made_row[column]
            if first != second:
                if not _is_nearly_equal(first, second):
                    raise _Difference(f"{column} of {names} in {FOLDER}/{table}.parquet is {second}, not {first},")
                exact = False
    return exact


def _is_nearly_equal(first: object, second: object, scale: float = 0.0) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_nearly_equal(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_nearly_equal, first, second))
    if not isinstance(first, float) or not isinstance(second, float):
        return first == second
    return math.isclose(first, second, rel_tol=NEAR, abs_tol=NEAR * (scale or 1e-3))


def _rebuild_pages(folder: Path, about: Mapping[str, Any]) -> tuple[int, int]:
    """Rebuilds the release's files except tables and compares them with the originals byte by byte.

    Returns the numbers of pages and figures. Raises `_Difference` for the first file that differs.
    """
    stated = {name for name in about["files"] if not name.startswith(f"{FOLDER}/")}
    with TemporaryDirectory(prefix="gre-bench-") as scratch:
        target = Path(scratch)
        write_pages(folder, target, about)
        (target / VIEWS_FILE).write_text(build_views_sql(sorted(about["tables"])), encoding="utf-8")
        made = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
        for name in sorted(stated | made):
            if name not in made or name not in stated:
                raise _Difference(f"{name} is {'not there' if name in stated else 'there'}")
            if (folder / name).read_bytes() != (target / name).read_bytes():
                raise _Difference(f"{name} is another{_describe_first_difference(folder / name, target / name)}")
    return (sum(name.endswith(".html") for name in stated), sum(name.startswith(f"{FIGURES}/") for name in stated))


def _describe_first_difference(stated: Path, made: Path) -> str:
    texts = (path.read_text(encoding="utf-8", errors="replace").splitlines() for path in (stated, made))
    lines = enumerate(zip(*texts, strict=False), 1)
    number = next((number for number, (first, second) in lines if first != second), None)
    return f" in line {number}" if number else ""
