"""The table that `tests/gpu/prove.sh` ends in, from the files of its folder; exit code 1 if a step failed.

With ``--judgments``: the human reviews of the sample, numbered by paper, as `gre-bench models tune` reads them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

GROWN = ("papers", "wall_s", "peak_memory_bytes")


def scoring(found: dict) -> str:
    """Speed of the engine, beside one text at a time, and how memory grows with the number of papers."""
    trie, more = found["methods"]["trie"], ""
    if trie["peak_fraction"] is not None:
        more = f", {trie['peak_fraction']:.0%} of {found['matmul_peak_tflops']:.1f} TFLOP/s"
    more += f", an edition in {trie['hours_per_edition']:.1f} h"
    if grown := found.get("growth"):
        ratios = {key: grown[-1][key] / grown[0][key] for key in grown[0] if key in GROWN and grown[0][key]}
        more += f"; {ratios['papers']:.0f} times the papers: {ratios['wall_s']:.1f} times the seconds"
        if "peak_memory_bytes" in ratios:
            more += f", memory {ratios['peak_memory_bytes']:.2f} times"
    return (
        f"{trie['pairs_per_s']:.1f} pairs/s, {trie['wall_ratio']:.2f} times one by one at a work ratio of "
        f"{trie['work_ratio']:.2f}{more}"
    )


def told(name: str, folder: Path) -> str:
    """What the step *name* found, in one line."""
    text = (folder / f"{name}.out").read_text()
    if name == "kernels":
        return text.strip().splitlines()[-1]
    found = json.loads(text)
    if name != "training":
        return f"{found['model']}: {scoring(found)}"
    before, after = found["loss"]["held out before"], found["loss"]["held out after"]
    return f"{found['steps']} steps: held-out loss {before:.3f} to {after:.3f} nats a token"


def judgments() -> None:
    """Prints the sample's human reviews as JSON lines with the number of their paper as ``row``."""
    rows = [json.loads(line) for line in Path("data/sample/reviews.jsonl").read_text().splitlines()]
    papers = {paper: number for number, paper in enumerate(dict.fromkeys(row["paper_id"] for row in rows))}
    for row in rows:
        if row.get("candidate") == "human":
            print(json.dumps({**row, "row": papers[row["paper_id"]]}))


def main() -> None:
    if sys.argv[1] == "--judgments":
        return judgments()
    folder, failed = Path(sys.argv[1]), False
    for line in (folder / "steps").read_text().splitlines():
        name, code, seconds = line.split()
        if code == "0":
            said = told(name, folder)
        elif code == "skipped":
            said = "skipped"
        else:
            failed, said = True, f"failed with exit code {code}; see {folder / name}.err"
        print(f"{name:9} {seconds:>4} s  {said}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
