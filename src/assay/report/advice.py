"""What to do next: more seeds, other tasks; each with the command to copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.measures.evidence_text import describe_ability
from assay.measures.failure.starts import STARTS, ability
from assay.measures.findings import Fall, Verdict
from assay.measures.flaws import Flaw
from assay.measures.success.rates import CONTROLS, has_perturbed_episodes
from assay.measures.views.wording import natural, percent, plural
from assay.report.run_report import RunReport
from assay.runs.commands import plan_command, run_command
from assay.runs.provenance import ALL, all_conditions

FLOOR = 0.2
"""Success with nothing changed below which little is left to be lost."""
DETECT = 0.2
"""A loss that an experiment should be able to find."""
USUAL_ASSETS = "primitives"
"""What a command takes that names none."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do next."""

    text: str
    command: str = ""


def advice(report: RunReport) -> list[Advice]:
    """What to do next with a run's policy; the most important first."""
    weak = list(_weak(report))
    found = weak if any(each.command for each in weak) else [*weak, *_more(report)]
    if report.meta.get("imported"):  # no command of ours made it
        return [Advice(f"{each.text.rstrip(':.')}.") for each in found]
    return found


def command_for_more(report: RunReport, *, seeds: int | None = None, tasks: Sequence[str] = ()) -> str:
    """The command that does more of a run: with so many seeds in all, or of some of its tasks into another file."""
    meta = report.meta
    rows = report.profile[STARTS.name].rows
    known = sorted(rows["seed"].unique())
    settings = meta.get("settings") or {}
    pack, conditions, file = meta.get("pack", USUAL_ASSETS), all_conditions(meta), Path(report.file)
    return run_command(
        str(meta.get("experiment")),
        str(meta.get("policy", "POLICY")),
        settings,
        tasks=",".join(tasks or sorted(rows["task"].unique(), key=natural)),
        seeds=_seeds(known, seeds or len(known)),
        assets=None if pack == USUAL_ASSETS else pack,
        conditions=None if conditions == [ALL] else ",".join(conditions),
        states=meta.get("states_folder", "FOLDER") if settings.get("initial") == "stored" else None,
        out=file.with_stem(f"{file.stem}-{plural(len(tasks), 'task').replace(' ', '-')}") if tasks else file,
    )


def _seeds(known: Sequence[int], count: int) -> str:
    """So many seeds, those that there are first, as the command line takes them."""
    first, last = known[0], known[-1]
    if list(known) != list(range(first, last + 1)):
        more = range(last + 1, last + 1 + count - len(known))
        return ",".join(map(str, (*known, *more)))
    return str(count) if first == 0 else f"{first}-{first + count - 1}"


def _more(report: RunReport) -> Iterator[Advice]:
    """How many seeds would settle what is not certain."""
    if report.profile.get(STARTS) is None or report.meta.get("experiment") == "search":
        return  # a search chooses by itself what it plays
    wanted = report.told.seeds
    if wanted is None:
        yield from _how_many(report)
        return
    yield Advice(f"{wanted.text}:", command_for_more(report, seeds=wanted.more.needed))


def _how_many(report: RunReport) -> Iterator[Advice]:
    """Where starts are too few and no fall was seen: the command that says how many there should be."""
    first, usual = report.diagnosis[0] if report.diagnosis else None, report.profile.get(CONTROLS)
    few = first is not None and first.flaw == Flaw.NOTHING and isinstance(first.detail, Fall)
    if few and usual is not None and (usual.rate or 0.0) > DETECT:
        yield Advice(
            f"How many seeds would find a loss of {100 * DETECT:.0f} points:",
            plan_command(
                str(report.meta.get("experiment")),
                policy=report.meta.get("policy"),
                tasks=",".join(sorted(report.profile[STARTS.name].rows["task"].unique(), key=natural)),
                conditions=None if (chosen := all_conditions(report.meta)) == [ALL] else ",".join(chosen),
                success=round(100 * (usual.rate or 0.0)),
                detect=round(100 * DETECT),
            ),
        )


def _weak(report: RunReport) -> Iterator[Advice]:
    """Which tasks to leave out, and what cannot be said where next to nothing succeeds."""
    starts = report.profile.get(STARTS)
    if starts is None or starts.count == starts.failures:
        if starts is not None and has_perturbed_episodes(report.profile):
            yield Advice(
                f"No control succeeds ({starts.count:,} of {starts.count:,} fail): robustness cannot be measured where "
                "there is nothing to lose. Choose tasks that the policy can do, or find out first why it fails."
            )
        return
    found = ability([starts])
    share = found.telling / found.starts
    unable = any(
        each.flaw == Flaw.UNABLE and each.verdict is not Verdict.NOT_FOUND for each in report.diagnosis
    )
    if not has_perturbed_episodes(report.profile) or not (found.never or (unable and share < 0.5)):
        return
    which = f"; {able}" if (able := describe_ability(found)) else ""
    text = (
        f"Only starts whose control succeeds can show what a change costs: {found.telling:,} of {found.starts:,} "
        f"here{which}."
    )
    if share < FLOOR:
        text += f" Success of {percent(share, 0)} leaves at most {100 * share:.0f} points to lose."
    leave = found.done_tasks if found.done_tasks and len(found.done_tasks) < len(found.tasks) else ()
    if leave:
        seeds = -(-found.starts // len(leave))  # as many starts as there are now
        command = command_for_more(report, tasks=leave, seeds=seeds)
        yield Advice(f"{text} Spend the same episodes on the tasks it can do:", command)
    else:
        yield Advice(text)
