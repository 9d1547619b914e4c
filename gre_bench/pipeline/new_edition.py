"""Starts an edition from a user's own files: papers, human reviews, and reviews by candidates.

All files are read before anything is stored. The new store is filled in a temporary folder, then moved into place, so a
failure or a kill leaves no incomplete edition.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import check_file_name_is_utf8, explain_refused_file, read_text, use_file_limits
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted, format_csv_table
from gre_bench.ingest.records.cells import ImportResult, RefusedError, is_name
from gre_bench.ingest.records.columns import ColumnOptions, UnclearColumnsError, UnclearField, make_valid_id
from gre_bench.ingest.records.opening import TEXTS
from gre_bench.ingest.records.tables import read_new_papers, read_new_reviews
from gre_bench.ingest.snapshot import make_snapshot
from gre_bench.pipeline.importing import file_sha256, store_imported
from gre_bench.pipeline.own_reviews import check_candidate_name
from gre_bench.pipeline.reading import find_snapshot_folder
from gre_bench.pipeline.runs.job import record_run
from gre_bench.store import Store, now, queries
from gre_bench.store.files import edition_lock, is_lock_held
from gre_bench.writing.rules.judgments import describe_lost_text
from gre_bench.writing.writers import is_rule

PDF = ".pdf"
LOCK = "lock"
"""The file in a new store's temporary folder that is locked while the store is made."""


@dataclass
class ParsedFiles:
    """The parsed files of a new edition; nothing is stored yet.

    - *papers*, *reviews*: (path, content) of each file. The first file of *reviews* holds the human reviews.
    - *pdfs*: paper id → its PDF. *texts*: paper id → the text of its text file. Both are empty unless the papers are a
      folder.
    """

    papers: tuple[Path, ImportResult]
    reviews: list[tuple[Path, ImportResult]] = field(default_factory=list)
    pdfs: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> list[tuple[Path, ImportResult]]:
        return [self.papers, *self.reviews]

    @property
    def refused(self) -> int:
        return sum(len(imported.refusals) for _, imported in self.files)

    @property
    def all_reviews(self) -> list[Review]:
        return [review for _, imported in self.reviews for review in imported.reviews]

    @property
    def human(self) -> Counter[str]:
        """Paper id → number of human reviews, 0 for papers without one."""
        counts = Counter(dict.fromkeys(self.papers[1].paper_ids, 0))
        counts.update(review.paper_id for review in self.all_reviews if review.candidate == HUMAN)
        return counts

    def check(self, chosen: Settings) -> None:
        """Raises `SourceError` if too few papers have enough human reviews for *chosen*, or if nobody can be ranked."""
        fewest, most = chosen.edition.effective_min_reviews, max(self.human.values(), default=0)
        if not self.has_papers_with_human_reviews(fewest):
            needs = "a human review each" if fewest == 1 else (
                f"{fewest} human reviews each (one is the human candidate, the other its reference)"
            )  # fmt: skip
            raise SourceError(
                f"an edition needs two papers with {needs}; here no more than one has them, and the most that a paper "
                f"has is {most}"
            )
        if most == 1 and all(review.candidate == HUMAN for review in self.all_reviews):
            raise SourceError(
                "papers have one human review each, which is the reference, so there is nobody to rank: add reviewers "
                "with --candidate NAME=FILE, or a second human review a paper"
            )

    def has_papers_with_human_reviews(self, reviews: int) -> bool:
        """Whether at least two papers, the minimum for a board, have this many human *reviews* each."""
        return sum(count >= reviews for count in self.human.values()) >= 2

    def settings(self, chosen: Settings, stated: Sequence[str]) -> Settings:
        """Returns *chosen* adapted to these files; settings in *stated*, which the user named, do not change.

        Metrics and controls are dropped if the files lack the texts that they need, such as abstracts. The writer of
        judgments and the controls are dropped if every review has judgments, all by one writer. If too few papers have
        enough human reviews and ``edition.references`` is ``all``, one human review per paper becomes enough.
        """
        papers, judged = self.papers[1].papers, [item for _, imported in self.reviews for item in imported.judgments]
        as_files = bool(self.pdfs or self.texts)
        has_bodies, has_abstracts = (as_files or any(getattr(paper, name) for paper in papers)
                                     for name in ("text", "abstract"))  # fmt: skip
        has_reviews = any(review.text for review in self.all_reviews)
        is_judged = len({item.writer for item in judged}) == 1 and len(judged) == len(self.all_reviews)
        lacking = {"gem_raw": not has_reviews, "gem_s_abstract": not has_abstracts, "gem_s_assw": not has_bodies}
        metrics = tuple(name for name in chosen.scoring.metrics if not lacking.get(name))
        unserved = {"extractive-full": not has_bodies, "extractive-abstract": not has_abstracts}
        candidates = tuple(name for name in chosen.writing.candidates
                           if not (unserved.get(name) or (name in unserved and is_judged)))  # fmt: skip
        writer = None if is_judged else chosen.writing.judgments
        served: dict[str, Any] = {
            "scoring.metrics": metrics, "writing.candidates": candidates, "writing.judgments": writer,
        }  # fmt: skip
        if chosen.edition.references == "all" and not self.has_papers_with_human_reviews(
            chosen.edition.effective_min_reviews
        ):
            served["edition.min_reviews"] = 1
        for name in served.keys() - {text.partition("=")[0] for text in stated}:
            group, _, key = name.partition(".")
            part = getattr(chosen, group).model_copy(update={key: served[name]})
            chosen = chosen.model_copy(update={group: part})
        return chosen


