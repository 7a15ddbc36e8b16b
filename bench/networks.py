"""Networks with flaws known from their training data, evaluated with the experiments; see docs/appendix/networks.md.

    python -m bench.networks                            # everything: hours
    python -m bench.networks narrow wide --experiments pro,x
    python -m bench.networks --tables                   # existing results, as Markdown
    python -m bench.networks full --tasks libero_goal --folder out/ten-tasks

Demonstrations, checkpoints and runs are stored in a folder (``--folder``, default ``out/networks``). Existing results
are reused, and interrupted steps are resumed. Each step is an `assay` command, printed before it starts. Requires
torch.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import assay
from assay.episodes import CONTROL, Outcome
from assay.extensions.learn.visuomotor.training import load_network
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.sentences import format_finding
from assay.support.stats.intervals import wilson

TASKS = "libero_goal/1,libero_goal/5,libero_goal/7,libero_goal/8"
STEPS = 200
"""Maximum number of control steps per episode; the oracle needs about 120."""
DEMONSTRATIONS = {
    "demos": "--episodes 20 --seeds 1000-1999 --noise 0.2",
    "few-starts": "--episodes 20 --seeds 2000-2099 --noise 0.2 --starts 5",
    "moved": "--episodes 30 --seeds 3000-3999 --noise 0.2 --relocate 0.5",
    "all-moved": "--episodes 60 --seeds 4000-5999 --noise 0.2 --relocate 1.0",
}
"""Options of `assay collect` by folder name."""
NEW_STARTS, SEEN_STARTS = "0-4", "2000-2004"
"""Seeds of the experiments: five starts per task."""


@dataclass(frozen=True, slots=True)
class Training:
    """How a network is trained, and what is known about it as a result."""

    truth: str
    """Description of the flaw implied by its training."""
    made: frozenset[Flaw]
    """Names under which a diagnosis may correctly report it."""
    untrue: frozenset[Flaw]
    """Flaws that a diagnosis must not report."""
    data: str = "demos"
    options: str = "--steps 2000"
    """Options of `assay learn`."""
    seeds: str = NEW_STARTS


DEAF = frozenset({Flaw.IGNORES_WORDS})
BY_WORDS = frozenset({Flaw.UNKNOWN_NAMES, Flaw.WORDING, Flaw.SURFACE})
BY_PLACE = frozenset({Flaw.POSITION})
NETWORKS = {
    "full": Training(
        "one wording of each task; starts that differ by centimetres", BY_PLACE | {Flaw.UNKNOWN_NAMES}, DEAF
    ),
    "without-words": Training(
        "which task is requested", DEAF, BY_WORDS, "few-starts", "--without words --steps 1000", SEEN_STARTS
    ),
    "without-images": Training(
        "positions of objects",
        BY_PLACE | {Flaw.MEMORISES},
        DEAF | {Flaw.APPEARANCE, Flaw.CAMERA},
        "few-starts",
        "--without images --steps 1000",
        SEEN_STARTS,
    ),
    **{
        name: Training(
            f"starts other than five per task, and other wordings{head}",
            BY_PLACE | {Flaw.UNKNOWN_NAMES},
            DEAF,
            "few-starts",
            options,
            SEEN_STARTS,
        )
        for name, head, options in (
            ("narrow", "", "--steps 1000"),
            ("narrow-bins", " (actions in bins, as OpenVLA)", "--head bins --steps 1000"),
            ("narrow-flow", " (flow matching, as pi0)", "--head flow --steps 1000"),
        )
    },
    "wide": Training(
        "one wording of each task; objects displaced by more than half the distance to their neighbours",
        BY_PLACE | {Flaw.UNKNOWN_NAMES},
        DEAF,
        "moved",
    ),
    "wider": Training(
        "one wording of each task", frozenset({Flaw.UNKNOWN_NAMES}), DEAF, "all-moved", "--steps 4000"
    ),
    "paraphrased": Training(
        "starts that differ by more than centimetres",
        BY_PLACE,
        DEAF | {Flaw.UNKNOWN_NAMES},
        options="--paraphrases 2 --steps 2000",
    ),
}
NEW = "new-starts"
"""Unperturbed episodes from starts that no network was trained on."""
EXPERIMENTS = {
    NEW: ("libero", ""),
    "pro": ("pro", "displace=0.1,position,object"),
    "x": ("x?time=unlimited", "level1,level2"),
    "corruption": ("corruption", "paraphrase,synonyms,gobbledygook_words,counterfactual"),
    "para": ("para?per_cell=1", "obj=none,act=question,obj=none,act=coordination,obj=habitual,act=none"),
    "plus": ("plus?difficulties=3", "camera/zoom=*,robot/joints=*,light/*,noise/*"),
    "factors": ("factors", "words,world,senses"),
}
"""Experiments and their conditions besides the control."""


def _call(folder: Path, command: str) -> None:
    """Run an `assay` command in a folder. Exits if it fails."""
    print(f"$ assay {command}", flush=True)
    done = subprocess.run([sys.executable, "-m", "assay", *shlex.split(command)], cwd=folder, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def make(folder: Path, name: str, experiments: Sequence[str], seeds: int, tasks: str = TASKS) -> None:
    """Train a network and run its experiments in a folder; ``seeds`` limits the number of starts."""
    training, checkpoint = NETWORKS[name], f"{name}.safetensors"
    if not (folder / checkpoint).is_file():
        how = DEMONSTRATIONS[training.data]
        _call(folder, f"collect --tasks {tasks} --size 64 {how} --out {training.data}")
        _call(folder, f"learn {training.data} {training.options} --out {checkpoint}")
    for each in experiments:
        design, conditions = EXPERIMENTS[each]
        first = int((NEW_STARTS if each == NEW else training.seeds).partition("-")[0])
        chosen = f"--conditions '{conditions}' " if conditions else ""
        _call(
            folder,
            f"run '{design}' --policy 'learned?checkpoint={checkpoint}' --label {name} --tasks {tasks} {chosen}"
            f"--seeds {first}-{first + seeds - 1} --steps {STEPS} --workers 1 --yes --out {name}-{each}.assay",
        )


def tables(folder: Path, names: Sequence[str], experiments: Sequence[str]) -> Iterator[str]:
    """Return the results in a folder as Markdown."""
    there = [name for name in names if (folder / f"{name}.safetensors").is_file()]
    yield "| network | options of `assay learn` | demonstrations | processor minutes |\n| --- | --- | ---: | ---: |"
    for name in there:
        _, made = load_network(folder / f"{name}.safetensors")
        count = sum(made.episodes.values())
        yield f"| {name} | `{NETWORKS[name].options}` | {count} | {made.processor_minutes:g} |"
    for each in experiments:
        runs = {name: run for name in there if (run := _opened(folder / f"{name}-{each}.assay"))}
        if runs:
            yield from _successes(each, runs)
            yield from () if each == NEW else _diagnoses(each, runs)


def _opened(path: Path) -> assay.Run | None:
    """Return the run in a file; None if it has no recorded episode."""
    run = assay.load_run(path) if path.is_file() else None
    return None if run is None or run.frame().is_empty() else run


def _successes(experiment: str, runs: dict[str, assay.Run]) -> Iterator[str]:
    """Tabulate the successes of each network in each condition, with Wilson intervals."""
    counted = {name: _counts(run) for name, run in runs.items()}
    conditions = dict.fromkeys(each for counts in counted.values() for each in counts)
    yield f"\n| `{experiment}` | {' | '.join(runs)} |\n| --- |{' ---: |' * len(runs)}"
    for condition in sorted(conditions, key=lambda each: each != CONTROL):
        cells = (said(*counts.get(condition, (0, 0))) for counts in counted.values())
        yield f"| `{condition}` | {' | '.join(cells)} |"


def _counts(run: assay.Run) -> dict[str, tuple[int, int]]:
    """Return successes and episodes by condition, without episodes that ended in an error."""
    counts: dict[str, tuple[int, int]] = {}
    for condition, outcome in run.frame().select("condition", "outcome").iter_rows():
        if outcome != Outcome.ERROR:
            hits, episodes = counts.get(condition, (0, 0))
            counts[condition] = hits + (outcome == Outcome.SUCCESS), episodes + 1
    return counts


def said(hits: int, episodes: int) -> str:
    """Format a rate as ``3 of 12 (9 to 53)``."""
    if not episodes:
        return ""
    low, high = wilson(hits / episodes, episodes)
    return f"{hits} of {episodes} ({100 * low:.0f} to {100 * high:.0f})"


def _diagnoses(experiment: str, runs: dict[str, assay.Run]) -> Iterator[str]:
    """Tabulate the headline of each report, and whether it agrees with what is known."""
    yield f"\n| `{experiment}` | what the network cannot know | findings of Assay | |\n| --- | --- | --- | --- |"
    for name, run in runs.items():
        training, findings = NETWORKS[name], run.diagnose()
        found = [each for each in findings if each.verdict is Verdict.FOUND] or findings[:1]
        flaws = {each.flaw for each in found if each.verdict is Verdict.FOUND}
        wrong = flaws & training.untrue
        verdict = (
            f"**wrong**: {', '.join(sorted(wrong))}" if wrong else "named" if flaws & training.made else ""
        )
        yield f"| {name} | {training.truth} | {' '.join(format_finding(each).text for each in found)} | {verdict} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.networks", description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="*", choices=[[], *NETWORKS], help="default: all")
    parser.add_argument("--folder", type=Path, default=Path("out/networks"))
    parser.add_argument("--experiments", default=",".join(EXPERIMENTS), help="separated by commas")
    parser.add_argument("--seeds", type=int, default=5, help="starts per task, at most 5 for narrow")
    parser.add_argument(
        "--tasks", default=TASKS, help="tasks to train and evaluate on; other tasks need another folder"
    )
    parser.add_argument("--tables", action="store_true", help="only print tables of existing results")
    arguments = parser.parse_args()
    names, experiments = arguments.networks or list(NETWORKS), arguments.experiments.split(",")
    if unknown := set(experiments) - set(EXPERIMENTS):
        parser.error(f"unknown experiment {', '.join(sorted(unknown))}; choose from {', '.join(EXPERIMENTS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if not arguments.tables:
        for name in names:
            make(arguments.folder, name, experiments, arguments.seeds, arguments.tasks)
    print("\n".join(tables(arguments.folder, names, experiments)))


if __name__ == "__main__":
    main()
