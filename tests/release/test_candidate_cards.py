"""The card of a candidate: what is stated of its model, how it was asked, and in one line what nobody states."""

from __future__ import annotations

import re

import pytest

from gre_bench.release.pages.board_page import build_page_file_name
from gre_bench.reports.publish_editions import write_edition_pages
from tests.release.made_up import change, make

ASKED = "openai/gpt-4o-2024-05-13+reflect5+ensemble5"
UNLISTED = "quis/gpt-4-regenerated"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    state = tmp_path_factory.mktemp("cards")
    store = make(state, papers=4, names=(ASKED, UNLISTED, "other-paper"))
    change(store, f"update candidates set note = 'version not published' where candidate_id = '{UNLISTED}'")
    (state / "pages").mkdir()
    write_edition_pages(store, state / "pages")
    return state / "pages" / "candidates"


def card(folder, name: str) -> dict[str, str]:
    found = re.search(r'<dl class="about card">(.*?)</dl>', (folder / build_page_file_name(name)).read_text(), re.S)
    assert found
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", found[1]))


def test_a_model_under_a_protocol_has_the_card_of_the_model_and_the_protocol(folder):
    found = card(folder, ASKED)
    assert (found["Maker"], found["Model"], found["Protocol"]) == ("openai", "openai/gpt-4o", "reflect5, ensemble5")
    assert (found["Knowledge cutoff"], found["Size"]) == ("2023-10-31", "200 B, an estimate if the model is closed")
    assert found["Price"].startswith("5.00 USD read, 15.00 USD written") and "Unknown" not in found


def test_what_nobody_states_of_a_model_is_said_once(folder):
    found = card(folder, UNLISTED)
    assert found["Note"] == "version not published"
    assert found["Unknown"] == "maker, size, came out, knowledge cutoff, price"
    assert not {"Maker", "Model", "Protocol", "Size", "Price"} & found.keys()


@pytest.mark.parametrize("name", ["human", "other-paper"])
def test_who_is_no_model_lacks_nothing(folder, name):
    assert {"Unknown", "Maker", "Protocol"}.isdisjoint(card(folder, name))