def parse_files(
    papers: Path, human: Path, candidates: Sequence[tuple[str | None, Path]], reading: ColumnOptions,
    writer: str | None = None,
) -> ParsedFiles:  # fmt: skip
    """Reads all files of a new edition; stores nothing.

    - *papers*: a file of papers, or a folder of PDFs and texts.
    - *candidates*: pairs (name, path of the file, folder or logs with the reviews); if the name is None, the rows name
      the candidates.
    - *writer*: who wrote the judgments, if the files do not say.

    Unusable rows are refused, each with a reason. Raises `SourceError` if nothing in a file can be used. Raises
    `SettingsError` for a candidate with the name of a control, and if *reading* names a header that no file has. Raises
    one `UnclearColumnsError` for all ambiguous columns of all files.
    """
    for name, _ in candidates:
        if name is not None:
            check_candidate_name(name)
    understood, unclear = ParsedFiles((papers, ImportResult())), list[UnclearField]()
    if papers.is_dir():
        _read_papers(understood)
    else:
        try:
            understood.papers = (papers, read_new_papers(papers, {}, reading=reading))
        except UnclearColumnsError as unsure:
            unclear += unsure.unclear
    known: dict[str, Review] = {}
    judged: dict[tuple[str, str], str] = {}
    for by, file in ((HUMAN, human), *candidates):
        if not file.exists():
            raise SourceError(f"no file or folder {file}")
        try:
            imported = read_new_reviews(
                file, known, judged, understood.papers[1].paper_ids, by=by, writer=writer, reading=reading,
                only=by not in (None, HUMAN),
            )  # fmt: skip
        except UnclearColumnsError as unsure:
            unclear += unsure.unclear
            continue
        if by != HUMAN and not (imported.reviews or imported.judgments or imported.refusals):
            how = "" if by else f"; if they are by one candidate, name it: --candidate NAME={file}"
            raise SourceError(f"{file.name}: each of its rows repeats a row of an earlier file{how}")
        known |= {review.review_id: review for review in imported.reviews}
        judged |= {(item.review_id, item.writer): item.text for item in imported.judgments}
        understood.reviews.append((file, imported))
    if unclear:
        raise UnclearColumnsError(unclear)
    reading.require_all_headers_used()
    return understood


