"""The data types of the benchmark, as frozen values.

Everything scored is a `Case`: (paper, candidate, reference). A number travels with its `Signature`, a failure with its
`Problem`. Nothing here reads, writes or decides.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal, Protocol

CandidateKind = Literal["human", "model", "control", "change", "graded"]
SynopsisKind = Literal["none", "abstract", "assw", "categories", "paper"]
Source = Literal["judgments", "review"]

HUMAN = "human"
"""Name of the human baseline among the candidates."""

FIXED_WRITER = "fixed"
"""Writer of judgments that come without a review (the generic control)."""


NO_REFERENCE = "none"
"""Stands for the reference in a pair of a metric that needs none."""


def digest(value: object) -> str:
    """Returns the SHA-256 (64 hex digits) of the canonical JSON of *value*."""
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


@dataclass(frozen=True, slots=True)
class Paper:
    """A submission. *text* is its body without references and appendices; *source_row* is its row in its source."""

    paper_id: str
    title: str = ""
    abstract: str | None = None
    text: str | None = None
    source_row: int | None = None

    @property
    def whole(self) -> str:
        """The paper as every LM gets it: title, abstract, body."""
        abstract = f"Abstract\n\n{self.abstract}" if self.abstract else None
        return "\n\n".join(part for part in (self.title, abstract, self.text) if part)


@dataclass(frozen=True, slots=True)
class Review:
    """One review of one paper, by a human or by the named candidate.

    *slot* is its number among the paper's human reviews, if the source states one. *rating* is the reviewer's rating of
    the paper; *grade* is a grade given to the review itself.
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
    """A review as judgments, one per line; *text* is exactly what the *writer* returned."""

    review_id: str
    writer: str
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An author whose reviews are scored. *change* names what a control or a change did to a human review."""

    candidate_id: str
    kind: CandidateKind
    model: str | None = None
    prompt: str | None = None
    guideline: str | None = None
    change: str | None = None


@dataclass(frozen=True, slots=True)
class Synopsis:
    """What is known of a paper before the first review (GEM-S)."""

    paper_id: str
    kind: SynopsisKind
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One pair to be scored: a candidate's response and a reference on the same paper.

    *moved*: the candidate's response to another paper, for metrics that subtract its score as chance.
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
        """The pair's name in messages."""
        return f"paper {self.paper_id}, candidate {self.candidate_id}, reference {self.reference_id}"


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that a score depends on besides its texts. Scores of different signatures are never mixed.

    *chance*: the rule and seed that chose the review of another paper; ``none`` if the metric reads none.
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
        """The first 16 hex digits of the SHA-256 of all fields; *chance* is left out if it is ``none``."""
        return _signature_id(self)


@cache
def _signature_id(signature: Signature) -> str:
    fields = asdict(signature)
    if signature.chance == "none":
        # Signatures from before this field keep their ids.
        del fields["chance"]
    return digest(fields)[:16]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a pair has no score. *final* problems are stored; the next run tries the others again.

    *broken*: the model that scores misbehaves itself, which a run reports as a fault.
    """

    code: str
    message: str
    final: bool = True
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one case, or the problem that replaces it: exactly one of the two.

    *predictions*: content addresses of the predictions it was computed from. A score from log-probabilities is in nats.
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


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an evaluation LM scores: *reply*, given the first review *x* and a *synopsis* (None: absent)."""

    x: str | None
    synopsis: str | None
    reply: str
    prompt: str = "predict_judgments"


@dataclass(frozen=True, slots=True)
class Chat:
    """A prompt rendered as messages: system, user, and the forced reply of a prediction (empty if an LM writes it)."""

    system: str
    user: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an LM writes. None omits a value from the request, for models that refuse it."""

    temperature: float | None = 0.0
    max_tokens: int = 4000
    top_p: float | None = None
    seed: int | None = None


Outcome = Literal["ok", "refused", "empty", "cut", "rate_limited", "failed"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What an LM wrote, without its thinking, or why it wrote nothing usable.

    *text* exists for outcome ok, and for cut (the text before the limit). *final*: trying again cannot help. *thinking*
    counts the characters removed; token counts are the endpoint's (None: not stated). *archived*: it comes from the
    archive of replies, without a request.
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
    """An LM that answers chats: one reply for each, in the same order.

    *identity* (model and revision, whatever endpoint serves it) goes into signatures. A chat that fails gets a `Reply`
    that says why, so its neighbours are still answered. An exception means that the writer as a whole is unusable.
    """

    @property
    def identity(self) -> str: ...

    def write(self, chats: Sequence[Chat], sampling: Sampling) -> list[Reply]: ...


@dataclass(frozen=True, slots=True)
class Written:
    """A requested text (*item* names it), or why there is none: *outcome* is ok or the reason.

    The other fields are those of the `Reply` that the text was read from.
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
    """Log-probability of a reply in nats: the *total*, and the id and log-probability of each token (same length).

    *escaped* counts the control tokens that occurred in the texts and were scored as plain text.
    """

    total: float
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    escaped: int = 0


@dataclass(frozen=True, slots=True)
class LMIdentity:
    """The part of a signature that identifies an evaluation LM."""

    name: str
    digest: str
    engine_version: str
    dtype: str = "float64"
    quantisation: str = "none"
    attention: str = "none"
    template_digest: str = "none"

    @property
    def lm_id(self) -> str:
        """The first 16 hex digits of the SHA-256 of all fields."""
        return digest(asdict(self))[:16]


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned pair: the case that is due, or the reason why it is not.

    *waiting*: a text is still to be written. *excluded*: outside the metric by rule. *failed*: a text is missing.
    """

    paper_id: str
    candidate_id: str
    reference_id: str
    state: Literal["due", "waiting", "excluded", "failed"]
    reason: str | None = None
    case: Case | None = None
    detail: str | None = None
