"""The same sentences as a review in several forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

DRESSES = {
    "colon": "{}:", "bare": "{}", "bold": "**{}**", "bold colon": "**{}:**", "markdown": "## {}", "bracket": "[{}]",
}  # fmt: skip
"""How headings are set off."""


def listed(sections: Mapping[str, Sequence[str]], mark: str = "- ", dress: str = "{}:") -> str:
    """Items under headings; a ``#`` in *mark* is the item's number."""
    return "\n\n".join(
        dress.format(name)
        + "\n"
        + "\n".join(mark.replace("#", str(number)) + text for number, text in enumerate(texts, 1))
        for name, texts in sections.items()
    )


def prose(sections: Mapping[str, Sequence[str]], dress: str = "{}:") -> str:
    return "\n\n".join(f"{dress.format(name)}\n\n{' '.join(texts)}" for name, texts in sections.items())


def inline(sections: Mapping[str, Sequence[str]], between: str = "\n\n") -> str:
    """Headings in the line of the text; with a blank *between*, all in one paragraph."""
    return between.join(f"{name}: {' '.join(texts)}" for name, texts in sections.items())


def tagged(sections: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(f"<{name.lower()}>\n{' '.join(texts)}\n</{name.lower()}>" for name, texts in sections.items())


def forms(sections: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {
        **{f"bullets {mark}": listed(sections, mark) for mark in ("- ", "* ", "• ", "#. ", "(#) ", "#) ")},
        **{f"bullets, {name}": listed(sections, dress=dress) for name, dress in DRESSES.items()},
        **{f"prose, {name}": prose(sections, dress) for name, dress in DRESSES.items()},
        "inline": inline(sections),
        "one paragraph": inline(sections, " "),
        "tags": tagged(sections),
    }
