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


def view(connection: sqlite3.Connection) -> None:
    """Let a connection that may only read see the tables under their present names."""
    for table in (*_RENAMED, "meta"):
        renamed = _RENAMED.get(table, {})
        columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
        selected = ", ".join(f"{name} AS {renamed.get(name, name)}" for name in columns)
        if table == "meta":
            cases = " ".join(f"WHEN '{then}' THEN '{now}'" for then, now in _META.items())
            selected = f"CASE name {cases} ELSE name END AS name, value"
        connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {selected} FROM main.{table}")


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
