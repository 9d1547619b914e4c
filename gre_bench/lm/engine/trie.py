"""The scoring engine: conversations of one paper as a trie, one forward a pack, each shared token read once.

Log-probabilities are those of one conversation at a time, up to the order of floating-point sums: position ids are
depths, tokens attend to their ancestors alone (`gre_bench.lm.engine.trie_attention`), the head is applied to the rows
that predict replies. Log-sum-exp in float32, whatever the weights' dtype.
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
"""Model types of transformers whose layers take positions and attention as this engine gives them."""

ON_CPU, ON_GPU = 1024, 16384
"""Tokens of a pack: what stays in a core's cache, and what keeps a large GPU busy."""

HALVED = "a pack did not fit the memory and was halved; a smaller evaluation_lm.token_budget avoids that"

_SMALLEST = 16
"""Tokens of a pack that is not halved any more."""
_LOGITS_ON_CPU, _LOGITS_ON_GPU = 2**22, 2**25
"""Logits at once: rows are given to the head in chunks, on the CPU ones that stay in its cache."""


class Trie:
    """An `Engine` for the models that `refusal` has nothing against. A pack has *budget* tokens at most.

    The budget moves a log-probability by no more than the order of sums does: in float32 the last bits, in half
    precision a token by a hundredth of a nat or so. `plan` says what that depends on.
    """

    version = "trie-2"

    def __init__(self, weights: Weights, budget: int | None = None):
        trie_attention.register()
        self._model = weights.model
        self._attention = weights.attention
        self._budget = self._asked = budget or (ON_CPU if weights.model.device.type == "cpu" else ON_GPU)
        self.remarks: list[str] = []

    @property
    def plan(self) -> str:
        """How its forwards are cut."""
        return f"{self._asked} tokens on {self._model.device.type}"

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """The log-probability of each token of each span, in nats; a pack that does not fit the memory is halved."""
        import torch

        trie = TokenTrie(conversations)
        found, answered = torch.zeros(sum(trie.sizes)), torch.zeros(sum(trie.sizes), dtype=torch.bool)
        due, kept = trie.packs(self._budget)[::-1], {}
        with self._attending():
            while due:
                pack = due.pop()
                done = self._tried(pack, kept)
                if done is not None:
                    slots = torch.from_numpy(pack.slots)
                    (found[slots], kept), answered[slots] = done, True
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
                conversations, found.split(trie.sizes), answered.split(trie.sizes), strict=True
            )
        ]

    def _tried(self, pack: Pack, kept: Kept) -> tuple[torch.Tensor, Kept] | None:
        try:
            return self._forward(pack, kept)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        # Outside of the handler, whose traceback still holds the tensors.
        give_back()
        return None

    def _forward(self, pack: Pack, kept: Kept) -> tuple[torch.Tensor, Kept]:
        """The answers of *pack*, and what it keeps for the next."""
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
        """The log-probabilities of the targets: rows pass the head once, some at a time."""
        import torch

        head = self._model.get_output_embeddings()
        cap = getattr(self._model.config.get_text_config(), "final_logit_softcapping", None)
        rows, places = np.unique(pack.rows, return_inverse=True)
        rows, places, targets = (torch.tensor(each, device=hidden.device) for each in (rows, places, pack.targets))
        found = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
        most = _LOGITS_ON_CPU if hidden.device.type == "cpu" else _LOGITS_ON_GPU
        size = max(1, most // head.weight.shape[0])  # pyright: ignore[reportOptionalMemberAccess]
        for start in range(0, len(rows), size):
            logits = head(hidden[rows[start : start + size]])  # pyright: ignore[reportOptionalCall]
            if cap is not None:
                logits = torch.tanh(logits / cap) * cap
            logits = logits.float()
            # Near zero float32 is finer: large logits would cost the difference its last digits.
            logits -= logits.amax(-1, keepdim=True)
            first, last = torch.searchsorted(places, torch.tensor([start, start + size], device=hidden.device)).tolist()
            asked = places[first:last] - start
            chosen = logits[asked, targets[first:last]]
            found[first:last] = chosen - logits.exp_().sum(-1).log_()[asked]
        return found.cpu()

    @contextmanager
    def _attending(self) -> Iterator[None]:
        """The model with this engine's attention, within."""
        self._model.set_attn_implementation(trie_attention.NAME)
        try:
            yield
        finally:
            self._model.set_attn_implementation(self._attention)


def refusal(weights: Weights) -> str | None:
    """Why the trie cannot run this model, or None."""
    kind = weights.model.config.model_type
    return None if kind in ARCHITECTURES else f"the architecture {kind} is none of those it knows"
