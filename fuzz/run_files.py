"""Run files: hostile cells and flipped bits, through every command that reads runs, and through the web app."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from bench.synthetic import Synthetic, drawn, even, planned

from assay.cli.app import command_line
from assay.errors import AssayError
from assay.runs.execute import execute
from assay.runs.provenance import provenance
from assay.runs.store import Store
from assay.runs.work import Options
from fuzz.mutations import HOSTILE_TEXTS, NUMBERS, Rng, corpus, pick, spoiled_bytes, spoiled_json

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
CHEAP = ("list", "show", "json", "csv", "index", "run page", "episodes", "episode", "merge")
DEAR = ("report", "compare", "report page", "compare page", "resume")
RESUMED = ("libero", "idle")
OPTIONS = Options(tasks="libero_goal/7", seeds=(0, 1), steps=2, workers=0)


class ObeyedError(Exception):
    """Text of a file that a terminal would obey."""


class BrokenPageError(Exception):
    """A page of the web app that could not be made."""


class RunFiles:
    """Cells replaced by SQL, or bytes of the file spoiled; read by one of the cheap ways, now and then a dear one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._corpus = folder, corpus("run_files")
        self._sound = folder / "sound.assay"
        _write(self._sound)
        self._small = folder / "small.assay"
        execute(*RESUMED, self._small, OPTIONS)
        self._library = folder / "library"
        self._library.mkdir(exist_ok=True)
        shutil.copy(self._sound, self._library / "sound.assay")
        self._app: Any = None

    def known(self) -> int:
        """The cases of the corpus."""
        return len(self._corpus)

    def case(self, number: int, rng: Rng) -> int:
        """Spoil a run, and read it in two ways."""
        ways = [pick(rng, CHEAP), pick(rng, DEAR if number % 10 == 0 else CHEAP)]
        if number < len(self._corpus):
            ways = [*CHEAP, DEAR[number % len(DEAR)]]
        for way in ways:
            seed = self._small if way == "resume" else self._sound
            path = self._library / "spoiled.assay"
            shutil.copy(seed, path)
            for leftover in (
                *self._library.glob("*-wal"),
                *self._library.glob("*-shm"),
                self._folder / "merged.assay",
            ):
                leftover.unlink(missing_ok=True)
            if number < len(self._corpus):
                _altered(path, self._corpus[number])
            elif rng.random() < 0.5:
                path.write_bytes(spoiled_bytes(rng, path.read_bytes()))
            else:
                for _ in range(int(rng.integers(1, 4))):
                    _altered(path, _statement(rng, seed))
            self._read(way, path)
        return len(ways)

    def _read(self, way: str, path: Path) -> None:
        folder, library = self._folder, self._library
        commands: dict[str, tuple[object, ...]] = {
            "list": ("runs", "list", library),
            "show": ("runs", "show", path),
            "json": ("runs", "show", path, "--json", "-"),
            "csv": ("export", path, "--csv", folder / "out.csv"),
            "merge": ("runs", "merge", path, "--out", folder / "merged.assay"),
            "report": ("report", path, "--out", folder / "report"),
            "compare": ("compare", self._sound, path),
        }
        pages = {
            "index": "/",
            "run page": "/runs/spoiled.assay",
            "episodes": "/runs/spoiled.assay/episodes",
            "episode": "",
            "report page": "/runs/spoiled.assay/report.html",
            "compare page": "/compare?a=sound&b=spoiled",
        }
        if way in commands:
            command(*commands[way])
        elif way == "resume":
            with contextlib.suppress(AssayError):
                execute(*RESUMED, path, OPTIONS)
        elif way == "episode":
            for key in _keys(path):
                self._page(f"/runs/spoiled.assay/episodes/{key}")
        else:
            self._page(pages[way])

    def _page(self, address: str) -> None:
        from assay.web.library import Library

        if self._app is None:
            from assay.web.app import application
            from assay.web.replays import Replays

            self._replays = Replays()
            self._app = application(Library(self._library), self._replays)
        from assay.web.site import Site

        self._app.state.site = Site(Library(self._library), self._replays)  # which remembers nothing yet
        status, text = asyncio.run(_answer(self._app, address))
        if status >= 500:
            raise BrokenPageError(f"{address}: {status}: {text[-600:]}")


