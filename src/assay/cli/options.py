"""Options shared by several commands; those of a run are generated from `RunOptions`."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.table import Column
from rich.text import Text

from assay.errors import RenderingError, RunError
from assay.measures import LOSS_WORTH_FINDING
from assay.runs.options import RunOptions, option_help
from assay.support.console import print_rows, say

if TYPE_CHECKING:
    from assay.measures.views.printing import Print
    from assay.measures.views.table import Table

PRIMITIVES = "primitives"
_TRAINED_ON_LIBERO = ("://", "lerobot:")
"""Substrings of the addresses of policies that were probably trained on LIBERO's images."""


DETECT_POINTS = 100 * LOSS_WORTH_FINDING
"""Default of `Detect`."""
Detect = Annotated[
    float,
    typer.Option(
        min=1,
        max=100,
        metavar="POINTS",
        help="Loss worth finding, in percentage points: recommended numbers of seeds find it with 80 % power.",
    ),
]


def complete_experiment(incomplete: str) -> list[str]:
    """Return the names of experiments for shell completion."""
    from assay.experiments import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def complete_policy(incomplete: str) -> list[str]:
    """Return the names of built-in policies for shell completion."""
    from assay.episodes import WORLDS, world_policies

    names = dict.fromkeys(policy for world in WORLDS for policy in world_policies(world))
    return [name for name in names if name.startswith(incomplete)]


def complete_tasks(incomplete: str) -> list[str]:
    """Return suite names, or the tasks of a suite once its name and a slash are typed, for shell completion.

    Text before the last comma is kept.
    """
    from assay.tasks import resolve, suites

    chosen, comma, begun = incomplete.rpartition(",")
    suite = begun.partition("/")[0]
    names = [task.id for task in resolve(suite)] if "/" in begun and suite in suites() else ["all", *suites()]
    return [f"{chosen}{comma}{name}" for name in names if name.startswith(begun)]


ExperimentAddress = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="Name or address of the experiment; see `assay experiments list`.",
        autocompletion=complete_experiment,
    ),
]
PolicyAddress = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="ADDRESS",
        help="Address of the policy: a built-in one (see `assay policies list`), python:pkg.module:Class, "
        "openpi://host:port, ...",
        autocompletion=complete_policy,
    ),
]
PolicyLabel = Annotated[
    str | None, typer.Option("--label", help="Name of the policy in reports, comparisons and figures.")
]
RunFile = Annotated[
    Path | None,
    typer.Option("--out", help="Run file to write, NAME.assay (default: a file in runs/)."),
]
Tasks = Annotated[
    str,
    typer.Option(
        "--tasks",
        help="Tasks: all, suite names, task ids, task files or folders, separated by commas.",
        autocompletion=complete_tasks,
    ),
]
Assets = Annotated[str | None, typer.Option(help=option_help()["assets"])]
Processes = Annotated[
    int | None, typer.Option("--workers", min=1, help="Number of worker processes (default: one per core).")
]
STOPPED = "stopped: {}; run the same command to resume once the policy server is reachable"
"""Error message for a run that was stopped before its end, with the reason."""
Yes = Annotated[
    bool, typer.Option("--yes", help="Start without asking for confirmation, however long the run takes.")
]
JsonFile = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to this file; - prints it.")
]
Markdown = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FILE", help="Write a summary to this Markdown file."),
]
FigureFormat = Annotated[
    str | None,
    typer.Option(
        "--figures", metavar="pdf|svg", help="Also write figures and tables for a paper (with --out)."
    ),
]
FigureWidth = Annotated[
    str,
    typer.Option(
        "--width", help="Width of the figures (with --figures): column (3.25in), page, 8.5cm, 240pt, ..."
    ),
]
Font = Annotated[str | None, typer.Option("--font", help="Name of an installed font (with --figures).")]
FontSize = Annotated[
    float, typer.Option("--font-size", min=4, max=24, help="Font size in points (with --figures).")
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", help="Display name of a run; repeat the option for each run (default: the runs' labels)."
    ),
]
Names = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE", help="YAML or JSON file with display names (with --figures)."),
]


