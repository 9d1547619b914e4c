"""Makes tests, contrasts, pages, figures and views of the releases in this folder again: after a change of the program.

What is made comes from the scores and the other tables of a release. These, its date and its name stay.

python data/releases/make_pages.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
from pyarrow import parquet

from gre_bench.core.resources import locate_resource
from gre_bench.core.settings import Settings
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import Job
from gre_bench.release import manifest
from gre_bench.release.public_tables import (
    FILLED,
    FOLDER,
    HISTORY,
    VIEWS_FILE,
    build_views_sql,
    open_release_tables,
    read_table,
)
from gre_bench.release.publishing import write_pages
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.contrasts import compute_contrast_rows, load_contrasts
from gre_bench.reports.publish_editions import build_tables_made_by_program
from gre_bench.reports.verifying import ReleaseTables

HERE = Path(__file__).parent
SEALED = ("files", "signed_by")
STATISTICS = ("rank_statistics", "pair_tests", "differences", "profiles")
"""Tables of tests between candidates, and of their scores at the human length."""
STATED = ("usd", "conflict", "covered")
"""Columns of ``profiles`` that depend on more than a release holds; they stay as they are."""


def renew(release: Path, about: dict[str, Any]) -> None:
    """Makes the `STATISTICS` of *release*, its list of metrics and the contrasts of its manifest *about* again."""
    with open_release_tables(release) as connection:
        kept: list[Any] = read_table(connection, "signatures")
        store = ReleaseTables(about["edition"], connection)
        store_rank_statistics(store, Job(Settings(), Path()), kept, "")
        about.pop("claims", None)
        written = store.written
        for name in STATISTICS:
            path = release / FOLDER / f"{name}.parquet"
            rows = written[f"put_{name}"]
            if name == "profiles":
                stated = {(row["signature_id"], row["candidate_id"]): row for row in read_table(connection, name)}
                rows = [row | {key: stated[row["signature_id"], row["candidate_id"]][key] for key in STATED}
                        for row in rows]  # fmt: skip
            stored = connection.table(name).to_arrow_table().schema
            schema = pyarrow.schema([field for field in stored if field.name not in HISTORY])
            _write(path, pyarrow.Table.from_pylist(rows, schema))
        path = release / FOLDER / "metrics.parquet"
        metrics = list(build_tables_made_by_program(about["signatures"], (), None).metrics)
        _write(path, pyarrow.Table.from_pylist(metrics, parquet.read_schema(path)))
    with open_release_tables(release) as connection:  # contrasts and board are made of the tables above
        if tested := about.get("contrasts"):
            file = load_contrasts(locate_resource("deployments", "contrasts", tested["file"]))
            tested["sha256"], tested["entries"] = file.sha256, [entry.model_dump() for entry in file.contrasts]
            store = ReleaseTables(about["edition"], connection)
            tested["rows"] = compute_contrast_rows(store, file.contrasts, about["signatures"], kept)
        boards = {name: connection.table(name).to_arrow_table() for name in FILLED}
    for name, table in boards.items():
        _write(release / FOLDER / f"{name}.parquet", table)
    about["tables"] |= {
        path.stem: parquet.read_metadata(path).num_rows for path in (release / FOLDER).glob("*.parquet")
    }


def _write(path: Path, made: pyarrow.Table) -> None:
    with duckdb.connect() as connection:
        connection.register("made", made)
        options = "format parquet, codec zstd, compression_level 9"
        connection.execute(f"create table sorted as from made order by all; copy sorted to '{path}' ({options})")


def make(folder: Path) -> str:
    """Makes the release in *folder* again and returns its digest."""
    about = {name: value for name, value in manifest.read_manifest(folder).items() if name not in SEALED}
    with tempfile.TemporaryDirectory() as beside:
        made = Path(beside) / folder.name
        made.mkdir()
        shutil.copytree(folder / FOLDER, made / FOLDER)
        renew(made, about)
        (made / VIEWS_FILE).write_text(build_views_sql(sorted(about["tables"])), encoding="utf-8")
        write_pages(made, made, about)
        digest, earlier = manifest.write_manifest(made, about), manifest.compute_release_digest(folder)
        if digest == earlier:
            return f"{digest}, as it was"
        shutil.rmtree(folder)
        shutil.copytree(made, folder)
    log = ReleaseStore(folder.parent, about["edition"]).log.path
    log.write_text(log.read_text(encoding="utf-8").replace(earlier, digest), encoding="utf-8")
    return digest


if __name__ == "__main__":
    for each in sorted(path for path in HERE.glob("*-r*") if manifest.is_release(path)):
        print(each.name, make(each))
