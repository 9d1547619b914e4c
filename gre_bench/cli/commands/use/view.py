"""``gre-bench view``: shows the editions, releases and runs of a state folder in a browser on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError, Stopped

Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port on this machine; 0: any free one.")
]
Private = Annotated[bool, typer.Option("--all-texts", help="Show texts of any licence, for yourself alone.")]


def view(port: Port = 8642, all_texts: Private = False, state: options.State = Path("state")) -> None:
    """Show boards, papers and running refreshes in a browser.

    The server is read only and answers this machine alone. Ctrl-C stops it.
    """
    from gre_bench.reports.viewing import Viewing, server_of

    if not state.is_dir():
        raise SettingsError(f"there is no folder {state.absolute()}; name the right one: --state FOLDER")
    viewing = Viewing(state, all_texts)
    try:
        with server_of(viewing, port) as server:
            screen.say(f"http://127.0.0.1:{server.server_address[1]}/ shows {state.absolute()}; Ctrl-C stops it")
            server.serve_forever()
    except (Stopped, KeyboardInterrupt):
        screen.say("stopped")
    finally:
        viewing.close()
