"""The papers' claims: those of the file against the papers' own tables, and those that a board can answer."""

from __future__ import annotations

import json

import pytest

from gre_bench.catalogs.claims import claims
from gre_bench.catalogs.models import load as load_models
from gre_bench.changes.catalog import CHANGES
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import METRICS
from gre_bench.core.published import printed as printed_cells
from gre_bench.examiners.results import LAYOUTS
from gre_bench.prompts.conditions import condition
from gre_bench.ranking import published
from gre_bench.reports import claims as reports
from gre_bench.reports.claims import _larger, _newer, _on_effects, edition_claims, study_claims
from gre_bench.store.queries import LEADERBOARD
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, refreshed
from tests.release.made_up import change, make, signature

ALL = {claim.name: claim for claim in claims()}


def effects(*tables: str, **column: str) -> dict[str, dict]:
    """The effects of published tables of one *column*, such as a metric."""
    ((name, value),) = column.items()
    return {
        figure.item: {"change": figure.item, "d": figure.value, "low": figure.low, "high": figure.high, "papers": 300}
        for table in tables for figure in published.load(table) if getattr(figure, name) == value
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "metric", "tables", "verdict"),
    [
        ("degradations-lower", "gem", ("table3", "table4"), "holds"),
        ("degradations-lower", "gem_s_abstract", ("table3", "table4"), "holds"),
        ("manipulations-do-not-raise", "gem", ("table3", "table4"), "holds"),
        ("manipulations-do-not-raise", "gem_s_abstract", ("table3", "table4"), "holds"),
        # A.3: with the other writer two manipulations of three raise both.
        ("manipulations-do-not-raise", "gem", ("table8", "table9"), "does not hold"),
        ("manipulations-cost-less", "gem_s_abstract", ("table3", "table4"), "holds"),
        # The closest: rephrasing by Llama costs 0.107 ± 0.037, an abstract alone 0.191 ± 0.070.
        ("manipulations-cost-less", "gem", ("table3", "table4"), "holds"),
        ("manipulations-cost-less", "gem", ("table8", "table9"), "cannot be told"),
        ("examiner-rises", "lm_examiner", ("table3", "table4"), "holds"),
        ("baselines-miss-degradations", "lm_examiner", ("table3", "table4"), "holds"),
        ("degradations-lower", "gem", ("table8",), "holds"),
    ],
)
def test_the_papers_own_effects_answer_its_claims(name, metric, tables, verdict):
    assert _on_effects(effects(*tables, metric=metric), ALL[name]).verdict == verdict


def test_the_papers_own_fine_tuned_metric_does_not_clearly_fall_with_the_abstract_alone():
    """Appendix E: GEM-finetune, −0.043 with an interval up to +0.020."""
    answer = _on_effects(effects("table13", row="GEM-finetune"), ALL["degradations-lower"])
    assert answer.verdict == "cannot be told"


def test_a_claim_with_a_change_untried_does_not_hold_yet():
    found = effects("table3", metric="gem")
    del found["completion"]
    answer = _on_effects(found, ALL["degradations-lower"])
    assert (answer.verdict, answer.why) == ("cannot be told", "not tried: completion")
    assert (
        _on_effects({}, ALL["degradations-lower"]).why
        == "not validated on the papers of this edition; gre-bench study validate does it"
    )


def test_every_claim_names_what_there_is_and_its_cells_are_printed():
    for claim in ALL.values():
        assert set(claim.metrics) | set(claim.than) <= set(METRICS)
        assert set(claim.changes) | set(claim.more) <= set(CHANGES)
        if claim.table:
            rows = {row for pair in claim.pairs for row in pair}
            if claim.table in LAYOUTS:
                assert rows <= set(LAYOUTS[claim.table].rows)
            else:
                own = {row: "text" for row in rows if row.endswith("_official")}
                assert {condition(row, own).name for row in rows} == rows


def test_larger_and_newer_are_told_by_the_models_file():
    models = load_models()
    larger = {(one, two) for one in models for two in models if _larger(models[one], models[two])}
    newer = {(one, two) for one in models for two in models if _newer(models[one], models[two])}
    assert ("anthropic/claude-3-opus", "anthropic/claude-3-haiku") in larger
    assert ("meta-llama/llama-3.1-70b-instruct", "meta-llama/llama-3.1-8b-instruct") in larger
    assert ("meta-llama/llama-3.1-8b-instruct", "meta-llama/llama-3-8b-instruct") in newer
    assert ("meta-llama/llama-3-8b-instruct", "meta-llama/llama-3.1-8b-instruct") not in newer
    assert not {pair[::-1] for pair in larger} & larger


