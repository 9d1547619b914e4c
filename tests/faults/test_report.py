"""The table of the fault suite tells what was tried, and never hides what broke."""

from __future__ import annotations

from tests.faults.report import Trial, as_markdown, merged, table


def test_trials_of_one_fault_are_added_and_one_that_broke_breaks_the_row(trial):
    rows = [
        Trial("kill: scoring", 3, "same tables", True, 1.0),
        Trial("disk full", 1, "one line", True, 0.5),
        Trial("kill: scoring", 2, "same tables", False, 1.0),
    ]
    assert merged(rows) == [rows[1], Trial("kill: scoring", 5, "same tables", False, 2.0)]
    assert "BROKEN" in table(rows)[3]
    assert "| kill: scoring | 5 | same tables | **broken** |" in as_markdown(rows)
    trial("table of this suite", "a broken invariant breaks its row")
