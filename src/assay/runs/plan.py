"""Plan of a run: its episodes, provenance and execution settings."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from assay import __version__
from assay.episodes import CONTROL, EpisodeSpec, Initial, Perturbation, Policy
from assay.episodes.latency import check_latency
from assay.episodes.spec import REPEAT_STRIDE
from assay.episodes.stepwise import NOT_HERE
from assay.errors import PolicyError, RunError
from assay.experiments import Experiment, load_experiment
from assay.policies.identity import identity
from assay.policies.registry import check_address, connect_policy, missing_methods
from assay.runs.certificates import engine_digest
from assay.runs.executor import Player, WorkerConfig
from assay.runs.options import MEASURED, RunOptions
from assay.runs.provenance import IDENTITY
from assay.runs.schedulers.until import parse_until
from assay.runs.shards import Shard
from assay.sim.bare_mujoco import MUJOCO_VERSION
from assay.support.extras import DISTRIBUTION
from assay.support.files import digest_of
from assay.support.plugins import SCRIPT, Plugin, plugins_of
from assay.support.trust import PYTHON

OBJECT = "object:"
"""Prefix of the address of a policy that is an object in the calling process."""


@dataclass(frozen=True, slots=True, eq=False)
class RunPlan:
    """Everything that determines a run: episodes, provenance and execution settings."""

    experiment: Experiment
    pack: str
    specs: list[EpisodeSpec]
    options: RunOptions
    settings: dict[str, object]
    """Settings common to all episodes, as stored in the run."""
    plugins: tuple[Plugin, ...]
    requires_certificates: bool
    """Whether only episodes with a certificate are run."""
    part: Shard | None = None
    """Shard of the plan; None for the complete plan."""
    policy: str = ""
    """Address of the policy."""
    path: Path = Path()
    """File of the run."""
    label: str | None = None
    """Name of the policy in reports."""
    provenance: dict[str, object] = field(default_factory=dict)
    """Provenance stored in the run; empty if there is no policy."""
    actor: Policy | Player | None = None
    """Policy or player that acts in this process; None if workers load the policy."""

    @classmethod
    def make(cls, experiment: str | Experiment, options: RunOptions) -> RunPlan:
        """Plan an experiment. Raises AssayError if the options are incompatible with it or with each other."""
        design = load_experiment(experiment) if isinstance(experiment, str) else experiment
        design = design.only(options.conditions)
        world = design.played_in
        tasks = design.choose(options.tasks)
        if options.until is not None:
            parse_until(options.until)
        if options.allocate and (options.until is not None or options.shard is not None):
            raise RunError(
                "--allocate cannot be combined with --until, or with --shard: it needs all episodes"
            )
        initial: Initial = "sampled" if options.states is None else "stored"
        pack = design.checked_pack(options.assets, initial)
        certified = design.certified if options.certified is None else options.certified
        if certified and world.traits.demonstrator is None:
            raise RunError(
                f"{design.name}: the world '{design.world}' has no demonstrator to certify scenes; use --uncertified"
            )
        if (certified or design.reference is not None) and design.limit and options.steps is not None:
            raise RunError(f"--steps cannot be combined with {design.name}, which sets its own time limit")
        if options.latency == MEASURED:
            raise RunError(
                "--latency measured: the latency is measured when a run starts; pass a number of control steps instead"
            )
        check_latency(world, options.latency)
        settings: dict[str, object] = {
            "steps": options.steps,
            "replan": options.replan,
            "initial": initial,
        }
        if options.hold_start is not None:
            settings["start"] = options.hold_start
        if options.states is not None:
            if not options.states.is_dir():
                raise RunError(f"--states {options.states}: the folder does not exist")
            files = sorted(file for file in options.states.rglob("*") if file.is_file())
            settings["states"] = digest_of(files, options.states)[:12]
        if design.certified or certified:
            settings["certificates"] = engine_digest(design.world, pack) if certified else None
        if design.limit is not None and (certified or design.reference is not None):
            times = design.reference
            settings["reference_times"] = (
                "demonstrator" if times is None else f"people: {times.file} {times.digest}"
            )
        seeds = design.seeds if options.seeds is None else options.seeds
        if options.repeats is not None and options.repeats > 1:
            others = {
                "--until": options.until is not None,
                "--allocate": options.allocate,
                "--hold-start": options.hold_start is not None,
            }
            if other := next((name for name, is_set in others.items() if is_set), None):
                raise RunError(f"--repeats cannot be combined with {other}, which counts every seed once")
            if max(seeds) >= REPEAT_STRIDE:
                raise RunError(f"--repeats: expected seeds below {REPEAT_STRIDE:,}, got {max(seeds)}")
        specs = list(
            design.plan(
                tasks,
                seeds,
                pack=pack,
                initial=initial,
                start=options.hold_start,
                repeats=options.repeats or 1,
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
            raise RunError("--while-waiting requires a --latency above 0")
        if options.allocate and not {CONTROL} < {spec.condition for spec in specs}:
            raise RunError(f"--allocate: {design.name} has no perturbed condition with a control")
        if options.states is not None:
            world.check_states(specs, options.states)
        plugins = plugins_used(experiment, design, pack, specs)
        part = None if options.shard is None else Shard.of(specs, options.shard)
        if part is not None and options.until is not None:
            raise RunError("--shard cannot be combined with --until, which needs the episodes of all shards")
        specs = specs if part is None else part.specs
        return cls(design, pack, specs, options, settings, plugins, certified, part)

    def for_policy(self, policy: str | Policy | Player, path: Path, label: str | None = None) -> RunPlan:
        """Return the plan for running a policy and recording it in a file. Raises PolicyError if the policy cannot act.

        If the address denotes a policy that acts in this process, it is loaded here, once.
        """
        world, metadata = self.experiment.world, dict[str, str]()
        actor: Policy | Player | None = None if isinstance(policy, str) else policy
        if isinstance(policy, Player):
            self.refuse_latency()
            address, files = policy.address, policy.identity()
        elif isinstance(policy, str):
            address, files = policy, identity(policy, world)
            if self.options.workers == 0 and self.options.ray is None:
                actor, metadata = connect_policy(policy, world)
            else:
                metadata = check_address(policy, world)
        elif isinstance(policy, type):
            raise PolicyError(
                f"{policy.__name__} is a class, not a policy; pass {policy.__name__}(...) or its address"
            )
        elif missing := missing_methods(policy):
            raise PolicyError(f"{type(policy).__name__} is not a policy: it has no {missing}")
        else:
            kind = type(policy)
            address, files = f"{OBJECT}{kind.__module__}.{kind.__qualname__}", identity(policy)
        plan = self.recorded_as(address, path, metadata, files)
        return replace(plan, label=label, actor=actor)

    def recorded_as(
        self,
        policy: str,
        path: Path,
        metadata: dict[str, str] | None = None,
        identity: dict[str, str] | None = None,
    ) -> RunPlan:
        """Return the plan with the provenance that is stored in its file.

        ``metadata``: as reported by the policy; ``identity``: digests of its files, keyed by file name, see
        `assay.policies.identity`.
        """
        world = self.experiment.played_in
        provenance: dict[str, object] = {
            "experiment": self.experiment.name,
            "policy": policy,
            "policy_metadata": metadata or {},
            IDENTITY: identity or {},
            "settings": self.settings,
            "pack": self.pack,
            "pack_digest": world.digest(self.pack),
            "world": world.traits.as_json(),
            "plugins": [plugin.as_json() for plugin in self.plugins],
            "assay": __version__,
            "mujoco": MUJOCO_VERSION,
            "numpy": version("numpy"),
            "python": platform.python_version(),
            "host": platform.node(),
            "machine": platform.platform(),
            "commit": commit_of(Path(__file__)),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return replace(self, policy=policy, path=path, provenance=provenance)

    @property
    def worker(self) -> WorkerConfig:
        """Execution settings for every worker."""
        options = self.options
        return WorkerConfig(
            self.policy,
            self.experiment.world,
            options.retries,
            None if options.video is None else self.path.with_suffix(".videos").absolute(),
            options.video == "all",
            None if options.states is None else options.states.absolute(),
            (
                *(plugin.module for plugin in self.plugins if plugin.module != SCRIPT),
                *([self.pack] if self.pack.startswith(PYTHON) else []),
            ),
        )

    @property
    def demonstrator(self) -> WorkerConfig:
        """Execution settings for the workers that certify scenes."""
        policy = self.experiment.played_in.traits.demonstrator
        assert policy is not None
        return replace(self.worker, policy=policy, retries=0, videos=None)

    @property
    def states_digest(self) -> str:
        """Digest of the stored initial states; empty if they are sampled."""
        return str(self.settings.get("states", ""))

    def refuse_latency(self) -> None:
        """Raise RunError if the plan simulates a latency, which only Assay's own control loop can do."""
        if any(spec.latency for spec in self.specs):
            raise RunError(f"--latency: {NOT_HERE}")


