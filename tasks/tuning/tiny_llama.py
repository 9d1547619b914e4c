"""Training of `tiny-llama`: a Llama of a few million weights, from nothing, on judgments alone.

Data is the limit, not arithmetic: the judgments of a few hundred papers are half a million tokens, which even a small
model learns by heart. What helps against it: conversations made anew each epoch (`tasks.tuning.augmentation`), whole
channels dropped in a conversation from end to end, and a strong weight decay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.errors import LMError
from tasks.lm.span import ChatTemplate
from tasks.lm.weights import no_bars
from tasks.tuning import checkpoint, picture, record
from tasks.tuning.augmentation import Conversations, ReviewedPaper, constants
from tasks.tuning.history import History
from tasks.tuning.recipe import Recipe, Shape
from tasks.tuning.token_mixture import fit_over
from tasks.tuning.tokenizer import build_tokenizer
from tasks.tuning.trainer import train

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast


MIXTURE = "mixture"
"""Folder of the mixture within the model's."""


def train_tiny_llama(
    papers: Sequence[ReviewedPaper],
    kept: Sequence[ReviewedPaper],
    folder: Path,
    data: Mapping[str, Any],
    recipe: Recipe | None = None,
) -> dict[str, Any]:
    """Trains on *papers*, fits the mixture to *kept*, writes both into *folder*, gives the training record.

    The same arguments give the same weights and go on from the last checkpoint in *folder*; done already, it says so.
    *data* describes the files that the papers come from. `LMError`, `SettingsError` or `LockedError` if it cannot be.
    """
    from tasks.lm.transformers_lm import TransformersLM

    recipe = recipe or Recipe()
    with record.claimed(folder):
        asked = {**data, **recipe.describe()}
        if done := record.finished(folder, asked):
            return done
        past = _learn(papers, kept, folder, asked, recipe)
        picture.draw(past, folder, f"tiny-llama on {len(papers)} papers")
        texts, texts_kept = ([paper.judgments for paper in some] for some in (papers, kept))
        figures = fit_over(folder / MIXTURE, TransformersLM.open(folder), texts, texts_kept)
        made = {
            "asked": asked,
            "steps": past.steps,
            "optimiser": past.optimiser,
            "loss": {
                "first step": past.training[0][1], "last step": past.training[-1][1],
                "held out before": past.held_out[0][1], "held out after": past.held_out[-1][1],
            },
            "held_out": figures,
            "versions": record.versions(),
        }
        record.write(made, folder)
        return made


def _learn(
    papers: Sequence[ReviewedPaper],
    kept: Sequence[ReviewedPaper],
    folder: Path,
    asked: Mapping[str, Any],
    recipe: Recipe,
) -> History:
    """Trains and writes model and tokenizer to *folder*."""
    import torch

    texts = [text for paper in papers for text in (*paper.judgments, *paper.originals)]
    tokenizer = build_tokenizer(texts, constants(), recipe.shape.vocabulary, recipe.shape.context)
    template = ChatTemplate.of(tokenizer)
    longest = recipe.training.max_tokens
    held_out = Conversations(kept, template, recipe.variation, longest).plain()
    if not held_out:
        raise LMError(f"tiny-llama: no two reviews of a paper kept aside fit into {longest} tokens; raise max_tokens")
    model = build_model(tokenizer, recipe.shape, recipe.training.seed)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    drop_channels(model, recipe.dropout)
    options = asdict(recipe.training)
    past = train(
        model,
        Conversations(papers, template, recipe.variation, longest),
        recipe.training,
        folder,
        held_out=held_out[:: max(1, len(held_out) // recipe.measured)],
        about={name: value for name, value in asked.items() if name not in options},
    )
    with checkpoint.writing(folder), no_bars():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return past


def build_model(tokenizer: PreTrainedTokenizerFast, shape: Shape, seed: int) -> LlamaForCausalLM:
    """A random Llama of *shape* for *tokenizer*, in float32, its input and output embeddings shared."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        head_dim=shape.width // shape.heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def drop_channels(model: LlamaForCausalLM, share: float) -> None:
    """Makes *model*, while it trains, drop that *share* of the channels of its embeddings and of each layer's parts.

    A channel is dropped at all places of a sequence, so that its content cannot be had from the place beside it.
    """
    import torch

    def dropped(module: nn.Module, _: Any, output: Any) -> Any:
        if not module.training:
            return output
        states: Tensor = output[0] if isinstance(output, tuple) else output
        mask = torch.nn.functional.dropout(torch.ones_like(states[:, :1]), share)
        return (states * mask, *output[1:]) if isinstance(output, tuple) else states * mask

    if share:
        for part in [model.model.embed_tokens, *(part for layer in model.model.layers for part in
                     (layer.self_attn, layer.mlp))]:
            part.register_forward_hook(dropped)
