"""MkDocs hook: generates the reference pages from the code, so that each fact is declared once.

Pages: commands and their options, run options, the Python API, perturbations, the keys of the JSON report, and the
glossary.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    pages = {
        "commands": commands_page,
        "options": options_page,
        "api": api_page,
        "perturbations": perturbations_page,
        "json": json_page,
        "glossary": glossary_page,
    }
    for name, write in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=write()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links to files outside ``docs/``, which the site does not contain, by their names."""
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", markdown)


def commands_page() -> str:
    """Return every command with its arguments and options, as ``--help`` prints them."""
    from assay.cli.app import command_line

    lines = ["# Commands", ""]

    def describe(command: Any, path: str) -> None:
        if hasattr(command, "commands"):
            for name in command.commands:
                describe(command.commands[name], f"{path} {name}")
            return
        lines.extend([f"## {path}", "", _plain(command.help or ""), ""])
        rows = [
            (", ".join((*param.opts, *param.secondary_opts)) or param.name, getattr(param, "help", "") or "")
            for param in command.params
            if param.name != "help"
        ]
        if rows:
            lines.extend(["| option | meaning |", "| --- | --- |"])
            lines.extend(f"| `{name}` | {_cell(text)} |" for name, text in rows)
            lines.append("")

    describe(command_line(), "assay")
    return "\n".join(lines)


def options_page() -> str:
    """Return the run options that commands, API and run files share."""
    from assay.runs.options import RunOptions

    rows = _field_rows(RunOptions)
    return "\n".join(
        [
            "# Run options",
            "",
            "Shared by `assay run`, `plan`, `duel`, `search`, `audit`, `certify`, `try` and `libero` (`--name`), and "
            "by the Python API (as keywords). Each command accepts the subset that applies to it.",
            "",
            "| option | meaning |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


def api_page() -> str:
    """Return the public names of ``assay``, from their docstrings."""
    import assay

    lines = ["# Python API", "", "Names not listed here may change without notice.", ""]
    for name in assay.__all__:
        thing = getattr(assay, name)
        lines += [f"## assay.{name}", "", f"::: {thing.__module__}.{thing.__qualname__}", ""]
    return "\n".join(lines)


def perturbations_page() -> str:
    """Return all perturbations, as ``assay experiments perturbations --markdown`` prints them."""
    from assay.perturb.catalogue import catalogue, markdown

    heading = "# Perturbations\n\nAs `assay experiments perturbations --markdown` prints them."
    return f"{heading}\n\n{markdown(catalogue())}\n"


def json_page() -> str:
    """Return the measures of a JSON report, and the fields of each object in it."""
    from assay.measures.measure import MEASURES
    from assay.measures.result import Result

    lines = ["# JSON report", "", "## Measures", "", "| key | measure |", "| --- | --- |"]
    for name in MEASURES:
        lines.append(f"| `{name}` | {_cell(MEASURES[name].about)} |")
    lines += ["", "## Objects", ""]
    kinds, pending = [], [Result]
    while pending:
        for kind in pending.pop().__subclasses__():
            pending.append(kind)
            # A dataclass with slots replaces the class that it decorates; only the replacement has the name.
            if getattr(sys.modules[kind.__module__], kind.__name__, None) is kind:
                kinds.append(kind)
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        lines += [f"### {kind.__name__}", "", _plain(inspect.getdoc(kind) or ""), ""]
        lines += ["| key | meaning |", "| --- | --- |"]
        lines += _field_rows(kind)
        lines.append("")
    return "\n".join(lines)


def glossary_page() -> str:
    """Return the definitions of all terms."""
    from assay.report.rendering import GLOSSARY

    rows = [f"| {term} | {_cell(text)} |" for term, text in GLOSSARY.items()]
    return "\n".join(["# Glossary", "", "| term | definition |", "| --- | --- |", *rows, ""])


def _field_rows(kind: type) -> list[str]:
    """Return table rows with a dataclass's fields, including inherited ones, and the docstrings below them."""
    from assay.support.docstrings import field_docs

    docs = field_docs(kind)
    return [f"| `{field.name}` | {_cell(docs.get(field.name, ''))} |" for field in dataclasses.fields(kind)]


def _plain(text: str) -> str:
    return inspect.cleandoc(text).replace("``", "`")


def _cell(text: str) -> str:
    return " ".join(_plain(text).split()).replace("|", "\\|")
