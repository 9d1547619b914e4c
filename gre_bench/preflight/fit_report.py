"""Reports how many papers fit the context and the output limit of each LM, for the dry run and the doctor.

It sends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Paper
from gre_bench.core.settings import Settings
from gre_bench.writing.catalog import WriterContext, by_rule, lm_text_writer
from gre_bench.writing.fit import OverLong, counter, room, verdict


@dataclass(frozen=True, slots=True)
class FitRow:
    """How many papers fit the LM *name* when it does a *task*: ``review`` or ``assw``.

    - *papers*: the number of papers checked.
    - *fits*, *may_not_fit*, *does_not_fit*: how many of them fit, may not fit, and do not fit.
    - *unknown*: how many of them cannot be judged because the models file states no context.
    - *context*: the LM's context, in tokens.
    - *reply*: the longest reply that is requested, in tokens.
    - *max_output*: the longest reply that the LM can give, in tokens.
    - *left*: the tokens of the context that are left for the prompt.
    - *longest*: the length of the longest prompt, in tokens, as text.
    - *basis*: a phrase that says how tokens were counted.
    - *over_long*: the setting that says whether papers that do not fit are cut or not sent.
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
        """Returns one line that says what does not fit; an empty string if everything fits or the fit is unknown."""
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


def fit_rows(settings: Settings, writer_context: WriterContext, papers: Sequence[Paper]) -> Iterator[FitRow]:
    """Yields one row for each LM that reads whole papers: the candidates, and the writer of ASSW.

    *papers*: the papers whose fit is checked.
    """
    for name, task in readers(settings):
        text_writer, model = lm_text_writer(name, writer_context)
        chat_of, reply = text_writer.chat_of(task), text_writer.sampling.max_tokens
        (count, basis), left = counter(model), room(model, reply)
        tokens_of_papers = []
        for paper in papers:
            chat = chat_of(paper.whole)
            tokens_of_papers.append(count(chat.system + chat.user))
        kinds = Counter(verdict(tokens, left) for tokens in tokens_of_papers)
        longest = str(max(tokens_of_papers, key=lambda tokens: tokens.most, default=""))
        yield FitRow(
            name, task, len(papers), kinds["fits"], kinds["may_not_fit"], kinds["does_not_fit"], kinds["unknown"],
            model.context, reply, model.max_output, left, longest, basis, writer_context.over_long,
        )  # fmt: skip


def readers(settings: Settings) -> list[tuple[str, str]]:
    """Returns (LM, kind of text) for each LM that reads whole papers; the kind is ``review`` or ``assw``."""
    writing, metrics = settings.writing, settings.scoring.metrics
    named = [(name, "review") for name in writing.candidates if not by_rule(name)]
    if any(recipe_of(name).synopsis == "assw" for name in metrics) and not by_rule(writing.assw):
        named.append((writing.assw, "assw"))
    return named
