"""All settings of a run, read once from one TOML file and ``--set key=value``.

Secrets are never settings: they come from the environment or from Prefect Secret blocks.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import DEFAULT
from gre_bench.core.judgments import Form
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.metrics import METRICS
from gre_bench.core.pretrained import resolve_model_ref
from gre_bench.core.records import NAME, Edition
from gre_bench.core.resources import find_settings_file, list_settings_names
from gre_bench.core.rosters import find_roster_file, load_roster_tree, merge_settings
from gre_bench.core.urls import normalise_base_url

_MODELS = (("evaluation_lm", "folder"), ("embedder", "folder"))
"""The settings (group, setting) whose value is a path or the name of a pretrained model."""
_LOGIN = r"^(?:env:[A-Za-z_][A-Za-z0-9_]*|block:[a-z0-9][a-z0-9-]*)$"
_SECRETS = ("username", "password", "token", "mfa_code", "totp_secret")


INSTEAD = {
    "edition.avoid_learnt": "use edition.avoid_trained_on",
    "validation.changes": "use validation.perturbations",
    "evaluation_lm.max_tokens": "a conversation is as long as the model or its server takes",
    "fetch.backoff_s": "the second try comes after 2 s; fetch.attempts says how many there are",
    "fetch.everything": "for all papers that can be in a sample, draw them all: edition.papers=1000000",
    "release.sign": "sign the file SHA256SUMS of the release with minisign, cosign or gpg",
    "scoring.chance_seed": "the reviews that are exchanged for chance are chosen by seed 0",
}
"""Removed setting → what to use instead."""
LICENCE = r"[!-+\--~](?:[ -+\--~]{0,98}[!-+\--~])?"
"""The form of a licence's name: up to 100 printable ASCII characters without a comma."""


def _field(default: Any, description: str, **limits: Any) -> Any:
    return Field(default=default, description=description, **limits)


class _SettingsGroup(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True):
    @model_validator(mode="before")
    @classmethod
    def _wrap_single_texts(cls, tree: Any) -> Any:
        """Wraps a text in a list where a list of texts is expected, as in ``scoring.metrics = "gem"``."""
        if not isinstance(tree, dict):
            return tree
        lists = {name for name, field in cls.model_fields.items() if "tuple[str, ..." in str(field.annotation)}
        return {name: [value] if name in lists and isinstance(value, str) else value for name, value in tree.items()}


