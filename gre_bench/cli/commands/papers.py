"""``gre-bench papers``: reads PDFs, finds text hidden in them, and shows how an edition's papers were read."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandApp, CommandResult
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.commands.running import BAD_INPUT, DONE, open_stored_edition
from gre_bench.cli.views.screen import print_grid, remove_control_characters, say, say_nonempty
from gre_bench.core.errors import SettingsError, SourceError, build_missing_file_error
from gre_bench.core.incoming import read_bytes
from gre_bench.store import Row
from gre_bench.store.queries import SNAPSHOT, TEXT_STATES, TEXT_WORDS

if TYPE_CHECKING:
    from gre_bench.ingest.pdf.text import PageWordCounts

app = CommandApp("Read PDFs, and check how papers were read.")


@app.command()
def parse(
    *,
    quiet: bool,
    files: list[Path] = argument("FILE", "PDFs."),
    statuses: bool = option("--quiet -q", "Statuses only, no texts.", False),
) -> CommandResult:
    """Read PDFs as a run does: status, text, and what was left out.

    Each file is read in its own process, within limits. The text omits what a reader of the pages cannot see. Every
    word is kept, hidden, or dropped by a rule; --json has the counts of each page.

    Statuses: ok; repaired (damaged, all pages read); doubtful (most words dropped, or all words of a page dropped for
    no known reason); truncated (cut off, or pages lost); encrypted, empty, not_a_pdf; scanned (pictures of pages);
    timeout, crashed, too_long. The exit code is 2 if any file is neither ok nor repaired, or does not exist.
    """
    from gre_bench.ingest.pdf.reader import PdfReader
    from gre_bench.ingest.pdf.text import SOUND

    reports, sound = [], True
    with PdfReader() as reader:
        for file, read in reader.read_all(files, _read_pdf_bytes):
            sound = sound and read.status in SOUND
            if quiet:
                reports.append({"file": str(file), **read.to_json()} | ({"text": None} if statuses else {}))
                continue
            say(f"{file}: {read.status}, {read.pages} pages, {len(read.text):,} characters of body")
            say_nonempty(read.format_remarks(), "  ")
            _show_word_counts(read.words)
            if not statuses and read.text:
                parts = (read.title, read.abstract, read.text)
                say("\n" + "\n\n".join(part for part in parts if part) + "\n")
    return CommandResult(reports, lambda _: None, DONE if sound else BAD_INPUT)


@app.command()
def audit(
    *,
    state: Path,
    paper: str = argument("PAPER", "A PDF, or the id of a paper of the edition."),
    out: Path | None = option("--out -o FOLDER", "Folder for the pictures; default: audit-<paper>.", None),
    edition: options.Edition = None,
) -> CommandResult:
    """Show hidden text and instructions to reviewers in a paper.

    Writes index.html with a list of findings, and a picture of each page that has one. Red marks text that is hidden
    and left out; orange marks a visible instruction.
    """
    from gre_bench.ingest.pdf.reader import PdfReader
    from gre_bench.ingest.pdf.text import WHAT_IS_FOUND

    name, data = _find_paper_pdf(paper, edition, state)
    folder = out or Path(f"audit-{name}")
    with PdfReader(children=1) as reader:
        read, pictures = reader.draw(data, folder)
    (folder / "index.html").write_text(_render_findings_page(name, read, pictures), encoding="utf-8")

    def print_answer(_: Any) -> None:
        hidden = f"{read.hidden} of {read.characters:,} characters are hidden"
        say(f"{name}: {read.status}, {read.pages} pages; {hidden}")
        for number, finding in enumerate(read.findings, 1):
            say(f"{number:4} {finding.line()}")
        say_nonempty(read.notes, "     ")
        say(f"list and {len(pictures)} pictures: {folder / 'index.html'}")

    findings = [{**finding, "meaning": WHAT_IS_FOUND[finding["kind"]]} for finding in read.to_json()["findings"]]
    shown = [*map(str, pictures)]
    return CommandResult({"paper": name, "status": read.status, "pictures": shown, "findings": findings}, print_answer)


@app.command()
def texts(state: Path, edition: options.OneEdition = None) -> CommandResult:
    """Show how the papers of an edition were read.

    Counts papers by status. Also counts the words that were kept, and those removed for each reason. The table lists
    papers that are not ok, or have a doubtful or hidden part. --json lists all papers, with these counts for each page.
    """
    store = open_stored_edition(edition, state)
    rows, words = store.read(TEXT_STATES), store.read(TEXT_WORDS)
    by_page: dict[str, dict[int, dict[str, int]]] = {row["paper_id"]: {} for row in rows}
    for row in words:
        by_page[row["paper_id"]].setdefault(row["page"], {})[row["fate"]] = row["words"]
    report = [
        row | {"by_page": [{"page": page, "words": counts} for page, counts in by_page[row["paper_id"]].items()]}
        for row in rows
    ]
    return CommandResult(report, lambda _: _show_text_statuses(rows, words))


def _show_text_statuses(rows: Sequence[Row], words: Sequence[Row]) -> None:
    counts = Counter(f"{row['origin']}: {row['status']}" for row in rows)
    say("; ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no paper was read yet")
    fates: Counter[str] = Counter()
    for row in words:
        fates[row["fate"]] += row["words"]
    if fates:
        parts = ", ".join(f"{fate} {count:,}" for fate, count in fates.most_common())
        say(f"{fates.total():,} words: {parts}")
    numbers = ("pages", "words", "kept", "dropped", "hidden")
    lines = [
        (row["paper_id"], row["status"], *("" if row[name] is None else f"{row[name]:,}" for name in numbers),
         "\n".join(row["notes"]))
        for row in rows
        if row["notes"] or row["status"] != "ok"
    ]  # fmt: skip
    if lines:
        print_grid(("paper", "status", *numbers, "remarks"), lines, left=("paper", "status", "remarks"), fold=True)


def _show_word_counts(pages: Sequence[PageWordCounts]) -> None:
    from gre_bench.ingest.pdf.text import FATES, format_ranges, sum_by_fate

    totals_by_fate = sum_by_fate(pages)
    if not totals_by_fate:
        return
    lines = [
        (f"{count:,}", fate, format_ranges(page.page for page in pages if fate in page.words), FATES[fate])
        for fate, count in totals_by_fate.items()
    ]
    lines += [(f"{sum(totals_by_fate.values()):,}", "all words", "", "")]
    heads = ("words", "fate", "pages", "what that is")
    print_grid(heads, lines, left=heads[1:], fold=True)


def _read_pdf_bytes(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError as error:
        raise SourceError(f"cannot read {file}: {error.strerror}") from None


def _find_paper_pdf(paper: str, edition: str | None, state: Path) -> tuple[str, bytes]:
    """Returns the name and the PDF of *paper*: a path, or an id of a paper of *edition*."""
    from gre_bench.ingest.snapshot import Snapshot
    from gre_bench.pipeline.reading import find_snapshot_folder

    if Path(paper).is_file():
        return Path(paper).stem, _read_pdf_bytes(Path(paper))
    if paper.lower().endswith(".pdf"):
        raise build_missing_file_error(paper)
    store = open_stored_edition(edition, state)
    known = store.read(SNAPSHOT)
    if not known:
        raise SettingsError(f"edition {store.key} has no snapshot, and there is no file {paper}; name a PDF")
    data = Snapshot.open(find_snapshot_folder(store) / known[0]["path"]).pdf(paper)
    if data is None:
        raise SettingsError(f"edition {store.key} has no PDF of a paper {paper}, and there is no such file")
    return paper, data


def _render_findings_page(name: str, read: Any, pictures: list[Path]) -> str:
    """Returns an HTML page about the paper *name*: the findings of *read* and the images *pictures* of its pages."""
    rows = "".join(f"<li>{html.escape(remove_control_characters(finding.line(400)))}</li>" for finding in read.findings)
    notes = "".join(f"<p>{html.escape(remove_control_characters(note))}</p>" for note in read.notes)
    shown = "".join(f'<figure><img src="{picture.name}" alt="{picture.stem}"></figure>' for picture in pictures)
    title = f"{html.escape(name)}: {read.status}, {read.pages} pages, {len(read.findings)} findings"
    style = "body{font:15px sans-serif;max-width:60em;margin:2em auto}img{width:100%;border:1px solid #999}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
        f"<h1>{title}</h1>{notes}<ol>{rows}</ol>{shown}</html>\n"
    )
