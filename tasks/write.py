"""Tasks that write texts (reviews, perturbed reviews, judgments, synopses), and functions that identify the writers."""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.core.errors import PerturbationError
from gre_bench.core.records import Paper, WrittenText
from gre_bench.perturbations import by_name as changes
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.tasks.policy import writing_step
from gre_bench.writing.writers import WriterContext, open_text_writer, writes_reviews


def writer_identity(name: str, task_name: str, writer_context: WriterContext) -> str:
    """Returns the identity, as signatures state it, of the writer *name* for a kind of text, such as ``judgments``.

    Raises `SettingsError` if there is no such writer.
    """
    return open_text_writer(name, writer_context).identity(task_name)


def reviewers_among(names: Sequence[str], writer_context: WriterContext) -> list[str]:
    """Returns the *names* of candidates that can write reviews; other candidates have only imported reviews."""
    return [name for name in names if writes_reviews(name, writer_context)]


@writing_step("write reviews", "reviews by {name}")
def write_reviews(name: str, writer_context: WriterContext, papers: Sequence[Paper]) -> list[WrittenText]:
    """Returns one review per paper, in order, written by the candidate *name* (Xu et al. 2025, C.3)."""
    return open_text_writer(name, writer_context).write_reviews(papers)


def perturbation_identity(change: str, name: str, writer_context: WriterContext, like: PerturbationInput) -> str:
    """Returns the identity of the perturbation *change*, stored with its texts.

    The identity states the rule, and the writer *name* if the perturbation needs one. *like*: an example of the
    inputs, of which only the seed, the sentence splitter and the headings matter.
    """
    rule, task = changes.build_perturbation_signature_name(change, like), PERTURBATIONS[change].task
    return rule if task is None else f"{open_text_writer(name, writer_context).identity(task)} · {rule}"


@writing_step("write changes", "{change} by {name}")
def write_perturbations(
    change: str, name: str, writer_context: WriterContext, materials: Sequence[PerturbationInput]
) -> list[WrittenText]:
    """Returns one perturbed text for each of *materials*, in order (Xu et al. 2025, D.3 and D.4).

    *change*: the perturbation, by a rule or by the writer *name*. If it cannot be applied to a text, the outcome says
    why.
    """
    written: dict[str, WrittenText] = {}
    for item in materials:
        try:
            checked = changes.find_applicable_perturbation(change, "review", item)
            if checked.task is None:
                written[item.key] = WrittenText(item.key, changes.apply_perturbation(change, "review", item), "ok")
        except PerturbationError as error:
            written[item.key] = WrittenText(item.key, None, error.code, str(error))
    due, task_name = [item for item in materials if item.key not in written], PERTURBATIONS[change].task
    if due and task_name is not None:
        written |= {
            item.item: item for item in open_text_writer(name, writer_context).write_perturbed_reviews(task_name, due)
        }
    return [written[item.key] for item in materials]


@writing_step("write judgments", "judgments by {name}")
def write_judgments(name: str, writer_context: WriterContext, reviews: Sequence[tuple[str, str]]) -> list[WrittenText]:
    """Returns the judgments of each of *reviews*, (review id, text), in order (Xu et al. 2025, C.1)."""
    return open_text_writer(name, writer_context).write_judgments(reviews)


@writing_step("write synopses", "synopses by {name}")
def write_assw(name: str, writer_context: WriterContext, papers: Sequence[Paper]) -> list[WrittenText]:
    """Returns the author-stated strengths and weaknesses of each paper, in order (Xu et al. 2025, C.4)."""
    return open_text_writer(name, writer_context).write_assw(papers)
