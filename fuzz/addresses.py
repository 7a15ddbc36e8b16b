"""A target for files that name code: addresses of modules and functions in every text field of runs and other files.

No reader may import, call or write because a file says so. Modules that report their import, and functions that report
their calls, lie in the current folder, in a folder of Python's path and among the loaded modules.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import assay
from assay import tasks
from assay.episodes import EpisodeSpec, task_of, world_of
from assay.episodes.spec import key_of
from assay.errors import AssayError
from assay.runs.certificates import Certificate, CertificateCache, ClaimVerdict, admit, claim
from assay.runs.store import Store
from assay.support.plugins import discover_plugins
from assay.tasks.files import from_json, to_json
from fuzz.mutations import Rng, pick
from fuzz.targets import command

TRAP = """
import os, sys
def report(*arguments, **fields):
    with open({fired!r}, "a") as file:
        file.write(__name__ + "\\n")
    return {{}}
report.__mro_entries__ = lambda bases: (object,)
if not os.environ.get("ASSAY_FUZZ_LOADING"):
    report()
"""
"""Source of a module that reports its import, and whose function reports its calls."""
STANDARD = ("antigravity", "this", "venv.__main__", "turtledemo.__main__", "idlelib.idle", "lib2to3.__main__")
"""Modules of the standard library that do something visible when they are imported."""
OWN = ("assay.extensions.dropin.path.sitecustomize", "assay.support.preloading")
"""Modules of Assay that change the process that imports them."""
RUN = (
    *("run", "corruption", "--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "2", "--steps", "3"),
    *("--conditions", "empty,xxx", "--workers", "0"),
)
"""Command that plays the sound run, and resumes it."""
WEB_SHARE, VIDEO_SHARE = 0.3, 0.03
"""Fractions of cases that are read by the web app, and of which it is asked for a video."""


class FiredError(Exception):
    """A file caused an import, a call or a file."""


class Addresses:
    """Runs, specs, certificates, plans and task files in which texts are replaced by addresses."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._fired = folder / "work", folder / "fired"
        on_path, self._runs = folder / "path", folder / "work" / "runs"
        for place in (self._folder, on_path, self._runs):
            place.mkdir()
        trap = TRAP.format(fired=str(self._fired))
        for place, name in ((self._folder, "trap_here"), (on_path, "trap_on_path"), (on_path, "trap_loaded")):
            (place / f"{name}.py").write_text(trap)
        (self._folder / "trap_package").mkdir()
        for name in ("__init__", "__main__"):
            (self._folder / "trap_package" / f"{name}.py").write_text(trap)
        os.chdir(self._folder)
        sys.path.append(str(on_path))
        os.environ["ASSAY_FUZZ_LOADING"] = "1"
        import trap_loaded  # type: ignore[import-not-found]

        del os.environ["ASSAY_FUZZ_LOADING"]
        assert trap_loaded.__name__ == "trap_loaded"
        modules = ("trap_here", "trap_on_path", "trap_loaded", "trap_package", "trap_package.__main__")
        self._addresses = [f"python:{module}:report" for module in modules]
        self._addresses += [*modules, *STANDARD, *OWN, "python:faulthandler:_sigsegv", "python:os:abort"]
        self._addresses += [f"python:{module}:report?a=1" for module in modules]
        self._addresses += [f"python:{module}:report/0" for module in modules]
        self._sound = self._folder / "sound.assay"
        command(*RUN, "--out", self._sound)
        self._planned = EpisodeSpec("libero_goal/7", 0)
        self._task_json = json.loads(to_json(tasks.load("libero_goal/7")))
        discover_plugins()
        self._port = 0
        shutil.copy(self._sound, self._runs / "case.assay")
        for read in (*self._readers(), self._read_web):
            with contextlib.suppress(AssayError):
                read(self._runs / "case.assay")
        self._modules = {name.partition(".")[0] for name in sys.modules}

    def known(self) -> int:
        """Return the number of corpus cases."""
        return 0

    def case(self, number: int, rng: Rng) -> int:
        """Write addresses into one file and read it."""
        kind = pick(rng, ("run", "run", "run", "spec", "certificate", "task"))
        before = self._files()
        with contextlib.suppress(AssayError):
            getattr(self, f"_{kind}")(rng)
        new = {name.partition(".")[0] for name in sys.modules} - self._modules - set(sys.stdlib_module_names)
        new |= {name for name in (*STANDARD, *OWN) if name in sys.modules}
        if self._fired.exists():
            fired = set(self._fired.read_text().split())
            self._fired.unlink()
            raise FiredError(f"{kind}: imported or called: {fired}")
        if new:
            raise FiredError(f"{kind}: imported {sorted(new)}")
        if files := self._files() - before:
            raise FiredError(f"{kind}: wrote {sorted(files)[:5]}")
        return 1

    def _files(self) -> set[str]:
        written = ("out", "runs", "__pycache__")
        return {str(file) for file in self._folder.rglob("*") if not {*file.parts} & {*written}}

    def _plant(self, rng: Rng, content: Any, share: float) -> Any:
        """Return a JSON value in which a share of the texts, keys included, are replaced by addresses."""
        if isinstance(content, dict):
            return {
                self._plant(rng, key, share / 4): self._plant(rng, value, share)
                for key, value in content.items()
            }
        if isinstance(content, list):
            return [self._plant(rng, value, share) for value in content]
        return pick(rng, self._addresses) if isinstance(content, str) and rng.random() < share else content

    def _run(self, rng: Rng) -> None:
        run = self._runs / "case.assay"
        shutil.copy(self._sound, run)
        share = float(pick(rng, (0.02, 0.1, 0.5)))
        with closing(sqlite3.connect(run)) as db, db:
            for name, value in db.execute("SELECT name, value FROM meta").fetchall():
                planted = json.dumps(self._plant(rng, json.loads(value), share))
                db.execute("UPDATE meta SET value = ? WHERE name = ?", (planted, name))
            plugins = [
                {"module": pick(rng, self._addresses), "version": "1", "digest": None} for _ in range(2)
            ]
            db.execute("INSERT OR REPLACE INTO meta VALUES ('plugins', ?)", (json.dumps(plugins),))
            rows = db.execute(
                "SELECT id, spec, labels, condition, task, scene, experiment FROM specs"
            ).fetchall()
            for number, spec, labels, *texts in rows:
                content = self._plant(rng, json.loads(spec), share)
                if rng.random() < 0.5:
                    content["pack"] = pick(rng, self._addresses)
                planted = json.dumps(content, sort_keys=True, separators=(",", ":"))
                with contextlib.suppress(AssayError):
                    planted = EpisodeSpec.from_json(planted).to_json()
                key = key_of(planted)
                named = json.dumps(self._plant(rng, json.loads(labels), share))
                db.execute(
                    "UPDATE specs SET spec = ?, labels = ?, key = ?, condition = ?, task = ?, scene = ?, "
                    "experiment = ? WHERE id = ?",
                    (planted, named, key, *(self._plant(rng, text, share) for text in texts), number),
                )
            for table, column in (
                ("episodes", "instruction"),
                ("episodes", "error"),
                ("episodes", "touched"),
            ):
                for number, text in db.execute(f"SELECT id, {column} FROM {table}").fetchall():
                    planted = self._plant(rng, text or "text", share)
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (planted, number))
        if rng.random() < WEB_SHARE:
            self._read_web(run, video=rng.random() < VIDEO_SHARE / WEB_SHARE)
            return
        pick(rng, self._readers())(run)

    def _readers(self) -> tuple[Callable[[Path], object], ...]:
        out = self._folder / "out"
        return (
            lambda run: command("report", run),
            lambda run: command("report", run, "--out", out / "report", "--json", out / "report.json"),
            lambda run: command("report", run, "--paper", "libero-para", "--out", out / "paper"),
            lambda run: command("runs", "show", run),
            lambda run: command("runs", "list", run.parent),
            lambda run: command("runs", "merge", run, self._sound, "--out", out / "merged.assay"),
            lambda run: command("compare", run, self._sound),
            lambda run: command("gate", run, "--baseline", self._sound),
            lambda run: command("export", run, "--csv", out / "table.csv"),
            lambda run: command(
                "eqa", "build", "--source", run, "--out", out / "questions", "--per-kind", "1"
            ),
            lambda run: command(*RUN, "--out", run),
            self._read_api,
            self._replan,
        )

    def _read_api(self, run: Path) -> None:
        recorded = assay.load_run(run)
        for key in list(recorded.episodes)[:2]:
            episode = recorded.episodes[key]
            assert episode.row
            episode.replay()

    def _replan(self, run: Path) -> None:
        """Read the specs of a run as a plan, and everything that is derived from a spec before its rollout."""
        with Store.reading(run) as store:
            for spec in store.specs():
                self._use(spec)

    def _use(self, spec: EpisodeSpec) -> None:
        world = world_of(spec.task)
        for use in (
            task_of,
            world.horizon,
            lambda spec: world.digest(spec.pack),
            lambda spec: world.open().reset(spec),
        ):
            with contextlib.suppress(AssayError):
                use(spec)

    def _spec(self, rng: Rng) -> None:
        content = self._plant(rng, json.loads(self._planned.to_json()), 0.4)
        if rng.random() < 0.5:
            content["perturbations"] = [
                {"kind": pick(rng, self._addresses), "text": pick(rng, self._addresses)}
            ]
        self._use(EpisodeSpec.from_json(json.dumps(content)))

    def _certificate(self, rng: Rng) -> None:
        file = self._runs / "certificates.sqlite"
        file.unlink(missing_ok=True)
        with CertificateCache(file) as cache:
            cache.add(claim(self._planned), Certificate(ClaimVerdict.SOLVED, 3, ""))
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(
                "UPDATE certificates SET verdict = ?, why = ?", [pick(rng, self._addresses) for _ in "12"]
            )
        pack = pick(rng, ("primitives", *self._addresses))
        with CertificateCache(file) as cache:
            admit([self._planned, replace(self._planned, pack=pack)], cache)

    def _task(self, rng: Rng) -> None:
        from_json(json.dumps(self._plant(rng, self._task_json, 0.1)), id="case/0", file="case.json")

    def _read_web(self, run: Path, video: bool = False) -> None:
        port = self._serve()
        with Store.reading(run) as store:
            keys = [row.key for row in store.outcomes()]
        name = quote(run.name)
        pages = [
            "/",
            f"/runs/{name}",
            f"/runs/{name}/report.html",
            f"/runs/{name}/episodes",
            f"/runs/{name}/gallery",
        ]
        pages += [f"/runs/{name}/finding", f"/runs/{name}/episodes/{quote(keys[-1])}"]
        for page in pages:
            self._get(port, page)
        if video:
            page, deadline = f"/runs/{name}/episodes/{quote(keys[-1])}/video", time.monotonic() + 60
            while b'"state":"' in (answer := self._get(port, page)) and time.monotonic() < deadline:
                if b"ready" in answer or b"failed" in answer:
                    break
                time.sleep(0.2)

    @staticmethod
    def _get(port: int, page: str) -> bytes:
        with closing(HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
            connection.request("GET", page)
            return connection.getresponse().read()

    def _serve(self) -> int:
        """Return the port of the web app, which runs in a thread of this process."""
        if not self._port:
            import uvicorn

            from assay.web.app import application
            from assay.web.library import Library
            from assay.web.replays import Replays

            app = application(Library(self._runs), Replays(self._folder / "out" / "videos"))
            server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", ws="none"))
            threading.Thread(target=server.run, daemon=True).start()
            while not server.started:
                time.sleep(0.05)
            self._port = server.servers[0].sockets[0].getsockname()[1]
        return self._port
