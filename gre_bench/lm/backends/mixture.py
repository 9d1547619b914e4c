"""An evaluation LM with a copying cache: a mixture over any LM that gives the log-probability of each token.

    P(token | synopsis)    = v₀ LM(token | absent, synopsis) + v₁ any earlier token of the reply
                             + v₂ what followed in it after the token before + v₃ after the two tokens before
    P(token | x, synopsis) = w₀ LM(token | x, synopsis) + w₁ P(token | synopsis)
                             + w₂ any token of what is known + w₃ what followed there after the token before
                             + w₄ what followed there after the two tokens before
                             + w₅ as w₂ between tokens alike + w₆ as w₃ between tokens alike
                             + w₇ LM(token | absent, synopsis), bent towards what is known (`reweighting`)

What is known is the synopsis and x. Where a source has nothing to copy its weight goes to the first of the upper line,
or to the second of the lower. Without x the lower line holds with what a synopsis gives; without both, the upper one.
The weights depend on whether the reply has just followed its own earlier tokens (upper) or what is known (lower), see
`gre_bench.lm.backends.token_copies`, which is told by tokens that came before. Each term is a distribution and the
weights sum to 1, so the whole is one: the log-ratio stays a log-ratio. Where w₀ is 0 the LM is never asked for its
first term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.lm.backends.blend import Blend
from gre_bench.lm.backends.reweighting import Bending, bent, distributions
from gre_bench.lm.backends.token_copies import TokenCopies, own_chances, own_places
from gre_bench.lm.protocol import checked

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase

ENGINE_VERSION = "mixture-2"


class TokenLM(Protocol):
    """An `EvaluationLM` whose spans are made of the ids of its tokenizer.

    One that breaks control tokens up has the ``template`` that does it; for a bent term there are also ``weights``, as
    of `gre_bench.lm.backends.transformers_lm.TransformersLM`.
    """

    @property
    def identity(self) -> LMIdentity: ...

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase: ...

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]: ...


class Mixture:
    """The evaluation LM *inner* as *blend* mixes it; `LMError` if the two do not belong together."""

    def __init__(self, inner: TokenLM, blend: Blend):
        identity = inner.identity
        if blend.lm != identity.digest:
            raise LMError(
                f"this mixture was fitted for another evaluation LM than {identity.name}: "
                "fit one with `gre-bench models tune mixture`"
            )
        size = len(blend.arrays["counts"])
        if len(inner.tokenizer) > size:
            raise LMError(f"this mixture knows {size} tokens, the tokenizer has {len(inner.tokenizer)}")
        if blend.bend and not hasattr(inner, "weights"):
            raise LMError(f"this mixture bends the distributions of {identity.name}, which does not give them")
        self.inner, self.blend = inner, blend
        self.tokens = blend.tokens
        # A control token is no token of a text, and no reply may end by copying.
        self.tokens.weight[[token for token in inner.tokenizer.all_special_ids if token < size]] = 0.0
        self.bending = Bending(self.tokens, blend.arrays) if blend.bend else None
        self._asks_given = bool(blend.weights[:, 0].any())
        self._identity = replace(
            identity,
            name=f"{identity.name} in a copying mixture",
            digest=digest([identity.digest, blend.digest]),
            engine_version=f"{ENGINE_VERSION}+{identity.engine_version}",
        )

    @property
    def identity(self) -> LMIdentity:
        """That of the inner LM, but for the name, a digest that covers all that was fitted, and the version."""
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
        asked = dict.fromkeys(_alone(prediction) for prediction in predictions)
        if self._asks_given:
            asked |= dict.fromkeys(predictions)
        inner = dict(zip(asked, map(checked, self.inner.logprob(list(asked))), strict=True))
        answers: dict[Prediction, SpanLogprob | SpanError] = {}
        known, rows_of, rows = Known(self), None, None
        # All that share a reply and a synopsis in turn: distributions are large, and kept for one of them at a time.
        order = {alone: place for place, alone in enumerate(asked)}
        for prediction in sorted(dict.fromkeys(predictions), key=lambda one: order[_alone(one)]):
            alone = _alone(prediction)
            refused = _refusal(prediction, inner.get(prediction), inner[alone])
            if refused is None and self.bending and _knows(prediction):
                if rows_of != alone:
                    rows = None  # before the next ones take their place
                    rows_of, rows = alone, self._distributions(alone)
                refused = rows if isinstance(rows, SpanError) else None
            # What has no span was refused above.
            given: Any = inner.get(prediction)
            plain: Any = inner[alone]
            answers[prediction] = refused or self._one(prediction, given, plain, cast(Any, rows), known)
        return [answers[prediction] for prediction in predictions]

    def _distributions(self, alone: Prediction) -> Tensor | SpanError:
        try:
            return distributions(self.inner, alone)  # pyright: ignore[reportArgumentType]
        except SpanError as error:
            return error

    def own_terms(self, alone: SpanLogprob) -> tuple[np.ndarray, np.ndarray]:
        """log P(token) by term of the upper line and place (4, n), and the kind of each place (n)."""
        reply, lm = np.array(alone.ids, dtype=np.int64), np.array(alone.logprobs)
        return _filled([lm], own_chances(reply, self.tokens), lm), own_places(reply, self.tokens)

    def without_x(self, alone: SpanLogprob) -> np.ndarray:
        """log P(token | synopsis), (n)."""
        return mixed(*self.own_terms(alone), self.blend.own)

    def terms(
        self, ids: Sequence[np.ndarray], given: SpanLogprob | None, alone: SpanLogprob, bent: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """log P(token) by term of the lower line and place (8, n), and the kind of each place (n).

        *ids*: tokens of the known texts. *given*, *alone*: the LM's spans with and without x. *bent*: of the bent LM.
        """
        copies = TokenCopies(ids, self.tokens)
        reply, without = np.array(alone.ids, dtype=np.int64), self.without_x(alone)
        first = without if given is None else np.array(given.logprobs)
        terms = _filled([first, without], copies.chances(reply), without)
        return np.vstack([terms, without if bent is None else bent]), copies.places(reply)

    def _one(
        self,
        prediction: Prediction,
        given: SpanLogprob | None,
        alone: SpanLogprob,
        rows: Tensor | None,
        known: Known,
    ) -> SpanLogprob:
        escaped = alone.escaped + known.escaped(prediction.x)
        if not _knows(prediction):
            logs = self.without_x(alone)
        else:
            ids = known.ids(prediction)
            moved = None
            if rows is not None:
                moved = bent(rows, np.array(alone.ids, dtype=np.int64), known.log_factors(prediction))
            logs = mixed(*self.terms(ids, given, alone, moved), self.blend.weights)
        return replace(alone, total=math.fsum(logs), logprobs=tuple(logs.tolist()), escaped=escaped)


class Known:
    """Tokens and log-factors of the known texts of predictions, each text read once, as the inner LM is shown it."""

    def __init__(self, mixture: Mixture):
        self._mixture = mixture
        self._template = getattr(mixture.inner, "template", None)
        self._read: dict[str, tuple[np.ndarray, int]] = {}
        self._factors: dict[tuple[str | None, str | None], np.ndarray] = {}

    def ids(self, prediction: Prediction) -> list[np.ndarray]:
        """Token ids of the synopsis and of x, those that are there."""
        return [self._of(text)[0] for text in (prediction.synopsis, prediction.x) if text is not None]

    def escaped(self, text: str | None) -> int:
        """How many control tokens written in *text* were broken up."""
        return 0 if text is None else self._of(text)[1]

    def _of(self, text: str) -> tuple[np.ndarray, int]:
        if text not in self._read:
            (shown,), escaped = self._template.escaped(text) if self._template else ([text], 0)
            found = self._mixture.tokenizer(shown, add_special_tokens=False, verbose=False)["input_ids"]
            self._read[text] = np.array(found, dtype=np.int64), escaped
        return self._read[text]

    def log_factors(self, prediction: Prediction) -> np.ndarray:
        """Per token the logarithm of its factor."""
        key = prediction.synopsis, prediction.x
        if key not in self._factors:
            assert self._mixture.bending is not None
            features = self._mixture.bending.features(np.concatenate(self.ids(prediction)))
            self._factors[key] = np.array(self._mixture.blend.bend) @ features
        return self._factors[key]


def _knows(prediction: Prediction) -> bool:
    return prediction.x is not None or prediction.synopsis is not None


def _alone(prediction: Prediction) -> Prediction:
    return replace(prediction, x=None)


def _refusal(
    prediction: Prediction, given: SpanLogprob | SpanError | None, alone: SpanLogprob | SpanError
) -> SpanError | None:
    """Why *prediction* has no answer, if one of the inner LM's two has none."""
    for span in (given, alone):
        if isinstance(span, SpanError):
            return span
    if not is_text(prediction.x or ""):
        return SpanError("bad_text", "the text holds a lone surrogate, which no token stands for")
    if isinstance(given, SpanLogprob) and isinstance(alone, SpanLogprob) and given.ids != alone.ids:
        return SpanError("misaligned", "the tokens of the reply depend on what stands before it", broken=True)
    return None


def is_text(text: str) -> bool:
    """Whether *text* can be written as tokens: not with a lone surrogate in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def mixed(terms: np.ndarray, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """log P(token) of the mixture (n) of *terms* (terms, n) by the *weights* (kinds, terms) of each of *places* (n)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp.reduce(terms + np.log(weights)[places].T, axis=0)


def _filled(first: list[np.ndarray], chances: np.ndarray, instead: np.ndarray) -> np.ndarray:
    """*first* and the logarithms of *chances*, stacked; where one has nothing (NaN), *instead*."""
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    return np.stack([*first, *np.where(np.isnan(logs), instead, logs)])
