"""A writer that reaches an LM through a provider of inspect_ai, such as Anthropic's, Google's or Amazon's.

inspect_ai only transports one request and its reply. Its retries, cache and logs are not used: `HttpWriter` handles
budget, archive, rate limits and retries, so a reply that arrived is paid for only once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import Chat, Completion, Sampling
from gre_bench.core.replies import without_thinking
from gre_bench.http.lm_requests import HttpClient, mask_secrets
from gre_bench.writing.http_writer import (
    CompletionAttempt,
    HttpWriter,
    build_unanswered_attempt,
    parse_error_response,
    replace_lone_surrogates,
    shorten_to_one_line,
)

if TYPE_CHECKING:
    from inspect_ai.model import ModelAPI, ModelOutput

_CUT = {"max_tokens", "model_length"}


class InspectWriter(HttpWriter):
    """An `HttpWriter` that sends its requests through the provider of inspect_ai that *model* names."""

    def _open_client(self) -> HttpClient:
        return cast(HttpClient, open_provider(self.model))

    def _send_request(self, chat: Chat, sampling: Sampling, client: HttpClient) -> CompletionAttempt:
        """Sends one request and returns the result; faults of provider and connection are part of the result."""
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig

        provider, seconds = cast("ModelAPI", client), self.retry_policy.timeout_s
        system = [ChatMessageSystem(content=chat.system)] if chat.system else []
        config = GenerateConfig(
            temperature=sampling.temperature, max_tokens=sampling.max_tokens, top_p=sampling.top_p, seed=sampling.seed,
            max_connections=self.retry_policy.concurrency,
        )  # fmt: skip
        request = provider.generate([*system, ChatMessageUser(content=chat.user)], [], "none", config)
        try:
            sent = asyncio.run_coroutine_threadsafe(asyncio.wait_for(request, seconds), _get_event_loop()).result()
            output = sent[0] if isinstance(sent, tuple) else sent
            result = (
                _parse_provider_error(output, provider)
                if isinstance(output, Exception)
                else parse_provider_output(output)
            )
        except TimeoutError:
            result = build_unanswered_attempt(f"provider gave no answer in {seconds:g} s", again=True)
        except Exception as error:  # each provider's package has its own errors
            result = _parse_provider_error(error, provider)
        secrets = [secret for secret in (provider.api_key, self.model.read_api_key()) if secret]
        texts = {name: getattr(result.reply, name) for name in ("text", "detail", "model")}
        kept: dict[str, Any] = {name: mask_secrets(text, secrets, "[key]") for name, text in texts.items() if text}
        return replace(result, reply=replace(result.reply, **kept))


def open_provider(model: Model) -> ModelAPI:
    """Opens the provider of *model* without sending anything.

    Raises `SettingsError` if inspect_ai is not installed or knows no such provider. Raises `LMError` if the provider
    lacks its key or a package.
    """
    if find_spec("inspect_ai") is None:
        raise SettingsError(f"model {model.name} needs inspect_ai: pip install 'gre-bench[inspect]'")
    from inspect_ai.model import get_model
    from rich.text import Text

    try:
        api = get_model(model.model, base_url=model.endpoint or None, api_key=model.read_api_key(), memoize=False).api
    except LMError:
        raise
    except ValueError as error:
        raise SettingsError(f"model {model.name}: {shorten_to_one_line(str(error))}") from None
    except Exception as error:  # providers may raise any exception if their key or their package is missing
        raise LMError(
            f"model {model.name}: {shorten_to_one_line(Text.from_markup(str(error)).plain.removeprefix('ERROR: '))}"
        ) from None
    # Retries by a provider's own client would send requests that the budget does not count.
    if hasattr(sender := getattr(api, "client", None), "max_retries"):
        cast(Any, sender).max_retries = 0
    return api


def parse_provider_output(output: ModelOutput) -> CompletionAttempt:
    """Parses the output of a provider; the reasoning is left out, and only its characters are counted."""
    if not output.choices:
        return build_unanswered_attempt(f"provider answered without a message: {output.error or 'no reason given'}")
    choice, usage = output.choices[0], output.usage
    content = choice.message.content
    parts = [] if isinstance(content, str) else content
    text, thinking = without_thinking(replace_lone_surrogates(choice.message.text))
    thinking += sum(len(part.reasoning) for part in parts if part.type == "reasoning")
    if usage is None and choice.stop_reason in ("model_length", "content_filter"):
        # A refused request looks like an output whose text is the provider's message.
        code = "content_filter" if choice.stop_reason == "content_filter" else "context_length_exceeded"
        return parse_error_response(400, {"error": {"code": code, "message": text}})
    more: dict[str, Any] = {"model": shorten_to_one_line(replace_lone_surrogates(output.model)), "thinking": thinking}
    if usage is not None:
        read = (usage.input_tokens, usage.input_tokens_cache_read, usage.input_tokens_cache_write)
        more |= {"prompt_tokens": sum(count or 0 for count in read), "reply_tokens": usage.output_tokens}
    if choice.stop_reason == "content_filter" or any(part.type == "text" and part.refusal for part in parts):
        reason = choice.stop_details.explanation if choice.stop_details else output.error or text
        return CompletionAttempt(
            Completion("refused", None, shorten_to_one_line(reason or "stopped by the provider"), **more)
        )
    cut = choice.stop_reason in _CUT
    if not text.strip():
        why = "no text before the limit was reached" if cut else "no text"
        return CompletionAttempt(
            Completion("empty", None, f"{why} ({thinking} characters of thinking)", **more), not cut
        )
    return CompletionAttempt(Completion("cut" if cut else "ok", text, **more))


def _parse_provider_error(error: Exception, provider: ModelAPI) -> CompletionAttempt:
    """Parses an error that *provider* raised or returned, as `parse_error_response` parses a response."""
    decision, status = provider.should_retry(error), getattr(error, "status_code", None) or getattr(error, "code", None)
    wait_s, limited = getattr(decision, "retry_after", None), getattr(decision, "kind", None) == "rate_limit"
    if isinstance(status, int):
        body = getattr(error, "body", None)
        stated = body.get("error", body) if isinstance(body, Mapping) else {"message": str(error)}
        return parse_error_response(status, {"error": stated}, wait_s)
    detail = f"{type(error).__name__}: {str(error.__cause__ or '') or error}"
    outcome = "rate_limited" if limited else "failed"
    return build_unanswered_attempt(detail, again=bool(decision), wait_s=wait_s, outcome=outcome)


@cache
def _get_event_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop of all providers, which runs in its own thread until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="providers", daemon=True).start()
    return loop
