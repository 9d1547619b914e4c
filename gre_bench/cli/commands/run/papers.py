"""``gre-bench papers``: reads PDFs, finds text hidden in them, and shows how an edition's papers were read."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.running import stored_edition
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError, SourceError, no_file
from gre_bench.core.incoming import read_bytes
from gre_bench.store import Row
from gre_bench.store.queries import SNAPSHOT, TEXT_STATES, TEXT_WORDS

if TYPE_CHECKING:
    from gre_bench.ingest.pdf.text import PageWords

UNSOUND = 2

app = Commands("Read PDFs, and check how papers were read.")

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="PDFs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Statuses only, no texts.")]
PaperOrFile = Annotated[str, typer.Argument(metavar="PAPER", help="A PDF, or the id of a paper of the edition.")]
Pictures = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the pictures; default: audit-<paper>."),
]


@app.command()
def parse(
    files: Files,
    quiet: Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Read PDFs as a run does: status, text, and what was left out.

    Each file is read in its own process, within limits. The text omits what a reader of the pages cannot see. Every
    word is kept, hidden, or dropped by a rule; --json has the counts of each page.

    Statuses: ok; repaired (damaged, all pages read); doubtful (most words dropped, or a page without a reason);
    truncated (cut off, or pages lost); encrypted, empty, not_a_pdf; scanned (pictures of pages); timeout, crashed,
    too_long. The exit code is 2 if any file is neither ok nor repaired, or does not exist.
    """
    from gre_bench.ingest.pdf.reader import PdfReader
    from gre_bench.ingest.pdf.text import SOUND

    reports, sound = [], True
    with PdfReader() as reader:
        for file, read in reader.read_all(files, _bytes):
            sound = sound and read.status in SOUND
            if as_json:
                reports.append({"file": str(file), **read.to_json()} | ({"text": None} if quiet else {}))
                continue
            screen.say(f"{file}: {read.status}, {read.pages} pages, {len(read.text):,} characters of body")
            for remark in read.remarks():
                screen.say(f"  {remark}")
            _show_words(read.words)
            if not quiet and read.text:
                parts = (read.title, read.abstract, read.text)
                screen.say("\n" + "\n\n".join(part for part in parts if part) + "\n")
    if as_json:
        screen.print_json(reports)
    raise typer.Exit(0 if sound else UNSOUND)


