"""`assay import`: other people's results as runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from assay.support.console import number_of, say

RESULTS = "results"


class _FilesToo(TyperGroup):
    """Takes files where the name of a command may stand."""

    default = RESULTS
    """The command that is meant where none is named: `assay import FILE...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Words of the command line; a first one that is no command's name belongs to `results`."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [self.default, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_FilesToo, no_args_is_help=True)


@app.callback()
def root() -> None:
    """Turn other people's results into runs: assay import FILE... --out NAME.assay"""


@app.command(RESULTS)
def results(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|CONDITION=FILE...",
            help="vla-eval's recording, lerobot's eval_info.json, a log of LIBERO's, LIBERO-plus's or LIBERO-PRO's "
            "evaluation, LIBERO-PRO's episodes.jsonl, or a CSV table.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The new run's file, NAME.assay; or a folder, for one run per policy.")
    ],
    policy: Annotated[str, typer.Option(help="Who acted, where no file says it.")] = "",
    control: Annotated[
        str, typer.Option(help="What the files call the condition in which nothing is changed.")
    ] = "control",
    plus: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="LIBERO-plus's checkout: of which task each of its rewordings is."),
    ] = None,
) -> None:
    """Read results of other tools; the kind of each file is known by its content.

    CONDITION=FILE says under which condition the unchanged episodes of a file count: control=a.json camera=b.json
    """
    from assay.extensions.interop.importing.results import Source, import_results

    sources = [Source.parse(file) for file in files]
    for done in import_results(sources, out, policy=policy, control=control, plus=plus):
        say(
            f"{number_of(done.episodes, 'episode')} of {done.policy} ({', '.join(done.tools)}; "
            f"{number_of(done.tasks, 'task')}; {number_of(done.controls, 'control')}; {done.paths:,} with "
            f"trajectories) written to {done.out}"
        )
        if done.errors:
            say(
                f"{number_of(done.errors, 'episode')} broke: neither success nor failure, counted apart",
                aside=True,
            )
        for remark in done.remarks:
            say(f"note: {remark}", aside=True)


@app.command("libero-para")
def libero_para(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="A model's logs (seed*/eval*.json), or a folder of models' folders."
        ),
    ],
    metadata: Annotated[Path, typer.Option(help="LIBERO-Para's metrics/libero_para_metadata.csv.")],
    out: Annotated[
        Path, typer.Option(help="The new run's file, NAME.assay; or a folder, for one run per model.")
    ],
    controls: Annotated[
        Path | None,
        typer.Option(
            help="Logs of --mode original (seed*/eval_unknown.json); of several models: in folders called as theirs."
        ),
    ] = None,
) -> None:
    """Read LIBERO-Para's official logs: each episode with its trajectory, cell and published similarities."""
    from assay.extensions.interop.importing.libero_para import import_models

    for done in import_models(folders, metadata, out, controls):
        seeds = ", ".join(map(str, done.seeds))
        say(
            f"{done.episodes:,} episodes (seeds {seeds}; {done.controls:,} controls; {done.paths:,} with "
            f"trajectories) written to {done.out}"
        )
        missing = done.expected - done.episodes
        for count, what in (
            (done.reworded, "controls were told other words than LIBERO's own instruction of their task"),
            (done.unscored, "episodes have wordings that the metadata lacks: they count, but not for PRIDE"),
            (done.unknown, "episodes left out: the metadata does not say what their task is"),
            (done.unrun, "wordings of the metadata are in no log"),
            (missing, f"of the {done.expected:,} episodes of the evaluation are not there"),
        ):
            if count:
                say(f"{count:,} {what}", aside=True)