class EditionSettings(_SettingsGroup, frozen=True):
    """The papers that are scored: a venue-year, and a sample of its papers. Once drawn, a sample never changes."""

    venue: str = _field("SAMPLE", "venue name, such as ICLR", pattern=NAME)
    year: int = _field(2026, "year of the venue", ge=1990, le=2100)
    sample: str = _field("main", "name of the sample of papers", pattern=NAME)
    domain: str = _field("peer-review", "kind of reviewed items; see data/domains.toml", pattern=r"^[a-z][a-z0-9-]*$")
    papers: int = _field(300, "papers to draw; all eligible ones if there are fewer", ge=2, le=1_000_000)
    seed: int = _field(0, "seed of the sample, and of the choice of human candidate and references", ge=0, le=2**31 - 1)
    only: Path | None = _field(None, "file of paper ids, one per line, from which the sample is drawn")
    not_human: Path | None = _field(
        None, "file of review ids, one per line, that are neither references nor the human candidate"
    )
    avoid_trained_on: tuple[str, ...] = _field(
        (),
        "draw no paper that these were learnt from: cache-ngram-3, gem-smollm2-2, rule-judgments-4, or folders with a "
        "learnt_from.txt",
    )
    references: Annotated[int, Field(ge=1, le=100)] | Literal["all"] = _field(
        2,
        "human reviews of a paper that candidates are scored against; all: models against every one, the human "
        "candidate against all others",
    )
    min_reviews: int | None = _field(
        None,
        "human reviews a paper needs to be eligible; default: references + 1; all: 3. all with 1: a paper with one "
        "human review has it as reference, and no human candidate",
        ge=1,
    )
    roles: Literal["seeded", "slots"] = _field("seeded", "how the human candidate and references are chosen")
    candidate_slot: int = _field(2, "with roles = slots: the human candidate's slot", ge=0, le=1000)
    reference_slots: tuple[int, ...] = _field((1, 3), "with roles = slots: the slots of the references", min_length=1)

    @field_validator("reference_slots")
    @classmethod
    def _check_slots_differ(cls, slots: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        distinct = len({*slots, info.data.get("candidate_slot")}) == len(slots) + 1
        if not distinct or not all(0 <= slot <= 1000 for slot in slots):
            raise ValueError("slots must differ from one another and from candidate_slot, and lie in 0 to 1000")
        return slots

    @model_validator(mode="after")
    def _check_references(self) -> EditionSettings:
        if self.roles == "slots" and self.references != type(self).model_fields["references"].default:
            raise PydanticCustomError("slots", "references is for roles = seeded; name them in reference_slots")
        if self.references != "all" and self.min_reviews is not None and self.min_reviews <= self.references:
            raise PydanticCustomError(
                "few",
                "{references} references and the human candidate are {needed} reviews; min_reviews is {given}",
                {"references": self.references, "needed": self.references + 1, "given": self.min_reviews},
            )
        return self

    @property
    def effective_min_reviews(self) -> int:
        return self.min_reviews or (3 if self.references == "all" else self.references + 1)

    @property
    def likely_references(self) -> int:
        """The likely number of references per paper that the human candidate is scored against, for estimates.

        With ``references = "all"``, this is 3, because ICLR papers have 4 reviews. With ``min_reviews = 1`` too, this
        is 0: such venues have one review per paper, which is the reference, so there is no human candidate.
        """
        if self.references != "all":
            return self.references
        return 0 if self.effective_min_reviews == 1 else 3

    def estimate_pairs_per_paper(self, others: int) -> int:
        """Returns the likely number of pairs per paper and metric.

        *others*: the number of candidates in addition to the human candidate.
        """
        return self.likely_references + others * (self.likely_references + (self.references == "all"))

    @property
    def edition(self) -> Edition:
        return Edition(self.venue, self.year, self.sample)


class SourceSettings(_SettingsGroup, frozen=True):
    """The files that `refresh` imports before it scores. Importing the same file again changes nothing."""

    papers: Path | None = _field(None, "papers to import (.jsonl, .csv or .parquet)")
    reviews: Path | None = _field(None, "reviews to import (.jsonl, .csv or .parquet)")
    reviews_by: str | None = _field(
        None, "candidate who wrote the reviews, if the file has no candidate column; human: humans"
    )
    writer: str | None = _field(None, "writer of the judgments, if the file has no writer column")
    rows: str | None = _field(None, "FIRST:END: only rows with FIRST <= row < END", pattern=r"^\d+:\d+$")
    licence: str | None = _field(
        None,
        "licence of the texts in papers and reviews, such as CC BY 4.0; default: unknown, so releases withhold them. "
        "Notes state their own",
        pattern=rf"^{LICENCE}$",
    )
    papers_from_reviews: bool = _field(False, "make a bare paper for each unknown paper id in the reviews")
    notes: Path | None = _field(None, "OpenReview notes to import (.jsonl or .jsonl.gz, API v1 or v2)")
    pdfs: Path | None = _field(None, "folder of the papers' PDFs, <paper id>.pdf, kept with the notes")
    texts: Path | None = _field(None, "papers' texts (.parquet, .csv, .jsonl) for papers without a PDF")
    snapshot: Path | None = _field(None, "fetched snapshot, or a folder of snapshots, instead of notes and pdfs")
    unverified_venue: bool | Literal["confirm"] = _field(
        False, "accept a venue-year with an unverified form of notes; confirm: only if the form is as expected"
    )


class FetchSettings(_SettingsGroup, frozen=True):
    """How the notes and PDFs of a venue-year are fetched from OpenReview."""

    host: str | None = _field(None, "host to use instead of the venue's", pattern=r"^https?://[^/]+$")
    login: str = _field(
        "env:OPENREVIEW",
        "where the secrets of the login are: env:NAME, for the variables NAME_USERNAME, NAME_PASSWORD, NAME_TOKEN, "
        "NAME_MFA_CODE and NAME_TOTP_SECRET; block:NAME, for the Prefect Secret blocks NAME-username and so on",
        pattern=_LOGIN,
    )
    when_paused: Literal["wait", "exit"] = _field(
        "wait", "what to do when the service allows no more requests: wait, or end the command"
    )
    timeout_s: float = _field(
        60.0, "seconds between bytes of an answer; a connection has 10 at most, an answer 15 times as many", gt=0
    )
    attempts: int = _field(5, "tries of a request whose fault may pass", ge=1, le=20)
    page: int = _field(1000, "submissions per request, with their replies", ge=1, le=1000)
    pdf_batch: int = _field(25, "PDFs per request, under API v2", ge=1, le=50)
    histories: bool = _field(True, "fetch earlier versions of notes that changed after the rebuttal opened")
    short_listing: bool = _field(False, "accept a listing that is shorter than the service's count, with a warning")

    @field_validator("host")
    @classmethod
    def _check_host(cls, host: str | None) -> str | None:
        return None if host is None else normalise_base_url(host)

    @property
    def secrets(self) -> dict[str, str]:
        """Secret of the login, such as ``totp_secret`` → where it is stored.

        An example of such a place is ``env:OPENREVIEW_TOTP_SECRET`` or ``block:openreview-totp-secret``.
        """
        if self.login.startswith("env:"):
            return {name: f"{self.login}_{name.upper()}" for name in _SECRETS}
        return {name: f"{self.login}-{name.replace('_', '-')}" for name in _SECRETS}


class WritingSettings(_SettingsGroup, frozen=True):
    """Writers of the texts that scores are computed from: ``rule`` (uses no LM), or a model of the models file."""

    judgments: str | None = _field(None, "writer of the judgments of all reviews; none: only imported judgments")
    assw: str = _field("rule", "writer of the author-stated strengths and weaknesses (gem_s_assw)")
    candidates: tuple[str, ...] = _field((), "reviewers: extractive-full, extractive-abstract, or models")
    models: Path | None = _field(None, "models file; default: data/models.toml")
    sampling: dict[str, dict[str, float | int | str]] = _field(
        {}, "sampling by model, instead of that in the models file"
    )
    licence: str | None = _field(
        None,
        "licence under which you give out the reviews that models write for this edition, such as CC BY 4.0; "
        "default: unknown, so releases withhold them",
        pattern=rf"^{LICENCE}$",
    )
    chunk: int = _field(32, "texts requested and committed together", ge=1)
    over_long: Literal["refuse", "truncate"] = _field(
        "refuse", "what to do with a paper that does not fit an LM's context: skip it, or cut its last sections"
    )


class EvaluationLMSettings(_SettingsGroup, frozen=True):
    """The LM from whose log-probabilities the scores are computed."""

    backend: str = _field("cache-ngram", "kind of evaluation LM")
    folder: Path | None = _field(
        None, "folder, name of models list, or OWNER/NAME@COMMIT of the Hub; cache-ngram and gem-smollm2 need none"
    )
    device: Literal["auto", "cpu", "cuda"] = _field("auto", "device of a transformers model")
    dtype: Literal["float32", "bfloat16", "float16"] = _field(
        "float32", "dtype of a transformers model; for gem-smollm2 bfloat16, which moves single scores by a nat"
    )
    attention: Literal["sdpa", "eager"] = _field("sdpa", "attention of a transformers model")
    engine: Literal["trie", "batches", "one-by-one"] = _field(
        "trie", "engine of a transformers model: shared tokens once, padded batches, or one text at a time"
    )
    token_budget: int | None = _field(None, "tokens of one forward pass (trie, batches); default: by device", ge=64)
    endpoint: str = _field("http://127.0.0.1:8000", "vllm: URL of the server")
    served_model: str | None = _field(None, "vllm: name of the served model; default: the only one")
    revision: str | None = _field(None, "vllm: the model's commit, if folder holds no weights", min_length=1)
    quantisation: str = _field("none", "none, nf4 or nf4-double; vllm: that of the served model", min_length=1)
    parallel: int = _field(16, "vllm: requests in flight", ge=1, le=1024)
    key_env: str | None = _field(None, "vllm: environment variable with the server's key", pattern=r"^[A-Z][A-Z0-9_]*$")

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, endpoint: str) -> str:
        return normalise_base_url(endpoint)

    @property
    def runs_in_server(self) -> bool:
        """Whether the evaluation LM runs in a server process, which several threads can use at once."""
        return self.backend == "vllm"


