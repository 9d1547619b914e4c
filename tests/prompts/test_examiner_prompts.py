"""The prompts of examiners: put together they are the printed ones, and what is not printed says so."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest

from gre_bench.examiners.examiner import (
    Examiner,
    GradingItem,
    assemble_prompt,
    build_grading_chats,
    build_redundant_text_filter_chat,
    digest_prompts,
)
from gre_bench.examiners.templates import TEMPLATES
from gre_bench.prompts.library import FOLDER, load
from tests.prompts.papers import paper

OURS = sorted(
    str(path.relative_to(FOLDER).with_suffix(""))
    for room in ("dsba", "little_giants", "pre")
    for path in (FOLDER / room).rglob("*.toml")
)
NOTHING = GradingItem("1", "", "")
PRINTED_IN = {
    "human-relevance": (21, {"template": "human"}, "relevance"),
    "model-relevance": (20, {"template": "model"}, "relevance"),
    "test-relevance": (22, {"template": "human_test"}, "relevance"),
    "test-factuality": (23, {"template": "human_test"}, "factuality"),
    "test-fluency": (24, {"template": "human_test"}, "fluency"),
    "base": (19, {"template": "base", "granularity": "coarse"}, None),
}
PARTS = {
    "criteria/ht_gpt_relevance": 14, "criteria/mt_gpt_relevance": 14, "criteria/ad_relevance": 14,
    "criteria/ad_gpt_relevance": 14, "steps/human_complex": 15, "steps/model_complex_relevance": 15,
    "demonstrations/reason_best_relevance": 16,
}  # fmt: skip
STANDARD = ("p1", "p2", "p3", "p7", "p8")


def kim(table: int) -> str:
    """The cell texts of a table of Kim et al. 2023 (its rows stand before its caption), no blank left."""
    text = paper("001")
    end = text.index(f"\nTable {table}: ")
    start = text.rindex("\nTable ", 0, end) if table != 13 else text.index("Appendix D Example Prompts\n|")
    rows = text[start:end].split("\n", 2)[2]
    rows = rows.replace("&#124;", "").replace("\\.", ".").replace("\\u2019", "’").replace("\\u2013", "–")
    return bare(re.sub(r"^\|.*?\|.*?\|$", "", rows))


def kotonya() -> str:
    # Table 9 gives a score in the middle of each prompt.
    return bare(re.sub(r"\t-?0\.\d\d$", "", paper("003"), flags=re.MULTILINE))


def bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def said(tree: dict, aspect: str | None, item: str = "summary") -> str:
    examiner = Examiner.model_validate({"item": item, "granularity": "fine", **tree})
    [chat] = [
        chat for chat, of in zip(build_grading_chats(examiner, NOTHING), examiner.aspects, strict=True) if of == aspect
    ]
    assert chat.system == ""
    return chat.user


def part(name: str) -> str:
    return load(f"dsba/summary/{name}").user


def stepwise(name: str) -> list[str]:
    """What the text version damaged is compared elsewhere: forms in brackets, words cut at a line's end."""
    prompt = load(f"little_giants/summary/{name}")
    return [prompt.system, *(line for line in prompt.user.split("\n") if "<" not in line and "{" not in line)]


def standard(name: str) -> list[str]:
    opening, _, rest = load(f"little_giants/summary/{name}").user.split("\n\n")[0].partition(" Provide")
    return [opening, f"Provide{rest}"]


def of_pre(name: str) -> list[str]:
    prompt = load(f"pre/summary/{name}").user
    for field, own in (("source", "passage"), ("one", "summary1"), ("two", "summary2"), ("text", "summary")):
        prompt = prompt.replace(f"{{{field}}}", f"{{{own}}}")
    return [prompt]


def printed() -> dict[str, tuple[str, list[str]]]:
    """Prompt, or part of one → the text that prints it, and its pieces."""
    found = {name: (kim(table), [said(tree, aspect)]) for name, (table, tree, aspect) in PRINTED_IN.items()}
    for which, kind in product(("human", "model"), ("expert", "long", "short")):
        found[f"descriptions/{which}_{kind}"] = kim(13), [part(f"descriptions/{which}_{kind}")]
    found |= {name: (kim(table), part(name).split("\n")) for name, table in PARTS.items()}
    found |= {name: (kotonya(), standard(name)) for name in STANDARD}
    found |= {name: (kotonya(), stepwise(name)) for name in ("p9", "p10", "p11", "p14", "explanation")}
    pre = bare(paper("000").replace("```", ""))
    return found | {name: (pre, of_pre(name)) for name in ("pairwise", "five_level", "hundred_level")}


@pytest.mark.shared
def test_every_prompt_that_a_paper_prints_has_its_words():
    table = printed()
    damaged = "co-herently", "coherently"
    assert [
        (name, piece)
        for name, (text, pieces) in table.items()
        for piece in pieces
        if bare(piece) not in text and bare(piece) not in text.replace(*damaged)
    ] == []
    # A whole prompt leaves out nothing that is printed, and a part has its lines in their order.
    assert [name for name in PRINTED_IN if len(table[name][0]) - len(bare(table[name][1][0])) >= 40] == []
    for name in PARTS:
        text, pieces = table[name]
        places = [text.find(bare(piece)) for piece in pieces]
        assert places == sorted(places) and load(f"dsba/summary/{name}").kind == "verbatim", name
    for name in STANDARD:
        prompt = load(f"little_giants/summary/{name}")
        assert prompt.kind == "completed" and "Completed: the last two lines" in tomlnote(prompt.name), name
        assert prompt.user.split("\n\n")[1] == "News article: {source}\nSummary: {text}", name


