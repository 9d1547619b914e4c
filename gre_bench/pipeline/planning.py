"""Draws the sample of an edition and plans its pairs. A pair is a (paper, candidate, reference) that gets one score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from gre_bench.catalogs.domains import Part, load_domain
from gre_bench.core.controls import CONTROLS, OTHER_PAPER
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.known_names import format_name_list, sort_by_similarity
from gre_bench.core.metrics import Recipe, find_recipe
from gre_bench.core.records import HUMAN, Candidate, Paper, PlannedPair, Review, Signature, Source, SynopsisKind
from gre_bench.core.settings import EditionSettings
from gre_bench.core.terminal import counted
from gre_bench.ingest.records.row_files import read_ids
from gre_bench.ingest.records.sampling import draw_papers_and_roles, read_not_human_ids
from gre_bench.metrics.agreement import NOT_REFERENCED, GradedItem, plan_agreement
from gre_bench.metrics.agreement import build_review_candidate as graded_candidate
from gre_bench.metrics.cases import (
    MissingText,
    MovedReview,
    ReviewWithJudgments,
    SampledPaper,
    add_judgments_as_beyond_synopses,
    choose_writer_for_sampled_papers,
    is_human_baseline_compared,
    plan_edition_pairs,
    plan_response_moves,
)
from gre_bench.metrics.scoring import CHANCE_SEED
from gre_bench.perturbations.by_name import is_perturbed_candidate
from gre_bench.pipeline.importing import (
    load_papers_by_id,
    load_stated_categories,
    read_known_papers,
    read_known_reviews,
)
from gre_bench.pipeline.perturbed_reviews import add_perturbed_judgments, list_perturbed_candidates
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.training_overlap import TrainingOverlap, find_training_overlap
from gre_bench.prompts.conditions import split_condition
from gre_bench.store import Store, now
from gre_bench.store.queries import ASKED_FOR, DRAW, JUDGMENTS, PLANNED_CANDIDATES, SAMPLE, SYNOPSES, UNWRITTEN
from gre_bench.tasks.backends import SignMetrics
from gre_bench.writing.writers import EXTRACTIVE


@dataclass(slots=True)
class RunPlan:
    """The plan of a run: the pairs to score, and the signatures and writer that they are scored with.

    - *planned*: (signature id, pair) for each pair. *signatures*: metric → signature.
    - *lm_id*, *writer*: the identities of the evaluation LM, and of the writer whose judgments are scored.
    - *papers*: the number of planned papers. *sampled*: the number of sampled papers; in a validation, without the
      papers in *trained_on*.
    - *trained_on*: the papers that the evaluation LM or the writer was trained on; a validation leaves them out.
    - *notes*: notes for users.
    """

    planned: list[tuple[str, PlannedPair]]
    signatures: dict[str, Signature]
    lm_id: str
    writer: str
    papers: int
    sampled: int
    trained_on: TrainingOverlap
    notes: list[str] = field(default_factory=list)

    @property
    def signature_ids(self) -> list[str]:
        return [signature.signature_id for signature in self.signatures.values()]

    @property
    def candidates(self) -> list[str]:
        return sorted({pair.candidate_id for _, pair in self.planned})


def draw_sample(store: Store, settings: EditionSettings) -> list[str]:
    """Draws and stores the edition's sample, unless one is stored already; returns notes for users.

    Raises `SourceError` if the edition has no papers. Raises `SettingsError` if the stored sample was made with other
    settings, contains papers that ``edition.only`` lacks, or uses reviews that ``edition.not_human`` lists.
    """
    papers, notes = read_known_papers(store, bodies=False), list[str]()
    if not store.rows(DRAW):
        if not papers:
            raise SourceError(
                f"edition {store.key} has no papers; import some, or name files in the settings (sources)"
            )
        sampled = draw_papers_and_roles(
            papers, read_known_reviews(store, texts=bool(settings.avoid_trained_on)), settings
        )
        counts = {"known": sampled.known, "eligible": sampled.eligible, "drawn_at": now()}
        store.write(("add_draws", [collect_draw_settings(settings) | counts]), ("add_sample", sampled.roles))
        notes += sampled.notes
    stored, wanted = store.rows(DRAW)[0], collect_draw_settings(settings)
    for name, value in wanted.items():
        if value != stored[name]:
            setting = {"reference_count": "references", "avoid_learnt": "avoid_trained_on"}.get(name, name)
            was = f"{setting} = {stored[name]}, the settings ask for {value}"
            raise SettingsError(f"edition {store.key} was drawn with {was}; {KEPT}")
    if settings.only and (others := {row["paper_id"] for row in store.rows(SAMPLE)} - set(read_ids(settings.only))):
        was = f"{len(others)} papers that {settings.only.name} does not name"
        raise SettingsError(f"edition {store.key} was drawn with {was}; {KEPT}")
    human = [review for review in read_known_reviews(store, texts=False) if review.candidate == HUMAN]
    apart = read_not_human_ids(human, settings.not_human)
    if settings.not_human and (named := apart & {row["review_id"] for row in store.rows(SAMPLE)}):
        was = f"{counted(len(named), 'review')} that {settings.not_human.name} names"
        raise SettingsError(f"edition {store.key} was drawn with {was}; {KEPT}")
    late = len(papers) - stored["known"]
    return notes + ([f"{late} papers came after the sample was drawn and are not in it"] if late else [])


KEPT = (
    "a drawn sample never changes; to draw another, name a new edition and its files: "
    "gre-bench refresh --edition VENUE-YEAR-NAME --settings FILE"
)


def collect_draw_settings(settings: EditionSettings) -> dict[str, Any]:
    """Returns the settings that determine which papers are sampled, as a row of the table ``draws``."""
    names = ("papers", "seed", "roles", "candidate_slot")
    return {name: getattr(settings, name) for name in names} | {
        "reference_count": str(settings.references),
        "min_reviews": settings.effective_min_reviews,
        "reference_slots": list(settings.reference_slots),
        "avoid_learnt": list(settings.avoid_trained_on),
    }


def read_sampled_ids(store: Store, limit: int | None = None, without: Container[str] = ()) -> list[str]:
    """Returns the ids of the first *limit* sampled papers (None: all) that are not in *without*, in sample order."""
    order = (row["paper_id"] for row in store.rows(SAMPLE) if row["role"] == "candidate")
    return [paper_id for paper_id in order if paper_id not in without][:limit]


def sampled_papers(store: Store, limit: int | None = None, bodies: bool = True) -> list[Paper]:
    """Returns the first *limit* sampled papers; *bodies*: whether to include their texts."""
    return load_papers_by_id(store, read_sampled_ids(store, limit), bodies)


def load_sample_entries(
    store: Store, reviewers: Mapping[str, str], judgments_by: str | None = None, assw_by: str | None = None,
    parts: Sequence[Part] = ("abstract",), without: Container[str] = (), bodies: bool = True,
) -> list[SampledPaper]:  # fmt: skip
    """Returns one entry per sampled paper, with all its responses (reviews with judgments) and synopses.

    If a text is missing and the store has the reason, the entry has this reason.

    - *reviewers*: candidate → identity as a writer, for each candidate that writes reviews.
    - *judgments_by*, *assw_by*: the identities of the writers of judgments and of ASSW (author-stated strengths and
      weaknesses).
    - *parts*: the parts of an item, such as its abstract, that make up its synopsis.
    - *without*: ids of papers to leave out. *bodies*: whether to include the papers' texts.
    """
    by_id, by_candidate = {}, defaultdict(dict)
    for review, response in iterate_reviews_with_judgments(store, judgments_by):
        by_id[review.review_id] = response
        if review.candidate != HUMAN:
            by_candidate[review.paper_id][review.candidate] = response
    for name, writer in reviewers.items():
        for item, lack in load_missing_text_reasons(store, "review", writer).items():
            paper_id = item.rpartition(":")[0]
            by_candidate[paper_id].setdefault(
                name, ReviewWithJudgments(f"{paper_id}:{name}", None, {}, {"review": lack})
            )
    assw = load_missing_text_reasons(store, "assw", assw_by) | {
        row["paper_id"]: row["text"] for row in store.rows(SYNOPSES, kind="assw", writer=assw_by)
    }
    categories = load_stated_categories(store)
    every_reference = store.rows(DRAW)[0]["reference_count"] == "all"
    roles: dict[str, list[ReviewWithJudgments]] = {}
    for row in store.rows(SAMPLE):
        roles.setdefault(row["paper_id"], []).append(by_id[row["review_id"]])
    return [
        SampledPaper(paper, human, tuple(references), by_candidate[paper.paper_id],
              build_synopses(paper, assw, categories, parts), every_reference)
        for paper, (human, *references) in zip(sampled_papers(store, bodies=bodies), roles.values(), strict=True)
        if paper.paper_id not in without
    ]  # fmt: skip


def iterate_reviews_with_judgments(
    store: Store, judgments_by: str | None
) -> Iterator[tuple[Review, ReviewWithJudgments]]:
    """Yields (review, response) for each stored review; the response has the judgments by every writer.

    If the writer *judgments_by* failed on a review, the response states why.
    """
    judged: dict[str, dict[str, str]] = defaultdict(dict)
    for row in store.rows(JUDGMENTS):
        judged[row["review_id"]][row["writer"]] = row["text"]
    lacking = load_missing_text_reasons(store, "judgments", judgments_by)
    for review in read_known_reviews(store):
        name = review.review_id
        own: dict[Source, MissingText] = {"judgments": lacking[name]} if name in lacking else {}
        yield review, ReviewWithJudgments(name, review.text, judged.get(name, {}), own)


def load_missing_text_reasons(store: Store, task: str, writer: str | None) -> dict[str, MissingText]:
    """Returns review or paper id → why its text of the kind *task* is missing; empty if *writer* is None."""
    rows = store.rows(UNWRITTEN, task=task, writer=writer) if writer else []
    return {row["item"]: MissingText(row["outcome"], not row["final"], row["detail"] or None) for row in rows}


def build_synopses(
    paper: Paper, assw: Mapping[str, str | MissingText], categories: Mapping[str, str], parts: Sequence[Part]
) -> dict[SynopsisKind, str | MissingText]:
    """Returns kind of synopsis → the synopsis of *paper*, or why it is missing.

    *assw*: paper id → the paper's ASSW (author-stated strengths and weaknesses). *categories*: paper id → its
    categories. *parts*: what the synopsis of the kind ``abstract`` consists of. The synopsis of the kind ``assw`` is
    the abstract followed by the ASSW (Xu et al. 2025, C.4).
    """
    known: dict[SynopsisKind, str | MissingText] = {}
    if own_categories := categories.get(paper.paper_id):
        known["categories"] = own_categories
    values = {"title": paper.title, "abstract": paper.abstract, "categories": own_categories}
    wanting = [part for part in parts if not (values[part] or "").strip()]
    known["abstract"] = (
        MissingText(f"no_{wanting[0]}") if wanting else "\n\n".join(values[part] or "" for part in parts)
    )
    own_assw = assw.get(paper.paper_id)
    if isinstance(own_assw, str):
        own_assw = f"{paper.abstract}\n\n{own_assw}" if paper.abstract else MissingText("no_abstract")
    if own_assw is not None:
        known["assw"] = own_assw
    return known


def _check_perturbable(edition: str, entries: Sequence[SampledPaper], recipes: Mapping[str, Recipe]) -> None:
    """Raises `SettingsError` if a metric needs a reference and no paper has a second human review to perturb."""
    needing = [metric for metric, recipe in recipes.items() if recipe.needs_reference]
    if needing and not is_human_baseline_compared(entries):
        raise SettingsError(
            f"edition {edition} cannot validate {', '.join(needing)}: its papers have one human review each, the "
            "reference, so none is left to change and score; validate on an edition with two or more a paper"
        )


def plan_pairs(
    store: Store,
    job: Job,
    sign: SignMetrics,
    entries: list[SampledPaper],
    run_id: str,
    judgments_by: str | None,
    assw_by: str | None,
) -> RunPlan:
    """Computes the metrics' signatures, plans every pair of *entries*, and stores the plan; returns it.

    Stored scores with the same signatures are kept.

    Args:
        store: the edition's store, whose lock the caller holds.
        job: the job, whose settings name metrics and candidates.
        sign: the step ``sign_metrics``, which computes the signatures.
        entries: the papers of the sample with their texts.
        run_id: the id of the run under which the plan is recorded.
        judgments_by: the identity of the writer of judgments; None if this run writes none.
        assw_by: the identity of the writer of author-stated strengths and weaknesses; None if no metric needs them.

    Raises:
        SettingsError: a candidate is unknown.
        SourceError: a metric cannot score any human review.
    """
    scoring = job.settings.scoring
    writer = choose_writer_for_sampled_papers(entries, scoring.writer, judgments_by)
    if judgments_by is None and not job.perturbations:
        entries = [_mark_unjudged(entry, writer) for entry in entries]
    # A validation tests only the chosen metrics; it does not need chance scores.
    metrics = scoring.metrics if job.perturbations else scoring.metrics_and_specific_forms
    every = scoring.model_copy(update={"metrics": metrics})
    identity, signatures = sign(job.backends, every, writer, assw_by)
    candidates = _list_candidates(store, job, entries, [signatures[metric].signature_id for metric in scoring.metrics])
    entries, generic = add_perturbed_judgments(job, entries, writer), load_domain(job.settings.edition.domain).generic
    recipes = {metric: find_recipe(metric) for metric in metrics}
    if any(recipe.synopsis == "beyond" for recipe in recipes.values()):
        entries = add_judgments_as_beyond_synopses(entries, scoring.beyond, writer, scoring.form)
    if job.perturbations:
        _check_perturbable(store.key, entries, recipes)
    # The key is the text that the metrics read: judgments or original reviews.
    moved: dict[Source, Sequence[MovedReview]] = {
        recipe.source: plan_response_moves(entries, candidates, recipe, writer, CHANCE_SEED)
        for recipe in recipes.values()
        if recipe.formula == "specific"
    }
    elsewhere = index_moved_reviews(moved)
    planned = [
        (signatures[metric].signature_id, pair)
        for metric, recipe in recipes.items()
        for pair in plan_edition_pairs(
            entries, candidates, recipe, writer, scoring.form, job.limit, generic, elsewhere.get(recipe.source)
        )
    ]
    if job.perturbations:
        items = [GradedItem(entry.paper, entry.references, {}, entry.synopses) for entry in entries[: job.limit]]
        planned += [
            (signatures[metric].signature_id, pair)
            for metric, recipe in recipes.items()
            if can_measure_length_effect(recipe) and not (recipe.synopsis == "beyond" and scoring.beyond == (HUMAN,))
            for pair in plan_agreement(items, recipe, writer, scoring.form, ungraded=True)
            if pair.reason != NOT_REFERENCED
        ]
        references = {review.review_id for item in items for review in item.responses}
        candidates += [graded_candidate(name) for name in sorted(references)]
    _check_human_scorable(store.key, planned, {metric: signatures[metric] for metric in scoring.metrics})
    store_run_plan(store, job, run_id, planned, signatures, candidates, list(chain.from_iterable(moved.values())))
    planned_papers, trained_on = (
        min(job.limit or len(entries), len(entries)),
        find_training_overlap(store, job.settings, writer),
    )
    return RunPlan(
        planned, signatures, identity.lm_id, writer, planned_papers, len(entries), trained_on, trained_on.notes
    )


def index_moved_reviews(
    moved: Mapping[Source, Sequence[MovedReview]],
) -> dict[Source, dict[tuple[str, str], ReviewWithJudgments]]:
    """Returns source (``judgments`` or ``review``) → (candidate id, paper id) → the moved review.

    A moved review is the candidate's review of another paper, scored on this paper to measure the chance score.
    """
    return {source: {(item.candidate_id, item.paper_id): item.response for item in items}
            for source, items in moved.items()}  # fmt: skip


def can_measure_length_effect(recipe: Recipe) -> bool:
    """Whether a validation scores references against each other by *recipe*, to measure how scores depend on length.

    Metrics that subtract a chance score are excluded: they would also need the score of each reference on another
    paper.
    """
    return recipe.needs_reference and recipe.formula != "specific"


def _mark_unjudged(entry: SampledPaper, writer: str) -> SampledPaper:
    """Returns *entry* with the mark ``not_judged`` on each candidate's review that lacks judgments by *writer*.

    Pairs of marked reviews wait until the judgments exist.
    """
    lack = MissingText(
        "not_judged", True,
        f"no judgments by {writer}; import them, or have every review judged by one writer: "
        "--set writing.judgments=rule (or a model's name)",
    )  # fmt: skip
    waiting = {
        name: replace(response, lacks={"judgments": lack, **response.lacks})
        for name, response in entry.responses.items()
        if response.text and writer not in response.judgments
    }
    return replace(entry, responses={**entry.responses, **waiting})


@dataclass(frozen=True, slots=True)
class _PlanRow:
    """A row of the table ``plan``. A million dictionaries would take three times the memory."""

    signature_id: str
    paper_id: str
    candidate_id: str
    reference_id: str
    state: str
    reason: str | None
    detail: str | None
    run_id: str


def store_run_plan(
    store: Store,
    job: Job,
    run_id: str,
    planned: Sequence[tuple[str, PlannedPair]],
    signatures: Mapping[str, Signature],
    candidates: Sequence[Candidate],
    moved: Sequence[MovedReview] = (),
) -> None:
    """Stores the plan of a run. Deletes older plans for the same signatures and candidates, unless *job* is a pilot.

    *planned*: (signature id, pair) for each pair. *moved*: reviews that are scored on other papers, to measure the
    chance score. If an earlier run moved another review to the same paper, its scores there are deleted. A pair that
    both a validation and a refresh planned stays in the refresh's plan, because a board shows the last refresh.
    """
    beside = {item.candidate_id for item in candidates if job.perturbations and item.kind not in ("change", "graded")}
    whole = not (job.candidates or job.perturbations or all(candidate.kind == "graded" for candidate in candidates))
    chosen = None if whole else [item.candidate_id for item in candidates if item.candidate_id not in beside]
    clear = [("clear_plan", {"signature_id": signature.signature_id, "run_id": run_id, "candidates": chosen})
             for signature in signatures.values() if job.limit is None]  # fmt: skip
    rows = [
        _PlanRow(signature_id, pair.paper_id, pair.candidate_id, pair.reference_id, pair.state, pair.reason,
                 pair.detail, run_id)
        for signature_id, pair in planned
    ]  # fmt: skip
    sources = [{"writer": item.writer, "candidate_id": item.candidate_id, "paper_id": item.paper_id,
                "review_id": item.response.review_id, "swap": item.swap} for item in moved]  # fmt: skip
    store.write(
        ("forget_moved_scores", [{name: row[name] for name in row if name != "swap"} for row in sources]),
        ("put_moved", sources),
        ("add_new_candidates", candidates),
        ("add_new_signatures", [asdict(item) | {"signature_id": item.signature_id} for item in signatures.values()]),
        ("put_plan", [row for row in rows if row.candidate_id not in beside]),
        ("add_plan_beside", [row for row in rows if row.candidate_id in beside]),
        *clear,
        *([("forget_failed", rows)] if job.retry_failed else []),
    )


def _check_human_scorable(
    key: str, planned: Sequence[tuple[str, PlannedPair]], signatures: dict[str, Signature]
) -> None:
    """Raises `SourceError` if a metric can score no human review; else the run would seem complete without scores."""
    lacking = {}
    for metric, signature in signatures.items():
        signature_id = signature.signature_id
        own = [pair for signed, pair in planned if signed == signature_id]
        # If there is no human candidate, the control with reviews of other papers stands in; these are human reviews
        # too.
        human = [pair for pair in own if pair.candidate_id == HUMAN] or [
            pair for pair in own if pair.candidate_id == OTHER_PAPER
        ]
        if human and all(pair.state == "failed" for pair in human):
            lacking[metric] = human[0].reason
    for metric, reason in lacking.items():
        ways = ["import what is missing"]
        if find_recipe(metric).source == "judgments":
            ways.append("have it written (--set writing.judgments=rule)")
        if rest := ", ".join(f'"{name}"' for name in signatures if name not in lacking):
            ways.append(f"leave it out (--set 'scoring.metrics=[{rest}]')")
        raise SourceError(f"edition {key}: {metric} can score no human review ({reason}): {', or '.join(ways)}")


def _list_candidates(store: Store, job: Job, entries: list[SampledPaper], signature_ids: list[str]) -> list[Candidate]:
    if job.perturbations:
        return [Candidate(HUMAN, "human"), *CONTROLS.values(), *list_perturbed_candidates(store, job)]
    known = {HUMAN: Candidate(HUMAN, "human")} | CONTROLS
    for name in sorted({name for entry in entries for name in entry.responses if not is_perturbed_candidate(name)}):
        if name in EXTRACTIVE:
            known[name] = Candidate(name, "control", change=f"a review by rule, from the {EXTRACTIVE[name]} text")
        else:
            model, guideline = split_condition(name)
            known[name] = Candidate(name, "model", model, guideline=guideline)
    chosen = job.candidates or job.settings.scoring.candidates or tuple(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise SettingsError(
            f"no candidate {', '.join(unknown)} in edition {store.key}; import its reviews first; "
            f"known, nearest first: {format_name_list(sort_by_similarity(unknown[0], known))}"
        )
    if job.candidates:
        # Includes the baseline and the controls that are already planned, so that all have the same papers.
        planned = {row["candidate_id"] for row in store.rows(PLANNED_CANDIDATES, signature_ids=signature_ids)}
        chosen = (HUMAN, *(name for name in CONTROLS if name in planned), *chosen)
    writers = {row["candidate"]: row["writer"] for row in store.rows(ASKED_FOR) if row["wrote"]}
    return [replace(known[name], prompt=writers.get(name)) for name in dict.fromkeys(chosen)]
