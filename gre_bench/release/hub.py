"""Turns the folder of a release into a data set for the Hugging Face Hub, by adding three files.

- ``README.md``: the card. It has a configuration for each table that has rows; the board comes first.
- ``eval.yaml``: the benchmark, with a task for each metric (https://huggingface.co/docs/hub/eval-results).
- ``croissant.json``: the tables and their columns (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html).

All three are made from the boards, the manifest and the tables. They do not state the release's URL, which is unknown
when the release is published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import yaml
from pyarrow import parquet

from gre_bench.board.words import RANKED_APART, format_p_value
from gre_bench.core.records import parse_edition_key
from gre_bench.core.terminal import format_markdown_cell, format_markdown_table
from gre_bench.core.whole_files import sha256
from gre_bench.release.pages.board_page import Board, BoardEntry, format_signed_number
from gre_bench.release.public_tables import FOLDER
from gre_bench.release.site import LEAD, TABLES, format_citation

CARD, EVAL, CROISSANT = "README.md", "eval.yaml", "croissant.json"
_CROISSANT = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject"),
    *("fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _CROISSANT},
}
"""The JSON-LD context that the specification prescribes for a Croissant file."""
LICENCE = "Scores are free to use. Texts keep the licence that their authors gave them: see index.html, Licences"


def write_hub_files(boards: Sequence[Board], tables: Path, target: Path, about: Mapping[str, Any]) -> None:
    """Writes ``README.md``, ``eval.yaml`` and ``croissant.json`` to the folder *target*.

    - *boards*: the boards of the release, in the order of its page. *about*: the release's manifest.
    - *tables*: the folder whose subfolder ``tables`` has the release's Parquet files.
    """
    with_rows = [name for name, count in about["tables"].items() if count]
    names = [name for name in dict.fromkeys(["board", *TABLES, *with_rows]) if name in with_rows]
    written = {
        CARD: _render_card(boards, names, about),
        EVAL: _format_yaml(_build_benchmark(boards, about)),
        CROISSANT: json.dumps(_build_croissant(names, tables, about), indent=1, ensure_ascii=False) + "\n",
    }
    for name, text in written.items():
        (target / name).write_text(text, encoding="utf-8")


def _format_yaml(tree: Mapping[str, Any]) -> str:
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=120)


def _format_title(about: Mapping[str, Any]) -> str:
    return f"GRE-bench {about['release']}"


def _render_card(boards: Sequence[Board], names: Sequence[str], about: Mapping[str, Any]) -> str:
    head = {
        "pretty_name": _format_title(about),
        "license": "other",
        "license_name": "scores-free-texts-as-their-authors-state",
        "license_link": "index.html",
        "language": ["en"],
        "tags": ["benchmark", "leaderboard", "peer-review", "gre-bench"],
        "configs": [
            {"config_name": name, "data_files": [{"split": "test", "path": f"{FOLDER}/{name}.parquet"}]}
            | ({"default": True} if name == names[0] else {})
            for name in names
        ],
    }
    parts = [f"---\n{_format_yaml(head)}---", f"# {_format_title(about)}", LEAD, *map(_render_board_section, boards)]
    load = f'datasets.load_dataset(FOLDER, "{names[0]}", split="test")'
    parts += [
        "## Read it",
        f"```python\n{load}\n```",
        "`index.html` is the board as a page. `views.sql` opens all tables in DuckDB. `SHA256SUMS` lists the digest of "
        "every file, and `gre-bench verify FOLDER --again` makes the numbers again from the release's own pairs.",
        f"Texts: {about['texts']}. {LICENCE}.",
        "## Cite it",
        f"```bibtex\n{format_citation(about)}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _render_board_section(board: Board) -> str:
    parts = [f"## {format_markdown_cell(board.title)}", format_markdown_cell(board.answer)]
    parts.append(f"The metric: {format_markdown_cell(board.validation)}.")
    shown = [entry for entry in board.entries if entry.mean is not None]
    parts.append(_render_board_table(board, [entry for entry in shown if not entry.group]))
    for group, line in board.groups.items():
        parts += [f"Group {format_markdown_cell(group)}, {RANKED_APART}: {format_markdown_cell(line)}"]
        parts += [_render_board_table(board, [entry for entry in shown if entry.group == group])]
    return "\n\n".join(filter(None, parts))


def _render_board_table(board: Board, entries: Sequence[BoardEntry]) -> str:
    heads = ["rank", "candidate", f"score ({board.unit})", "vs human", "p"]
    rows = (
        [
            entry.ranks or "–",
            format_markdown_cell(entry.candidate),
            format_signed_number(entry.mean),
            _format_lead_with_interval(entry),
            format_p_value(entry.p),
        ]
        for entry in entries
    )
    return "\n".join(format_markdown_table(heads, rows))


def _format_lead_with_interval(entry: BoardEntry) -> str:
    if entry.difference is None or entry.difference_low is None or entry.difference_high is None:
        return ""
    value, low, high = map(format_signed_number, (entry.difference, entry.difference_low, entry.difference_high))
    return f"{value} ({low} to {high})"


def _build_benchmark(boards: Sequence[Board], about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _format_title(about),
        "description": LEAD,
        "evaluation_framework": "gre-bench",
        "tasks": [{"id": board.metric, "config": "board", "split": "test"} for board in boards],
    }


def _build_croissant(names: Sequence[str], tables: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    files = {name: tables / FOLDER / f"{name}.parquet" for name in names}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": about["release"],
        "description": LEAD,
        "license": LICENCE,
        "version": f"{about['release'].rpartition('-r')[2]}.0.0",
        "datePublished": str(parse_edition_key(about["edition"]).year),
        "url": "index.html",
        "citeAs": format_citation(about),
        "distribution": [_describe_file(name, path) for name, path in files.items()],
        "recordSet": [_describe_records(name, parquet.read_schema(path)) for name, path in files.items()],
    }


def _describe_file(name: str, path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}.parquet",
        "name": f"{name}.parquet",
        "contentUrl": f"{FOLDER}/{name}.parquet",
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256(path),
    }


def _describe_records(name: str, schema: pyarrow.Schema) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": TABLES.get(name, f"the table {name}"),
        "field": list(_describe_fields(name, schema)),
    }


def _describe_fields(table: str, schema: pyarrow.Schema) -> Iterator[dict[str, Any]]:
    for column in schema:
        kind = column.type
        listed = pyarrow.types.is_list(kind)
        yield {
            "@type": "cr:Field",
            "@id": f"{table}/{column.name}",
            "name": column.name,
            "dataType": _find_croissant_type(kind.value_type if listed else kind),
            "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column.name}},
            **({"isArray": True, "arrayShape": "-1"} if listed else {}),
        }


def _find_croissant_type(kind: pyarrow.DataType) -> str:
    types = pyarrow.types
    if types.is_boolean(kind):
        return "sc:Boolean"
    if types.is_integer(kind):
        return "sc:Integer"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "sc:Float"
    return "sc:Date" if types.is_date(kind) or types.is_timestamp(kind) else "sc:Text"
