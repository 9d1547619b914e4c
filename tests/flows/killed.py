"""A refresh in a process of its own, slow enough to be killed at work."""

from __future__ import annotations

from pathlib import Path

from tests.flows.refreshing import run, use
from tests.scripted_lms import OverlapLM

PAUSE_S = 0.004
"""A scripted prediction takes this long: all of the sample edition about one second."""


def refresh_slowly(state: str, *overrides: str) -> None:
    use(OverlapLM(pause_s=PAUSE_S))
    run(Path(state), "run.chunk_papers=1", "run.read_copy_every_s=0", *overrides)


if __name__ == "__main__":
    use(OverlapLM(pause_s=PAUSE_S))
    from flows.cli import main

    main()
