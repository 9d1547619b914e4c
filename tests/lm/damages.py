"""Ways to spoil a model's folder: each function returns one that takes the folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path


def rewritten(name: str, change: Callable) -> Callable[[Path], None]:
    """Changes the parsed JSON file *name* of a folder, in place or to what *change* returns."""

    def damage(folder: Path) -> None:
        tree = json.loads((folder / name).read_text())
        changed = change(tree)
        (folder / name).write_text(json.dumps(tree if changed is None else changed))

    return damage


def without_weights(name: str, lacks: Callable[[str], bool]) -> Callable[[Path], None]:
    """Leaves the weights that *lacks* names out of the file *name* of a folder."""

    def damage(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / name)
        kept = {key: weight for key, weight in weights.items() if not lacks(key)}
        assert len(kept) < len(weights)
        save_file(kept, folder / name, {"format": "pt"})

    return damage
