"""The real models of the cache, where `gre-bench models get` has put them: opened by name, and what they tell apart."""

from __future__ import annotations

import statistics
import time

import pytest

from gre_bench.core.errors import GreBenchError
from gre_bench.core.pretrained import find_cached_model, find_pretrained_model
from gre_bench.core.records import Prediction
from gre_bench.core.settings import load
from gre_bench.ingest.records.notes import read_notes
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.writing.rules.judgments import write_rule_judgments
from tests.conftest import SIXTEEN

pytestmark = pytest.mark.pretrained
PAPERS = 6


def needed(name: str, *packages: str) -> str:
    """*name*, or a test that is skipped where the model or a package is not on this machine."""
    for package in packages:
        pytest.importorskip(package, reason="pretrained models need the extra `lm`")
    try:
        found = find_cached_model(find_pretrained_model(name))
    except GreBenchError as error:
        pytest.skip(str(error))
    if found is None:
        pytest.skip(f"not on this machine: gre-bench models get {name}")
    return name


def judged() -> list[tuple[str, str]]:
    """Judgments by rule of two reviews of each of the first sample papers."""
    reviews: dict[str, list[str]] = {}
    for review in read_notes(read_notes_file(SIXTEEN / "notes.jsonl"), find_venue_entry("SAMPLE", 2026)).reviews:
        reviews.setdefault(review.paper_id, []).append(review.text)
    return [
        (write_rule_judgments(texts[0]), write_rule_judgments(texts[1]))
        for _, texts in sorted(reviews.items())[:PAPERS]
    ]


@pytest.mark.night
def test_smollm2_finds_a_review_likelier_after_one_of_the_same_paper(capsys):
    from gre_bench.lm.opening import open_lm

    name = needed("smollm2-135m", "torch", "transformers")
    chosen = load(None, ("evaluation_lm.backend=transformers", f"evaluation_lm.folder={name}"))
    began = time.monotonic()
    lm = open_lm(chosen.evaluation_lm)
    opened, pairs = time.monotonic() - began, judged()
    assert lm.identity.name == name and lm.identity.digest == find_cached_model(find_pretrained_model(name)).digest
    same = lm.logprob([Prediction(x, None, y) for x, y in pairs])
    other = lm.logprob([Prediction(x, None, pairs[place - 1][1]) for place, (x, _) in enumerate(pairs)])
    # The same reply after the review of its own paper and after another's.
    gains = [own.total - far.total for own, far in zip(same, [*other[1:], other[0]], strict=True)]
    with capsys.disabled():
        seconds = time.monotonic() - began - opened
        print(f"\n{name}: opened in {opened:.1f} s, {2 * PAPERS} cases in {seconds:.1f} s; nats by paper "
              + " ".join(f"{gain:+.1f}" for gain in gains))  # fmt: skip
    assert statistics.mean(gains) > 0 and sum(gain > 0 for gain in gains) > PAPERS / 2


def test_minilm_finds_a_rewording_nearer_than_another_matter():
    from gre_bench.lm.embedders import open_embedder

    name = needed("minilm-l6-v2", "torch", "sentence_transformers")
    chosen = load(None, ("embedder.backend=sentence-transformers", f"embedder.folder={name}"))
    embedder = open_embedder(chosen.embedder)
    asked, near, far = embedder.embed(
        ["The experiments are thorough.", "The evaluation is extensive.", "The cat sleeps."]
    )
    assert embedder.identity.digest == find_cached_model(find_pretrained_model(name)).digest and asked.shape == (384,)
    assert asked @ near > asked @ far + 0.2


def test_gem_smollm2_tells_a_review_of_the_same_paper_from_one_of_another():
    from gre_bench.lm.opening import open_lm

    needed("smollm2-135m", "torch", "transformers", "peft")
    asked = ("evaluation_lm.backend=gem-smollm2",)
    # No self-check in bfloat16, and scores in float32: some CPUs take fifty times as long in bfloat16.
    assert open_lm(load(None, (*asked, "evaluation_lm.engine=one-by-one")).evaluation_lm).identity.dtype == "bfloat16"
    lm = open_lm(load(None, (*asked, "evaluation_lm.dtype=float32")).evaluation_lm)
    assert (lm.identity.name, lm.identity.dtype) == ("gem-smollm2-2", "float32")
    pairs = judged()[:3]
    predictions = [
        Prediction(x, None, y) for place, (own, y) in enumerate(pairs) for x in (None, own, pairs[place - 1][0])
    ]
    totals = [answer.total for answer in lm.logprob(predictions)]
    same = [own - alone for alone, own in zip(totals[::3], totals[1::3], strict=True)]
    other = [strange - alone for alone, strange in zip(totals[::3], totals[2::3], strict=True)]
    assert statistics.mean(same) > statistics.mean(other) + 2
    assert sum(one > two for one, two in zip(same, other, strict=True)) > len(pairs) / 2
