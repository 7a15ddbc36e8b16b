"""`assay policies`: who can act."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rich.table import Column

from assay.console import output, table_of


def policies() -> None:
    """List the built-in policies, and the fields an address may set: clumsy?miss=0.3."""
    from assay.episodes import WORLDS
    from assay.plugins import imported

    table = table_of("world", Column("policy", no_wrap=True), "what it is", "fields")
    for name in WORLDS:
        world = WORLDS[name]
        for policy, address in world.policies.items():
            made = imported(address)
            table.add_row(name, policy, _about(made), _fields(made))
        for scheme in world.servers:
            about = f"A server that speaks {scheme}'s protocol."
            table.add_row(name, f"{scheme}://host:port", about, "see docs/policies.md")
        table.add_section()
    table.add_row("any", "python:pkg.module:Class", "Your own, in this process.", "its constructor's")
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