def commit_of(module: Path) -> str | None:
    """Return the git commit of the Assay checkout that contains a module; None if there is no checkout.

    Any other enclosing repository is ignored: Assay may be installed in its `.venv`, or copied into it.
    """
    package = next(parent for parent in module.resolve().parents if parent.name == "assay")
    root = package.parents[1]
    project = root / "pyproject.toml"
    is_checkout = package.parent.name == "src" and (root / ".git").exists() and project.is_file()
    if not is_checkout or f'name = "{DISTRIBUTION}"' not in project.read_text(encoding="utf-8"):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def plugins_used(
    experiment: str | Experiment, design: Experiment, pack: str, specs: Iterable[EpisodeSpec]
) -> tuple[Plugin, ...]:
    """Return the modules outside Assay that a run needs, sorted by name."""
    kinds = {type(perturbation) for spec in specs for perturbation in spec.perturbations}
    parts: list[object] = [design.played_in, design.variants, design.complete, *kinds]
    plugins = [*plugins_of(parts), *plugins_of([design.played_in.pack_source(pack)])]
    addresses = (address for address in (experiment, pack) if isinstance(address, str))
    plugins += [
        Plugin.from_module(address.split(":")[1]) for address in addresses if address.startswith(PYTHON)
    ]
    by_module = {plugin.module: plugin for plugin in plugins}
    return tuple(by_module[name] for name in sorted(by_module))


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One variant of a task under one condition. Harnesses and scripts treat it as a task.

    Its episodes differ only in their seeds.
    """

    name: str
    """Name such as ``x/level3 libero_goal/3``; numbered if a condition has several variants of a task."""
    condition: str
    task: str
    specs: tuple[EpisodeSpec, ...]
    variant: int = 1
    """Number of the variant within its condition and task, starting at 1."""

    def episode(self, number: int) -> EpisodeSpec:
        """Return the n-th episode, wrapping around after the last one."""
        return self.specs[number % len(self.specs)]


def planned_tasks(specs: Iterable[EpisodeSpec]) -> list[PlannedTask]:
    """Group the episodes of a plan by condition, task and variant, in plan order."""
    variants: dict[tuple[str, str, tuple[Perturbation, ...]], list[EpisodeSpec]] = {}
    for spec in specs:
        variants.setdefault((spec.condition, spec.task, spec.perturbations), []).append(spec)
    counts: dict[str, int] = {}
    tasks = []
    for (condition, task, _), episodes in variants.items():
        name = f"{condition} {task}"
        counts[name] = counts.get(name, 0) + 1
        numbered = name if counts[name] == 1 else f"{name} {counts[name]}"
        tasks.append(PlannedTask(numbered, condition, task, tuple(episodes), counts[name]))
    return tasks