def record(folder, taus: dict[str, float]):
    folder.mkdir(parents=True)
    rows = {row: row for row in taus}
    outcomes = [
        {"name": row, "by": "Orca-13B", "kind": "examiner",
         "kendall": {"value": tau, "low": tau - 0.03, "high": tau + 0.03}}
        for row, tau in taus.items()
    ]  # fmt: skip
    (folder / "study.json").write_text(json.dumps({"rows": {"001_table1": rows}, "outcomes": outcomes}))


def test_a_study_of_examiners_answers_by_the_intervals_of_its_cells(tmp_path):
    printed = {one.row: one.value for one in printed_cells("001_table1") if one.column == "Orca-13B"}
    record(tmp_path / "dev", printed)
    found = {row["claim"]: row for row in study_claims(str(tmp_path / "dev"), tmp_path, claims())["claims"]}
    # As printed: 0.4343 and 0.4468 for the human guideline, 0.3040 to 0.3891 for the others.
    assert found["human-guideline-is-best"]["verdict"] == "holds"
    assert found["fine-beats-coarse"]["verdict"] == "cannot be told"
    assert set(found) == {
        "human-guideline-is-best", "fine-beats-coarse", "demonstrations-hurt", "sampling-is-worst",
    }  # fmt: skip


def test_a_board_answers_what_it_can_and_says_what_it_lacks(tmp_path):
    refreshed(tmp_path)
    code, told = shown("study", "claims", EDITION, "--state", tmp_path, "--json")
    assert code == 0
    found = json.loads(told)
    rows = {(row["claim"], row["metric"]): row for row in found["claims"]}
    assert sum(found["counts"].values()) == len(rows) == len(found["claims"])
    assert rows["larger-is-higher", "gem"]["verdict"] == "cannot be told" and rows["larger-is-higher", "gem"]["why"]
    assert rows["humans-lead-under-assw", "gem_s_assw"]["why"] == "the metric was not scored"
    code, told = shown("study", "claims", EDITION, "--state", tmp_path, "--details")
    assert code == 0 and found["line"] in told


@pytest.fixture(scope="module")
def of_two_groups(tmp_path_factory) -> dict[tuple[str, str], dict]:
    """Claims on a board by name and metric: humans lead three models; above them all, one has a group of its own and one
    no rank.
    """
    state = tmp_path_factory.mktemp("groups")
    large, apart, partial = "openai/gpt-4o", "meta-llama/llama-3.1-8b-instruct", "openai/gpt-3.5-turbo"
    small, eight = "openai/gpt-4o-mini", "meta-llama/llama-3-8b-instruct"
    more = {"human": 100, large: 50, small: 0, apart: 200, partial: 300, eight: 25}
    store = make(state, papers=12, names=tuple(more)[1:], metrics=("gem",))
    change(
        store,
        *(f"update scores set value = value + {nats} where candidate_id = '{name}'" for name, nats in more.items()),
        f"update candidates set group_name = 'apart' where candidate_id = '{apart}'",
        f"delete from scores where candidate_id = '{partial}' and paper_id > 'p00003'",
    )
    board = {
        row["candidate"]: row["rank"] for row in store.read(LEADERBOARD, signature_ids=[signature("gem").signature_id])
    }
    assert (board["human"], board[large], board[apart], board[partial]) == (1, 2, 1, None)
    return {(row["claim"], row["metric"]): row for row in edition_claims(store.key, state, claims())["claims"]}


@pytest.mark.parametrize(
    ("claim", "verdict", "compared"),
    [
        ("models-pass-humans", "does not hold", {
            "openai/gpt-4o > human", "openai/gpt-4o-mini > human", "meta-llama/llama-3-8b-instruct > human",
        }),
        ("larger-is-higher", "holds", {"openai/gpt-4o > openai/gpt-4o-mini"}),
        ("newer-is-higher", "cannot be told", set()),
    ],
)  # fmt: skip
def test_a_claim_compares_ranked_candidates_of_one_group(of_two_groups, claim, verdict, compared):
    found = of_two_groups[claim, "gem"]
    assert {contrast["name"] for contrast in found["contrasts"]} == compared
    assert found["verdict"] == verdict


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('test = "falls"\nmetrics = ["gem"]', "a test of falls needs changes"),
        ('test = "larger"', "a test of larger needs metrics"),
        ('test = "dance"', "test: Input should be 'larger'"),
    ],
)
def test_a_claim_that_cannot_be_tested_is_one_line(tmp_path, entry, why):
    path = tmp_path / "claims.toml"
    path.write_text(f'[[claim]]\nname = "c"\npaper = "p"\nwhere = "w"\nsays = "s"\n{entry}\n')
    with pytest.raises(SettingsError, match=f"claims.toml, entry 1: .*{why}"):
        claims(path)
    assert reports.NO_RISE == 0.1
