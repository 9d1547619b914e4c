"""An examiner is one value: what it is called, what it is, and what cannot be."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.examiners.examiner import (
    Examiner,
    GradingItem,
    build_grading_chats,
    digest_prompts,
    find_instruction_faults,
    parse_examiner,
)
from gre_bench.examiners.templates import TEMPLATES
from gre_bench.prompts.library import load

IMPOSSIBLE = [
    ({"template": "humane"}, "no template 'humane'; known: base, human, model"),
    ({"template": "p1", "granularity": "fine"}, 'template p1 is coarse only: set granularity = "coarse"'),
    ({"template": "human_test"}, 'template human_test is fine only: set granularity = "fine"'),
    ({"template": "human", "demonstration": "base_best"}, 'a demonstration shows one aspect: set granularity = "fine"'),
    ({"template": "base", "granularity": "fine", "demonstration": "base_best"}, "template base takes no demonstration"),
    ({"template": "p3", "aggregation": "logprob"}, "template p3 declares no scores that could have a probability"),
    ({"template": "rationale", "aggregation": "logprob"}, "template rationale asks for more than a score"),
    ({"template": "p9", "aggregation": "logprob"}, "template p9 asks for more than a score"),
    ({"mass": "raw"}, "mass belongs to aggregation logprob, not to direct"),
    ({"samples": 5}, "samples belongs to aggregation approximation, not to direct"),
    ({"rationale": True}, "template human does not ask for a rationale: leave rationale out, or take template rationale"),
    ({"template": "p1", "description": "expert"}, "template p1 has no task description and steps to vary"),
    ({"template": "p1", "criteria": "ad"}, "template p1 has no criteria to vary"),
    ({"template": "human", "steps": "complex", "description": "short"}, "the complex steps of template human hold their own"),
    ({"template": "random", "filtering": True}, "template random asks no LM"),
    ({"template": "generated"}, "instructions belong to template generated, which needs them"),
    ({"instructions": "Grade it."}, "instructions belong to template generated"),
    ({"template": "generated", "instructions": "2. Read\n3. Grade"}, "are not sound: the numbering begins with 2"),
    ({"binning": {"method": "equal_width", "bins": 1}}, "setting binning.bins: Input should be greater than or equal to 2"),
    ({"tempalte": "human"}, "unknown setting tempalte; known here: template"),
    ({"aggregation": "mean"}, "setting aggregation: Input should be 'direct', 'logprob' or 'approximation'"),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "line"), IMPOSSIBLE)
def test_what_no_paper_defines_is_refused_in_one_line(tree, line):
    with pytest.raises(SettingsError) as error:
        parse_examiner(tree, "grid entry 3")
    said = str(error.value)
    assert said.startswith("grid entry 3: ") and line in said and "\n" not in said


def test_the_whole_grid_of_the_papers_is_possible_and_every_identity_is_its_own():
    trees = [
        {"template": name, "granularity": each}
        for name, form in TEMPLATES.items()
        if name != "generated"
        for each in form.granularities
    ]
    trees += [{"template": "generated", "instructions": text} for text in ("1. Read\n2. Grade", "Grade it.")]
    fine = {"granularity": "fine"}
    options = {
        "demonstration": ("base_worst", "base_best", "reason_worst", "reason_best"), "steps": ("complex",),
        "aggregation": ("logprob", "approximation"), "description": ("expert", "short", "long"),
        "criteria": ("ad", "ad_gpt", "ht_gpt", "mt_gpt"),
    }  # fmt: skip
    for guideline in ("human", "model"):
        own = {"template": guideline, **fine}
        trees += [own | {option: value} for option, values in options.items() for value in values]
        trees += [own | {"aggregation": "logprob", "mass": "raw"}]
    trees += [{"template": "rationale", **fine, "demonstration": each} for each in ("reason_worst", "reason_best")]
    trees += [{"template": "human_test", **fine, "filtering": True, "binning": {"bins": 10}}]
    trees = [{**tree, "item": item} for tree in trees for item in ("summary", "review")]
    examiners = [parse_examiner(tree) for tree in trees]
    assert len({examiner.identity for examiner in examiners}) == len(trees)
    assert len({examiner.name for examiner in examiners}) == len(trees) / 2


@pytest.mark.parametrize(("names", "low", "high", "declared", "only"), [
    (("base", "human_test", "direct_assessment", "hundred_level", "p10", "p12", "p14"), 0, 100, 101, False),
    (("human", "model", "rationale", "p9", "p11", "p13", "explanation", "generated"), 1, 5, 5, False),
    (("five_level", "p7", "p8"), 1, 5, 5, True), (("p1",), 1, 5, 9, True), (("p2",), 0, 100, 11, True),
    (("p3",), 1, 5, 0, False), (("p4",), 0, 100, 21, True), (("p5",), 0, 100, 101, True),
    (("p6",), -100, 100, 5, True),
])  # fmt: skip
def test_each_template_has_the_scale_that_its_prompt_declares(names, low, high, declared, only):
    for name in names:
        scale = TEMPLATES[name].scale
        assert (scale.low, scale.high, len(scale.declared), scale.only_declared) == (low, high, declared, only), name


def test_what_changes_no_prompt_shares_its_digest_and_what_changes_another_thing_is_another_examiner():
    direct = Examiner(template="human", granularity="fine")
    sampled = Examiner(template="human", granularity="fine", aggregation="approximation")
    assert digest_prompts(direct) == digest_prompts(sampled) and direct.identity != sampled.identity
    assert (direct.times, sampled.times) == (1, 20)
    stated, other = (digest_prompts(Examiner(template="human", criteria=name)) for name in ("ht", "ad"))
    assert stated == digest_prompts(Examiner(template="human")) != other, "ht is what the criteria are anyway"
    one, other = (Examiner(template="generated", instructions=text) for text in ("Grade it.", "Grade it well."))
    assert one.identity != other.identity and one.name != other.name
    [chat] = build_grading_chats(one, GradingItem("1", "S {text}", "T"))
    assert chat.user == "Grade it.\nPaper: S {text}\nReview: T"


# Faults that the papers' authors took out by hand.
@pytest.mark.parametrize(("text", "wrong"), [
    ("1. Read\n2. Compare\n3. Score", []), ("Score 1 to 5.", []),
    ("Steps:\n1) Read\n2) Score\nExample:\n1) Read\n2) Score", []),
    ("2. Read\n3. Compare\n4. Judge\n4. Score", ["the numbering begins with 2", "number 4 follows 4"]),
    ("1. Read\n3. Score", ["number 3 follows 1"]), ("1. Read\nAnswer:\n2. Score\nAnswer: 3", ['2 stray "Answer:"']),
    ("1. Read the source. " * 20, ["it ends in a loop"]), ("1. " * 20, ["there is no text"]),
    ("Article: {source_text}", ["a field {source_text} is left in the text"]), (" \n", ["there is no text"]),
])  # fmt: skip
def test_the_checks_find_what_the_paper_found(text, wrong):
    assert find_instruction_faults(text) == wrong


def test_the_printed_prompts_pass_the_check_of_numbering():
    for name in (f"p{number}" for number in range(1, 15)):
        text = load(TEMPLATES[name].prompt.format(item="summary")).user
        assert not [each for each in find_instruction_faults(text) if "number" in each], name
