"""Reads inspect_ai logs as rows of reviews: each sample is a review of one paper, and its model is the candidate.

In inspect_ai, an epoch is one repetition of all samples. One review per paper and candidate is imported: from the
requested epoch, by default from the first epoch with a review. If several logs have that epoch, the log that started
last counts. Later evaluations and results of ``inspect eval-retry`` thus replace earlier ones. Logs of one candidate
are combined only if their model, task, solver and sampling agree. A paper without any review is refused; the reason is
the problem of its last sample.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import SettingsError, SourceError, build_missing_file_error
from gre_bench.core.incoming import (
    FileReadMeter,
    check_json_depth,
    compute_value_count_bound,
    list_regular_files,
    open_zip_archive,
    read_bytes,
)
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import HUMAN, digest
from gre_bench.core.replies import without_thinking
from gre_bench.ingest.records.cells import NOT_IN_A_NAME, UNFINISHED, ImportResult, Row, shorten_cell
from gre_bench.ingest.records.isolated import read_files_in_child_process

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ModelOutput

EXTRA = "inspect_ai is not installed: pip install 'gre-bench[inspect]'"
COLUMNS = ("paper_id", "candidate", "review")
MOST_SAMPLES = 1_000_000
"""A log may state at most this many samples, over all epochs."""
_HEADER = re.compile(rb'\A\s*\{\s*"version":\s*\d+,\s*"status":')
_UNREAD_FIELDS = {"messages", "events", "events_data", "store", "attachments"}
"""Fields of a sample that contain no review and may be large."""
_CONNECTION_OPTIONS = {
    "max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections",
    "cache", "cache_prompt", "batch",
}  # fmt: skip
"""Generation options that affect the connection to a model, not its output."""
_PAPER_ARGUMENTS = {"state", "limit"}
"""Task arguments that choose papers or folders, and do not affect the output of a model."""


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """One sample in the file *log*. *epoch*: from 1. *started*: when the evaluation started, as the log states it.

    *review*: the review, including the model's thinking. *problem*: why there is no review. *unfinished*: whether there
    is no review but a retry may produce one. *cut*: whether a limit truncated the review.
    """

    candidate: str
    paper_id: str
    epoch: int
    started: str
    log: str
    review: str | None
    problem: str = ""
    unfinished: bool = False
    cut: bool = False


def is_log(path: Path) -> bool:
    """Whether *path* is a log (an ``.eval`` file, or a ``.json`` file that begins like one), or a folder with a log."""
    if path.is_dir():
        return any(is_log(file) for file in list_regular_files(path)[0])
    if path.suffix == ".json" and path.is_file():
        with suppress(OSError), path.open("rb") as file:  # it may vanish; whoever reads it says so
            return bool(_HEADER.match(file.read(200)))
    return path.suffix == ".eval"


def list_log_files(path: Path) -> list[Path]:
    """Returns the log *path*, or all logs inside a folder, sorted; raises `SourceError` if there is none."""
    if not path.exists():
        raise build_missing_file_error(path)
    logs = [file for file in (list_regular_files(path)[0] if path.is_dir() else [path]) if is_log(file)]
    if not logs:
        raise SourceError(
            f"{path.absolute()} is or holds no log of inspect_ai (.eval, or .json as inspect_ai writes it)"
        )
    return logs


def read_logs(path: Path, imported: ImportResult, epoch: int | None = None) -> list[tuple[int, Row]]:
    """Returns (number, cells) for each review in *path*, a log or a folder of logs; see `choose_reviews`.

    Refused samples, and links, pipes and devices in a folder, are recorded in *imported* as refused. *epoch*: the epoch
    whose samples are used, from 1; None means the first epoch that has a review.

    Raises `SettingsError` if inspect_ai is not installed. Raises `SourceError` if no log can be read, if two models or
    configurations share a candidate's name, or if no sample is of that epoch.
    """
    files, logs = list_log_files(path), []
    if find_spec("inspect_ai") is None:
        raise SettingsError(f"{files[0].name} is a log of inspect_ai, and {EXTRA}")
    for number, (file, log) in enumerate(read_files_in_child_process(read_log, files), start=1):
        if not isinstance(log, SourceError):
            logs.append((file, log))
        elif len(files) == 1:
            raise log
        else:
            imported.refuse(number, f"log {file.name}", log)
    for number, (entry, reason) in enumerate(
        list_regular_files(path)[1] if path.is_dir() else (), start=len(files) + 1
    ):
        imported.refuse(number, f"file {entry.name}", reason)
    first: dict[str, tuple[Path, str]] = {}
    for file, log in logs:
        before, known = first.setdefault(log["candidate"], (file, log["configuration"]))
        if known != log["configuration"]:
            raise SourceError(
                f"{path.name}: {log['candidate']} has different settings in {before.name} and {file.name} (model, "
                "task, solver or sampling differ), and reviews of one candidate are never mixed; import each by "
                "itself, under a name of its own: --as NAME"
            )
    samples = [LoggedSample(*sample) for _, log in logs for sample in log["samples"]]
    if epoch is not None:
        epochs = sorted({sample.epoch for sample in samples})
        if epoch not in epochs:
            raise SourceError(
                f"{path.name} has no sample of epoch {epoch}; its epochs: {format_name_list(map(str, epochs))}"
            )
        samples = [sample for sample in samples if sample.epoch == epoch]
    return choose_reviews(samples, imported)


def read_log(file: Path) -> dict[str, Any]:
    """Returns what `read_logs` uses of the log *file*, as JSON values; `read_files_in_child_process` calls this.

    ``configuration`` is a digest of everything that affects the reviews of ``candidate``. ``samples`` holds the fields
    of each `LoggedSample`.
    """
    _check_log_limits(file)
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(file, exclude_fields=_UNREAD_FIELDS)
    except MemoryError:
        raise
    except Exception as error:  # inspect_ai's reader may raise any exception for a damaged log
        reason = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        raise SourceError(f"{file.name} cannot be read as a log of inspect_ai: {reason}") from None
    planned = len(log.eval.dataset.sample_ids or ()) * (log.eval.config.epochs or 1)
    if planned > MOST_SAMPLES:
        raise SourceError(f"{file.name} states {planned:,} samples, and at most {MOST_SAMPLES:,} are read; split it")
    samples = [astuple(sample) for sample in _iter_samples(file, log)]
    return {
        "candidate": _derive_candidate_name(log),
        "configuration": _compute_configuration_digest(log),
        "samples": samples,
    }


def extract_review_from_output(completion: str, stop_reason: str) -> tuple[str | None, str]:
    """Returns (review, problem) for a model's output; either the review is None or the problem is empty.

    The review is *completion* without the model's thinking. *stop_reason*: as `get_stop_reason` returns it. A review
    that a token limit truncated is valid.
    """
    if stop_reason == "content_filter":
        return None, "refused"
    review, _ = without_thinking(completion)
    return (review, "") if review.strip() else (None, "empty")


def get_paper_id_of_sample(sample_id: object, metadata: Mapping[str, Any] | None) -> str:
    """Returns the id of the paper that a sample reviews: ``paper_id`` in its *metadata*, else *sample_id*."""
    return str((metadata or {}).get("paper_id") or sample_id)[:1000]


def get_stop_reason(output: ModelOutput) -> str:
    """Returns why the model stopped, in inspect_ai's words, such as ``max_tokens``."""
    return output.choices[0].stop_reason if output.choices else "unknown"


