"""A frozen corpus, and the digest of what each writer by rule makes of it: an output cannot change under one name.

    python -m tests.writing.frozen

writes a row for each new name to ``frozen.toml``, and drops the rows of names that are gone. It refuses to give a name
another digest, unless the corpus itself has changed: texts of different rules must not share a name in signatures.
"""

from __future__ import annotations

import json
import random
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

from gre_bench.core.errors import PerturbationError, SettingsError
from gre_bench.core.judgments import OPENINGS, Form, prepare_judgments
from gre_bench.core.records import Paper, WrittenText, digest
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.perturbations.by_name import PERTURBATIONS, Level, WriterTask, apply_perturbation
from gre_bench.perturbations.material import ICLR_2023, PerturbationInput, Splitter
from gre_bench.writing.rules.writer import NAMES, RuleTextWriter
from tests.conftest import SIXTEEN
from tests.writing.review_forms import DRESSES, inline, listed, prose, tagged

FILE = Path(__file__).with_name("frozen.toml")
COMMAND = "python -m tests.writing.frozen"
CORPUS = "corpus"
"""The row with the digest of the corpus itself."""
ODD = 300
SEED = 4000
"""With it some clauses have two stances of equal probability: a last digit decides, and a change of it shows."""

_HEADINGS = (
    *ICLR_2023, "Strengths", "Weaknesses", "Questions", "Limitations", "Pros", "Cons", "Rating", "Minor comments",
)  # fmt: skip
_WHO = (
    "I", "we", "the paper", "The authors", "this work", "Table 2", "the proposed method", "nobody", "it",
    "Reviewer 2",
)  # fmt: skip
_DOES = (
    "clearly shows", "fails to compare", "does not discuss", "proves", "should add", "might improve", "lacks", "like",
    "is not convinced by", "could you explain", "misses", "nicely motivates", "wonder about", "claims", "overstates",
    "is", "would benefit from", "cannot reproduce", "appreciate", "ignores", "leaves room for improvement in",
    "could be clearer about", "seems to limit", "is mainly in", "is not only about", "expects more of",
)  # fmt: skip
_WHAT = (
    "the ablation on CIFAR-10", "any baseline (e.g. BERT, GPT-2, etc.)", "the proof of Theorem 3.1", "its novelty",
    "recent work [12, 13]", "the 0.85 accuracy in Fig. 4", r"$\alpha \le 2^{-k}$", "the writing", "“state-of-the-art” results",
    "statistical significance", "the code at https://example.org/a_b?c=1", "naïve Bayes à la Poincaré", "模型的收敛性",
    "what happens for n → ∞", "hyper-\nparameters", "the missing error bars", "`lr=3e-4`", "broader impact", "",
)  # fmt: skip
_WHY = (
    "", ", which is a strength", " but the gains are small", "; however, it is unclear why", " (see Sec. 3)",
    ", although I may be wrong", " – a serious concern", " because no seeds are reported", " and not only that",
)  # fmt: skip
_ENDS = (".", ".", ".", ".", "?", "!", "...", "", " :)", "?!", ";", "。")
_BREAKS: tuple[Callable[[str], str], ...] = (
    str.upper, str.lower, lambda text: text.replace("\n", "\r\n"), lambda text: text.replace(" ", "\u00a0"),
    lambda text: text.replace(". ", "."), lambda text: " ".join(text.split()), lambda text: text.replace(" ", "  "),
    lambda text: "> " + text.replace("\n", "\n> "), lambda text: f"{text}\n\n{text}", lambda text: text[: len(text) // 2],
    lambda text: text.replace("e", "e\u0301"), lambda text: text.replace("'", "’").replace("-", "\u2011"),
    lambda text: f"<p>{text.replace('&', '&amp;')}</p>", lambda text: "\u200b".join(text.split(" ")),
    lambda text: "| point | remark |\n|---|---|\n" + "\n".join(f"| {line} | 3 |" for line in text.split("\n")),
    lambda text: "\n".join(f"{OPENINGS[n % 4]} {line}" for n, line in enumerate(text.split("\n"))),
    lambda text: f"```\n{text}\n```", lambda text: "\n".join(reversed(text.split("\n"))), lambda text: text, lambda text: text,
)  # fmt: skip


def odd_review(seed: int) -> str:
    """A synthetic review in an odd form, the same for one *seed* on every machine; the first few say nothing."""
    if seed < 6:
        return ("", " \n\t\n", ".", "N/A", "Summary:\n\nStrengths:\n\nWeaknesses:\n", "10: Top 5%")[seed]
    chance = random.Random(SEED + seed)

    def one(items: Sequence[str]) -> str:
        return items[int(chance.random() * len(items))]

    def clause() -> str:
        return f"{one(_WHO)} {one(_DOES)} {one(_WHAT)}{one(_WHY)}{one(_ENDS)}"

    sections = {one(_HEADINGS): [clause() for _ in range(int(chance.random() * 12))] for _ in range(1 + seed % 5)}
    dress = one(tuple(DRESSES.values()))
    text = (
        listed(sections, one(("- ", "* ", "• ", "#. ", "(#) ", "#) ", "")), dress),
        prose(sections, dress),
        inline(sections, one(("\n\n", "\n", " "))),
        tagged(sections),
        " ".join(" ".join(texts) for texts in sections.values()),
    )[int(chance.random() * 5)]
    return _BREAKS[int(chance.random() * len(_BREAKS))](text)


@cache
def corpus() -> tuple[list[Paper], list[PerturbationInput], list[PerturbationInput]]:
    """Papers, reviews to change, and judgments to change: those of the sample edition, then the odd ones."""
    rows = {
        name: [json.loads(line) for line in (SIXTEEN / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("papers", "reviews", "lm_reviews")
    }
    papers = [Paper(row["paper_id"], row["title"], row["abstract"], row["text"]) for row in rows["papers"]]
    odd = [odd_review(seed) for seed in range(ODD)]
    of_paper = {paper.paper_id: paper for paper in papers}
    texts = [(row["review_id"], row["review"], of_paper[row["paper_id"]]) for row in rows["reviews"]]
    texts += [(f"{row['paper_id']}-lm", row["review"], of_paper[row["paper_id"]]) for row in rows["lm_reviews"]]
    texts += [(f"odd-{seed}", text, papers[seed % len(papers)]) for seed, text in enumerate(odd)]
    lines = [(row["review_id"], row["judgments"], of_paper[row["paper_id"]]) for row in rows["reviews"]]
    lines += [text for text in texts if text[0].startswith("odd")]
    papers += [Paper(f"odd-{seed}", text[:60], text[:300], text) for seed, text in enumerate(odd)]
    of_sample = find_venue_entry("SAMPLE", 2026).headings
    reviews, judgments = (
        [PerturbationInput(key, text, paper.title, paper.abstract, (some[n - 20][1], some[n - 33][1]),
                     headings=ICLR_2023 if key.startswith("odd") else of_sample)
         for n, (key, text, paper) in enumerate(some)]
        for some in (texts, lines)
    )  # fmt: skip
    return papers, reviews, judgments


def digests() -> dict[str, str]:
    """Name → digest of all that it makes of the corpus; a text that cannot be made counts with the reason's code."""
    papers, reviews, judgments = corpus()
    found = {CORPUS: digest([[paper.title, paper.abstract, paper.text] for paper in papers]
                            + [[item.key, item.text, item.headings] for item in (*reviews, *judgments)])}  # fmt: skip
    tasks: dict[str, Callable[[RuleTextWriter], list[object]]] = {
        "judgments": lambda writer: _texts(writer.write_judgments([(item.key, item.text) for item in reviews])),
        "assw": lambda writer: _texts(writer.write_assw(papers)),
        "review": lambda writer: _texts(writer.write_reviews(papers)),
    }
    for task in get_args(WriterTask):
        tasks[task] = lambda writer, task=task: _texts(writer.write_perturbed_reviews(task, reviews))
    for name in NAMES:
        for task, texts in tasks.items():
            writer = RuleTextWriter(name)
            try:
                if (identity := writer.identity(task)) not in found:
                    found[identity] = digest(texts(writer))
            except SettingsError:
                continue  # it does not do this task
    for change in PERTURBATIONS.values():
        if change.made_by != "writer":
            made = [
                _changed(change.name, level, replace(item, splitter=splitter))
                for level, items in zip(get_args(Level), (reviews, judgments), strict=True) if change.is_applicable_at(level)
                for splitter in get_args(Splitter)
                for item in items
            ]  # fmt: skip
            found[f"{change.name}-{change.version}"] = digest(made)
    for form in get_args(Form):
        found[form] = digest([prepare_judgments(item.text, form, fold) for item in judgments for fold in (False, True)])
    return found


def _texts(written: Sequence[WrittenText]) -> list[object]:
    return [[item.text, item.outcome] for item in written]


def _changed(name: str, level: Level, item: PerturbationInput) -> str:
    try:
        return apply_perturbation(name, level, item)
    except PerturbationError as error:
        return f"not made: {error.code}"


def recorded() -> dict[str, str]:
    return tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def problems(found: dict[str, str], known: dict[str, str]) -> list[str]:
    """What is wrong with the digests *found*, against those recorded: a line for each name, with what to do."""
    if found[CORPUS] != known.get(CORPUS):
        return [f"the corpus has changed: see that no writer has, on the corpus as it was, then run {COMMAND}"]
    lines = [
        f"the output of {name} has changed: mend it, if that was not meant; if it was, signatures need another name for it "
        f"(WRITER in its module, or version in gre_bench/perturbations/by_name.py): give it one and run {COMMAND}"
        for name in found if known.get(name, found[name]) != found[name]
    ]  # fmt: skip
    lines += [f"{name} is not recorded: run {COMMAND}" for name in found if name not in known]
    return lines + [f"{name} is recorded and no writer has it: run {COMMAND}" for name in known if name not in found]


def main() -> None:
    found, known = digests(), recorded()
    if refused := [line for line in problems(found, known) if "output" in line]:
        sys.exit("\n".join(refused))
    FILE.write_text(
        "# Name of a writer by rule → digest of what it makes of the frozen corpus. Made by " + COMMAND + "\n"
        + "".join(f'"{name}" = "{value}"\n' for name, value in sorted(found.items())),
        encoding="utf-8",
    )  # fmt: skip


if __name__ == "__main__":
    main()