class EmbedderSettings(_SettingsGroup, frozen=True):
    """The embedder of sentences or tokens for BERTScore."""

    backend: str = _field("hashed-ngrams", "kind of embedder: hashed-ngrams or sentence-transformers")
    folder: Path | None = _field(None, "sentence-transformers: model folder, or a name from gre-bench models list")


class ScoringSettings(_SettingsGroup, frozen=True):
    """What is scored, and how the texts are read (Xu et al. 2025, §3.2 and C.2)."""

    metrics: tuple[str, ...] = _field(
        ("gem", "gem_s_abstract", "gem_raw"), "metrics; examiner.NAME for one of examiners", min_length=1
    )
    chance: bool = _field(True, "also score each candidate's reviews of other papers, for the score above chance")
    candidates: tuple[str, ...] | None = _field(None, "candidates; default: all known ones")
    writer: str | None = _field(None, "writer of the judgments to score; needed if there are several")
    form: Form = _field("as_written", "judgments unchanged, or stray lines dropped")
    ascii_fold: bool = _field(False, "fold all texts to ASCII, as the authors of GEM do")
    authors_compat: bool = _field(False, "gem_raw: leave the marginal's text uncut, as the authors do")
    beyond: tuple[str, ...] = _field((), "gem_s_beyond: the candidate whose reviews come first; several: a committee")
    prompt: str = _field(
        "predict_judgments", "prompt of the predictions; default: the domain's", pattern=r"^[a-z0-9_]+$"
    )
    synopsis_of: tuple[Literal["title", "abstract", "categories"], ...] = _field(
        ("abstract",), "parts of an item that make its synopsis; default: the domain's", min_length=1
    )
    examiner: str | None = _field(None, "model of the models file that grades, for lm_examiner and examiners")
    examiners: dict[str, dict[str, Any]] = _field(
        {}, "examiners by name, each with its template, granularity, aggregation, ..."
    )

    @property
    def metrics_and_specific_forms(self) -> tuple[str, ...]:
        """The metrics to compute: *metrics* and, if *chance* is true, the specific form of each metric that has one."""
        forms = [f"{name}_specific" for name in self.metrics if f"{name}_specific" in METRICS]
        return tuple(dict.fromkeys((*self.metrics, *(forms if self.chance else ()))))

    @field_validator("beyond", mode="before")
    @classmethod
    def _wrap_single_name(cls, beyond: object) -> object:
        return (beyond,) if isinstance(beyond, str) else beyond

    @model_validator(mode="after")
    def _check_beyond_reviewers(self) -> ScoringSettings:
        if not self.beyond and any(name.startswith("gem_s_beyond") for name in self.metrics):
            raise ValueError("gem_s_beyond needs the name of a reviewer: --set scoring.beyond=NAME")
        if "human" in self.beyond and len(self.beyond) > 1:
            raise ValueError("beyond names human with others; name human alone, for another human review of the paper")
        return self

    @model_validator(mode="after")
    def _check_metrics(self) -> ScoringSettings:
        for name in self.metrics:
            examiners = [f"examiner.{examiner}" for examiner in self.examiners]
            if name not in examiners and name not in METRICS:
                known = suggest_known_names(name, (*METRICS, *examiners))
                missing = "is the package that has it missing? " if known.startswith("known") else ""
                raise ValueError(f"no metric {name!r}; {missing}{known}")
        return self


