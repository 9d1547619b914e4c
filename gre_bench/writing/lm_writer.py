"""Writes texts with an LM and the prompts of Xu et al. 2025.

Their appendix has the prompts for judgments (C.1), reviews (C.3), synopses (C.4) and perturbations (D.3 and D.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial

from gre_bench.catalogs.models import Model
from gre_bench.core import replies
from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Completion, Paper, Sampling, Writer, WrittenText, digest
from gre_bench.perturbations.by_name import WriterTask
from gre_bench.perturbations.edits import add_section_openings, blank_even_sentences, check_completion
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.prompts.conditions import GuidelineCondition
from gre_bench.prompts.library import fill_prompt, load
from gre_bench.writing.fit import OverLong, choose_token_counter, cut_paper_to_fit, judge_fit, tokens_left_for_prompt
from gre_bench.writing.rules.synopsis import assw_text
from gre_bench.writing.rules.writer import perturb_applicable_reviews

RETRIES = 1
"""How often a request is repeated, with another seed, if its reply is unusable."""

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "completion": ("completion",),
    "abstract_only": ("abstract_only",),
    "rephrase": ("rephrase",),
    "elongation": ("summary_strengths", "summary_weaknesses"),
}
"""A perturbation's task for a writer → the names of its prompts (Xu et al. 2025, D.3.2, D.3.3, D.4.1, D.4.2)."""

LONGEST_SUMMARY = 60

SHORTEST_REPHRASING, LONGEST_REPHRASING = 1 / 3, 3
"""The smallest and largest accepted length of a rephrasing, as a multiple of the original's number of words."""


