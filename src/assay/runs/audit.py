"""Audits of experiments and of initial states: runs by policies that lack an input, in one folder.

A policy that is told nothing, sees nothing or only remembers should not get far. Where it does, success says nothing
about what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.episodes import WORLDS, Policy
from assay.errors import PolicyError, RunError
from assay.experiments import Experiment, load_experiment
from assay.policies.registry import load_policy
from assay.runs.connections import SUFFIX
from assay.runs.execute import Observer, execute
from assay.runs.work import Options, prepare

WORDS, SIGHT, MEMORY = "without words", "without sight", "memory alone"
KINDS: Mapping[str, str] = MappingProxyType(
    {
        WORDS: "the words were understood",
        SIGHT: "it looked where things are",
        MEMORY: "anything was understood",
    }
)
"""What a policy does with, and what success is then no evidence of."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A policy that lacks something."""

    name: str
    """Of its run, without the suffix."""
    policy: str
    """Its address."""
    lacks: str | None = None
    """What it does with or without: one of `KINDS`, or a network's inputs; None for the one that lacks nothing."""

    @property
    def title(self) -> str:
        """What a column of a table is called."""
        return self.name if self.lacks is None else f"{self.lacks} ({self.name})"


_LACKS = {"": None, "words": WORDS, "sight": SIGHT, "memory": MEMORY}
"""What a world says that a policy lacks -> what the policy does with or without."""
STORED, SAMPLED = "stored", "sampled"


@dataclass(frozen=True, slots=True)
class Played:
    """The runs of an audit."""

    runs: Mapping[Probe, Path]
    left: int
    """Episodes that the same command would still play."""


def default_folder(what: str) -> Path:
    """Where the runs of an audit go if nobody says."""
    plain = "".join(each if each.isalnum() or each in ".=_-" else "-" for each in what).strip("-")
    return Path("runs") / f"audit-{plain}"


def probes_of(
    experiment: str | Experiment, learned: Iterable[Path] = (), policies: Iterable[str] = ()
) -> tuple[Probe, ...]:
    """The policies that audit an experiment: the oracle, those that lack an input, learned ones, and others by address.

    Raises AssayError for what is no checkpoint, or lacks nothing.
    """
    design = load_experiment(experiment) if isinstance(experiment, str) else experiment
    auditors = WORLDS[design.world].traits.auditors
    if odd := [lacks for _, lacks in auditors if lacks not in _LACKS]:
        valid = ", ".join(filter(None, _LACKS))
        raise RunError(f"audit: world '{design.world}': auditors lack '{odd[0]}'; valid: {valid}, or nothing")
    found = [Probe(name, name, _LACKS[lacks]) for name, lacks in auditors]
    if not found:
        raise RunError(f"audit: no policies without an input are known in the world '{design.world}'")
    found += [_learned(each) for each in learned]
    found += [Probe(_plain(address), address, f"as {address}") for address in policies]
    names = [each.name for each in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise RunError(f"audit: {', '.join(sorted(twice))}: each policy should be given once")
    return tuple(found)


def play(
    experiment: str | Experiment,
    probes: Sequence[Probe],
    folder: Path,
    options: Options,
    observer: Observer | None = None,
    told: Callable[[Probe], None] = lambda probe: None,
) -> Played | None:
    """Run an experiment with every probe; the same again goes on. None where the observer did not approve.

    ``told`` is called before each run. Raises AssayError.
    """
    observer = observer or Observer()
    left = 0
    runs: dict[Probe, Path] = {}
    for probe in probes:
        told(probe)
        path = runs[probe] = folder / f"{probe.name}{SUFFIX}"
        ending = execute(experiment, probe.policy, path, options, observer, probe.title)
        left += ending.left
        if not path.is_file():
            return None
        if ending.reason:
            raise RunError(f"stopped: {ending.reason}; the same command goes on when the policy is back")
        if observer.stopping():
            break
    return Played(runs, left)


def play_states(
    policy: str | Policy, folder: Path, options: Options, observer: Observer | None = None
) -> dict[str, Path] | None:
    """Run the unperturbed tasks with a policy, from stored initial states and from sampled ones.

    ``options.states`` is the folder of the stored ones; ``options.seeds`` are the places of states in their files, and
    as many seeds. None where the observer did not approve. Raises AssayError.
    """
    if options.states is None:
        raise RunError(
            "audit states: needs --states, LIBERO's folder of stored initial states (assay assets get)"
        )
    runs: dict[str, Path] = {}
    prepare("libero", options)  # states that are not there are missed before anything is played
    for kind in (STORED, SAMPLED):
        path = runs[kind] = folder / f"{kind}{SUFFIX}"
        own = options if kind == STORED else replace(options, states=None)
        ending = execute("libero", policy, path, own, observer, f"{kind} states")
        if not path.is_file():
            return None
        if ending.reason:
            raise RunError(f"stopped: {ending.reason}; the same command goes on when the policy is back")
    return runs


def _learned(checkpoint: Path) -> Probe:
    """A network of `assay learn` that never got an input."""
    if not checkpoint.is_file():
        raise PolicyError(f"--learned {checkpoint}: there is no such file")
    address = f"learned?checkpoint={checkpoint}"
    metadata: Any = getattr(load_policy(address), "metadata", {})
    without = metadata["settings"]["without"]
    if not without:
        raise PolicyError(
            f"--learned {checkpoint}: this network gets every input; valid: one of assay learn --without words|images"
        )
    lacks = " and ".join({"words": "words", "images": "sight"}.get(each, str(each)) for each in without)
    return Probe(_plain(checkpoint.stem), address, f"learned without {lacks}")


def _plain(text: str) -> str:
    return "".join(each if each.isalnum() or each in ".=_-" else "-" for each in text).strip("-")
