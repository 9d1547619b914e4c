"""Prompts that LMs write for a study (Kotonya et al. 2023, §3.2): written anew, or made better of one's own."""

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
    """Instructions that LMs have written, by the name of the examiner, and for the others why there are none."""
    written: dict[str, str] = {}
    unsound: dict[str, Problem] = {}
    for name, asked in settings.generated.items():
        given = asked.instructions
        chat = improving_chat(given, asked.phrase) if given else writing_chat(kind)
        found = run.write_instructions(asked.model, writer_context, chat).read
        if isinstance(found, Problem):
            unsound[name] = replace(found, code=f"instructions_{found.code}")
        else:
            written[name] = found
    return written, unsound


def lost(models: Sequence[str], items: Sequence[Item], unsound: Mapping[str, Problem]) -> list[Column]:
    """Columns of the examiners that have no instructions: every text has its reason."""
    return [
        Column(name, model, "examiner", tuple(Grade(item.item_id, None, problem) for item in items))
        for name, problem in unsound.items()
        for model in models
    ]
