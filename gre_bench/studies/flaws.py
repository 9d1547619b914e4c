"""Makes an edition of papers with planted flaws. A refresh then reviews and scores it like any other edition.

The edition ``ICLR-2025-flaws`` holds four versions of each chosen paper of ``ICLR-2025``: one with a flaw f, one with
another flaw g, the unchanged paper, and the paper after a harmless edit. A version is called a *text*. Its id is the
paper's id, ``~``, and the name of the flaw or edit. For the unchanged paper, ``0`` takes the place of the name.

A *description* of a flaw is a judgment that states the flaw; each flaw has several wordings of it. The references of
each text are the descriptions of f and g. A text with a flaw has further references if another paper has this flaw: its
descriptions in that paper. The human baseline is one human review of the unchanged paper. This review is the same for
all four texts, so it contains no information about the flaws. ``flaws.json`` in the edition's folder records the
position of every edit.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.judgments import OPENINGS
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Edition, Judgments, Paper, Review
from gre_bench.core.settings import SourceSettings
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import counted
from gre_bench.core.whole_files import write_file
from gre_bench.ingest.records.sampling import ReviewRole
from gre_bench.perturbations import scripted
from gre_bench.perturbations.planted_flaws import (
    HARMLESS,
    MARK,
    Flaw,
    PlantedText,
    load_flaws,
    plant_flaw,
    plant_two_flaws,
    sha256,
)
from gre_bench.pipeline.importing import Step, build_judgments_row, read_known_reviews, set_job_domain
from gre_bench.pipeline.planning import collect_draw_settings, sampled_papers
from gre_bench.pipeline.runs.job import Job, record_run
from gre_bench.reports.correctness import (
    FlawResults,
    MeanWithTest,
    ReviewerResult,
    ReviewerWithTooFewPapers,
    locate_results_file,
)
from gre_bench.stats.detection import (
    ALPHA,
    FlawScores,
    compute_detection_rate,
    corrected_naming_rate,
    summarise_flaw_scores,
)
from gre_bench.stats.intervals import PairedTest
from gre_bench.store import ReadersCopyStore, Store, now
from gre_bench.store.queries import CANDIDATE_PAIRS, CANDIDATES, CURRENT_SIGNATURES, DRAW, JUDGMENTS, SAMPLE
from gre_bench.tasks.steps import writer_identity
from gre_bench.writing.writers import EXTRACTIVE

FLAWS, RECORD, AS_IS = "flaws", "flaws.json", "0"
METRICS = ("gem", "gem_s_abstract")
SCRIPTS = ("plain-0", "plain-50", "plain-100", "oblique-100")
DESCRIPTIONS = 8
"""The minimum number of references of a text: two flaws with four descriptions each, one per wording."""
_FIXED = {"seed": "--seed", "asked": "number of --papers", "catalogue": "catalogue of flaws"}
_RECORDED = ("source", "papers", "left_out", "wordings", "not_plantable", *_FIXED)

PlantedTexts = Mapping[str, Sequence[PlantedText]]
"""Paper id → three versions of the paper: with flaw f, with flaw g, and after the harmless edit."""

WORDS = "words"
"""The name of a pseudo-metric in the results: the share of a description's words that occur in a review."""
CERTAIN_SCRIPT = f"{scripted.PREFIX}plain-100"
"""The scripted reviewer that names every planted flaw in plain words.

The share of flaws that a metric detects in its reviews serves to correct the shares of all reviewers.
"""

Values = Mapping[tuple[str, str], float]
"""(text, reference) → score of one reviewer."""

_WORD = re.compile(r"(?<![\w.,%-])[\w.,%-]*\w")
_EMPTY = re.compile(
    r"(?:a|an|and|another|are|as|at|be|because|between|both|but|by|for|from|given|has|have|in|is|it|its|"
    r"no|not|of|on|one|only|or|paper|place|since|such|text|that|the|there|this|to|was|were|which|while|who|with|would)"
)


@dataclass(frozen=True, slots=True)
class FlawStudy:
    """A study of flaws planted in papers of the edition *source*.

    *papers*: the number of papers, which are taken in the order of the edition's sample. *folder*: the folder that
    holds the flaws; None: ``data/flaws``. *scripts*: reviewers that the program plays by fixed rules
    (`gre_bench.perturbations.scripted`).
    """

    source: Edition
    papers: int = 60
    seed: int = 0
    folder: Path | None = None
    scripts: tuple[str, ...] = SCRIPTS

    @property
    def edition(self) -> Edition:
        sample = FLAWS if self.source.sample == "main" else f"{self.source.sample}.{FLAWS}"
        return replace(self.source, sample=sample)


