"""The tokenizer of `tiny-llama`: byte-level BPE learnt from judgments, and a chat template of its own.

Every Unicode text is some sequence of its tokens and comes back unchanged. What all predictions share costs little:
each opening of a judgment is one token, and so is each constant text of the prompt, put together by the last merges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tasks.errors import SettingsError
from tasks.judgments import OPENINGS

if TYPE_CHECKING:
    from tokenizers.pre_tokenizers import PreTokenizer
    from transformers import PreTrainedTokenizerFast

SYSTEM, USER, ASSISTANT, END = "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"
CONTROL = (SYSTEM, USER, ASSISTANT, END)
CHAT_TEMPLATE = """
{%- for message in messages -%}
    {{- "<|" + message.role + "|>" + message.content + "<|end|>" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|assistant|>" -}}{%- endif -%}"""
_PIECES = r" ?\p{L}+| ?\p{N}{1,3}|\s*\n+| ?[^\s\p{L}\p{N}]+\n*|\s+"
Merge = tuple[str, str]


def build_tokenizer(
    texts: Sequence[str], constants: Sequence[str], size: int = 4096, context: int = 8192
) -> PreTrainedTokenizerFast:
    """A fast tokenizer of at most *size* tokens learnt from *texts*; *constants* are the texts of the prompt.

    *context* is the longest conversation in tokens that it warns of. `SettingsError` if *size* is too small.
    """
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    phrases = sorted({*OPENINGS, *filter(None, constants)}, key=lambda phrase: (len(phrase), phrase))
    reserved = 0
    while True:
        if size - reserved < 256 + len(CONTROL):
            raise SettingsError(
                f"a vocabulary of {size} tokens is too small for all bytes and the prompt's texts; raise vocabulary"
            )
        vocabulary, merges = _learnt(texts, phrases, size - reserved)
        if len(vocabulary) <= size:
            break
        reserved += len(vocabulary) - size
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = _cut_at("|".join([*map(_literal, reversed(phrases)), _PIECES]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(CONTROL))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END,
        additional_special_tokens=list(CONTROL),
        clean_up_tokenization_spaces=False,
        model_max_length=context,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _learnt(texts: Sequence[str], phrases: Sequence[str], size: int) -> tuple[dict[str, int], list[Merge]]:
    """Vocabulary and merges: *size* tokens learnt from *texts* within words, then those that make *phrases*."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = _cut_at(_PIECES)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(CONTROL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    model = json.loads(learner.to_str())["model"]
    vocabulary, merges = dict(model["vocab"]), [(one, other) for one, other in model["merges"]]
    added: list[Merge] = []
    for phrase in phrases:
        parts = learner.encode(phrase, add_special_tokens=False).tokens
        for merge in added:
            parts = _merged(parts, merge)
        while len(parts) > 1:
            merge = parts[0], parts[1]
            vocabulary.setdefault("".join(merge), len(vocabulary))
            added.append(merge)
            parts = _merged(parts, merge)
    return vocabulary, merges + added


def _merged(parts: list[str], merge: Merge) -> list[str]:
    """*parts* with each neighbouring pair *merge* as one, from the left, as BPE does it."""
    found: list[str] = []
    for part in parts:
        if found and (found[-1], part) == merge:
            found[-1] += part
        else:
            found.append(part)
    return found


def _literal(phrase: str) -> str:
    """A pattern of *phrase* alone; a word that goes on after it is another word."""
    return re.sub(r"([^\w\s])", r"\\\1", phrase) + (r"(?!\w)" if phrase[-1].isalnum() else "")


def _cut_at(pattern: str) -> PreTokenizer:
    from tokenizers import Regex, pre_tokenizers

    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), bytewise])
