"""Finds the tokens of a chat that belong to the reply. Only this module defines the scored span.

The span begins with the first token that ends after the generation prompt, not counting the prompt's final white space.
It ends with the end-of-turn token, which is included (Xu et al. 2025, C.2, as implemented in their code). Both ends are
derived from the text that the chat template writes around the reply. The chat is never searched for the reply's text,
because a reply may repeat any part of the prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Chat, digest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DATE = "26 Jul 2024"
"""The date that every template sees. With the true date, the same text would score differently on different days."""

_TRIAL = Chat("What is to be done.", "What is known.", "0")

_CLOCK = (
    "%d 26, %-d 26, %b Jul, %B July, %m 07, %-m 7, %Y 2024, %y 24, %A Friday, %a Fri, %F 2024-07-26, "
    "%H 00, %I 12, %M 00, %S 00, %p AM, %T 00:00:00"
)
_STOPPED_CLOCK = (
    "{%- macro strftime_now(format) -%}{{ format"
    + "".join("|replace('{}', '{}')".format(*entry.split()) for entry in _CLOCK.split(", "))
    + " }}{%- endmacro %}\n"
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The token ids of a chat up to the end of the reply's turn, and which of these tokens are scored (the span).

    - *first*, *last*: the indices in *ids* of the first and the last token to score; *first* is at least 1.
    - *escaped*: how often the chat's texts contained the text of a control token. A space breaks up each of them.
    """

    ids: tuple[int, ...]
    first: int
    last: int
    escaped: int


