"""Estimates what requests to LMs will cost before they are sent, and whether papers fit the LMs' contexts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.core.records import Case, Paper
from gre_bench.core.settings import Settings
from gre_bench.pipeline.year_models import NamedLMs, list_named_lms
from gre_bench.prompts.conditions import split_condition
from gre_bench.writing.fit import OverLong, choose_token_counter, judge_fit, tokens_left_for_prompt
from gre_bench.writing.spend_log import compute_cost_usd
from gre_bench.writing.writers import WriterContext, open_lm_text_writer

PAPER_TOKENS, REVIEW_TOKENS, JUDGMENT_TOKENS, SYNOPSIS_TOKENS, PROMPT_TOKENS = 12_000, 900, 300, 400, 500
CHARACTERS_A_TOKEN = 4.2
REPLY_TOKENS_BY_KIND = {
    "reviews": REVIEW_TOKENS,
    "judgments": JUDGMENT_TOKENS,
    "assw": SYNOPSIS_TOKENS,
    "grades": JUDGMENT_TOKENS,
}
"""Kind of text → the assumed number of tokens in one reply, not counting thinking tokens."""

Item = Paper | Case | tuple[str, str]


@dataclass(frozen=True, slots=True)
class PlannedRequests:
    """Planned requests to the LM *name* for the kind of text *what*, such as ``reviews``.

    *reads*: the tokens in the prompt of one request. *writes*: the tokens in its reply.
    """

    what: str
    name: str
    requests: int
    reads: float
    writes: float

    @property
    def prompt_tokens(self) -> int:
        return round(self.requests * self.reads)

    @property
    def reply_tokens(self) -> int:
        return round(self.requests * self.writes)

    def usd(self, model: Model) -> float | None:
        """Returns the cost at the prices of *model*; None if a price is unknown."""
        return compute_cost_usd(model, self.prompt_tokens, self.reply_tokens)


@dataclass(slots=True)
class RequestBill:
    """The planned requests of a run.

    *judge*: the LM that writes judgments; None if a rule writes them. Each planned review adds one request to this LM.
    """

    judge: str | None = None
    lines: list[PlannedRequests] = field(default_factory=list)

    def add(self, kind: str, name: str, items: Sequence[Item]) -> None:
        """Adds one request to the LM *name* for each of *items*.

        *kind*: the kind of text, a key of `REPLY_TOKENS_BY_KIND`.
        """
        if not items:
            return
        tokens = round(sum(_count_item_characters(item) for item in items) / CHARACTERS_A_TOKEN)
        self.lines.append(
            PlannedRequests(kind, name, len(items), tokens / len(items) + PROMPT_TOKENS, REPLY_TOKENS_BY_KIND[kind])
        )
        if kind == "reviews" and self.judge:
            self.lines.append(plan_judgment_requests(self.judge, len(items)))

    def texts(self) -> dict[str, int]:
        """Returns the numbers of requested texts by kind of text and LM, such as ``reviews by gpt-4o``."""
        counts = Counter[str]()
        for line in self.lines:
            counts[f"{line.what} by {line.name}"] += line.requests
        return dict(counts)

    def rows(self, models: Mapping[str, Model]) -> list[dict[str, Any]]:
        """Returns one row per model: requests, tokens, and USD (None if unknown).

        A model's requests with reviewer guidelines and without them share a row.
        """
        rows: dict[str, dict[str, Any]] = {}
        for line in self.lines:
            name = split_condition(line.name)[0]
            row = rows.setdefault(name, {"model": name, "requests": 0, "prompt_tokens": 0, "reply_tokens": 0})
            for column in ("requests", "prompt_tokens", "reply_tokens"):
                row[column] += getattr(line, column)
        return [row | {"usd": compute_cost_usd(models[name], row["prompt_tokens"], row["reply_tokens"])}
                for name, row in rows.items()]  # fmt: skip


def _count_item_characters(item: Item) -> int:
    if isinstance(item, Paper):
        return len(item.whole)
    return len(item.candidate) + len(item.synopsis or "") if isinstance(item, Case) else len(item[1])


def plan_judgment_requests(judge: str, texts: int, what: str = "judgments") -> PlannedRequests:
    """Returns the requests to the LM *judge* that ask for judgments of *texts* reviews, all of typical length."""
    return PlannedRequests(what, judge, texts, REVIEW_TOKENS + PROMPT_TOKENS, JUDGMENT_TOKENS)


def plan_refresh_requests(
    lms: NamedLMs, papers: int, judged: int, tokens: int = PAPER_TOKENS
) -> Iterator[PlannedRequests]:
    """Yields the requests that a refresh needs for *papers* papers, each *tokens* tokens long.

    *judged*: the number of reviews that need judgments.
    """
    for name in lms.reviewers:
        yield PlannedRequests("reviews", name, papers, tokens + PROMPT_TOKENS, REVIEW_TOKENS)
    if lms.judge:
        yield plan_judgment_requests(lms.judge, judged)
    if lms.assw:
        yield PlannedRequests("synopses", lms.assw, papers, tokens + PROMPT_TOKENS, SYNOPSIS_TOKENS)


@dataclass(frozen=True, slots=True)
class ContextFit:
    """How many papers fit the context of the LM *name* when it does *task*, which is ``review`` or ``assw``.

    - *papers*: the number of papers checked.
    - *fits*, *may_not_fit*, *does_not_fit*: how many of these papers fit, may not fit or do not fit.
    - *unknown*: the number of papers for which no answer is possible, because the models file states no context.
    - *context*: the longest prompt and reply together, in tokens.
    - *reply*: the longest reply that requests allow, in tokens.
    - *max_output*: the longest reply that the LM can give, in tokens.
    - *left*: the tokens left for the prompt; None if *context* is unknown.
    - *longest*: the length of the longest prompt in tokens, as text, which may be a range.
    - *basis*: how tokens were counted.
    - *over_long*: the setting that says whether papers that do not fit are truncated or skipped.
    """

    name: str
    task: str
    papers: int
    fits: int
    may_not_fit: int
    does_not_fit: int
    unknown: int
    context: int | None
    reply: int
    max_output: int | None
    left: int | None
    longest: str
    basis: str
    over_long: OverLong

    @property
    def trouble(self) -> str:
        """Returns one line about replies that are too long, or papers that do not fit or may not fit; else no text."""
        if self.max_output is not None and self.reply > self.max_output:
            return f"{self.name}: the settings ask for {self.reply:,} tokens, it gives at most {self.max_output:,}"
        if self.does_not_fit + self.may_not_fit == 0:
            return ""
        sure = f"{self.does_not_fit} of {self.papers} papers do not fit {self.name} ({self.task})"
        maybe = f", {self.may_not_fit} may not" if self.may_not_fit else ""
        done = "they are cut" if self.over_long == "truncate" else "they are not sent"
        return (
            f"{sure}{maybe}: {self.left:,} of {self.context:,} tokens are left for a prompt, the longest has "
            f"{self.longest} ({self.basis}); {done}"
        )


def count_papers_that_fit_contexts(
    settings: Settings, writer_context: WriterContext, papers: Sequence[Paper]
) -> Iterator[ContextFit]:
    """For each LM that reads whole papers, yields how many of *papers* fit.

    These LMs are the candidates and the writer of ASSW (author-stated strengths and weaknesses).
    """
    lms = list_named_lms(settings)
    readers = [(name, "review") for name in lms.reviewers] + ([(lms.assw, "assw")] if lms.assw else [])
    for name, task in readers:
        text_writer, model = open_lm_text_writer(name, writer_context)
        chat_of, reply = text_writer.get_chat_builder(task), text_writer.sampling.max_tokens
        (count, basis), left = choose_token_counter(model), tokens_left_for_prompt(model, reply)
        chats = [chat_of(paper.whole) for paper in papers]
        tokens_of_papers = [count(chat.system + chat.user) for chat in chats]
        kinds = Counter(judge_fit(tokens, left) for tokens in tokens_of_papers)
        longest = str(max(tokens_of_papers, key=lambda tokens: tokens.most, default=""))
        yield ContextFit(
            name, task, len(papers), kinds["fits"], kinds["may_not_fit"], kinds["does_not_fit"], kinds["unknown"],
            model.context, reply, model.max_output, left, longest, basis, writer_context.over_long,
        )  # fmt: skip
