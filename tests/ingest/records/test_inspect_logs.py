"""Logs of inspect_ai as reviews: each sample ends as a review or as a refusal with its reason, by the stated rules."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.ingest.records import inspect_logs
from gre_bench.ingest.records.cells import UNFINISHED, ImportResult
from gre_bench.ingest.records.inspect_logs import LoggedSample, choose_reviews, is_log, read_logs
from gre_bench.ingest.records.tables import REVIEW_COLUMNS, read_new_reviews

MODEL = "mockllm/model"


@pytest.fixture
def log_module():
    return pytest.importorskip("inspect_ai.log", reason="logs of inspect_ai need the extra `inspect`")


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Reads logs without a process for each, which takes seconds to import inspect_ai; `tests/faults` reads as users do."""

    def read(kind, files):
        for file in files:
            try:
                yield file, json.loads(json.dumps(inspect_logs.read_log(file)))
            except SourceError as error:
                yield file, error

    monkeypatch.setattr(inspect_logs, "read_files_in_child_process", read)


def sample(paper: object, text: str = "A review.", epoch: int = 1, **more):
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    stop = more.pop("stop", "stop")
    output = ModelOutput.from_content(MODEL, text, stop_reason=stop)
    return EvalSample(id=paper, epoch=epoch, input="the paper", target="", output=output, **more)


def failed(paper: object, said: str = "RateLimitError: slow down", epoch: int = 1):
    from inspect_ai.log import EvalError

    return sample(paper, "", epoch, error=EvalError(message=said, traceback="", traceback_ansi=""))


def written(folder: Path, name: str, samples: list, *, created: str = "2026-01-01T00:00:00+00:00", **more) -> Path:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalSpec, write_eval_log
    from inspect_ai.model import GenerateConfig

    config = GenerateConfig(temperature=more.pop("temperature", 0.0))
    ids = more.pop("ids", list(dict.fromkeys(one.id for one in samples)))
    spec = EvalSpec(
        created=created,
        task="reviews",
        task_id=more.pop("task_id", "task"),
        dataset=EvalDataset(sample_ids=ids),
        model=more.pop("model", MODEL),
        config=EvalConfig(epochs=more.pop("epochs", 1)),
    )
    log = EvalLog(
        eval=spec, plan=EvalPlan(config=config), samples=samples, status=more.pop("status", "success"), **more
    )
    folder.mkdir(exist_ok=True)
    write_eval_log(log, folder / name)
    return folder / name


def read(path: Path, epoch: int | None = None) -> tuple[dict[str, str], dict[str, tuple[str, str]], list[str]]:
    """Reviews by paper, reasons and codes by paper, notes."""
    taken = read_new_reviews(path, {}, {}, [], make_papers=True, epoch=epoch)
    reviews = {one.paper_id: one.text for one in taken.reviews}
    return reviews, {str(one.paper_id): (one.reason, one.code) for one in taken.refusals}, taken.notes


@pytest.mark.parametrize("name", ["run.eval", "run.json"])
def test_a_sample_is_a_paper_and_its_output_a_review(log_module, tmp_path, name):
    path = written(
        tmp_path / "logs",
        name,
        [
            sample("s01", "<think>hm</think>\nSound."),
            sample(2, "Weak.", metadata={"paper_id": "s02"}),
            sample(3, "Cut off he", stop="max_tokens"),
            sample("s04", "   "),
            sample("s05", "I cannot", stop="content_filter"),
            failed("s06"),
            sample("s08", "<think>no end", stop="max_tokens"),
        ],
        ids=["s01", 2, 3, "s04", "s05", "s06", "s07", "s08"],
        status="cancelled",
    )
    reviews, refused, notes = read(path)
    assert reviews == {"s01": "Sound.", "s02": "Weak.", "3": "Cut off he"}
    assert refused == {
        "s04": (f"its output is empty ({name})", ""),
        "s05": (f"its output is refused ({name})", ""),
        "s06": (f"its sample ended with an error: RateLimitError: slow down ({name})", UNFINISHED),
        "s07": (f"it has no sample in {name}, whose status is cancelled ({name})", UNFINISHED),
        "s08": (f"its output is thinking alone ({name})", ""),
    }
    assert notes == [
        "reviews cut at a limit and taken as they are: 1",
        "papers that a retry may bring: 2; inspect eval-retry LOG, then import again",
        "thinking removed, which is not part of a review: 17 characters of 1 text",
    ]
    assert is_log(path) and is_log(path.parent)
    assert read(path.parent) == (reviews, refused, notes)


def test_rows_come_the_way_that_all_reviews_come(log_module, tmp_path):
    path = written(tmp_path / "logs", "run.eval", [sample("s01"), sample("s02"), sample("other")])
    taken = read_new_reviews(path, {}, {}, ["s01", "s02"])
    assert [(one.review_id, one.candidate) for one in taken.reviews] == [
        ("s01:mockllm/model", MODEL),
        ("s02:mockllm/model", MODEL),
    ]
    assert [one.code for one in taken.refusals] == ["unknown_paper"] and taken.named == (MODEL,)
    renamed = read_new_reviews(path, {}, {}, ["s01", "s02"], by="mine", only=True)
    assert {one.candidate for one in renamed.reviews} == {"mine"} and set(inspect_logs.COLUMNS) < set(REVIEW_COLUMNS)


