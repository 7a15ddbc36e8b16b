"""`assay policies`: who can act."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rich.markup import escape
from rich.table import Column

from assay.cli.console import output, table_of


def policies() -> None:
    """List the built-in policies, and the fields an address may set: clumsy?miss=0.3."""
    from assay.policies.registry import BUILT_IN
    from assay.policies.table import TABLE_POLICIES

    table = table_of(Column("policy", no_wrap=True), "what it is", "fields")
    for name, made in BUILT_IN.items():
        table.add_row(name, escape(_about(made)), escape(_fields(made)))
    table.add_section()
    for name, made_for_tables in TABLE_POLICIES.items():
        table.add_row(
            name, escape(f"On the table: {_about(made_for_tables)}"), escape(_fields(made_for_tables))
        )
    table.add_section()
    table.add_row("python:pkg.module:Class", "Your own, in this process.", "its constructor's")
    table.add_row("openpi://host:port", "A server that speaks openpi's protocol.", "see docs/policies.md")
    table.add_row("vla-eval://host:port", "A server that speaks vla-eval's protocol.", "see docs/policies.md")
    output.print(table)


def _about(made: Callable[..., object]) -> str:
    """The first paragraph of what it says about itself."""
    return (inspect.getdoc(made) or "").partition("\n\n")[0].replace("\n", " ")


def _fields(made: Callable[..., object]) -> str:
    """What an address may set, with defaults."""
    known = inspect.signature(made).parameters.values()
    return ", ".join(
        each.name if each.default is each.empty else f"{each.name}={each.default}" for each in known
    )
