"""``gre-bench models bench``: measures how fast scoring is on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.core.pretrained import located, placed
from gre_bench.core.settings import evaluation_lm_of

Shape = Literal["60m", "llama-3.1-8b"]

app = Commands("Measure how fast this machine scores.")

Model = Annotated[
    Path | None, typer.Option("--model", metavar="NAME", help="Model to measure, a folder or name; default: random.")
]
ShapeName = Annotated[
    Shape | None, typer.Option("--shape", help="Shape of the random model; default: 60m. The other needs a GPU.")
]
Judgments = Annotated[
    Path | None,
    typer.Option(
        "--judgments", metavar="FILE",
        help="Judgments to score, in the format of import reviews; default: the sample edition.",
    ),
]  # fmt: skip
Papers = Annotated[int, typer.Option("--papers", metavar="N", min=1, help="Papers to score.")]
Candidates = Annotated[int, typer.Option("--candidates", metavar="N", min=1, help="Candidates per paper.")]
Rounds = Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds; each measures every method once.")]
Override = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One setting of the LM, such as evaluation_lm.dtype; repeatable."),
]
Growth = Annotated[bool, typer.Option("--growth", help="Also run the engine on 2, 4 and 8 times the papers.")]


@app.command("scoring")
def scoring(
    model: Model = None,
    shape: ShapeName = None,
    judgments: Judgments = None,
    rows: options.Rows = None,
    papers: Papers = 1,
    candidates: Candidates = 8,
    rounds: Rounds = 5,
    override: Override = None,
    growth: Growth = False,
    as_json: options.Json = False,
) -> None:
    """Time the scoring engine against other ways to score.

    The others are: one text at a time, padded batches, lm-evaluation-harness and vLLM. All score the same texts in
    turn; ratios are medians over rounds. The command also estimates the hours that a whole edition takes.
    """
    from gre_bench.lm.backends.vllm_lm import VLLM
    from gre_bench.lm.measurement import learnt_tokenizer, random_weights
    from gre_bench.lm.weights import open_weights
    from gre_bench.preflight.bench_scoring import bench_scoring, load

    lm = evaluation_lm_of(tuple(override or ()))
    with_server = "endpoint" in lm.model_fields_set
    if model is not None and shape is not None:
        raise SettingsError("--shape is for a random model and --model for a real one: leave one of the two out")
    if model is None and lm.quantisation != "none":
        raise SettingsError("evaluation_lm.quantisation needs --model: a random model is not quantised")
    if model is None and with_server:
        raise SettingsError("evaluation_lm.endpoint needs --model, the folder of the model that is served")
    inputs = load(judgments, rows, papers, candidates, synopses=3)
    placement: dict[str, Any] = lm.model_dump(include={"device", "dtype", "attention"})
    if model is not None:
        placement["quantisation"] = lm.quantisation
        weights = open_weights(located(placed(model, Path.cwd()), "lm"), **placement)
    else:
        weights = random_weights(shape or "60m", learnt_tokenizer(inputs.texts), **placement)
    server = None
    if with_server:
        served: dict[str, Any] = {"dtype": weights.dtype, "quantisation": weights.quantisation}
        server = VLLM.open(lm.endpoint, weights.folder, **served, key_env=lm.key_env)
    with _rounds(rounds) as on_round:
        report = bench_scoring(
            weights, inputs, rounds=rounds, budget=lm.token_budget, server=server, growth=growth, on_round=on_round
        )
    if "vllm" in report["methods"]:
        # The peak was measured here, not on the server's hardware.
        report["methods"]["vllm"]["peak_fraction"] = None
    if as_json:
        return screen.print_json(report)
    _show(report)


@contextmanager
def _rounds(rounds: int) -> Iterator[Any]:
    remaining = TextColumn("remaining"), TimeRemainingColumn()
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), *remaining
    with Progress(*columns, console=screen.err, transient=True) as progress:
        bar = progress.add_task("warming up", total=None)
        seen: set[str] = set()

        def on_round(done: int, name: str) -> None:
            seen.add(name)
            if done:
                progress.update(bar, total=rounds * len(seen), advance=1, description=f"round {done}: {name}")

        yield on_round


def _show(report: dict[str, Any]) -> None:
    screen.say(f"{report['model']}, {report['dtype']} on {report['device']}: {report['load']}, {report['pairs']} pairs")
    screen.say(f"matrix products reach {report['matmul_peak_tflops']:.2f} TFLOP/s; median of {report['rounds']} rounds")
    table = Table(box=None, padding=(0, 1))
    heads = "method", "pairs/s", "wall", "CPU", "work", "of peak", "memory", "off by", "edition"
    for head in heads:
        table.add_column(head, justify="left" if head == "method" else "right")
    for name, row in report["methods"].items():
        table.add_row(
            name, f"{row['pairs_per_s']:.2f}", _times(row["wall_ratio"]), _times(row["cpu_ratio"]),
            _times(row["work_ratio"]), _share(row["peak_fraction"]), _bytes(row["peak_memory_bytes"]),
            f"{row['largest_disagreement']:.0e}", f"{row['hours_per_edition']:.1f} h",
        )  # fmt: skip
    screen.out.print(table)
    screen.say(
        "wall, CPU: how many times faster than one at a time; work: how many times less there is to compute; "
        "edition: 300 papers, 21 candidates, 2 references, 3 metrics"
    )
    for row in report.get("growth", ()):
        screen.say(
            f"engine on {row['papers']} papers: {row['wall_s']:.1f} s, CPU {row['cpu_s']:.1f} s, "
            f"memory {_bytes(row['peak_memory_bytes'])}"
        )


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}×"


def _share(fraction: float | None) -> str:
    return "" if fraction is None else f"{fraction:.0%}"


def _bytes(count: int | None) -> str:
    return "" if count is None else f"{count / 2**30:.2f} GiB"
