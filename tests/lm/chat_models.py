"""Tiny random chat models: Llama's architecture, byte-level BPE, and templates that write what three families write."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gre_bench.core.records import Prediction

Template = Literal["llama3", "chatml", "mistral"]

TEXTS = (
    "The reviewer appreciates the clear writing.\nThe reviewer criticizes the limited novelty.",
    "The reviewer appreciates the clear writing.\nThe reviewer questions the choice of hyperparameters.",
    "The reviewer suggests adding an ablation study.",
)
PREDICTIONS = [
    Prediction(x, synopsis, y)
    for synopsis in (None, "We study how a model learns.")
    for x in (None, *TEXTS)
    for y in TEXTS
]
"""Predictions of one paper, which share much."""

_SENTENCES = [
    "The reviewer appreciates the clear writing.\n\nThe reviewer appreciates the extensive experiments.",
    "The reviewer criticizes the limited novelty.\nThe reviewer criticizes the lack of comparisons. The end.",
    "The reviewer questions the choice of hyperparameters.\n\nThe reviewer suggests adding an ablation study.",
    "[Abstract of the paper]\n\nWe study how a model learns.",
    "[Review judgments from the first reviewer]\n\nNot available",
]

_CONTROL = {
    "llama3": ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
    "chatml": ["<|im_start|>", "<|im_end|>"],
    "mistral": ["<s>", "</s>", "[INST]", "[/INST]"],
}

_TEMPLATES = {
    # Llama 3.1: messages trimmed, a knowledge and a date line before the system text.
    "llama3": """
{%- set today = date_string if date_string is defined else strftime_now("%d %b %Y") -%}
{{- bos_token -}}
{%- for message in messages -%}
    {{- "<|start_header_id|>" + message.role + "<|end_header_id|>\\n\\n" -}}
    {%- if message.role == "system" -%}
        {{- "Cutting Knowledge Date: December 2023\\nToday Date: " + today + "\\n\\n" -}}
    {%- endif -%}
    {{- message.content.strip() + "<|eot_id|>" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" -}}
{%- endif -%}""",
    # ChatML: nothing trimmed, no beginning-of-text token, a newline after the end of turn.
    "chatml": """
{%- for message in messages -%}
    {{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}""",
    # Mistral v0.3: no system role of its own; the system text opens the user message only where that comes last.
    "mistral": """
{%- set opening = messages[0].content + "\\n\\n" if messages[0].role == "system" else "" -%}
{{- bos_token -}}
{%- for message in messages if message.role != "system" -%}
    {%- if (message.role == "user") != (loop.index0 % 2 == 0) -%}
        {{- raise_exception("user and assistant have to take turns") -}}
    {%- elif message.role == "user" -%}
        {{- "[INST] " + (opening if loop.last else "") + message.content + "[/INST]" -}}
    {%- else -%}
        {{- " " + message.content.strip() + eos_token -}}
    {%- endif -%}
{%- endfor -%}""",
}


def build_tokenizer(template: Template):
    """A fast tokenizer of a few hundred tokens with the control tokens and the chat template of a family."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    pieces = pre_tokenizers.Split(Regex(r"\s*\n+| ?\w+| ?[^\s\w]+|\s+"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pieces, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    control = _CONTROL[template]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=control, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_SENTENCES, trainer)
    ends = {"llama3": "<|eot_id|>", "chatml": "<|im_end|>", "mistral": "</s>"}
    opening = {"llama3": "<|begin_of_text|>", "mistral": "<s>"}.get(template)
    if opening:
        # As the families' own tokenizers do unless they are told not to.
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{opening} $A", special_tokens=[(opening, tokenizer.token_to_id(opening))]
        )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=ends[template], **({"bos_token": opening} if opening else {}),
        additional_special_tokens=control, clean_up_tokenization_spaces=False,
    )  # fmt: skip
    fast.chat_template = _TEMPLATES[template]
    return fast


ARCHITECTURES = tuple(
    ["llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text"]
)

_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
_OWN = {
    # Windows shorter than a conversation, so that a token too far back shows.
    "mistral": {"sliding_window": 48},
    "mixtral": {"sliding_window": None, "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2": {"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 1},
    "qwen2_moe": {**_EXPERTS, "shared_expert_intermediate_size": 64},
    "qwen3_moe": _EXPERTS,
    "gemma2": {"sliding_window": 40, "query_pre_attn_scalar": 32, "final_logit_softcapping": 5.0},
    "gemma3_text": {
        "sliding_window": 56,
        "query_pre_attn_scalar": 32,
        "layer_types": ["sliding_attention", "full_attention"],
    },
}


def build_chat_model(
    folder: Path, template: Template = "llama3", seed: int = 0, *, context: int = 2048, architecture: str = "llama",
    **changes: object,
) -> Path:  # fmt: skip
    """Writes a random two-layer model and its tokenizer into *folder* and gives *folder*; torch keeps to one thread.

    *architecture* is a model type of transformers; *changes* are entries of its config.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    # Work this small is lost in waiting for a second thread: a hundred times slower where another process has the core.
    torch.set_num_threads(1)

    tokenizer = build_tokenizer(template)
    shape = {
        "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "max_position_embeddings": context,
        "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": None,
        # Ten times the usual: next-token distributions far from uniform, so that a row or token too far shows.
        "initializer_range": 0.2,
    }  # fmt: skip
    config = AutoConfig.for_model(architecture, **{**shape, **_OWN.get(architecture, {}), **changes})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
