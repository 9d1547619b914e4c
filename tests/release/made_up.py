"""An edition of made-up scores by the models of the shipped models file, for pages and releases of any size."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa

from gre_bench.catalogs import models
from gre_bench.core.controls import CONTROLS
from gre_bench.core.records import LMIdentity, Signature, parse_edition_key
from gre_bench.core.settings import Settings, load_recorded_settings
from gre_bench.pipeline.ranking import store_contamination, store_rank_statistics
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.release.release_store import ReleaseStore
from gre_bench.store import Store, now
from gre_bench.store.queries import CURRENT_SIGNATURES

EDITION = "ICLR-2025"
FREE = ("A paper under a free licence",)
METRICS = ("gem", "gem_s_abstract", "gem_s_assw")
LM = LMIdentity("made-up", "0" * 64, "1", "float32")
WORDS = "The reviewer appreciates the clear writing . \n The reviewer questions the choice of baselines ."


def store_of(state: Path) -> Store:
    """The store of the edition that tests share."""
    return Store(state, EDITION)


def release_store_of(state: Path) -> ReleaseStore:
    """Its releases."""
    return ReleaseStore(state / "releases", EDITION)


def change(store: Store, *statements: str) -> None:
    """Changes the edition itself, by each of the *statements*, and shows it to readers."""
    with store.lock("change"):
        for statement in statements:
            with store.transaction() as run:
                run.execute(statement)
        store.copy_for_readers()


def signature(metric: str) -> Signature:
    """The signature of a made-up metric's scores."""
    return Signature(metric, "p", LM.name, LM.digest, LM.dtype, LM.quantisation, LM.attention, LM.template_digest,
                     "made-up-writer", "none", "as_written", "none", False, LM.engine_version)  # fmt: skip


def make(state: Path, edition: str = "ICLR-2025", papers: int = 30, candidates: int = 21, tokens: int = 0,
         titles: tuple[str, ...] = (), names: tuple[str, ...] = (), metrics: tuple[str, ...] = METRICS) -> Store:  # fmt: skip
    """The store: humans, models (or controls) by *names* (those of the models file if not given), two references a paper.

    *tokens*: of each reference, with log-probabilities, if there are to be any. *titles*: of the first papers, which
    are under a free licence. It has the tests of ranks and the exposures that a refresh ends with.
    """
    store = Store(state, edition)
    known = [name for name in models.load() if "/" in name]
    names = names or tuple((known + [f"model-{n}" for n in range(candidates)])[: candidates - 1])
    with store.lock("made up"):
        _describe(store, papers, names, titles, metrics)
        _score(store, papers, ("human", *names), tokens, metrics)
        _validate(store)
        job = Job(load_recorded_settings({}, parse_edition_key(edition).overrides), Path(state))
        signatures = store.rows(CURRENT_SIGNATURES)
        store_contamination(store, job, signatures, TrainingOverlap(0, {}))
        store_rank_statistics(store, job, signatures, "made-up")
        store.copy_for_readers()
    return store


def rank_again(store: Store) -> None:
    """Makes the tests of ranks of the edition from the scores that it has now."""
    with store.lock("change"):
        store_rank_statistics(store, Job(Settings(), store.folder), store.read(CURRENT_SIGNATURES), "made-up")
        store.copy_for_readers()


def _describe(
    store: Store, papers: int, names: tuple[str, ...], titles: tuple[str, ...], metrics: tuple[str, ...]
) -> None:
    ids = [f"p{n:05d}" for n in range(papers)]
    store.write(("start_run", {"run_id": "made-up", "command": "refresh", "started_at": now(),
                               "settings": Settings().model_dump_json(), "code_version": "0"}),
                ("add_new_signatures", [asdict(signature(metric)) | {"signature_id": signature(metric).signature_id}
                                    for metric in metrics]))  # fmt: skip
    with store.transaction() as run:
        kinds = [("human", "human", None)]
        kinds += [(name, "control", None) if name in CONTROLS else (name, "model", name) for name in names]
        run.executemany("insert into candidates (candidate_id, kind, model) values ($1, $2, $3)", kinds)
        for place, paper in enumerate(ids):
            title = titles[place] if place < len(titles) else f"Paper {place}"
            free = "CC BY 4.0" if place < len(titles) else None
            run.execute(
                "insert into papers (paper_id, title, abstract) values ($1, $2, $3)", [paper, title, "About it."]
            )
            run.execute("insert into paper_sources values ($1, null, null, 'unknown', $2)", [paper, free])
            for role, where, review in (("candidate", 0, "h"), ("reference", 1, "r1"), ("reference", 2, "r2")):
                review_id = f"{paper}-{review}"
                run.execute("insert into sample values ($1, $2, $3, $4, $5)", [paper, place, role, where, review_id])
                run.execute("insert into reviews (review_id, paper_id, candidate, text) values ($1, $2, 'human', $3)",
                            [review_id, paper, f"Private words of {review_id}."])  # fmt: skip
                run.execute("insert into review_versions values ($1, 1, null, null, 'only', $2)", [review_id, free])
                run.execute("insert into judgments values ($1, 'made-up-writer', $2, 2, 0)", [review_id, WORDS])


