"""Every metric by name: what it reads and which synopsis it is given (Xu et al. 2025, §3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.records import Source, SynopsisKind


@dataclass(frozen=True, slots=True)
class Recipe:
    """A GEM variant: judgments or original reviews, with or without a synopsis."""

    name: str
    source: Source
    synopsis: SynopsisKind


RECIPES = {
    "gem": Recipe("gem", "judgments", "none"),
    "gem_s_abstract": Recipe("gem_s_abstract", "judgments", "abstract"),
    "gem_s_assw": Recipe("gem_s_assw", "judgments", "assw"),
    "gem_raw": Recipe("gem_raw", "review", "none"),
}