def build_flaw_job(job: Job, study: FlawStudy) -> Job:
    """Returns the job that refreshes the edition of *study*; raises `SettingsError` if its source has planted flaws."""
    if study.source.sample.split(".")[-1] == FLAWS:
        raise SettingsError(f"edition {study.source.key} holds planted flaws already; name the edition of its papers")
    given = set_job_domain(job).settings
    edition = {
        "sample": study.edition.sample, "papers": 4 * study.papers, "seed": study.seed, "only": None,
        "avoid_trained_on": (), "roles": "slots", "candidate_slot": 0, "references": 2, "min_reviews": None,
        "reference_slots": tuple(range(1, DESCRIPTIONS + 1)),
    }  # fmt: skip
    scoring = {
        "metrics": tuple(name for name in given.scoring.metrics if name in METRICS) or METRICS, "chance": False,
        "candidates": None, "writer": given.scoring.writer if given.writing.judgments else None,
    }  # fmt: skip
    update = {
        "edition": given.edition.model_copy(update=edition),
        "sources": SourceSettings(),
        "writing": given.writing.model_copy(update={"judgments": given.writing.judgments or "rule"}),
        "scoring": given.scoring.model_copy(update=scoring),
        "board": given.board.model_copy(update={"groups": {}, "notes": {}, "contrasts": None}),
    }
    return replace(job, settings=given.model_copy(update=update))


def create_edition_with_flaws(job: Job, study: FlawStudy) -> dict[str, Any]:
    """Makes the edition of *study* if it does not exist, and adds the missing reviews of the scripted reviewers.

    *job*: from `build_flaw_job`. Returns the edition's record; ``refused`` has a line for each file without a valid
    flaw. Raises `SettingsError` if the edition was made with other settings, `SourceError` if fewer than two papers can
    take two flaws.
    """
    for script in study.scripts:
        scripted.parse_script(script)
    source, store = ReadersCopyStore(job.state, study.source), job.store
    catalogue, refused = load_flaws(study.folder)
    papers = {paper.paper_id: paper for paper in sampled_papers(source)}
    human = _load_human_reviews(source)
    with store.lock("study flaws", job.wait_s), record_run(store, "study flaws", job.settings):
        new, sources = not store.rows(DRAW), {name: flaw.source for name, flaw in catalogue.items()}
        fixed = {"seed": study.seed, "asked": study.papers, "catalogue": sources}
        record = (
            _build_flaw_edition_record(papers.values(), human, catalogue, study, fixed)
            if new
            else read_flaw_edition_record(store)
        )
        for name, value in fixed.items():
            if record[name] != value:
                raise SettingsError(
                    f"edition {store.key} was planted with another {_FIXED[name]}; planted papers never change: give "
                    f"the same one, or move its folder away: {store.folder}"
                )
        planted = {}
        for name, places in record["papers"].items():
            text = papers[name].text if name in papers else None
            if text is None or sha256(text) != places[0]["before"]:
                raise StoreError(
                    f"paper {name} has another text than when its flaws were planted; move that edition's folder away"
                )
            planted[name] = tuple(plant_flaw(catalogue[place["flaw"]], text, name, study.seed) for place in places)
        references = list(_build_reference_reviews(planted))
        steps = _build_storing_steps(job, papers, human, planted, references) if new else []
        writer = writer_identity(str(job.settings.writing.judgments), "judgments", job.writer_context)
        known = {row["review_id"] for row in store.rows(JUDGMENTS) if row["writer"] == writer}
        lines = [Judgments(item.review_id, writer, item.text or "") for item in references]
        steps.append(("add_judgments", [build_judgments_row(item) for item in lines if item.review_id not in known]))
        candidates = {review.candidate for review in read_known_reviews(store, texts=False)}
        absent = [script for script in study.scripts if scripted.PREFIX + script not in candidates]
        steps.append(("put_reviews", list(_write_scripted_reviews(planted, human, catalogue, absent))))
        write_file(store.folder / RECORD, json.dumps(record, indent=1).encode())
        store.write(*steps)
        store.copy_for_readers()
    return record | {"refused": refused}


def read_flaw_edition_record(store: Store) -> dict[str, Any]:
    """Returns the record of an edition of flaws; raises `StoreError` if the file is missing or damaged."""
    try:
        record = load_json((store.folder / RECORD).read_bytes())
        return {name: record[name] for name in _RECORDED}
    except (OSError, ValueError, KeyError, TypeError, SourceError):
        raise StoreError(
            f"{store.folder / RECORD} is missing or damaged; move the folder of {store.key} away and run again"
        ) from None


