"""Who writes: by name, a rule of ours or an LM of the models file. Each writes judgments, synopses and reviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tasks import replies
from tasks.errors import ReplyError, SettingsError
from tasks.prompts.library import fill, load
from tasks.records import Chat, Paper, Reply, Sampling, Written, digest
from tasks.writing import extractive, rule_judgments, rule_synopsis
from tasks.writing.protocol import Writer

RULE = "rule"
EXTRACTIVE = {"extractive-full": "full", "extractive-abstract": "abstract"}
"""Reviewers by rule, which serve as controls."""

RETRIES = 1
"""How often a reply that cannot be used is asked for anew, with another seed."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where LM writers find what they need: the models file (None: the shipped one) and the reply archive.

    *again*: refusals and empty replies of earlier runs are asked for anew.
    """

    archive: Path
    models: Path | None = None
    again: bool = False


def by_rule(name: str) -> bool:
    """Whether the writer *name* needs no LM."""
    return name == RULE or name in EXTRACTIVE


def writes_reviews(name: str, desk: Desk) -> bool:
    """Whether *name* is a reviewer by rule or an LM of the models file."""
    from tasks.models import load as load_models

    return name in EXTRACTIVE or name in load_models(desk.models)


class Scribe(Protocol):
    """A writer of texts; `identity` of a task goes into signatures."""

    def identity(self, task: str) -> str: ...

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]: ...

    def assw(self, papers: Sequence[Paper]) -> list[Written]: ...

    def reviews(self, papers: Sequence[Paper]) -> list[Written]: ...


def scribe(name: str, desk: Desk) -> Scribe:
    """The writer *name*; `SettingsError` names the known ones."""
    if by_rule(name):
        return RuleScribe(name)
    from tasks.models import load as load_models
    from tasks.writing.archive import ReplyArchive
    from tasks.writing.http_writer import HttpWriter

    models = load_models(desk.models)
    if name not in models:
        raise SettingsError(f"no writer {name!r}; known: {', '.join((RULE, *EXTRACTIVE, *models))}")
    return LMScribe(HttpWriter.open(models[name], ReplyArchive(desk.archive), desk.again), models[name].sampling)


class RuleScribe:
    """Writes by rule: no LM, no cost, the same text every time."""

    def __init__(self, name: str):
        self.name = name

    def identity(self, task: str) -> str:
        return {"judgments": rule_judgments.WRITER, "assw": rule_synopsis.WRITER}.get(task, f"{self.name}-1")

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]:
        return [_by_rule(item, rule_judgments.judgments_of(text), "no_judgments") for item, text in reviews]

    def assw(self, papers: Sequence[Paper]) -> list[Written]:
        return [_by_rule(paper.paper_id, _assw_of(paper), "no_text") for paper in papers]

    def reviews(self, papers: Sequence[Paper]) -> list[Written]:
        if self.name not in EXTRACTIVE:
            raise SettingsError(f"writer {self.name} writes no reviews; reviewers by rule: {', '.join(EXTRACTIVE)}")
        return [self._review(paper) for paper in papers]

    def _review(self, paper: Paper) -> Written:
        kind = EXTRACTIVE[self.name]
        if not (paper.text if kind == "full" else paper.abstract):
            return Written(paper.paper_id, None, "no_text" if kind == "full" else "no_abstract")
        return _by_rule(
            paper.paper_id, extractive.review_of(paper.title, paper.abstract, paper.text, kind), "no_review"
        )


class LMScribe:
    """Writes by an LM: the prompts of Xu et al. 2025, C.1, C.3 and C.4."""

    def __init__(self, writer: Writer, sampling: Sampling):
        self.writer = writer
        self.sampling = sampling

    def identity(self, task: str) -> str:
        prompt = load(task).sha256[:8]
        return f"{self.writer.identity} · prompt {prompt} · sampling {digest(_plain(self.sampling))[:8]}"

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]:
        chats = [fill("judgments", review=text) for _, text in reviews]
        return self._written([item for item, _ in reviews], chats, replies.judgments)

    def assw(self, papers: Sequence[Paper]) -> list[Written]:
        return self._of_papers("assw", papers, lambda text: assw_text(*replies.assw(text)))

    def reviews(self, papers: Sequence[Paper]) -> list[Written]:
        return self._of_papers("review", papers, lambda text: text)

    def _of_papers(self, task: str, papers: Sequence[Paper], read: Callable[[str], str]) -> list[Written]:
        able = [paper for paper in papers if paper.text]
        ids = [paper.paper_id for paper in able]
        done = dict(zip(ids, self._written(ids, [fill(task, paper=whole(paper)) for paper in able], read), strict=True))
        return [done.get(paper.paper_id) or Written(paper.paper_id, None, "no_text") for paper in papers]

    def _written(self, items: Sequence[str], chats: Sequence[Chat], read: Callable[[str], str]) -> list[Written]:
        found = [
            _read(item, reply, read) for item, reply in zip(items, self.writer.write(chats, self.sampling), strict=True)
        ]
        for attempt in range(1, RETRIES + 1):
            again = [place for place, written in enumerate(found) if written.outcome == "unparsable"]
            if not again:
                break
            sampling = replace(self.sampling, seed=(self.sampling.seed or 0) + attempt)
            answers = self.writer.write([chats[place] for place in again], sampling)
            for place, reply in zip(again, answers, strict=True):
                answer = _read(items[place], reply, read)
                found[place] = answer if answer.text or answer.outcome == "unparsable" else found[place]
        return found


def whole(paper: Paper) -> str:
    """The paper as every LM is given it: title, abstract, body."""
    abstract = f"Abstract\n\n{paper.abstract}" if paper.abstract else None
    return "\n\n".join(part for part in (paper.title, abstract, paper.text) if part)


def assw_text(strengths: Sequence[str], weaknesses: Sequence[str]) -> str:
    """Both lists as a synopsis holds them: one point a line, a blank line between the lists."""
    return "\n".join(strengths) + "\n\n" + "\n".join(weaknesses)


def _assw_of(paper: Paper) -> str:
    if not paper.text and not paper.abstract:
        return ""
    strengths, weaknesses = rule_synopsis.assw_of(paper.abstract, paper.text or "")
    return assw_text(strengths, weaknesses) if strengths or weaknesses else ""


def _by_rule(item: str, text: str, problem: str) -> Written:
    return Written(item, text, "ok") if text else Written(item, None, problem)


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
