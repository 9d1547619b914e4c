"""The scoring engine where the contract does not reach: sharing, memory, other ways to attend, models it refuses."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the engine needs the extra `lm`")

from gre_bench.core.errors import LMError, SpanError  # noqa: E402
from gre_bench.core.records import Prediction, SpanLogprob  # noqa: E402
from gre_bench.lm.backends.transformers_lm import TransformersLM  # noqa: E402
from gre_bench.lm.engine import trie_attention  # noqa: E402
from gre_bench.lm.engine.engines import HALVED, BatchEngine, OneByOneEngine, TrieEngine  # noqa: E402
from gre_bench.lm.protocol import collect_and_clear_remarks  # noqa: E402
from gre_bench.lm.span import ChatTemplate, Conversation  # noqa: E402
from gre_bench.lm.weights import Weights  # noqa: E402
from gre_bench.prompts.library import render  # noqa: E402
from tests.lm.chat_models import PREDICTIONS, TEXTS, build_chat_model  # noqa: E402


@pytest.fixture(scope="module")
def conversations(weights: Weights) -> list[Conversation]:
    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    return [template.encode(render(prediction)) for prediction in PREDICTIONS]


@pytest.fixture(scope="module")
def right(weights: Weights, conversations: list[Conversation]) -> list[list[float]]:
    return OneByOneEngine(weights).logprobs(conversations)


def assert_near(found, right, allowed=2e-5):
    for one, other in zip(found, right, strict=True):
        assert one == pytest.approx(other, abs=allowed, rel=0)


@pytest.mark.parametrize("budget", [1, 3, 50, 333, 10**6])
def test_the_size_of_a_pack_changes_nothing(weights, conversations, right, budget):
    asked = slice(None, 4 if budget < 9 else None)
    assert_near(TrieEngine(weights, budget).logprobs(conversations[asked]), right[asked])


def test_each_token_is_read_once_and_each_row_passes_the_head_once(weights, conversations):
    read, rows = [], []
    hooks = [
        weights.model.get_input_embeddings().register_forward_hook(lambda _, given, made: read.append(made.shape[1])),
        weights.model.lm_head.register_forward_hook(lambda _, given, made: rows.append(made.shape[0])),
    ]
    TrieEngine(weights, 200).logprobs(conversations)
    for hook in hooks:
        hook.remove()
    assert weights.model.config._attn_implementation == "sdpa", "the model has its own attention again"
    beginnings = {one.ids[:end] for one in conversations for end in range(1, one.last + 1)}
    asked = {one.ids[:token] for one in conversations for token in range(one.first, one.last + 1)}
    assert (sum(read), sum(rows)) == (len(beginnings), len(asked))
    assert sum(read) < sum(one.last for one in conversations) / 3


def test_predictions_that_are_written_the_same_are_computed_once(weights):
    lm = TransformersLM.open(weights.folder, device="cpu")
    asked = []
    inner = lm.engine.logprobs
    lm.engine.logprobs = lambda given: asked.extend(given) or inner(given)
    # The template trims both texts alike.
    answers = lm.logprob([Prediction(TEXTS[0], None, TEXTS[1]), Prediction(TEXTS[0], None, f"{TEXTS[1]}\n")])
    assert len(asked) == 1 and answers[0] == answers[1]


def too_small_for(weights: Weights, most: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes the model's memory end at *most* tokens a forward; the sizes of the forwards tried."""
    tried: list[int] = []
    decoder = weights.model.get_decoder()
    forward = decoder.forward

    def limited(*args, input_ids, **keywords):
        tried.append(input_ids.shape[1])
        if input_ids.shape[1] > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*args, input_ids=input_ids, **keywords)

    monkeypatch.setattr(decoder, "forward", limited)
    return tried


