"""`assay policies`: who can act."""

from __future__ import annotations

import inspect

from rich.markup import escape
from rich.table import Column

from assay.cli.console import output, table_of


def policies() -> None:
    """List the built-in policies, and the fields an address may set: clumsy?miss=0.3."""
    from assay.policies.registry import BUILT_IN

    table = table_of(Column("policy", no_wrap=True), "what it is", "fields")
    for name, made in BUILT_IN.items():
        about = (inspect.getdoc(made) or "").partition("\n\n")[0].replace("\n", " ")
        known = inspect.signature(made).parameters.values()
        table.add_row(name, escape(about), escape(", ".join(f"{each.name}={each.default}" for each in known)))
    table.add_section()
    table.add_row("python:pkg.module:Class", "Your own, in this process.", "its constructor's")
    table.add_row("openpi://host:port", "A server that speaks openpi's protocol.", "see docs/policies.md")
    table.add_row("vla-eval://host:port", "A server that speaks vla-eval's protocol.", "see docs/policies.md")
    output.print(table)
