"""The `assay` command."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn

import typer
from rich.text import Text
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

from assay import __version__
from assay.errors import AssayError, DeclinedError, plain_reason, traceback_of
from assay.support.console import errors, say
from assay.support.plugins import import_object, registered_addresses

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Evaluate a policy": {
        "try": "assay.cli.policies:try_policy",
        "run": "assay.cli.run:run",
        "report": "assay.cli.runs:report",
        "compare": "assay.cli.runs:compare",
        "ui": "assay.cli.machine:ui",
    },
    "Plan and decide": {
        "plan": "assay.cli.run:plan",
        "spread": "assay.cli.run:spread",
        "duel": "assay.cli.duel:duel",
        "gate": "assay.cli.duel:gate",
        "search": "assay.cli.duel:search",
    },
    "Lists": {
        "policies": "assay.cli.policies:app",
        "experiments": "assay.cli.experiments:app",
        "tasks": "assay.cli.tasks:app",
        "runs": "assay.cli.runs:app",
    },
    "This machine": {
        "doctor": "assay.cli.machine:doctor",
        "assets": "assay.cli.machine:assets_app",
        "plugins": "assay.cli.machine:plugins_app",
        "demo": "assay.cli.machine:demo",
    },
    "Rarely used": {
        "serve": "assay.cli.policies:serve",
        "certify": "assay.cli.experiments:certify",
        "audit": "assay.cli.experiments:audit",
        "parity": "assay.cli.machine:parity",
        "check": "assay.cli.machine:check",
    },
}
"""Address of each command by heading and name, in typical order of use; extensions and plugins add more."""
_PLACEHOLDERS = {"bool": "", "path": "PATH", "str": "TEXT", "int": "N", "float": "NUMBER"}
"""Placeholders for the values of options in help texts, by type; a flag has no value."""
_display_type: Any = getattr(TyperOption, "display_type", None)


def _placeholder(parameter: TyperArgument | TyperOption, ctx: Any) -> str:
    """Return the placeholder of an option; newer versions of typer would print ``<list[Path]>`` and ``<bool>``."""
    if isinstance(parameter, TyperArgument):  # its name is printed next to it
        return ""
    name = str(_display_type(parameter, ctx)).strip("<>").removeprefix("list[").removesuffix("]")
    return _PLACEHOLDERS.get(name.lower().removesuffix(" range"), name)


for _kind in (TyperArgument, TyperOption) if _display_type is not None else ():
    setattr(_kind, "display_type", _placeholder)  # noqa: B010 - unknown to older versions of typer

_debugging: list[bool] = []
"""Non-empty if full tracebacks were requested."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


def root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
    debug: bool = typer.Option(False, "--debug", help="Print the full traceback of an error."),
) -> None:
    """Evaluate robot policies: how much of their success is understanding, and how much is memorisation?"""
    if debug:
        _debugging.append(True)


@cache
def command_line(only: str = "") -> Any:
    """Build the command line with all commands, or with only the one named ``only``, which is a second faster."""
    app = typer.Typer(name="assay", no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(root)
    commands = {heading: dict(named) for heading, named in COMMANDS.items()}
    for path, address in registered_addresses("command").items():
        heading, _, name = path.partition("/")
        commands.setdefault(heading, {})[name] = address
    is_known = any(only in named for named in commands.values())
    for heading, named in commands.items():
        for name, address in named.items():
            if is_known and name != only:
                continue
            command = import_object(address)
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
    first = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    try:
        status = command_line(first)(standalone_mode=False)
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
    except (FileExistsError, NotADirectoryError) as error:
        _refuse(f"{error.filename}: expected a folder, but this path, or part of it, is a file")
    except IsADirectoryError as error:
        _refuse(f"{error.filename}: expected a file, but this path is a folder")
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
        message = plain_reason(message)  # newer versions of typer quote pydantic
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