class ValidationSettings(_SettingsGroup, frozen=True):
    """How a metric is validated: which perturbations of human reviews, by which writers, and what counts as passing."""

    perturbations: tuple[str, ...] | None = _field(None, "perturbations of reviews; default: all that the level allows")
    level: Literal["review", "judgments"] = _field(
        "review", "what to change: reviews (their judgments are then written again), or judgments"
    )
    makers: dict[Literal["completion", "abstract_only", "rephrase_1", "rephrase_2", "elongation"], str] = _field(
        {}, "writers that make changes, by change; default: rule, and rule-2 for rephrase_2"
    )
    splitter: Literal["authors", "linguistic"] = _field("authors", "how reviews are split into sentences")
    headings: tuple[str, ...] | None = _field(None, "headings of the reviews; default: the venue's")
    degrees: tuple[int, ...] = _field(
        tuple(range(10, 101, 10)), "degrees of each harm of a certificate in percent: multiples of 10, rising"
    )
    seed: int = _field(0, "seed of random choices in changes, and of the bootstrap", ge=0, le=2**31 - 1)
    resamples: int = _field(10_000, "resamples of the bootstrap by paper", ge=200, le=1_000_000)
    together_with: tuple[str, ...] = _field(
        (), "further editions in the state whose pairs count too, such as ICLR-2023"
    )

    @field_validator("degrees")
    @classmethod
    def _check_degrees(cls, degrees: tuple[int, ...]) -> tuple[int, ...]:
        if not degrees or list(degrees) != sorted({*degrees} & {*range(10, 101, 10)}):
            raise ValueError("name multiples of 10, from 10 to 100, each once and rising")
        return degrees


