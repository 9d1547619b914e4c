"""An evaluation LM with a copying cache: a mixture over any LM that gives the log-probability of each token.

    P(token | x, synopsis) = w₀ LM(token | x, synopsis) + w₁ LM(token | absent, synopsis)
                             + w₂ any token of what is known + w₃ what followed there after the token before
                             + w₄ what followed there after the two tokens before
                             + w₅ as w₂ between tokens alike + w₆ as w₃ between tokens alike

What is known is the synopsis and x. Where a source has nothing to copy its weight goes to the second term. Without x
the first term is the second, and only the synopsis is copied from; without both, the LM is left alone. The weights
depend on whether the reply has just followed what is known (`tasks.lm.token_copies`), which is told by tokens that
came before. Each term is a distribution and the weights sum to 1, so the whole is one: the log-ratio stays a log-ratio.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tasks.errors import LMError, SpanError
from tasks.lm.protocol import checked
from tasks.lm.token_copies import LEVELS, PLACES, SOURCES, TokenCopies, Tokens
from tasks.records import LMIdentity, Prediction, SpanLogprob, digest

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ENGINE_VERSION = "mixture-1"
CONFIG, ARRAYS = "mixture.json", "tokens.safetensors"
TERMS = ("lm given x", "lm without x", *SOURCES)
_FORMAT = 1


class TokenLM(Protocol):
    """An `EvaluationLM` whose spans are made of the ids of its tokenizer."""

    @property
    def identity(self) -> LMIdentity: ...

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase: ...

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]: ...


@dataclass(frozen=True, slots=True)
class Blend:
    """What is fitted of a mixture.

    *lm*: digest of the evaluation LM it was fitted for. Per token id: *counts*, the papers of *papers* whose judgments
    hold it; *alike* and *share*, see `Tokens`. *exponent*: of the inverse document frequency by which tokens are
    drawn. *weights*: per kind of place and term, each row summing to 1.
    """

    lm: str
    papers: int
    exponent: float
    counts: np.ndarray
    alike: np.ndarray
    share: np.ndarray
    weights: np.ndarray

    @property
    def tokens(self) -> Tokens:
        """What copying needs; idf = log(papers / papers with the token), one of fewer than two counting as of two."""
        idf = np.log(max(self.papers, 2) / np.clip(self.counts, 2, max(self.papers, 2)))
        return Tokens(idf, idf**self.exponent, self.alike, self.share)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        arrays = [array.tolist() for array in (self.counts, self.alike, self.share, self.weights)]
        return digest([_FORMAT, self.lm, self.papers, self.exponent, LEVELS, *arrays])


class Mixture:
    """The evaluation LM *inner* as *blend* mixes it."""

    def __init__(self, inner: TokenLM, blend: Blend):
        identity = inner.identity
        if blend.lm != identity.digest:
            raise LMError(
                f"this mixture was fitted for another evaluation LM than {identity.name}: "
                "fit one with `gre-bench tune mixture`"
            )
        if len(inner.tokenizer) > len(blend.counts):
            raise LMError(f"this mixture knows {len(blend.counts)} tokens, the tokenizer has {len(inner.tokenizer)}")
        self.inner, self.blend = inner, blend
        self._tokens = blend.tokens
        # A control token written in a text is no token of it, and no reply may end by copying.
        self._tokens.weight[[token for token in inner.tokenizer.all_special_ids if token < len(blend.counts)]] = 0.0
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(blend.weights)
        self._identity = replace(
            identity,
            name=f"{identity.name} in a copying mixture",
            digest=digest([identity.digest, blend.digest]),
            engine_version=f"{ENGINE_VERSION}+{identity.engine_version}",
        )

    @property
    def identity(self) -> LMIdentity:
        """That of the inner LM, but for the name, a digest that covers weights and counts, and the version."""
        return self._identity

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The inner LM's."""
        return self.inner.tokenizer

    @property
    def remarks(self) -> list[str]:
        """The inner LM's."""
        return getattr(self.inner, "remarks", [])

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """One answer for each prediction; where the inner LM refuses one of its two terms, that refusal."""
        asked = dict.fromkeys(term for prediction in predictions for term in (prediction, replace(prediction, x=None)))
        inner = dict(zip(asked, map(checked, self.inner.logprob(list(asked))), strict=True))
        known: dict[str, np.ndarray] = {}
        return [self._one(prediction, inner, known) for prediction in predictions]

    def terms(
        self, prediction: Prediction, given: SpanLogprob, alone: SpanLogprob, known: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """log P(token) by term and place (7, n), and the kind of each place (n); *known* keeps texts as tokens."""
        known = {} if known is None else known
        texts = [text for text in (prediction.synopsis, prediction.x) if text is not None]
        for text in texts:
            if text not in known:
                ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
                known[text] = np.array(ids, dtype=np.int64)
        copies = TokenCopies([known[text] for text in texts], self._tokens)
        reply = np.array(alone.ids, dtype=np.int64)
        without = np.array(alone.logprobs)
        with np.errstate(divide="ignore"):
            copied = np.log(copies.chances(reply))
        copied = np.where(np.isnan(copied), without, copied)
        return np.stack([np.array(given.logprobs), without, *copied]), copies.places(reply)

    def mixed(self, terms: np.ndarray, places: np.ndarray) -> np.ndarray:
        """log P(token) of the mixture (n), from what `terms` gives."""
        return np.logaddexp.reduce(terms + self._log_weights[places].T, axis=0)

    def _one(
        self, prediction: Prediction, inner: Mapping[Prediction, SpanLogprob | SpanError], known: dict[str, np.ndarray]
    ) -> SpanLogprob | SpanError:
        given, alone = inner[prediction], inner[replace(prediction, x=None)]
        for span in (given, alone):
            if isinstance(span, SpanError):
                return span
        if given.ids != alone.ids:
            return SpanError("misaligned", "the tokens of the reply depend on what stands before it", broken=True)
        if prediction.x is None and prediction.synopsis is None:
            return alone
        terms, places = self.terms(prediction, given, alone, known)
        logs = self.mixed(terms, places)
        return replace(given, total=math.fsum(logs), logprobs=tuple(logs.tolist()))


def load(folder: Path) -> Blend:
    """The fitted numbers in *folder*; `LMError` if a file is missing, damaged or of another format."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        config: dict[str, Any] = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if (config["format"], config["terms"], tuple(config["levels"])) != (_FORMAT, list(TERMS), LEVELS):
            raise LMError(f"the mixture in {folder} is of another format: fit it again with `gre-bench tune mixture`")
        weights = np.array(config["weights"], dtype=np.float64)
        if weights.shape != (PLACES, len(TERMS)) or (weights < 0).any() or abs(weights.sum(axis=1) - 1).max() > 1e-9:
            raise ValueError("the weights are no distributions")
        arrays = load_file(folder / ARRAYS)
        if len({len(arrays[name]) for name in ("counts", "alike", "share")}) != 1:
            raise ValueError("the arrays are of different lengths")
        of_tokens = arrays["counts"], arrays["alike"], arrays["share"]
        return Blend(config["lm"], config["papers"], config["exponent"], *of_tokens, weights)
    except FileNotFoundError as error:
        raise LMError(
            f"no mixture in {folder}: {Path(error.filename or ARRAYS).name} is missing; fit one with `gre-bench tune mixture`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise LMError(f"the mixture in {folder} is damaged ({reason}): fit it again") from error


def save(blend: Blend, folder: Path) -> None:
    """Writes the fitted numbers to *folder*, made if absent."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    arrays = {"counts": blend.counts, "alike": blend.alike, "share": blend.share}
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / ARRAYS)
    config = {
        "format": _FORMAT, "lm": blend.lm, "papers": blend.papers, "exponent": blend.exponent,
        "levels": LEVELS, "terms": TERMS, "weights": blend.weights.tolist(),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
