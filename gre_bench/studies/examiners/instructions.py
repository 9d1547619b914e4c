"""Has LMs write new instructions for an examiner, or improve existing instructions (Kotonya et al. 2023, §3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gre_bench.core.records import Problem
from gre_bench.examiners.examiner import ItemKind
from gre_bench.examiners.generated import improving_chat, writing_chat
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.results.column import Column
from gre_bench.examiners.wordings import Item
from gre_bench.studies.examiners.settings import StudySettings
from gre_bench.tasks.protocol import Steps
from gre_bench.writing.catalog import WriterContext


def instructions(
    settings: StudySettings, run: Steps, writer_context: WriterContext, kind: ItemKind
) -> tuple[dict[str, str], dict[str, Problem]]:
    """Has LMs write the instructions of the examiners under ``generated`` in *settings*.

    Returns two mappings: examiner → written instructions, and examiner → problem if no usable instructions were
    written. *kind*: the kind of the items to grade.
    """
    written: dict[str, str] = {}
    unsound: dict[str, Problem] = {}
    for name, generated in settings.generated.items():
        own = generated.instructions
        chat = improving_chat(own, generated.phrase) if own else writing_chat(kind)
        reply = run.write_instructions(generated.model, writer_context, chat).read
        if isinstance(reply, Problem):
            unsound[name] = replace(reply, code=f"instructions_{reply.code}")
        else:
            written[name] = reply
    return written, unsound


def lost(models: Sequence[str], items: Sequence[Item], unsound: Mapping[str, Problem]) -> list[Column]:
    """Returns columns without grades for the examiners that got no usable instructions, one per examiner and LM.

    *models*: the names of the LMs. *unsound*: examiner → problem that left it without instructions. Each item of a
    column gives this problem as the reason for the missing grade.
    """
    return [
        Column(name, model, "examiner", tuple(Grade(item.item_id, None, problem) for item in items))
        for name, problem in unsound.items()
        for model in models
    ]
