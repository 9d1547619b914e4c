"""The syntax of the project's modules, parsed once for all the tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the module *path*."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
