"""Engines take conversations and return the log-probabilities of their spans.

The two plain engines read every conversation in full: one at a time, or in padded batches. The fastest engine stores
the conversations of one paper as a trie and reads each shared token once. Each pack of the trie
(`gre_bench.lm.engine.packs`) takes one forward pass. A token's position id is its depth, and it attends only to its
ancestors and itself (`gre_bench.lm.engine.trie_attention`). Up to rounding, the result is the same as if each
conversation were read alone. The output head is applied only to the tokens whose successor belongs to a reply. The
log-softmax is computed in float32, whatever the weights' dtype.

`engine_for` chooses the engine for a model: the requested engine, or the next slower one whose numbers are correct.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np
import torch

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Prediction
from gre_bench.lm.engine import trie_attention
from gre_bench.lm.engine.packs import Pack, TokenTrie
from gre_bench.lm.engine.trie_attention import AttentionLayout, Kept
from gre_bench.lm.protocol import Logprobs
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.lm.weights import Weights
from gre_bench.prompts.library import render

Result = TypeVar("Result")
EngineName = Literal["trie", "batches", "one-by-one"]

ALLOWED = {"float32": 1e-3, "bfloat16": 0.5, "float16": 0.1}
"""Dtype → the largest difference from `OneByOneEngine` that the self-check accepts, in nats."""
STATIC = frozenset({"default", "linear", "llama3", "yarn", "proportional"})
"""Kinds of rotary position embeddings that do not depend on the length of a sequence."""
ARCHITECTURES = frozenset(
    {"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text"}
)
"""Model types of transformers whose layers accept the positions and the attention of the trie engine."""

BATCH_ON_CPU, BATCH_ON_GPU = 2048, 16384
"""The default maximum number of tokens in a batch, padding included."""
PACK_ON_CPU, PACK_ON_GPU = 1024, 16384
"""The default maximum number of tokens in a pack: it fits a CPU core's cache, or keeps a large GPU busy."""
_MOST_LOGITS_IN_BATCH = 2**28
"""The largest number of logits in a batch."""
HALVED = "a pack did not fit the memory and was halved; a smaller evaluation_lm.token_budget avoids that"
_SMALLEST_PACK = 16
"""A pack of this many tokens or fewer is not halved."""
_LOGITS_ON_CPU, _LOGITS_ON_GPU = 2**22, 2**25
"""The output head computes at most this many logits at once; on the CPU, so many fit the cache."""
_CHECKED = ("The reviewer appreciates the clear writing.", "The reviewer questions the choice of baselines. " * 3)


class Engine(Protocol):
    """An engine runs a model on conversations.

    `version` goes into signatures, because log-probabilities of two versions may differ in the last bits.
    """

    @property
    def version(self) -> str: ...

    @property
    def plan(self) -> str:
        """How the work is divided into forward passes. In half precision, the plan goes into the signature too."""
        ...

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns for each conversation the log-probability of each token of its span in nats, or a `SpanError`.

        All *conversations* must belong to one paper, and no two may be equal. A conversation that does not fit into
        memory gets a `SpanError`.
        """
        ...


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether *error* means that a tensor did not fit into memory; on the CPU, torch only says so in the message."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def run_within_memory(forward: Callable[..., Result], *arguments: object) -> Result | None:
    """Returns the result of *forward*; if a tensor did not fit into memory, empties torch's cache and returns None."""
    try:
        return forward(*arguments)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Not inside the handler, where the traceback still holds the tensors.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def out_of_memory_error(conversation: Conversation) -> SpanError:
    length = len(conversation.ids)
    message = f"no memory left for a conversation of {length} tokens; use a larger device or a shorter text"
    return SpanError("out_of_memory", message, final=False)


