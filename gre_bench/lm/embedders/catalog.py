"""Defines the interface of an embedder and opens embedders by name. To add one, add one line to `EMBEDDERS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from numpy import float32
from numpy.typing import NDArray

from gre_bench.core.errors import SettingsError
from gre_bench.core.pretrained import located, refuse_changed
from gre_bench.core.records import LMIdentity
from gre_bench.core.settings import EmbedderSettings


class Embedder(Protocol):
    """An embedder turns sentences into vectors, without use of the network.

    - ``embed`` returns one vector of length 1 for each sentence, in the same order: float32, shape (sentences,
      dimension). A vector depends only on its own sentence, not on the other sentences of the call.
    - ``embed_tokens`` returns one array for each text, shape (tokens of the text, dimension). Each row is the vector of
      a token in the context of its text. There are no rows for special tokens or for the query prompt. Text beyond the
      model's limit is cut.
    - *query*: true for the candidate's sentences, false for the reference's.
    - ``asymmetric``: whether the embedder embeds the candidate's sentences differently from the reference's, as some
      retrieval models do.
    - ``identity``: identifies the embedder in signatures.
    """

    @property
    def identity(self) -> LMIdentity: ...

    @property
    def asymmetric(self) -> bool: ...

    def embed(self, sentences: Sequence[str], query: bool = False) -> NDArray[float32]: ...

    def embed_tokens(self, texts: Sequence[str], query: bool = False) -> list[NDArray[float32]]: ...


def _hashed_ngrams(settings: EmbedderSettings) -> Embedder:
    from gre_bench.lm.embedders.hashed_ngrams import HashedNgrams

    if settings.folder is not None:
        raise SettingsError(
            f"hashed-ngrams has no folder, but embedder.folder is {settings.folder}: "
            "set embedder.backend=sentence-transformers too, or leave the folder out"
        )
    return HashedNgrams()


def _sentence_transformers(settings: EmbedderSettings) -> Embedder:
    from gre_bench.lm.embedders.sentence_embedder import SentenceEmbedder

    if settings.folder is None:
        raise SettingsError("the sentence-transformers embedder needs a model folder: --set embedder.folder=FOLDER")
    folder = located(settings.folder, "embedder")
    embedder = SentenceEmbedder.open(folder, settings.device)
    refuse_changed(folder, embedder.identity.digest)
    return embedder


EMBEDDERS: dict[str, Callable[[EmbedderSettings], Embedder]] = {
    "hashed-ngrams": _hashed_ngrams,
    "sentence-transformers": _sentence_transformers,
}


@lru_cache(maxsize=1)
def open_embedder(settings: EmbedderSettings) -> Embedder:
    """Opens the embedder that *settings* describe.

    The last opened embedder is kept, so a repeated call with the same settings returns the same object. Raises
    `SettingsError` for unusable settings and `LMError` if the model cannot be opened.
    """
    if settings.backend not in EMBEDDERS:
        raise SettingsError(f"no embedder {settings.backend!r}; known: {', '.join(EMBEDDERS)}")
    return EMBEDDERS[settings.backend](settings)