def format_text_id(paper: str, flaw: str) -> str:
    return f"{paper}{MARK}{flaw}"


def format_reference_id(text_id: str, owner: str, flaw: str, number: int) -> str:
    """Returns the id of a reference of the text *text_id*.

    The reference is a description of the flaw *flaw* in paper *owner*, in wording *number*, counted from 0.
    """
    return f"{text_id}:{owner}{MARK}{flaw}:{number}"


def find_papers_with_same_flaw(papers: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], str]:
    """Returns (paper, flaw) → the next paper with that flaw; after the last paper comes the first.

    *papers*: paper → its flaws. A flaw of only one paper is left out.
    """
    by_flaw: dict[str, list[str]] = defaultdict(list)
    for paper, names in papers.items():
        for name in names:
            by_flaw[name].append(paper)
    return {
        (paper, name): other
        for name, ring in by_flaw.items()
        if len(ring) > 1
        for paper, other in zip(ring, (*ring[1:], ring[0]), strict=True)
    }


def _load_human_reviews(source: Store) -> dict[str, list[Review]]:
    """Returns paper id → its human reviews that have a text; the human candidate's review comes first."""
    first = {row["review_id"] for row in source.rows(SAMPLE) if row["role"] == "candidate"}
    reviews: dict[str, list[Review]] = defaultdict(list)
    for review in read_known_reviews(source):
        if review.candidate == HUMAN and (review.text or "").strip():
            reviews[review.paper_id].append(review)
    return {name: sorted(own, key=lambda review: review.review_id not in first) for name, own in reviews.items()}


