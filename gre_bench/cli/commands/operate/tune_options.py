"""The options of ``gre-bench models tune``, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JudgmentsFiles = Annotated[
    list[Path],
    typer.Option(
        "--judgments", metavar="FILE", help="Reviews with judgments, in the format of import reviews; repeatable."
    ),
]
TrainRowsOfEach = Annotated[
    list[str],
    typer.Option("--train", metavar="FIRST:END", help="Rows to train on: once for each --judgments, in their order."),
]
ChooseRows = Annotated[
    list[str] | None,
    typer.Option(
        "--choose",
        metavar="FIRST:END",
        help="Rows of the first --judgments to choose weights on, then of the second, ...; default: a sixth of the "
        "training papers.",
    ),
]
HeldOutRows = Annotated[
    list[str] | None,
    typer.Option(
        "--choose",
        metavar="FIRST:END",
        help="Held-out rows of the first --judgments, then of the second, ..., to measure the loss on.",
    ),
]
Never = Annotated[
    list[Path] | None,
    typer.Option(
        "--never",
        metavar="FILE",
        help="Evaluation set: papers, reviews or notes that nothing may be learnt from; repeatable. Their papers are "
        "left out, by id and by text.",
    ),
]
Base = Annotated[
    Path, typer.Option("--model", metavar="NAME", help="Model to start from: a folder, or a name from models list.")
]
ModelFolder = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write the model to.")]
TuningFile = Annotated[
    Path | None,
    typer.Option("--settings", "-s", metavar="FILE", help="TOML file of training settings; default: the paper's."),
]
TuningSet = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One training setting; repeatable.")
]
