"""Targets for task files: BDDL, JSON, initial states, tables of paraphrases and result files."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.errors import AssayError
from assay.experiments import load_experiment
from assay.extensions.interop.importing.results import ResultFile, import_results
from assay.tasks import bddl
from assay.tasks.files import from_json, load_file, to_json
from assay.tasks.formats.init_files import read_states
from fuzz.mutations import HOSTILE_TEXTS, Rng, corpus, pick, spoiled_bytes, spoiled_json, spoiled_text
from fuzz.targets import command

SOME = ("libero_goal/0", "libero_goal/7", "libero_10/3", "libero_90/20")


class Texts:
    """A target whose cases are the content of one file: first the corpus, then damaged valid files."""

    corpus = ""
    suffix = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound = [each if isinstance(each, bytes) else each.encode() for each in self.sound()]
        found = corpus(self.corpus) if self.corpus else []
        self._known = [str(each).encode("utf-8", "surrogatepass") for each in found]

    def known(self) -> int:
        """Return the corpus cases."""
        return len(self._known)

    def case(self, number: int, rng: Rng) -> int:
        """Write one file and read it."""
        content = (
            self._known[number] if number < len(self._known) else self.spoiled(rng, pick(rng, self._sound))
        )
        path = self._folder / f"case{self.suffix}"
        path.write_bytes(content)
        self.read(path, rng)
        return 1

    def sound(self) -> list[bytes | str]:
        """Return valid files."""
        raise NotImplementedError

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage bytes or words."""
        if rng.random() < 0.5:
            return spoiled_bytes(rng, content)
        return spoiled_text(rng, content.decode(errors="replace")).encode("utf-8", "surrogatepass")

    def read(self, path: Path, rng: Rng) -> None:
        """Read a file."""
        raise NotImplementedError


class Bddl(Texts):
    """BDDL files, read, written and displayed."""

    corpus, suffix = "bddl", ".bddl"

    def sound(self) -> list[bytes | str]:
        """Return LIBERO tasks."""
        return [bddl.write(tasks.load(each)) for each in SOME]

    def read(self, path: Path, rng: Rng) -> None:
        """Read a file; what can be read must be writable."""
        if rng.random() < 0.2:
            command("tasks", "show", path, "--no-picture")
        task = load_file(str(path))
        with contextlib.suppress(AssayError):
            bddl.write(task)


