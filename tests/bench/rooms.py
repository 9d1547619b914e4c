"""Prints the size of each package: modules, lines, and lines of code (without blanks, comments or docstrings).

python -m tests.bench.rooms
"""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections import defaultdict

from tests.conftest import ROOT

PLAIN = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING}


def code_lines(source: str) -> int:
    """Returns the number of lines of *source* that contain code."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    strings = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    ]
    documentation = {line for node in strings for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in PLAIN and token.string:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name in listed.stdout.split():
        parts = name.split("/")
        room = "/".join(parts[: 2 if parts[0] == "gre_bench" and len(parts) > 2 else 1])
        source = (ROOT / name).read_text(encoding="utf-8")
        rooms[room].append((len(source.splitlines()), code_lines(source)))
    print(f"{'room':24}{'modules':>8}{'lines':>8}{'code':>8}")
    for room, sizes in sorted(rooms.items()):
        print(f"{room:24}{len(sizes):8}{sum(line for line, _ in sizes):8}{sum(code for _, code in sizes):8}")
    program = [
        size for room, sizes in rooms.items() if room.startswith(("gre_bench", "flows", "tasks")) for size in sizes
    ]
    print(f"{'program':24}{len(program):8}{sum(line for line, _ in program):8}{sum(code for _, code in program):8}")


if __name__ == "__main__":
    main()
