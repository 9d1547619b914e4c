"""Tasks that write texts (reviews, perturbed reviews, judgments, synopses), and functions that identify the writers."""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.changes import catalog as changes
from gre_bench.changes.catalog import CHANGES
from gre_bench.changes.material import ChangeInput
from gre_bench.core.errors import ChangeError
from gre_bench.core.records import Paper, Written
from gre_bench.tasks.policy import writing
from gre_bench.writing.catalog import WriterContext, text_writer, writes_reviews


def writer_identity(name: str, task_name: str, writer_context: WriterContext) -> str:
    """Returns the identity, as signatures state it, of the writer *name* for a kind of text, such as ``judgments``.

    Raises `SettingsError` if there is no such writer.
    """
    return text_writer(name, writer_context).identity(task_name)


def reviewers_among(names: Sequence[str], writer_context: WriterContext) -> list[str]:
    """Returns the *names* of candidates that can write reviews; other candidates have only imported reviews."""
    return [name for name in names if writes_reviews(name, writer_context)]


@writing("write reviews", "reviews by {name}")
def write_reviews(name: str, writer_context: WriterContext, papers: Sequence[Paper]) -> list[Written]:
    """Returns one review per paper, in order, written by the candidate *name* (Xu et al. 2025, C.3)."""
    return text_writer(name, writer_context).reviews(papers)


def change_identity(change: str, name: str, writer_context: WriterContext, like: ChangeInput) -> str:
    """Returns the identity of the perturbation *change*, stored with its texts: its rule, and its writer if an LM.

    *name*: the LM. *like*: an example of its inputs, of which seed, splitter and headings matter.
    """
    rule, task = changes.identity(change, like), CHANGES[change].task
    return rule if task is None else f"{text_writer(name, writer_context).identity(task)} · {rule}"


@writing("write changes", "{change} by {name}")
def write_changes(
    change: str, name: str, writer_context: WriterContext, materials: Sequence[ChangeInput]
) -> list[Written]:
    """Returns one perturbed text for each of *materials*, in order (Xu et al. 2025, D.3 and D.4).

    *change*: the perturbation, by a rule or by the writer *name*. If it cannot be applied to a text, the outcome says
    why.
    """
    written: dict[str, Written] = {}
    for item in materials:
        try:
            checked = changes.check(change, "review", item)
            if checked.task is None:
                written[item.key] = Written(item.key, changes.apply(change, "review", item), "ok")
        except ChangeError as error:
            written[item.key] = Written(item.key, None, error.code, str(error))
    due, task_name = [item for item in materials if item.key not in written], CHANGES[change].task
    if due and task_name is not None:
        written |= {item.item: item for item in text_writer(name, writer_context).changed(task_name, due)}
    return [written[item.key] for item in materials]


@writing("write judgments", "judgments by {name}")
def write_judgments(name: str, writer_context: WriterContext, reviews: Sequence[tuple[str, str]]) -> list[Written]:
    """Returns the judgments of each of *reviews*, (review id, text), in order (Xu et al. 2025, C.1)."""
    return text_writer(name, writer_context).judgments(reviews)


@writing("write synopses", "synopses by {name}")
def write_assw(name: str, writer_context: WriterContext, papers: Sequence[Paper]) -> list[Written]:
    """Returns the author-stated strengths and weaknesses of each paper, in order (Xu et al. 2025, C.4)."""
    return text_writer(name, writer_context).assw(papers)
