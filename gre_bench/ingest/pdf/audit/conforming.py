"""Makes MuPDF draw a PDF as ISO 32000-2 says: without the content of hidden layers and the colorant ``/None``."""

from __future__ import annotations

import re
from typing import Any

NONE = re.compile(r"/Separation\s*/None(?![\w.-])|/DeviceN\s*\[((?:\s*/None(?![\w.-]))+)\s*\]")
TOKEN = re.compile(r"\[|\]|/And|/Or|/Not|(\d+) \d+ R")
DEEPEST = 20
"""How deeply nested arrays of a visibility expression are read."""


def conform(document: Any) -> bool:
    """Changes the PyMuPDF *document*, in memory only, so that MuPDF draws it as ISO 32000-2 says.

    - A layer membership (``/OCMD``) makes its content depend on layers. If its expression (``/VE``) or its policy
      (``/P``, 8.11.2.2) hides the content, MuPDF will no longer show that content.
    - The colorant ``/None`` (8.6.6.4, 8.6.6.5) leaves no mark on paper. Paint in it becomes white.

    Returns whether any layer membership hides its content.
    """
    on = layers_on(document)
    hidden = False
    white: dict[int, int] = {}
    for xref in range(1, document.xref_length()):
        text = document.xref_object(xref, compressed=True)
        if on and "/OCMD" in text and not _shows(document, xref, on):
            group, shown = next(iter(on.items()))
            document.xref_set_key(xref, "VE", "null")
            document.xref_set_key(xref, "OCGs", f"{group} 0 R")
            document.xref_set_key(xref, "P", "/AllOff" if shown else "/AnyOn")
            hidden = True
        if "/None" in text and NONE.search(text):
            document.update_object(xref, NONE.sub(lambda match: _white(document, match, white), text))
    return hidden


def layers_on(document: Any) -> dict[int, bool]:
    """Returns {object number of a layer: whether the layer is on when *document* is opened}."""
    groups = document.get_ocgs()
    if not groups:
        return {}
    given = document.get_layer(-1)
    base = given.get("basestate") != "OFF"
    return {xref: (base or xref in given.get("on", ())) and xref not in given.get("off", ()) for xref in groups}


def _shows(document: Any, xref: int, on: dict[int, bool]) -> bool:
    """Whether the layer membership (``/OCMD``) with the object number *xref* shows its content.

    *on* says for each layer, by object number, whether the layer is on.
    """
    kind, expression = document.xref_get_key(xref, "VE")
    if kind in ("array", "xref"):
        return _visible(document, expression, on)
    members = [on[int(number)] for number in re.findall(r"(\d+) \d+ R", document.xref_get_key(xref, "OCGs")[1] or "")
               if int(number) in on]  # fmt: skip
    policy = document.xref_get_key(xref, "P")[1]
    by_policy = {"/AllOn": all(members), "/AnyOff": not all(members), "/AllOff": not any(members)}
    return not members or by_policy.get(policy, any(members))


def _visible(document: Any, expression: str, on: dict[int, bool]) -> bool:
    """Whether the visibility *expression* (``/VE``) shows its content; a malformed expression shows the content.

    *on* says for each layer, by object number, whether the layer is on.
    """
    tokens = [(match.group(), match.group(1)) for match in TOKEN.finditer(expression)]

    def read(index: int, depth: int) -> tuple[bool, int]:
        token, number = tokens[index]
        if number is not None:
            group = int(number)
            if group in on:
                return on[group], index + 1
            inner = document.xref_object(group, compressed=True) if 0 < group < document.xref_length() else ""
            nested = inner.startswith("[") and depth < DEEPEST
            return (_visible(document, inner, on) if nested else True), index + 1
        if token != "[" or depth >= DEEPEST:
            raise ValueError
        operator, parts, index = tokens[index + 1][0], [], index + 2
        while tokens[index][0] != "]":
            part, index = read(index, depth + 1)
            parts.append(part)
        if operator == "/Not":
            return not all(parts), index + 1
        return (all(parts) if operator == "/And" else any(parts)), index + 1

    try:
        return read(0, 0)[0]
    except (IndexError, ValueError, RecursionError):
        return True


def _white(document: Any, match: re.Match[str], functions: dict[int, int]) -> str:
    """Returns the text of a colour space that begins as *match*, a match of `NONE`, and paints only white.

    Such a colour space needs a function that turns any amount of its colorants into white. *functions* is {number of
    colorants: object number of such a function}. A missing function is added to *functions* and to *document*.
    """
    inks = len(re.findall("/None", match.group(1))) if match.group(1) else 1
    if inks not in functions:
        functions[inks] = document.get_new_xref()
        domain = " ".join(["0 1"] * inks)
        document.update_object(functions[inks], f"<</FunctionType 4/Domain[{domain}]/Range[0 1]>>")
        document.update_stream(functions[inks], ("{" + "pop " * inks + "1}").encode())
    return f"{match.group()}/DeviceGray {functions[inks]} 0 R"
