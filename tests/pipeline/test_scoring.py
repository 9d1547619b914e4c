"""What a chunk of scores leaves in the store."""

from __future__ import annotations

import pytest

from gre_bench.core.records import SpanLogprob
from gre_bench.metrics.scoring import Scored
from gre_bench.pipeline.learnt import Learnt
from gre_bench.pipeline.planning import Work
from gre_bench.pipeline.scoring import commit
from gre_bench.store import Store
from gre_bench.store.queries import SPANS_OF


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, "TEST-2026")
    with store.lock("test"):
        yield store


def test_a_span_that_another_paper_has_stored_already_stays_and_the_others_come(store):
    work = Work([], {}, "lm", "writer", 0, 0, Learnt(0, {}))
    spans = {name: SpanLogprob(-float(place), (place,), (-float(place),)) for place, name in enumerate("abc", start=1)}
    commit(store, work, Scored([], {name: spans[name] for name in "ab"}), "first")
    other = SpanLogprob(-9.0, (9,), (-9.0,))
    commit(store, work, Scored([], {"b": other, "c": spans["c"]}), "second")
    kept = {row["prediction"]: row["total"] for row in store.rows(SPANS_OF, lm_id="lm", predictions=list("abc"))}
    assert kept == {"a": -1.0, "b": -2.0, "c": -3.0}
