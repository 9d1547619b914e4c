"""Writes the weighted mean of two adapters, of which the second started from the first (WiSE-FT, Wortsman et al. 2022).

    python -m tests.gpu.mean FIRST SECOND WEIGHT OUT

WEIGHT is that of SECOND, from 0 to 1. OUT has the files of SECOND with the mean of the tensors. Its training record names
both folders by their digests, and its register holds what either was learnt from.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from gre_bench.core.training_registers import load_named_registers, write_register
from gre_bench.lm.weights import ADAPTER, ADAPTER_WEIGHTS, RECORD, folder_digest


def write_mean(first: Path, second: Path, weight: float, out: Path) -> None:
    """Writes the folder *out*.

    Raises `ValueError` if *second* did not start from *first*, or for a wrong weight, and `SettingsError` if one of them
    has no register.
    """
    from safetensors.torch import load_file, save_file

    record = json.loads((second / RECORD).read_text())
    digests = [folder_digest(folder) for folder in (first, second)]
    if record["asked"].get("start") != digests[0] or not 0 <= weight <= 1:
        raise ValueError(f"{second} did not start from {first}, or the weight {weight} is not from 0 to 1")
    start, end = (load_file(folder / ADAPTER_WEIGHTS) for folder in (first, second))
    mean = {name: ((1 - weight) * start[name].float() + weight * end[name].float()).to(end[name].dtype) for name in end}
    out.mkdir(parents=True)
    save_file(mean, out / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    shutil.copy(second / ADAPTER, out / ADAPTER)
    registers = load_named_registers([str(first), str(second)])
    write_register(out, [], {entry for register in registers for entry in register.entries or ()})
    record["mean"] = {"of": digests, "weight of the second": weight}
    (out / RECORD).write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    write_mean(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