def test_the_first_epoch_with_a_review_counts_or_the_one_asked_for(log_module, tmp_path):
    samples = [sample("s01", "one"), sample("s01", "two", 2), failed("s02"), sample("s02", "two", 2)]
    path = written(tmp_path / "logs", "run.eval", samples, epochs=2)
    reviews, refused, notes = read(path)
    assert (reviews, refused) == ({"s01": "one", "s02": "two"}, {})
    assert notes == ["reviews of a later epoch, not taken: 1"]
    assert read(path, 2)[0] == {"s01": "two", "s02": "two"}
    assert set(read(path, 1)[1]) == {"s02"}
    with pytest.raises(SourceError, match=r"^run.eval has no sample of epoch 3; its epochs: 1, 2$"):
        read(path, 3)


def test_of_an_evaluation_and_its_retries_the_latest_review_counts(log_module, tmp_path):
    logs, later = tmp_path / "logs", "2026-01-02T00:00:00+00:00"
    written(logs, "b.eval", [sample("s01", "old"), sample("s02", "old"), failed("s03")], status="error")
    samples = [sample("s01", "new"), failed("s02"), sample("s03", "new")]
    written(logs, "a.eval", samples, created=later, status="cancelled")
    reviews, refused, notes = read(logs)
    assert (reviews, refused) == ({"s01": "new", "s02": "old", "s03": "new"}, {})
    assert notes == ["reviews of an earlier log, not taken: 1"]
    alone = written(tmp_path / "invalid", "run.eval", [sample("s01")], invalidated=True)
    assert read(alone)[1] == {"s01": ("it was invalidated (run.eval)", "")}


def test_reviews_that_were_asked_otherwise_are_never_mixed(log_module, tmp_path):
    logs = tmp_path / "logs"
    written(logs, "a.eval", [sample("s01")])
    written(logs, "b.eval", [sample("s02")], temperature=1.0)
    with pytest.raises(SourceError, match=r"mockllm/model has different settings in a.eval and b.eval.*--as NAME$"):
        read(logs)
    # A model with a strange name is a candidate, and never the humans.
    for model, candidate in (("hf/my model (v2)", "hf/my-model-v2-"), ("human", "model/human")):
        written(logs, "b.eval", [sample("s01")], temperature=1.0, model=model)
        assert [row["candidate"] for _, row in read_logs(logs, ImportResult())] == [MODEL, candidate]


def test_a_damaged_log_is_one_line_and_its_neighbours_are_read(log_module, tmp_path):
    logs = tmp_path / "logs"
    whole = written(logs, "a.eval", [sample("s01"), sample("s02")]).read_bytes()
    (logs / "b.json").write_text('{"version": 2, "status": "success", "eval": {}}')
    for size in range(0, len(whole), len(whole) // 12):
        (logs / "c.eval").write_bytes(whole[:size])
        with pytest.raises(SourceError, match=r"^c.eval cannot be read as a log of inspect_ai: [^\n]*$"):
            read(logs / "c.eval")
    taken = ImportResult()
    assert len(read_logs(logs, taken)) == 2
    assert [(one.item, one.code) for one in taken.refusals] == [("log b.json", ""), ("log c.eval", "")]


def test_what_holds_no_log_is_told_and_without_inspect_ai_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "notes.json").write_text('{"a": 1}')
    for path in (tmp_path, tmp_path / "notes.json"):
        assert not is_log(path)
        with pytest.raises(SourceError, match=r"is or holds no log of inspect_ai"):
            read_logs(path, ImportResult())
    with pytest.raises(SourceError, match=r"^no file .*gone.eval"):
        read_logs(tmp_path / "gone.eval", ImportResult())
    (tmp_path / "run.eval").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(SettingsError, match=r"^run.eval is a log .* pip install 'gre-bench\[inspect\]'$"):
        read_logs(tmp_path / "run.eval", ImportResult())


TEXTS = st.one_of(st.none(), st.sampled_from(["one", "two"]))
SAMPLES = st.lists(
    st.builds(
        lambda candidate, paper, epoch, day, review: LoggedSample(
            candidate, paper, epoch, f"2026-01-{day:02d}", f"{day}.eval", review, "" if review else "why", not review
        ),
        st.sampled_from(["m/a", "m/b"]),
        st.sampled_from(["p1", "p2", "p3"]),
        st.integers(1, 3),
        st.integers(1, 9),
        TEXTS,
    )
)


@given(SAMPLES)
def test_every_paper_of_a_candidate_ends_as_one_row_or_one_refusal(samples):
    taken = ImportResult()
    rows = {(row["candidate"], row["paper_id"]): row["review"] for _, row in choose_reviews(samples, taken)}
    refused = [(one.item.rpartition(" by ")[2], one.paper_id) for one in taken.refusals]
    assert sorted([*rows, *refused]) == sorted({(one.candidate, one.paper_id) for one in samples})
    for (candidate, paper), review in rows.items():
        usable = [one for one in samples if (one.candidate, one.paper_id) == (candidate, paper) and one.review]
        first = [one for one in usable if one.epoch == min(one.epoch for one in usable)]
        assert review in {one.review for one in first if one.started == max(one.started for one in first)}
    counted = sum(int(note.rpartition(" ")[2]) for note in taken.notes if "not taken" in note)
    assert counted + len(rows) == sum(one.review is not None for one in samples)