class LMTextWriter:
    """A `TextWriter` that uses an LM. *writer* sends the chats to the LM.

    *condition*: a variant of the prompt for reviews, such as one with a guideline; None: the usual prompt. *judging*:
    the name of the domain's prompt for judgments. *model*: the LM whose context a paper must fit; None: lengths are not
    checked. *over_long*: whether to refuse or to truncate a paper that does not fit.
    """

    def __init__(
        self,
        writer: Writer,
        sampling: Sampling,
        condition: GuidelineCondition | None = None,
        judging: str = "judgments",
        model: Model | None = None,
        over_long: OverLong = "refuse",
    ):
        self.writer = writer
        self.sampling = sampling
        self.condition = condition
        self.model, self.over_long = model, over_long
        self.prompts = {"judgments": (judging,), **PROMPTS}

    def identity(self, task: str) -> str:
        """Returns one line that names the LM, the prompt and the sampling of *task*, for use in signatures."""
        if task == "review" and self.condition:
            prompt = f"{self.condition.name} {self.condition.sha256[:8]}"
        else:
            prompt = "+".join(load(name).sha256[:8] for name in self.prompts.get(task, (task,)))
        cutting, model = "", self.model
        if model and task in ("review", "assw") and self.over_long == "truncate":
            left = tokens_left_for_prompt(model, self.sampling.max_tokens)
            cutting = f" · cut to {left} tokens" if left else ""
        return f"{self.writer.identity} · prompt {prompt} · sampling {digest(asdict(self.sampling))[:8]}{cutting}"

    def get_chat_builder(self, task: str) -> Callable[[str], Chat]:
        return self.condition.chat if task == "review" and self.condition else partial(build_paper_chat, task)

    def write_judgments(self, reviews: Sequence[tuple[str, str]]) -> list[WrittenText]:
        chats = [fill_prompt(self.prompts["judgments"][0], review=text) for _, text in reviews]
        return self._write_with_retries(
            [item for item, _ in reviews],
            chats,
            [_refuse_echoes_and_loops(chat, replies.require_judgments) for chat in chats],
        )

    def write_assw(self, papers: Sequence[Paper]) -> list[WrittenText]:
        return self._write_texts_of_papers("assw", papers, lambda text: assw_text(*replies.parse_assw(text)))

    def write_reviews(self, papers: Sequence[Paper]) -> list[WrittenText]:
        return self._write_texts_of_papers("review", papers, lambda text: text)

    def write_perturbed_reviews(self, task: WriterTask, items: Sequence[PerturbationInput]) -> list[WrittenText]:
        return perturb_applicable_reviews(task, items, partial(self._write_perturbed_reviews, task))

    def _write_perturbed_reviews(self, task: WriterTask, items: Sequence[PerturbationInput]) -> list[WrittenText]:
        if task == "completion":
            chats = [fill_prompt(task, review=blank_even_sentences(item)) for item in items]
            return self._write_checked_texts(items, chats, [partial(check_completion, material=item) for item in items])
        if task == "abstract_only":
            chats = [fill_prompt(task, abstract=item.abstract or "") for item in items]
            return self._write_checked_texts(items, chats, [str] * len(items))
        if task == "rephrase":
            chats = [fill_prompt(task, review=item.text) for item in items]
            return self._write_checked_texts(
                items, chats, [partial(check_rephrasing, text=item.text) for item in items]
            )
        strengths, weaknesses = (
            self._write_checked_texts(
                items, [fill_prompt(prompt, review=item.text) for item in items], [parse_summary] * len(items)
            )
            for prompt in PROMPTS[task]
        )
        return [_join_opening_summaries(*parts) for parts in zip(items, strengths, weaknesses, strict=True)]

    def _write_checked_texts(
        self, items: Sequence[PerturbationInput], chats: Sequence[Chat], reads: Sequence[Callable[[str], str]]
    ) -> list[WrittenText]:
        answers = [_refuse_echoes_and_loops(chat, read) for chat, read in zip(chats, reads, strict=True)]
        return self._write_with_retries([item.key for item in items], chats, answers)

    def _write_texts_of_papers(
        self, task: str, papers: Sequence[Paper], read: Callable[[str], str]
    ) -> list[WrittenText]:
        chat_of_text, lost = self.get_chat_builder(task), dict[str, WrittenText]()
        able = [
            fitting
            for paper in papers
            if paper.text and (fitting := self._fit_paper_to_context(paper, chat_of_text, lost))
        ]
        ids = [paper.paper_id for paper in able]
        chats = [chat_of_text(paper.whole) for paper in able]
        # A candidate's reply is its review, whatever it says. Texts that scores are computed with must be usable.
        reads = [read if task == "review" else _refuse_echoes_and_loops(chat, read) for chat in chats]
        done = lost | dict(zip(ids, self._write_with_retries(ids, chats, reads), strict=True))
        return [done.get(paper.paper_id) or WrittenText(paper.paper_id, None, "no_text") for paper in papers]

    def _fit_paper_to_context(
        self, paper: Paper, chat_of_text: Callable[[str], Chat], lost: dict[str, WrittenText]
    ) -> Paper | None:
        """Returns *paper*, truncated if necessary, so that its prompt fits the LM's context; sends nothing.

        If the paper cannot be made to fit, returns None and adds the reason to *lost* under the paper's id.
        """
        left = tokens_left_for_prompt(self.model, self.sampling.max_tokens) if self.model else None
        if self.model is None or left is None:
            return paper
        count, basis = choose_token_counter(self.model)
        chat = chat_of_text(paper.whole)
        tokens = count(chat.system + chat.user)
        if self.over_long == "truncate":
            fitting = cut_paper_to_fit(paper, chat_of_text, count, left)
        else:
            fitting = None if judge_fit(tokens, left) == "does_not_fit" else paper
        if fitting is None:
            why = f"{tokens} tokens ({basis}), and {max(left, 0):,} are left of a context of {self.model.context:,}"
            todo = "" if self.over_long == "truncate" else "; --set writing.over_long=truncate cuts papers"
            lost[paper.paper_id] = WrittenText(paper.paper_id, None, "too_long", f"{why}{todo}")
        return fitting

    def _write_with_retries(
        self, items: Sequence[str], chats: Sequence[Chat], reads: Sequence[Callable[[str], str]]
    ) -> list[WrittenText]:
        results = self._request_texts(items, chats, reads, self.sampling)
        for attempt in range(1, RETRIES + 1):
            again = [index for index, written in enumerate(results) if written.outcome == "unparsable"]
            if not again:
                break
            sampling = replace(self.sampling, seed=(self.sampling.seed or 0) + attempt)
            due, due_chats = [items[index] for index in again], [chats[index] for index in again]
            some = self._request_texts(due, due_chats, [reads[index] for index in again], sampling)
            for index, answer in zip(again, some, strict=True):
                results[index] = answer if answer.text or answer.outcome == "unparsable" else results[index]
        return results

    def _request_texts(
        self, items: Sequence[str], chats: Sequence[Chat], reads: Sequence[Callable[[str], str]], sampling: Sampling
    ) -> list[WrittenText]:
        """Sends *chats* to the LM and returns the parsed replies.

        *items*: the ids of the results. *reads*: for each chat, the function that parses its reply.

        If the writer was opened with ``again``, a chat whose archived reply is unparsable is sent again.
        """
        answers = self.writer.write(chats, sampling)
        results = [_parse_reply(*parts) for parts in zip(items, answers, reads, strict=True)]
        useless = [index for index, item in enumerate(results) if item.outcome == "unparsable" and item.archived]
        if useless and getattr(self.writer, "again", False):
            self.writer.set_aside([chats[index] for index in useless], sampling)  # pyrefly: ignore
            answers = self.writer.write([chats[index] for index in useless], sampling)
            for index, reply in zip(useless, answers, strict=True):
                results[index] = _parse_reply(items[index], reply, reads[index])
        return results


