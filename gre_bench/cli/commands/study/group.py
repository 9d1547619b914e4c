"""``gre-bench study``: the group of commands that test metrics, evaluation LMs, references and guidelines."""

from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.study import examiners, guidelines
from gre_bench.cli.commands.study.agree import agree
from gre_bench.cli.commands.study.claims import claims
from gre_bench.cli.commands.study.flaws import flaws
from gre_bench.cli.commands.study.hygiene import hygiene
from gre_bench.cli.commands.study.known_answers import known_answers
from gre_bench.cli.commands.study.points import points
from gre_bench.cli.commands.study.symmetry import symmetry
from gre_bench.cli.commands.study.validate import validate

app = Commands("Test metrics, evaluation LMs, references and guidelines.")
for _command in (validate, agree, symmetry, hygiene, known_answers, flaws, points, claims):
    app.command()(_command)
app.add_typer(guidelines.app, name="guidelines")
app.add_typer(examiners.app, name="examiners")
