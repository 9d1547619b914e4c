"""Writes and reads the public tables of an edition, as Parquet files.

Ids, hashes, scores and log-probabilities are public. A text is public only if its licence allows redistribution.
Tables in `WHOLE` are copied. ``sql/release.sql`` removes what is not public from the tables in `REDACTED`.

The tables do not say when and by which run a row was stored (`HISTORY`, `RECORDS`). The manifest says that: the file
``manifest.json``, with facts about the release and the digests of its files. So the same inputs give the same tables,
byte by byte. A DuckDB file contains random ids, so its bytes would differ. The views of the store also work on a
release.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.board.family import compute_holm_family
from gre_bench.core.errors import GreBenchError, SourceError, StoreError
from gre_bench.core.incoming import EXPANSION, FREE
from gre_bench.core.judgments import OPENINGS, prepare_judgments
from gre_bench.store import (
    NEW_FILE,
    TABLES,
    VIEWS,
    connect,
    explain_resource_shortage,
    fetch,
    fill_board_tables,
    get_statement,
    is_statement_error,
    quote_path_for_sql,
)
from gre_bench.store.queries import as_arrow, columns

WHOLE = (
    "meta", "draws", "sample", "candidates", "signatures", "separation", "effects", "validations", "agreements",
    "student_t", "rank_statistics", "pair_tests", "differences", "profiles", "lengths", "moved", "chance", "exposures",
    "text_words", "paper_strata", "licences", "board", "strata", "stand_ins", "committees",
)  # fmt: skip
REDACTED = (
    "snapshots", "papers", "reviews", "judgments", "review_versions", "paper_sources", "texts",
    "synopses", "replies", "plan", "spans", "scores", "problems",
)  # fmt: skip
BODIES = ("papers", "texts")
"""Tables with texts of papers, tens of kilobytes each. DuckDB would need all of them in memory to sort them."""
ADDED = ("metrics", "models", "changes", "signatures_shown", "judgment_kinds", "pieces", "word_counts")
"""Tables that a release has in addition to the edition's."""
FILLED = ("board", "strata")
"""Tables that are computed from the others whenever a release is read. Releases of early program versions lack them."""
LATER = ("stand_ins", "pair_tests", "committees")
"""Tables that releases of early program versions lack. When such a release is read, ``pair_tests`` is computed
(`add_pair_tests`), and the other tables are empty."""
RECORDS = ("additions", "imports", "points", "runs")
"""Tables that no release has. ``points`` has labelled remarks of reviews. The others record commands, and the manifest
states what they record."""
HISTORY = ("run_id", "created_at", "drawn_at", "validated_at")
"""Columns that differ between two runs with the same inputs; a release leaves them out."""
FOLDER, VIEWS_FILE = "tables", "views.sql"
MEMORY, MEMORY_ALONE = {"memory_limit": "40%"}, {"memory_limit": "60%"}
"""DuckDB's share of the memory: to read a release, and for work on its tables while little else is in memory."""
PAPERS_AT_ONCE = 500
"""The number of papers whose texts are sorted at one time."""
PART, PART_OF_BODIES = 20_480, 2_048
"""The number of rows in a row group of a Parquet file, a multiple of 2,048. Writers and readers hold one row group in
memory."""


@dataclass(frozen=True, slots=True)
class ReleaseOnlyTables:
    """The rows of tables that a release has and the edition has not. ``sql/release.sql`` creates the tables.

    *changes*: one row per perturbation. *shown*: one row per board on the page; *lm_id* in it is the id of the
    evaluation LM whose log-probabilities the heat maps show. *word_counts*: one row per text that a metric reads.
    """

    metrics: Sequence[dict[str, Any]] = ()
    models: Sequence[dict[str, Any]] = ()
    changes: Sequence[dict[str, Any]] = ()
    shown: Sequence[dict[str, Any]] = ()
    word_counts: Sequence[dict[str, Any]] = ()


