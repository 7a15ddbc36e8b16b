"""`assay import` and `assay export`: convert results of other tools to runs, and runs to the formats of other tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from assay.errors import RunError
from assay.support.console import number_of, output, say

if TYPE_CHECKING:
    from assay.extensions.interop.importing.results import ImportedRun

RESULTS = "results"


class _ResultsByDefault(TyperGroup):
    """Command group in which `assay import FILE...` is short for `assay import results FILE...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``results`` unless the first argument is a command."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [RESULTS, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_ResultsByDefault, no_args_is_help=True)


@app.callback()
def root() -> None:
    """Import results from other tools as runs, e.g. assay import FILE... --out NAME.assay."""


@app.command(RESULTS)
def import_files(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|CONDITION=FILE...",
            help="A vla-eval recording, lerobot's eval_info.json, an evaluation log of LIBERO, LIBERO-plus or "
            "LIBERO-PRO, LIBERO-PRO's episodes.jsonl, or a CSV table.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="New run file (NAME.assay), or a folder for one run per policy.")],
    policy: Annotated[str, typer.Option(help="Name of the policy, if the files do not state it.")] = "",
    control: Annotated[str, typer.Option(help="Name of the unperturbed condition in the files.")] = "control",
    plus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="LIBERO-plus checkout, used to find the task of each of its rewordings."
        ),
    ] = None,
) -> None:
    """Import results from other tools, detecting the format of each file from its content.

    CONDITION=FILE assigns a condition to the unperturbed episodes in a file, e.g. control=a.json camera=b.json.
    """
    from assay.extensions.interop.importing.results import ResultFile, import_results

    sources = [ResultFile.parse(file) for file in files]
    _show_imported(import_results(sources, out, policy=policy, control=control, plus=plus))


@app.command("libero-para")
def libero_para(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Folder with a model's logs (seed*/eval*.json), or a folder of such folders.",
        ),
    ],
    metadata: Annotated[Path, typer.Option(help="LIBERO-Para's metrics/libero_para_metadata.csv.")],
    out: Annotated[Path, typer.Option(help="New run file (NAME.assay), or a folder for one run per model.")],
    controls: Annotated[
        Path | None,
        typer.Option(
            help="Folder with logs of --mode original (seed*/eval_unknown.json); for several models, a folder "
            "that contains one such folder per model, named like the model's folder in DIR."
        ),
    ] = None,
) -> None:
    """Import LIBERO-Para's official logs, with trajectories, paraphrase types and published similarities."""
    from assay.extensions.interop.importing.libero_para import import_libero_para

    _show_imported(import_libero_para(folders, metadata, out, controls))


def _show_imported(runs: Iterable[ImportedRun]) -> None:
    for run in runs:
        say(
            f"{number_of(run.episodes, 'episode')} of {run.policy} ({run.tool}; {number_of(run.tasks, 'task')}; "
            f"{number_of(run.controls, 'control')}; {run.paths:,} with trajectories) written to {run.out}"
        )
        if run.errors:
            say(f"excluded from rates: {number_of(run.errors, 'error')}", aside=True)
        for remark in run.remarks:
            say(f"note: {remark}", aside=True)


class _Sink:
    """File for polars that remembers an error, such as a full disk: polars ignores or renames some."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, content: bytes) -> int:
        try:
            return self._file.write(content)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        self._file.flush()


def export(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Run file, NAME.assay.")],
    parquet: Annotated[Path | None, typer.Option(help="Write a Parquet file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a CSV file; '-' prints the table.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write a JSON array; '-' prints it.")] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL",
            help="Tool to export to: wandb, trackio, lerobot (a LeRobotDataset) or hf (Hugging Face).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder (for lerobot) or YAML file (for hf).")
    ] = None,
    episodes: Annotated[
        str,
        typer.Option(help="Episodes to export: all, failures, or comma-separated keys (for lerobot)."),
    ] = "all",
    most: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of episodes (for lerobot; default: 50)."),
    ] = None,
    size: Annotated[int, typer.Option(help="Height and width of the images, in pixels (for lerobot).")] = 256,
    project: Annotated[str, typer.Option(help="Project name (for wandb and trackio).")] = "assay",
    dataset: Annotated[
        str, typer.Option(help="Id of the benchmark's dataset on the Hub, OWNER/NAME (for hf).")
    ] = "",
) -> None:
    """Export the episodes of a run to a table (key, condition, task, seed, outcome, steps, ...) or to another tool."""
    from assay.runs.store import Store
    from assay.support.files import replacing

    targets = [("parquet", parquet), ("csv", csv), ("json", json)]
    if to is None and not any(target for _, target in targets):
        raise RunError("no output given; use --parquet FILE, --csv FILE, --json FILE or --to TOOL")
    with Store.reading(path) as store:
        if to is not None:
            from assay.extensions.interop.exporting import export_to

            said = export_to(to, store, out, episodes, most, size=size, project=project, dataset=dataset)
            say(said)
        for form, target in targets:
            if target is None:
                continue
            frame = store.frame().drop("id")
            write: Callable[[IO[bytes]], None] = getattr(frame, f"write_{form}")
            if str(target) != "-":
                with replacing(target) as unfinished, unfinished.open("wb") as file:
                    sink = _Sink(file)
                    try:
                        write(cast(IO[bytes], sink))
                    finally:
                        if sink.error is not None:
                            raise sink.error
                say(f"{number_of(len(frame), 'episode')} written to {target}")
                continue
            write(content := BytesIO())
            if output.is_terminal:
                say(content.getvalue().decode(errors="replace"))
            else:  # other programs get the bytes as they are
                sys.stdout.flush()
                sys.stdout.buffer.write(content.getbuffer())
                sys.stdout.buffer.write(b"\n")
                sys.stdout.buffer.flush()
