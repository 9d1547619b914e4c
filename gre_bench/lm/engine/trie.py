"""The fastest engine: it stores the conversations of one paper as a trie and reads each shared token once.

Each pack of the trie (`gre_bench.lm.engine.packs`) takes one forward pass. A token's position id is its depth in the
trie, and a token attends only to its ancestors and itself (`gre_bench.lm.engine.trie_attention`). The result is
therefore the same as for one conversation at a time, up to rounding. The output head is applied only to the tokens
whose successor belongs to a reply. The log-softmax is computed in float32, whatever the weights' dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gre_bench.lm.engine import trie_attention
from gre_bench.lm.engine.packs import Pack, TokenTrie
from gre_bench.lm.engine.protocol import Logprobs, give_back, is_out_of_memory, out_of_memory
from gre_bench.lm.engine.trie_attention import AttentionLayout, Kept
from gre_bench.lm.span import Conversation
from gre_bench.lm.weights import Weights

if TYPE_CHECKING:
    import torch

ARCHITECTURES = frozenset(
    {"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text"}
)
"""Model types of transformers whose layers accept the positions and attention of this engine."""

ON_CPU, ON_GPU = 1024, 16384
"""Most tokens in a pack by default: few enough for the cache of a core, enough to keep a large GPU busy."""

HALVED = "a pack did not fit the memory and was halved; a smaller evaluation_lm.token_budget avoids that"

_SMALLEST = 16
"""A pack of this many tokens or fewer is not halved."""
_LOGITS_ON_CPU, _LOGITS_ON_GPU = 2**22, 2**25
"""Most logits computed at once: the head works in chunks, which fit the cache on the CPU."""


class Trie:
    """An `Engine` for the models that `refusal` accepts.

    *budget* is the most tokens in a pack; None means `ON_CPU` or `ON_GPU`. The budget changes log-probabilities only by
    rounding, because sums are taken in another order. In float32, only the last bits change. In half precision, a
    token's log-probability changes by about 0.01 nats.
    """

    version = "trie-2"

    def __init__(self, weights: Weights, budget: int | None = None):
        trie_attention.register()
        self._model = weights.model
        self._attention = weights.attention
        self._budget = self._set_budget = budget or (ON_CPU if weights.model.device.type == "cpu" else ON_GPU)
        self.remarks: list[str] = []

    @property
    def plan(self) -> str:
        """Says how this engine divides its work into forward passes: the budget and the kind of device."""
        return f"{self._set_budget} tokens on {self._model.device.type}"

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probability of each token of each span in nats.

        A pack that runs out of memory is halved. If even a small pack runs out of memory, the engine stops. Every
        conversation whose log-probabilities are then incomplete gets a `SpanError`.
        """
        import torch

        trie = TokenTrie(conversations)
        values, answered = torch.zeros(sum(trie.sizes)), torch.zeros(sum(trie.sizes), dtype=torch.bool)
        due, kept = trie.packs(self._budget)[::-1], {}
        with self._attending():
            while due:
                pack = due.pop()
                done = self._try_pack(pack, kept)
                if done is not None:
                    slots = torch.from_numpy(pack.slots)
                    (values[slots], kept), answered[slots] = done, True
                elif pack.stop - pack.start >= 2 * _SMALLEST:
                    self.remarks.append(HALVED)
                    self._budget = min(self._budget, (pack.stop - pack.start + 1) // 2)
                    middle = (pack.start + pack.stop) // 2
                    due += [trie.pack(middle, pack.stop), trie.pack(pack.start, middle)]
                else:
                    break
        return [
            logprobs.tolist() if had.all() else out_of_memory(conversation)
            for conversation, logprobs, had in zip(
                conversations, values.split(trie.sizes), answered.split(trie.sizes), strict=True
            )
        ]

    def _try_pack(self, pack: Pack, kept: Kept) -> tuple[torch.Tensor, Kept] | None:
        try:
            return self._forward(pack, kept)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Outside the handler, because its traceback still holds the tensors.
        give_back()
        return None

    def _forward(self, pack: Pack, kept: Kept) -> tuple[torch.Tensor, Kept]:
        """Runs *pack*; returns its targets' log-probabilities, and the keys and values that the next pack needs.

        *kept* holds the keys and values of each layer that earlier packs kept.
        """
        import torch

        device = self._model.device
        layout = AttentionLayout(pack, device, kept, exact=self._attention == "eager")
        with torch.inference_mode():
            hidden = self._model.get_decoder()(
                input_ids=torch.tensor(pack.ids, device=device)[None],
                position_ids=torch.tensor(pack.depths, device=device)[None],
                use_cache=False,
                layout=layout,
            ).last_hidden_state[0]
            return self._picked(hidden, pack), layout.left

    def _picked(self, hidden: torch.Tensor, pack: Pack) -> torch.Tensor:
        """Returns the log-probability of each target of *pack* in nats.

        *hidden* holds the last hidden states of the pack's tokens. The output head is applied once to each token that
        predicts a target, in chunks of tokens.
        """
        import torch

        head = self._model.get_output_embeddings()
        cap = getattr(self._model.config.get_text_config(), "final_logit_softcapping", None)
        rows, indices = np.unique(pack.rows, return_inverse=True)
        rows, indices, targets = (torch.tensor(each, device=hidden.device) for each in (rows, indices, pack.targets))
        values = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
        most = _LOGITS_ON_CPU if hidden.device.type == "cpu" else _LOGITS_ON_GPU
        size = max(1, most // head.weight.shape[0])  # pyright: ignore[reportOptionalMemberAccess]
        for start in range(0, len(rows), size):
            logits = head(hidden[rows[start : start + size]])  # pyright: ignore[reportOptionalCall]
            if cap is not None:
                logits = torch.tanh(logits / cap) * cap
            logits = logits.float()
            # float32 is finer near zero; large logits would cost the difference its last digits.
            logits -= logits.amax(-1, keepdim=True)
            first, last = torch.searchsorted(
                indices, torch.tensor([start, start + size], device=hidden.device)
            ).tolist()
            chosen_rows = indices[first:last] - start
            chosen = logits[chosen_rows, targets[first:last]]
            values[first:last] = chosen - logits.exp_().sum(-1).log_()[chosen_rows]
        return values.cpu()

    @contextmanager
    def _attending(self) -> Iterator[None]:
        """Makes the model use the attention over a trie within the block."""
        self._model.set_attn_implementation(trie_attention.NAME)
        try:
            yield
        finally:
            self._model.set_attn_implementation(self._attention)


def refusal(weights: Weights) -> str | None:
    """Returns the reason why the trie engine cannot run the model of *weights*; None if it can."""
    kind = weights.model.config.model_type
    return None if kind in ARCHITECTURES else f"it does not know the architecture {kind}"
