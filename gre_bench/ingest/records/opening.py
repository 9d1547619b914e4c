"""Opens any input that a user names: a file, a folder, inspect_ai logs, or a file on the Hugging Face Hub.

`row_files` reads a file. `shapes` converts the output of the review tools that it describes; each tool has its own
format. A folder may hold text files and files of rows, at any depth. If no field of a row names the paper, the name of
the file, or of a folder above it, does. A folder name that matches no paper is taken as the reviewer's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import LONGEST_ROW, FileReadMeter, check_file_name_is_utf8, list_regular_files, read_bytes
from gre_bench.ingest.records.cells import NOT_IN_A_NAME, CellsByHeader, ImportResult, Rows, shorten_cell
from gre_bench.ingest.records.columns import header_letters
from gre_bench.ingest.records.inspect_logs import COLUMNS, is_log, read_logs
from gre_bench.ingest.records.row_files import read_rows
from gre_bench.ingest.records.shapes import IDS, ReviewToolFormat, adapt_tool_records_to_rows

TEXTS = (".txt", ".md")
"""The extensions of text files in a folder."""
EXPECTED = f"expected <paper id>{' or <paper id>'.join(TEXTS)}, or files of rows"
_HUB = re.compile(r"hf:/+datasets/([^/]+/[^/@]+)(?:@([^/]+))?/(.+)")
WHOLE = "whole file"
_REVIEW_ITEMS_FILE = re.compile(r"^review_items_(.+)$")
"""Matches file names of the program cmu-paper-reviewer, which contain the reviewer's name."""


def resolve_local_path(path: Path) -> Path:
    """Returns the local path of *path*; ``hf://datasets/OWNER/NAME[@REVISION]/PATH`` is fetched from the Hub.

    Raises `SourceError` if huggingface_hub is not installed, or if the file cannot be fetched.
    """
    if not str(path).startswith("hf:/"):
        return path
    match = _HUB.fullmatch(str(path))
    if match is None:
        raise SourceError(f"{path}: write hf://datasets/OWNER/NAME/PATH or hf://datasets/OWNER/NAME@REVISION/PATH")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise SourceError(f"{path}: huggingface_hub is not installed: pip install huggingface_hub") from None
    repository, revision, name = match.groups()
    try:
        return Path(hf_hub_download(repository, name, repo_type="dataset", revision=revision))
    except Exception as error:  # huggingface_hub raises errors of several libraries
        reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)[:200]
        raise SourceError(f"hf://datasets/{repository}: {name} cannot be fetched: {reason}") from None


@dataclass
class OpenedRows:
    """The rows in a user's input, with the names of their columns.

    *shape*: the form of all records; None if it is not that of a known tool. *by_path*: whether a paper's name may be a
    path or a request id, which may contain more than the paper id.
    """

    rows: Rows = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    shape: ReviewToolFormat | None = None
    by_path: bool = False

    def add(self, rows: Rows) -> None:
        self.rows += rows
        self.columns = list(dict.fromkeys([*self.columns, *(name for _, row in rows for name in row)]))


MatchPaperId = Callable[[object], str | None]
"""A function that returns the id of the known paper to which a name refers; None if there is none."""
SelectRows = Callable[[Rows, str], Rows]
"""A function of a file's rows and name that returns the rows that the user selected."""
AdaptRecords = Callable[[str, Rows, str, ImportResult], tuple[Rows, ReviewToolFormat | None]]
"""`adapt_tool_records_to_rows`, or a function that leaves all records as they are."""


def open_rows(
    path: Path, imported: ImportResult, wanted: str, meant: MatchPaperId, chosen: SelectRows,
    epoch: int | None = None, adapt: bool = True,
) -> OpenedRows:  # fmt: skip
    """Returns the rows in *path*.

    - *wanted*: what each row describes: ``review``, ``point`` or ``paper``.
    - *adapt*: whether to convert the output of known tools.
    - *meant*: see `MatchPaperId`. *chosen*: see `SelectRows`.
    - *epoch*: for inspect_ai logs, the epoch whose reviews are read.

    Unusable rows are recorded as refused in *imported*. Raises `SourceError` if no row is usable, or if files of
    different forms are mixed.
    """
    opened = OpenedRows()
    read = adapt_tool_records_to_rows if adapt else lambda file, rows, wanted, imported: (rows, None)
    if wanted == "review" and is_log(path):
        opened.rows, opened.columns = chosen(read_logs(path, imported, epoch), path.name), [*COLUMNS]
    elif wanted == "review" and path.is_dir():
        opened.by_path = True
        _read_folder(path, imported, opened, meant, chosen, read)
    else:
        rows, columns = read_rows(path, imported)
        if (by_paper := _split_row_by_paper(rows, meant)) is not rows:
            rows, columns = by_paper, []
        rows = chosen(rows, path.name)
        if wanted != "paper":
            rows, opened.shape = read(path.name, rows, wanted, imported)
        if opened.shape is not None:
            opened.by_path, columns = True, []
            if not _fill_in_paper_ids(rows, path.absolute().parts[:-4:-1], meant):
                raise SourceError(
                    f"{path.name} is read as {opened.shape.name}, and no field names its paper; name the file, or its "
                    "folder, by the paper"
                )
            rows = chosen(rows, path.name)
        opened.columns = columns
        opened.add(rows)
    if opened.shape is not None:
        texts = (row.get("review") for _, row in opened.rows)
        parts = dict.fromkeys(f'"{name}"' for text in texts if isinstance(text, CellsByHeader) for name in text)
        whole = f"; review is {' + '.join(parts)}" if parts else ""
        imported.notes.insert(0, f"read as {opened.shape.name}{whole}")
    return opened


