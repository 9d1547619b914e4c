"""Classes of groups and commands: the layout of ``--help``, one-line usage errors, and the output of answers."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from inspect import Parameter
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import load_run_settings
from gre_bench.cli.removed import find_replacement
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.store import keep_copies_open


class CommandResult(NamedTuple):
    """The result of a command: the *report* that --json prints, the function that shows it, and the exit code."""

    report: Any
    show: Callable[[Any], object]
    code: int = 0


def _make_parameters(*named: tuple[str, Any, Any]) -> list[Parameter]:
    return [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=value) for name, kind, value in named]


CHOSEN = _make_parameters(
    ("settings", options.SettingsFile, None), ("edition", options.Edition, None), ("override", options.Set, None)
)
CONTEXT = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)


def make_command(work: Callable[..., CommandResult | None]) -> Callable[..., None]:
    """Returns a command that calls *work*, prints its answer (nothing if it is None), and exits.

    Some parameters of *work* get their values from options that *work* does not declare:

    - *chosen*: the settings that --settings, --edition and --set give.
    - *state*, *no_prefect*, *wait*: the options of the program, see `options.PROGRAM`.
    - *quiet*: whether --json is given. A command whose *work* returns a `CommandResult` has --json as well.
    """
    own = inspect.signature(work, eval_str=True).parameters
    has_json = "quiet" in own or str(work.__annotations__.get("return")).startswith(CommandResult.__name__)
    shared = [name for name in options.PROGRAM if name in own or (name == "as_json" and has_json)]
    parameters = [CONTEXT]
    for name, parameter in own.items():
        if name not in (*shared, "quiet"):
            parameters += CHOSEN if name == "chosen" else [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
    parameters += _make_parameters(*((name, options.redeclare_program_option(name), None) for name in shared))

    def command(context: typer.Context, **given: Any) -> None:
        program = context.find_root()
        for param in program.command.params:
            source = program.get_parameter_source(param.name or "")
            if param.name in options.PROGRAM.keys() - {*shared} and source and source.name == "COMMANDLINE":
                raise SettingsError(f"{context.command_path} takes no {param.opts[0]}")
        given |= {name: context.obj[name] for name in shared if given[name] is None}
        as_json = given.pop("as_json", False)
        if "chosen" in own:
            file, edition, override = given.pop("settings"), given.pop("edition"), given.pop("override")
            given["chosen"] = load_run_settings(file, edition, override, given["state"])
        if "quiet" in own:
            given["quiet"] = as_json
        answer = work(**given)
        if answer is None:
            return
        if as_json:
            screen.print_json(answer.report)
        else:
            answer.show(answer.report)
        raise typer.Exit(answer.code)

    command.__name__, command.__doc__ = work.__name__, work.__doc__
    command.__signature__ = inspect.Signature(parameters)  # pyrefly: ignore
    command.__annotations__ = {}
    return command


class Command(TyperCommand):
    """A command whose help omits the types of flags and named arguments, and fills each line of the terminal.

    The last line of the help names the options of the program that the command takes.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        shared = [param.opts[0] for param in self.params if getattr(param, "hidden", False)]
        self.epilog = f"Also takes {', '.join(shared)} (see: gre-bench --help)." if shared else None
        self.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in (self.help or "").split("\n\n"))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accepts an edition or a year as an argument or as an option, no matter which of the two the command declares.

        If the command declares arguments, ``--edition X`` becomes the first argument, and ``--year Y`` the last. If it
        declares the option --edition, a surplus argument that looks like an edition becomes that option. If it declares
        the arguments VENUE and YEAR, the single word VENUE-YEAR stands for both.
        """
        arguments = [param.name for param in self.params if isinstance(param, TyperArgument)]
        args = list(args)
        if {"edition", "editions", "venue"} & {*arguments}:
            args = _move_option_to_argument(args, ("--edition", "-e"), first=True)
            if "venue" in arguments:
                args = _move_option_to_argument(args, ("--year",), first=False)
                place = _find_argument_index(args, _VENUE_YEAR)
                args[place : place + 1] = _split_venue_year(args[place]) if place < len(args) else ()
        elif any(param.name == "edition" for param in self.params):
            given, extra, _ = self.make_parser(ctx).parse_args(list(args))
            place = _find_argument_index(args, _EDITION)
            if extra and place < len(args) and given.get("edition") is None:
                args.insert(0, f"--edition={args.pop(place)}")
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        """Returns the parameters of the command, without uninformative types."""
        return _hide_parameter_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands, with the help of a `Command`."""

    def get_params(self, ctx: Any) -> Any:
        """Returns the parameters of the group, without uninformative types."""
        return _hide_parameter_types(super().get_params(ctx))


