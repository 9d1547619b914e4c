"""The study of planted flaws on the sample edition: made once, reviewed and scored as any edition, shown, never released."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from gre_bench.core.errors import SettingsError, SourceError, StoreError
from gre_bench.core.records import HUMAN
from gre_bench.perturbations.planted_flaws import MARK
from gre_bench.pipeline.importing import read_known_papers, read_known_reviews
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.reports.correctness import NOT_MEASURED, format_correctness_line, load_flaw_results
from gre_bench.reports.publish_editions import open_release_store, publish_edition
from gre_bench.store import ReadersCopyStore, Store
from gre_bench.store.queries import CURRENT_SIGNATURES, SAMPLE
from gre_bench.studies.flaws import (
    RECORD,
    FlawStudy,
    build_flaw_job,
    compute_flaw_results,
    compute_word_share,
    create_edition_with_flaws,
    find_papers_with_same_flaw,
    read_flaw_edition_record,
    read_flaw_scores,
    write_results,
)
from tests.cli.calling import call
from tests.flows.refreshing import EDITION, demo, query
from tests.lm.test_pretrained_real import needed

SCRIPTS = ("plain-0", "plain-100", "listing-100")
LM = "evaluation_lm.backend=cache-ngram"


def study_of(state, papers=6, **more):
    job = Job(demo(LM, 'scoring.metrics=["gem"]', "scoring.chance=false"), state)
    study = FlawStudy(job.settings.edition.edition, papers, scripts=SCRIPTS, **more)
    return build_flaw_job(job, study), study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The state with a board and a study of six papers, its job, study, record and results."""
    state = tmp_path_factory.mktemp("flaws")
    refresh(Job(demo(LM, 'scoring.metrics=["gem"]', "scoring.chance=false"), state))
    job, study = study_of(state)
    record = create_edition_with_flaws(job, study)
    summary = refresh(job)
    results = compute_flaw_results(job, record)
    write_results(job, study, results)
    return state, job, study, record, summary, results


@pytest.fixture
def state(made, tmp_path):
    return shutil.copytree(made[0], tmp_path / "state", symlinks=True)


def test_each_paper_has_four_texts_with_its_two_flaws_as_references(made):
    _, job, _, record, summary, _ = made
    store = ReadersCopyStore(job.state, job.settings.edition.edition)
    papers = {paper.paper_id: paper for paper in read_known_papers(store)}
    assert store.key == f"{EDITION}-flaws" and len(record["papers"]) == 6 and len(papers) == 24
    assert summary["outcome"] == "done", summary["message"]
    for name, (f, g, harmless) in record["papers"].items():
        texts = [papers[f"{name}{MARK}{flaw}"] for flaw in (f["flaw"], g["flaw"], "0", "harmless")]
        assert len({paper.text for paper in texts}) == 4 and len({paper.abstract for paper in texts}) == 1
        for place, paper in zip((f, g, harmless), (texts[0], texts[1], texts[3]), strict=True):
            before, after = texts[2].text, paper.text
            assert before[: place["start"]] == after[: place["start"]]
            assert before[place["end"] :] == after[place["new_end"] :]
    references = [row for row in store.read(SAMPLE) if row["role"] == "reference"]
    abroad = len(
        find_papers_with_same_flaw(
            {name: [place["flaw"] for place in row[:2]] for name, row in record["papers"].items()}
        )
    )
    assert len(references) == 6 * 4 * 8 + 4 * abroad


def test_the_human_review_tells_nothing_and_the_script_that_names_every_flaw_tells_most(made):
    rows = {row["candidate"]: row for row in made[-1]["rows"] if row["metric"] == "gem"}
    human = rows[HUMAN]["score"]
    assert human["value"] == 0.0 and human["p"] == 1.0
    sure, never, listing = (rows[f"scripted-{name}"]["score"] for name in SCRIPTS[1::-1] + SCRIPTS[2:])
    assert sure["low"] > 0 and sure["value"] > 5 * abs(never["value"])
    assert listing["low"] < 0 < listing["high"]
    assert all(row["detected"] is None and row["rate"] is None for row in rows.values()), "24 nulls are too few"
    words = {row["candidate"]: row["score"]["value"] for row in made[-1]["rows"] if row["metric"] == "words"}
    assert words["scripted-plain-100"] > 0.2 > abs(words["scripted-plain-0"])


