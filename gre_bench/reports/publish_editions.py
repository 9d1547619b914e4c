"""Publishes editions; also writes pages and figures of unpublished editions and of published tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gre_bench.catalogs import models
from gre_bench.core.errors import SettingsError, SourceError, UnfinishedError
from gre_bench.core.metrics import METRICS, find_recipe
from gre_bench.core.records import LMIdentity
from gre_bench.core.settings import Settings, load_recorded_settings
from gre_bench.ingest.snapshot import is_redistributable
from gre_bench.lm.opening import find_reply_splitter
from gre_bench.metrics.scoring import CHANCE_SEED
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.perturbations.planted_flaws import HARMLESS, MARK
from gre_bench.pipeline.ranking import build_scored_text_key
from gre_bench.pipeline.runs.job import code_version
from gre_bench.ranking import published_boards
from gre_bench.ranking.contamination import find_model_entry
from gre_bench.release.figures import write_figures
from gre_bench.release.manifest import list_package_versions, redact_settings
from gre_bench.release.pages.board_data import build_board_data
from gre_bench.release.pages.board_page import Board, BoardEntry
from gre_bench.release.pages.rendering import render_board_page
from gre_bench.release.public_tables import (
    ReleaseOnlyTables,
    add_token_pieces_table,
    open_release_tables,
    write_public_tables,
)
from gre_bench.release.publishing import DATABASE, PublishingResult, ReleaseInputs, publish
from gre_bench.release.release_store import ReleaseStore
from gre_bench.release.site import TEXTS, build_boards, write_site
from gre_bench.reports import contrasts
from gre_bench.reports.correctness import load_flaw_results
from gre_bench.reports.signatures import add_specific_signatures
from gre_bench.store import FrozenStore, Row, Store, now, open_frozen_copy
from gre_bench.store.queries import (
    BOARD_LENGTHS,
    BOARD_SETTINGS,
    CANDIDATE_MODELS,
    CURRENT_SIGNATURES,
    DRAW,
    IMPORTED_FILES,
    PROGRESS,
    RUNS_OF_ROWS,
    SAMPLE,
    SNAPSHOT,
    STALE_RANKS,
    VALIDATIONS,
    SignatureRow,
    ValidationRow,
)


def publish_edition(
    store: Store,
    release_store: ReleaseStore,
    everything: bool = False,
    again: bool = False,
    wait_s: float = 0.0,
    hidden: Sequence[Row] = (),
    scores_only: bool = False,
) -> PublishingResult:
    """Publishes a release of the data that is committed in *store*, while no run is writing.

    - *everything*: include all texts, whatever their licence. *again*: publish even if nothing has changed.
    - *wait_s*: how many seconds to wait for a run that is still writing.
    - *hidden*: boards to leave out, each with metric, signature_id, verdict and detail.
    - *scores_only*: leave out all texts, the log-probabilities of tokens, and the pages of papers.

    Raises `LockedError` if a run is still writing, and `UnfinishedError` if there is no board or pairs are missing.
    Raises `SettingsError` if the date of the latest release is in the future.
    """
    release_store.check_clock()
    with open_frozen_copy(store, "publish", wait_s) as edition:
        return publish(release_store, build_release_inputs(edition, everything, again, hidden, scores_only))


def build_release_inputs(
    store: FrozenStore,
    everything: bool = False,
    again: bool = False,
    hidden: Sequence[Row] = (),
    scores_only: bool = False,
) -> ReleaseInputs:
    """Returns the contents of a release of *store*. Arguments and errors are as for `publish_edition`.

    Also raises `SettingsError` for an edition of planted flaws.
    """
    if any(row["paper_id"].endswith(f"{MARK}{HARMLESS}") for row in store.read(SAMPLE)):
        raise SettingsError(
            f"edition {store.key} holds papers with planted flaws, which are never released; the board of its source "
            "shows what reviews tell of them"
        )
    not_shown = {row["signature_id"] for row in hidden}
    signatures = [row for row in store.read(CURRENT_SIGNATURES) if row["signature_id"] not in not_shown]
    if not signatures:
        raise UnfinishedError(f"edition {store.key} has no board to show; run: gre-bench refresh --edition {store.key}")
    _check_scores_are_complete(store, signatures)
    settings = _read_settings(store)
    return ReleaseInputs(
        source=store.file,
        additions=build_release_only_tables(store, settings, signatures),
        is_free=is_redistributable,
        provenance=build_provenance(store, settings, signatures) | ({"hidden_boards": list(hidden)} if hidden else {}),
        pieces_of=find_reply_splitter(settings.evaluation_lm),
        everything=everything,
        scores_only=scores_only,
        again=again,
        own_licence=settings.writing.licence,
    )


def _check_scores_are_complete(store: Store, signatures: Sequence[SignatureRow]) -> None:
    """Raises `UnfinishedError` if scores are missing, or if the rank statistics are older than the scores."""
    ids = [row["signature_id"] for row in add_specific_signatures(store, signatures)]
    counts = store.read(PROGRESS, signature_ids=ids)
    if missing := sum(row["unfinished"] for row in counts):
        raise UnfinishedError(
            f"edition {store.key}: {missing:,} pairs of its board are still missing, and a release cannot be changed; "
            f"first finish it: gre-bench refresh --edition {store.key}"
        )
    if store.read(STALE_RANKS, signature_ids=ids):
        raise UnfinishedError(
            f"edition {store.key}: its ranks are not those of its scores, because a run was stopped; compute them "
            f"first: gre-bench refresh --edition {store.key}"
        )


def build_release_only_tables(
    store: Store, settings: Settings, signatures: Sequence[SignatureRow]
) -> ReleaseOnlyTables:
    """Returns the tables that a release has in addition to the edition's.

    The board of the headline metric is shown first, then those of validated metrics.
    """
    ids = [row["signature_id"] for row in signatures]
    passed = {row["signature_id"] for row in store.read(VALIDATIONS, signature_ids=ids) if row["verdict"] == "pass"}
    named = models.load(settings.writing.models)
    known = [
        _describe_model(row["model"], find_model_entry(row["model"], named)) for row in store.read(CANDIDATE_MODELS)
    ]
    counts = [
        {"candidate_id": row["candidate_id"], "paper_id": row["paper_id"], **read._asdict(), "words": row["words"]}
        for read in dict.fromkeys(map(build_scored_text_key, signatures))
        for row in store.read(BOARD_LENGTHS, **read._asdict())
    ]
    return replace(
        build_tables_made_by_program(signatures, passed, settings.board.headline), models=known, word_counts=counts
    )


def build_tables_made_by_program(
    signatures: Sequence[SignatureRow], passed: Collection[str], headline: str | None
) -> ReleaseOnlyTables:
    """Returns those additions that need no store. *passed*: ids of signatures whose metric passed validation."""
    places = {name: position for position, name in enumerate(METRICS.own)}
    shown = sorted(signatures, key=lambda row: (row["metric"] != headline, row["signature_id"] not in passed,
                                                places.get(row["metric"], len(places)), row["metric"]))  # fmt: skip
    return ReleaseOnlyTables(
        metrics=[{"metric": item.name, "title": item.title, "unit": item.unit,
                  "place": places.get(item.name, len(places))}
                 for item in map(find_recipe, dict.fromkeys([*METRICS.own, *(row["metric"] for row in shown)]))],
        changes=[{"change": item.name, "title": item.title, "family": item.family} for item in PERTURBATIONS.values()],
        shown=[{"signature_id": row["signature_id"], "place": position, "lm_id": build_lm_id(row)}
               for position, row in enumerate(shown)],
    )  # fmt: skip


def build_provenance(store: Store, settings: Settings, signatures: Sequence[SignatureRow]) -> dict[str, Any]:
    """Returns, for the manifest, what the numbers under *signatures* depend on, except details of the machine."""
    draw = store.read(DRAW)
    ids = [row["signature_id"] for row in signatures]
    verdicts = {row["signature_id"]: row for row in store.read(VALIDATIONS, signature_ids=ids)}
    return {
        "program": {"name": "gre-bench", "version": code_version(), "packages": list_package_versions()},
        "papers": len({row["paper_id"] for row in store.read(SAMPLE)}),
        "seeds": {"sample": draw[0]["seed"] if draw else settings.edition.seed, "bootstrap": settings.validation.seed,
                  "chance": CHANCE_SEED},
        "draw": draw[0] if draw else None,
        "snapshots": [{"digest": row["digest"]} for row in store.read(SNAPSHOT)],
        "imports": store.read(IMPORTED_FILES),
        "runs": store.read(RUNS_OF_ROWS),
        "signatures": list(signatures),
        "validations": {
            row["metric"]: _build_verdict(verdicts.get(row["signature_id"])) for row in signatures
        },
        "contrasts": compute_contrasts_record(store, settings.board.contrasts, signatures),
        "correctness": load_flaw_results(store),
        "settings": redact_settings(settings.model_dump(mode="json")),
    }  # fmt: skip


def compute_contrasts_record(
    store: Store, path: Path | None, signatures: Sequence[SignatureRow]
) -> dict[str, Any] | None:
    """Tests the contrasts of the file *path*; returns the file's name, digest, entries and result rows.

    Returns None if *path* is None.
    """
    if path is None:
        return None
    try:
        file, both = contrasts.load_contrasts(path), add_specific_signatures(store, signatures)
        rows = contrasts.compute_contrast_rows(store, file.contrasts, signatures, both)
    except (SettingsError, SourceError) as error:
        change = f"gre-bench refresh --edition {store.key} --set board.contrasts="
        raise SettingsError(f"board.contrasts: {error}; name another file, or none: {change}") from None
    entries = [entry.model_dump() for entry in file.contrasts]
    return {"file": path.name, "sha256": file.sha256, "entries": entries, "rows": rows}


def _build_verdict(row: ValidationRow | None) -> dict[str, Any]:
    if row is None:
        return {"verdict": "unvalidated"}
    return {name: row[name] for name in ("verdict", "edition", "detail", "validated_at")}


def _describe_model(name: str, known: models.Model | None) -> dict[str, Any]:
    stated = ("family", "parameters", "knowledge_cutoff", "released", "price_in", "price_out")
    known_of = {field: getattr(known, field) if known else None for field in stated}
    return {"model": name, "entry": known.name if known else None} | known_of


def build_lm_id(row: SignatureRow) -> str:
    """Returns the id under which the log-probabilities of the evaluation LM of the signature *row* are stored."""
    fields = ("engine_version", "dtype", "quantisation", "attention", "template_digest")
    return LMIdentity(row["evaluation_lm"], row["lm_digest"], **{name: row[name] for name in fields}).lm_id


def open_release_store(state: Path, edition: str) -> ReleaseStore:
    """Returns the store of the releases of an *edition* in the folder *state*."""
    return ReleaseStore(state / "releases", edition)


def write_release_database(store: Store, folder: Path, everything: bool = False) -> Path:
    """Writes to *folder* the database that a release of the edition would have now; returns its path."""
    copy, database, settings = folder / store.read_file.name, folder / DATABASE, _read_settings(store)
    signatures = _read_signatures(store)
    store.copy.copy_to(copy)
    made_of = build_release_only_tables(store, settings, signatures)
    write_public_tables(copy, database, made_of, is_redistributable, everything, settings.writing.licence)
    copy.unlink()
    return database


def write_edition_pages(store: Store, folder: Path) -> None:
    """Writes to *folder* the pages of an edition in its current state, without making a release.

    The pages have all texts, whatever their licence. Raises `UnfinishedError` if the edition has no board.
    """
    database, settings = write_release_database(store, folder, True), _read_settings(store)
    add_token_pieces_table(database, find_reply_splitter(settings.evaluation_lm))
    made = now().isoformat(timespec="seconds")
    about = {
        "release": store.key,
        "edition": store.key,
        "created_at": made,
        "published": f"not published; as of {made[:16].replace('T', ' ')} UTC",
        "texts": TEXTS[True],
        **build_provenance(store, settings, _read_signatures(store)),
    }
    with open_release_tables(database) as connection:
        write_site(connection, folder, about)
    database.unlink()


def _read_settings(store: Store) -> Settings:
    planned_with = store.read(BOARD_SETTINGS)
    return load_recorded_settings(json.loads(planned_with[0]["settings"])) if planned_with else Settings()


def _read_signatures(store: Store) -> list[SignatureRow]:
    signatures = store.read(CURRENT_SIGNATURES)
    if not signatures:
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    return signatures


def plot_edition(store: Store, out: Path) -> list[Path]:
    """Writes the pictures of the edition's boards to the folder *out*, as SVG; returns the files' paths.

    Raises `UnfinishedError` if the edition has no board.
    """
    with (
        TemporaryDirectory(prefix="gre-bench-") as folder,
        open_release_tables(write_release_database(store, Path(folder))) as connection,
    ):
        shown = build_boards(connection)
    return write_figures(shown, out)


def plot_table(table: str, out: Path) -> list[Path]:
    """Writes pictures and a page of the published board *table* to the folder *out*; returns the files' paths.

    They show no intervals, no human baseline and no dates, because published tables lack these. Raises `SettingsError`
    if *table* is not a board.
    """
    if table not in published_boards.LMS:
        raise SettingsError(f"{table} is no board; boards are: table6, table7, table10")
    boards = build_published_boards(table)
    written = write_figures(boards, out)
    contents = {
        "name": table,
        "edition": "ICLR 2023, as published",
        "published": f"Xu et al. 2025, {table.replace('table', 'table ')}",
        "boards": boards,
        "lead": "The scores that Xu et al. print for GRE-bench, drawn by this program.",
        "remarks": (
            "The table prints neither intervals nor the human baseline nor dates: none are drawn, and no difference "
            "between two models is tested.",
            "Sizes of closed models are estimates from unofficial sources.",
        ),
        "provenance": (("source", "Xu et al. 2025, Benchmarking LLMs' Judgments with No Gold Standard, ICLR 2025"),
                       ("table", table)),
    }  # fmt: skip
    page = render_board_page(contents, build_board_data(boards, {}, ()))
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page, encoding="utf-8")
    return [out / "index.html", *written]


def build_published_boards(table: str) -> tuple[Board, ...]:
    """Returns the boards of a published table, one per metric, in the order of the catalogue."""
    figures = published_boards.load(table)
    sizes = {figure.item: figure.value for figure in figures if figure.metric == published_boards.SIZE}
    known = models.load()
    boards = []
    for metric in (name for name in METRICS if any(figure.metric == name for figure in figures)):
        scored = sorted((item for item in figures if item.metric == metric), key=lambda item: -item.value)
        entries = tuple(
            BoardEntry(
                figure.item,
                "model",
                figure.value,
                rank=1 + sum(other.value > figure.value for other in scored),
                family=known[figure.item].family if figure.item in known else None,
                parameters=sizes.get(figure.item),
            )
            for figure in scored
        )
        boards.append(Board(metric, METRICS[metric].title, METRICS[metric].unit, entries, validation=""))
    return tuple(boards)
