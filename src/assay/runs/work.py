"""What a run is asked to do: its options, and the episodes that come of them before any is begun."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from assay.episodes import EpisodeSpec, Initial, WhileWaiting
from assay.episodes.latency import WAYS, check_latency
from assay.episodes.stepwise import NOT_HERE
from assay.errors import RunError
from assay.experiments import Experiment, load_experiment
from assay.runs.certificates import engine_digest
from assay.runs.provenance import states_digest
from assay.runs.sequential import Until, parse_until
from assay.runs.shards import Part, Shard, divided
from assay.runs.store import Retry
from assay.support.extras import require
from assay.support.plugins import PYTHON, Plugin, plugins_of

MEASURED: Literal["measured"] = "measured"
Videos = Literal["failures", "all"]
"""Which episodes become videos."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is executed; the names are those of ``assay run``."""

    tasks: str | None = None
    """A selection of tasks: ``libero_goal``, ``libero_goal/3,libero_10/0``; the experiment's own by default."""
    seeds: tuple[int, ...] | None = None
    """The experiment's own by default."""
    conditions: str | None = None
    """Only these conditions, and the control: ``position,displace=*``; all by default."""
    assets: str | None = None
    """The asset pack; the world's usual one by default."""
    states: Path | None = None
    """LIBERO's folder of stored initial states, instead of sampled ones."""
    hold_start: int | None = None
    """Every episode starts from this initial state; seeds vary the policy's own randomness only."""
    steps: int | None = None
    """The most control steps of every episode."""
    replan: int | None = None
    """Actions executed of each chunk; all by default."""
    latency: int | Literal["measured"] = 0
    """For how many control steps the policy thinks, or that this is measured once, before the run."""
    while_waiting: WhileWaiting | None = None
    """What happens meanwhile; the old chunk plays on by default."""
    retries: int = 1
    """How often an episode that broke is tried again."""
    until: str | None = None
    """Stop a condition early: ``half-width=0.05``, or ``decided=0.8``."""
    video: Videos | None = None
    """Write videos of failures, or of all episodes, beside the run."""
    workers: int | None = None
    """Processes; one for each core by default, 0 for this very process."""
    ray: str | None = None
    """Execute on Ray: ``local``, or a cluster's address."""
    certified: bool | None = None
    """Run only scenes that the oracle has solved, or all; None for what the experiment has."""
    retry_errors: bool = False
    """Try episodes that ended in an error again."""
    timeout: float = 1800.0
    """Seconds after which a silent worker is ended."""
    shard: str | None = None
    """Only this part of the plan: ``3/16``; `assay runs merge` puts the parts together."""

    def __post_init__(self) -> None:
        """Raise RunError for a number that makes no sense."""
        lower = {"hold_start": 0, "steps": 1, "replan": 1, "retries": 0, "workers": 0, "timeout": 1}
        for name, least in lower.items():
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or value < least
            ):
                raise RunError(f"{name}={value!r:.60}: valid: {least} or more")
        if self.while_waiting not in (None, *WAYS):
            raise RunError(f"while_waiting={self.while_waiting!r:.60}: valid: {', '.join(WAYS)}")
        if self.video not in (None, *get_args(Videos)):
            raise RunError(f"video={self.video!r:.60}: valid: {' or '.join(get_args(Videos))}")
        if self.video is not None:
            require("video", "videos of episodes need PyAV", RunError)

    @property
    def initial(self) -> Initial:
        """Where episodes start."""
        return "sampled" if self.states is None else "stored"

    @property
    def retry(self) -> Retry:
        """Which episodes that ended in an error are tried again."""
        return "errors" if self.retry_errors else "transient"


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """The episodes of a run, and what holds for all of them."""

    design: Experiment
    pack: str
    specs: list[EpisodeSpec]
    served: bool
    """Whether episodes need a certificate to be run."""
    settings: dict[str, object]
    """What holds for all episodes, as a run keeps it."""
    plugins: tuple[Plugin, ...]
    until: Until | None
    options: Options
    part: Part | None = None
    """Which part of the plan it is; None for all of it."""

    @property
    def states(self) -> str:
        """Stands for the stored initial states; empty where they are sampled."""
        return str(self.settings.get("states", ""))