class TopLevelGroup(Group):
    """The group that holds all commands."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Runs the program and exits. A usage error is printed as one line, like all other errors."""
        try:
            with keep_copies_open():
                code = super().main(*args, **more | {"standalone_mode": False})
        except typer.TyperException as error:
            code = error.exit_code
            # Without a message, a group was called without a command, and has printed its help.
            if message := " ".join(error.format_message().split()).rstrip("."):
                context = getattr(error, "ctx", None)
                more_help = f" (see: {context.command_path} --help)" if context else ""
                instead = find_replacement(context.command_path, message) if context else None
                screen.print_error(instead or message.replace(": Value error, ", ": ") + more_help)
        sys.exit(code or 0)


class CommandApp(typer.Typer):
    """A `typer.Typer` whose commands have the class `Command`. Called without arguments, it shows its help."""

    def __init__(self, help: str, cls: type[Group] = Group, **more: Any) -> None:
        super().__init__(help=help, cls=cls, no_args_is_help=True, pretty_exceptions_enable=False, **more)

    def command(self, name: str | None = None, **more: Any) -> Any:
        """Adds a command: a function that returns a `CommandResult`, or one that prints by itself."""
        add = super().command(name, cls=Command, **more)

        def adding(work: Callable[..., Any]) -> Callable[..., Any]:
            add(make_command(work))
            return work

        return adding


_EDITION = re.compile(r"[A-Za-z][\w.]*-(?:19|20)\d\d(?:-[\w.-]+)?")
_VENUE_YEAR = re.compile(r"([A-Za-z][\w.]*)-((?:19|20)\d\d)")


def _find_argument_index(args: list[str], pattern: re.Pattern[str]) -> int:
    """Returns the index of the first word that matches *pattern* and follows no option; len(args) if none does."""
    free = (not before.startswith("-") for before in ("", *args))
    places = (
        index for index, (word, own) in enumerate(zip(args, free, strict=False)) if own and pattern.fullmatch(word)
    )
    return next(places, len(args))


def _split_venue_year(word: str) -> tuple[str, ...]:
    both = _VENUE_YEAR.fullmatch(word)
    return both.groups() if both else (word,)


def _move_option_to_argument(args: list[str], names: tuple[str, ...], first: bool) -> list[str]:
    """Returns *args* with an option turned into an argument: the first if *first*, else the last.

    *names*: the spellings of the option, such as ``--edition`` and ``-e``.
    """
    end = args.index("--") if "--" in args else len(args)
    for index, word in enumerate(args[:end]):
        name, equals, value = word.partition("=")
        if name in names and (equals or index + 1 < end):
            rest = [*args[:index], *args[index + (1 if equals else 2) :]]
            value = value if equals else args[index + 1]
            return [value, *rest] if first else [*rest, value]
    return args


def _hide_parameter_types(params: list[Any]) -> list[Any]:
    for param in params:
        if isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
        elif isinstance(param, TyperArgument) and param.metavar:
            param.display_type_rich = lambda ctx: None  # pyrefly: ignore
    return params