class BoardSettings(_SettingsGroup, frozen=True):
    """How a board is laid out. These settings do not affect scores."""

    groups: dict[str, tuple[str, ...]] = _field(
        {}, "groups of candidates, each ranked separately: names or patterns such as lab/*"
    )
    notes: dict[str, str] = _field({}, "note that readers see beside a candidate, by its name")
    headline: str | None = _field(None, "metric that the board shows first; default: the first that is validated")
    contrasts: Path | None = _field(
        None, "file of contrasts fixed before the scores; a release publishes them and its digest"
    )

    @field_validator("headline")
    @classmethod
    def _check_headline(cls, name: str | None) -> str | None:
        if name is not None and not name.startswith("examiner.") and name not in METRICS:
            raise ValueError(f"no metric {name!r}; {suggest_known_names(name, METRICS)}")
        return name


class RunSettings(_SettingsGroup, frozen=True):
    """How the work is divided and scheduled. These settings do not affect scores."""

    chunk_papers: int = _field(8, "papers scored and committed together", ge=1)
    read_copy_every_s: float = _field(20.0, "seconds between two copies for readers", ge=0)
    runner: Literal["here", "threads", "processes", "ray"] = _field(
        "here", "what runs the evaluation LM; threads: several papers at a time, for an LM behind HTTP"
    )
    workers: int = _field(2, "number of threads, or of processes or Ray workers with an LM each", ge=1, le=4096)
    gpus_per_worker: float = _field(0.0, "ray: GPUs per worker", ge=0, le=64)
    ray_address: str | None = _field(
        None, "ray: address of the cluster; default: one started on this machine", pattern=r"^[^@\s]+$"
    )