def write_public_tables(
    source: Path,
    target: Path,
    additions: ReleaseOnlyTables,
    is_free: Callable[[str | None], bool],
    everything: bool = False,
    own_licence: str | None = None,
    scores_only: bool = False,
) -> dict[str, int]:
    """Writes the public tables of *source*, a copy of the edition, to the new file *target*.

    Returns the number of rows of each table. Raises `StoreError` if *source* cannot be read or has another schema
    version, or if *target* cannot be written.

    - *is_free*: a function that takes a licence (None if none is stated) and returns whether it allows redistribution.
    - *everything*: whether to include all texts, for a release that is not redistributed.
    - *own_licence*: the licence of the reviews that models wrote for this edition; None if unknown.
    - *scores_only*: whether to leave out all texts and log-probabilities.
    """
    try:
        connect(target, config=NEW_FILE).close()
    except duckdb.Error as error:
        raise StoreError(f"{target} cannot be made: {str(error).splitlines()[0]}; make room and try again") from None
    try:
        connection = connect(target, {"edition": source}, NEW_FILE | MEMORY_ALONE | {"threads": "1"})
    except duckdb.Error as error:
        raise StoreError(f"{source} cannot be read ({str(error).splitlines()[0]}); run gre-bench refresh") from None
    try:
        present = {row[0] for row in connection.execute(get_statement("release", "tables_there")).fetchall()}
        if lacking := sorted({*WHOLE, *REDACTED} & set(TABLES) - present):
            raise StoreError(f"{source} has no table {lacking[0]}; run gre-bench refresh, which brings it up to date")
        _create_licence_tables(connection, is_free, everything, own_licence, scores_only)
        for name in TABLES:
            if name in BODIES:
                _create_table_in_parts(connection, name)
            elif name in REDACTED:
                connection.execute(f"create table {name} as {get_statement('release', name)}")
            elif name in WHOLE:
                kept = "columns(lambda name: name not in $history)"
                connection.execute(
                    f"create table {name} as select {kept} from edition.{name} order by all", {"history": list(HISTORY)}
                )
        if scores_only:
            connection.execute(
                "truncate spans; update scores set predictions = []; update stand_ins set predictions = []; "
                "update committees set predictions = []"
            )
        kinds = f"create table judgment_kinds as {get_statement('release', 'judgment_kinds')}"
        connection.execute(kinds, {"openings": list(OPENINGS)})
        _insert_release_only_tables(connection, additions)
        connection.execute("detach edition")
        for name in VIEWS:
            connection.execute(get_statement("views", name))
        connection.execute("checkpoint")
        counts = {name: connection.table(name).count("*").fetchall()[0][0] for name in list_tables(connection)}
    except duckdb.Error as error:
        if is_statement_error(error):
            raise
        if lack := explain_resource_shortage(error):
            raise StoreError(f"{target.name}: {lack}") from None
        raise StoreError(
            f"{target.name} cannot be made of {source}: {str(error).splitlines()[0]}; make room if the disk is full, "
            "else the store is damaged, and gre-bench refresh says what to do"
        ) from None
    finally:
        connection.close()
    target.with_name(f"{target.name}.wal").unlink(missing_ok=True)
    return counts


