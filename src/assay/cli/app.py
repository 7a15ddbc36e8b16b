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
from assay.cli import (
    assets,
    audit,
    certify,
    check,
    compare,
    demo,
    doctor,
    duel,
    experiments,
    gate,
    parity,
    plan,
    policies,
    probe,
    report,
    run_,
    runs,
    search,
    serve,
    tasks,
    try_,
    ui,
    words,
)
from assay.errors import AssayError, traceback_of
from assay.support.console import errors, say
from assay.support.plugins import imported, provided

app = typer.Typer(
    name="assay",
    help="How much of a robot policy's success is understanding, and how much is memory?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
COMMANDS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = MappingProxyType(
    {
        "Evaluate a policy": {
            "try": try_.try_,
            "plan": plan.plan,
            "run": run_.run,
            "report": report.report,
            "compare": compare.compare,
            "duel": duel.duel,
            "gate": gate.gate,
            "search": search.search,
            "ui": ui.ui,
        },
        "Policies": {
            "policies": policies.policies,
            "probe": probe.probe,
            "serve": serve.serve,
        },
        "Experiments, tasks, instructions": {
            "experiments": experiments.app,
            "certify": certify.certify,
            "audit": audit.audit,
            "tasks": tasks.app,
            "words": words.app,
        },
        "Runs": {"runs": runs.app},
        "Plugins": {"check": check.check},
        "This machine": {
            "doctor": doctor.doctor,
            "assets": assets.app,
            "parity": parity.parity,
            "demo": demo.demo,
        },
    }
)
"""Heading -> name -> command, in the order of use; extensions and plugins add theirs at the end of a heading."""


def _commands() -> Iterator[tuple[str, str, Callable[..., None] | typer.Typer]]:
    """Heading, name and command of everything that can be called, heading by heading."""
    extra = {tuple(name.split("/", 1)): address for name, address in provided("command").items()}
    for heading in dict.fromkeys((*COMMANDS, *(heading for heading, _ in extra))):
        for name, command in COMMANDS.get(heading, {}).items():
            yield heading, name, command
        for (where, name), address in extra.items():
            if where == heading:
                yield heading, name, imported(address)


_debugging: list[bool] = []
"""Not empty where all of a traceback is wanted."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Where an error ends a command, print all of its traceback."
    ),
) -> None:
    """How much of a robot policy's success is understanding, and how much is memory?"""
    if debug:
        _debugging.append(True)


@cache
def command_line() -> Any:
    """Build every command with its options, once per process: typer takes a tenth of a second for it."""
    for heading, name, command in _commands():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=heading)
        else:
            app.command(name, rich_help_panel=heading)(command)
    return get_command(app)


def main() -> None:
    """Run the command line: an error a person can act on is one line and exit status 2.

    Where it arose in somebody's own code, that code's traceback comes before it.
    """
    warnings.showwarning = _warn
    _debugging.clear()
    try:
        status = command_line()(standalone_mode=False)
    except AssayError as error:
        if told := "".join(traceback.format_exception(error)).strip() if _debugging else traceback_of(error):
            say(told, aside=True)
        _refuse(str(error))
    except KeyboardInterrupt:
        errors.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output stopped; nothing more can be said, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except sqlite3.Error as error:
        _refuse(f"the run's file cannot be used: {error}")
    except OSError as error:
        _refuse(f"{error.filename or 'a file'}: {error.strerror or error}")
    except Exception as error:  # typer's own are known by what they have: which package defines them varies
        if type(error).__name__ == "Abort":  # Ctrl-C, or the end of what is typed where something is asked
            errors.print("interrupted")
            sys.exit(130)
        if not hasattr(error, "format_message"):
            raise
        _misused(error)
    sys.exit(status if isinstance(status, int) else 0)


def _misused(error: Any) -> NoReturn:
    """A command that cannot be understood: one line that names its help; without any word, the help itself."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(error.exit_code)
    message = error.format_message().rstrip(".")
    _refuse(f"{message}; see '{context.command_path} --help'" if context is not None else message)


def _warn(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
    """A warning is a line on standard error; where in the code it arose is nobody's business."""
    line = Text.assemble(("warning:", "yellow"), " ", " ".join(str(message).split()))
    errors.print(line, soft_wrap=True, highlight=False)


def _refuse(message: str) -> NoReturn:
    line = Text.assemble(("error:", "bold red"), " ", " ".join(message.split()))
    errors.print(line, soft_wrap=True, highlight=False)
    sys.exit(2)