def test_a_paper_without_a_score_does_not_count(made):
    record = made[3]
    (name, places), *_ = record["papers"].items()
    f, g = (place["flaw"] for place in places[:2])
    values = {(f"{name}{MARK}{flaw}", f"{name}{MARK}{flaw}:{name}{MARK}{about}:{number}"): 1.0
              for flaw in (f, g, "0", "harmless") for about in (f, g) for number in range(4)}  # fmt: skip
    assert (read_flaw_scores({}, record), len(read_flaw_scores(values, record))) == ([], 2)
    values.popitem()
    assert read_flaw_scores(values, record) == []


def test_the_study_goes_on_where_it_stopped_and_adds_scripts(made, state):
    job, study = study_of(state)
    before = {review.review_id for review in read_known_reviews(ReadersCopyStore(state, study.edition))}
    again = create_edition_with_flaws(job, replace(study, scripts=(*SCRIPTS, "oblique-100")))
    assert again["papers"] == made[3]["papers"]
    added = {review.review_id for review in read_known_reviews(ReadersCopyStore(state, study.edition))} - before
    assert len(added) == 24 and all(name.endswith("scripted-oblique-100") for name in added)
    assert refresh(job)["scored_now"] > 0
    assert refresh(job)["scored_now"] == 0


@pytest.mark.parametrize("more, named", [({"seed": 1}, "--seed"), ({"papers": 5}, "--papers")])
def test_another_planting_of_the_same_edition_is_refused(state, more, named):
    job, study = study_of(state, **more)
    with pytest.raises(SettingsError, match=f"planted with another .*{named}.*never change"):
        create_edition_with_flaws(job, study)


def test_an_edition_of_flaws_is_never_released_and_gets_no_flaws(state):
    store = Store(state, f"{EDITION}-flaws")
    with pytest.raises(SettingsError, match="planted flaws, which are never released"):
        publish_edition(store, open_release_store(state, store.key))
    assert not (state / "releases").exists()
    of_flaws = demo(LM, "edition.sample=flaws")
    with pytest.raises(SettingsError, match="holds planted flaws already"):
        build_flaw_job(Job(of_flaws, state), FlawStudy(of_flaws.edition.edition))


def test_a_lost_record_and_a_changed_paper_are_named(state):
    job, study = study_of(state)
    (file,) = state.glob(f"editions/*/{RECORD}")
    record = json.loads(file.read_text())
    places = next(iter(record["papers"].values()))
    places[0]["before"] = "0" * 64
    file.write_text(json.dumps(record))
    with pytest.raises(StoreError, match="has another text than when its flaws were planted"):
        create_edition_with_flaws(job, study)
    file.write_text("{")
    with pytest.raises(StoreError, match="missing or damaged"):
        read_flaw_edition_record(job.store)


def test_papers_without_texts_are_counted_and_refused(state):
    shutil.rmtree(state / "editions" / f"{EDITION}-flaws")
    query(state, "update papers set text = null")
    Store(state, EDITION).copy_for_readers()
    job, study = study_of(state)
    with pytest.raises(SourceError, match="0 papers can take two flaws .16 with no text"):
        create_edition_with_flaws(job, study)


def test_the_board_tells_what_was_measured(made, tmp_path):
    state, _, study, _, _, results = made
    told = load_flaw_results(Store(state, study.source))
    assert told == results | {"unlike": ["gem"]}, "rules wrote these judgments, not those of the board"
    assert format_correctness_line(results) == "correctness: 6 papers with planted flaws; no model has reviewed them"
    assert format_correctness_line(load_flaw_results(Store(tmp_path, study.source))) == NOT_MEASURED


def test_a_reviewer_without_scores_is_named_and_no_loss_is_silent(made, state):
    _, job, _, record, _, results = made
    assert results["too_few"] == []
    own, lost = replace(job, state=state), ("GEM", "scripted-plain-100", True)
    of = "where candidate_id = 'scripted-plain-100'"
    for changes in (
        (f"update scores set value = null, problem = 'broken' {of}",),
        (f"delete from scores {of}", f"update plan set state = 'excluded', reason = 'copied' {of}"),
    ):
        for change in changes:
            query(state, change, own.store.key)
        own.store.copy_for_readers()
        assert lost in {tuple(row.values()) for row in compute_flaw_results(own, record)["too_few"]}
    model = {"title": "GEM", "candidate": "my-model", "control": False}
    assert format_correctness_line({**results, "too_few": [model]}).endswith(
        "; fewer than two have all scores of my-model"
    )