def run_options(*names: str, **help_texts: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the named run options to a command, which receives them as one argument ``options``.

    Types, defaults and help texts come from `RunOptions`; ``help_texts`` overrides some of the help texts.
    """
    declared = {option.name: option for option in fields(RunOptions)}
    hints = get_type_hints(RunOptions)
    generated: list[inspect.Parameter] = []
    for name in names:
        hint, default, metadata = hints[name], declared[name].default, declared[name].metadata
        if name in ("seeds", "latency"):  # parsed by RunOptions.of
            hint, default = str | None, None if default is None else str(default)
        declaration = typer.Option(
            metadata.get("flags", f"--{name.replace('_', '-')}"),
            min=metadata.get("minimum"),
            metavar=metadata.get("metavar"),
            help=help_texts.get(name, option_help()[name]),
            autocompletion=complete_tasks if name == "tasks" else None,
        )
        kind, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[hint, declaration]
        generated.append(inspect.Parameter(name, kind, default=default, annotation=annotation))

    return lambda command: expand_parameter(
        command, "options", generated, lambda **values: RunOptions.of(None, **values)
    )


def expand_parameter(
    command: Callable[..., None], name: str, options: Iterable[inspect.Parameter], make: Callable[..., object]
) -> Callable[..., None]:
    """Replace a parameter of a command by options, from whose values ``make`` creates the parameter's value."""
    options, parameters = list(options), list[inspect.Parameter]()
    for own in inspect.signature(command, eval_str=True).parameters.values():
        parameters += options if own.name == name else [own.replace(kind=own.KEYWORD_ONLY)]

    @functools.wraps(command)
    def call(**values: Any) -> None:
        own = {option.name: values.pop(option.name) for option in options}
        command(**values, **{name: make(**own)})

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {part.name: part.annotation for part in parameters}
    return call


def write_json(content: object, target: str) -> bool:
    """Write JSON to a file, or print it if the target is ``-``. Return whether it was printed."""
    text = json.dumps(content, indent=2, allow_nan=False)
    if target == "-":
        typer.echo(text)
        return True
    write_text(Path(target), text + "\n")
    return False


def write_text(path: Path, text: str) -> None:
    """Write a text file and its folders. Raises FileError if the path is not writable or holds a run."""
    from assay.support.files import replacing

    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    say(f"written to {path}", aside=True)


def note_primitives(policy: str, assets: str | None) -> None:
    """Print a note if a policy that was probably trained on LIBERO's images receives images of other assets."""
    if any(part in policy for part in _TRAINED_ON_LIBERO) and assets in (None, PRIMITIVES):
        say(
            "note: images show the built-in assets; a policy trained on LIBERO's images needs --assets libero "
            "(see assay assets get)",
            aside=True,
        )


def check_picture(path: Path, option: str) -> None:
    """Raise RenderingError if a path does not name a PNG file, before anything is drawn."""
    if path.suffix.lower() != ".png" or path.is_dir():
        raise RenderingError(f"{option} '{path}': expected a file name that ends in .png")


def print_settings(
    figures: str | None, width: str, font: str | None, size: float, names: Path | None, out: Path | None
) -> Print | None:
    """Return print settings, or None without ``figures``. Raises RunError for contradictory options."""
    if figures is None:
        if width != "column" or font is not None or names is not None:
            raise RunError("--width, --font and --names need --figures pdf|svg")
        return None
    if out is None:
        raise RunError("--figures needs --out FOLDER")
    from assay.measures.views.printing import Print

    return Print.of(figures, width, font, size, names)


def print_table(table: Table) -> None:
    """Print a table from a report, with its note."""
    columns = [
        Column(column.heading, justify="right" if column.right else "left") for column in table.columns
    ]
    print_rows(columns, table.formatted_rows)
    say(table.note)


def describe_fields(summary: str, maker: Callable[..., object]) -> Text:
    """Return a summary and, on a separate line, the parameters that can be set in an address: ``miss=0.5``."""
    parts = []
    for field in inspect.signature(maker).parameters.values():
        value = "" if field.default in (field.empty, None) else field.default
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if field.kind is not field.VAR_KEYWORD:
            parts.append(f"{field.name}={(text.lower() if isinstance(value, bool) else text) or '...'}")
    listed = "  ".join(parts)
    return Text.assemble(summary, Text(f"\n{listed}" if listed else "", "dim"))
