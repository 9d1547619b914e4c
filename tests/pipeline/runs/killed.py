"""A refresh in a process of its own, slow enough to be killed at work, or held there until a test lets it go on."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from tests.flows.refreshing import run, use
from tests.scripted_lms import OverlapLM

PAUSE_S = 0.004
"""A scripted prediction takes this long: all of the sample edition about one second."""


def refresh_slowly(state: str, held_at: Path | None = None, *overrides: str) -> None:
    use(OverlapLM(pause_s=PAUSE_S, held_at=held_at))
    run(Path(state), "run.chunk_papers=1", "run.read_copy_every_s=0", *overrides)


def refresh_until_a_reply(state: str, overrides: tuple[str, ...]) -> None:
    """A refresh of two papers, killed when an LM's first replies are kept and not yet used."""
    from gre_bench.writing import writers
    from tests.pipeline import test_writing

    kept = writers.LMTextWriter._write_with_retries

    def dying(*given: Any) -> None:
        kept(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    writers.LMTextWriter._write_with_retries = dying  # type: ignore[assignment,method-assign]
    use(OverlapLM())
    test_writing.run(Path(state), *overrides, limit=2)


if __name__ == "__main__":
    file = os.environ.get("SCRIPTED_LM_HELD_AT")
    use(OverlapLM(pause_s=PAUSE_S, held_at=Path(file) if file else None))
    from gre_bench.cli.app import main

    main()
