"""Real reviews, from one command to the board: the published benchmark set, and OpenReview notes with the papers' texts."""

from __future__ import annotations

import numpy as np
import pytest

from gre_bench.core import settings
from gre_bench.core.records import Prediction
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.prompts.library import render
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD, SEPARATION
from tests.conftest import ROOT, real
from tests.flows.refreshing import query
from tests.lm.chat_models import build_chat_model

ICLR = ROOT / "deployments" / "iclr2023.toml"
CONTROLS = ("other-paper", "generic")


def run(state, reviews, *overrides):
    chosen = settings.load(ICLR, (f"sources.reviews={reviews}", *overrides))
    return refresh(Job(chosen, state))


@pytest.mark.shared
@pytest.mark.night
def test_gem_puts_humans_above_both_controls_on_the_300_papers(iclr2023, tmp_path):
    summary = run(tmp_path, iclr2023)
    assert summary["outcome"] == "done"
    edition = Store(tmp_path, "ICLR-2023")
    ids = [row["signature_id"] for row in edition.read(CURRENT_SIGNATURES)]
    rows = {row["candidate"]: row for row in edition.read(LEADERBOARD, signature_ids=ids)}
    assert {name: (row["planned"], row["scored"]) for name, row in rows.items()} == {
        name: (600, 600) for name in ("human", "other-paper", "generic")
    }
    for control in CONTROLS:
        assert rows[control]["vs_human_high"] < 0
        assert rows[control]["p_alone"] < 0.001
    (found,) = edition.read(SEPARATION, signature_ids=ids)
    assert found["low"] > 0.86
    # The control is the human candidate 150 rows further, and slot 2 is that candidate.
    papers = [
        row[0] for row in query(tmp_path, "select paper_id from sample where place = 0 order by position", "ICLR-2023")
    ]
    assert len(papers) == 300
    assert query(
        tmp_path, "select distinct review_id like '%:2' from sample where role = 'candidate'", "ICLR-2023"
    ) == [(True,)]


def one_by_one(folder, x, y):
    """log P(y | x) by the plainest means: whole logits of one conversation, float64 log-softmax, tokens of the reply."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    chat = render(Prediction(x, None, y))
    asked = [{"role": "system", "content": chat.system}, {"role": "user", "content": chat.user}]
    told = {"date_string": "26 Jul 2024", "tokenize": False}
    prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, **told).rstrip()
    whole = tokenizer.apply_chat_template([*asked, {"role": "assistant", "content": chat.reply}], **told)
    end = "<|eot_id|>"
    whole = whole[: whole.rindex(end) + len(end)]
    encoded = tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
    first = next(place for place, (_, stop) in enumerate(encoded["offset_mapping"]) if stop > len(prompt))
    ids = encoded["input_ids"]
    with torch.inference_mode():
        logits = model(torch.tensor([ids])).logits[0].double().numpy()
    rows = logits[first - 1 : len(ids) - 1]
    logprobs = (
        rows - np.log(np.exp(rows - rows.max(1, keepdims=True)).sum(1, keepdims=True)) - rows.max(1, keepdims=True)
    )
    return logprobs[np.arange(len(rows)), ids[first:]].sum()


@pytest.mark.shared
@pytest.mark.night
def test_every_number_of_a_local_transformers_model_equals_the_one_by_one_computation(iclr2023, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    folder = build_chat_model(tmp_path / "model", "llama3", context=8192)
    summary = run(
        tmp_path,
        iclr2023,
        "edition.sample=twenty",
        "edition.papers=20",
        "sources.rows=0:20",
        "evaluation_lm.backend=transformers",
        f"evaluation_lm.folder={folder}",
        "scoring.chance=false",
    )
    assert (summary["outcome"], summary["scored_now"]) == ("done", 120)
    found = query(
        tmp_path,
        """
        with judged as (select review_id, text from judgments),
        human as (select paper_id, review_id, position from sample where role = 'candidate')
        select p.value, c.text, r.text
        from pairs p
        join human h using (paper_id)
        join human o on o.position = case p.candidate_id when 'human' then h.position else (h.position + 10) % 20 end
        join judged c on c.review_id = o.review_id
        join judged r on r.review_id = p.reference_id
        where p.candidate_id in ('human', 'other-paper')""",
        "ICLR-2023-twenty",
    )
    assert len(found) == 80
    for value, x, y in found:
        assert value == pytest.approx(one_by_one(folder, x, y) - one_by_one(folder, None, y), abs=2e-3)


@pytest.mark.shared
@pytest.mark.night
def test_iclr_2024_from_notes_to_a_board_without_a_pair_lost(tmp_path):
    notes, texts = real("openreview", "iclr2024.notes.jsonl.gz"), real("openreview", "paper_text.parquet")
    overrides = (f"sources.notes={notes}", f"sources.texts={texts}")
    chosen = settings.load(ROOT / "deployments" / "iclr_notes.toml", overrides)
    summary = refresh(Job(chosen, tmp_path))
    assert summary["outcome"] == "done"
    edition = Store(tmp_path, "ICLR-2024")
    ids = [row["signature_id"] for row in edition.read(CURRENT_SIGNATURES)]
    rows = edition.read(LEADERBOARD, signature_ids=ids)
    assert {(row["planned"], row["scored"]) for row in rows} == {(80, 80)}
    controls = {(row["metric"], row["candidate"]): row["vs_human_high"] for row in rows if row["candidate"] in CONTROLS}
    assert len(controls) == 6
    del controls["gem_s_assw", "generic"]  # 40 papers are too few: −1.9 (−4.2, +0.4)
    assert max(controls.values()) < 0, controls
    separations = {row["metric"]: row for row in edition.read(SEPARATION, signature_ids=ids)}
    assert separations["gem"]["low"] > 0.85
    assert query(tmp_path, "select distinct origin, status from texts", "ICLR-2024") == [("given", "ok")]
