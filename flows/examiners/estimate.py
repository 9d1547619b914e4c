"""What a study of examiners would ask for, and about what it would cost; nothing is sent."""

from __future__ import annotations

from typing import Any

from flows.examiner_study import CHARACTERS_A_TOKEN, ExaminerJob, needs_model, prepared
from flows.examiners.grid import grid
from flows.examiners.pairs import pairs_of
from tasks.examiners.examiner import Examiner
from tasks.examiners.grading import SHORT, samplings
from tasks.examiners.wordings import Item, chats, filter_chat
from tasks.models import Model


def estimate(job: ExaminerJob) -> dict[str, Any]:
    """Requests, tokens and money by LM, retries aside; chats that several examiners share are counted for each."""
    material, models = prepared(job)
    items = material.items
    chosen = grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    asked = [one for one in chosen.examiners.values() if needs_model(job.settings, one)]
    pairs = pairs_of(material.texts, job.settings.pairwise) if job.settings.pairwise else []
    said = 2 * sum(len(pair.source) + len(pair.one) + len(pair.two) for pair in pairs)
    rows = []
    for name in job.settings.models:
        parts = [_parts(one, items, models[name]) for one in asked]
        parts.append((2 * len(pairs), said, 2 * len(pairs) * SHORT))
        requests, characters, most = (sum(column) for column in zip(*parts, strict=True))
        prompt, prices = characters / CHARACTERS_A_TOKEN, (models[name].price_in, models[name].price_out)
        usd = None if None in prices else (prompt * prices[0] + most * prices[1]) / 1e6
        rows.append({"model": name, "requests": requests, "prompt_tokens": round(prompt),
                     "reply_tokens_at_most": most, "usd_at_most": usd})  # fmt: skip
    return {"study": job.name, "texts": len(material.texts), "excluded": len(material.lacks),
            "examiners": len(chosen.examiners), "models": rows}  # fmt: skip


def _parts(examiner: Examiner, items: list[Item], model: Model) -> tuple[int, int, int]:
    """Requests, characters of their prompts, tokens of their replies at most."""
    said = [chat for item in items for chat in chats(examiner, item)]
    once = sum(len(chat.system) + len(chat.user) for chat in said)
    filters = [filter_chat(examiner, item) for item in items] if examiner.filtering else []
    requests = len(said) * examiner.times + len(filters)
    characters = once * examiner.times + sum(len(chat.user) for chat in filters)
    return requests, characters, requests * samplings(examiner, model.sampling)[0].max_tokens
