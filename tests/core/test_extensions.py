"""Additions of installed packages: found by their entry points, refused in one line if they cannot be used."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.core.extensions import Catalogue
from gre_bench.core.metrics import METRICS, Recipe, find_recipe
from gre_bench.core.settings import ScoringSettings

MODULE = """
from gre_bench.core.metrics import Recipe

GIVEN = Recipe("given", "Given", "review", formula="pmi")
OTHER = Recipe("other", "Other", "review", asks="nothing")
GEM = Recipe("gem", "GEM", "review")
WORD = "word"
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package with these entry points for metrics, and returns the catalogue of metrics as a new process has it."""

    def install(module: str = MODULE, **points: str) -> Catalogue[Recipe]:
        info = tmp_path / "given_metrics-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: given-metrics\nVersion: 1\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[gre_bench.metrics]", *lines]))
        (tmp_path / "given_metrics.py").write_text(module)
        monkeypatch.syspath_prepend(tmp_path)
        vars(METRICS).pop("added", None)
        return METRICS

    monkeypatch.delitem(__import__("sys").modules, "given_metrics", raising=False)
    yield install
    vars(METRICS).pop("added", None)


def test_a_metric_of_a_package_is_known_after_those_of_the_program_with_its_specific_form(installed):
    metrics = installed(given="given_metrics:GIVEN", other="given_metrics:OTHER")
    assert list(metrics) == [*metrics.own, "given", "given_specific", "other"] and len(metrics) == len(list(metrics))
    assert find_recipe("given").title == "Given" and find_recipe("given_specific").formula == "specific"
    assert ScoringSettings(metrics=("given",)).metrics_and_specific_forms == ("given", "given_specific")
    with pytest.raises(ValueError, match=r"no metric 'givn'; did you mean given\?"):
        ScoringSettings(metrics=("givn",))
    with pytest.raises(ValueError, match=r"no metric 'number_share'; is the package that has it missing\? known: bert"):
        ScoringSettings(metrics=("number_share",))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("gem", "given_metrics:GEM", "another entry has this name already"),
        ("word", "given_metrics:WORD", "given_metrics:WORD is not a metrics entry of that name"),
        ("another", "given_metrics:GIVEN", "given_metrics:GIVEN is not a metrics entry of that name"),
        ("lost", "given_metrics:LOST", "AttributeError: module 'given_metrics' has no attribute 'LOST'"),
        ("lost", "no_such_module:LOST", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_an_addition_that_cannot_be_used_is_refused_in_one_line(installed, name, value, why):
    metrics = installed(**{name: value})
    assert metrics["gem"].title == "GEM"  # what the program has itself needs no package
    with pytest.raises(SettingsError) as refused:
        list(metrics)
    assert str(refused.value) == (
        f"package given-metrics: entry point {name} of gre_bench.metrics cannot be used: {why}; mend the package, or "
        "uninstall it: pip uninstall given-metrics"
    )


def test_a_fault_of_a_package_is_told_in_one_line(installed):
    metrics = installed(module='raise RuntimeError("first\\nsecond")', given="given_metrics:GIVEN")
    with pytest.raises(SettingsError, match="RuntimeError: first; mend the package"):
        metrics["given"]


def test_the_metric_of_a_package_that_is_gone_is_named():
    with pytest.raises(SettingsError, match="no metric word_recall; if it is another package's, install that package"):
        find_recipe("word_recall")