class OneByOneEngine:
    """Runs each conversation in its own forward pass: slow, but correct. Other engines are checked against it."""

    version = "one-by-one-1"

    def __init__(self, weights: Weights):
        self._model = weights.model
        self._keeps = "logits_to_keep" in inspect.signature(weights.model.forward).parameters
        self.plan = f"one text on {weights.model.device.type}"

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        computed = ((each, run_within_memory(self._run_batch, [each])) for each in conversations)
        return [values[0] if values else out_of_memory_error(each) for each, values in computed]

    def _run_batch(self, batch: Sequence[Conversation]) -> list[list[float]]:
        """Returns the log-probability of each token of each span in nats, in float32 whatever the weights' dtype.

        The model reads all tokens except the last, because no scored token follows it.
        """
        longest = max(conversation.last for conversation in batch)
        ids = torch.zeros((len(batch), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, conversation in enumerate(batch):
            ids[row, : conversation.last] = torch.tensor(conversation.ids[: conversation.last])
            mask[row, : conversation.last] = 1
        first = min(conversation.first for conversation in batch) - 1
        keep = {"logits_to_keep": longest - first} if self._keeps else {}
        answers = []
        with torch.inference_mode():
            device = self._model.device
            logits = self._model(ids.to(device), attention_mask=mask.to(device), use_cache=False, **keep).logits
            start = first if self._keeps else 0
            for row, conversation in enumerate(batch):
                rows = logits[row, conversation.first - 1 - start : conversation.last - start]
                rows = torch.log_softmax(rows, -1, dtype=torch.float32)
                wanted = torch.tensor(conversation.ids[conversation.first :], device=device)
                answers.append(rows.gather(1, wanted[:, None])[:, 0])
        return [answer.tolist() for answer in answers]


class BatchEngine(OneByOneEngine):
    """Runs batches, padded on the right, for models that the trie engine cannot run.

    *budget*: the maximum number of tokens in a batch, padding included. A longer conversation forms a batch of its own.
    A batch that runs out of memory is halved.
    """

    version = "batches-1"

    def __init__(self, weights: Weights, budget: int | None = None):
        super().__init__(weights)
        self._budget = budget or (BATCH_ON_CPU if weights.model.device.type == "cpu" else BATCH_ON_GPU)
        self.plan = f"{self._budget} tokens on {weights.model.device.type}"
        self.remarks: list[str] = []

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        answers: dict[int, Logprobs] = {}
        due = self._group_into_batches(conversations)[::-1]
        while due:
            batch = due.pop()
            values = run_within_memory(self._run_batch, [conversations[number] for number in batch])
            if values is not None:
                answers |= dict(zip(batch, values, strict=True))
            elif len(batch) > 1:
                self.remarks.append("a batch did not fit the memory and was halved; a smaller token budget avoids it")
                due += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
            else:
                answers[batch[0]] = out_of_memory_error(conversations[batch[0]])
        return [answers[number] for number in range(len(conversations))]

    def _group_into_batches(self, conversations: Sequence[Conversation]) -> list[list[int]]:
        """Groups the indices of *conversations* into batches within the token budget, longest conversations first."""
        vocabulary = self._model.get_output_embeddings().weight.shape[0]  # pyrefly: ignore
        batches: list[list[int]] = []
        for number in sorted(range(len(conversations)), key=lambda number: -conversations[number].last):
            tokens = conversations[batches[-1][0]].last * (len(batches[-1]) + 1) if batches else 0
            if batches and tokens <= self._budget and tokens * vocabulary <= _MOST_LOGITS_IN_BATCH:
                batches[-1].append(number)
            else:
                batches.append([number])
        return batches


class TrieEngine:
    """Runs models of the `ARCHITECTURES` on a trie, in packs of at most *budget* tokens.

    The budget determines the order of summation, so it changes log-probabilities, but only by rounding. In float32,
    only the last bits change. In half precision, a token's log-probability changes by about 0.01 nats.
    """

    version = "trie-2"

    def __init__(self, weights: Weights, budget: int | None = None):
        self._model = weights.model
        self._attention = weights.attention
        self._budget = budget or (PACK_ON_CPU if weights.model.device.type == "cpu" else PACK_ON_GPU)
        self.plan = f"{self._budget} tokens on {weights.model.device.type}"
        self.remarks: list[str] = []

    def logprobs(self, conversations: Sequence[Conversation]) -> list[Logprobs]:
        """Returns the log-probabilities as `Engine.logprobs` describes.

        A pack that runs out of memory is halved. If even a small pack runs out of memory, the engine stops, and every
        conversation that lacks log-probabilities gets a `SpanError`.
        """
        trie = TokenTrie(conversations)
        values, answered = torch.zeros(sum(trie.sizes)), torch.zeros(sum(trie.sizes), dtype=torch.bool)
        due, kept = trie.packs(self._budget)[::-1], {}
        self._model.set_attn_implementation(trie_attention.NAME)
        try:
            while due:
                pack = due.pop()
                done = run_within_memory(self._run_pack, pack, kept)
                if done is not None:
                    slots = torch.from_numpy(pack.logprob_indices)
                    (values[slots], kept), answered[slots] = done, True
                elif pack.stop - pack.start >= 2 * _SMALLEST_PACK:
                    self.remarks.append(HALVED)
                    self._budget = min(self._budget, (pack.stop - pack.start + 1) // 2)
                    middle = (pack.start + pack.stop) // 2
                    due += [trie.pack(middle, pack.stop), trie.pack(pack.start, middle)]
                else:
                    break
        finally:
            self._model.set_attn_implementation(self._attention)
        parts = zip(conversations, values.split(trie.sizes), answered.split(trie.sizes), strict=True)
        return [logprobs.tolist() if had.all() else out_of_memory_error(each) for each, logprobs, had in parts]

    def _run_pack(self, pack: Pack, kept: Kept) -> tuple[torch.Tensor, Kept]:
        """Runs the model on *pack*; returns log-probabilities, and the keys and values that the next pack needs.

        There is one log-probability, in nats, for each scored token of the pack (``targets`` of `Pack`).
        """
        device = self._model.device
        layout = AttentionLayout(pack, device, kept, exact=self._attention == "eager")
        with torch.inference_mode():
            hidden = self._model.get_decoder()(
                input_ids=torch.tensor(pack.ids, device=device)[None],
                position_ids=torch.tensor(pack.depths, device=device)[None],
                use_cache=False,
                layout=layout,
            ).last_hidden_state[0]
            return self._compute_target_logprobs(hidden, pack), layout.left

    def _compute_target_logprobs(self, hidden: torch.Tensor, pack: Pack) -> torch.Tensor:
        """Returns the log-probability, in nats, of each scored token of *pack* (``targets`` of `Pack`).

        *hidden*: the last hidden states of the pack's tokens. The output head is applied in chunks, and only once to a
        token that several targets follow.
        """
        head = self._model.get_output_embeddings()
        cap = getattr(self._model.config.get_text_config(), "final_logit_softcapping", None)
        rows, indices = np.unique(pack.rows, return_inverse=True)
        rows, indices, targets = (torch.tensor(each, device=hidden.device) for each in (rows, indices, pack.targets))
        values = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
        most = _LOGITS_ON_CPU if hidden.device.type == "cpu" else _LOGITS_ON_GPU
        size = max(1, most // head.weight.shape[0])  # pyrefly: ignore
        for start in range(0, len(rows), size):
            logits = head(hidden[rows[start : start + size]])  # pyrefly: ignore
            if cap is not None:
                logits = torch.tanh(logits / cap) * cap
            logits = logits.float()
            # float32 is more precise near zero: the difference of two large numbers would lose its last digits.
            logits -= logits.amax(-1, keepdim=True)
            edges = torch.tensor([start, start + size], device=hidden.device)
            first, last = torch.searchsorted(indices, edges).tolist()
            chosen_rows = indices[first:last] - start
            chosen = logits[chosen_rows, targets[first:last]]
            values[first:last] = chosen - logits.exp_().sum(-1).log_()[chosen_rows]
        return values.cpu()


def engine_for(
    weights: Weights, template: ChatTemplate, name: EngineName, budget: int | None
) -> tuple[Engine, str | None]:
    """Returns the engine called *name*. If it cannot run the model correctly, returns a slower one and a remark why.

    *budget*: the maximum number of tokens in one forward pass. An engine that computes several conversations at once is
    first checked on four small conversations. Raises `LMError` for an unknown name.
    """
    if name not in get_args(EngineName):
        raise LMError(f"no engine {name!r}; known: {', '.join(get_args(EngineName))}")
    one_by_one, folder = OneByOneEngine(weights), weights.folder.name
    if name == "one-by-one":
        return one_by_one, None
    if changing := _list_rotary_kinds(getattr(weights.model.config, "rope_parameters", None)) - STATIC:
        why = f"its positions ({', '.join(sorted(changing))}) depend on the longest text in a forward"
        return one_by_one, f"evaluation LM {folder} is run one text at a time: {why}"
    remark = None
    if name == "trie":
        why = f"it does not know the architecture {weights.model.config.model_type}"
        if weights.model.config.model_type in ARCHITECTURES:
            why = _describe_disagreement(weights, template, TrieEngine(weights, budget=64))
        if why is None:
            return TrieEngine(weights, budget), None
        remark = f"evaluation LM {folder} is run in plain batches: {why}"
    if worse := _describe_disagreement(weights, template, BatchEngine(weights)):
        return one_by_one, f"evaluation LM {folder} is run one text at a time: in a batch {worse}"
    return BatchEngine(weights, budget), remark


def _describe_disagreement(weights: Weights, template: ChatTemplate, engine: Engine) -> str | None:
    """Compares *engine* with `OneByOneEngine` on four conversations; returns in words how far they are apart.

    Returns None if no log-probability differs by more than `ALLOWED`. Also returns None if `OneByOneEngine` gives a
    number that is not finite; such numbers are refused when predictions are scored. Raises `SpanError` if one of the
    conversations cannot be scored.
    """
    predictions = [Prediction(x, None, y) for x in (_CHECKED[0], None) for y in _CHECKED]
    conversations = [template.encode(render(prediction)) for prediction in predictions]
    expected, computed = OneByOneEngine(weights).logprobs(conversations), engine.logprobs(conversations)
    worst = 0.0
    for wanted, actual in zip(expected, computed, strict=True):
        if isinstance(wanted, SpanError):
            raise wanted
        if isinstance(actual, SpanError):
            raise actual
        if not all(map(math.isfinite, wanted)):
            return None
        gaps = [abs(a - b) for a, b in zip(wanted, actual, strict=True)]
        worst = max(worst, *(gap if math.isfinite(gap) else math.inf for gap in gaps))
    if worst <= ALLOWED[weights.dtype]:
        return None
    return f"computing texts together changed a log-probability by {worst:.2g} nats in a check"


def _list_rotary_kinds(parameters: object) -> set[str]:
    """Returns the rope types in *parameters*, a config's ``rope_parameters``.

    These are one dict, or a dict with one such dict for each kind of layer.
    """
    if not isinstance(parameters, dict):
        return set()
    if "rope_type" in parameters:
        return {parameters["rope_type"]}
    return set().union(*(_list_rotary_kinds(each) for each in parameters.values()))