def parse_summary(reply: str) -> str:
    """Returns the summary in *reply* without its full stop; raises `ReplyError` unless it is one short line."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0].split()) > LONGEST_SUMMARY:
        raise ReplyError(f"no_summary: {len(lines)} lines, instead of one of at most {LONGEST_SUMMARY} words")
    return lines[0].rstrip(" .")


def check_rephrasing(reply: str, text: str) -> str:
    """Returns *reply*, a rephrasing of *text*, stripped; raises `ReplyError` if it is much shorter or longer.

    A reply of such a different length is probably a refusal or a comment.
    """
    share = len(reply.split()) / max(1, len(text.split()))
    if not SHORTEST_REPHRASING <= share <= LONGEST_REPHRASING:
        raise ReplyError(f"no_rephrasing: {share:.2f} times the words of the review")
    return reply.strip()


def _refuse_echoes_and_loops(chat: Chat, read: Callable[[str], str]) -> Callable[[str], str]:
    """Returns *read*, extended to refuse replies that repeat the instructions of *chat* or end in a loop."""

    def read_checked_reply(text: str) -> str:
        if chat.system and chat.system.strip() in text:
            raise ReplyError("prompt_echoed")
        if replies.ends_in_loop(text):
            raise ReplyError("repeats_itself")
        return read(text)

    return read_checked_reply


def build_paper_chat(task: str, paper: str) -> Chat:
    return fill_prompt(task, paper=paper)


def _join_opening_summaries(item: PerturbationInput, strengths: WrittenText, weaknesses: WrittenText) -> WrittenText:
    """Returns the review *item* with both summaries added, and the sum of the summaries' token counts.

    If a summary could not be made, returns that summary's result, which says why.
    """

    def add_token_counts(first: int | None, second: int | None) -> int | None:
        return None if first is None or second is None else first + second

    if not strengths.text or not weaknesses.text:
        return weaknesses if strengths.text else strengths
    return replace(
        strengths,
        text=add_section_openings(item, strengths.text, weaknesses.text),
        detail="; ".join(filter(None, (strengths.detail, weaknesses.detail))),
        thinking=strengths.thinking + weaknesses.thinking,
        prompt_tokens=add_token_counts(strengths.prompt_tokens, weaknesses.prompt_tokens),
        reply_tokens=add_token_counts(strengths.reply_tokens, weaknesses.reply_tokens),
        archived=strengths.archived and weaknesses.archived,
    )


def _parse_reply(item: str, reply: Completion, read: Callable[[str], str]) -> WrittenText:
    more = {name: getattr(reply, name) for name in ("thinking", "prompt_tokens", "reply_tokens", "archived")}
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return WrittenText(item, None, reply.outcome, reply.detail, reply.final, **more)
    try:
        detail = "cut at the token limit" if reply.outcome == "cut" else reply.detail
        return WrittenText(item, read(reply.text), "ok", detail, **more)
    except ReplyError as error:
        return WrittenText(item, None, "unparsable", str(error), **more)
