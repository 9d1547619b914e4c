"""Training that reads shared beginnings once: the loss and gradient of one conversation at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from gre_bench.tuning import shared_prefixes  # noqa: E402
from gre_bench.tuning.pairs import Example, build_batches  # noqa: E402
from gre_bench.tuning.trainer import compute_padded_batch_loss  # noqa: E402


@pytest.fixture(scope="module")
def model():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=False,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def example(ids, first):
    return Example(tuple(ids), tuple([0.0] * first + [1.0] * (len(ids) - first)))


def gradients(model, loss):
    model.zero_grad(set_to_none=True)
    loss.backward()
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


tokens = st.lists(st.integers(0, 3), min_size=3, max_size=12)


@pytest.mark.parametrize("trained", ["all", "no head"])
@given(texts=st.lists(tokens, min_size=1, max_size=6), data=st.data())
@settings(max_examples=25, deadline=None)
def test_loss_and_gradient_are_those_of_one_conversation_at_a_time(model, trained, texts, data):
    model.requires_grad_(True)
    model.lm_head.weight.requires_grad_(trained == "all")
    batch = [example(ids, data.draw(st.integers(1, len(ids) - 1))) for ids in texts]
    alone = sum(compute_padded_batch_loss(model, [each]) for each in batch)
    slopes = gradients(model, alone)
    with shared_prefixes.share_prefixes_in(model):
        together = shared_prefixes.compute_shared_prefix_loss(model, batch)
        found = gradients(model, together)
    assert together.item() == pytest.approx(alone.item(), rel=1e-5)
    assert found.keys() == slopes.keys()
    for name, slope in slopes.items():
        assert torch.allclose(found[name], slope, rtol=1e-3, atol=1e-5), name


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_contrastive_loss_and_its_gradient_are_those_by_hand(model, weight):
    model.requires_grad_(True)
    right, wrong = ((1, 2, 3, 0, 2), (1, 3, 3, 0, 2)), ((1, 1, 3, 0, 2), (2, 2, 3, 0, 2), (3, 1, 3, 0, 2))
    weights = (0.0, 0.0, 0.0, 1.0, 1.0)
    batch = [
        *(Example(ids, weights, (0, 4)) for ids in right),
        *(Example(ids, weights, (0, 4), True) for ids in wrong),
        Example((3, 2, 1, 1, 1), weights, (0, 5)),  # nothing to tell it from
        Example((2, 2, 1, 1, 1), weights, (0, -1)),
    ]
    totals = torch.stack([-compute_padded_batch_loss(model, [each]) for each in batch])
    chosen = [torch.log_softmax(totals[[index, 2, 3, 4]] / 2.0, 0)[0] for index in (0, 1)]
    by_hand = -totals[[0, 1, 5, 6]].sum() - weight * 8 * (chosen[0] + chosen[1]) / 2
    slopes = gradients(model, by_hand)
    with shared_prefixes.share_prefixes_in(model):
        loss = shared_prefixes.contrastive_loss(model, batch, weight, 2.0)
        found = gradients(model, loss)
    assert loss.item() == pytest.approx(by_hand.item(), rel=1e-5)
    for name, slope in slopes.items():
        assert torch.allclose(found[name], slope, rtol=1e-3, atol=1e-5), name


def test_without_anything_wrong_the_contrastive_loss_is_the_usual_one_and_the_model_has_its_own_attention_again(model):
    batch = [example((1, 2, 3, 0), 2), example((1, 2, 0, 0), 2)]
    before = model.config._attn_implementation
    with shared_prefixes.share_prefixes_in(model):
        assert model.config._attn_implementation == shared_prefixes.NAME
        both = [
            shared_prefixes.contrastive_loss(model, batch, 1.0, 5.0),
            shared_prefixes.compute_shared_prefix_loss(model, batch),
        ]
        with pytest.raises(ValueError, match="its last ones"):  # learnt tokens that are not the end
            shared_prefixes.compute_shared_prefix_loss(model, [Example((1, 2, 3), (0.0, 1.0, 0.5))])
    assert both[0].item() == pytest.approx(both[1].item(), rel=1e-6)
    assert model.config._attn_implementation == before


def test_batches_of_neighbours_keep_their_order_and_are_shuffled():
    examples = [example((n, 1, 2), 1) for n in range(50)]
    batches = build_batches(examples, 9, seed=0, epoch=0, neighbours=True)
    assert [len(batch) for batch in batches].count(9) == 5
    assert all(batch[0].ids[0] % 9 == 0 for batch in batches)
    assert sorted(each.ids[0] for batch in batches for each in batch) == list(range(50))
    assert batches != build_batches(examples, 9, seed=0, epoch=1, neighbours=True)
