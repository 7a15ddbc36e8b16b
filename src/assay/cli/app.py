"""The `assay` command."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
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


def _commands() -> Iterator[tuple[str, str, Callable[..., None] | typer.Typer]]:
    """Yield heading, name and command of all commands, heading by heading."""
    extra = {tuple(name.split("/", 1)): address for name, address in registered_addresses("command").items()}
    for heading in dict.fromkeys((*COMMANDS, *(heading for heading, _ in extra))):
        for name, command in COMMANDS.get(heading, {}).items():
            yield heading, name, command
        for (where, name), address in extra.items():
            if where == heading:
                yield heading, name, import_object(address)


_debugging: list[bool] = []
"""Not empty if full tracebacks are requested."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
    debug: bool = typer.Option(False, "--debug", help="Print full tracebacks of errors."),
) -> None:
    """How much of a robot policy's success is understanding, and how much is memory?"""
    if debug:
        _debugging.append(True)


@cache
def command_line() -> Any:
    """Build every command with its options, once per process: typer takes a tenth of a second to do so."""
    for heading, name, command in _commands():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=heading)
        else:
            app.command(name, rich_help_panel=heading)(command)
    return get_command(app)


def main() -> None:
    """Run the command line: an AssayError is printed in one line, with exit status 2.

    If it arose in user code, the traceback of that code comes before it.
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
        _report_misuse(error)
    sys.exit(status if isinstance(status, int) else 0)


def _report_misuse(error: Any) -> NoReturn:
    """Report an invalid command in one line that names its help; without arguments, print the help itself."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(error.exit_code)
    message = error.format_message().rstrip(".")
    if message.startswith("Missing option '--policy'") and (extra := _extra_arguments(context)):
        message += f": did you mean --policy {extra[-1]}?"
    _refuse(f"{message}; see '{context.command_path} --help'" if context is not None else message)


def _extra_arguments(context: Any) -> list[str]:
    """Return the words after a command that are neither options nor arguments: an option name may be missing."""
    words = sys.argv[1:]
    if context is None or context.info_name not in words:
        return []
    positional = [word for word in words[words.index(context.info_name) + 1 :] if not word.startswith("-")]
    expected = sum(parameter.param_type_name == "argument" for parameter in context.command.params)
    return positional[expected : expected + 1]


def _warn(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
    """Print a warning in one line on standard error, without its source location."""
    line = Text.assemble(("warning:", "yellow"), " ", " ".join(str(message).split()))
    errors.print(line, soft_wrap=True, highlight=False)


def _refuse(message: str) -> NoReturn:
    line = Text.assemble(("error:", "bold red"), " ", " ".join(message.split()))
    errors.print(line, soft_wrap=True, highlight=False)
    sys.exit(2)