class QuerySettings(_SettingsGroup, frozen=True):
    """The limits of one query of ``gre-bench sql``. They do not affect scores. One MB is 1,000,000 bytes."""

    seconds: float = _field(60.0, "seconds after which a query is stopped", gt=0, le=86_400)
    memory: int = _field(2_000, "memory of a query in MB", ge=100)
    spill: int = _field(4_000, "disk space in MB for data beyond that memory; 0: none", ge=0)
    result: int = _field(100, "size of a query's result as text, in MB", ge=1)


class ImportLimitSettings(_SettingsGroup, frozen=True):
    """The limits for each imported file: tables, notes, logs, snapshots. They do not affect scores."""

    memory: int = _field(int(DEFAULT.memory), "memory in MB that the contents of one file may take", ge=1_000)
    seconds: float = _field(DEFAULT.seconds, "seconds to read one file", gt=0, le=86_400)


class ReleaseSettings(_SettingsGroup, frozen=True):
    """What ``gre-bench year`` does with the boards of metrics that failed validation or were not validated."""

    unvalidated: Literal["hide", "show", "refuse"] = _field(
        "hide",
        "if a metric failed validation with this evaluation LM and writer, or was not validated: publish without its "
        "board, publish its board with the verdict, or publish nothing",
    )


class Bounds(_SettingsGroup, frozen=True):
    """Spending limits. A limit that is not set does not apply."""

    requests: int | None = _field(None, "requests to LMs; 0: use only archived replies", ge=0)
    prompt_tokens: int | None = _field(None, "tokens that LMs read", ge=1)
    reply_tokens: int | None = _field(None, "tokens that LMs write, thinking included", ge=1)
    usd: float | None = _field(None, "USD, at the prices of the models file", gt=0)
    hours: float | None = _field(None, "hours of work: of all runs, or of requests to one model", gt=0)


class BudgetSettings(Bounds, frozen=True):
    """Spending limits: for all runs of an edition or study together, and for single models. A run pauses at a limit."""

    models: dict[str, Bounds] = _field({}, "limits for single models of the models file")


