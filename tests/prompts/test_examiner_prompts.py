"""The prompts of examiners: put together they are the printed ones, and what is not printed says so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gre_bench.examiners.examiner import Examiner, Item, chats, filter_chat, sha256, wording
from gre_bench.examiners.templates import TEMPLATES
from gre_bench.prompts.library import FOLDER, load
from tests.prompts.papers import paper

OURS = sorted(
    str(path.relative_to(FOLDER).with_suffix(""))
    for room in ("dsba", "little_giants", "pre")
    for path in (FOLDER / room).rglob("*.toml")
)
NOTHING = Item("1", "", "")
PRINTED_IN = {
    "human-relevance": (21, {"template": "human"}, "relevance"),
    "model-relevance": (20, {"template": "model"}, "relevance"),
    "test-relevance": (22, {"template": "human_test"}, "relevance"),
    "test-factuality": (23, {"template": "human_test"}, "factuality"),
    "test-fluency": (24, {"template": "human_test"}, "fluency"),
    "base": (19, {"template": "base", "granularity": "coarse"}, None),
}


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
    [chat] = [chat for chat, of in zip(chats(examiner, NOTHING), examiner.aspects, strict=True) if of == aspect]
    assert chat.system == ""
    return chat.user


def part(name: str) -> str:
    return load(f"dsba/summary/{name}").user


@pytest.mark.shared
@pytest.mark.parametrize("case", PRINTED_IN)
def test_a_composed_prompt_is_the_printed_one(case):
    table, tree, aspect = PRINTED_IN[case]
    printed = kim(table)
    assert bare(said(tree, aspect)) in printed
    assert len(printed) - len(bare(said(tree, aspect))) < 40, "the table prints more than that"


@pytest.mark.shared
@pytest.mark.parametrize("which", ["human", "model"])
@pytest.mark.parametrize("kind", ["expert", "long", "short"])
def test_a_task_description_is_the_printed_one(which, kind):
    assert bare(part(f"descriptions/{which}_{kind}")) in kim(13)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("table", "name"),
    [
        (14, "criteria/ht_gpt_relevance"), (14, "criteria/mt_gpt_relevance"), (14, "criteria/ad_relevance"),
        (14, "criteria/ad_gpt_relevance"), (15, "steps/human_complex"), (15, "steps/model_complex_relevance"),
        (16, "demonstrations/reason_best_relevance"),
    ],
)  # fmt: skip
def test_a_part_is_the_printed_one(table, name):
    assert load(f"dsba/summary/{name}").kind == "verbatim"
    words = [bare(line) for line in part(name).split("\n")]
    printed = kim(table)
    places = [printed.find(line) for line in words]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.shared
def test_the_rationale_and_filtering_prompts_are_the_printed_ones():
    rationale, printed = bare(said({"template": "rationale"}, "relevance")), kim(17)
    assert rationale in printed.replace('summary."', "summary.")
    filtering = filter_chat(Examiner(template="human", item="summary", filtering=True), NOTHING)
    assert bare(filtering.user) in kim(18)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["p1", "p2", "p3", "p7", "p8"])
def test_a_standard_prompt_is_the_printed_one_but_for_its_input(name):
    prompt = load(f"little_giants/summary/{name}")
    text, added = prompt.user.split("\n\n")
    opening, _, rest = text.partition(" Provide")
    assert prompt.kind == "completed"
    assert "Completed: the last two lines" in tomlnote(prompt.name)
    assert added == "News article: {source}\nSummary: {text}"
    assert bare(f"Provide{rest}") in kotonya()
    assert bare(opening) in kotonya()


@pytest.mark.shared
@pytest.mark.parametrize("name", ["p9", "p10", "p11", "p14", "explanation"])
def test_a_stepwise_prompt_is_the_printed_one(name):
    printed = kotonya()
    prompt = load(f"little_giants/summary/{name}")
    assert bare(prompt.system) in printed
    # What the text version damaged is compared line by line elsewhere: forms in brackets, words cut at a line's end.
    lines = [line for line in prompt.user.split("\n") if "<" not in line and "{" not in line]
    mended = printed.replace("co-herently", "coherently")
    assert not [line for line in lines if bare(line) not in printed and bare(line) not in mended]


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


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pairwise", "five_level", "hundred_level"])
def test_the_prompts_of_pre_are_the_printed_ones(name):
    printed = bare(paper("000").replace("```", ""))
    prompt = load(f"pre/summary/{name}").user
    for field, own in (("source", "passage"), ("one", "summary1"), ("two", "summary2"), ("text", "summary")):
        prompt = prompt.replace(f"{{{field}}}", f"{{{own}}}")
    assert bare(prompt) in printed


@pytest.mark.parametrize("name", OURS)
def test_a_prompt_states_its_source_and_what_was_changed(name):
    prompt = load(name)
    assert prompt.kind in ("verbatim", "completed", "derived")
    assert ("derived" in prompt.source) == (prompt.kind == "derived") or "without its explanation" in prompt.source
    assert (prompt.kind == "completed") == ("Completed:" in tomlnote(name))
    assert any(word in prompt.source for word in ("Table", "Appendix", "P9"))
    if "/review/" in name or name.endswith("_review"):
        assert prompt.kind == "derived"
        assert not re.search(r"\b(summar|news|article)", prompt.user, re.IGNORECASE), prompt.user


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
                    text = wording(examiner, aspect).user
                    assert sorted(re.findall(r"\{(\w+)\}", text)) == ["source", "text"], (name, item, aspect)


def test_texts_are_never_read_as_fields():
    examiner = Examiner(template="human", item="review", granularity="fine")
    chat = chats(examiner, Item("1", "{text} {criteria} \\1", "{source} {aspect}"))[0]
    assert "Paper: {text} {criteria} \\1\nReview: {source} {aspect}\nScore:" in chat.user


@pytest.mark.parametrize(
    ("template", "granularity", "summary", "review"),
    [
        ("human", "fine", "5d88c71bb09d853d", "51c0d80638ab47bf"),
        ("model", "fine", "1883c18ebd92e413", "51d3b1809ebfe0c1"),
        ("human_test", "fine", "017477a3d8e477b8", "2e981055c0b4c269"),
        ("rationale", "fine", "422c2511ea060e7a", "84e6c395859dc95e"),
        ("base", "fine", "194d078cfa3847ce", "b772c51ddc73f8a9"),
        ("p1", "coarse", "eec3311a74c2d261", "d7a4fbdb0a466ef2"),
        ("p9", "coarse", "2e3eceb06b9c1fc7", "bc380c845c9c6eeb"),
        ("five_level", "coarse", "23ef5e894be2c42d", "496dd4d144ee38ca"),
    ],
)
def test_a_prompt_is_the_one_that_signatures_name(template, granularity, summary, review):
    for item, digest in (("summary", summary), ("review", review)):
        assert sha256(Examiner(template=template, granularity=granularity, item=item)).startswith(digest)


@pytest.mark.parametrize("item", ["summary", "review"])
def test_each_aspect_has_its_own_criteria_and_steps(item):
    for template in ("human", "model", "rationale"):
        examiner = Examiner(template=template, granularity="fine", item=item)
        texts = [wording(examiner, aspect).user for aspect in examiner.aspects]
        for aspect, text in zip(examiner.aspects, texts, strict=True):
            label = f"{aspect.capitalize()} -" if template == "model" else f"{aspect.capitalize()}:"
            assert label in text
            assert template != "model" or f"Assign a {aspect} score from 1 to 5" in text
            others = [other for other in examiner.aspects if other != aspect]
            assert not any(f"{other.capitalize()} -" in text or f"{other.capitalize()}:" in text for other in others)
    for steps in ("base", "complex"):
        overall = Examiner(template="model", item=item, steps=steps)
        assert "overall score" in wording(overall, None).user or "quality rating scale" in wording(overall, None).user
