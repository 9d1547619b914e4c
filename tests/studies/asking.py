"""A study's models file."""

from __future__ import annotations

from pathlib import Path

from tests.servers.chat import MODEL, ScriptedChat

MODELS = '[[model]]\nname = "{name}"\nendpoint = "{url}"\nmodel = "{model}"\nprice_in = 1.0\nprice_out = 2.0\n'


def models_file(folder: Path, server: ScriptedChat, name: str = "scripted") -> Path:
    path = folder / "models.toml"
    path.write_text(MODELS.format(name=name, url=server.url, model=MODEL))
    return path