def _build_flaw_edition_record(
    papers: Iterable[Paper], human: Mapping[str, Sequence[Review]], catalogue: Mapping[str, Flaw], study: FlawStudy,
    fixed: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Returns the record of a new edition: the flaws' positions, and how often each flaw could not be planted."""
    used, refusals, rows, left_out = Counter[str](), Counter[tuple[str, str]](), {}, Counter[str]()
    for paper in papers:
        if len(rows) == study.papers:
            break
        if not paper.text:
            left_out["no text"] += 1
        elif paper.paper_id not in human:
            left_out["no human review"] += 1
        elif pair := plant_two_flaws(paper.text, paper.paper_id, list(catalogue.values()), used, refusals, study.seed):
            rows[paper.paper_id] = [item.describe_edit() for item in pair]
        else:
            left_out["fewer than two families fit"] += 1
    if len(rows) < 2:
        why = ", ".join(f"{count} with {reason}" for reason, count in left_out.items()) or "it has no papers"
        raise SourceError(f"edition {study.source.key}: {counted(len(rows), 'paper')} can take two flaws ({why})")
    return {
        "source": study.source.key, **fixed,
        "wordings": {name: len(flaw.judgments) for name, flaw in catalogue.items()}, "papers": rows,
        "left_out": dict(left_out),
        "not_plantable": [{"flaw": flaw, "reason": reason, "papers": count}
                          for (flaw, reason), count in sorted(refusals.items())],
    }  # fmt: skip


def _build_storing_steps(
    job: Job, papers: Mapping[str, Paper], human: Mapping[str, Sequence[Review]], planted: PlantedTexts,
    references: Sequence[Review],
) -> list[Step]:  # fmt: skip
    """Returns the steps that store a new edition: texts, human reviews, descriptions, and the reviews' roles."""
    texts: list[Paper] = []
    roles: list[ReviewRole] = []
    reviews = list(references)
    by_text: dict[str, list[str]] = defaultdict(list)
    for review in references:
        by_text[review.paper_id].append(review.review_id)
    for name, (f, g, harmless) in planted.items():
        bodies = {f.flaw.name: f.text, g.flaw.name: g.text, AS_IS: papers[name].text, HARMLESS: harmless.text}
        for flaw, body in bodies.items():
            text_id = format_text_id(name, flaw)
            own = replace(human[name][0], review_id=f"{text_id}:{HUMAN}", paper_id=text_id, slot=0, grade=None)
            roles += [
                ReviewRole(text_id, len(texts), "reference" if place else "candidate", place, each)
                for place, each in enumerate([own.review_id, *by_text[text_id]])
            ]
            reviews.append(own)
            texts.append(replace(papers[name], paper_id=text_id, text=body, source_row=None))
    draw = collect_draw_settings(job.settings.edition) | {
        "known": len(texts),
        "eligible": len(texts),
        "drawn_at": now(),
    }
    return [("put_papers", texts), ("put_reviews", reviews), ("add_draws", [draw]), ("add_sample", roles)]


def _build_reference_reviews(planted: PlantedTexts) -> Iterator[Review]:
    """Yields the flaws' descriptions as human reviews, numbered from 1 for each text."""
    ring = find_papers_with_same_flaw({name: [item.flaw.name for item in row[:2]] for name, row in planted.items()})
    owner_of = {(other, flaw): paper for (paper, flaw), other in ring.items()}
    for name, row in planted.items():
        own = [(name, item) for item in row[:2]]
        for flaw in (row[0].flaw.name, row[1].flaw.name, AS_IS, HARMLESS):
            owner = owner_of.get((name, flaw))
            foreign = [(owner, item) for item in planted[owner] if item.flaw.name == flaw] if owner else []
            text_id, slot = format_text_id(name, flaw), 0
            for paper, item in (*own, *foreign):
                for number, line in enumerate(item.fill_placeholders(item.flaw.judgments)):
                    slot += 1
                    yield Review(
                        format_reference_id(text_id, paper, item.flaw.name, number), text_id, HUMAN, line, slot
                    )


def _write_scripted_reviews(
    planted: PlantedTexts, human: Mapping[str, Sequence[Review]], catalogue: Mapping[str, Flaw], scripts: Sequence[str]
) -> Iterator[Review]:
    """Yields the review of each text by each of *scripts*, reviewers that the program plays by fixed rules."""
    for name, (f, g, _) in planted.items():
        pool = scripted.review_sentences([review.text or "" for review in human[name]])
        rest = [replace(f, flaw=flaw) for flaw in catalogue.values() if flaw.plain and flaw not in (f.flaw, g.flaw)]
        texts: dict[str, PlantedText | None] = {f.flaw.name: f, g.flaw.name: g, AS_IS: None, HARMLESS: None}
        for script in scripts:
            for flaw, item in texts.items():
                chance, text_id = random.Random(f"{name} {flaw} {script}"), format_text_id(name, flaw)
                candidate = scripted.PREFIX + script
                text = scripted.write_scripted_review(script, pool, item, [f, g, *rest], chance)
                yield Review(f"{text_id}:{candidate}", text_id, candidate, text)


def compute_flaw_results(job: Job, record: Mapping[str, Any]) -> FlawResults:
    """Returns the reviewers' results under each metric, from the scores of the edition with planted flaws.

    The share of words that a review has in common with a flaw's description counts as one more metric. *record*: the
    edition's record, as `create_edition_with_flaws` returns it. A paper counts for a reviewer only if all four texts of
    the paper have their scores.
    """
    store = ReadersCopyStore(job.state, job.settings.edition.edition)
    signatures = [row for row in store.read(CURRENT_SIGNATURES) if row["metric"] in METRICS]
    candidates = [row["candidate_id"] for row in store.read(CANDIDATES)]
    values: dict[str, dict[str, dict[tuple[str, str], float]]] = {}
    for signature in signatures:
        by_candidate = values.setdefault(signature["metric"], defaultdict(dict))
        for row in store.read(CANDIDATE_PAIRS, signature_id=signature["signature_id"], candidates=candidates):
            own = by_candidate[row["candidate_id"]]  # stays empty if all of the reviewer's pairs are excluded or failed
            if row["value"] is not None:
                own[row["paper_id"], row["reference_id"]] = row["value"]
    if signatures:
        values[WORDS] = _compute_word_shares(store, signatures[0]["writer"], values[signatures[0]["metric"]])
    rows: list[ReviewerResult] = []
    too_few: list[ReviewerWithTooFewPapers] = []
    for metric, by_candidate in values.items():
        scores = {name: read_flaw_scores(own, record) for name, own in by_candidate.items()}
        true = compute_detection_rate(scores[CERTAIN_SCRIPT]) if scores.get(CERTAIN_SCRIPT) else None
        title = "Words in common" if metric == WORDS else find_recipe(metric).title
        for name in sorted(scores, key=lambda name: (is_human_or_rule_reviewer(name), name)):
            reviewer: ReviewerWithTooFewPapers = {
                "title": title,
                "candidate": name,
                "control": is_human_or_rule_reviewer(name),
            }
            if len(scores[name]) <= 2:
                too_few.append(reviewer)
                continue
            result = summarise_flaw_scores(scores[name])
            rows.append({
                "metric": metric, **reviewer, "papers": len(scores[name]) // 2,
                "score": _convert_test_to_row(result.score),
                "other": _convert_test_to_row(result.other), "again": _convert_test_to_row(result.again),
                "specific": _convert_test_to_row(result.specific) if result.specific else None,
                "families": {family: _convert_test_to_row(test, holm)
                             for family, (test, holm) in result.families.items()},
                "nulls": result.nulls, "detected": result.detected, "true": true,
                "rate": corrected_naming_rate(result.detected, true, ALPHA),
            })  # fmt: skip
    planted = Counter(place["flaw"] for places in record["papers"].values() for place in places[:2])
    return {
        "edition": record["source"], "flaws_edition": store.key, "papers": len(record["papers"]),
        "signatures": {row["metric"]: row["signature_id"] for row in signatures},
        "alpha": ALPHA, "flaws": dict(sorted(planted.items())), "left_out": record["left_out"],
        "not_plantable": record["not_plantable"], "too_few": too_few, "rows": rows,
    }  # fmt: skip


def read_flaw_scores(values: Values, record: Mapping[str, Any]) -> list[FlawScores]:
    """Returns a reviewer's scores on the two flaws of each paper; papers that lack a score are left out."""
    papers = {paper: places[:2] for paper, places in record["papers"].items()}
    ring = find_papers_with_same_flaw({paper: [place["flaw"] for place in places] for paper, places in papers.items()})
    scores: list[FlawScores] = []
    for paper, places in papers.items():
        rows = []
        for place, other in (places, reversed(places)):
            flaw = place["flaw"]
            own = [
                _mean_score_on_flaw(values, format_text_id(paper, name), paper, flaw, record["wordings"][flaw])
                for name in (flaw, other["flaw"], AS_IS, HARMLESS)
            ]
            known = [value for value in own if value is not None]
            if len(known) == len(own):
                abroad = ring.get((paper, flaw))
                same = None
                if abroad:
                    same = _mean_score_on_flaw(
                        values, format_text_id(abroad, flaw), paper, flaw, record["wordings"][flaw]
                    )
                rows.append(FlawScores(paper, flaw, place["family"], *known, elsewhere=same))
        scores += rows if len(rows) == 2 else []
    return scores


def _mean_score_on_flaw(values: Values, text_id: str, paper: str, flaw: str, wordings: int) -> float | None:
    """Returns the mean score of a text's review on the descriptions of a paper's *flaw*; None if a score is missing."""
    own = [values.get((text_id, format_reference_id(text_id, paper, flaw, number))) for number in range(wordings)]
    known = [value for value in own if value is not None]
    return sum(known) / wordings if len(known) == wordings else None


def _compute_word_shares(
    store: Store, writer: str, scored: Mapping[str, Values]
) -> dict[str, dict[tuple[str, str], float]]:
    """Returns candidate → (text, reference) → share of the reference's words that occur in the review of the text.

    The pairs (text, reference) are those of *scored*. Candidates that lack judgments by *writer* are left out.
    """
    texts = {row["review_id"]: row["text"] for row in store.read(JUDGMENTS) if row["writer"] == writer}
    ids = {(review.candidate, review.paper_id): review.review_id for review in read_known_reviews(store, texts=False)
           if review.candidate != HUMAN or review.slot == 0}  # fmt: skip
    shares: dict[str, dict[tuple[str, str], float]] = {}
    for candidate, pairs in scored.items():
        own = {place: (texts.get(ids.get((candidate, place[0]), "")), texts.get(place[1])) for place in pairs}
        if all(x is not None and y is not None for x, y in own.values()):
            shares[candidate] = {place: compute_word_share(x or "", y or "") for place, (x, y) in own.items()}
    return shares


def compute_word_share(review: str, description: str) -> float:
    """Returns the share of *description*'s content words that occur in *review*; both are judgments."""
    wanted = _extract_content_words(description)
    return len(wanted & _extract_content_words(review)) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=4096)
def _extract_content_words(text: str) -> frozenset[str]:
    for opening in OPENINGS:
        text = text.replace(opening, " ")
    return frozenset(word for word in map(str.lower, _WORD.findall(text)) if not _EMPTY.fullmatch(word))


def is_human_or_rule_reviewer(candidate: str) -> bool:
    """Whether *candidate* is the human baseline, a control, or a reviewer by rule, such as a script; not a model."""
    return candidate == HUMAN or candidate in (*CONTROLS, *EXTRACTIVE) or scripted.is_script(candidate)


def _convert_test_to_row(test: PairedTest, holm: float | None = None) -> MeanWithTest:
    return {"value": test.value, "low": test.low, "high": test.high, "p": test.p, "p_holm": holm}


def write_results(job: Job, study: FlawStudy, results: FlawResults) -> Path:
    """Writes *results* next to the store of ``study.source``, where its board finds them; returns the file."""
    file = locate_results_file(Store(job.state, study.source))
    write_file(file, json.dumps(results, indent=1, allow_nan=False).encode())
    return file
