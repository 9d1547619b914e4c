"""The table of the fault suite tells what was tried, and never hides what broke."""

from __future__ import annotations

from tests.faults.report import Trial, as_markdown, merged


def test_trials_of_one_fault_are_added_and_one_that_broke_breaks_the_row(trial):
    rows = [
        Trial("kill: scoring", 3, "same tables", True),
        Trial("disk full", 1, "one line", True),
        Trial("kill: scoring", 2, "same tables", False),
    ]
    assert merged(rows) == [rows[1], Trial("kill: scoring", 5, "same tables", False)]
    assert "| kill: scoring | 5 | same tables | **broken** |" in as_markdown(rows)
    trial("table of this suite", "a broken invariant breaks its row")
