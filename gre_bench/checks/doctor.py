"""Checks, before a run starts, that everything it needs is there.

A check yields findings; a finding about a problem says what to do. No check costs money or changes the edition, and no
finding contains a secret.
"""

from __future__ import annotations

import base64
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import GreBenchError, LMError, Paused, SettingsError, SourceError, SpanError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Paper, Prediction
from gre_bench.core.resources import locate_resource
from gre_bench.core.settings import FetchSettings, Settings
from gre_bench.core.terminal import counted
from gre_bench.http.lm_requests import mask_secrets
from gre_bench.ingest.openreview.client import Login, OpenReview
from gre_bench.ingest.openreview.fetching import locate_budget_file, resolve_api_host
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.pipeline.runs.job import Job, list_secrets
from gre_bench.pipeline.runs.workers import explain_unreachable_ray_cluster
from gre_bench.pipeline.validation_records import format_gate_decision, predict_verdicts
from gre_bench.pipeline.year_models import list_named_lms
from gre_bench.prompts.conditions import split_condition
from gre_bench.store import Store
from gre_bench.store.queries import LAST_SETTINGS

GIB = 2**30
MOST_SLOWER = 3
"""A dtype gets a warning if this CPU computes more than this many times slower in that dtype than in float32."""
MOST_BEHIND_S = 120.0
"""The most seconds that the clock may be behind the newest file."""
MOST_APART_S = 60.0
"""The most seconds that the clock may differ from an endpoint's clock."""
TORCH_BACKENDS = ("transformers", "gem-smollm2")
INSTALL = f"pip install gre-bench -c {locate_resource('constraints.txt')}"
LITTLE_DISK, TOO_LITTLE_DISK = 10 * GIB, GIB
BYTES_PER_PAIR = 22_000
"""Bytes per pair in an edition's database, with texts and log-probabilities. Measured: 12 kB with 1,800 pairs, 22 kB
with 640 pairs."""
BYTES_OF_EMPTY_STORE = 64 * 2**20
"""Bytes of an empty database, the logs, the validation records and Prefect's files."""
COPIES = 3
"""Files with an edition's data that may exist at once: the database, its read-only copy, and the copy that will replace
it."""
BYTES_PER_PDF = 3_000_000
BYTES_PER_REPLY = 64_000
"""Bytes of an archived reply with its prompt, which contains the paper."""
LINE = "The reviewer criticizes the lack of an ablation of the second stage."
HEALTH_S = 10.0
ONE_TRY = FetchSettings(timeout_s=10.0, attempts=1)
OURS = {"deployments": {"tags": {"all_": ["gre-bench"]}}}
SAME_PREFECT = "install the same on both (constraints.txt names it); an older server refuses requests of a newer client"
DEPLOY = "prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml"

Verdict = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. *to_do*: what the user should do; may be empty if the verdict is ok."""

    check: str
    verdict: Verdict
    found: str
    to_do: str = ""


def run_checks(settings: Settings, state: Path) -> Iterator[Finding]:
    """Runs all checks, and yields each finding as soon as it is known.

    Checks of the machine come first, then checks of services. If a check raises an error, the error
    becomes a finding with the verdict ``problem``. Secrets are masked.
    """
    secrets = list_secrets(settings)

    def findings() -> Iterator[Finding]:
        for name, check in CHECKS.items():
            try:
                yield from check(settings, state)
            except GreBenchError as error:
                yield Finding(name, "problem", str(error))

    for finding in findings():
        yield replace(finding, found=mask_secrets(finding.found, secrets), to_do=mask_secrets(finding.to_do, secrets))


def check_python(settings: Settings, state: Path) -> Iterator[Finding]:
    yield Finding("python", "ok", f"{platform.python_version()} in {sys.prefix}")


def check_packages(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the required packages are installed, and that installed packages have the tested versions."""
    needed = [line for line in importlib.metadata.requires("gre-bench") or [] if "extra ==" not in line]
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in needed]
    missing = [name for name in names if _get_installed_version(name) is None]
    if missing:
        yield Finding("packages", "problem", f"not installed: {', '.join(missing)}", INSTALL)
        return
    tested = dict(line.split("==") for line in locate_resource("constraints.txt").read_text().split() if "==" in line)
    # Version 2.13.0+cpu is a build of 2.13.0.
    installed = {
        name: version.partition("+")[0] for name in tested if (version := _get_installed_version(name)) is not None
    }
    untested = [
        f"{name} {installed[name]} (tested: {tested[name]})" for name in installed if installed[name] != tested[name]
    ]
    if untested:
        more = f" and {len(untested) - 3} more" if len(untested) > 3 else ""
        yield Finding("packages", "warning", f"not the tested versions: {', '.join(untested[:3])}{more}", INSTALL)
    else:
        yield Finding("packages", "ok", f"{len(installed)} in the tested versions")


