"""Perturbs human reviews for a validation, which scores the perturbed reviews as candidates.

A degradation must lower the score. A manipulation must not raise it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gre_bench.catalogs.domains import load_domain
from gre_bench.core.errors import PerturbationError, SettingsError, SourceError
from gre_bench.core.records import Candidate, Source, WrittenText
from gre_bench.core.settings import Settings, ValidationSettings
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.lm.opening import find_perturbations_in_training
from gre_bench.metrics.cases import MissingText, ReviewWithJudgments, SampledPaper
from gre_bench.perturbations.by_name import (
    HARM_DEGREES,
    PERTURBATIONS,
    apply_perturbation,
    find_perturbation,
    perturbed_candidate_name,
)
from gre_bench.perturbations.edits import OTHER_REVIEWS
from gre_bench.perturbations.harms import HARMS
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.pipeline.runs.job import Job, Progress
from gre_bench.pipeline.writing import write_missing_texts
from gre_bench.store import Store
from gre_bench.store.queries import ASKED_FOR, CHANGE_MAKERS
from gre_bench.tasks import steps


def choose_perturbations(settings: Settings) -> dict[str, str]:
    """Returns perturbation → id of its candidate, for each perturbation of the validation, in the catalogue's order.

    Unless ``validation.perturbations`` names some, these are all perturbations of the domain that can be made at
    ``validation.level``. Those that the evaluation LM was trained to detect are left out. Raises `SettingsError` if
    none is left. Also raises it if a named perturbation cannot be made, or if its effect would say nothing about the
    metric.
    """
    level, chosen = settings.validation.level, settings.validation.perturbations
    domain, trained_on = load_domain(settings.edition.domain), find_perturbations_in_training(settings.evaluation_lm)
    if chosen is None:
        chosen = tuple(
            name
            for name in domain.perturbations
            if PERTURBATIONS[name].is_applicable_at(level) and name not in trained_on
        )
    if not chosen:
        raise SettingsError(
            f"validation.perturbations names no change; those of {domain.name}: {', '.join(domain.perturbations)}"
        )
    for name in chosen:
        why_not = domain.explain_excluded_perturbation(name) or trained_on.get(name)
        if why_not is None and not find_perturbation(name).is_applicable_at(level):
            why_not = f"it cannot be made at the level of {level}"
        if why_not is not None:
            raise SettingsError(f"validation.perturbations: leave out {name}: {why_not}")
    first, other = (find_perturbation_maker(settings.validation, f"rephrase_{number}") for number in (1, 2))
    if first == other and {"rephrase_1", "rephrase_2"} <= set(chosen):
        raise SettingsError(f"validation.makers names {first} for both: rephrasing needs two different writers")
    return {name: perturbed_candidate_name(name, level) for name in PERTURBATIONS if name in chosen}


def list_harm_degrees(settings: Settings) -> tuple[dict[str, str], dict[str, str]]:
    """Returns two mappings: perturbation → id of its candidate, and harm → why it is left out.

    The perturbations are the harms in each of ``validation.degrees``, such as ``garbling-30``. A harm is left out if
    the evaluation LM was trained to detect it.
    """
    trained_on = find_perturbations_in_training(settings.evaluation_lm)
    left_out = {name: trained_on[name] for name in HARMS if name in trained_on}
    names = (f"{harm}-{degree}" for harm in HARMS if harm not in left_out for degree in settings.validation.degrees)
    return {name: perturbed_candidate_name(name, "judgments") for name in names}, left_out


def count_harmed_candidates(store: Store) -> int:
    """Returns how many of the edition's candidates are reviews with a harm of some degree, such as ``garbling-30``."""
    degrees = {perturbed_candidate_name(name, "judgments") for name in HARM_DEGREES}
    return sum(row["candidate_id"] in degrees for row in store.read(CHANGE_MAKERS))


def list_untried_perturbations(settings: Settings) -> list[str]:
    """Returns the perturbations of Xu et al. 2025 that the domain allows but the settings leave out.

    No metric passes as long as any of them is left out. Random replacement is listed only in domains without the
    perturbation ``abstract_only`` (Xu et al. 2025, A.4).
    """
    chosen, domain = choose_perturbations(settings), load_domain(settings.edition.domain)
    beyond_the_paper = () if "abstract_only" in domain.left_out else ("random_replacement",)
    return [
        name
        for name in domain.perturbations
        if PERTURBATIONS[name].source != "ours" and name not in (*beyond_the_paper, *chosen)
    ]


def list_perturbed_candidates(store: Store, job: Job) -> list[Candidate]:
    """Returns the candidates of the job's perturbations, except perturbations that are controls.

    Perturbed reviews are stored. Perturbed judgments are not: each run makes them again and stores their scores. Raises
    `SettingsError` if an earlier run made them differently, for example with another seed.
    """
    validation = job.settings.validation
    before = {row["candidate_id"]: row["prompt"] or "" for row in store.rows(CHANGE_MAKERS)}
    candidates = []
    for name, candidate in _list_perturbations_without_controls(job):
        made_by = find_perturbation_maker(validation, name)
        if validation.level == "judgments":
            made_by = f"{name}-{find_perturbation(name).version} · seed {validation.seed}"
            if (earlier := before.get(candidate, made_by)).startswith(f"{name}-"):
                _check_same_maker(name, store.key, earlier, made_by)
        candidates.append(Candidate(candidate, "change", prompt=made_by, change=name))
    return candidates