class Settings(_SettingsGroup, frozen=True):
    """All settings of a run, in groups; each field here is a table of the settings file, except *roster*."""

    edition: EditionSettings = Field(default_factory=EditionSettings)
    sources: SourceSettings = Field(default_factory=SourceSettings)
    fetch: FetchSettings = Field(default_factory=FetchSettings)
    writing: WritingSettings = Field(default_factory=WritingSettings)
    evaluation_lm: EvaluationLMSettings = Field(default_factory=EvaluationLMSettings)
    embedder: EmbedderSettings = Field(default_factory=EmbedderSettings)
    scoring: ScoringSettings = Field(default_factory=ScoringSettings)
    validation: ValidationSettings = Field(default_factory=ValidationSettings)
    board: BoardSettings = Field(default_factory=BoardSettings)
    run: RunSettings = Field(default_factory=RunSettings)
    query: QuerySettings = Field(default_factory=QuerySettings)
    inputs: ImportLimitSettings = Field(default_factory=ImportLimitSettings)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    release: ReleaseSettings = Field(default_factory=ReleaseSettings)
    roster: str | None = _field(None, "roster whose settings are used; settings in this file override it", min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _expand_roster(cls, tree: Any) -> Any:
        """Replaces a roster's name by the roster's settings, so that recorded settings need no roster file."""
        named = tree.get("roster") if isinstance(tree, dict) else None
        return (
            merge_settings(_load_roster_with_absolute_paths(named, Path.cwd()), tree | {"roster": None})
            if isinstance(named, str)
            else tree
        )

    @field_validator("scoring")
    @classmethod
    def _check_no_metric_twice(cls, scoring: ScoringSettings) -> ScoringSettings:
        if len(set(scoring.metrics)) != len(scoring.metrics):
            raise ValueError("scoring.metrics names a metric twice")
        return scoring


_PATHS = {
    (group, name)
    for group, of_group in Settings.model_fields.items()
    if isinstance(kind := of_group.annotation, type) and issubclass(kind, BaseModel)
    for name, setting in kind.model_fields.items()
    if Path in (setting.annotation, *get_args(setting.annotation))
}


def load(path: Path | None, overrides: tuple[str, ...] = ()) -> Settings:
    """Returns the settings of the TOML file *path*, with *overrides* such as ``edition.papers=20``.

    *path*: a file, or the name of a shipped file in ``deployments/``, such as ``demo``; None: the defaults. A relative
    path in the file starts from the file's folder, and in an override from the current folder. Raises `SettingsError`
    for a missing file or an invalid setting.
    """
    tree = _read_settings_file(path) if path else {}
    for override in overrides:
        _apply_override(tree, override)
    return parse_settings(tree, str(path) if path else "settings")


def load_recorded_settings(tree: dict[str, Any], overrides: tuple[str, ...] = ()) -> Settings:
    """Returns the settings in *tree* (group → setting → value), which an earlier run recorded, with *overrides*.

    If ``sources.snapshot`` is overridden, the recorded ``sources.notes``, ``pdfs`` and ``texts`` are dropped, and vice
    versa. Settings that this version does not have are ignored, because another version may have recorded them. Raises
    `SettingsError` for an invalid setting.
    """
    tree = {
        group: _drop_unknown_settings(group, values) for group, values in tree.items() if group in Settings.model_fields
    }
    overridden = {text.partition("=")[0] for text in overrides}
    files, snapshot = {"sources.notes", "sources.pdfs", "sources.texts"}, {"sources.snapshot"}
    replaced = (files if overridden & snapshot else set()) | (snapshot if overridden & files else set())
    sources = tree.get("sources", {}).items()
    kept = {name: value for name, value in sources if f"sources.{name}" not in replaced - overridden}
    tree = tree | {"sources": kept}
    for override in overrides:
        _apply_override(tree, override)
    return parse_settings(tree)


def _drop_unknown_settings(group: str, values: Any) -> Any:
    kind = Settings.model_fields[group].annotation
    if not (isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(values, dict)):
        return values
    return {name: value for name, value in values.items() if name in kind.model_fields}


# For commands that read no settings file: the settings of one group, changed only by overrides of that group.


def load_budget_settings(given: BudgetSettings, overrides: tuple[str, ...]) -> BudgetSettings:
    tree = {"budget": given.model_dump(exclude_unset=True)}
    return _parse_settings_of_one_group(tree, overrides, "limits", "budget.usd=5").budget


def load_query_settings(overrides: tuple[str, ...]) -> QuerySettings:
    return _parse_settings_of_one_group({}, overrides, "limits", "query.seconds=600").query


def load_import_limit_settings(overrides: tuple[str, ...]) -> ImportLimitSettings:
    return _parse_settings_of_one_group({}, overrides, "limits", "inputs.memory=8000").inputs


def load_evaluation_lm_settings(overrides: tuple[str, ...]) -> EvaluationLMSettings:
    return _parse_settings_of_one_group({}, overrides, "the LM", "evaluation_lm.dtype=bfloat16").evaluation_lm


def parse_settings(tree: dict[str, Any], origin: str = "settings") -> Settings:
    """Returns the settings in *tree* (group → setting → value). *origin*: their source, for error messages."""
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise SettingsError(
            f"{origin}: " + "; ".join(_describe_setting_error(item) for item in error.errors())
        ) from None


def _read_settings_file(path: Path) -> dict[str, Any]:
    path = find_settings_file(path)
    try:
        tree = strict.read_toml(path)
    except (FileNotFoundError, NotADirectoryError):
        known = suggest_known_names(str(path), list_settings_names())
        raise SettingsError(f"no settings file {path}; {known}") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"settings file {path} cannot be read: {error}") from None
    folder = path.resolve().parent
    if isinstance(tree.get("roster"), str) and tree["roster"].endswith(".toml"):
        tree["roster"] = str((folder / tree["roster"]).resolve())
    return _make_paths_absolute(tree, folder)