def _write(path: Path) -> None:
    """A run with everything in it."""
    specs = planned("corruption", ("libero_goal/0", "libero_goal/7"), 2)
    meta = provenance("corruption", "", "primitives") | {
        "refused": [["corruption/empty", "libero_goal/0", 9, "cannot be placed"]],
        "label": "drawn",
        "resumed": [],
    }
    del meta["policy"]
    with drawn(Synthetic(even(0.6)), specs, 0).written(path, **meta) as store:
        rule = {"rule": "decided=0.5", "episodes": 4, "low": 0.1, "high": 0.9}
        store.stop("corruption/empty", [each.key for each in specs], rule)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for table, column, cell in (
            ("contacts", "intervals", '{"plate_1": [[3, 9]], "flat_stove_1": []}'),
            ("initial_positions", "positions", '{"plate_1": [0.1, 0.2, 0.9]}'),
            ("clipped", "cut", "2"),
            ("traceback", "lines", '"Traceback: somewhere"'),
            ("inference", "milliseconds", "[12.5, 11.0]"),
            (
                "stages",
                "reached",
                '{"TurnOn flat_stove_1": {"reached": 3, "touched": 9, "moved": null, "done": null}}',
            ),
            ("progress", "score", "0.5"),
            (
                "side_effects",
                "effects",
                '{"moved": {"plate_1": 0.1}, "tilted": {}, "opened": {}, "forces": {"arena": 30.5}, '
                '"arm": {"arena": 2}, "path": 1.5, "jerk": 12.0}',
            ),
            ("aftermath", "after", '{"steps": 13, "holds": true, "rest": true}'),
        ):
            db.execute(f"INSERT OR REPLACE INTO {table} (id, {column}) SELECT id, ? FROM episodes", (cell,))
        db.execute("UPDATE episodes SET outcome = 'error', error = 'the server was away' WHERE id % 9 = 0")
        db.commit()


def command(*words: object) -> None:
    """Run a command as the command line does; AssayErrors, and words it does not understand, are sound."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            command_line()([str(each) for each in words], standalone_mode=False)
        except (AssayError, SystemExit):
            pass
        except Exception as error:
            if not hasattr(error, "format_message") and type(error).__name__ != "Exit":
                raise
    if found := OBEYED.search(said.getvalue()):
        raise ObeyedError(f"{words[:2]}: {said.getvalue()[max(found.start() - 60, 0) : found.end() + 60]!r}")


async def _answer(app: Any, address: str) -> tuple[int, str]:
    """What the web app answers."""
    path, _, query = address.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    got: dict[str, Any] = {"status": 0, "body": b""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            got["status"] = message["status"]
        elif message["type"] == "http.response.body":
            got["body"] += message.get("body", b"")

    await app(scope, receive, send)
    return got["status"], got["body"].decode(errors="replace")


def _keys(path: Path) -> list[str]:
    """A few keys that a file says it has."""
    try:
        with Store.reading(path) as store:
            return [each.key for each in store.todo(retry="errors")][:1] + store.frame()["key"].to_list()[:2]
    except AssayError:
        return []


def _altered(path: Path, statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.Error):
        db.executescript(statements)


def _statement(rng: Rng, seed: Path) -> str:
    """SQL that puts into one column of one table, in one row or in all, what does not belong there."""
    import json

    table, columns = pick(rng, list(_COLUMNS.items()))
    column = pick(rng, columns)
    where = (
        ""
        if rng.random() < 0.2
        else f" WHERE rowid = {int(rng.integers(1, 30))}"
        if table not in _KEYED
        else ""
    )
    act = int(rng.integers(5))
    if act == 0:
        new: object = pick(rng, NUMBERS)
    elif act == 1:
        new = pick(rng, HOSTILE_TEXTS)
    elif act == 2:
        new = bytes(rng.integers(0, 256, int(rng.integers(0, 40)), dtype="u1"))
    else:
        old = _cell(seed, table, column, int(rng.integers(1, 30)))
        try:
            new = json.dumps(spoiled_json(rng, json.loads(old)))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            new = spoiled_bytes(rng, old if isinstance(old, bytes) else str(old).encode())
            new = new if isinstance(old, bytes) or rng.random() < 0.5 else new.decode(errors="replace")
    return f"UPDATE OR REPLACE {table} SET {column} = {_literal(new)}{where}"


_COLUMNS = {
    "specs": ("key", "experiment", "condition", "task", "seed", "scene", "spec", "labels", "labels", "spec"),
    "episodes": (
        *(
            "outcome",
            "instruction",
            "steps",
            "seconds",
            "decisions",
            "images",
            "attempts",
            "touched",
            "moved",
        ),
        *("truth", "truth", "error", "transient"),
    ),
    "trajectories": ("steps", "end_effector", "gripper", "actions"),
    "initial_positions": ("positions",),
    "contacts": ("intervals",),
    "clipped": ("cut",),
    "traceback": ("lines",),
    "inference": ("milliseconds",),
    "stages": ("reached",),
    "progress": ("score",),
    "side_effects": ("effects",),
    "aftermath": ("after",),
    "meta": ("value", "value", "name"),
    "stopped": ("condition", "last", "rule"),
}
_KEYED = ("meta", "stopped")


def _cell(path: Path, table: str, column: str, number: int) -> object:
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute(f"SELECT {column} FROM {table} LIMIT 30").fetchall()
    return rows[number % len(rows)][0] if rows else ""


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return (
            "'nan'"
            if value != value
            else "1e999"
            if value > 1e308
            else "-1e999"
            if value < -1e308
            else repr(value)
        )
    raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    blob = f"x'{raw.hex()}'"
    return blob if isinstance(value, bytes) else f"CAST({blob} AS TEXT)"