def test_results_of_another_signature_are_marked_on_the_board_and_damaged_ones_named(state):
    (file,) = state.glob("editions/*/correctness.json")
    store, results = Store(state, EDITION), json.loads(file.read_text())
    (signature,) = store.read(CURRENT_SIGNATURES)
    file.write_text(json.dumps(results | {"signatures": {"gem": signature["signature_id"]}}))
    same = load_flaw_results(store)
    assert same and same["unlike"] == []
    file.write_text(json.dumps(results))
    marked = load_flaw_results(store)
    assert marked and marked["unlike"] == ["gem"]
    row = next(row for row in marked["rows"] if row["candidate"] == "scripted-plain-100")
    file.write_text('{"rows": 1}')
    with pytest.raises(StoreError, match=r"correctness\.json is damaged; make it again: gre-bench study flaws"):
        load_flaw_results(store)
    file.write_text(json.dumps(results))
    warning = "gem was scored otherwise than the board: by another LM, prompt or writer of judgments"
    assert format_correctness_line({**marked, "rows": [{**row, "control": False}]}).endswith(warning)
    assert warning in call("leaderboard", EDITION, "--details", "--state", state)[1]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [".", "a", "1,", "% "])
def test_the_share_of_words_in_a_hostile_review_is_found_in_seconds(piece):
    hostile = piece * (100_000 // len(piece))
    assert compute_word_share(f"{hostile} The bound is 0.5%.", "The reviewer criticizes: the bound is 0.5%.") == 1
    assert 0 <= compute_word_share("The bound is wrong.", hostile) <= 1


def test_the_command_shows_what_it_planted_and_what_reviews_tell(state):
    asked = ("study", "flaws", "--edition", EDITION, "--papers", 6, "--no-prefect", "--state", state)
    code, out, _ = call(*asked)
    assert code == 0, out
    assert "6 papers, four texts each" in out and "scripted-plain-100" in out and "correctness.json" in out
    code, out, _ = call(*asked, "--json")
    assert code == 0 and json.loads(out)["results"]["flaws_edition"] == f"{EDITION}-flaws"
    code, _, error = call(*asked, "--script", "loud-50")
    assert code == 2 and "no script 'loud-50'" in error


@pytest.mark.pretrained
def test_a_dry_run_plants_and_estimates_the_rest_and_leaves_nothing(state):
    needed("smollm2-135m")
    folder = state / "editions" / f"{EDITION}-flaws"
    shutil.rmtree(folder)
    asked = ("study", "flaws", "--settings", "flaws_smollm2", "--papers", 3, "--dry-run", "--state", state)
    code, out, error = call(*asked)
    assert code == 0 and "3 papers, four texts each" in out and "smollm2-135m" in out, error
    assert not folder.exists()
    code, out, _ = call(*asked, "--papers", 2, "--json")
    assert code == 0 and len(json.loads(out)["planted"]["papers"]) == 2


def test_board_and_page_tell_correctness_or_that_it_was_not_measured(state):
    code, out, _ = call("leaderboard", EDITION, "--details", "--state", state)
    assert code == 0 and "no model has reviewed them" in out and "scripted-plain-100" in out
    code, out, _ = call("leaderboard", EDITION, "--json", "--state", state)
    assert code == 0 and json.loads(out)["correctness"]["papers"] == 6
    store, release_store = Store(state, EDITION), open_release_store(state, EDITION)
    first = publish_edition(store, release_store)
    page = (first.folder / "index.html").read_text()
    assert "Known flaws were planted in 6" in page and "scripted-plain-100" in page
    texts = [paper.text for paper in read_known_papers(ReadersCopyStore(state, f"{EDITION}-flaws"))]
    assert not any((text or "")[:400] in page for text in texts)
    assert publish_edition(store, release_store).name == first.name, "nothing has changed"
    (state / "editions" / EDITION / "correctness.json").unlink()
    assert "correctness" not in call("leaderboard", EDITION, "--state", state)[1]
    assert NOT_MEASURED in call("leaderboard", EDITION, "--details", "--state", state)[1]
    second = publish_edition(store, release_store)
    page = (second.folder / "index.html").read_text()
    assert second.name != first.name and "Not measured: no flaws were planted" in page
