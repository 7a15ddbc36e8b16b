"""`assay policies`: who can act."""

from __future__ import annotations

import inspect

from rich.box import SIMPLE
from rich.table import Column

from assay.cli.listing import described
from assay.support.console import output, say, table_of


def policies() -> None:
    """List the policies of each world, and the fields an address may set: clumsy?miss=0.3."""
    from assay.episodes import WORLDS, world_policies, world_servers
    from assay.errors import AssayError
    from assay.support.plugins import imported

    columns = (Column("world", no_wrap=True), Column("policy", no_wrap=True), "what it is, and its fields")
    table = table_of(*columns, box=SIMPLE)
    for name in WORLDS:
        for policy, address in world_policies(name).items():
            try:
                policy_class = imported(address)
            except AssayError as error:  # a package that is not installed
                table.add_row(name, policy, str(error))
                continue
            about = (inspect.getdoc(policy_class) or "").partition("\n\n")[0].replace("\n", " ")
            table.add_row(name, policy, described(about, policy_class))
        for scheme in world_servers(name):
            about = f"A policy server that speaks {scheme}'s protocol; its fields: docs/policies.md."
            table.add_row(name, f"{scheme}://host:port", about)
        table.add_section()
    table.add_row("any", "python:module:Class", "A class of your own; fields are its parameters.")
    output.print(table)
    say("An address sets fields after a question mark: clumsy?miss=0.3")
