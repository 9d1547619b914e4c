"""The data types of the benchmark, all immutable.

Every score belongs to a `Case`: (paper, candidate, reference). A score has a `Signature`, and a missing score has a
`Problem`. Nothing here reads or writes files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol

from gre_bench.core.errors import SettingsError

CandidateKind = Literal["human", "model", "control", "change", "graded"]
SynopsisKind = Literal["none", "abstract", "assw", "categories", "paper", "beyond"]
Source = Literal["judgments", "review"]

HUMAN = "human"
"""Name of the human baseline among the candidates."""

FIXED_WRITER = "fixed"
"""The writer's name for the judgments of the control ``generic``, which are the same for every paper."""

NAME = r"^[A-Za-z0-9][A-Za-z0-9._]{0,63}$"
"""The form of the name of a venue or a sample."""

NO_REFERENCE = "none"
"""The reference id in pairs of a metric that needs no reference."""


def digest(value: object) -> str:
    """Returns the SHA-256 (64 hex digits) of *value* as JSON with sorted keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Edition:
    """A year of a venue, and one named sample of its papers."""

    venue: str
    year: int
    sample: str = "main"

    @property
    def key(self) -> str:
        """The edition's name: ``ICLR-2025``, or ``ICLR-2025-pilot`` for a sample that is not the main one."""
        key = f"{self.venue}-{self.year}"
        return key if self.sample == "main" else f"{key}-{self.sample}"

    @property
    def overrides(self) -> tuple[str, ...]:
        """The settings that select this edition, each as a text ``key=value`` for --set."""
        return f'edition.venue="{self.venue}"', f"edition.year={self.year}", f'edition.sample="{self.sample}"'


def parse_edition_key(key: str) -> Edition:
    """Returns the edition with the name *key*; ``ICLR-2025-main`` and ``ICLR-2025`` are the same edition.

    The sample is ``main`` if the name states none. Raises `SettingsError` for a name of another form.
    """
    venue, _, rest = key.partition("-")
    year, _, sample = rest.partition("-")
    if not (re.fullmatch(NAME, venue) and re.fullmatch(r"\d{4}", year) and re.fullmatch(NAME, sample or "main")):
        raise SettingsError(f"edition {key!r} is not written as VENUE-YEAR or VENUE-YEAR-SAMPLE, such as ICLR-2025")
    return Edition(venue, int(year), sample or "main")


@dataclass(frozen=True, slots=True)
class Paper:
    """A submitted paper.

    *text*: its body without references and appendices. *source_row*: the number of its row in the imported file.
    """

    paper_id: str
    title: str = ""
    abstract: str | None = None
    text: str | None = None
    source_row: int | None = None

    @property
    def whole(self) -> str:
        """The text of the paper that LMs read: title, abstract, body."""
        abstract = f"Abstract\n\n{self.abstract}" if self.abstract else None
        return "\n\n".join(part for part in (self.title, abstract, self.text) if part)


@dataclass(frozen=True, slots=True)
class Review:
    """One review of one paper, by `HUMAN` or a candidate.

    *slot*: its number among the paper's human reviews, if the source numbers them. *rating*: the reviewer's rating of
    the paper. *grade*: a grade that somebody gave to the review.
    """

    review_id: str
    paper_id: str
    candidate: str
    text: str | None
    slot: int | None = None
    rating: float | None = None
    grade: float | None = None


@dataclass(frozen=True, slots=True)
class Judgments:
    """A review rewritten as judgments; *text* is exactly what the writer returned, normally one judgment per line."""

    review_id: str
    writer: str
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An author whose reviews are scored. Fields that do not apply are None.

    *change*: for a control, how its reviews are made; for perturbed human reviews, the name of the perturbation.
    """

    candidate_id: str
    kind: CandidateKind
    model: str | None = None
    prompt: str | None = None
    guideline: str | None = None
    change: str | None = None


@dataclass(frozen=True, slots=True)
class Synopsis:
    """A text about a paper that the evaluation LM reads in addition to the reviews (GEM-S)."""

    paper_id: str
    kind: SynopsisKind
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One pair to score: a candidate's review of a paper, and a reference for the same paper.

    *synopsis*: None if the metric reads no synopsis.
    *moved*: the candidate's review of another paper; the specific form subtracts its score. None for other metrics.
    """

    paper_id: str
    candidate_id: str
    reference_id: str
    source: Source
    candidate: str
    reference: str
    synopsis: str | None = None
    moved: str | None = None

    @property
    def name(self) -> str:
        """The pair's name in messages: its paper, candidate and reference."""
        return f"paper {self.paper_id}, candidate {self.candidate_id}, reference {self.reference_id}"