@pytest.mark.shared
def test_the_rationale_and_filtering_prompts_are_the_printed_ones():
    rationale, printed = bare(said({"template": "rationale"}, "relevance")), kim(17)
    assert rationale in printed.replace('summary."', "summary.")
    filtering = build_redundant_text_filter_chat(Examiner(template="human", item="summary", filtering=True), NOTHING)
    assert bare(filtering.user) in kim(18)


@pytest.mark.shared
def test_the_damaged_prompts_are_mended_from_their_twins():
    printed = kotonya()
    p13 = load("little_giants/summary/p13").user
    table6 = printed[printed.index("1.Coherence:Assess") : printed.index("Table6:")]
    assert bare(p13[: p13.index("News article")]) == table6
    p10, p12 = (load(f"little_giants/summary/{name}").user for name in ("p10", "p12"))
    assert bare(p12) == bare(p10)
    p4 = load("little_giants/summary/p4").user
    assert bare(p4[p4.index("Provide") : p4.index("\n\n")]) in printed
    p5 = load("little_giants/summary/p5").user
    assert [int(each) for each in re.findall(r"\d+", p5[p5.index("scores are") :])] == list(range(101))


def test_every_prompt_states_its_source_and_what_was_changed():
    for name in OURS:
        prompt = load(name)
        assert prompt.kind in ("verbatim", "completed", "derived"), name
        derived = "derived" in prompt.source
        assert derived == (prompt.kind == "derived") or "without its explanation" in prompt.source, name
        assert (prompt.kind == "completed") == ("Completed:" in tomlnote(name)), name
        assert any(word in prompt.source for word in ("Table", "Appendix", "P9")), name
        if "/review/" in name or name.endswith("_review"):
            assert prompt.kind == "derived", name
            assert not re.search(r"\b(summar|news|article)", prompt.user, re.IGNORECASE), name


def tomlnote(name: str) -> str:
    return tomllib.loads(Path(FOLDER / f"{name}.toml").read_text()).get("note", "")


def test_each_template_has_a_prompt_for_summaries_and_for_reviews():
    for name, template in TEMPLATES.items():
        if template.answer == "nothing" or name == "generated":
            continue
        for item in ("summary", "review"):
            for granularity in template.granularities:
                examiner = Examiner(template=name, item=item, granularity=granularity)
                for aspect in examiner.aspects:
                    text = assemble_prompt(examiner, aspect).user
                    assert sorted(re.findall(r"\{(\w+)\}", text)) == ["source", "text"], (name, item, aspect)


def test_texts_are_never_read_as_fields():
    examiner = Examiner(template="human", item="review", granularity="fine")
    chat = build_grading_chats(examiner, GradingItem("1", "{text} {criteria} \\1", "{source} {aspect}"))[0]
    assert "Paper: {text} {criteria} \\1\nReview: {source} {aspect}\nScore:" in chat.user


def test_a_prompt_is_the_one_that_signatures_name():
    for template, granularity, *digests in (
        ("human", "fine", "5d88c71bb09d853d", "51c0d80638ab47bf"),
        ("model", "fine", "1883c18ebd92e413", "51d3b1809ebfe0c1"),
        ("human_test", "fine", "017477a3d8e477b8", "2e981055c0b4c269"),
        ("rationale", "fine", "422c2511ea060e7a", "84e6c395859dc95e"),
        ("base", "fine", "194d078cfa3847ce", "b772c51ddc73f8a9"),
        ("p1", "coarse", "eec3311a74c2d261", "d7a4fbdb0a466ef2"),
        ("p9", "coarse", "2e3eceb06b9c1fc7", "bc380c845c9c6eeb"),
        ("five_level", "coarse", "23ef5e894be2c42d", "496dd4d144ee38ca"),
    ):
        for item, digest in zip(("summary", "review"), digests, strict=True):
            examiner = Examiner.model_validate({"template": template, "granularity": granularity, "item": item})
            assert digest_prompts(examiner).startswith(digest), (template, item)


@pytest.mark.parametrize("item", ["summary", "review"])
def test_each_aspect_has_its_own_criteria_and_steps(item):
    for template in ("human", "model", "rationale"):
        examiner = Examiner(template=template, granularity="fine", item=item)
        texts = [assemble_prompt(examiner, aspect).user for aspect in examiner.aspects]
        for aspect, text in zip(examiner.aspects, texts, strict=True):
            label = f"{aspect.capitalize()} -" if template == "model" else f"{aspect.capitalize()}:"
            assert label in text
            assert template != "model" or f"Assign a {aspect} score from 1 to 5" in text
            others = [other for other in examiner.aspects if other != aspect]
            assert not any(f"{other.capitalize()} -" in text or f"{other.capitalize()}:" in text for other in others)
    for steps in ("base", "complex"):
        overall = Examiner(template="model", item=item, steps=steps)
        assert (
            "overall score" in assemble_prompt(overall, None).user
            or "quality rating scale" in assemble_prompt(overall, None).user
        )
