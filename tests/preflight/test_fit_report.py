"""What fits, told by the doctor and the dry run before anything is sent; a refused paper is missing with its reason."""

from __future__ import annotations

import pytest

from gre_bench.core import settings
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.preflight import doctor
from gre_bench.preflight.dry_run import estimate
from gre_bench.tasks import steps
from tests.flows.refreshing import demo, use
from tests.preflight.test_doctor import lines
from tests.scripted_lms import OverlapLM
from tests.servers.scripted_chat import MODEL, scripted_chat

ENTRY = '[[model]]\nname = "scripted"\nendpoint = "{url}"\nmodel = "{model}"\nsampling.max_tokens = 200\n{more}\n'


def asking(folder, server, more: str, *overrides: str) -> settings.Settings:
    use(OverlapLM())
    file = folder / "models.toml"
    file.write_text(ENTRY.format(url=server.url, model=MODEL, more=more))
    return demo(f"writing.models={file}", 'writing.candidates=["scripted"]', "scoring.metrics=['gem']", *overrides)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "warning fit scripted: a paper of 12,000 tokens: its context is not known → state context"),
        ("context = 4000", "problem fit scripted: a paper of 12,000 tokens: 1 of 1 papers do not fit scripted ("),
        ("context = 100000", "ok fit scripted: a paper of 12,000 tokens: the longest prompt has 12,"),
        ("max_output = 100", "problem fit scripted: scripted: the settings ask for 200 tokens, it gives at most 100"),
    ],
)
def test_the_doctor_says_before_there_is_a_paper_whether_a_usual_one_fits(tmp_path, more, said):
    with scripted_chat() as server:
        (found,) = lines(doctor.fit, asking(tmp_path, server, more), tmp_path)
        assert found.startswith(said) and server.count == 0


def test_a_dry_run_counts_what_does_not_fit_and_the_run_sends_none_of_it(tmp_path):
    with scripted_chat() as server:
        chosen = asking(tmp_path, server, "context = 2500")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        (row,) = estimate(Job(chosen, tmp_path / "state"), scratch)["fit"]
        assert server.count == 0 and row["papers"] == 16
        assert row["fits"] + row["may_not_fit"] + row["does_not_fit"] == 16 and row["does_not_fit"]
        summary = refresh(Job(chosen, tmp_path / "state"), steps.undecorated())
        refused = sum(one["pairs"] for one in summary["reasons"] if "too_long" in str(one["reason"]))
        assert refused == 2 * row["does_not_fit"]
        assert server.count == 16 - row["does_not_fit"]


def test_cut_papers_are_all_sent_and_their_candidate_signs_the_cut(tmp_path):
    with scripted_chat() as server:
        chosen = asking(tmp_path, server, "context = 2500", "writing.over_long=truncate")
        refresh(Job(chosen, tmp_path / "state"), steps.undecorated())
        assert server.count == 16
        longest = max(len(body["messages"][-1]["content"]) for body in server.requests)
        assert longest / 2.9 <= 2500 - 200 - 64
