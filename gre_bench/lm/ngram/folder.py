"""Reads and writes the folder of a `cache-ngram` model.

The folder holds three files: the config and the vocabulary as JSON, and the arrays as safetensors.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.errors import LMError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.strict import load_json
from gre_bench.lm.ngram.segmentation import Alphabet, alphabet_of_python

FORMAT = 1
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "weights.safetensors"


@dataclass(frozen=True, slots=True)
class NgramFiles:
    """The contents of the three files of a `cache-ngram` model.

    - *config*: the settings and weights of the model.
    - *vocabulary*: the words; a word's id is its index.
    - *arrays*: the arrays of counts and probabilities, by name.
    - *alphabet*: the number of Unicode characters of each kind.
    - *digest*: SHA-256 over the three files.
    """

    config: dict[str, Any]
    vocabulary: list[str]
    arrays: dict[str, np.ndarray]
    alphabet: Alphabet
    digest: str


def read_files(folder: Path) -> NgramFiles:
    """Reads the model in *folder*; raises `LMError` if a file is missing, damaged or of another format."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as load_arrays

    try:
        files = {name: read_bytes(folder / name) for name in (CONFIG, VOCABULARY, WEIGHTS)}
        config = load_json(files[CONFIG])
        if config["format"] != FORMAT:
            raise LMError(
                f"the evaluation LM in {folder} has format {config['format']!r}, this version reads {FORMAT}: "
                "train it again with `gre-bench models tune cache-ngram`"
            )
        for name in (VOCABULARY, WEIGHTS):
            if hashlib.sha256(files[name]).hexdigest() != config["sha256"][name]:
                raise ValueError(f"{name} is not the file that was saved")
        alphabet = Alphabet(**config["alphabet"])
        if alphabet.unicode != unicodedata.unidata_version:
            alphabet = alphabet_of_python()
        digest = hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in files.values())).hexdigest()
        return NgramFiles(config, load_json(files[VOCABULARY]), load_arrays(files[WEIGHTS]), alphabet, digest)
    except FileNotFoundError as error:
        raise LMError(
            f"no evaluation LM in {folder}: {Path(error.filename).name} is missing; "
            "restore the folder or train one with `gre-bench models tune cache-ngram`"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, SafetensorError, SourceError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise LMError(
            f"the evaluation LM in {folder} is damaged ({reason}): restore the folder or train it again"
        ) from error


def write_files(
    folder: Path, config: Mapping[str, Any], vocabulary: list[str], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes the three files of a model to *folder*.

    The folder is made if it does not exist. Other files in the folder stay as they are.
    """
    from safetensors.numpy import save as save_arrays

    folder.mkdir(parents=True, exist_ok=True)
    files = {
        VOCABULARY: (json.dumps(vocabulary, ensure_ascii=False, indent=0) + "\n").encode(),
        WEIGHTS: save_arrays({name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}),
    }
    sha256 = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    whole = {**config, "format": FORMAT, "sha256": sha256}
    files[CONFIG] = (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