def prepare(experiment: str | Experiment, options: Options) -> Work:
    """The work that an experiment is with some options. Raises AssayError for whatever of it cannot be."""
    design = load_experiment(experiment) if isinstance(experiment, str) else experiment
    design = design.only(options.conditions)
    world = design.played_in
    chosen = design.choose(options.tasks)
    seeds = design.seeds if options.seeds is None else options.seeds
    rule = None if options.until is None else parse_until(options.until)
    pack = design.checked_pack(options.assets, options.initial)
    served = design.certified if options.certified is None else options.certified
    if served and world.traits.demonstrator is None:
        raise RunError(
            f"{design.name}, certified: the world '{design.world}' has no demonstrator to solve its scenes"
        )
    if (served or design.reference is not None) and design.limit and options.steps is not None:
        raise RunError(
            f"--steps and {design.name}'s own time limit contradict each other: valid: one of them"
        )
    if options.latency == MEASURED:
        raise RunError(
            "--latency measured: only assay run measures it; valid here: a number of control steps"
        )
    check_latency(world, options.latency)
    settings: dict[str, object] = {
        "steps": options.steps,
        "replan": options.replan,
        "initial": options.initial,
    }
    if options.hold_start is not None:
        settings["start"] = options.hold_start
    if options.states is not None:
        if not options.states.is_dir():
            raise RunError(f"--states {options.states}: there is no such folder")
        settings["states"] = states_digest(options.states)
    if design.certified or served:
        settings["certificates"] = engine_digest(design.world, pack) if served else None
    if design.limit is not None and (served or design.reference is not None):
        times = design.reference
        settings["reference_times"] = (
            "demonstrator" if times is None else f"people: {times.file} {times.digest}"
        )
    specs = list(
        design.plan(
            chosen,
            seeds,
            pack=pack,
            initial=options.initial,
            start=options.hold_start,
            steps=options.steps,
            replan=options.replan,
            latency=options.latency,
            while_waiting=options.while_waiting or "play",
        )
    )
    if any(spec.latency for spec in specs):
        settings |= {"latency": options.latency} if options.latency else {}
        settings["while_waiting"] = options.while_waiting or "play"
    elif options.while_waiting is not None:
        raise RunError("--while-waiting: nothing is waited for; valid: with --latency above 0")
    if options.states is not None:
        world.check_states(specs, options.states)
    plugins = plugins_used(experiment, design, pack, specs)
    part = None if options.shard is None else divided(specs, Shard.parse(options.shard))
    if part is not None and rule is not None:
        raise RunError(
            "--shard and --until contradict each other: a shard cannot know when all of a plan is decided"
        )
    specs = specs if part is None else part.specs
    return Work(design, pack, specs, served, settings, plugins, rule, options, part)


def refuse_latency(specs: Iterable[EpisodeSpec]) -> None:
    """Raise RunError where decisions are to come late, for a loop that is not Assay's."""
    if any(spec.latency for spec in specs):
        raise RunError(f"--latency: {NOT_HERE}")


def plugins_used(
    experiment: str | Experiment, design: Experiment, pack: str, specs: Iterable[EpisodeSpec]
) -> tuple[Plugin, ...]:
    """Everybody's modules but Assay's that the run needs."""
    kinds = {type(perturbation) for spec in specs for perturbation in spec.perturbations}
    things: list[object] = [design.played_in, design.variants, design.complete, *kinds]
    found = [*plugins_of(things), *plugins_of([design.played_in.pack_source(pack)])]
    if isinstance(experiment, str) and experiment.startswith(PYTHON):
        found.append(Plugin.named(experiment.split(":")[1]))
    unique = {each.module: each for each in found}
    return tuple(unique[name] for name in sorted(unique))
