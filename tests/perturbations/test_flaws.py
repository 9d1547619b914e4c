"""Planting flaws by rule: one place changes, nothing else, and what cannot be planted cleanly is refused with a reason."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import PerturbationError, SettingsError
from gre_bench.core.judgments import is_judgment
from gre_bench.perturbations import scripted
from gre_bench.perturbations.planted_flaws import HARMLESS, load_flaws, plant_flaw, plant_two_flaws, sha256
from gre_bench.writing.rules.judgments import write_rule_judgments
from tests.conftest import ROOT, SIXTEEN

CATALOGUE, REFUSED = load_flaws()
PAPERS = {row["paper_id"]: row["text"] for row in map(json.loads, (SIXTEEN / "papers.jsonl").open())}
PLANTED = {}
for _flaw in CATALOGUE.values():
    for _key, _text in PAPERS.items():
        with suppress(PerturbationError):
            PLANTED[_flaw.name, _key] = plant_flaw(_flaw, _text, _key)

TEXT = """## 1 Method

The encoder reads sparse gradients and the decoder writes sparse gradients, which costs nothing in any of our settings.

## 2 Results

On the first benchmark the encoder with sparse gradients reaches 81.4 points, which outperforms the decoder by far here.

The abstract of the encoder and the decoder said 81.4 points as well, and sparse gradients are again the reason for it.

## 3 Limitations

The encoder fails when the gradients are dense. Limitations of the decoder with dense gradients are the same as above.

## 4 Conclusion

