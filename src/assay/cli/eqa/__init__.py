"""`assay eqa`: action questions for vision-language models."""

from __future__ import annotations

import typer

from assay.cli.eqa.annotate import annotate
from assay.cli.eqa.ask import ask
from assay.cli.eqa.build import build
from assay.cli.eqa.import_set import import_set
from assay.cli.eqa.judge import judge
from assay.cli.eqa.leak import leak
from assay.cli.eqa.review import review
from assay.cli.eqa.score import score
from assay.cli.eqa.sheet import sheet

app = typer.Typer(
    help="Action questions: does a vision-language model understand actions?", no_args_is_help=True
)
for command in (build, sheet, leak, review, ask, score, annotate, judge):
    app.command(command.__name__)(command)
app.command("import")(import_set)
