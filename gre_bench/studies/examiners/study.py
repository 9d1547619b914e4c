"""An examiner study: its checks before the start, its cost estimate, and its raters other than examiners.

An estimate sends nothing. Chats in which an LM writes an examiner's instructions are not counted. The examiner's own
chats are estimated with placeholder instructions.

There are three other kinds of raters: baselines, LMs that compare two texts, and a panel. A baseline is a metric, such
as length. A comparison of two texts is a game between the texts' authors, the players. Humans decide each game (the
text with the higher human score wins), and so does each LM. A panel decides it by a weighted vote, in which only the
LMs that passed an exam take part. The exam measures how often an LM agrees with the humans on pairs of the exam's
texts. The games give Elo and Bradley-Terry ratings of the players.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import METRICS
from gre_bench.core.records import Case, Problem
from gre_bench.core.settings import EmbedderSettings
from gre_bench.examiners import pairwise
from gre_bench.examiners.examiner import (
    Examiner,
    GradingItem,
    ItemKind,
    build_grading_chats,
    build_improvement_chat,
    build_instruction_chat,
    build_redundant_text_filter_chat,
)
from gre_bench.examiners.grading import FREE, Grade, choose_filter_sampling, list_sampling_settings
from gre_bench.examiners.pairwise import (
    Game,
    Preference,
    TextPair,
    compute_elo_spread,
    fit_bradley_terry,
    list_games_from_preferences,
    measure_position_bias,
)
from gre_bench.examiners.panel import (
    ExaminerExamResult,
    Measure,
    compute_exam_result,
    compute_exam_weights,
    convert_decision_to_game_score,
    decide_by_weighted_mean,
    measure_answer_agreement,
    sample_exam_texts,
    stretch_to_unit_scale,
)
from gre_bench.examiners.rater_results import RaterGrades
from gre_bench.examiners.templates import Scale
from gre_bench.ingest.datasets.rated import GradedSummary
from gre_bench.metrics.overlap import OverlapMetric, load_measure
from gre_bench.metrics.scoring import Metric
from gre_bench.pipeline.runs.running_studies import estimate_request_cost, list_exceeded_budgets
from gre_bench.studies.examiners.inputs import (
    Baseline,
    ExaminerGrid,
    HumanScoredTexts,
    PairwiseSettings,
    PanelSettings,
    StudySettings,
    build_examiner_grid,
    load_graded_reviews_from_edition,
    load_scored_texts_from_file,
)
from gre_bench.studies.examiners.results import KIND, PanelResult
from gre_bench.tasks import steps
from gre_bench.writing.writers import WriterContext, open_examiner, open_logprob_writer, study_account

if TYPE_CHECKING:
    from gre_bench.pipeline.runs.running_studies import Asking


@dataclass(frozen=True, slots=True)
class ExaminerJob:
    """An examiner study to run on the texts of the file *items*, or on the graded reviews of *edition*.

    *limit*: the number of texts to use; None: all. *again*: whether to repeat requests that got a refusal or an empty
    reply in an earlier run.
    """

    name: str
    settings: StudySettings
    items: Path | None = None
    edition: str | None = None
    limit: int | None = None
    again: bool = False
    state: Path = Path("state")

    @property
    def writer_context(self) -> WriterContext:
        return WriterContext(self.state / "replies", self.settings.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.settings.budget)  # fmt: skip


def prepare_study(job: ExaminerJob) -> tuple[HumanScoredTexts, dict[str, Model]]:
    """Checks *job*; returns the texts to grade, and all LMs of the models file by name.

    Raises `SettingsError` or `SourceError`, before anything is sent, if the study cannot be run.
    """
    if (job.items is None) == (job.edition is None):
        raise SettingsError("name the texts: --items FILE, or --edition EDITION for its graded reviews (one of them)")
    models = load_models(job.settings.models_file)
    wanted = [*job.settings.models, *(generated.model for generated in job.settings.generated.values())]
    for model in wanted:
        if model not in models:
            raise SettingsError(f"no model {model!r} in the models file; known: {', '.join(models)}")
    material = (
        load_scored_texts_from_file(job.items, job.limit)
        if job.items
        else load_graded_reviews_from_edition(job.state, job.edition or "", job.limit)
    )
    if job.settings.item not in (None, material.kind):
        raise SettingsError(f"item = {job.settings.item}, and the texts are of kind {material.kind}: leave item out")
    if not material.items:
        why = ", ".join(sorted(set(material.lacks.values())))
        raise SettingsError(f"none of {len(material.texts)} texts can be graded: {why}")
    chosen = build_examiner_grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    if job.settings.pairwise and not job.settings.models:
        raise SettingsError("pairwise needs an LM to ask: name models")
    if not job.settings.models and any(needs_model(job.settings, examiner) for examiner in chosen.examiners.values()):
        raise SettingsError('the examiners need an LM to ask: models = ["NAME"] in the settings, or --model NAME')
    if panel := job.settings.panel:
        for name in (*(panel.examiners or ()), *panel.second, *panel.second.values()):
            if name not in chosen.examiners:
                raise SettingsError(f"panel: no examiner {name}; there are: {', '.join(chosen.examiners)}")
        for name, other in panel.second.items():
            scales = {chosen.examiners[member].form.scale for member in (name, other)}
            if panel.measure == "exact" and len(scales) > 1:
                raise SettingsError(
                    f"panel.second: {name} and {other} have different scales, whose scores are never equal: measure = "
                    '"squared_error"'
                )
    return material, models


def needs_model(settings: StudySettings, examiner: Examiner) -> bool:
    """Whether *examiner* needs an LM of the models file: it is not random, and does not use the evaluation LM."""
    by_lm = examiner.aggregation == "logprob" and settings.evaluation_lm is not None
    return examiner.form.answer != "nothing" and not by_lm


def estimate_study_cost(job: ExaminerJob) -> dict[str, Any]:
    """Returns the numbers of texts and examiners, an estimate per LM, and the budget limits that may be exceeded.

    An estimate comes from `estimate_request_cost`. Retries are not counted. A chat that several examiners share is
    counted once for each examiner. Raises `SettingsError` or `SourceError` if the study cannot be run.
    """
    material, _ = prepare_study(job)
    items, context = material.items, job.writer_context
    chosen = build_examiner_grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    pairs = choose_text_pairs(material.texts, job.settings.pairwise) if job.settings.pairwise else []
    rows = []
    for name in job.settings.models:
        plain = open_examiner(name, context)
        asking: list[Asking] = []
        for examiner in chosen.examiners.values():
            if not needs_model(job.settings, examiner):
                continue
            writer = open_logprob_writer(name, context) if examiner.aggregation == "logprob" else plain.writer
            item_chats = [chat for item in items for chat in build_grading_chats(examiner, item)]
            asking += [(writer, item_chats, sampling) for sampling in list_sampling_settings(examiner, plain.sampling)]
            if examiner.filtering:
                filters = [build_redundant_text_filter_chat(examiner, item) for item in items]
                asking.append((plain.writer, filters, choose_filter_sampling(examiner, plain.sampling)))
        asking.append((plain.writer, pairwise.build_pairwise_chats(pairs, material.kind), pairwise.SAMPLING))
        rows.append(estimate_request_cost(name, asking))
    return {
        "study": job.name, "texts": len(material.texts), "excluded": len(material.lacks),
        "examiners": len(chosen.examiners), "models": rows, "over_budget": list_exceeded_budgets(context, rows),
    }  # fmt: skip


def _convert_decision_to_grade(name: str, decision: float | Problem) -> Grade:
    return Grade(name, None, decision) if isinstance(decision, Problem) else Grade(name, decision)


def run_panel(
    settings: PanelSettings, material: HumanScoredTexts, chosen: ExaminerGrid, columns: Sequence[RaterGrades]
) -> tuple[PanelResult, set[str]]:
    """Makes the examiners sit an exam on some texts, and combines their grades of the other texts, by each rule.

    *columns*: the examiners' grades. A rule gives a weight to each examiner that passed. Returns the panel, and the ids
    of the texts in its exam. If no examiner passes, the panel has problems instead of grades. Raises `SettingsError` if
    a human score is outside the range in *settings*.
    """
    known = [text for text in material.texts if text.item_id not in material.lacks]
    human = {text.item_id: text.human for text in known if text.human is not None}
    low, high = settings.human
    if outside := [name for name, score in human.items() if not low <= score <= high]:
        raise SettingsError(
            f"panel.human = [{low:g}, {high:g}], and the human score of {outside[0]} is {human[outside[0]]:g}"
        )
    exam_texts = sample_exam_texts({text.item_id: text.group for text in known}, settings.questions, settings.seed)
    names = [name for name in human if name in exam_texts]
    due = [name for name in human if name not in exam_texts]
    gold: Sequence[float | None] = [human[name] for name in names]
    gold = stretch_to_unit_scale(gold, Scale(low, high)) if settings.measure == "squared_error" else gold
    by_name = {(column.name, column.by): column for column in columns if column.kind == "examiner"}

    def list_answers(name: str, by: str, texts: Sequence[str], measure: Measure) -> list[float | None]:
        grades = by_name[name, by].values
        values = [grades.get(text) for text in texts]
        return (
            stretch_to_unit_scale(values, chosen.examiners[name].form.scale) if measure == "squared_error" else values
        )

    panel = PanelResult([], {}, [])
    answers: dict[str, list[float | None]] = {}
    for (name, by), column in by_name.items():
        examiner, other = chosen.examiners.get(name), settings.second.get(name)
        sits = settings.examiners is None or name in settings.examiners
        if examiner is None or examiner.form.answer == "nothing" or not sits:
            continue
        again = None if other is None else list_answers(other, by, names, settings.measure)
        own = list_answers(name, by, names, settings.measure)
        panel.exams.append(compute_exam_result(column.title, own, gold, again, settings.measure, settings.threshold))
        answers[column.title] = list_answers(name, by, due, "squared_error")
    for rule in settings.rules:
        decisions: Sequence[float | Problem]
        try:
            panel.weights[rule] = compute_exam_weights(panel.exams, rule, settings.alpha)
            decisions = decide_by_weighted_mean(answers, panel.weights[rule])
        except SettingsError as error:
            panel.weights[rule] = {}
            decisions = [Problem("no_panel", str(error))] * len(due)
        grades = tuple(map(_convert_decision_to_grade, due, decisions))
        different = len({grade.value for grade in grades if grade.value is not None})
        title = f"panel of {len(panel.weights[rule])}, {rule} weights"
        excluded = dict.fromkeys(names, "exam_question") | dict(material.lacks)
        panel.columns.append(RaterGrades(title, "", "panel", grades, excluded, different, different))
    return panel, exam_texts


def choose_text_pairs(texts: Sequence[GradedSummary], settings: PairwiseSettings) -> list[TextPair]:
    """Returns at most ``settings.games`` pairs of *texts* about one source by different authors, in random order.

    Raises `SettingsError` if there is no such pair.
    """
    by_group: dict[str, list[GradedSummary]] = {}
    for text in texts:
        if text.player:
            by_group.setdefault(text.group, []).append(text)
    pairs = [
        TextPair(
            f"{first.item_id} {second.item_id}", first.source, first.player, second.player, first.text, second.text
        )
        for group in by_group.values()
        for first, second in combinations(group, 2)
        if first.player != second.player
    ]
    if not pairs:
        raise SettingsError("pairwise: no two texts about one source by different players (column model_id)")
    random.Random(settings.seed).shuffle(pairs)
    return pairs[: settings.games]


def build_game_reports(
    pairs: Sequence[TextPair],
    preferences_of: Mapping[str, Sequence[Preference]],
    texts: Sequence[GradedSummary],
    settings: PairwiseSettings,
    panel: PanelSettings | None,
    exam_texts: set[str],
) -> list[dict[str, Any]]:
    """Returns reports of the games as decided by the humans, by each LM, and by the *panel* with each of its rules.

    A game is a pair of texts; its players are the texts' authors. A rule gives weights to the LMs that passed the
    panel's exam, and their weighted vote decides.

    *preferences_of*: LM → its preferences, in the order of *pairs*. *exam_texts*: the ids of texts in the panel's exam.
    """
    human = {text.item_id: text.human for text in texts if text.human is not None}
    ids = [pair.item_id.split(" ") for pair in pairs]
    gold = [0.5 if human[first] == human[second] else float(human[first] > human[second]) for first, second in ids]
    in_exam = [first in exam_texts for first, _ in ids]
    rows = [
        _build_game_report(
            "humans", [Game(pair.first, pair.second, score) for pair, score in zip(pairs, gold, strict=True)], settings
        )
    ]
    exams: list[ExaminerExamResult] = []
    for name, preferences in preferences_of.items():
        report = _build_game_report(name, list_games_from_preferences(preferences), settings)
        decided = [
            (item.score, score, examined)
            for item, score, examined in zip(preferences, gold, in_exam, strict=True)
            if score != 0.5
        ]
        own, right = [score for score, _, _ in decided], [score for _, score, _ in decided]
        report["accuracy"] = measure_answer_agreement(own, right, "exact") if decided else None
        report["position"] = asdict(measure_position_bias(preferences))
        report["cost"] = asdict(sum((item.cost for item in preferences), FREE))
        if panel is not None:
            given = [score for score, _, examined in decided if examined]
            wanted = [score for _, score, examined in decided if examined]
            exams.append(compute_exam_result(name, given, wanted, threshold=panel.threshold))
            report["exam"] = asdict(exams[-1])
        rows.append(report)
    if panel is None:
        return rows
    for rule in panel.rules:
        try:
            weight_of = compute_exam_weights(exams, rule, panel.alpha)
        except SettingsError as error:
            rows.append(_build_game_report(f"panel, {rule} weights", [], settings, str(error)))
            continue
        decisions = decide_by_weighted_mean(
            {name: [item.score for item in preferences_of[name]] for name in weight_of}, weight_of
        )
        chaired = [
            Game(pair.first, pair.second, score)
            for pair, decision, examined in zip(pairs, decisions, in_exam, strict=True)
            if not examined and (score := convert_decision_to_game_score(decision)) is not None
        ]
        rows.append(_build_game_report(f"panel of {len(weight_of)}, {rule} weights", chaired, settings))
    return rows


def _build_game_report(
    name: str, played: Sequence[Game], settings: PairwiseSettings, problem: str | None = None
) -> dict[str, Any]:
    """Returns the report *name* on the games *played*: their number, and the players' Elo and Bradley-Terry ratings."""
    report: dict[str, Any] = {"name": name, "games": len(played), "elo": [], "bradley_terry": [], "problem": problem}
    if played:
        report["elo"] = [asdict(row) for row in compute_elo_spread(played, settings.orders, settings.seed)]
        try:
            report["bradley_terry"] = [asdict(row) for row in fit_bradley_terry(played)]
        except SettingsError as error:
            report["problem"] = str(error)
    return report


