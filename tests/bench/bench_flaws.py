"""Measures whether an evaluation LM detects reviews that name planted flaws, with reviews written by script.

    python -m tests.bench.bench_flaws STATE EDITION [--set evaluation_lm.backend=gem-smollm2] [--papers 120] [--drafts
    8]

EDITION needs texts of papers and human reviews (`gre-bench refresh` reads them). Each paper gets two flaws. Scripts
write *drafts* reviews per paper, each without any named flaw and with each thing that a script can name. The LM scores
all of them once.

A trial draws papers. For the script, and for the two scripts that calibrate it, it draws four drafts per paper, with
none in common. With fewer than eight drafts there is no calibration, because the rate would be one by construction. If
a trial has all papers, trials differ only by their drafts. Prints a table of the estimated rate against the true rate,
with power and false alarms, and writes all values to --out.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.records import HUMAN, Case, parse_edition_key
from gre_bench.core.settings import load
from gre_bench.lm.opening import open_lm
from gre_bench.perturbations import planted_flaws, scripted
from gre_bench.pipeline.importing import load_papers_by_id, read_known_reviews
from gre_bench.pipeline.planning import read_sampled_ids
from gre_bench.pipeline.training_overlap import find_overlap_in_read_copy
from gre_bench.stats.detection import (
    ALPHA,
    FlawScores,
    compute_detection_rate,
    corrected_naming_rate,
    summarise_flaw_scores,
)
from gre_bench.store import ReadersCopyStore
from gre_bench.studies.flaws import compute_word_share
from gre_bench.writing.rules.judgments import write_rule_judgments
from tests.simulations.finite import score_cases

KINDS = ("none", "plain f", "plain g", "oblique f", "oblique g", "absent", "listing")
LEXICAL = "words in common"
METRICS = ("gem", "gem_s_abstract", LEXICAL)
ELSE = 9
"""Flaws of the catalogue that are not planted in any text of a paper."""
SIZES, SHARES = (20, 30, 60, 120), (0.0, 0.25, 0.5, 1.0)


def score_drafts(
    state: Path, edition: str, papers: int, drafts: int, asked: list[str], wordings: int
) -> dict[str, Any]:
    """Scores every draft of every paper: metric → array (papers, drafts, kinds, 2 flaws), and each paper's families."""
    store = ReadersCopyStore(state, edition)
    reviews: dict[str, list[str]] = {}
    for review in read_known_reviews(store):
        if review.candidate == HUMAN and review.text:
            reviews.setdefault(review.paper_id, []).append(review.text)
    catalogue, _ = planted_flaws.load_flaws()
    chosen = load(None, (*parse_edition_key(edition).overrides, "writing.judgments=rule", *asked))
    trained_on = find_overlap_in_read_copy(chosen, state)
    print(f"registers {trained_on.registers}; left out: {len(trained_on.papers)} learnt papers", file=sys.stderr)
    lm = open_lm(chosen.evaluation_lm)
    used, refusals, values, families = Counter(), Counter(), {name: [] for name in METRICS}, []
    begun = time.monotonic()
    for paper in load_papers_by_id(store, read_sampled_ids(store, without=trained_on.papers)):
        if len(families) == papers:
            break
        sentences = scripted.review_sentences(reviews.get(paper.paper_id, []))
        if not paper.text or not paper.abstract or len(sentences) < 12:
            continue
        planted = planted_flaws.plant_two_flaws(paper.text, paper.paper_id, list(catalogue.values()), used, refusals)
        if planted is None:
            continue
        f, g, _ = planted
        others = []
        for flaw in catalogue.values():
            if flaw.family != "harmless" and flaw.name not in (f.flaw.name, g.flaw.name):
                others.append(planted_flaws.PlantedText(flaw, "", 0, 0, 0, "", f.fields))
        texts = []
        for draft in range(drafts):
            chance = random.Random(f"{paper.paper_id} {draft}")
            lines = scripted.sample_sentences(sentences, chance)
            named = {
                "none": [],
                **{f"{words} {key}": [chance.choice(item.fill_placeholders(getattr(item.flaw, words)))]
                   for key, item in (("f", f), ("g", g)) for words in ("plain", "oblique")},
                "absent": [chance.choice((wrong := chance.choice(others)).fill_placeholders(wrong.flaw.plain))],
                "listing": [item.fill_placeholders(item.flaw.plain)[0] for item in (f, g, *others)],
            }  # fmt: skip
            texts += [
                write_rule_judgments(scripted.build_review_with_hidden_flaws(lines, named[kind], chance))
                for kind in KINDS
            ]
        descriptions = [item.fill_placeholders(item.flaw.judgments[:wordings]) for item in (f, g)]
        for metric in METRICS:
            if metric == LEXICAL:
                found = [compute_word_share(x, y) for x in texts for own in descriptions for y in own]
            else:
                cases = [Case(paper.paper_id, "s", "r", "judgments", x, y, paper.abstract if "_s_" in metric else None)
                         for x in texts for own in descriptions for y in own]  # fmt: skip
                found = score_cases(metric, lm, cases)
            shape = drafts, len(KINDS), 2, wordings
            values[metric].append(np.reshape(found, shape).mean(axis=3))
        families.append((f.flaw.family, g.flaw.family))
        print(f"\r{len(families)} papers, {time.monotonic() - begun:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {"values": {name: np.array(own) for name, own in values.items()}, "families": families}


def told(
    values: np.ndarray, families: list[tuple[str, str]], chosen: np.ndarray, script: str, drafts: np.ndarray,
    rng: np.random.Generator,
) -> list[FlawScores]:  # fmt: skip
    """Returns the flaw scores of the four reviews by *script* of each *chosen* paper. *drafts* (papers, 4): theirs."""
    words, share = scripted.parse_script(script)
    place = {name: index for index, name in enumerate(KINDS)}
    rows = []
    for paper, own in zip(chosen, drafts, strict=True):
        happens = rng.random(4) < share
        kinds = [f"{words} f", f"{words} g", "none", "none"] if words in ("plain", "oblique") else [words] * 4
        if words == "absent":  # any flaw of the catalogue except the text's own; an "absent" flaw is in no text
            wrong = (["plain g"], ["plain f"], ["plain f", "plain g"], ["plain f", "plain g"])
            kinds = [rng.choice([*some, *["absent"] * ELSE]) for some in wrong]
        kinds = [place[kind] if happen else 0 for kind, happen in zip(kinds, happens, strict=True)]
        x = values[paper, own, kinds]  # (texts f, g, 0, 0'; descriptions f, g)
        for index in (0, 1):
            told = (float(x[text, index]) for text in (index, 1 - index, 2, 3))
            rows.append(FlawScores(str(paper), "fg"[index], families[paper][index], *told))
    return rows


def trials(pooled: dict[str, Any], metric: str, script: str, papers: int, count: int) -> dict[str, Any]:
    """Returns the estimates of *count* trials: rates, raw shares, and how often score and nulls are significant."""
    values, families = pooled["values"][metric], pooled["families"]
    words = scripted.parse_script(script)[0]
    sure = f"{words}-100" if words == "oblique" else "plain-100"
    rng, out = np.random.default_rng(papers), []
    for _ in range(count):
        chosen = rng.permutation(len(families))[:papers]
        drafts = np.array([rng.permutation(values.shape[1]) for _ in chosen])
        own, other = drafts[:, :4], drafts[:, 4:8]
        rows = told(values, families, chosen, script, own, rng)
        result = summarise_flaw_scores(rows)
        true, same, low = (
            compute_detection_rate(told(values, families, chosen, known, other, rng)) if other.shape[1] == 4 else None
            for known in ("plain-100", sure, "plain-0")
        )
        out.append({
            "raw": result.detected, "true": true, "false": low,
            "rate": corrected_naming_rate(result.detected, true, ALPHA), "rate measured": corrected_naming_rate(result.detected, true, low),
            "rate own words": corrected_naming_rate(result.detected, same, ALPHA),
            "score": result.score.value, "power": result.score.p < 0.05 and result.score.value > 0,
            "covered": result.score.low, "other": result.other.p < 0.05, "again": result.again.p < 0.05,
        })  # fmt: skip
    known = {name: [row[name] for row in out if row[name] is not None] for name in out[0]}
    return {name: {"mean": float(np.mean(own)), "sd": float(np.std(own))} for name, own in known.items() if own}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", type=Path)
    parser.add_argument("edition")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--papers", type=int, default=120)
    parser.add_argument("--drafts", type=int, default=8)
    parser.add_argument("--wordings", type=int, default=4)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("build/flaws.json"))
    asked = parser.parse_args()
    pooled = score_drafts(asked.state, asked.edition, asked.papers, asked.drafts, asked.set, asked.wordings)
    scripts = [f"plain-{round(100 * s)}" for s in SHARES] + [f"oblique-{round(100 * s)}" for s in SHARES[1:]]
    scripts += ["absent-100", "absent-50", "listing-100"]
    rows = []
    for metric in METRICS:
        for papers in (size for size in SIZES if size <= len(pooled["families"])):
            for script in scripts:
                found = trials(pooled, metric, script, papers, asked.trials)
                rows.append({"metric": metric, "papers": papers, "script": script} | found)
                cells = [f"{name} {own['mean']:.3f}±{own['sd']:.3f}" for name, own in found.items()]
                print(metric, papers, script, *cells, sep=" | ")
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps({"settings": asked.set, "papers": len(pooled["families"]), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
