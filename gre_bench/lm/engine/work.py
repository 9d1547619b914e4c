"""Counts the work of a model on some conversations, in tokens, rows and pairs.

One forward pass of a dense transformer takes this number of multiply-adds:

    tokens · weights of its layers + rows · weights of its head + pairs · 2 · heads · head size · layers

- *tokens* is the number of tokens that the model reads.
- *rows* is the number of tokens to which the output head is applied, because their next token is scored.
- *pairs* is the number of pairs of a token and a token that it attends to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gre_bench.lm.engine.packs import TokenTrie
from gre_bench.lm.span import Conversation


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a model on some conversations.

    - *tokens*: the number of tokens that the model reads.
    - *rows*: the number of tokens to which the model's output head is applied.
    - *pairs*: the number of pairs of a token and a token that it attends to, itself included.
    """

    tokens: int
    rows: int
    pairs: int

    def __add__(self, other: Work) -> Work:
        return Work(self.tokens + other.tokens, self.rows + other.rows, self.pairs + other.pairs)

    def multiply_adds(self, config: Any) -> float:
        """Returns the number of multiply-adds that a dense model with the transformers *config* needs for this work."""
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        keys = getattr(config, "num_key_value_heads", None) or heads
        attention = config.hidden_size * size * (2 * heads + 2 * keys)
        layer = attention + 3 * config.hidden_size * config.intermediate_size
        layers = config.num_hidden_layers
        head = config.hidden_size * config.vocab_size
        return float(self.tokens * layer * layers + self.rows * head + self.pairs * 2 * heads * size * layers)


def alone(conversations: Sequence[Conversation]) -> Work:
    """Returns the work if each of *conversations* is computed by itself."""
    lengths = [conversation.last for conversation in conversations]
    rows = sum(conversation.last - conversation.first + 1 for conversation in conversations)
    return Work(sum(lengths), rows, sum(length * (length + 1) // 2 for length in lengths))


def shared(conversations: Sequence[Conversation]) -> Work:
    """Returns the work if each prefix that several of *conversations* share is computed only once."""
    trie = TokenTrie(conversations)
    return Work(len(trie), len(np.unique(trie.rows)), int((trie.depths + 1).sum()))