def grade_by_baseline(name: Baseline, items: Sequence[GradingItem], embedder: EmbedderSettings) -> RaterGrades:
    """Returns a column of *items*' grades by the metric *name*; all but ``length`` compare an item with its source."""
    started = time.monotonic()
    metric: Metric
    if name == "bertscore":
        from gre_bench.lm.embedders import open_embedder
        from gre_bench.metrics.bertscore import BertScore

        metric = BertScore(open_embedder(embedder), name)
    else:
        metric = OverlapMetric(load_measure(METRICS[name]), name)
    scores = metric.score([Case(item.item_id, "text", "source", "review", item.text, item.source) for item in items])
    grades = tuple(Grade(item.item_id, score.value, score.problem) for item, score in zip(items, scores, strict=True))
    different = len({grade.value for grade in grades if grade.value is not None})
    by = embedder.backend if name == "bertscore" else ""
    seconds = time.monotonic() - started
    return RaterGrades(name, by, "baseline", grades, before=different, after=different, seconds=seconds, usd=0.0)


def obtain_instructions(
    settings: StudySettings, writer_context: WriterContext, kind: ItemKind
) -> tuple[dict[str, str], dict[str, Problem]]:
    """Lets LMs write instructions for the examiners that *settings* list as ``generated`` (Kotonya et al. 2023, §3.2).

    Returns examiner → written instructions, and examiner → problem if no usable instructions were written.
    """
    written: dict[str, str] = {}
    unsound: dict[str, Problem] = {}
    for name, generated in settings.generated.items():
        own = generated.instructions
        chat = build_improvement_chat(own, generated.phrase) if own else build_instruction_chat(kind)
        reply = steps.write_instructions(generated.model, writer_context, chat).read
        if isinstance(reply, Problem):
            unsound[name] = replace(reply, code=f"instructions_{reply.code}")
        else:
            written[name] = reply
    return written, unsound


def build_problem_columns(
    models: Sequence[str], items: Sequence[GradingItem], unsound: Mapping[str, Problem]
) -> list[RaterGrades]:
    """Returns a column of problems, instead of grades, for each LM and each examiner without usable instructions.

    *unsound*: examiner → why it has no instructions.
    """
    return [
        RaterGrades(name, model, "examiner", tuple(Grade(item.item_id, None, problem) for item in items))
        for name, problem in unsound.items()
        for model in models
    ]
