"""Counts a real LM's replies by purpose: asked, used, failed and why.

Run it as `python -m tests.bench.replies_by_purpose MODEL MODELS_FILE STATE [TOKENS] [PAPERS] [REVIEWS]`. MODEL is an
entry of the models file, whose endpoint is used. STATE stores the replies, so that after a change of the reply parsers,
the same command prints the table again without requests. TOKENS (160): the longest reply. PAPERS (2): papers of the
sample, with REVIEWS (2) each. There is one request per item. Replies are truncated at TOKENS even if their purpose
allows more.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gre_bench.writing.writers import WriterContext
from tests.writing.purposes import frugal, sample_texts, tallies


def main(name: str, models: str, state: str, tokens: str = "160", papers: str = "2", reviews: str = "2") -> None:
    context, began = WriterContext(Path(state) / "replies", Path(models)), time.monotonic()
    print("| purpose | asked | used | failed, by reason | requests | cut at the limit |\n|---|---|---|---|---|---|")
    asked = used = requests = 0
    with frugal(int(tokens)):
        for tally in tallies(name, context, sample_texts(int(papers), int(reviews))):
            print(tally.row, flush=True)
            asked, used = asked + tally.asked, used + tally.used
            requests += sum(tally.replies.values())
    print(f"{used} of {asked} used; {requests} requests sent in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