def _read_papers(understood: ParsedFiles) -> None:
    """Reads the PDFs and texts of a folder; a paper's id is its file's name without the extension."""
    folder, imported = understood.papers
    expected = f"expected <paper id>{PDF}, {' or '.join(TEXTS)}"
    files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
    for number, file in enumerate(files, start=1):
        paper_id = make_valid_id(file.stem)
        try:
            check_file_name_is_utf8(file)
            if (reason := explain_refused_file(file)) or file.suffix.lower() not in (PDF, *TEXTS):
                raise RefusedError(f"not a paper{f': {reason}' if reason else ''}; {expected}")
            if not is_name(paper_id):
                raise RefusedError("its name makes no id; use letters, digits and . _ : @ + -")
            if paper_id in imported.paper_ids:
                raise RefusedError(f"another file here is paper {paper_id} too")
            if file.suffix.lower() == PDF:
                understood.pdfs[paper_id] = file
            else:
                understood.texts[paper_id] = read_text(file, "utf-8-sig")
        except UnicodeDecodeError:
            imported.refuse(number, f"file {file.name}", "it is not UTF-8")
        except (RefusedError, SourceError, OSError) as reason:
            imported.refuse(number, f"file {ascii(file.name)[1:-1]}", reason)
        else:
            imported.papers.append(Paper(paper_id))
            imported.paper_ids.add(paper_id)
            imported.count(True)
    if not imported.papers:
        raise SourceError(f"no paper in folder {folder}: {expected}")


def write_report(understood: ParsedFiles, path: Path) -> Path:
    """Writes the CSV file *path*, with one line for each paper or review taken and each row refused; returns *path*.

    Columns: file, row (from 1; empty if taken), item, result (taken or refused), reason. If a review was taken, the
    column reason has its candidate and paper.
    """
    rows: list[tuple[Any, ...]] = []
    for file, imported in understood.files:
        rows += [(file.name, row.number, row.item, "refused", row.reason) for row in imported.refusals]
        rows += [(file.name, "", f"paper {paper.paper_id}", "taken", "") for paper in imported.papers]
        rows += [(file.name, "", f"review {review.review_id}", "taken", f"{review.candidate}, {review.paper_id}")
                 for review in imported.reviews]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(format_csv_table(("file", "row", "item", "result", "reason"), rows), encoding="utf-8", newline="")
    return path


def is_unfinished_edition(store: Store, files: Sequence[Path]) -> bool:
    """Whether `make_edition` made *store* from exactly these *files*, and its last run has not ended as done."""
    if store.is_from_release or any(not file.exists() for file in files):
        return False
    status = store.status()
    if status and status["state"] == "done":
        return False
    made_of = sorted((row["file"], row["sha256"]) for row in store.read(queries.IMPORTED_FILES))
    return made_of == sorted({(file.resolve().name, file_sha256(file)) for file in files})


def make_edition(state: Path, settings: Settings, understood: ParsedFiles, licence: str | None = None) -> None:
    """Stores the parsed files as a new edition.

    First deletes what killed runs left behind. Raises `SettingsError` if the edition exists.
    """
    edition = settings.edition.edition
    target = Store(state, edition)
    for left in state.glob(".new-*"):
        if not is_lock_held(left / LOCK):
            shutil.rmtree(left, ignore_errors=True)
    beside = state / f".new-{uuid.uuid4().hex}"
    store = Store(beside, edition)
    with edition_lock(target.key, beside / LOCK, "new"), ExitStack() as last:
        last.callback(shutil.rmtree, beside, ignore_errors=True)
        with (
            use_file_limits(settings.inputs.memory, settings.inputs.seconds),
            store.lock("new"),
            record_run(store, "new", settings, shown=False) as progress,
        ):
            for file, imported in understood.files:
                kind = "papers" if imported is understood.papers[1] else "reviews"
                store_imported(store, progress.run_id, file, kind, imported, licence=licence)
            if understood.pdfs or understood.texts:
                folder = find_snapshot_folder(store) / f"{edition.venue}-{edition.year}-{progress.run_id}"
                notes = [{"id": name, "forum": name} for name in (*understood.pdfs, *understood.texts)]
                given = {"pdfs": understood.pdfs, "texts": understood.texts}
                source = f"folder: {understood.papers[0].name}"
                snapshot = make_snapshot(folder, edition, notes, **given, source=source)
                store.write(("add_snapshot", {"digest": snapshot.digest, "path": folder.name, "imported_at": now()}))
            progress.end("done")
        for file in find_snapshot_folder(store).glob("*") if find_snapshot_folder(store).is_dir() else ():
            find_snapshot_folder(target).mkdir(parents=True, exist_ok=True)
            os.replace(file, find_snapshot_folder(target) / file.name)
        target.folder.parent.mkdir(parents=True, exist_ok=True)
        if target.exists:
            raise SettingsError(f"edition {target.key} is there already")
        os.replace(store.folder, target.folder)