def _score(store: Store, papers: int, names: tuple[str, ...], tokens: int, metrics: tuple[str, ...]) -> None:
    signatures = [signature(metric).signature_id for metric in metrics]
    shape = (len(metrics), papers, len(names), 2)
    random = np.random.default_rng(0)
    values = 14 + 4 * random.normal(size=(1, papers, 1, 2)) + 6 * random.normal(size=shape)
    values = values + 8 * random.random(size=(1, 1, len(names), 1)) - 6 * np.arange(len(metrics))[:, None, None, None]
    m, p, c, r = (axis.ravel() for axis in np.indices(shape))
    ids = np.array([f"p{n:05d}" for n in range(papers)])[p]
    references = np.char.add(ids, np.array(["-r1", "-r2"])[r])
    conditional = np.array([f"c{n}" for n in range(len(m))])
    marginal = np.char.add(np.char.add("m", np.array(metrics)[m]), references)
    table = pa.table({
        "signature_id": np.array(signatures)[m], "paper_id": ids, "candidate_id": np.array(names)[c],
        "reference_id": references, "value": values.ravel(), "conditional": conditional, "marginal": marginal,
    })  # fmt: skip
    pairs = "signature_id, paper_id, candidate_id, reference_id"
    with store.transaction() as run:
        run.register("made_up", table)
        run.execute(f"insert into plan by name (select {pairs}, 'due' as state, 'made-up' as run_id from made_up)")
        run.execute(f"insert into scores by name (select {pairs}, value, false as broken, 'made-up' as run_id, "
                    f"[conditional, marginal] as predictions from made_up)")  # fmt: skip
        if tokens:
            for name in ("conditional", "marginal"):
                run.execute(
                    f"insert into spans by name (select '{LM.lm_id}' as lm_id, {name} as prediction, -1.0 as total, "
                    f"range({tokens})::integer[] as ids, [-5 * random()::float for i in range({tokens})] as logprobs, "
                    f"0 as escaped from (select distinct {name} from made_up))"
                )
        run.unregister("made_up")


def _validate(store: Store) -> None:
    """Effects of four changes on the first metric, one of each verdict and one without a number."""
    first = signature(METRICS[0]).signature_id
    tried = [("line_deletion", "degradation", -0.4, -0.45, -0.35, "pass"), ("rephrase_1", "manipulation", 0.05, -0.02, 0.12, "undecided"),
             ("abstract_only", "degradation", 0.03, 0.01, 0.05, "fail"), ("elongation", "manipulation", None, None, None, "undecided")]  # fmt: skip
    with store.transaction() as run:
        for change, family, d, low, high, verdict in tried:
            run.execute(
                "insert into effects by name (select $1 as signature_id, $2 as change, 'human~' || $2 as candidate_id, "
                "$3 as family, 'rule' as made_by, $4::double as d, $5::double as low, $6::double as high, 600 as pairs, "
                "600 as planned, 300 as papers, $7 as verdict, $8 as problem, 'made-up' as run_id)",
                [first, change, family, d, low, high, verdict, None if d is not None else "no pairs"],
            )
        run.execute(
            "insert into validations values ($1, 'fail', 'ICLR-2023', 'does not pass abstract_only', now())", [first]
        )


if __name__ == "__main__":
    import sys

    state, papers, tokens = sys.argv[1:]
    print(json.dumps(str(make(Path(state), papers=int(papers), tokens=int(tokens)).read_file)))
