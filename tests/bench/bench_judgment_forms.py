"""Measures the share of judgments by rule that stay the same when the layout of real ICLR 2023 reviews changes.

Run it as `python -m tests.bench.bench_judgment_forms [first] [last]`; the default rows are 700-899. Lists become prose
under the same headings, prose becomes lists, headings move to the first line of the text, and sections are reordered.
"""

from __future__ import annotations

import random
import re
from collections import Counter

from gre_bench.core.review_text import Section, split_into_sections
from gre_bench.writing.rules.judgments import WRITER, write_rule_judgments
from tests.bench.bench_rule_judgments import parse_row_range, real_rows


def _texts(section: Section) -> list[str]:
    """Returns the sentences of *section*, one per line, with capital letter and final period as in prose."""
    found = []
    for one in section.sentences:
        text = " ".join(one.text.split())
        if text:
            text = text if text[-1] in ".?!:" else text.rstrip(",; ") + "."
            found.append(text[0].upper() + text[1:])
    return found


def _heading(section: Section) -> str:
    return " ".join(section.heading.split())


def prose(sections: list[Section]) -> str:
    return "\n\n".join(f"{_heading(one)}\n\n{' '.join(_texts(one))}".strip() for one in sections)


def bullets(sections: list[Section]) -> str:
    return "\n\n".join(
        f"{_heading(one)}\n" + "\n".join(f"- {text}" for text in _texts(one)) for one in sections
    ).strip()


def with_inline_headings(sections: list[Section]) -> str:
    return "\n\n".join(
        f"{_heading(one).rstrip(': *')}: {' '.join(_texts(one))}" if one.heading else " ".join(_texts(one))
        for one in sections
    )


def shuffled(sections: list[Section]) -> str:
    """Returns the review with the sections of ICLR's form in another order, otherwise unchanged."""
    blocks: list[list[str]] = []
    for one in sections:
        text = one.heading + "".join(part.mark + part.text + part.gap for part in one.sentences)
        if not blocks or re.match(r"(?:Summary Of|Strength And Weak|Clarity, Quality)", one.heading):
            blocks.append([])
        blocks[-1].append(text)
    random.Random(0).shuffle(blocks)
    return "\n\n".join("".join(block).strip() for block in blocks)


FORMS = {"prose": prose, "bullets": bullets, "inline headings": with_inline_headings, "shuffled": shuffled}


def plain(text: str) -> bool:
    """Whether a review has neither list items marked "+" and "-" next to each other nor a list of references."""
    return not re.search(r"^\s*\(?\+\)?\s", text, re.M) and not re.search(r"^\s*\[\w+\]", text, re.M)


def main() -> None:
    first, last = parse_row_range(700, 899)
    rows = real_rows(first, last)
    texts = [row["review"] for row in rows if row["review"] and plain(row["review"])]
    print(
        f"{WRITER} on rows {first}-{last}: {len(texts)} of {len(rows)} reviews, those without +/- lists and reference lists"
    )
    for name, form in FORMS.items():
        same = all_lines = 0
        for text in texts:
            before = Counter(write_rule_judgments(text).splitlines())
            after = Counter(write_rule_judgments(form(list(split_into_sections(text)))).splitlines())
            same += 2 * (before & after).total()
            all_lines += before.total() + after.total()
        print(f"{name:16} {same / all_lines:.3f} of the lines of both forms are the same")


if __name__ == "__main__":
    main()