def _check_log_limits(file: Path) -> None:
    """Raises `SourceError` if the log *file* is nested too deeply, or its unpacked size exceeds the limit."""
    meter, size = FileReadMeter(file), file.stat().st_size
    try:
        if file.suffix == ".json":
            data = read_bytes(file)
            meter.count_contents(size, compute_value_count_bound(data))
            return check_json_depth(data)
        with open_zip_archive(file, meter) as archive:
            for entry in archive.infolist():
                data = archive.read(entry)
                meter.count_contents(0, compute_value_count_bound(data))
                check_json_depth(data)
                meter.tick()
    except ValueError as error:
        raise SourceError(f"{file.name}: {error}") from None
    except (OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return  # inspect_ai's reader says what is wrong


def _derive_candidate_name(log: EvalLog) -> str:
    name = NOT_IN_A_NAME.sub("-", log.eval.model)[:200]
    return f"model/{name}" if name == HUMAN else name


def _compute_configuration_digest(log: EvalLog) -> str:
    """Returns a digest of all that affects a review in *log*; the choice of papers and the connection do not."""
    configs = [
        config.model_dump(mode="json", exclude_none=True, exclude=_CONNECTION_OPTIONS)
        for config in (log.plan.config, log.eval.model_generate_config)
    ]
    arguments = {name: value for name, value in log.eval.task_args.items() if name not in _PAPER_ARGUMENTS}
    steps = [[step.solver, step.params] for step in log.plan.steps]
    return digest([log.eval.model, repr(log.eval.model_args), log.eval.task, repr(arguments), repr(steps), configs])


def _iter_samples(file: Path, log: EvalLog) -> Iterator[LoggedSample]:
    """Yields every sample of *log*; for each planned sample that *log* lacks, a `LoggedSample` with a problem."""
    candidate, started = _derive_candidate_name(log), str(log.eval.created)
    papers = {}
    for sample in log.samples or ():
        papers[sample.id] = paper_id = get_paper_id_of_sample(sample.id, sample.metadata)
        yield LoggedSample(candidate, paper_id, sample.epoch, started, file.name, *_read_review_of_sample(log, sample))
    present = {(sample.id, sample.epoch) for sample in log.samples or ()}
    for name in log.eval.dataset.sample_ids or ():
        for epoch in range(1, (log.eval.config.epochs or 1) + 1):
            if (name, epoch) not in present:
                paper_id = papers.get(name, str(name))
                why = f"it has no sample in {file.name}, whose status is {log.status}"
                yield LoggedSample(candidate, paper_id, epoch, started, file.name, None, why, log.status != "success")


def _read_review_of_sample(log: EvalLog, sample: EvalSample) -> tuple[str | None, str, bool, bool]:
    """Returns (review, problem, unfinished, cut), as in `LoggedSample`, for a *sample* of *log*."""
    if log.invalidated or sample.invalidation is not None:
        return None, "it was invalidated", False, False
    if sample.error is not None:
        message = (sample.error.message.splitlines() or [""])[0][:200]
        return None, f"its sample ended with an error: {message}", True, False
    stop = get_stop_reason(sample.output)
    review, problem = extract_review_from_output(sample.output.completion, stop)
    if review is None:
        limit = f" (its sample met a limit: {sample.limit.type})" if sample.limit else ""
        what = "thinking alone" if problem == "empty" and sample.output.completion.strip() else problem
        return None, f"its output is {what}{limit}", False, False
    return sample.output.completion, "", False, stop in ("max_tokens", "model_length") or sample.limit is not None


def choose_reviews(samples: Iterable[LoggedSample], imported: ImportResult) -> list[tuple[int, Row]]:
    """Returns (number from 1, cells) for one review of each (candidate, paper).

    The module's docstring states which review is chosen.
    """
    groups: dict[tuple[str, str], list[LoggedSample]] = {}
    for sample in samples:
        groups.setdefault((sample.candidate, sample.paper_id), []).append(sample)
    rows: list[tuple[int, Row]] = []
    cut = later = earlier = 0
    for number, ((candidate, paper_id), group) in enumerate(groups.items(), start=1):
        latest_first = sorted(group, key=lambda sample: sample.started, reverse=True)
        ranked = sorted(latest_first, key=lambda sample: sample.epoch)
        whole = [sample for sample in ranked if sample.review is not None]
        if not whole:
            last = latest_first[0]
            code = UNFINISHED if any(sample.unfinished for sample in group) else ""
            item = f"review of {shorten_cell(paper_id)} by {candidate}"
            imported.refuse(number, item, f"{last.problem} ({last.log})", code, paper_id)
            continue
        best, *others = whole
        rows.append((number, {"paper_id": paper_id, "candidate": candidate, "review": best.review}))
        cut += best.cut
        later += sum(other.epoch != best.epoch for other in others)
        earlier += sum(other.epoch == best.epoch for other in others)
    imported.notes += [f"reviews cut at a limit and taken as they are: {cut}"] if cut else []
    imported.notes += [f"reviews of a later epoch, not taken: {later}"] if later else []
    imported.notes += [f"reviews of an earlier log, not taken: {earlier}"] if earlier else []
    if unfinished := sum(refusal.code == UNFINISHED for refusal in imported.refusals):
        imported.notes.append(f"papers that a retry may bring: {unfinished}; inspect eval-retry LOG, then import again")
    return rows
