"""Where a run's episodes can go: one table, each entry with what it needs and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay.api.tracking import PROJECT, export, load_tracker
from assay.errors import RunError, did_you_mean
from assay.extensions.interop.exchange.selection import MOST, SIZE
from assay.runs.store import Store
from assay.support.extras import require
from assay.support.plugins import provided


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for; an exporter takes what concerns it."""

    out: Path | None = None
    episodes: str = "all"
    """all, failures, or keys with commas."""
    most: int | None = None
    images: bool = True
    size: int = SIZE
    """Of images, pixels each way."""
    project: str = PROJECT
    dataset: str = ""

    def place(self, name: str, example: str) -> Path:
        """Where to write. Raises RunError where nobody says."""
        if self.out is None:
            raise RunError(f"--to {name} needs --out, such as {example}")
        return self.out


@dataclass(frozen=True, slots=True)
class Exporter:
    """A way to export: returns a line that says what was done."""

    about: str
    write: Callable[[Store, Wish], str]


def exporter(name: str) -> Exporter:
    """The exporter of a name. Raises RunError."""
    if name not in EXPORTERS:
        raise RunError(f"--to '{name}': {did_you_mean(name, EXPORTERS, most=9)}")
    return EXPORTERS[name]


def _tracked(name: str) -> Exporter:
    def write(store: Store, wish: Wish) -> str:
        new = export(store, load_tracker(name)(), wish.project)
        return f"{new} episodes told to {name}" + (
            "" if new == store.done else " (the others it knows already)"
        )

    return Exporter(f"{name}: a row for each episode, rates with intervals", write)


def _rerun(store: Store, wish: Wish) -> str:
    require("rerun", "files for Rerun need the package rerun-sdk", RunError)
    from assay.extensions.interop.exchange import rerun_files

    folder = wish.place("rerun", "episodes.rerun")
    count, left = rerun_files.write(
        store, folder, which=wish.episodes, most=wish.most or MOST, images=wish.images
    )
    return f"{count} episodes written to {folder}{_left(left)}"


def _lerobot(store: Store, wish: Wish) -> str:
    from assay.extensions.interop.exchange import lerobot_folders

    folder = wish.place("lerobot", "rollouts")
    count, left = lerobot_folders.write(
        store, folder, which=wish.episodes, most=wish.most or MOST, size=wish.size
    )
    return f"{count} episodes written to {folder}{_left(left)}"


def _hf(store: Store, wish: Wish) -> str:
    from assay.extensions.interop.exchange import hf_results

    file = wish.place("hf", ".eval_results/assay.yaml")
    if not wish.dataset:
        raise RunError("--to hf needs --dataset OWNER/NAME, the id of the benchmark's dataset on the Hub")
    return f"{hf_results.write(store, file, wish.dataset)} conditions written to {file}"


def _left(count: int) -> str:
    return f" ({count} left out: --most)" if count else ""


EXPORTERS: Mapping[str, Exporter] = MappingProxyType(
    {
        **{name: _tracked(name) for name in provided("tracker")},
        "rerun": Exporter("a folder of .rrd files, one for each episode", _rerun),
        "lerobot": Exporter("a LeRobotDataset, failures too", _lerobot),
        "hf": Exporter("a file for .eval_results/ of a model on the Hugging Face Hub", _hf),
    }
)
"""Name -> exporter."""