@dataclass(frozen=True)
class ChatTemplate:
    """The chat template of *tokenizer*, and what a trial chat showed about it.

    - *text*: the source text of the template.
    - *merged*: whether the system text is put at the start of the user message, before a blank line, because the
      template has no system role.
    - *ending*: the text that the template writes after a reply.
    - *control*: the ids of control tokens. *pattern*: matches the text of any of them; None if there are none.
    - *own*: the control tokens that the template itself writes, for chats with a system text (key True) and without
      (key False); filled by `encode`.
    """

    tokenizer: PreTrainedTokenizerBase
    text: str
    merged: bool
    ending: str
    control: frozenset[int]
    pattern: re.Pattern[str] | None
    own: dict[bool, list[int]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def from_tokenizer(cls, tokenizer: PreTrainedTokenizerBase) -> ChatTemplate:
        """Returns the chat template of *tokenizer*; raises `LMError` if replies cannot be scored with it."""
        if not tokenizer.is_fast:
            raise LMError("the tokenizer gives no offsets: a fast tokenizer (tokenizer.json) is needed")
        if not tokenizer.chat_template:
            raise LMError("the tokenizer has no chat template: take an instruction-tuned model, or add its template")
        try:
            text = tokenizer.get_chat_template()
        except ValueError as error:
            raise LMError(f"the tokenizer's chat template cannot be chosen: {_format_error_line(error)}") from error
        added = {token: str(entry) for token, entry in tokenizer.added_tokens_decoder.items()}
        # Runs of blanks and single characters are not control tokens.
        control = {token: sign.strip() for token, sign in added.items() if len(sign.replace("▁", " ").strip()) > 1}
        pattern = re.compile("|".join(map(re.escape, sorted(set(control.values()))))) if control else None
        refusals = []
        for merged in (False, True):
            template = cls(tokenizer, text, merged, "", frozenset(control), pattern)
            try:
                return template._detect_reply_ending()
            except SpanError as error:
                refusals.append(str(error))
        raise LMError(
            f"this chat template cannot be used: with a system message, {refusals[0]}; "
            f"with the system text in the user message, {refusals[1]}"
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that determines how a chat is rendered."""
        return digest([self.text, DATE, "system text in the user message" if self.merged else "system message"])

    def encode(self, chat: Chat) -> Conversation:
        """Returns the token ids of *chat*, and the positions of the reply's tokens among them.

        Raises `SpanError` if its texts cannot be encoded, or if the template changes the reply. A tokenizer that
        normalizes text may turn other characters, such as full-width ones, into a control token. `SpanError` is
        therefore also raised if the conversation holds control tokens other than those that the template writes.
        """
        try:
            "".join((chat.system, chat.user, chat.reply)).encode()
        except UnicodeEncodeError as error:
            raise SpanError("bad_text", "the text holds a lone surrogate, which no token stands for") from error
        (system, user, reply), escaped = self._break_up_control_tokens(chat.system, chat.user, chat.reply)
        conversation = replace(self._encode_escaped_texts(system, user, reply), escaped=escaped)
        if (shape := bool(system)) not in self.own:
            trial = self._encode_escaped_texts(_TRIAL.system if shape else "", _TRIAL.user, _TRIAL.reply)
            self.own[shape] = [token for token in trial.ids if token in self.control]
        if [token for token in conversation.ids if token in self.control] != self.own[shape]:
            raise SpanError("bad_text", "the tokenizer makes a control token of a text that does not spell it")
        return conversation

    def _encode_escaped_texts(self, system: str, user: str, reply: str) -> Conversation:
        """Does the work of `encode` for a chat whose texts do not spell out control tokens."""
        prompt = self._render_messages(system, user).rstrip()
        full = self._render_messages(system, user, reply)
        start, end = len(prompt), len(full) - len(self.ending)
        if not (full.startswith(prompt) and full.endswith(self.ending) and start <= end):
            raise SpanError("bad_span", "the chat template does not write the generation prompt before the reply")
        if not full[start:end].rstrip().endswith(reply.strip()):
            raise SpanError("bad_span", "the chat template changes the reply")
        encoded = self.tokenizer(full, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        ids, ends = encoded["input_ids"], [stop for _, stop in encoded["offset_mapping"]]
        first = next((index for index, stop in enumerate(ends) if stop > start), len(ids))
        last = next((index for index in range(first, len(ids)) if ends[index] > end and ids[index] in self.control), 0)
        if not 1 <= first <= last:
            raise SpanError("bad_span", "the template writes no end-of-turn token after the reply")
        return Conversation(tuple(ids[: last + 1]), first, last, 0)

    def _detect_reply_ending(self) -> ChatTemplate:
        """Returns a copy with *ending* filled in: the common end of two trial chats whose one-character replies differ.

        Raises `SpanError` if the template omits a message or changes a reply.
        """
        system, user = _TRIAL.system, _TRIAL.user
        prompt, first, second = (
            self._render_messages(system, user),
            *(self._render_messages(system, user, reply) for reply in "01"),
        )
        if system not in prompt or user not in prompt:
            raise SpanError("bad_span", "the chat template leaves a message out")
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(reversed(first), reversed(second), strict=False))
        template = replace(self, ending=first[len(first) - len(list(shared)) :])
        template.encode(_TRIAL)
        return template

    def _render_messages(self, system: str, user: str, reply: str | None = None) -> str:
        """Returns the chat that the template renders; if *reply* is None, it ends with the generation prompt."""
        if system and self.merged:
            system, user = "", f"{system}\n\n{user}"
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": user})
        if reply is not None:
            messages.append({"role": "assistant", "content": reply})
        # The macro for the fixed date ends in a newline that Jinja removes, so the template still starts on its own
        # line.
        text = _STOPPED_CLOCK + self.text if "strftime_now" in self.text else self.text
        try:
            written = self.tokenizer.apply_chat_template(
                messages, chat_template=text, add_generation_prompt=reply is None, tokenize=False, date_string=DATE
            )
            return cast(str, written)
        except Exception as error:  # a template is foreign code and may raise anything
            raise SpanError("bad_span", f"the chat template raises: {_format_error_line(error)}") from error

    def _break_up_control_tokens(self, *texts: str) -> tuple[list[str], int]:
        """Breaks up each control token in *texts* by a space after its first character.

        Returns the new texts and the number of control tokens broken up.
        """
        broken, total = [], 0
        for text in texts:
            # Repeated until no control token is left, because breaking up one may leave another that overlapped it.
            count = 1
            while self.pattern and count:
                text, count = self.pattern.subn(lambda sign: f"{sign[0][0]} {sign[0][1:]}", text)
                total += count
            broken.append(text)
        return broken, total


def _format_error_line(error: Exception) -> str:
    return " ".join(f"{error or type(error).__name__}".split())[:150]