def _list_perturbations_without_controls(job: Job) -> Iterator[tuple[str, str]]:
    """Yields (perturbation, candidate) for each perturbation of *job* that is not a control."""
    return (
        (change, candidate) for change, candidate in job.perturbations.items() if not find_perturbation(change).control
    )


def _check_same_maker(change: str, edition: str, before: str, now: str) -> None:
    if before != now:
        raise SettingsError(
            f"change {change} of edition {edition} was made as {before!r} and would now be made as {now!r}; "
            "texts of one candidate are never mixed: set edition.sample to a new name"
        )


def find_perturbation_maker(settings: ValidationSettings, change: str) -> str:
    """Returns the writer that *settings* name for the perturbation *change*.

    Without one, returns ``rule-2`` for ``rephrase_2``, and ``rule`` for all others.
    """
    return {"rephrase_2": "rule-2", **settings.makers}.get(change, "rule")


def write_perturbations(store: Store, job: Job, entries: Sequence[SampledPaper], progress: Progress) -> dict[str, str]:
    """Makes and stores the missing perturbed reviews: each perturbation of *job* for the human reviews in *entries*.

    Returns candidate → identity of the writer or rule that makes its reviews; empty if *job* perturbs judgments. Raises
    `SettingsError` if an earlier run used another writer for a perturbation.
    """
    if job.settings.validation.level == "judgments":
        return {}
    materials = [build_perturbation_input(job.settings, entries, index) for index in range(len(entries))][: job.limit]
    items = {item.key: item for item in materials}
    made_by = {row["candidate"]: row["writer"] for row in store.rows(ASKED_FOR)}
    makers: dict[str, str] = {}
    for change, candidate in _list_perturbations_without_controls(job):
        name = find_perturbation_maker(job.settings.validation, change)
        writer = makers[candidate] = steps.perturbation_identity(change, name, job.writer_context, materials[0])
        _check_same_maker(change, store.key, made_by.get(candidate, writer), writer)
        step: Callable[..., list[WrittenText]] = partial(steps.write_perturbations, change)
        stage = f"changing reviews: {PERTURBATIONS[change].title}"
        write_missing_texts(
            store, job, progress, stage, "review", writer, name, step, items, lambda ids: [items[key] for key in ids],
            candidate=candidate,
        )  # fmt: skip
    return makers


def add_perturbed_judgments(job: Job, entries: Sequence[SampledPaper], writer: str) -> list[SampledPaper]:
    """Returns *entries* with perturbed judgments of the human reviews, as responses of further candidates.

    *writer*: who wrote the judgments. A harm also perturbs the reviews themselves, for metrics that read reviews.
    Nothing is added if *job* has no perturbations, or if it perturbs reviews.
    """
    if not job.perturbations or job.settings.validation.level == "review":
        return list(entries)
    changed_entries = []
    for index, entry in enumerate(entries):
        responses, item = dict(entry.responses), build_perturbation_input(job.settings, entries, index, writer)
        whole = build_perturbation_input(job.settings, entries, index)
        for change, candidate in _list_perturbations_without_controls(job):
            texts, review = dict[str, str](), None
            lacking: Mapping[Source, MissingText] = entry.human.lacks
            if item.text:
                lacking = {}
                try:
                    texts[writer] = apply_perturbation(change, "judgments", item)
                    review = (
                        apply_perturbation(change, "review", whole) if change in HARM_DEGREES and whole.text else None
                    )
                except PerturbationError as error:
                    lacking = {"judgments": MissingText(error.code, detail=str(error))}
            responses[candidate] = ReviewWithJudgments(f"{item.key}:{candidate}", review, texts, lacking)
        changed_entries.append(replace(entry, responses=responses))
    return changed_entries


def build_perturbation_input(
    settings: Settings, entries: Sequence[SampledPaper], index: int, writer: str | None = None
) -> PerturbationInput:
    """Returns the input to perturb the human review of the paper at *index* in *entries*.

    *writer*: if given, the text to perturb and the texts about other papers are this writer's judgments of the human
    reviews; else, the human reviews.
    """

    def text_of(entry: SampledPaper) -> str:
        return (entry.human.text if writer is None else entry.human.judgments.get(writer)) or ""

    entry, validation = entries[index], settings.validation
    first = max(1, len(entries) // 2)
    other_indices = {(index + first + step) % len(entries) for step in range(OTHER_REVIEWS)} - {index}
    order = sorted(other_indices, key=lambda other: (other - index - first) % len(entries))
    others = tuple(text for other in order if (text := text_of(entries[other])))
    headings = validation.headings
    if headings is None:
        try:
            headings = find_venue_entry(settings.edition.venue, settings.edition.year).headings
        except (SettingsError, SourceError):
            headings = load_domain(settings.edition.domain).headings
    return PerturbationInput(
        entry.paper.paper_id, text_of(entry), entry.paper.title, entry.paper.abstract, others, validation.seed,
        validation.splitter, headings,
    )  # fmt: skip