class TaskJson(Texts):
    """Task files."""

    corpus, suffix = "task_json", ".task.json"

    def sound(self) -> list[bytes | str]:
        """Return LIBERO tasks."""
        return [to_json(tasks.load(each)) for each in SOME]

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage a value or bytes."""
        if rng.random() < 0.3:
            return spoiled_bytes(rng, content)
        return json.dumps(spoiled_json(rng, json.loads(content))).encode()

    def read(self, path: Path, rng: Rng) -> None:
        """Read and display a file."""
        if rng.random() < 0.2:
            command("tasks", "list", path)
        to_json(from_json(path.read_text(encoding="utf-8", errors="replace"), id=str(path), file=path.name))


class States(Texts):
    """Initial-state files: pickles in zips, which are parsed and never executed."""

    suffix = ".pruned_init"

    def sound(self) -> list[bytes | str]:
        """Return arrays in the format of LIBERO's files."""
        array = np.arange(60.0).reshape(5, 12) / 7
        found = []
        for protocol in (2, 4, 5):
            pickled = pickle.dumps(array, protocol=protocol)
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("archive/data.pkl", pickled)
                archive.writestr("archive/version", "3\n")
            found += [file.getvalue(), pickled]
        return [*found]

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage bytes; in a zip, its pickle or the whole file."""
        if not zipfile.is_zipfile(io.BytesIO(content)) or rng.random() < 0.4:
            return spoiled_bytes(rng, content)
        file = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
            inner = spoiled_bytes(rng, old.read("archive/data.pkl"))
            if rng.random() < 0.3:
                inner = b"cposix\nsystem\n(X\x05\0\0\0falsetR" + inner
            new.writestr("archive/data.pkl", inner)
            new.writestr("archive/version", "3\n")
        return file.getvalue()

    def read(self, path: Path, rng: Rng) -> None:
        """Read as a run with stored states does."""
        read_states(path)


class ResultTables(Texts):
    """CSV files with results of other tools, imported as runs."""

    corpus, suffix = "results_csv", ".csv"

    def sound(self) -> list[bytes | str]:
        """Return a few episodes."""
        lines = ["task,seed,condition,success,steps,instruction"]
        for task in SOME:
            lines += [
                f"{task},{seed},{name},{seed % 2},{40 + seed},do it"
                for seed in range(3)
                for name in ("control", "far")
            ]
        return [
            "\n".join(lines),
            "\n".join(line.replace(",", ";") for line in lines),
            "task\tsuccess\nlibero_goal/0\ttrue\n",
        ]

    def read(self, path: Path, rng: Rng) -> None:
        """Import a file."""
        out = self._folder / "imported.assay"
        out.unlink(missing_ok=True)
        list(import_results([ResultFile(path)], out, policy="somebody"))


class Wordings(Texts):
    """CSV files with paraphrases, run as an experiment."""

    corpus, suffix = "wordings_csv", ".csv"

    def sound(self) -> list[bytes | str]:
        """Return both kinds of table."""
        told = tasks.load("libero_goal/7").instruction.text
        return [
            f"task,paraphrase\nlibero_goal/7,{told} please\nlibero_goal/7,now {told}\n",
            f"task,original,paraphrase,s_k,s_t\nlibero_goal/7,{told},now {told},0.9,1.0\n",
        ]

    def read(self, path: Path, rng: Rng) -> None:
        """Plan an experiment."""
        experiment = load_experiment(f"para?file={path}")
        list(experiment.plan([tasks.load("libero_goal/7")], (0,)))


class Results(Texts):
    """JSON results of vla-eval, LeRobot and LIBERO scripts."""

    corpus, suffix = "results_json", ".json"

    def sound(self) -> list[bytes | str]:
        """Return one short file of each kind."""
        vla = {
            "benchmark": "libero", "mode": "sync", "server": "ws://x", "mean_success": 0.5,
            "tasks": [{"task": "libero_goal/0", "mean_success": 0.5, "episodes": [
                {"episode_id": 0, "metrics": {"success": True}, "steps": 44},
                {"episode_id": 1, "metrics": {"success": False}, "steps": 300}]}],
        }  # fmt: skip
        lerobot = {
            "per_task": [
                {"task_group": "libero_goal", "task_id": 0, "metrics": {"successes": [True, False]}}
            ],
            "overall": {"pc_success": 50.0, "n_episodes": 2},
        }
        return [json.dumps(vla), json.dumps(lerobot)]

    def spoiled(self, rng: Rng, content: bytes) -> bytes:
        """Damage a value or bytes."""
        if rng.random() < 0.3:
            return spoiled_bytes(rng, content)
        return json.dumps(spoiled_json(rng, json.loads(content))).encode()

    def read(self, path: Path, rng: Rng) -> None:
        """Import a file."""
        out = self._folder / "imported.assay"
        out.unlink(missing_ok=True)
        list(import_results([ResultFile(path)], out, policy="somebody"))


class Names(Texts):
    """Names and addresses on the command line: tasks, policies, experiments, conditions."""

    def sound(self) -> list[bytes | str]:
        """Return valid names."""
        return [
            "libero_goal/7",
            "corruption?conditions=empty",
            "openpi://127.0.0.1:1?timeout=0.1",
            "python:json:loads",
        ]

    def read(self, path: Path, rng: Rng) -> None:
        """Look up a name."""
        text = path.read_text(encoding="utf-8", errors="replace")
        text = pick(rng, (text, pick(rng, HOSTILE_TEXTS)))
        small = ("--tasks", "libero_goal/7", "--seeds", "1")
        ways: tuple[Callable[[], Any], ...] = (
            lambda: command("tasks", "show", text, "--no-picture"),
            lambda: command("experiments", "show", text),
            lambda: command("tasks", "list", text),
            lambda: command("run", "libero", "--policy", text, "--dry-run", *small),
        )
        pick(rng, ways)()


TARGETS = {
    "bddl": Bddl,
    "task-json": TaskJson,
    "states": States,
    "result-tables": ResultTables,
    "results": Results,
    "wordings": Wordings,
    "names": Names,
}
