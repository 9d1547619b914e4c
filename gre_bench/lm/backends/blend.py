"""What is fitted of a mixture (`mixture`), and its files: plain text and safetensors, never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.errors import LMError
from gre_bench.core.records import digest
from gre_bench.lm.backends.reweighting import ARRAYS as BENDING
from gre_bench.lm.backends.reweighting import FEATURES
from gre_bench.lm.backends.token_copies import LEVELS, OWN_SOURCES, PLACES, SOURCES, Tokens

CONFIG, ARRAYS = "mixture.json", "tokens.safetensors"
OF_TOKENS = ("counts", "alike", "share")
OWN_TERMS = ("lm without x", *OWN_SOURCES)
TERMS = ("lm given x", "without x", *SOURCES, "lm bent")
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Blend:
    """The numbers of a mixture.

    *lm*: digest of the evaluation LM it was fitted for. *exponent*: of the inverse document frequency by which tokens
    are drawn. *own* and *weights*: of the upper and the lower line, per kind of place and term, each row summing to 1.
    *arrays*: per token id ``counts``, the papers of *papers* whose judgments hold it, ``alike`` and ``share``, see
    `Tokens`; and those of `Bending`. *bend*: weights of its features, none if nothing is bent.
    """

    lm: str
    papers: int
    exponent: float
    own: np.ndarray
    weights: np.ndarray
    arrays: Mapping[str, np.ndarray]
    bend: tuple[float, ...] = ()

    @property
    def tokens(self) -> Tokens:
        """What copying needs; idf = log(papers / papers with the token), one of fewer than two counting as of two."""
        counts, alike, share = (self.arrays[name] for name in OF_TOKENS)
        idf = np.log(max(self.papers, 2) / np.clip(counts, 2, max(self.papers, 2)))
        return Tokens(idf, idf**self.exponent, alike, share)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        arrays = {**self.arrays, "own": self.own, "weights": self.weights}
        contents = [
            [name, array.dtype.str, array.shape, hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()]
            for name, array in sorted(arrays.items())
        ]
        return digest([_FORMAT, self.lm, self.papers, self.exponent, LEVELS, list(self.bend), contents])


def load(folder: Path) -> Blend:
    """The numbers in *folder*; `LMError` if a file is missing, damaged or of another format."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        config: dict[str, Any] = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        made_for = config["format"], config["own terms"], config["terms"], tuple(config["levels"])
        if made_for != (_FORMAT, list(OWN_TERMS), list(TERMS), LEVELS):
            raise LMError(
                f"the mixture in {folder} is of another format: fit it again with `gre-bench models tune mixture`"
            )
        rows = _rows(config["own"], len(OWN_TERMS)), _rows(config["weights"], len(TERMS))
        arrays = load_file(folder / ARRAYS)
        bend = tuple(config["bend"][feature] for feature in FEATURES) if config["bend"] else ()
        if set(arrays) != {*OF_TOKENS, *(BENDING if bend else ())} or len({len(arrays[one]) for one in OF_TOKENS}) != 1:
            raise ValueError("the arrays are not those of a mixture")
        return Blend(config["lm"], config["papers"], config["exponent"], *rows, arrays, bend)
    except FileNotFoundError as error:
        raise LMError(
            f"no mixture in {folder}: {Path(error.filename or ARRAYS).name} is missing; "
            "fit one with `gre-bench models tune mixture`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise LMError(f"the mixture in {folder} is damaged ({reason}): fit it again") from error


def save(blend: Blend, folder: Path) -> None:
    """Writes the numbers to *folder*, made if absent."""
    from safetensors.numpy import save as save_arrays

    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.ascontiguousarray(array) for name, array in sorted(blend.arrays.items())}
    config = {
        "format": _FORMAT,
        "lm": blend.lm,
        "papers": blend.papers,
        "exponent": blend.exponent,
        "bend": dict(zip(FEATURES, blend.bend, strict=True)) if blend.bend else None,
        "levels": LEVELS,
        "own terms": OWN_TERMS,
        "terms": TERMS,
        "own": blend.own.tolist(),
        "weights": blend.weights.tolist(),
    }
    (folder / ARRAYS).write_bytes(save_arrays(arrays))
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _rows(rows: list[list[float]], terms: int) -> np.ndarray:
    weights = np.array(rows, dtype=np.float64)
    if weights.shape != (PLACES, terms) or (weights < 0).any() or abs(weights.sum(axis=1) - 1).max() > 1e-9:
        raise ValueError("the weights are no distributions")
    return weights
