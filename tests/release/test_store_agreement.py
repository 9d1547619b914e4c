"""``publish --recount`` and ``verify --store``: a release says what its store says, and the store what scores again."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from gre_bench.release.release_store import ReleaseStore
from gre_bench.store import Store
from tests.cli.calling import call
from tests.flows.refreshing import EDITION, refreshed, use
from tests.release import made_up
from tests.scripted_lms import OverlapLM


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    use(OverlapLM())
    state = refreshed(tmp_path_factory.mktemp("agreement") / "state")
    assert call("publish", EDITION, "--state", state)[0] == 0
    return state


@pytest.fixture
def state(published, tmp_path):
    use(OverlapLM())
    return shutil.copytree(published, tmp_path / "state", symlinks=True)


def change(state, statement: str) -> None:
    made_up.change(Store(state, EDITION), statement)


def verified(state, *more: object) -> tuple[int, str, str]:
    return call("verify", state / "releases" / f"{EDITION}-r1", "--store", "--state", state, *more)


def test_a_release_agrees_with_the_store_it_was_made_of_even_after_another_command(state):
    assert "its tables are those of the store of SAMPLE-2026" in verified(state)[1]
    change(state, "insert into runs by name (select 'later' as run_id, 'import reviews' as command, now() as started_at, "
                  "'{}' as settings, '0' as code_version)")  # fmt: skip
    code, out, _ = verified(state, "--json")
    assert code == 0 and json.loads(out)["agrees_with_store"] is True
    assert json.loads(call("verify", state / "releases" / f"{EDITION}-r1", "--json")[1])["agrees_with_store"] is None


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("update scores set value = value + 1000 where candidate_id = 'human' and paper_id = 's01'", "scores is not as in the store"),
        ("delete from scores where paper_id = 's01'", r"scores is not as .* \(\d+ rows in the release alone, 0 in the store alone"),
        ("update judgments set text = text || '.' where review_id = 's01-r1'", "judgments is not as in the store"),
    ],
)  # fmt: skip
def test_a_table_of_the_store_that_differs_is_named(state, statement, said):
    change(state, statement)
    code, out, err = verified(state)
    assert (code, out, err.count("\n")) == (2, "", 0) and re.search(said, err), err


def test_only_a_release_can_be_compared_with_a_store_that_is_there(state, tmp_path):
    release = state / "releases" / f"{EDITION}-r1"
    code, _, err = call("verify", release, "--store", "--state", tmp_path / "none")
    assert code == 2 and "no edition SAMPLE-2026" in err
    code, _, err = call("verify", tmp_path, "--store", "--state", state)
    assert code == 2 and "is no release" in err
    with Store(state, EDITION).lock("refresh"):
        assert verified(state)[0] == 3


def test_a_recount_agrees_and_tells_its_seed(state):
    code, _, err = call("publish", EDITION, "--again", "--recount", 6, "--seed", 7, "--state", state)
    assert code == 0 and "scoring 6 pairs once more, sampled with --seed 7" in err and "6 pairs came out" in err
    code, out, err = call("publish", EDITION, "--again", "--recount", 2, "--json", "--state", state)
    assert code == 0 and json.loads(out)["release"] == f"{EDITION}-r3" and re.search(r"--seed \d+", err)


def test_a_score_that_does_not_come_out_again_is_named_and_nothing_is_published(state):
    change(state, "update scores set value = value + 1000 where paper_id = 's03'")
    code, out, err = call("publish", EDITION, "--recount", 10_000, "--state", state)
    assert (code, out) == (1, "")
    told = re.search(
        r"edition SAMPLE-2026: (\S+) of (\S+), paper s03, reference (\S+) is \S+ when it is scored again, and \+(?:99|1\d)\S+ in the store",
        err,
    )
    assert (
        told and "nothing was published" in err and f"gre-bench why SAMPLE-2026 {told[1]} {told[2]} --paper s03" in err
    )
    assert ReleaseStore(state / "releases", EDITION).names() == [f"{EDITION}-r1"]


def test_a_text_that_changed_since_it_was_scored_is_found_by_a_recount(state):
    change(state, "update judgments set text = text || ' criticizes the novelty' where review_id like 's04%'")
    code, _, err = call("publish", EDITION, "--recount", 10_000, "--state", state)
    assert code == 1 and "paper s04" in err
