"""Commands and options that were removed, and what to use instead."""

from __future__ import annotations

import re

_SIGN = "sign the file SHA256SUMS of the release with minisign, cosign or gpg"
INSTEAD = {
    "compare --benchmarks": "docs/query.md has the SQL statement that correlates a board with other values",
    "models bench scoring --shape": "name the folder of a model of that shape: --model FOLDER",
    "new --no-prefect": "gre-bench new never starts Prefect: leave the option out",
    "plan --all": "for a published board, give its settings: gre-bench plan ICLR 2023 --settings papers/004_board",
    "plan --host": "name the host with --set fetch.host=URL",
    "plan --rates": "gre-bench models bench scoring prints the hours of an edition",
    "publish --recount": "gre-bench why scores the pairs of a candidate again",
    "publish --seed": "gre-bench why scores the pairs of a candidate again",
    "publish --sign": _SIGN,
    "study claims": "write what you want to test as contrasts: gre-bench compare EDITION --contrasts FILE",
    "study guidelines quality --without-dates": "take the dates out of the notes: reviews without one have no total",
    "study hygiene": "gre-bench study references",
    "study known-answers": "from a clone of the repository, run: python -m tests.simulations.known_answers",
    "verify --key": "check the signature with the tool that made it: minisign, cosign or gpg",
    "verify --log-head": _SIGN,
    "verify --public": "gre-bench publish makes a release with the texts that may be passed on",
    "verify --store": "gre-bench publish says whether the latest release holds what the store holds",
}
"""Removed command or option, without the program's name → what to use instead."""


def find_replacement(command: str, message: str) -> str | None:
    """Returns a line that names the replacement if *message* names something removed; None otherwise.

    *message*: a usage error of *command*.
    """
    named = re.match(r"No such (?:command '|option: )([\w-]+)", message)
    gone = " ".join((*command.split()[1:], named[1])) if named else ""
    return f"{gone} is gone; {INSTEAD[gone]}" if gone in INSTEAD else None