def check_gpu(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks torch and the devices that torch finds.

    Missing torch is a problem only if the evaluation LM or the embedder needs it. A missing GPU is a problem only if
    the settings name the device cuda.
    """
    from gre_bench.lm.opening import choose_dtype
    from gre_bench.lm.weights import describe_installed_torch, measure_dtype_slowdown

    lm, torch = settings.evaluation_lm, describe_installed_torch()
    needed = lm.backend in TORCH_BACKENDS or settings.embedder.backend == "sentence-transformers"
    if torch is None and needed:
        yield Finding("torch", "problem", f"not installed; {lm.backend} needs it", "pip install 'gre-bench[lm]'")
        return
    if torch is None:
        yield Finding("torch", "ok", f"not installed, and {lm.backend} does not need it")
        return
    built = f"for CUDA {torch.cuda}" if torch.cuda else "for CPUs"
    yield Finding("torch", "ok", f"{torch.version}, built {built}")
    for device in torch.devices:
        yield Finding("gpu", "ok", f"{device.name}, {device.free / GIB:.1f} of {device.memory / GIB:.1f} GiB free")
    if torch.devices:
        return
    if lm.backend in TORCH_BACKENDS and lm.device == "cuda":
        todo = "install a driver and a torch for CUDA, or set device to auto or cpu"
        yield Finding("gpu", "problem", "none, and the settings ask for cuda", todo)
    elif lm.backend in TORCH_BACKENDS:
        yield Finding("gpu", "warning", "none: the evaluation LM runs on the CPU", "fine for small models only")
        dtype = choose_dtype(lm)
        if dtype != "float32" and (slower := measure_dtype_slowdown(dtype)) > MOST_SLOWER:
            slow = f"this CPU computes {dtype} {slower:.0f} times slower than float32"
            todo = "set evaluation_lm.dtype=float32, whose scores have a signature of their own"
            yield Finding("arithmetic", "warning", slow, todo)
    else:
        yield Finding("gpu", "ok", f"none, and {lm.backend} does not need one")


def check_state_folder(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that files can be written in the state folder, or that the folder can be created."""
    existing = _find_nearest_existing_folder(state)
    try:
        tempfile.NamedTemporaryFile(dir=existing, prefix=".gre-bench-doctor-").close()
        to_be_made = "" if existing == state.resolve() else f" (to be made in {existing})"
        yield Finding("state", "ok", f"{state} can be written{to_be_made}")
    except OSError as error:
        why = f"{existing} cannot be written: {error.strerror}"
        yield Finding("state", "problem", why, "choose another by --state")


def check_system_clock(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the system clock is not behind the modification times of files of the program and of its runs.

    Run ids, budgets and schedules depend on the clock.
    """
    files = [*state.glob("editions/*/status.json"), *state.glob("spending.jsonl"), Path(__file__)]
    ahead = max((file.stat().st_mtime - time.time() for file in files if file.is_file()), default=0.0)
    time_now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    if ahead > MOST_BEHIND_S:
        yield Finding("clock", "problem", f"{time_now}, {ahead:.0f} s before the newest file here", "set it (NTP)")
    else:
        yield Finding("clock", "ok", time_now)


def check_database(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that a database can be created, written and read, and that the edition's read-only copy can be read."""
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        trial = Store(Path(folder), settings.edition.edition)
        with trial.lock("doctor"):
            trial.copy_for_readers()
        trial.read(LAST_SETTINGS)
    yield Finding("duckdb", "ok", f"{_get_installed_version('duckdb')}: a store can be made, written and read")
    own = Store(state, settings.edition.edition)
    if own.is_readable:
        own.read(LAST_SETTINGS)
        writing = ", being written now" if own.is_being_written() else ""
        yield Finding("edition", "ok", f"{own.key} can be read{writing}")


def check_metric_validation_records(settings: Settings, state: Path) -> Iterator[Finding]:
    """Reports which metrics ``gre-bench year`` would leave out, by the validation records on this machine."""
    todo = "release.unvalidated decides; gre-bench study validate makes a record"
    for row in predict_verdicts(settings, state):
        line, fine = format_gate_decision(row, settings), row["verdict"] in ("pass", "undecided")
        yield Finding("validation", "ok" if fine else "warning", line, "" if fine else todo)


def _find_nearest_existing_folder(path: Path) -> Path:
    """Returns *path* if it exists, or else its nearest existing parent folder."""
    whole = path.resolve()
    return next(folder for folder in (whole, *whole.parents) if folder.exists())


def _get_installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_disk(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the free disk space.

    The verdict is ``problem`` if the edition may not fit or less than `TOO_LITTLE_DISK` is free. It is ``warning`` if
    less is free than twice what the edition may need, or than `LITTLE_DISK`.
    """
    free, needed = shutil.disk_usage(_find_nearest_existing_folder(state)).free, estimate_bytes_needed(settings, state)
    problem, warning = free < max(TOO_LITTLE_DISK, needed), free < max(LITTLE_DISK, 2 * needed)
    verdict = "problem" if problem else "warning" if warning else "ok"
    todo = "" if verdict == "ok" else "free some, or choose another folder by --state"
    free_space = f"{free / GIB:.1f} GiB free; {settings.edition.edition.key} takes {needed / GIB:.1f} GiB more at most"
    yield Finding("disk", verdict, free_space, todo)


def estimate_bytes_needed(settings: Settings, state: Path) -> int:
    """Returns an upper bound on the bytes that a fetch and a refresh with *settings* add to the folder *state*."""
    edition, writing, sources = settings.edition, settings.writing, settings.sources
    pairs = edition.papers * edition.estimate_pairs_per_paper(len(CONTROLS) + len(writing.candidates))
    pairs *= len(settings.scoring.metrics_and_specific_forms)
    lms = list_named_lms(settings)
    texts = len(lms.reviewers) + (len(lms.reviewers) + 3 if lms.judge else 0)
    fetched = 0 if sources.papers or sources.texts or sources.snapshot else edition.papers * BYTES_PER_PDF
    store = Store(state, edition.edition)
    stored = sum(file.stat().st_size for file in store.folder.glob("*.duckdb")) if store.exists else 0
    return (
        max(0, BYTES_OF_EMPTY_STORE + pairs * BYTES_PER_PAIR * COPIES - stored)
        + edition.papers * texts * BYTES_PER_REPLY
        + fetched
    )


def check_refresh_can_start(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that a refresh with *settings* could start."""
    from gre_bench.pipeline.refreshing import check_job_and_name_candidates

    check_job_and_name_candidates(Job(settings, state))
    yield Finding("settings", "ok", f"edition {settings.edition.edition.key}, {', '.join(settings.scoring.metrics)}")


def check_budget_limits(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that each LM has prices if the budget limits money; reports the spending, and which limits are reached."""
    from gre_bench.pipeline.runs.spending import check_budget_models
    from gre_bench.writing.spend_log import ModelBudget, format_spending, open_spend_log, remaining_budget

    check_budget_models(settings.budget, settings.writing.models)
    spend_log, key, bounds = open_spend_log(state), settings.edition.edition.key, settings.budget
    for model in _list_named_models(settings):
        ModelBudget(spend_log, key, bounds, model)
    spent, by_model = spend_log.spent_on_all_models(key), spend_log.models(key)
    if spend_log.damaged:
        yield Finding("spend log", "warning", f"{spend_log.damaged} lines cannot be read and are not counted",
                      f"look at {spend_log.path}; lower the limits by what they cost")  # fmt: skip
    left = remaining_budget(bounds, spent) | {
        f"models.{name}.{bound}": value
        for name, own in bounds.models.items() if name in by_model
        for bound, value in remaining_budget(own, by_model[name]).items()
    }  # fmt: skip
    over = [f"budget.{name}" for name, value in left.items() if value <= 0]
    if over:
        reached = f"reached: {', '.join(over)}; spent: {format_spending(spent)}"
        yield Finding("budget", "warning", reached, "raise it to go on")
    else:
        yield Finding("budget", "ok", f"spent: {format_spending(spent)}" if spent.requests else "nothing spent yet")


def check_evaluation_lm(settings: Settings, state: Path) -> Iterator[Finding]:
    """Opens the evaluation LM and the embedder, if a metric needs them, and runs each once.

    The evaluation LM must find a review likelier when it has just read that same review. If it does not, the finding is
    a warning.
    """
    recipes = [find_recipe(name) for name in settings.scoring.metrics]
    if any(recipe.formula for recipe in recipes):
        from gre_bench.lm.opening import open_lm
        from gre_bench.lm.protocol import compute_checked_span_logprobs

        began = time.monotonic()
        lm = open_lm(settings.evaluation_lm)
        conditional, marginal = compute_checked_span_logprobs(
            lm, [Prediction(LINE, None, LINE), Prediction(None, None, LINE)]
        )
        if isinstance(conditional, SpanError) or isinstance(marginal, SpanError):
            broken = conditional if isinstance(conditional, SpanError) else marginal
            yield Finding("evaluation LM", "problem", str(broken), "use another model, dtype or engine")
        elif conditional.total <= marginal.total:
            line = f"{lm.identity.name}: a review is no likelier after the same review than without it"
            todo = "its scores may say nothing: gre-bench study validate tells"
            yield Finding("evaluation LM", "warning", line, todo)
        else:
            seconds = time.monotonic() - began
            yield Finding("evaluation LM", "ok", f"{lm.identity.name}, {seconds:.1f} s to open and to ask")
    if any(recipe.asks == "embedder" for recipe in recipes):
        from gre_bench.lm.embedders import open_embedder

        vectors = open_embedder(settings.embedder).embed([LINE])
        yield Finding("embedder", "ok", f"{settings.embedder.backend}, vectors of {vectors.shape[-1]} dimensions")


def check_training_overlap(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks whether the evaluation LM or the writer of judgments was trained on papers of the edition."""
    from gre_bench.pipeline.training_overlap import find_overlap_in_read_copy

    exam = find_overlap_in_read_copy(settings, state)
    todo = "validate elsewhere; draw a sample without such papers: --set edition.avoid_trained_on=..."
    for note in exam.notes:
        yield Finding("learnt from", "warning", note, todo)
    if not exam.notes:
        papers = f"none of the {counted(exam.compared, 'paper')} here" if exam.compared else "no papers are here yet"
        names = " and ".join(exam.registers) or "nothing was learnt here"
        yield Finding("learnt from", "ok", f"{names}: {papers}")


def check_endpoints(settings: Settings, state: Path) -> Iterator[Finding]:
    """For each LM in the settings, checks the API key, the endpoint and the model's name, at no cost."""
    from gre_bench.writing.http_writer import check_endpoint
    from gre_bench.writing.inspect_writer import open_provider

    for model in _list_named_models(settings):
        check = f"LM {model.name}"
        try:
            if model.provider == "inspect":
                open_provider(model)
                yield Finding(check, "ok", f"{model.server} can be opened; nothing was sent")
                continue
            answer = check_endpoint(model)
        except (LMError, SettingsError) as error:
            to_do = f"export {model.key_env}=..." if model.provider == "openai" else "set or install what it names"
            yield Finding(check, "problem", str(error), to_do)
            continue
        where, key = urlsplit(model.endpoint).netloc, f", key in {model.key_env}" if model.key_env else ""
        if answer.status is None:
            silent = f"{where} does not answer: {answer.trouble}"
            yield Finding(check, "problem", silent, "start it or correct endpoint")
        elif answer.status in (401, 403):
            yield Finding(check, "problem", f"{where} refuses the key ({answer.status})", f"renew {model.key_env}")
        elif answer.lists is None:
            yield Finding(check, "warning", f"{where} answers ({answer.status}) and lists no models{key}",
                          "try it: gre-bench refresh --limit 2")  # fmt: skip
        elif model.model not in answer.lists:
            yield Finding(check, "warning", f"{where} does not list {model.model}", "correct model in the models file")
        else:
            yield Finding(check, "ok", f"{where} serves {model.model}{key}")
        if answer.ahead_s is not None and abs(answer.ahead_s) > MOST_APART_S:
            yield Finding("clock", "warning", f"{answer.ahead_s:+.0f} s off that of {where}", "set it (NTP)")


def check_context_fit(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the edition's papers, or a paper of typical length, fit the context of each LM that reads papers."""
    from gre_bench.checks.bill import CHARACTERS_A_TOKEN, PAPER_TOKENS, count_papers_that_fit_contexts
    from gre_bench.pipeline.planning import sampled_papers

    store = Store(state, settings.edition.edition)
    papers = [paper for paper in sampled_papers(store) if paper.text] if store.exists else []
    usual = f"a paper of {PAPER_TOKENS:,} tokens"
    for row in count_papers_that_fit_contexts(
        settings, Job(settings, state).writer_context,
        papers or [Paper("usual", "", None, "x" * round(PAPER_TOKENS * CHARACTERS_A_TOKEN))],
    ):  # fmt: skip
        described = f"{row.papers} papers" if papers else usual
        check, todo = f"fit {row.name}", "take an LM with a longer context, or --set writing.over_long=truncate"
        if row.max_output is not None and row.reply > row.max_output:
            yield Finding(check, "problem", row.trouble, "lower sampling.max_tokens in the models file")
        elif row.unknown:
            unknown = f"{described}: its context is not known"
            yield Finding(check, "warning", unknown, "state context in the models file")
        elif row.trouble:
            verdict = "warning" if row.over_long == "truncate" or not row.does_not_fit else "problem"
            yield Finding(check, verdict, row.trouble if papers else f"{usual}: {row.trouble}", todo)
        else:
            yield Finding(check, "ok", f"{described}: the longest prompt has {row.longest} tokens ({row.basis})")


def _list_named_models(settings: Settings) -> list[Model]:
    """Returns the distinct LMs in the settings; raises `SettingsError` for an LM that is not in the models file."""
    wanted = dict.fromkeys(split_condition(name)[0] for name in list_named_lms(settings).all)
    models = load_models(settings.writing.models)
    for name in wanted:
        if name not in models:
            raise SettingsError(f"no model {name!r} in the models file; known: {', '.join(models)}")
    return [models[name] for name in wanted]


def check_prefect_server(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the Prefect server that PREFECT_API_URL names, and this project's deployments on it."""
    url = os.environ.get("PREFECT_API_URL", "").strip().rstrip("/")
    if not url:
        yield Finding("prefect", "ok", "no PREFECT_API_URL: each run starts a temporary server of its own")
        return
    where = urlsplit(url).hostname or "an address without a host"
    todo = "start it (prefect server start), correct PREFECT_API_URL, or run with --no-prefect"
    try:
        healthy = _request_prefect_json(url, "/health") is True
    except (OSError, ValueError) as error:
        yield Finding("prefect", "problem", f"server at {where} does not answer: {type(error).__name__}", todo)
        return
    if not healthy:
        yield Finding("prefect", "problem", f"server at {where} is not a healthy Prefect server", todo)
        return
    try:
        _request_prefect_json(url, "/ready")  # unlike /health, this queries the server's database
    except (OSError, ValueError) as error:
        yield Finding("prefect", "problem", f"server at {where} answers, and its database does not: "
                      f"{type(error).__name__}", "start the database that the server uses")  # fmt: skip
        return
    yield Finding("prefect", "ok", f"server at {where} is healthy")
    try:
        theirs, ours = _request_prefect_json(url, "/admin/version"), importlib.metadata.version("prefect")
        if theirs == ours:
            yield Finding("prefect", "ok", f"server and client are {ours}")
        else:
            yield Finding("prefect", "warning", f"the server is {theirs}, this client {ours}", SAME_PREFECT)
        yield from _check_work_pools(url)
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield Finding("prefect", "problem", f"server at {where} does not say what it has: {type(error).__name__}",
                      "is its version ours, and PREFECT_API_KEY or PREFECT_API_AUTH_STRING right?")  # fmt: skip


def check_ray_cluster(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the address of the Ray cluster, if the settings name one, accepts connections."""
    if address := settings.run.ray_address:
        lacking = explain_unreachable_ray_cluster(address, (0.0,))
        yield Finding("ray", "problem" if lacking else "ok", lacking or f"something answers at {address}",
                      "start the cluster (ray start --head) or correct run.ray_address" if lacking else "")  # fmt: skip


def _check_work_pools(url: str) -> Iterator[Finding]:
    """Checks the work pools of this project's deployments: each must exist, not be paused, and have a worker online."""
    scheduled = defaultdict[str, list[str]](list)
    for deployment in _request_prefect_json(url, "/deployments/filter", OURS):
        active = not deployment["paused"] and any(schedule["active"] for schedule in deployment["schedules"])
        scheduled[deployment["work_pool_name"] or ""] += [deployment["name"]] if active else []
    if not scheduled:
        yield Finding("work pools", "warning", "nothing of this project is deployed", f"to schedule it: {DEPLOY}")
    pools = {pool["name"]: pool for pool in _request_prefect_json(url, "/work_pools/filter", {})}
    for name, waiting in sorted(scheduled.items()):
        due = f"scheduled there: {', '.join(sorted(waiting)) or 'nothing'}"
        if name not in pools:
            todo = f"python deployments/server_setup.py, then {DEPLOY}"
            yield Finding("work pools", "problem", f"no work pool {name!r}; {due}", todo)
        elif pools[name]["is_paused"]:
            yield Finding("work pools", "warning", f"{name} is paused; {due}", f"prefect work-pool resume {name}")
        else:
            workers = _request_prefect_json(url, f"/work_pools/{quote(name, safe='')}/workers/filter", {})
            online = sum(worker["status"] == "ONLINE" for worker in workers)
            count = f"{online} worker{'s' * (online > 1)}" if online else "no worker"
            idle = waiting and not online
            todo = f"prefect worker start --pool {name}" if idle else ""
            yield Finding("work pools", "warning" if idle else "ok", f"{name} has {count} online; {due}", todo)


def _request_prefect_json(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Returns the JSON reply of the server at *url* to a GET of *path*, or to a POST if *body* is given.

    Raises `OSError` if the server does not answer or refuses the request, and `ValueError` if the reply is not JSON.
    """
    headers = {"content-type": "application/json"}
    if key := os.environ.get("PREFECT_API_KEY", "").strip():
        headers["authorization"] = f"Bearer {key}"
    elif login := os.environ.get("PREFECT_API_AUTH_STRING", "").strip():
        headers["authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=HEALTH_S) as answer:
        return json.load(answer)


def check_openreview(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the OpenReview login by sending one request, which counts against the service's limits."""
    from gre_bench.tasks.fetch import read_secret

    fetch, sources = settings.fetch, settings.sources
    has_sources = any((sources.notes, sources.snapshot, sources.papers, sources.reviews))
    login = Login(**{name: read_secret(place) for name, place in fetch.secrets.items()})
    user, password = fetch.secrets["username"], fetch.secrets["password"]
    if login.token:
        account = f"a token in {fetch.secrets['token']}"
    elif login.username and login.password:
        account = f"an account in {user} and {password}"
    elif login.username or login.password:
        todo = f"set both {user} and {password}"
        yield Finding("OpenReview", "problem", "half a login: a user name without a password, or the reverse", todo)
        return
    elif not fetch.host:
        todo = f"set {user} and {password}, or name notes or a snapshot in the settings"
        if has_sources:
            yield Finding("OpenReview", "ok", "no login, and these settings need none")
        else:
            yield Finding("OpenReview", "warning", "no login: gre-bench fetch would be refused", todo)
        return
    else:
        account = "no login"
    try:
        resolve_api_host(settings)
    except SettingsError as error:
        if has_sources:
            yield Finding("OpenReview", "ok", f"{account}; not tried: {error}")
        else:
            yield Finding("OpenReview", "warning", f"{account}; {error}", "or name notes or a snapshot in the settings")
        return
    yield _try_login(settings, state, login, account, "warning" if has_sources and not fetch.host else "problem")


def _try_login(settings: Settings, state: Path, login: Login, account: str, verdict: Verdict) -> Finding:
    """Sends one request with *login* and returns the finding.

    If the folder *state* exists, the request is recorded there, because it counts against the service's limits.

    *account*: a description of the login. *verdict*: the verdict if the request fails.
    """
    service, venue = resolve_api_host(settings), find_venue_entry(settings.edition.venue, settings.edition.year)
    where, invitation = service.host.partition("//")[2], venue.listings[0]
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        budget = locate_budget_file(state if state.is_dir() else Path(folder))
        client = OpenReview(service.api, service.host, RequestBudget(budget), login, ONE_TRY)  # type: ignore[arg-type]
        try:
            count = client.fetch_submission_count(invitation)
        except Paused as pause:
            return Finding("OpenReview", "ok", f"{account}; not tried: {pause}")
        except SourceError as error:
            todo = "set the login again, check the service, or name notes or a snapshot in the settings"
            return Finding("OpenReview", verdict, f"{account}; {error}", todo)
    if not count:
        todo = f"is {venue.name} open yet? look at its entry in data/venues.toml"
        return Finding("OpenReview", "warning", f"{where} takes {account} and lists nothing under {invitation}", todo)
    return Finding("OpenReview", "ok", f"{where} takes {account}: {count} submissions under {invitation}")


CHECKS: dict[str, Callable[[Settings, Path], Iterator[Finding]]] = {
    "python": check_python,
    "packages": check_packages,
    "torch": check_gpu,
    "state": check_state_folder,
    "clock": check_system_clock,
    "duckdb": check_database,
    "validation": check_metric_validation_records,
    "disk": check_disk,
    "settings": check_refresh_can_start,
    "budget": check_budget_limits,
    "evaluation LM": check_evaluation_lm,
    "learnt from": check_training_overlap,
    "LMs": check_endpoints,
    "fit": check_context_fit,
    "prefect": check_prefect_server,
    "ray": check_ray_cluster,
    "OpenReview": check_openreview,
}