def _split_row_by_paper(rows: Rows, meant: MatchPaperId) -> Rows:
    """Returns *rows*; if they are a single row whose field names are all known papers, one row per field instead."""
    if len(rows) != 1 or any(meant(name) is None for name in rows[0][1]):
        return rows
    items = enumerate(rows[0][1].items(), start=1)
    return [
        (number, {"paper_id": name} | (cell if isinstance(cell, dict) else
                                       {"reviews" if isinstance(cell, list) else "review": cell}))
        for number, (name, cell) in items
    ]  # fmt: skip


def _read_folder(
    folder: Path,
    imported: ImportResult,
    opened: OpenedRows,
    meant: MatchPaperId,
    chosen: SelectRows,
    read: AdaptRecords,
) -> None:
    """Adds the rows of all files in *folder* to *opened*, numbered consecutively.

    The limits for one file apply to the whole folder.
    """
    files, refused = list_regular_files(folder)
    meter, number, rows_of = FileReadMeter(folder), 0, list[tuple[Path, Rows]]()
    for file in files:
        meter.tick()
        in_file = ImportResult()
        table = _read_folder_file(file, in_file, chosen, read)
        rows = [] if table is None else table[0]
        if table is not None:
            if rows_of and opened.shape is not table[1]:
                forms = [shape.name if shape else "a plain text or table" for shape in (opened.shape, table[1])]
                raise SourceError(
                    f"{folder.name}: {rows_of[0][0].name} has the form of {forms[0]}, and {file.name} that of "
                    f"{forms[1]}; give each form a folder of its own"
                )
            opened.shape = table[1]
            rows_of.append((file, [(number + place, row) for place, row in rows]))
        size = sum(len(cell) for _, row in rows for cell in row.values() if isinstance(cell, str))
        meter.count_contents(2 * size, 2 * sum(len(row) for _, row in rows), len(rows))
        for refusal in in_file.refusals:
            name = f"file {shorten_cell(file.relative_to(folder).as_posix())}"
            item = name if refusal.item == WHOLE else f"{refusal.item} of {name}"
            imported.refuse(number + refusal.number, item, refusal.reason)
        imported.empty, imported.not_chosen = imported.empty + in_file.empty, imported.not_chosen + in_file.not_chosen
        imported.notes += in_file.notes
        number += max(1, len(rows), *(refusal.number for refusal in in_file.refusals))
    for place, (entry, reason) in enumerate(refused, start=number + 1):
        imported.refuse(place, f"file {shorten_cell(entry.name)}", reason)
    if not rows_of:
        raise SourceError(f"no text in folder {folder.absolute()}: {EXPECTED}")
    _set_names_from_paths(folder, rows_of, opened.shape, meant)
    for _, rows in rows_of:
        opened.add(rows)


def _read_folder_file(
    file: Path, imported: ImportResult, chosen: SelectRows, read: AdaptRecords
) -> tuple[Rows, ReviewToolFormat | None] | None:
    """Returns (rows, form) of *file* in a folder; a text file is one row. Returns None if the file is refused."""
    try:
        check_file_name_is_utf8(file)
        if file.suffix.lower() in TEXTS:
            text = read_bytes(file, LONGEST_ROW).decode("utf-8-sig")
            if not text.lstrip().startswith(("{", "[{")):
                return [(1, {"review": text})], None
        rows, _ = read_rows(file, imported)
        rows, shape = read(file.name, chosen(rows, file.name), "review", imported)
        return (rows if shape is None else chosen(rows, file.name)), shape
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except OSError as error:
        reason = f"it cannot be read: {error.strerror}"
    except SourceError as error:
        reason = f"not a text nor a file of rows: {str(error).removeprefix(f'{file.name} ')}; {EXPECTED}"
    return imported.refuse(1, WHOLE, reason)


def _set_names_from_paths(
    folder: Path, rows_of: list[tuple[Path, Rows]], shape: ReviewToolFormat | None, meant: MatchPaperId
) -> None:
    """Sets the paper and the reviewer of rows that lack these fields, from the path of the row's file within *folder*.

    A folder name that matches no paper is taken as the reviewer's, unless it is the same for all files.
    """
    parts = {file: file.relative_to(folder).parts for file, _ in rows_of}
    reviewers = {file: "/".join(part for part in names[:-1] if meant(part) is None) for file, names in parts.items()}
    if len(set(reviewers.values())) == 1:
        reviewers = dict.fromkeys(parts, "")
    for file, rows in rows_of:
        _fill_in_paper_ids(rows, parts[file][::-1], meant)
        items = _REVIEW_ITEMS_FILE.match(file.stem) if shape else None
        reviewer = items[1] if items else reviewers[file]
        for _, row in rows if reviewer else ():
            if not {"candidate", "model"} & row.keys():
                row["candidate"] = NOT_IN_A_NAME.sub("-", reviewer)


def _fill_in_paper_ids(rows: Rows, names: Sequence[str], meant: MatchPaperId) -> bool:
    """Sets ``paper_id`` in the *rows* that name no paper, to the first of *names* that refers to a known paper.

    If none does, sets the first of *names* without its extension. Returns whether every row named a paper, or got
    the name of a known one. *names*: the names of the file and of the folders above it, innermost first.
    """
    stem = Path(names[0]).stem
    named = next((name for name in (stem, *names[1:]) if meant(name) is not None), stem)
    nameless = [row for _, row in rows if not any(header_letters(name) in IDS for name in row)]
    for row in nameless:
        row["paper_id"] = named
    return not nameless or meant(named) is not None