def test_a_pack_that_does_not_fit_is_halved_which_is_said_and_remembered(weights, conversations, right, monkeypatch):
    tried = too_small_for(weights, 150, monkeypatch)
    engine = TrieEngine(weights, 800)
    assert_near(engine.logprobs(conversations), right)
    failed = sum(size > 150 for size in tried)
    assert failed > 0 and set(engine.remarks) == {HALVED}
    tried.clear()
    engine.logprobs(conversations)
    assert sum(size > 150 for size in tried) == 0 and engine.plan == "800 tokens on cpu"


def test_where_nothing_fits_every_answer_is_out_of_memory_for_now_and_any_other_failure_flies(
    weights, conversations, monkeypatch
):
    with monkeypatch.context() as patched:
        too_small_for(weights, 0, patched)
        answers = TrieEngine(weights, 800).logprobs(conversations)
    assert {(answer.code, answer.final) for answer in answers} == {("out_of_memory", False)}
    assert len(answers) == len(conversations)
    monkeypatch.setattr(weights.model.get_decoder(), "forward", lambda **_: (_ for _ in ()).throw(RuntimeError("bug")))
    with pytest.raises(RuntimeError, match="bug"):
        TrieEngine(weights).logprobs(conversations)


def by_plain_products(q, k, v, each, scale, *, causal):
    """What the variable-length kernel of CUDA computes, by plain products."""
    out, sums = torch.empty_like(q), torch.empty(q.shape[1], q.shape[0])
    groups = q.shape[1] // k.shape[1]
    for (a, b), (c, d) in zip(
        zip(each.query_starts[:-1], each.query_starts[1:], strict=True),
        zip(each.key_starts[:-1], each.key_starts[1:], strict=True),
        strict=True,
    ):
        assert 0 < b - a <= each.longest_query and 0 < d - c <= each.longest_key
        keys, values = (one[c:d].repeat_interleave(groups, 1) for one in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q[a:b], keys) * scale
        if causal:
            scores.masked_fill_(torch.ones(b - a, d - c, dtype=torch.bool).triu(1), -torch.inf)
        out[a:b] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)
        sums[:, a:b] = scores.logsumexp(-1)
    return out, sums


FURTHER = {
    "attend_in_half_precision_on_cuda": (), "attend_in_half_precision_on_cpu": (), "attend_with_mask": (None,),
    "attend_eagerly": (None, None),
}  # fmt: skip
"""Way to attend → its further arguments."""


@pytest.mark.parametrize("rows", [7, 256])
@pytest.mark.parametrize("budget", [60, 10**6])
@pytest.mark.parametrize("way", [*FURTHER])
def test_the_ways_to_attend_agree(weights, conversations, right, monkeypatch, way, budget, rows):
    monkeypatch.setattr(trie_attention, "_ROWS", rows)
    monkeypatch.setattr(trie_attention, "_call_flash_kernel", by_plain_products)
    used = []

    def instead(query, key, value, layout, scale, layer):
        used.append(1)
        return getattr(trie_attention, way)(query, *layout.extended(layer, key, value), layout, scale, *FURTHER[way])

    monkeypatch.setattr(trie_attention, "attend_in_float32_on_cpu", instead)
    assert_near(TrieEngine(weights, budget).logprobs(conversations), right)
    assert used


def assert_like_one_by_one(lm: TransformersLM, predictions=PREDICTIONS) -> None:
    one = TransformersLM.open(lm.weights.folder, device="cpu", engine="one-by-one")
    for found, right in zip(lm.logprob(predictions), one.logprob(predictions), strict=True):
        assert isinstance(found, SpanLogprob)
        assert found.logprobs == pytest.approx(right.logprobs, abs=2e-5, rel=0)


def test_a_model_it_cannot_run_is_run_in_plain_batches_and_that_is_said(tmp_path):
    lm = TransformersLM.open(build_chat_model(tmp_path / "model", architecture="gpt2"), device="cpu")
    assert lm.identity.engine_version == "batches-1"
    (remark,) = collect_and_clear_remarks(lm)
    assert "the architecture gpt2" in remark and "plain batches" in remark
    assert collect_and_clear_remarks(lm) == ()
    assert_like_one_by_one(lm)


