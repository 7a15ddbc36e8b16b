"""Runs of Assay 0.1.0, whose tables have other names: read as they are, brought up to date when written."""

from __future__ import annotations

import json
import sqlite3

VERSION = 1
_RENAMED = {
    "specs": {"suite": "experiment"},
    "episodes": {"pictures": "images", "passing": "transient"},
    "trajectories": {"hand": "end_effector"},
}
"""Table -> column then -> column now."""
_META = {"suite": "experiment"}


def sources(connection: sqlite3.Connection, database: str) -> dict[str, str]:
    """Queries that give the tables of such a run under the present names of their columns."""
    found = {}
    for table, renamed in _RENAMED.items():
        columns = [row[1] for row in connection.execute(f"PRAGMA {database}.table_info({table})")]
        selected = ", ".join(f"{name} AS {renamed.get(name, name)}" for name in columns)
        found[table] = f"SELECT {selected} FROM {database}.{table}"
    return found


def view_meta(connection: sqlite3.Connection) -> None:
    """Let a connection that may only read see the meta table's present names."""
    cases = " ".join(f"WHEN '{then}' THEN '{now}'" for then, now in _META.items())
    connection.execute(
        f"CREATE TEMP VIEW meta AS SELECT CASE name {cases} ELSE name END AS name, value FROM main.meta"
    )


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file up to ``version`` of the schema, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table, columns in _RENAMED.items():
        for then, now in columns.items():
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN {then} TO {now}")
    for then, now in _META.items():
        connection.execute("UPDATE meta SET name = ? WHERE name = ?", (now, then))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('upgraded_from', ?)", (json.dumps(VERSION),))
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")
