"""`assay eqa`: action questions for vision-language models."""

from __future__ import annotations

import typer

from assay.extensions.eqa.commands.annotate import annotate
from assay.extensions.eqa.commands.ask import ask
from assay.extensions.eqa.commands.build import build
from assay.extensions.eqa.commands.import_set import import_set
from assay.extensions.eqa.commands.judge import judge
from assay.extensions.eqa.commands.leak import leak
from assay.extensions.eqa.commands.review import review
from assay.extensions.eqa.commands.score import score
from assay.extensions.eqa.commands.sheet import sheet

app = typer.Typer(
    help="Action questions: does a vision-language model understand actions?", no_args_is_help=True
)
for command in (build, sheet, leak, review, ask, score, annotate, judge):
    app.command(command.__name__)(command)
app.command("import")(import_set)
