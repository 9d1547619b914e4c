"""Compares the information of points in GPT-4 reviews with an LM's alignment: did a human make the same point?

    python -m tests.bench.bench_points ../shared/data/marg-30papers [--backend gem-smollm2]

The folder holds comments of six review methods on 30 papers, comments of the human reviewers, and alignments between
the two by an LM, not by people. Prints the table of `gre-bench study points` in Markdown, over the papers that neither
the evaluation LM nor the writer by rule was trained on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from pathlib import Path

from gre_bench.cli.views.study_screens import SCORE_NAMES, format_auc
from gre_bench.core import settings
from gre_bench.core.metrics import find_recipe
from gre_bench.ingest.records.tables import parse_ordered_labels
from gre_bench.pipeline.importing import import_labelled_points, import_papers, import_reviews
from gre_bench.pipeline.runs.job import Job, record_run
from gre_bench.store import Store
from gre_bench.studies.points import score_labelled_points

EDITION = "MARG-2020"
RELATED = ("none", "low", "medium", "high")


def rows_of(folder: Path) -> dict[str, list[dict[str, object]]]:
    """Returns the papers, human reviews and labelled points of *folder* as rows for an import."""
    papers, reviews, points = {}, {}, []
    for file in sorted(folder.glob("*.all_results.json.gz")):
        for item in json.loads(gzip.decompress(file.read_bytes())):
            name = item["doc_id"]
            papers[name] = {"paper_id": name}
            for place, comments in enumerate(item["reference_comments"], 1):
                reviews[f"{name}-{place}"] = {
                    "paper_id": name, "review_id": f"{name}-{place}", "review": "\n".join(comments),
                }  # fmt: skip
            related: dict[str, str] = {}
            for aligned in item["alignments"].get("all", []):
                text = aligned["predicted_comment"]
                related[text] = max(related.get(text, "none"), aligned["relatedness"], key=RELATED.index)
            points += [
                {"paper_id": name, "candidate": file.name.partition(".")[0], "point": text, "aligned": text in related,
                 "relatedness": related.get(text, "none")}
                for group in item["generated_comments"].values() for text in group
            ]  # fmt: skip
    return {"papers": list(papers.values()), "reviews": [row for row in reviews.values() if row["review"]],
            "points": points}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backend", default="cache-ngram")
    asked = parser.parse_args()
    chosen = settings.load(
        None,
        ("edition.venue=MARG", "edition.year=2020", "writing.judgments=rule", 'scoring.metrics=["gem"]',
         f"evaluation_lm.backend={asked.backend}"),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as state:
        store, files = Store(Path(state), EDITION), {}
        for name, rows in rows_of(asked.folder).items():
            files[name] = Path(state) / f"{name}.jsonl"
            files[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
        with store.lock("import"), record_run(store, "import", chosen, shown=False) as progress:
            import_papers(store, progress.run_id, files["papers"])
            import_reviews(store, progress.run_id, files["reviews"], "human")
            orders = parse_ordered_labels((f"relatedness={','.join(RELATED)}",))
            import_labelled_points(store, progress.run_id, files["points"], orders)
            progress.end("done")
        summary = score_labelled_points(Job(chosen, Path(state)))
    print("| label | points, papers | score | all points | within papers |\n| --- | --- | --- | --- | --- |")
    for label in summary["labels"]:
        for row in label["rows"]:
            score = SCORE_NAMES[row["score"]].removeprefix("· ")
            score = f"{find_recipe(row['metric']).title}: {score}" if row["metric"] else score
            count = f"{label['points']:,}, {label['papers']}"
            print(f"| {label['label']} | {count} | {score} | {format_auc(row, '')} | {format_auc(row, 'within_')} |")
    for note in summary["notes"]:
        print(note)


if __name__ == "__main__":
    main()
