"""What an experiment cannot see: how much of it is solved without what it is said to test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api.choices import Seeds, chosen
from assay.api.recorded import Run
from assay.episodes import Policy
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.execute import Observer, Options

if TYPE_CHECKING:
    from assay.measures.shortcuts import Shortcuts, States
    from assay.runs.audit import Probe


def audit(
    experiment: str | Experiment,
    *,
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    conditions: str | Iterable[str] | None = None,
    learned: Iterable[str | Path] = (),
    policies: Iterable[str] = (),
    least: float = 0.5,
    out: str | Path | None = None,
    workers: int | None = None,
    assets: str | None = None,
    states: str | Path | None = None,
    steps: int | None = None,
    certified: bool | None = None,
    timeout: float = 1800.0,
    observer: Observer | None = None,
    told: Callable[[Probe], None] = lambda probe: None,
) -> Audit | None:
    """How much of an experiment is solved without words, without sight, or by memory alone, beside the oracle.

    ``learned`` are networks of ``assay learn --without ...``, ``policies`` further addresses. A condition is solved
    where more than the share ``least`` of its episodes succeed, beyond doubt. ``out`` is a folder for the runs; the
    same call goes on where it stopped. ``told`` is called before each policy plays. None where the observer did not
    approve.
    """
    from assay.measures.shortcuts import check_least, shortcuts
    from assay.runs.audit import default_folder, play, probes_of

    check_least(least)
    probes = probes_of(experiment, [Path(each) for each in learned], policies)
    name = experiment if isinstance(experiment, str) else experiment.name
    options = _audited(tasks, seeds, conditions, assets, states, steps, workers, certified, timeout)
    played = play(experiment, probes, Path(out or default_folder(name)), options, observer, told)
    if played is None:
        return None
    runs = {probe: Run(path) for probe, path in played.runs.items()}
    found = shortcuts({probe: run.frame() for probe, run in runs.items()}, least)
    return Audit(found, {probe.name: run for probe, run in runs.items()}, played.left)


def audit_states(
    policy: str | Policy,
    *,
    states: str | Path | None,
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    assets: str | None = None,
    steps: int | None = None,
    timeout: float = 1800.0,
    observer: Observer | None = None,
) -> States | None:
    """Whether a policy succeeds more often from LIBERO's stored initial states than from newly sampled ones.

    ``states`` is LIBERO's folder of stored states; ``seeds`` are places in its files, and as many seeds. ``out`` is a
    folder for ``stored.assay`` and ``sampled.assay``. None where the observer did not approve.
    """
    from assay.measures.shortcuts import states as compared
    from assay.runs.audit import SAMPLED, STORED, default_folder, play_states

    if out is None:
        if not isinstance(policy, str):
            raise RunError("audit_states: a policy that is an object needs out, a folder")
        out = default_folder(f"states-{policy}")
    options = _audited(tasks, seeds, None, assets, states, steps, workers, None, timeout)
    runs = play_states(policy, Path(out), options, observer)
    if runs is None:
        return None
    return compared(Run(runs[STORED]).frame(), Run(runs[SAMPLED]).frame())


@dataclass(frozen=True, eq=False)
class Audit:
    """What policies that lack something solve of an experiment."""

    shortcuts: Shortcuts
    """By condition and policy, with intervals; ``blind_spots(probe)`` names the conditions."""
    runs: Mapping[str, Run]
    """The policies' runs, by name."""
    left: int
    """Episodes that the same call would still play; 0 where it is over."""

    def __str__(self) -> str:
        from assay.report.audit import in_words

        return "\n".join(in_words(self.shortcuts))


def _audited(
    tasks: str | Iterable[str] | None,
    seeds: Seeds | None,
    conditions: str | Iterable[str] | None,
    assets: str | None,
    states: str | Path | None,
    steps: int | None,
    workers: int | None,
    certified: bool | None,
    timeout: float,
) -> Options:
    """The options of the runs of an audit."""
    return replace(
        chosen(tasks, seeds, conditions, assets, states),
        steps=steps,
        workers=workers,
        certified=certified,
        timeout=timeout,
    )