def describe_parsed_files(understood: ParsedFiles, settings: Settings) -> list[str]:
    """Returns lines for the user: how each file was interpreted, and what the board will be made from."""
    lines = []
    for file, imported in understood.files:
        kinds = Counter(review.candidate for review in imported.reviews)
        what = counted(len(imported.papers), "paper") if file == understood.papers[0] else "no review"
        if kinds:
            by = [
                counted(number, "human review") if name == HUMAN else f"{counted(number, 'review')} by {name}"
                for name, number in kinds.most_common(5)
            ]
            what = "; ".join(by) + (f"; and by {len(kinds) - 5} more" if len(kinds) > 5 else "")
        lines.append(f"{file.name}: {what}")
        lines += [f"  {note}" for note in imported.notes]
        if imported.ignored_columns:
            lines.append(f"  not read: {', '.join(imported.ignored_columns)}")
        lines += [f"  {imported.row_counts}"] if imported.row_counts else []
        if is_rule(settings.writing.judgments or ""):
            read = [(review.paper_id, review.text) for review in imported.reviews if review.text]
            lines += [f"  {loss}" for loss in describe_lost_text(read)]
    lines += _describe_review_coverage(understood, settings)
    writers = (item.writer for _, imported in understood.reviews for item in imported.judgments)
    writer = settings.writing.judgments or next(writers, "nobody")
    return [*lines, f"metrics: {', '.join(settings.scoring.metrics)}; judgments by {writer}"]


def _describe_review_coverage(understood: ParsedFiles, settings: Settings) -> list[str]:
    """Returns lines on papers with enough human reviews, and on papers that lack a candidate's review."""
    counts, lines = understood.human, list[str]()
    fewest = settings.edition.effective_min_reviews
    enough = [count for count in counts.values() if count >= fewest]
    few = sorted(name for name, count in counts.items() if count < fewest)
    span = f"{min(enough)} to {max(enough)}" if enough and min(enough) < max(enough) else f"{max(enough, default=0)}"
    lines.append(
        f"papers with at least {counted(fewest, 'human review')}: {len(enough)} of {len(counts)} ({span} a paper)"
    )
    if few:
        lines.append(f"  not on the board: {format_name_list(few)}")
    if fewest > 1 and any(counts[name] == 1 for name in few):
        lines.append("  --set edition.min_reviews=1 also takes papers with one, which is then the reference")
    if max(enough, default=0) == 1:
        lines.append("  it is the reference, so there is no human candidate")
    for name in sorted({review.candidate for review in understood.all_reviews} - {HUMAN}):
        reviewed = {review.paper_id for review in understood.all_reviews if review.candidate == name}
        if lacking := sorted(paper for paper, count in counts.items() if count >= fewest and paper not in reviewed):
            lines.append(f"  no review by {name}: {counted(len(lacking), 'paper')} ({format_name_list(lacking)})")
    return lines
