"""`assay eqa`: questions about robot actions for vision-language models."""

from __future__ import annotations

import typer

from assay.extensions.eqa.commands import answers, questions

app = typer.Typer(
    help="Action questions: does a vision-language model understand actions?", no_args_is_help=True
)
for name, command in {**questions.COMMANDS, **answers.COMMANDS}.items():
    app.command(name)(command)
