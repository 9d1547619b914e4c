"""A tiny random sentence-transformers model: BERT's architecture, words as tokens, mean pooling, a dense layer."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase

_TEXT = (
    "the reviewer appreciates criticizes questions suggests clear writing novelty limited experiments ablation "
    "baseline paper is are not an of to in for and more study choice problem"
)
_WORDS = [*_TEXT.split(), *".,!?", *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]


def build_sentence_model(folder: Path, prompt: str | None = None, seed: int = 0) -> Path:
    """*folder* with a model of 16 numbers a sentence; *prompt* is its prompt s2s_query, if it has one."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    parts = folder.with_name(f"{folder.name}-parts")
    parts.mkdir(parents=True)
    words = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS])
    (parts / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(vocab={word: place for place, word in enumerate(words)}, model_max_length=64).save_pretrained(
        parts
    )
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config).save_pretrained(parts)
    modules = [Transformer(str(parts)), Pooling(32, "mean"), Dense(32, 16, activation_function=torch.nn.Tanh())]
    prompts = {"s2s_query": prompt} if prompt else None
    SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(folder), create_model_card=False)
    return folder