Sparse encoders pay for themselves, also in the dense case, as the encoder and the decoder share their gradients here.
"""


def test_every_shipped_flaw_is_sound_and_fits_some_paper_of_the_sample():
    assert not REFUSED
    families = {"contradiction", "omission", "malpractice", "harmless"}
    assert len(CATALOGUE) == 12 and {flaw.family for flaw in CATALOGUE.values()} == families
    assert {name for name, _ in PLANTED} >= set(CATALOGUE) - {"limitation"}


@pytest.mark.parametrize("flaw", CATALOGUE)
def test_a_planted_text_differs_at_the_recorded_place_only_and_is_described_by_judgments_of_the_paper(flaw):
    kind, worded = CATALOGUE[flaw], []
    for (name, key), planted in PLANTED.items():
        if name != flaw:
            continue
        text = PAPERS[key]
        assert planted.text != text
        assert planted.text[: planted.start] == text[: planted.start]
        assert planted.text[planted.new_end :] == text[planted.end :]
        assert planted.describe_edit()["before"] == sha256(text) and planted.describe_edit()["after"] == sha256(
            planted.text
        )
        assert planted.end - planted.start <= (1600 if kind.family == "omission" else 20)
        assert plant_flaw(kind, text, key) == planted
        assert kind.family != "omission" or not re.search(kind.find, planted.text)
        worded.append(tuple(planted.fill_placeholders(kind.judgments)))
    assert all(is_judgment(line) and "{" not in line for lines in worded for line in lines)
    assert flaw == HARMLESS or len(set(worded)) == len(worded)


def test_a_contradiction_leaves_the_other_place():
    planted = plant_flaw(CATALOGUE["number"], TEXT, "p")
    assert (TEXT.count("81.4"), planted.text.count("81.4")) == (2, 1)
    assert planted.fields["old"] == "81.4" and planted.text.count(planted.fields["new"]) == 1


ELSEWHERE = "The epochs, images and constants of sparse encoders and decoders are those of dense training, as before."


@pytest.mark.parametrize("flaw, text, code, said", [
    ("number", TEXT.replace("81.4", "90.1", 1), "nowhere", "no passage"),
    # a number with another meaning, and a claim without results
    ("size", f"We train for 100 epochs on one V100 GPU, and show 100 images of the decoder in the figures below it.\n\n{ELSEWHERE}", "nowhere", "no passage"),
    ("number", f"The p-value is 0.01 for the encoder, and the constant of the sparse decoder is 0.01 in the proofs.\n\n{ELSEWHERE}", "nowhere", "no passage"),
    ("comparison", f"Sparse training outperforms dense training of encoders, as is known (Smith, 2019), for decoders.\n\n{ELSEWHERE}", "nowhere", "no passage"),
    # an omission of which the rest of the paper speaks, and malpractice that the paper admits already
    ("limitation", f"{TEXT}\nThe limitations of the encoder and of sparse gradients are discussed at length by the authors of the decoder.\n", "not_clean", "so that nothing else speaks of it"),
    ("limitation", f"{TEXT}\n## 5 Limitations of the encoder\n", "not_clean", "so that nothing else speaks of it"),
    ("best-seed", TEXT.replace("here.", "here. We report the best of five seeds.", 1), "not_clean", "something like it already"),
])  # fmt: skip
def test_a_flaw_that_cannot_be_planted_cleanly_is_refused_with_a_reason(flaw, text, code, said):
    with pytest.raises(PerturbationError, match=said) as refusal:
        plant_flaw(CATALOGUE[flaw], text, "p")
    assert refusal.value.code == code


def test_an_omission_takes_the_heading_of_a_section_that_would_be_empty():
    planted = plant_flaw(CATALOGUE["limitation"], TEXT, "p")
    assert "imitation" not in planted.text and "## 2 Results" in planted.text and "## 4 Conclusion" in planted.text


def test_two_flaws_are_of_two_families_and_refusals_are_counted():
    used, refusals = Counter(), Counter()
    rows = [plant_two_flaws(text, key, list(CATALOGUE.values()), used, refusals) for key, text in PAPERS.items()]
    pairs = [row for row in rows if row]
    assert len(pairs) > len(rows) / 2
    for f, g, harmless in pairs:
        assert f.flaw.family != g.flaw.family and harmless.flaw.name == HARMLESS
    fitting = sum(name != HARMLESS for name, _ in PLANTED)
    assert fitting + sum(refusals[flaw, code] for flaw, code in refusals if flaw != HARMLESS) == 11 * len(PAPERS)


GOOD = (ROOT / "data" / "flaws" / "number.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "change, reason",
    [
        (("The reviewer criticizes that the paper", "It is bad that the paper"), "no judgment: 'It is bad"),
        (("{topic}", "{place}"), "no field {place}"),
        (("(?P<old>", "(?P<number>"), "needs a group named old"),
        (("(?P<old>", "(((?P<old>"), "no regular expression"),
        (('rule = "digits"', 'rule = "guess"'), "rule: Input should be"),
        (("oblique = [", "unclear = ["), "unclear: Extra inputs"),
        (("title", "title ="), "cannot be read"),
    ],
)
def test_a_file_that_holds_no_flaw_is_refused_in_one_line_and_the_others_stay(tmp_path, change, reason):
    shutil.copytree(ROOT / "data" / "flaws", tmp_path, dirs_exist_ok=True)
    (tmp_path / "mine.toml").write_text(GOOD.replace(*change), encoding="utf-8")
    known, (line,) = load_flaws(tmp_path)
    assert len(known) == 12 and "mine" not in known
    assert "mine.toml" in line and reason.split(":")[0] in line and "\n" not in line


def test_a_flaw_that_changes_nothing_and_a_folder_without_the_harmless_edit_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"harmless\.toml"):
        load_flaws(tmp_path)
    nothing = GOOD.replace('rule = "digits"', 'rule = "words"').replace("twice = true", "")
    (tmp_path / "nothing.toml").write_text(nothing + '\n[words]\n"81.4" = "81.4"\n', encoding="utf-8")
    for name in ("number", "harmless"):
        shutil.copy(ROOT / "data" / "flaws" / f"{name}.toml", tmp_path)
    with pytest.raises(PerturbationError) as refusal:
        plant_flaw(load_flaws(tmp_path)[0]["nothing"], TEXT, "p")
    assert refusal.value.code == "nothing_changed"


POOL = [f"Sentence number {number} of the reviewers is about the model." for number in range(20)]


@given(st.integers(0, 1000))
def test_scripts_say_what_their_names_say(seed):
    pairs = (plant_two_flaws(text, key, list(CATALOGUE.values()), Counter(), Counter()) for key, text in PAPERS.items())
    (f, g, _) = next(filter(None, pairs))

    def said(script, planted, others=()):
        return scripted.write_scripted_review(script, POOL, planted, others, random.Random(seed))

    assert any(line in said("plain-100", f) for line in f.fill_placeholders(f.flaw.plain))
    assert any(line in said("oblique-100", f) for line in f.fill_placeholders(f.flaw.oblique))
    lines = {line.removeprefix("- ") for line in said("plain-0", f).splitlines()}
    assert lines <= {*POOL, "", "Summary:", "Weaknesses:"}
    assert said("plain-100", None) == said("plain-0", None)
    for planted, others in ((f, (g,)), (None, (f, g))):
        assert g.fill_placeholders(g.flaw.plain)[0] in said("listing-100", planted, others)
    assert said("listing-100", f, (f, g)).count(f.fill_placeholders(f.flaw.plain)[0]) == 1
    assert any(line in said("absent-100", f, (f, g)) for line in g.fill_placeholders(g.flaw.plain))


def test_an_absent_flaw_is_any_that_the_text_has_not():
    f = PLANTED["number", "s01"]
    every = [replace(f, flaw=flaw) for flaw in CATALOGUE.values() if flaw.plain]
    reviews = [scripted.write_scripted_review("absent-100", POOL, f, every, random.Random(seed)) for seed in range(200)]
    text = "\n".join(reviews)
    named = {item.flaw.name for item in every if any(line in text for line in item.fill_placeholders(item.flaw.plain))}
    assert named == {flaw.name for flaw in CATALOGUE.values() if flaw.plain} - {"number"}


def test_a_script_names_a_flaw_as_often_as_it_says():
    item = PLANTED["number", "s01"]
    reviews = [scripted.write_scripted_review("plain-25", POOL, item, (), random.Random(seed)) for seed in range(2000)]
    named = sum(any(line in text for line in item.fill_placeholders(item.flaw.plain)) for text in reviews)
    assert abs(named / 2000 - 0.25) < 0.04


def test_the_writer_by_rule_keeps_plain_sentences_of_every_flaw():
    """In nine of ten reviews at least, else a script's true detections would measure the writer."""
    kept = []
    for (name, _), item in PLANTED.items():
        for number, line in enumerate(item.fill_placeholders(CATALOGUE[name].plain)):
            review = scripted.build_review_with_hidden_flaws(
                scripted.sample_sentences(POOL, random.Random(number)), [line], random.Random(number)
            )
            terms = set(item.fields["topic"].split(" and "))
            kept.append(any(term in write_rule_judgments(review) for term in terms))
    assert sum(kept) / len(kept) > 0.9


@pytest.mark.parametrize("script", ["plain", "plain-101", "vague-50", "plain-5 0"])
def test_an_unknown_script_is_refused(script):
    with pytest.raises(SettingsError, match="no script"):
        scripted.parse_script(script)
