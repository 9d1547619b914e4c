"""``gre-bench tune``: training evaluation LMs on judgments of one's own."""

from __future__ import annotations

from pathlib import Path

import typer

from flows import options, screen
from flows.engine import settle, tame_server

app = typer.Typer(help="Train an evaluation LM on judgments of your own.", no_args_is_help=True)


@app.command("cache-ngram", epilog=options.EXIT_CODES)
def tune_cache_ngram(
    judgments: options.JudgmentsFile,
    train: options.TrainRows,
    out: options.Out,
    choose: options.ChooseRows = None,
    writer: options.OnlyWriter = None,
    engine: options.Engine = True,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Train the embedded evaluation LM and write it to a folder; prints the figures on the papers kept aside."""
    settle(state)
    from flows.tune_evaluation_lm import tune, tune_cache_ngram
    from tasks import steps

    asked = (judgments, train, choose, out, writer)
    if engine:
        tame_server()
    found = tune_cache_ngram(*asked) if engine else tune(*asked, steps.undecorated())
    if as_json:
        return screen.print_json(found)
    screen.out.print(
        f"trained on {found['trained_on']} papers, written to {found['folder']}; on the papers kept aside:"
    )
    screen.say("  " + ", ".join(f"{name} {value:.4g}" for name, value in found["held_out"].items()))
    screen.say("use it with: --set evaluation_lm.folder=" + found["folder"])
