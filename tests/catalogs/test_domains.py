"""Domains: every one is whole, every change is applied or left out with a reason, a wrong entry is one line."""

from __future__ import annotations

import tomllib

import pytest

from gre_bench.catalogs.domains import PEER_REVIEW, load_domain, load_domains
from gre_bench.core import controls
from gre_bench.core.errors import SettingsError
from gre_bench.core.judgments import count_judgments
from gre_bench.core.records import Paper, Prediction
from gre_bench.metrics.cases import MissingText
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.pipeline.planning import build_synopses
from gre_bench.prompts.library import fill_prompt, load, render
from tests.conftest import ROOT
from tests.one_line import one_line

SHIPPED = list(load_domains().values())
TABLE = """
[[domain]]
name = "films"
item = "film"
synopsis = "categories"
synopsis_of = ["title", "categories"]
predict = "predict_judgments_yelp"
judgments = "judgments_yelp"
generic = "The reviewer appreciates the plot."
source = "here"
perturbations = [CHANGES]
left_out = { abstract_only = "no abstract", copied_abstract = "no abstract" }
"""


def table(tmp_path, old="", new=""):
    changes = ", ".join(f'"{name}"' for name in PERTURBATIONS if name not in ("abstract_only", "copied_abstract"))
    path = tmp_path / "domains.toml"
    text = TABLE.replace("CHANGES", changes)
    path.write_text(text.replace(old, new, 1) if old else text)
    return path


def test_the_paper_s_three_domains_are_there_with_the_changes_that_each_allows():
    synopses = {domain.name: (domain.synopsis, domain.synopsis_of) for domain in SHIPPED}
    assert synopses == {
        "peer-review": ("abstract", ("abstract",)),
        "review-quality": ("abstract", ("title", "abstract")),
        "yelp": ("categories", ("categories",)),
        "proposals": ("abstract", ("abstract",)),
    }
    assert load_domain("proposals").grades == ("C", "B", "A")
    peers, yelp = load_domain(PEER_REVIEW), load_domain("yelp")
    assert set(peers.perturbations) == set(PERTURBATIONS)
    assert peers.generic == load_domain("review-quality").generic == controls.GENERIC_JUDGMENTS
    assert (peers.predict, peers.judgments) == ("predict_judgments", "judgments")
    assert (
        "random_replacement" in yelp.perturbations and yelp.explain_excluded_perturbation("random_replacement") is None
    )
    assert {"elongation", "abstract_only"} <= set(
        yelp.left_out
    ) and "no sections" in yelp.explain_excluded_perturbation("elongation")


@pytest.mark.parametrize("domain", SHIPPED, ids=lambda domain: domain.name)
def test_a_domain_has_a_generic_review_of_the_papers_proportions_and_prompts_that_speak_of_its_item(domain):
    assert count_judgments(domain.generic) == (8, 0)
    opened = [line.split()[2] for line in domain.generic.splitlines()]
    assert opened == ["appreciates"] * 3 + ["criticizes"] * 2 + ["questions"] + ["suggests"] * 2
    predict, judgments = load(domain.predict), load(domain.judgments)
    assert domain.item in predict.system and domain.item in judgments.system
    chat = render(Prediction(None, None, "The reviewer suggests a.", domain.predict))
    assert chat.user.count("Not available") == 2 and domain.item in chat.user
    assert fill_prompt(domain.judgments, review="A review.").user == "A review."


def test_a_synopsis_is_made_of_the_parts_that_the_domain_names_and_a_new_domain_is_an_entry_alone(tmp_path):
    def synopsis(domain, **paper):
        known = build_synopses(Paper("p1", **paper), {}, {"p1": "Thai, Bars"}, domain.synopsis_of)
        return known["abstract"]

    told = {"title": "T", "abstract": "A."}
    assert synopsis(load_domain("review-quality"), **told) == "T\n\nA."
    assert synopsis(load_domain("yelp"), **told) == "Thai, Bars"
    assert synopsis(load_domain("peer-review"), title="T", abstract="  ") == MissingText("no_abstract")
    assert synopsis(load_domain("films", table(tmp_path)), **told) == "T\n\nThai, Bars"


def test_an_unknown_domain_or_change_is_one_line_with_the_known_ones():
    with one_line("no domain 'papers'; the domains are: peer-review, review-quality, yelp, proposals"):
        load_domain("papers")
    with one_line("no change 'shorten'; the changes are: sentence_deletion, ", kind=SettingsError):
        load_domain("yelp").explain_excluded_perturbation("shorten")


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('"injection"', '"injektion"', r"entry 1 \(films\): .*no change 'injektion'"),
        ('"injection", ', "", "change injection has to stand once"),
        ('"injection", ', '"injection", "injection", ', "change injection has to stand once"),
        ('abstract_only = "no abstract", ', "", "change abstract_only has to stand once"),
        ("perturbations = [", 'perturbations = ["abstract_only", ', "change abstract_only has to stand once"),
        ('"predict_judgments_yelp"', '"predict_nothing"', "no prompt 'predict_nothing'; the prompts are: "),
        ('"predict_judgments_yelp"', '"judgments"', "prompt judgments takes review, and has to take synopsis, x"),
        ('judgments = "judgments_yelp"', 'judgments = "predict_judgments"', "has to take review"),
        ('synopsis_of = ["title", "categories"]', 'synopsis_of = ["title"]', "synopsis_of lacks categories"),
        ('synopsis_of = ["title", "categories"]', 'synopsis_of = ["year"]', "synopsis_of.0: "),
        ("The reviewer appreciates", "This reviewer appreciates", "generic: .*not a judgment"),
        ('source = "here"', 'source = "here"\ngrades = ["A", "A"]', "grades are at least two different names"),
        ('source = "here"', 'sauce = "here"', "sauce: Extra inputs"),
        ('name = "films"', 'name = "Films"', "name: "),
        ("[[domain]]", "[domain]", r"write every entry as \[\[domain\]\]"),
        ("[[domain]]", "[[domains]]", r"write every entry as \[\[domain\]\]"),
        ('item = "film"', "item = film", "cannot be read"),
    ],
)
def test_a_wrong_entry_is_one_line_that_names_it(tmp_path, old, new, part):
    path = table(tmp_path, old, new)
    with pytest.raises(SettingsError, match=part) as caught:
        load_domains(path)
    assert "\n" not in str(caught.value)


def test_a_domain_named_twice_and_a_change_that_needs_an_abstract_where_there_is_none_are_refused(tmp_path):
    path = table(tmp_path)
    path.write_text(path.read_text() * 2)
    with pytest.raises(SettingsError, match="entry 2: films is already there"):
        load_domains(path)
    path = table(tmp_path, 'abstract_only = "no abstract", ', "")
    path.write_text(path.read_text().replace("perturbations = [", 'perturbations = ["abstract_only", '))
    with pytest.raises(SettingsError, match="change abstract_only needs an abstract, and the synopsis is categories"):
        load_domains(path)


def test_the_shipped_file_explains_every_field():
    text = (ROOT / "data" / "domains.toml").read_text()
    header = text[: text.index("\n[[domain]]")]
    fields = {key for entry in tomllib.loads(text)["domain"] for key in entry}
    assert all(key in header for key in fields)
