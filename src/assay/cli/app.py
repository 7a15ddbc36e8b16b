"""The `assay` command."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NoReturn

import typer
from rich.text import Text
from typer.main import get_command

from assay import __version__
from assay.cli import duel, experiments, machine, policies, run, runs, tasks
from assay.errors import AssayError, DeclinedError, traceback_of
from assay.support.console import errors, say
from assay.support.plugins import import_object, registered_addresses

app = typer.Typer(
    name="assay",
    help="How much of a robot policy's success is understanding, and how much is memory?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
COMMANDS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = MappingProxyType(
    {
        "Evaluate a policy": {
            "try": policies.try_policy,
            "run": run.run,
            "report": runs.report,
            "compare": runs.compare,
            "ui": machine.ui,
        },
        "Plan and decide": {
            "plan": run.plan,
            "duel": duel.duel,
            "gate": duel.gate,
            "search": duel.search,
        },
        "Lists": {
            "policies": policies.app,
            "experiments": experiments.app,
            "tasks": tasks.app,
            "runs": runs.app,
        },
        "This machine": {"doctor": machine.doctor, "assets": machine.assets_app, "demo": machine.demo},
        "Rarely used": {
            "serve": policies.serve,
            "certify": experiments.certify,
            "audit": experiments.audit,
            "parity": machine.parity,
            "check": machine.check,
        },
    }
)
"""Heading -> name -> command, in order of use; extensions and plugins append theirs to a heading."""


_debugging: list[bool] = []
"""Non-empty if full tracebacks were requested."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
    debug: bool = typer.Option(False, "--debug", help="Print the full traceback of an error."),
) -> None:
    """How much of a robot policy's success is understanding, and how much is memory?"""
    if debug:
        _debugging.append(True)


@cache
def command_line() -> Any:
    """Build all commands and their options, once per process, because typer takes a tenth of a second to do so."""
    commands = {heading: dict(builtin) for heading, builtin in COMMANDS.items()}
    for address_name, address in registered_addresses("command").items():
        heading, _, name = address_name.partition("/")
        commands.setdefault(heading, {})[name] = import_object(address)
    for heading, named in commands.items():
        for name, command in named.items():
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, rich_help_panel=heading)
            else:
                app.command(name, rich_help_panel=heading)(command)
    return get_command(app)


def main() -> None:
    """Run the command line. An AssayError is printed on one line, and the exit status is 2.

    If user code raised the error, the traceback of that code is printed first.
    """
    warnings.showwarning = _warn
    _debugging.clear()
    try:
        status = command_line()(standalone_mode=False)
    except DeclinedError:
        sys.exit(1)
    except AssayError as error:
        if trace := "".join(traceback.format_exception(error)).strip() if _debugging else traceback_of(error):
            say(trace, aside=True)
        _refuse(str(error))
    except KeyboardInterrupt:
        errors.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output is gone; nothing more can be printed, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except sqlite3.Error as error:
        _refuse(f"the run file cannot be used: {error}")
    except OSError as error:
        _refuse(f"{error.filename or 'a file'}: {error.strerror or error}")
    except Exception as error:
        # Typer's exceptions are recognised by name, because the package that defines them varies.
        if type(error).__name__ == "Abort":  # Ctrl-C, or end of input at a prompt
            errors.print("interrupted")
            sys.exit(130)
        if not hasattr(error, "format_message"):
            raise
        # An invalid command is reported in one line that names its help; without arguments, the help is printed.
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
            sys.exit(error.exit_code)  # type: ignore[attr-defined]
        message, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
        _refuse(message if context is None else f"{message}; see '{context.command_path} --help'")
    sys.exit(status if isinstance(status, int) else 0)


def _warn(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
    """Print a warning on one line to standard error, without its source location."""
    line = Text.assemble(("warning:", "yellow"), " ", " ".join(str(message).split()))
    errors.print(line, soft_wrap=True, highlight=False)


def _refuse(message: str) -> NoReturn:
    line = Text.assemble(("error:", "bold red"), " ", " ".join(message.split()))
    errors.print(line, soft_wrap=True, highlight=False)
    sys.exit(2)
