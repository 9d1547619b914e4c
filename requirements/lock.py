"""Writes the lock files beside this one: every package that an installation takes, with the SHA-256 of its files.

    make lock

Versions come from constraints.txt, hashes from pypi.org, the resolution from uv. torch of PyPI for Linux is built for
CUDA, whose libraries are gigabytes: torch.txt holds both, torch-cpu.txt the CPU build for those whose index has it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
INDEX = "https://pypi.org/simple"
BUILD = ("setuptools>=80", "uv==0.13.9")
"""What builds the project, and those of its packages that come as source alone; and what installs them quickly."""
TORCH = re.compile(r"(cuda|nvidia)-|(torch|triton)$")
CPU_BUILD = {"torch==2.13.0": "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"}
"""SHA-256 of the CPU build of a version, which is not on PyPI: for Linux, x86-64, Python 3.11."""
HEAD = "# Made by `make lock` from pyproject.toml and constraints.txt; do not edit.\n"


def resolved(uv: str, *sources: str, given: str = "") -> dict[str, str]:
    """The blocks of a lock file of *sources* by the name and version that each begins with."""
    command = [uv, "pip", "compile", *sources, "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--constraint", "constraints.txt", "--default-index", INDEX]
    command += ["--no-header", "--no-annotate", "--quiet"]
    found = subprocess.run(command, cwd=FOLDER.parent, input=given, capture_output=True, text=True)
    if found.returncode:
        sys.exit(found.stderr)
    blocks = re.split(r"\n(?=\S)", found.stdout.strip())
    return {block.split()[0]: block for block in blocks if not block.startswith("#")}


def _is_torch(name: str) -> bool:
    return bool(TORCH.match(name.split("==")[0]))


def main() -> None:
    uv = sys.argv[1]
    build = "\n".join(BUILD)
    base = resolved(uv, "pyproject.toml", "-", given=build)
    test = resolved(uv, "pyproject.toml", "--extra", "test", "-", given=build)
    tokenizer = resolved(uv, "pyproject.toml", "--extra", "tokenizer", "-", given=build)
    lint = resolved(uv, "pyproject.toml", "--extra", "lint", "-", given=build)
    docs = resolved(uv, "pyproject.toml", "--extra", "docs", "-", given=build)
    locks = {
        "build": resolved(uv, "-", given=build),
        "base": base,
        "tokenizer": {name: block for name, block in tokenizer.items() if name not in base},
        "test": {name: block for name, block in test.items() if not _is_torch(name)},
        "lint": {name: block for name, block in lint.items() if name not in test},
        "docs": {name: block for name, block in docs.items() if name not in base},
        "torch": {name: block for name, block in test.items() if _is_torch(name)},
        "torch-cpu": {
            name: f"{name}+cpu \\\n    --hash=sha256:{CPU_BUILD[name]}" for name in test if name in CPU_BUILD
        },
    }
    for name, blocks in locks.items():
        (FOLDER / f"{name}.txt").write_text(HEAD + "\n".join(blocks.values()) + "\n", encoding="utf-8")
        print(f"requirements/{name}.txt: {len(blocks)} packages")


if __name__ == "__main__":
    main()