def _create_table_in_parts(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Creates the table *name*, one of the `BODIES`, a few papers at a time, in the row order of its SQL statement."""
    ids = [row[0] for row in connection.execute(get_statement("release", "papers_to_publish")).fetchall()]
    parts = [ids[start : start + PAPERS_AT_ONCE] for start in range(0, len(ids), PAPERS_AT_ONCE)]
    first, *others = [{"first": some[0], "last": some[-1]} for some in parts] or [{"first": "", "last": ""}]
    connection.execute(f"create table {name} as {get_statement('release', name)}", first)
    for part in others:
        connection.sql(get_statement("release", name), params=part).insert_into(name)


def write_parquet(database: Path, release: Path) -> None:
    """Writes to the folder *release* every table of *database* as a Parquet file, and ``views.sql`` with the views."""
    folder = release / FOLDER
    folder.mkdir()
    with open_release_tables(database) as connection:
        names = list_tables(connection)
    for name in names:
        # DuckDB keeps in memory what it read from an open database, and each thread holds a part of its own.
        with open_release_tables(database, writable=folder) as connection:
            part = PART_OF_BODIES if name in BODIES else PART
            options = f"format parquet, codec zstd, compression_level 9, row_group_size {part}"
            connection.execute(f"copy {name} to {quote_path_for_sql(folder / f'{name}.parquet')} ({options})")
    (release / VIEWS_FILE).write_text(build_views_sql(names), encoding="utf-8")


def build_views_sql(tables: Sequence[str]) -> str:
    """Returns SQL text that creates a view of each of the Parquet *tables*, and on top of them the store's views."""
    lines = ["-- in this folder: duckdb -init views.sql"]
    lines += [f"create or replace view {name} as from '{FOLDER}/{name}.parquet';" for name in tables]
    views = [get_statement("views", name).rstrip().removesuffix(";") + ";" for name in VIEWS]
    return "\n".join([*lines, "", *views]) + "\n"


@contextmanager
def open_release_tables(
    release: Path, other: Path | None = None, writable: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a connection to the tables of *release*, and to those of *other* as ``other.NAME``.

    Both are folders of releases, or databases that `write_public_tables` made. *writable*: a folder in which statements
    may write files. Statements cannot open any other file. Raises `SourceError` if a release cannot be read.
    """
    sources = {name: source for name, source in (("other", other), ("release", release)) if source}
    folders = [source / FOLDER for source in sources.values() if source.is_dir()] + ([writable] if writable else [])
    files = {name: None if source.is_dir() else source for name, source in sources.items()}
    named = " or ".join(map(str, sources.values()))
    try:
        connection = connect(None, files, MEMORY_ALONE | {"threads": "1"} if writable else MEMORY, folders=folders)
    except duckdb.Error as error:
        raise _build_read_error(named, error, "cannot be read") from None
    try:
        for name, source in sources.items():
            connection.execute(f"use {name}")
            if source.is_dir():
                _create_release_views(connection, source)
    except duckdb.Error as error:
        connection.close()
        raise _build_read_error(named, error, "cannot be read") from None
    except BaseException:
        connection.close()
        raise
    try:
        yield connection
    except duckdb.Error as error:
        # A release from elsewhere may have other columns. For a database that was made here, such an error is a bug.
        if is_statement_error(error) and not release.is_dir():
            raise
        raise _build_read_error(named, error, "is damaged, or the disk is full") from None
    finally:
        connection.close()


def _build_read_error(file: str, error: duckdb.Error, what: str) -> GreBenchError:
    lack = explain_resource_shortage(error)
    return StoreError(f"{file}: {lack}") if lack else SourceError(f"{file} {what}: {str(error).splitlines()[0]}")


def locate_tables(source: Path) -> dict[str, Path]:
    """Returns table → its file, for the release in the folder *source*.

    Raises `SourceError` if a file is missing, or if the files are too large when decompressed.
    """
    files = {table: source / FOLDER / f"{table}.parquet" for table in (*WHOLE, *REDACTED, *ADDED)}
    files = {table: file for table, file in files.items() if table not in (*FILLED, *LATER) or file.exists()}
    for table, file in files.items():
        if not file.is_file() or file.is_symlink():
            raise SourceError(f"{source} has no {FOLDER}/{table}.parquet; get it again from where it came")
    check_decompressed_size(source, list(files.values()))
    return files


def _create_release_views(connection: duckdb.DuckDBPyConnection, source: Path) -> None:
    """Creates the views of a release on its Parquet files in the folder *source*; see `locate_tables`.

    The tables `FILLED` are computed from the others. The release's own versions of them are available as
    ``stated_NAME``.
    """
    files = locate_tables(source)
    for table, file in files.items():
        name = f"stated_{table}" if table in FILLED else table
        connection.execute(f"create view {name} as from read_parquet({quote_path_for_sql(file)})")
    for table in (*FILLED, *(table for table in LATER if table not in files)):
        connection.execute(get_statement("schema", table))
    for view in VIEWS:
        connection.execute(get_statement("views", view))
    fill_board_tables(connection)
    if "pair_tests" not in files:
        add_pair_tests(connection)


def add_pair_tests(connection: duckdb.DuckDBPyConnection) -> None:
    """Fills the table ``pair_tests`` of a release that lacks it, from the scores and the rows of the table ``board``.

    The table ``board`` must be complete before the call.
    """
    boards: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in read_table(connection, "board"):
        boards[row["signature_id"], row["board"]].append(row)
    tests = [asdict(test) | {"signature_id": name, "board": board, "run_id": ""}
             for (name, board), own in boards.items()
             for test in compute_holm_family(partial(fetch, connection), name, own).tests]  # fmt: skip
    if tests:
        connection.register("incoming", as_arrow(columns(tests)))
        connection.execute(get_statement("queries", "add_pair_tests"))
        connection.unregister("incoming")


def run_page_query(connection: duckdb.DuckDBPyConnection, query: str, **parameters: Any) -> list[dict[str, Any]]:
    """Runs the statement *query* of ``sql/pages.sql`` on a release's database and returns the rows.

    For queries that also run on editions, use `gre_bench.store.fetch`, which knows the types of their rows.
    """
    return _fetch_dicts(connection.execute(get_statement("pages", query), parameters or None))


def read_table(connection: duckdb.DuckDBPyConnection, table: str) -> list[dict[str, Any]]:
    """Returns all rows of a *table* of a release."""
    return _fetch_dicts(connection.execute(f"from {table} order by all"))


def compute_judgment_kinds(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Returns the rows of the table ``judgment_kinds``: how often a candidate's judgments have each opening.

    The rows are computed from the judgments in the release, one row per candidate and writer.
    """
    text = get_statement("release", "judgment_kinds").replace("edition.", "release.")
    return _fetch_dicts(connection.execute(text, {"openings": list(OPENINGS)}))


def _fetch_dicts(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def list_tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Returns the names of a release's tables, sorted."""
    return [row[0] for row in connection.execute(get_statement("release", "tables_here")).fetchall()]


def have_same_rows(first: Path, second: Path, tables: Sequence[str]) -> bool:
    """Returns whether two releases (folders or databases, see `open_release_tables`) have the same rows in *tables*."""
    with open_release_tables(first, second) as connection:
        for name in tables:
            connection.execute(f"create or replace temp view mine as from {name}")
            connection.execute(f"create or replace temp view theirs as from other.{name}")
            if connection.execute(get_statement("release", "rows_that_differ")).fetchall():
                return False
    return True


def _create_licence_tables(
    connection: duckdb.DuckDBPyConnection,
    is_free: Callable[[str | None], bool],
    everything: bool,
    own_licence: str | None,
    scores_only: bool,
) -> None:
    """Creates temporary tables: the licence of each text, and the papers, reviews, LM replies and titles to publish."""
    connection.execute(get_statement("release", "paper_licences"))
    connection.execute(get_statement("release", "review_licences"), {"own": own_licence})
    licences = [row[0] for row in connection.execute(get_statement("release", "licences_told")).fetchall()]
    free = [] if scores_only else [None, *licences] if everything else [*filter(is_free, licences)]
    connection.execute(get_statement("release", "add_free_licences"), {"licences": free})
    for name in ("public_papers", "public_reviews", "public_replies"):
        connection.execute(f"create temp table {name} as {get_statement('release', name)}")
    own_titles = f"create temp table own_titles as {get_statement('release', 'own_titles')}"
    connection.execute(own_titles, {"told": not scores_only})


def _insert_release_only_tables(connection: duckdb.DuckDBPyConnection, additions: ReleaseOnlyTables) -> None:
    tables: Mapping[str, Sequence[dict[str, Any]]] = {
        "metrics": additions.metrics, "models": additions.models, "changes": additions.changes,
        "signatures_shown": additions.shown, "word_counts": additions.word_counts,
    }  # fmt: skip
    for name, values in tables.items():
        connection.execute(get_statement("release", f"make_{name}"))
        if values:
            connection.from_arrow(as_arrow(columns(values))).insert_into(name)


Pieces = Callable[[str, Sequence[int]], Sequence[str] | None]
"""A function that takes a text and its token ids. It returns each token's piece of the text, or None if the ids do not
match the text."""


def add_token_pieces_table(database: Path, pieces_of: Pieces | None) -> int:
    """Adds the table ``pieces`` to a release's *database*, for heat maps; returns its number of rows.

    It has one row for each signature and each reference whose text may be shown, with one piece of text per token.
    Without *pieces_of* it is empty.
    """
    connection = connect(database)
    try:
        connection.execute(get_statement("release", "make_pieces"))
        references = connection.cursor().execute(get_statement("release", "shown_references"))
        while pieces_of is not None and (fetched := references.fetchmany(1000)):
            added = []
            for signature_id, reference_id, form, ascii_fold, text, ids in fetched:
                pieces = pieces_of(prepare_judgments(text, form, ascii_fold), ids)
                if pieces is not None and len(pieces) == len(ids) and "".join(pieces).strip():
                    added.append({"signature_id": signature_id, "reference_id": reference_id, "pieces": list(pieces)})
            if added:
                connection.from_arrow(as_arrow(columns(added))).insert_into("pieces")
        connection.execute("checkpoint")
        return connection.table("pieces").count("*").fetchall()[0][0]
    finally:
        connection.close()


VALUE = 40
"""Bytes of memory that a fetched value takes, not counting the characters of a text."""
_FIXED_SIZE_TYPES = re.compile(
    r"(?:BOOLEAN|U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|DATE|"
    r"TIMESTAMP(?: WITH TIME ZONE|_NS|_MS|_S)?)(?:\[\])?"
)
"""Types whose values have a fixed size, and lists of such values."""
_BYTE_COUNT_SQL = {
    "VARCHAR": "coalesce(sum(strlen({})), 0)",
    "VARCHAR[]": "coalesce(sum(list_sum(list_transform({}, lambda text: strlen(text)))), 0)",
}
"""Type of a column of texts → the SQL expression for the number of bytes of all its texts."""


def check_decompressed_size(folder: Path, files: Sequence[Path]) -> None:
    """Raises `SourceError` if the tables in *files*, of the release in *folder*, are too large when decompressed.

    The limit for all tables together is `EXPANSION` times their size, or `FREE` bytes if that is more. This check
    fetches no rows from DuckDB. Also raises `SourceError` if a file cannot be read.
    """
    try:
        _check_unpacked_size(folder, tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files))
    except duckdb.Error as error:
        if lack := explain_resource_shortage(error):
            raise StoreError(f"{folder}: {lack}") from None
        raise SourceError(
            f"{folder} cannot be read: {str(error).splitlines()[0]}; get it again from where it came"
        ) from None


@lru_cache(maxsize=256)
def _check_unpacked_size(folder: Path, files: tuple[tuple[Path, int, int], ...]) -> None:
    left = max(FREE, EXPANSION * sum(size for _, size, _ in files))
    paths = [file for file, *_ in files]
    with connect(None, config=MEMORY_ALONE, folders=sorted({path.parent for path in paths})) as connection:
        values, pages = connection.execute(
            get_statement("release", "unpacked"), {"files": list(map(str, paths))}
        ).fetchall()[0]
        left -= VALUE * (values or 0) + (pages or 0)
        for path in paths:
            if left >= 0:
                left -= _count_text_bytes(connection, folder, path)
    if left < 0:
        raise SourceError(
            f"{folder}: its tables unpack to more than {EXPANSION} times their size; get the release again from where "
            "it came"
        )


def _count_text_bytes(connection: duckdb.DuckDBPyConnection, folder: Path, path: Path) -> int:
    """Returns the number of bytes of all texts in the table file *path*.

    Raises `SourceError` if a column has a type that no release has.
    """
    table, sums = connection.read_parquet(str(path)), []
    for name, kind in zip(table.columns, map(str, table.types), strict=True):
        column = '"' + name.replace('"', '""') + '"'
        if kind in _BYTE_COUNT_SQL:
            sums.append(_BYTE_COUNT_SQL[kind].format(column))
        elif not _FIXED_SIZE_TYPES.fullmatch(kind):
            raise SourceError(f"{folder}: {path.name} has a column of a type that no release has; get it again")
    return int(table.aggregate(" + ".join(sums)).fetchall()[0][0]) if sums else 0


_SKIPPED = {
    "format", "release", "edition", "created_at", "runs", "errata", "histories", "files", "tables", "signatures",
    "validations",
}  # fmt: skip
"""Parts of a manifest that `list_provenance_differences` skips: they always differ, or other functions compare them."""


def count_changed_pairs(first: Path, second: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns (signature id, candidate) → how many of its pairs differ between two releases.

    *only_first*, *only_second*: the numbers of pairs that only one release has. *shared*: the number of pairs that both
    have. *other_state*: how many of these differ in their state, such as scored or failed. *other_score*: how many
    differ in their score.
    """
    with open_release_tables(first, second) as connection:
        pairs = run_page_query(connection, "changed_pairs")
    return {(row.pop("signature_id"), row.pop("candidate")): row for row in pairs}


def list_provenance_differences(older: Mapping[str, Any], newer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns one row for each value that differs between two manifests, except those in the parts `_SKIPPED`.

    *what*: the value's path, such as ``settings.scoring.form``. *first*, *second*: the values; None if absent.
    """
    first, second = (dict(_flatten_tree("", {name: value for name, value in manifest.items() if name not in _SKIPPED}))
                     for manifest in (older, newer))  # fmt: skip
    return _list_differences("what", first, second)


def list_row_count_differences(older: Mapping[str, Any], newer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns *table*, *first* and *second* for each table whose number of rows differs between two manifests."""
    return _list_differences("table", older["tables"], newer["tables"])


def _list_differences(head: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {head: name, "first": first.get(name), "second": second.get(name)}
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]


def _flatten_tree(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields (path, value) for each leaf of the JSON tree *value*; a list of plain values counts as one leaf."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten_tree(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for index, inner in enumerate(value):
            yield from _flatten_tree(f"{name}.{index}", inner)
    else:
        yield name, value