_MACHINE_PART = re.compile(r", (?:\d+ tokens|one text) on [a-z]+$|\+unicode-[\d.]+$")
"""The end of `Signature.engine_version`, which states how the work was divided, the device, and the Unicode tables."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that a score depends on except its texts. Scores of different signatures are never mixed.

    A field that does not apply is ``none``.
    *lm_digest*: digest of the evaluation LM's files. *template_digest*: digest of its chat template.
    *form*: whether lines that are not judgments are kept or dropped; ``original`` for reviews as written.
    *text_cut*: how reviews as written are truncated.
    *engine_version*: version of the code that computes log-probabilities.
    *chance*: for a specific form, the rule and seed that choose the review of another paper.
    """

    metric: str
    prompt_sha256: str
    evaluation_lm: str
    lm_digest: str
    dtype: str
    quantisation: str
    attention: str
    template_digest: str
    writer: str
    synopsis_writer: str
    form: str
    text_cut: str
    ascii_fold: bool
    engine_version: str
    chance: str = "none"

    @property
    def signature_id(self) -> str:
        """The signature's id: the first 16 hex digits of the SHA-256 of all fields."""
        return _compute_signature_id(self)

    @property
    def validation_signature(self) -> Signature:
        """This signature without the parts that only affect rounding; signatures that are then equal share validations.

        Left out are the precision of the evaluation LM's weights and the end of *engine_version*: how the work was
        divided, the device, and Python's Unicode tables.
        """
        engine = _MACHINE_PART.sub("", self.engine_version)
        return self if self.evaluation_lm == "none" else replace(self, dtype="any", engine_version=engine)


def build_signature_from_row(row: Mapping[str, Any]) -> Signature:
    """Returns the signature in *row*, a database row whose columns are the signature's fields, and perhaps its id."""
    fields: dict[str, Any] = {name: value for name, value in row.items() if name != "signature_id"}
    fields["chance"] = row.get("chance") or "none"
    return Signature(**fields)


@cache
def _compute_signature_id(signature: Signature) -> str:
    fields = asdict(signature)
    if signature.chance == "none":
        # Signatures from before this field keep their ids.
        del fields["chance"]
    return digest(fields)[:16]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a pair has no score.

    *code*: the reason as one word, such as ``empty_text``. *message*: the reason in words.
    *final*: whether a retry is useless; if False, the next run retries.
    *broken*: whether the model that computes scores is itself faulty; a run then reports a fault.
    """

    code: str
    message: str
    final: bool = True
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one pair, or the problem that prevented it. Exactly one of *value* and *problem* is set.

    *value*: the score in the metric's unit, which is nats for metrics computed from log-probabilities.
    *predictions*: ids of the evaluation LM's predictions that the score was computed from.
    """

    signature_id: str
    paper_id: str
    candidate_id: str
    reference_id: str
    value: float | None
    problem: Problem | None = None
    predictions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.value is None) == (self.problem is None):
            raise ValueError(f"a score has a value or a problem, not both or neither: {self}")


def make_score(signature_id: str, case: Case, result: float | Problem, predictions: tuple[str, ...] = ()) -> Score:
    """Returns the `Score` of *case*; the message of a problem is prefixed with the case's name."""
    ids = signature_id, case.paper_id, case.candidate_id, case.reference_id
    if isinstance(result, Problem):
        return Score(*ids, None, replace(result, message=f"{case.name}: {result.message}"))
    return Score(*ids, result, None, predictions)


