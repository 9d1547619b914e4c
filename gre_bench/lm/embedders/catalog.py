"""The interface of an embedder, and the embedders by name. A new one is one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from numpy import float32
from numpy.typing import NDArray

from gre_bench.core.errors import SettingsError
from gre_bench.core.pretrained.cache import located, refuse_changed
from gre_bench.core.records import LMIdentity
from gre_bench.core.settings import EmbedderSettings


class Embedder(Protocol):
    """An embedder turns sentences into vectors, without use of the network.

    ``embed`` returns one vector of length 1 for each sentence, in the same order: float32, shape (sentences,
    dimension). A vector depends on its sentence alone, not on the other sentences of the call.

    ``embed_tokens`` returns one array for each text, shape (tokens of the text, dimension). A row is the vector of a
    token in the context of its text. Special tokens and the query prompt get no vector. Text beyond the model's limit
    is cut.

    *query* is true for sentences of the candidate and false for those of the reference. Some models, such as retrieval
    models, embed queries and documents differently; ``asymmetric`` says whether this embedder does. ``identity`` goes
    into signatures.
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
    embedder = SentenceEmbedder.open(located(settings.folder, "embedder"), settings.device)
    refuse_changed(settings.folder, embedder.identity.digest)
    return embedder


EMBEDDERS: dict[str, Callable[[EmbedderSettings], Embedder]] = {
    "hashed-ngrams": _hashed_ngrams,
    "sentence-transformers": _sentence_transformers,
}


@lru_cache(maxsize=1)
def open_embedder(settings: EmbedderSettings) -> Embedder:
    """Opens the embedder that *settings* describe and keeps it open for this process.

    Raises `SettingsError` for unusable settings and `LMError` if the model cannot be opened.
    """
    if settings.backend not in EMBEDDERS:
        raise SettingsError(f"no embedder {settings.backend!r}; known: {', '.join(EMBEDDERS)}")
    return EMBEDDERS[settings.backend](settings)
