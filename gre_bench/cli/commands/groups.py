"""Classes of groups and commands: the layout of ``--help``, and usage errors in one line."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from gre_bench.cli.views import screen
from gre_bench.store import kept_open


class Command(TyperCommand):
    """A command with a shorter help.

    The help omits the types of flags and of named arguments. Its paragraphs fill each line of the terminal.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.help = _unwrapped(self.help or "")

    def get_params(self, ctx: Any) -> Any:
        """Returns the parameters of the command; their types are hidden for flags and named arguments."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands. Its help omits the types of flags, like the help of a `Command`."""

    def get_params(self, ctx: Any) -> Any:
        """Returns the parameters of the group; their types are hidden for flags."""
        return _without_types(super().get_params(ctx))


class TopGroup(Group):
    """The group that holds all commands."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Runs the program and exits. A usage error is printed as one line, like all other errors."""
        try:
            with kept_open():
                code = super().main(*args, **more | {"standalone_mode": False})
        except typer.TyperException as error:
            code = error.exit_code
            # No message: a group was called without a command, and has printed its help.
            if message := " ".join(error.format_message().split()).rstrip("."):
                context = getattr(error, "ctx", None)
                more_help = f" (see: {context.command_path} --help)" if context else ""
                screen.error(message.replace(": Value error, ", ": ") + more_help)
        sys.exit(code or 0)


class Commands(typer.Typer):
    """A `typer.Typer` whose commands have the class `Command`. Called without arguments, it shows its help."""

    def __init__(self, help: str, cls: type[Group] = Group, **more: Any) -> None:
        super().__init__(help=help, cls=cls, no_args_is_help=True, pretty_exceptions_enable=False, **more)

    def command(self, name: str | None = None, **more: Any) -> Any:
        """Adds a command of the class `Command`; the parameters are those of `typer.Typer.command`."""
        return super().command(name, cls=Command, **more)


def _unwrapped(text: str) -> str:
    """Returns *text* with each paragraph on one line, so that a terminal of any width can wrap it."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
        elif isinstance(param, TyperArgument) and param.metavar:
            param.display_type_rich = lambda ctx: None  # pyright: ignore[reportAttributeAccessIssue]
    return params
