"""Texts written by an LM, with the prompts of Xu et al. 2025: C.1, C.3 and C.4, and D.3 and D.4 for changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from gre_bench.catalogs.models import Model
from gre_bench.changes.catalog import WriterTask
from gre_bench.changes.deletion import blanked, completed
from gre_bench.changes.elongation import elongated
from gre_bench.changes.material import ChangeInput
from gre_bench.core import replies
from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Paper, Reply, Sampling, Writer, Written, digest
from gre_bench.prompts.conditions import Condition
from gre_bench.prompts.library import fill, load
from gre_bench.writing.changing import PROMPTS, answered, one_line, rephrased
from gre_bench.writing.fit import OverLong, counter, cut, room, verdict
from gre_bench.writing.rules.synopsis import assw_text

RETRIES = 1
"""How often a reply that cannot be used is asked for anew, with another seed."""


class LMTextWriter:
    """A text writer that asks *writer*, with its own *sampling*; reviews are written under the guideline *condition*.

    *judging*: the prompt for judgments, which is the domain's. *model*: whose context a paper has to fit (None: it is
    not looked at); *over_long* says what is done with one that does not.
    """

    def __init__(
        self,
        writer: Writer,
        sampling: Sampling,
        condition: Condition | None = None,
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
        if task == "review" and self.condition:
            prompt = f"{self.condition.name} {self.condition.sha256[:8]}"
        else:
            prompt = "+".join(load(name).sha256[:8] for name in self.prompts.get(task, (task,)))
        cutting = f" · cut to {left} tokens" if task in ("review", "assw") and (left := self._cut_to()) else ""
        return f"{self.writer.identity} · prompt {prompt} · sampling {digest(_plain(self.sampling))[:8]}{cutting}"

    def chat_of(self, task: str) -> Callable[[str], Chat]:
        """What the LM is asked about a paper, given as text: its ``review`` or its ``assw``."""
        return self.condition.chat if task == "review" and self.condition else partial(chat_of, task)

    def _cut_to(self) -> int | None:
        """Tokens of the longest prompt, where papers are cut to it."""
        return room(self.model, self.sampling.max_tokens) if self.model and self.over_long == "truncate" else None

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]:
        chats = [fill(self.prompts["judgments"][0], review=text) for _, text in reviews]
        return self._written([item for item, _ in reviews], chats, [_own(chat, replies.judgments) for chat in chats])

    def assw(self, papers: Sequence[Paper]) -> list[Written]:
        return self._of_papers("assw", papers, lambda text: assw_text(*replies.assw(text)))

    def reviews(self, papers: Sequence[Paper]) -> list[Written]:
        return self._of_papers("review", papers, lambda text: text)

    def changed(self, task: WriterTask, items: Sequence[ChangeInput]) -> list[Written]:
        return answered(task, items, partial(self._changed, task))

    def _changed(self, task: WriterTask, items: Sequence[ChangeInput]) -> list[Written]:
        if task == "completion":
            chats = [fill(task, review=blanked(item)) for item in items]
            return self._answers(items, chats, [partial(completed, material=item) for item in items])
        if task == "abstract_only":
            return self._answers(
                items, [fill(task, abstract=item.abstract or "") for item in items], [str] * len(items)
            )
        if task == "rephrase":
            chats = [fill(task, review=item.text) for item in items]
            return self._answers(items, chats, [partial(rephrased, text=item.text) for item in items])
        strengths, weaknesses = (
            self._answers(items, [fill(prompt, review=item.text) for item in items], [one_line] * len(items))
            for prompt in PROMPTS[task]
        )
        return [_elongated(*parts) for parts in zip(items, strengths, weaknesses, strict=True)]

    def _answers(
        self, items: Sequence[ChangeInput], chats: Sequence[Chat], reads: Sequence[Callable[[str], str]]
    ) -> list[Written]:
        answers = [_own(chat, read) for chat, read in zip(chats, reads, strict=True)]
        return self._written([item.key for item in items], chats, answers)

    def _of_papers(self, task: str, papers: Sequence[Paper], read: Callable[[str], str]) -> list[Written]:
        asked, lost = self.chat_of(task), dict[str, Written]()
        able = [fitting for paper in papers if paper.text and (fitting := self._fitting(paper, asked, lost))]
        ids = [paper.paper_id for paper in able]
        chats = [asked(paper.whole) for paper in able]
        # What a candidate writes is its review, whatever it is; what the scores are made with must be an answer.
        reads = [read if task == "review" else _own(chat, read) for chat in chats]
        done = lost | dict(zip(ids, self._written(ids, chats, reads), strict=True))
        return [done.get(paper.paper_id) or Written(paper.paper_id, None, "no_text") for paper in papers]

    def _fitting(self, paper: Paper, asked: Callable[[str], Chat], lost: dict[str, Written]) -> Paper | None:
        """*paper*, cut if need be; None where it cannot fit, and why under its id in *lost*. Nothing was sent then."""
        left = room(self.model, self.sampling.max_tokens) if self.model else None
        if self.model is None or left is None:
            return paper
        count, basis = counter(self.model)
        chat = asked(paper.whole)
        tokens = count(chat.system + chat.user)
        if self.over_long == "truncate":
            found = cut(paper, asked, count, left)
        else:
            found = None if verdict(tokens, left) == "does_not_fit" else paper
        if found is None:
            why = f"{tokens} tokens ({basis}), and {max(left, 0):,} are left of a context of {self.model.context:,}"
            todo = "" if self.over_long == "truncate" else "; --set writing.over_long=truncate cuts papers"
            lost[paper.paper_id] = Written(paper.paper_id, None, "too_long", f"{why}{todo}")
        return found

    def _written(
        self, items: Sequence[str], chats: Sequence[Chat], reads: Sequence[Callable[[str], str]]
    ) -> list[Written]:
        found = self._asked(items, chats, reads, self.sampling)
        for attempt in range(1, RETRIES + 1):
            again = [place for place, written in enumerate(found) if written.outcome == "unparsable"]
            if not again:
                break
            sampling = replace(self.sampling, seed=(self.sampling.seed or 0) + attempt)
            some = self._asked(
                [items[place] for place in again],
                [chats[place] for place in again],
                [reads[place] for place in again],
                sampling,
            )
            for place, answer in zip(again, some, strict=True):
                found[place] = answer if answer.text or answer.outcome == "unparsable" else found[place]
        return found

    def _asked(
        self, items: Sequence[str], chats: Sequence[Chat], reads: Sequence[Callable[[str], str]], sampling: Sampling
    ) -> list[Written]:
        """What the replies are read as; archived ones that cannot be read are asked for anew where the writer may."""
        answers = self.writer.write(chats, sampling)
        found = [_read(*parts) for parts in zip(items, answers, reads, strict=True)]
        useless = [place for place, item in enumerate(found) if item.outcome == "unparsable" and item.archived]
        if useless and getattr(self.writer, "again", False):
            self.writer.set_aside([chats[place] for place in useless], sampling)  # pyright: ignore[reportAttributeAccessIssue]
            answers = self.writer.write([chats[place] for place in useless], sampling)
            for place, reply in zip(useless, answers, strict=True):
                found[place] = _read(items[place], reply, reads[place])
        return found


def _own(chat: Chat, read: Callable[[str], str]) -> Callable[[str], str]:
    """*read* for a reply that has to be an answer.

    `ReplyError`: ``prompt_echoed`` for one that holds its instructions, ``repeats_itself`` for one that ends in a loop.
    """

    def own(text: str) -> str:
        if chat.system and chat.system.strip() in text:
            raise ReplyError("prompt_echoed")
        if replies.repeats_itself(text):
            raise ReplyError("repeats_itself")
        return read(text)

    return own


def chat_of(task: str, paper: str) -> Chat:
    """What an LM is asked for a *task* (review, assw) about the text of a *paper*."""
    return fill(task, paper=paper)


def _elongated(item: ChangeInput, strengths: Written, weaknesses: Written) -> Written:
    """The elongated review, with what both of its summaries cost; the first that failed if one did."""
    if not strengths.text or not weaknesses.text:
        return weaknesses if strengths.text else strengths
    return replace(
        strengths,
        text=elongated(item, strengths.text, weaknesses.text),
        detail="; ".join(filter(None, (strengths.detail, weaknesses.detail))),
        thinking=strengths.thinking + weaknesses.thinking,
        prompt_tokens=_sum(strengths.prompt_tokens, weaknesses.prompt_tokens),
        reply_tokens=_sum(strengths.reply_tokens, weaknesses.reply_tokens),
        archived=strengths.archived and weaknesses.archived,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _read(item: str, reply: Reply, read: Callable[[str], str]) -> Written:
    """*reply* as the text it was asked for; a reply that cannot be read is unparsable, a cut one is taken as it is."""
    more = {
        "thinking": reply.thinking,
        "prompt_tokens": reply.prompt_tokens,
        "reply_tokens": reply.reply_tokens,
        "archived": reply.archived,
    }
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return Written(item, None, reply.outcome, reply.detail, reply.final, **more)
    try:
        detail = "cut at the token limit" if reply.outcome == "cut" else reply.detail
        return Written(item, read(reply.text), "ok", detail, **more)
    except ReplyError as error:
        return Written(item, None, "unparsable", str(error), **more)


def _plain(sampling: Sampling) -> dict[str, float | int | None]:
    return {name: getattr(sampling, name) for name in ("temperature", "max_tokens", "top_p", "seed")}
