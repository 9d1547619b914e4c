"""``gre-bench models tune``: trains evaluation LMs on the user's own judgments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.operate import tune_options
from gre_bench.cli.views import screen
from gre_bench.core.pretrained import placed
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform

app = Commands("Train an evaluation LM on your own judgments.")


@app.command("cache-ngram")
def tune_cache_ngram(
    judgments: tune_options.JudgmentsFiles,
    train: tune_options.TrainRowsOfEach,
    out: tune_options.ModelFolder,
    choose: tune_options.ChooseRows = None,
    never: tune_options.Never = None,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Train the embedded evaluation LM, which counts n-grams.

    Prints its scores on the held-out papers.
    """
    configure_prefect(state)
    from gre_bench.flows.tune_evaluation_lm import TrainingJob, tune, tune_cache_ngram
    from gre_bench.tasks import steps

    job = TrainingJob(
        judgments=tuple(judgments), train=tuple(train), out=out, choose=tuple(choose or ()),
        never=tuple(never or ()),
    )  # fmt: skip
    report = perform(not no_prefect, lambda: tune_cache_ngram(job), lambda: tune(job, steps.undecorated()))
    if as_json:
        return screen.print_json(report)
    _tell_papers(report)
    trained_on = counted(report["trained_on"], "paper")
    screen.say(f"trained on {trained_on}, written to {report['folder']}; on the papers kept aside:")
    screen.say("  " + ", ".join(f"{name} {value:.4g}" for name, value in report["held_out"].items()))
    screen.say("use it with: --set evaluation_lm.folder=" + report["folder"])


@app.command("lm")
def tune_lm(
    base: tune_options.Base,
    judgments: tune_options.JudgmentsFiles,
    train: tune_options.TrainRowsOfEach,
    out: tune_options.ModelFolder,
    choose: tune_options.HeldOutRows = None,
    papers: options.PapersFile = None,
    never: tune_options.Never = None,
    settings: tune_options.TuningFile = None,
    override: tune_options.TuningSet = None,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Fine-tune a model as an evaluation LM.

    Each paper and metric gives nine conversations, as in Xu et al. 2025, appendix E. With --papers-file, GEM-S on the
    abstracts is trained too. If training is stopped, the same command continues it.
    """
    from gre_bench.core.settings import BudgetSettings, budget_of
    from gre_bench.tuning.settings import load

    bounds = [setting for setting in override or () if setting.startswith("budget.")]
    budget = budget_of(BudgetSettings(), tuple(bounds))
    others = [setting for setting in override or () if setting not in bounds]
    chosen = load(settings, tuple(others))
    base = placed(base, Path.cwd())
    configure_prefect(state)
    with _bar(out, as_json):
        from gre_bench.flows.tune_evaluation_lm import TuningJob, tune_evaluation_lm
        from gre_bench.flows.tune_evaluation_lm import tune_lm as plain
        from gre_bench.tasks import steps

        job = TuningJob(
            judgments=tuple(judgments), train=tuple(train), out=out, choose=tuple(choose or ()),
            never=tuple(never or ()), base=base, papers=papers, settings=chosen, state=state, budget=budget,
        )  # fmt: skip
        report = perform(not no_prefect, lambda: tune_evaluation_lm(job), lambda: plain(job, steps.undecorated()))
    if as_json:
        return screen.print_json(report)
    _tell(report)


@contextmanager
def _bar(folder: Path, quiet: bool) -> Iterator[None]:
    """Shows the progress of the training in *folder* until the block ends.

    Nothing is shown if *quiet*, or without a terminal.
    """
    if quiet or not screen.err.is_terminal:
        yield
        return
    from gre_bench.cli.views.bar import followed

    with followed(folder):
        yield


def _tell_papers(report: dict[str, Any]) -> None:
    for name, papers in report["refused"].items():
        screen.say(f"left out: {counted(papers, 'paper')} of the evaluation set {name}")
    for problem in report["unknown"]:
        screen.say(f"no register of what it was learnt from, as {problem}")


def _tell(report: dict[str, Any]) -> None:
    """Prints the *report* of a training: its data, its loss, what was left out, and how to use the tuned model."""
    loss, conversations = report["loss"], report["conversations"]
    screen.say(
        f"trained ({report['method']}, base {report['base']['quantisation']} {report['base']['dtype']}, "
        f"{report['optimiser']}) on {conversations['learnt']} conversations of {report['trained_on']:,} papers in "
        f"{report['steps']} steps"
    )
    _tell_papers(report)
    for kind, reasons in report["excluded"].items():
        for reason, count in reasons.items():
            screen.say(f"left out ({kind}): {count} {reason}")
    screen.say(f"training loss: {loss['first step']:.4f} at the first step, {loss['last step']:.4f} at the last")
    if loss["held out before"] is not None:
        screen.say(
            f"loss on the {report['kept_aside']:,} papers kept aside, nats a token: {loss['held out before']:.4f} "
            f"before, {loss['held out after']:.4f} after"
        )
    screen.say(f"it is in {report['folder']}, with loss.svg and training.json; use it with:")
    screen.say(f"  --set evaluation_lm.backend=transformers --set evaluation_lm.folder={report['folder']}")
