"""``gre-bench models tune``: training evaluation LMs on judgments of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.operate import tune_options
from gre_bench.cli.views import screen
from gre_bench.core.pretrained.cache import placed
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform

app = Commands("Train an evaluation LM on judgments of your own.")


@app.command("cache-ngram")
def tune_cache_ngram(
    judgments: options.JudgmentsFile,
    train: tune_options.TrainRows,
    out: tune_options.ModelFolder,
    choose: tune_options.ChooseRows = None,
    writer: options.OnlyWriter = None,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Train the embedded evaluation LM, which counts n-grams.

    Prints its figures on the held-out papers.
    """
    configure_prefect(state)
    from gre_bench.flows.tune_evaluation_lm import tune, tune_cache_ngram
    from gre_bench.tasks import steps

    asked = (judgments, train, choose, out, writer)
    found = perform(not no_prefect, lambda: tune_cache_ngram(*asked), lambda: tune(*asked, steps.undecorated()))
    if as_json:
        return screen.print_json(found)
    screen.out.print(
        f"trained on {found['trained_on']} papers, written to {found['folder']}; on the papers kept aside:"
    )
    screen.say("  " + ", ".join(f"{name} {value:.4g}" for name, value in found["held_out"].items()))
    screen.say("use it with: --set evaluation_lm.folder=" + found["folder"])


@app.command("lm")
def tune_lm(
    base: tune_options.Base,
    judgments: tune_options.JudgmentsFiles,
    train: tune_options.TrainRowsOfEach,
    out: tune_options.ModelFolder,
    choose: tune_options.HeldOutRows = None,
    papers: options.PapersFile = None,
    writer: options.OnlyWriter = None,
    settings: tune_options.TuningFile = None,
    override: tune_options.TuningSet = None,
    full: tune_options.Full = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Fine-tune a model as an evaluation LM.

    Nine conversations a paper and metric, as in Xu et al. 2025, appendix E. With --papers-file also those of GEM-S, on
    the abstracts. If a training is stopped, the same command continues it.
    """
    from gre_bench.core.settings import BudgetSettings, budget_of
    from gre_bench.tuning.settings import load

    bounds = [one for one in override or () if one.startswith("budget.")]
    budget = budget_of(BudgetSettings(), tuple(bounds))
    others = [one for one in override or () if one not in bounds]
    chosen = load(settings, (*others, *(["method=full"] if full else [])))
    base = placed(base, Path.cwd())
    configure_prefect(state)
    with _bar(out, as_json):
        from gre_bench.flows.tune_evaluation_lm import TuningJob, tune_evaluation_lm
        from gre_bench.flows.tune_evaluation_lm import tune_lm as plain
        from gre_bench.tasks import steps

        job = TuningJob(base, tuple(judgments), tuple(train), out, choose, writer, papers, chosen, state, budget)
        found = perform(not no_prefect, lambda: tune_evaluation_lm(job), lambda: plain(job, steps.undecorated()))
    if as_json:
        return screen.print_json(found)
    _tell(found)


@contextmanager
def _bar(folder: Path, quiet: bool) -> Iterator[None]:
    """Draws the training in *folder* while it works; nothing where nobody looks."""
    if quiet or not screen.err.is_terminal:
        yield
        return
    from gre_bench.cli.views.bar import followed

    with followed(folder):
        yield


def _tell(found: dict[str, Any]) -> None:
    """Where the tuned model is, what it learnt and what was left out, and how it is used."""
    loss, conversations = found["loss"], found["conversations"]
    screen.say(
        f"trained ({found['method']}, base {found['base']['quantisation']} {found['base']['dtype']}, "
        f"{found['optimiser']}) on {conversations['learnt']} conversations of {found['trained_on']} papers in "
        f"{found['steps']} steps"
    )
    for kind, reasons in found["excluded"].items():
        for reason, count in reasons.items():
            screen.say(f"left out ({kind}): {count} {reason}")
    screen.say(f"training loss: {loss['first step']:.4f} at the first step, {loss['last step']:.4f} at the last")
    if loss["held out before"] is not None:
        screen.say(
            f"loss on the {found['kept_aside']} papers kept aside, nats a token: {loss['held out before']:.4f} before, "
            f"{loss['held out after']:.4f} after"
        )
    screen.say(f"it is in {found['folder']}, with loss.svg and training.json; use it with:")
    screen.say(f"  --set evaluation_lm.backend=transformers --set evaluation_lm.folder={found['folder']}")