@pytest.mark.parametrize("engine", ["trie", "batches"])
@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_positions_that_depend_on_the_longest_text_are_run_one_text_at_a_time(tmp_path, kind, engine):
    own = {
        "dynamic": {"factor": 2.0},
        "longrope": {"short_factor": [1.0] * 16, "long_factor": [4.0] * 16, "factor": 4.0},
    }
    rope = {"rope_type": kind, "rope_theta": 10000.0, "original_max_position_embeddings": 400, **own[kind]}
    place = build_chat_model(tmp_path / "model", context=400 if kind == "dynamic" else 1600, rope_parameters=rope)
    lm = TransformersLM.open(place, device="cpu", engine=engine)
    assert lm.identity.engine_version == "one-by-one-1"
    (remark,) = collect_and_clear_remarks(lm)
    assert kind in remark and "one text at a time" in remark
    if kind == "longrope":
        # One text on either side of the length at which the positions change.
        assert_like_one_by_one(lm, [PREDICTIONS[0], Prediction("The reviewer appreciates it. " * 40, None, TEXTS[0])])


def test_an_engine_or_batches_that_disagree_with_the_model_are_not_trusted(weights, monkeypatch):
    for wrong in (lambda out, sums, part, part_sums: None, lambda out, sums, part, part_sums: out.fill_(torch.nan)):
        monkeypatch.setattr(trie_attention, "_merge_attention_outputs", wrong)
        lm = TransformersLM.open(weights.folder, device="cpu")
        assert lm.identity.engine_version == "batches-1"
        assert "changed a log-probability" in lm.remarks[0]
    right = BatchEngine.logprobs
    monkeypatch.setattr(
        BatchEngine, "logprobs", lambda self, given: [[one - 1 for one in each] for each in right(self, given)]
    )
    lm = TransformersLM.open(weights.folder, device="cpu", engine="batches")
    assert lm.identity.engine_version == "one-by-one-1"
    assert "one text at a time" in lm.remarks[0]


def test_in_half_precision_the_cut_of_the_forwards_is_in_the_identity(weights):
    full = [TransformersLM.open(weights.folder, device="cpu", token_budget=budget) for budget in (100, 200)]
    half = [TransformersLM.open(weights.folder, device="cpu", token_budget=n, dtype="bfloat16") for n in (100, 200)]
    assert full[0].identity == full[1].identity
    assert [lm.identity.engine_version for lm in half] == ["trie-2, 100 tokens on cpu", "trie-2, 200 tokens on cpu"]


def test_a_batch_that_does_not_fit_is_halved(weights, conversations, right, monkeypatch):
    lm = TransformersLM.open(weights.folder, device="cpu", engine="batches", token_budget=4000)
    forward = lm.weights.model.forward

    def limited(ids, **keywords):
        if len(ids) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(ids, **keywords)

    monkeypatch.setattr(lm.weights.model, "forward", limited)
    assert_near(lm.engine.logprobs(conversations), right)
    assert lm.remarks and "halved" in lm.remarks[0]
    monkeypatch.setattr(lm.weights.model, "forward", lambda *_, **__: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        lm.engine.logprobs(conversations)


def test_an_unknown_engine_and_out_of_memory_in_the_self_check_are_one_line(weights, monkeypatch):
    with pytest.raises(LMError, match="no engine 'fast'; known: trie, batches, one-by-one"):
        TransformersLM.open(weights.folder, device="cpu", engine="fast")
    monkeypatch.setattr(
        OneByOneEngine, "logprobs", lambda self, given: [SpanError("out_of_memory", "no memory left")] * 4
    )
    with pytest.raises(LMError, match="it cannot be run: no memory left"):
        TransformersLM.open(weights.folder, device="cpu")