def explain_missing_text(case: Case) -> Problem | None:
    """Returns the problem if *case* lacks the candidate's text or the paper's text (*synopsis*), else None."""
    if not (case.synopsis or "").strip():
        return Problem("no_paper", "there is no text of the paper to grade the review by")
    return None if case.candidate.strip() else Problem("empty_text", "the candidate's text is empty")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction: an evaluation LM reads *x* and *synopsis*, then computes the log-probability of *reply*.

    *x*: the review that the LM has read, usually the candidate's; None if it has read none.
    *synopsis*: the synopsis of the paper; None if the LM has read none.
    *prompt*: the name of the prompt that presents the three texts.
    """

    x: str | None
    synopsis: str | None
    reply: str
    prompt: str = "predict_judgments"


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of one conversation with an LM.

    *reply*: the reply whose log-probability is computed; empty if the LM writes the reply.
    """

    system: str
    user: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an LM samples its replies. A parameter that is None is left out of the request, for models that reject it."""

    temperature: float | None = 0.0
    max_tokens: int = 4000
    top_p: float | None = None
    seed: int | None = None


Outcome = Literal["ok", "refused", "empty", "cut", "rate_limited", "failed"]


@dataclass(frozen=True, slots=True)
class Completion:
    """The text that an LM wrote, without its thinking, or why there is no usable text.

    *text*: set for the outcomes ``ok`` and ``cut`` (the text before the token limit).
    *detail*: the outcome in words. *final*: whether a retry is useless.
    *model*: the model that the endpoint says it used.
    *thinking*: how many characters of thinking were removed.
    *prompt_tokens*, *reply_tokens*: the endpoint's own counts; None if it states none.
    *archived*: whether the reply came from the archive of earlier replies, so that no request was sent.
    """

    outcome: Outcome
    text: str | None
    detail: str = ""
    final: bool = True
    model: str = ""
    thinking: int = 0
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    archived: bool = False


class Writer(Protocol):
    """An LM that answers chats. `write` returns one reply for each chat, in the same order.

    *identity*: the model and its revision, for signatures; the endpoint does not matter.
    If a chat fails, its `Completion` states the reason, and the other chats are still answered. `write` raises an error
    only if the writer cannot be used at all.
    """

    @property
    def identity(self) -> str: ...

    def write(self, chats: Sequence[Chat], sampling: Sampling) -> list[Completion]: ...


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text that was requested from a writer, or the reason why there is none.

    *item*: the name of the requested text, such as a review's id. *outcome*: ``ok``, or a code for the reason. The
    other fields are copied from the `Completion` that contained the text.
    """

    item: str
    text: str | None
    outcome: str
    detail: str = ""
    final: bool = True
    thinking: int = 0
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True)
class SpanLogprob:
    """The log-probability of a reply, in nats: the *total*, and the part of each token.

    *escaped*: how many control tokens in the texts were treated as plain text.
    """

    total: float
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    escaped: int = 0


@dataclass(frozen=True, slots=True)
class LMIdentity:
    """The part of a signature that identifies an evaluation LM. *digest*: the digest of the model's files."""

    name: str
    digest: str
    engine_version: str
    dtype: str = "float64"
    quantisation: str = "none"
    attention: str = "none"
    template_digest: str = "none"

    @property
    def lm_id(self) -> str:
        return digest(asdict(self))[:16]


@dataclass(frozen=True, slots=True)
class PlannedPair:
    """A pair that a run plans to score, with its *case*, or else the reason why it cannot be scored now.

    *state*: ``due``: can be scored. ``waiting``: a text must still be written. ``excluded``: a rule excludes the pair
    from the metric. ``failed``: a text could not be written.
    *reason*: a code for the reason; *detail*: the reason in words. Both are None for a due pair.
    """

    paper_id: str
    candidate_id: str
    reference_id: str
    state: Literal["due", "waiting", "excluded", "failed"]
    reason: str | None = None
    case: Case | None = None
    detail: str | None = None
