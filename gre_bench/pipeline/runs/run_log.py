"""The machine-readable log of a run: one JSON object per line in ``state/logs/RUN.jsonl``.

Each line names the edition and the run. A line is written at once, so it survives if the run is killed. Secrets are
removed from every text. Nothing is read from the log: the store decides what is done. If the log cannot be written, the
run continues, and the run's status names no log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gre_bench.pipeline.runs.secrets import without

FOLDER = "logs"


class RunLog:
    """The log of the run *run_id* of *edition*, in the folder *state*.

    *secrets*: texts that are removed from every line. ``path``: the log's file; None after a line could not be written.
    """

    def __init__(self, state: Path, edition: str, run_id: str, secrets: Sequence[str] = ()):
        self.path: Path | None = state / FOLDER / f"{run_id}.jsonl"
        self._ids = {"edition": edition, "run": run_id}
        self._secrets = tuple(secrets)

    def tell(self, event: str, **more: Any) -> None:
        """Appends a line: the time (UTC), the edition, the run, the name *event*, and the event's details *more*."""
        if self.path is None:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps(self._clean({"at": at, **self._ids, "event": event, **more}), default=str)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            self.path = None

    def _clean(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._clean(part) for name, part in value.items()}
        if isinstance(value, str):
            return without(self._secrets, value)
        return value
