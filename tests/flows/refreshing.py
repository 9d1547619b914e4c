"""Shared by the flow tests: a refresh of the sample edition by a scripted evaluation LM, and tables to compare."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

from gre_bench.core import settings
from gre_bench.lm import opening
from gre_bench.pipeline.importing import import_papers, import_reviews
from gre_bench.pipeline.planning import draw_sample
from gre_bench.pipeline.reading import import_sources, read_missing_paper_texts
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job, record_run
from gre_bench.store import Store
from tests.conftest import ROOT, SIXTEEN
from tests.once import once
from tests.scripted_lms import OverlapLM

DEMO = Path(__file__).parent / "given_judgments.toml"
EDITION = "SAMPLE-2026"


def demo(*overrides: str) -> settings.Settings:
    """Settings of the sample edition, scored by the backend ``scripted``."""
    return settings.load(DEMO, ("evaluation_lm.backend=scripted", *overrides))


def use(lm: Any) -> Any:
    """Makes *lm* the backend ``scripted``."""
    opening.BACKENDS.own["scripted"] = lambda _settings: lm
    opening.open_cached_lm.cache_clear()
    return lm


def run(state: Path, *overrides: str, **asked: Any) -> dict[str, Any]:
    """A refresh without the Prefect engine; the summary."""
    return refresh(Job(demo(*overrides), state, **asked))


ONE_REVIEW = ('edition.references="all"', "edition.min_reviews=1", "scoring.metrics=['gem']", "scoring.chance=true")


def one_review(state: Path, seconds: int = 0, judged: bool = True) -> Path:
    """Refreshes *state* with one human review a paper, a second one of the first *seconds* papers, and two models."""
    given = [json.loads(line) for line in (SIXTEEN / "reviews.jsonl").read_text().splitlines()]
    by_paper: dict[str, list[dict[str, Any]]] = {}
    for row in given:
        by_paper.setdefault(row["paper_id"], []).append(row)
    rows: list[dict[str, Any]] = []
    for index, (paper, reviews) in enumerate(by_paper.items()):
        rows += reviews[: 1 + (index < seconds)]
        for name, row in (("model-a", reviews[2]), ("model-b", reviews[3])):
            rows.append(row | {"candidate": name, "review_id": f"{paper}:{name}"})
    if not judged:
        rows = [{name: row[name] for name in row if name not in ("judgments", "writer")} for row in rows]
    state.mkdir(parents=True, exist_ok=True)
    file = state / "reviews.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    use(OverlapLM())
    refresh(Job(demo(f"sources.reviews={file}", *ONE_REVIEW), state))
    return state


def _read_sample(state: Path) -> None:
    job = Job(settings.load(ROOT / "tests" / "flows" / "notes_and_pdfs.toml"), state)
    store = Store(state, job.settings.edition.edition)
    with store.lock("test"), record_run(store, "test", job.settings, shown=False) as progress:
        import_sources(store, progress.run_id, job.settings)
        draw_sample(store, job.settings.edition)
        read_missing_paper_texts(store, job, progress)
        store.write(("empty_draws", {}), ("empty_sample", {}))
        progress.end("done")


def with_papers_read(state: Path) -> Path:
    """*state*, new, with the sample's notes imported and its PDFs read: what most tests of later stages start from."""
    if not (state / "editions").exists():
        for name in ("editions", "snapshots"):
            shutil.copytree(once("sample-read", _read_sample) / name, state / name)
    return state


def _refresh_sample(state: Path) -> None:
    asked_for = opening.BACKENDS.get("scripted")
    use(OverlapLM())
    run(state)
    if asked_for:
        opening.BACKENDS.own["scripted"] = asked_for
    opening.open_cached_lm.cache_clear()


def refreshed(state: Path) -> Path:
    """*state*, new, as a `run` by an `OverlapLM` leaves it: what most tests of later runs start from."""
    return shutil.copytree(once("sample-refreshed", _refresh_sample), state, dirs_exist_ok=True)


def add_reviews(state: Path, rows: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Imports *rows* into the sample edition; the report."""
    return _import(import_reviews, state, rows, options)


def add_papers(state: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return _import(import_papers, state, rows, {})


def _import(work: Any, state: Path, rows: list[dict[str, Any]], options: dict[str, Any]) -> dict[str, Any]:
    file = state / "rows.jsonl"
    state.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    store = Store(state, EDITION)
    with store.lock("import"), record_run(store, "import", demo(), shown=False) as progress:
        report = work(store, progress.run_id, file, **options)
        progress.end("done")
    return report


def query(state: Path, text: str, edition: str = EDITION) -> list[tuple[Any, ...]]:
    """Rows of a statement on the store itself."""
    with Store(state, edition).transaction() as connection:
        return connection.execute(text).fetchall()


def tables(state: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a run leaves, run ids and times aside, in a fixed order."""
    asked = {
        "pairs": "from pairs order by all",
        "sample": "from sample order by all",
        "spans": "from spans order by lm_id, prediction",
        "scores": "select * exclude (run_id) from scores order by all",
        "signatures": "from signatures order by all",
        "separation": "from separation order by all",
        "leaderboard": "from leaderboard order by signature_id, candidate",
    }
    with Store(state, EDITION).transaction() as connection:
        return {name: connection.execute(text).fetchall() for name, text in asked.items()}


def assert_same(found: dict[str, list[tuple[Any, ...]]], expected: dict[str, list[tuple[Any, ...]]]) -> None:
    """Same rows, states and reasons; numbers within 1e-6 relative (the database adds in its threads' order)."""
    for name, rows in expected.items():
        assert len(found[name]) == len(rows), name
        for row, wanted in zip(found[name], rows, strict=True):
            assert [type(value) for value in row] == [type(value) for value in wanted], name
            for value, other in zip(row, wanted, strict=True):
                close = isinstance(value, float) and math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-12)
                assert close or value == other, (name, row, wanted)


def reviews_by(model: str, papers: range = range(1, 17), writer: str = "sample-author") -> list[dict[str, Any]]:
    """One review of each sample paper by a made-up candidate."""
    return [
        {
            "paper_id": f"s{n:02d}",
            "candidate": model,
            "writer": writer,
            "review": f"Review {n} of {model}.",
            "judgments": f"The reviewer appreciates the experiments of paper {n}.\nThe reviewer questions the seeds.",
        }
        for n in papers
    ]