def _make_paths_absolute(tree: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Makes the relative paths in *tree* absolute, starting from *folder*, and returns *tree*."""
    for group, key in _PATHS:
        value = tree.get(group, {}).get(key) if isinstance(tree.get(group, {}), dict) else None
        if isinstance(value, str):
            tree[group][key] = _make_path_absolute((group, key), value, folder)
    return tree


def _load_roster_with_absolute_paths(name: str, beside: Path) -> dict[str, Any]:
    """Returns the settings of the roster *name* with absolute paths. *name*, *beside*: see `find_roster_file`."""
    file = find_roster_file(name, beside).resolve()
    return _make_paths_absolute(load_roster_tree(file), file.parent)


def _parse_settings_of_one_group(tree: dict[str, Any], overrides: tuple[str, ...], what: str, example: str) -> Settings:
    """Returns the settings in *tree*, changed by *overrides*, which must belong to the same group as *example*.

    *what*: what the error message calls the settings of that group.
    """
    for override in overrides:
        if not override.startswith(example.partition(".")[0] + "."):
            raise SettingsError(f"--set {override}: only {what} can be set here, such as {example}")
        _apply_override(tree, override)
    return parse_settings(tree)


def _apply_override(tree: dict[str, Any], override: str) -> None:
    key, sign, value = override.partition("=")
    if key.strip() == "roster" and value:
        tree |= merge_settings(tree, _load_roster_with_absolute_paths(value, Path.cwd()))
        return
    parts = key.strip().split(".")
    if parts[:2] == ["budget", "models"] and len(parts) > 3:
        # A model's name may contain dots.
        parts = [*parts[:2], ".".join(parts[2:-1]).strip('"'), parts[-1]]
    if not sign or len(parts) != (4 if parts[:2] == ["budget", "models"] and len(parts) > 2 else 2):
        raise SettingsError(f"--set {override}: write it as group.key=value, such as edition.papers=20")
    group = tree
    for part in parts[:-1]:
        group = group.setdefault(part, {})
        if not isinstance(group, dict):
            raise SettingsError(f"--set {override}: {part} is not a group of settings")
    setting = parts[0], parts[1]
    if setting in _PATHS:
        group[parts[-1]] = _make_path_absolute(setting, value, Path.cwd()) if value.strip() else None
        return
    try:
        group[parts[-1]] = strict.load_toml(f"value = {value}")["value"]
    except strict.TOMLDecodeError:  # it is a text
        group[parts[-1]] = value


def _make_path_absolute(setting: tuple[str, str], value: str, beside: Path) -> str:
    """Returns the path *value* as an absolute path; a relative path starts from the folder *beside*.

    The name of a pretrained model is returned unchanged, so that recorded settings work on every machine.
    """
    if "\0" in value:
        raise SettingsError(f"setting {'.'.join(setting)}: a path holds no NUL")
    return str(resolve_model_ref(value, beside) if setting in _MODELS else (beside / value).resolve())


def _describe_setting_error(error: Mapping[str, Any]) -> str:
    setting = ".".join(str(part) for part in error["loc"])
    if error["type"] != "extra_forbidden":
        return f"setting {setting}: {error['msg'].removeprefix('Value error, ')}"
    if setting in INSTEAD:
        return f"setting {setting} is gone; {INSTEAD[setting]}"
    group: type[BaseModel] = Settings
    if error["loc"][:-1]:
        # Below a group, only the bounds of one model are nested.
        stated = Settings.model_fields[str(error["loc"][0])].annotation
        group = stated if len(error["loc"]) == 2 and isinstance(stated, type) else Bounds
    near = difflib.get_close_matches(str(error["loc"][-1]), group.model_fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(group.model_fields)}"
    return f"unknown setting {setting}; {hint}"