@app.command()
def audit(
    paper: PaperOrFile,
    out: Pictures = None,
    edition: options.Edition = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Show hidden text and instructions to reviewers in a paper.

    Writes index.html with a list of findings, and a picture of each page that has one. Red marks text that is hidden
    and left out; orange marks a visible instruction.
    """
    from gre_bench.ingest.pdf.audit.findings import MEANING
    from gre_bench.ingest.pdf.reader import PdfReader

    name, data = _paper(paper, edition, state)
    folder = out or Path(f"audit-{name}")
    with PdfReader(children=1) as reader:
        read, pictures = reader.draw(data, folder)
    (folder / "index.html").write_text(_page(name, read, pictures), encoding="utf-8")
    if as_json:
        shown = [*map(str, pictures)]
        return screen.print_json({"paper": name, "status": read.status, "pictures": shown, "findings": [
            {**finding, "meaning": MEANING[finding["kind"]]} for finding in read.to_json()["findings"]
        ]})  # fmt: skip
    screen.say(f"{name}: {read.status}, {read.pages} pages; {read.hidden} of {read.characters:,} characters are hidden")
    for number, finding in enumerate(read.findings, 1):
        screen.say(f"{number:4} {finding.line()}")
    for note in read.notes:
        screen.say(f"     {note}")
    screen.say(f"list and {len(pictures)} pictures: {folder / 'index.html'}")


@app.command()
def texts(
    edition: options.OneEdition = None, state: options.State = Path("state"), as_json: options.Json = False
) -> None:
    """Show how the papers of an edition were read.

    Counts papers by status, and words by fate (kept, hidden, dropped). The table lists the papers that are not ok, and
    those with a doubtful or hidden part. --json lists all papers, with the words of each page by fate.
    """
    store = stored_edition(edition, state)
    rows, words = store.read(TEXT_STATES), store.read(TEXT_WORDS)
    if as_json:
        by_page: dict[str, dict[int, dict[str, int]]] = {row["paper_id"]: {} for row in rows}
        for row in words:
            by_page[row["paper_id"]].setdefault(row["page"], {})[row["fate"]] = row["words"]
        return screen.print_json(
            [
                row
                | {"by_page": [{"page": page, "words": counts} for page, counts in by_page[row["paper_id"]].items()]}
                for row in rows
            ]
        )
    counts = Counter(f"{row['origin']}: {row['status']}" for row in rows)
    screen.say("; ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no paper was read yet")
    _show_fates(words)
    table = Table(box=None, padding=(0, 1))
    numbers = ("pages", "words", "kept", "dropped", "hidden")
    for head in ("paper", "status", *numbers, "remarks"):
        table.add_column(head, justify="right" if head in numbers else "left", overflow="fold")
    for row in rows:
        if row["notes"] or row["status"] != "ok":
            remarks = "\n".join(screen.escape(note) for note in row["notes"])
            shown = [f"{row[name]:,}" if row[name] is not None else "" for name in numbers]
            table.add_row(*map(screen.escape, (row["paper_id"], row["status"], *shown)), remarks)
    if table.row_count:
        screen.out.print(table)


def _show_words(pages: Sequence[PageWords]) -> None:
    """Prints a table of what happened to the words of a file: kept, hidden, or dropped and why, and on which pages.

    *pages* counts the words of each page.
    """
    from gre_bench.ingest.pdf.text import FATES, ranges, totals

    totals_by_fate = totals(pages)
    if not totals_by_fate:
        return
    table = Table(box=None, padding=(0, 1))
    table.add_column("words", justify="right")
    for head in ("fate", "pages", "what that is"):
        table.add_column(head, overflow="fold")
    for fate, count in totals_by_fate.items():
        table.add_row(f"{count:,}", fate, ranges(page.page for page in pages if fate in page.words), FATES[fate])
    table.add_row(f"{sum(totals_by_fate.values()):,}", "all words")
    screen.out.print(table)


def _show_fates(rows: Sequence[Row]) -> None:
    """Prints in one line how many words of an edition's papers were kept, hidden and dropped.

    Each of *rows* has *fate* (such as ``kept``) and *words*, the number of words with that fate.
    """
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["fate"]] += row["words"]
    if counts:
        parts = ", ".join(f"{fate} {count:,}" for fate, count in counts.most_common())
        screen.say(f"{counts.total():,} words: {parts}")


def _bytes(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError as error:
        raise SourceError(f"cannot read {file}: {error.strerror}") from None


def _paper(paper: str, edition: str | None, state: Path) -> tuple[str, bytes]:
    """Returns the name of a paper and the bytes of its PDF.

    *paper* is the path of a PDF, or the id of a paper of *edition*. Raises `SettingsError` or `SourceError` if there is
    no such PDF.
    """
    from gre_bench.ingest.snapshot import Snapshot
    from gre_bench.pipeline.reading import snapshots

    if Path(paper).is_file():
        return Path(paper).stem, _bytes(Path(paper))
    if paper.lower().endswith(".pdf"):
        raise no_file(paper)
    store = stored_edition(edition, state)
    known = store.read(SNAPSHOT)
    if not known:
        raise SettingsError(f"edition {store.key} has no snapshot, and there is no file {paper}; name a PDF")
    data = Snapshot.open(snapshots(store) / known[0]["path"]).pdf(paper)
    if data is None:
        raise SettingsError(f"edition {store.key} has no PDF of a paper {paper}, and there is no such file")
    return paper, data


def _page(name: str, read: Any, pictures: list[Path]) -> str:
    """Returns an HTML page about one paper.

    - *name*: the name of the paper.
    - *read*: the result of reading its PDF, whose findings the page lists.
    - *pictures*: the image files of its pages.
    """
    rows = "".join(f"<li>{html.escape(screen.plain(finding.line(400)))}</li>" for finding in read.findings)
    notes = "".join(f"<p>{html.escape(screen.plain(note))}</p>" for note in read.notes)
    shown = "".join(f'<figure><img src="{picture.name}" alt="{picture.stem}"></figure>' for picture in pictures)
    title = f"{html.escape(name)}: {read.status}, {read.pages} pages, {len(read.findings)} findings"
    style = "body{font:15px sans-serif;max-width:60em;margin:2em auto}img{width:100%;border:1px solid #999}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style}</style>'
        f"<h1>{title}</h1>{notes}<ol>{rows}</ol>{shown}</html>\n"
    )
