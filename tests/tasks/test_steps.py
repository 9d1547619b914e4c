"""The steps with and without Prefect: both have every step of the protocol, with the same parameters."""

from __future__ import annotations

import inspect

import pytest

from gre_bench.tasks.protocol import Steps
from gre_bench.tasks.steps import undecorated, under_prefect

NAMES = sorted(name for name, value in vars(Steps).items() if inspect.isfunction(value) and not name.startswith("_"))


def parameters(step: object) -> list[tuple[str, object]]:
    found = inspect.signature(getattr(step, "fn", step)).parameters.values()
    return [(item.name, item.default) for item in found if item.name != "self"]


@pytest.mark.parametrize("name", NAMES)
def test_a_step_takes_the_same_with_prefect_and_without(name):
    asked = parameters(getattr(Steps, name))
    assert asked == parameters(getattr(under_prefect(), name)) == parameters(getattr(undecorated(), name))


def test_only_the_steps_under_prefect_can_be_handed_out():
    assert len(NAMES) == 23
    assert hasattr(under_prefect().score_papers, "submit") and not hasattr(undecorated().score_papers, "submit")
