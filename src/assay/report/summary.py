"""Summary of a run for the page and the terminal: warnings, results, key numbers and advice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.measures.diagnosis import diagnose
from assay.measures.failure.starts import STARTS, ability
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import MEASURES, Profile
from assay.measures.result import Missing, attempt
from assay.measures.sentences import Diagnosis, describe_ability
from assay.measures.success.rates import SUCCESS_RATE, has_perturbed_episodes
from assay.measures.views.wording import KeyNumber, listed, natural, percent, plural
from assay.measures.words.pride import OVERESTIMATION, PRIDE
from assay.report.run_report import RunReport
from assay.runs.options import run_command
from assay.runs.provenance import ALL, IDENTITY, all_conditions, lateness

MAX_LISTED = 3
"""Maximum number of conditions and reasons listed individually."""
LOW_CONTROL_RATE = 0.2
"""Success rate of the controls below which few losses can be observed."""
DEFAULT_ASSETS = "primitives"
FIXED_SEEDS = (
    "Extend the run once, to this number: p values assume a number of seeds that was fixed beforehand:"
)
"""Why a run should not be extended until a loss is significant."""


def describe_results(profile: Profile) -> tuple[list[str], list[KeyNumber]]:
    """Return the results of a run as sentences and as key numbers, most important first."""
    sentences: list[Any] = []
    numbers: list[Any] = []
    for name in profile:
        measure, value = MEASURES[name], profile.get(name)
        for make, collected in ((measure.sentences, sentences), (measure.numbers, numbers)):
            if make is not None and value is not None:
                results = attempt(lambda make, value: list(make(value, profile)), make, value)
                if isinstance(results, Missing):
                    sentences.append(f"The summary of {name} {results.missing}.")
                else:
                    collected += results
    return sentences, numbers


def circumstances(meta: Mapping[str, Any], planned: int, done: int, waiting: int, errors: int) -> list[str]:
    """Describe limitations of a run that affect all numbers: missing episodes, errors and settings."""
    lines = []
    if not planned:
        lines.append("This run is empty: no episodes are planned.")
    elif not done:
        lines.append(f"No episode has finished yet: 0 of {planned:,} planned.")
    elif waiting:
        lines.append(
            f"Unfinished: {done:,} of {planned:,} planned episodes are done, {waiting:,} remain. Statistics cover "
            "completed episodes only and may be biased."
        )
    expected = int(meta.get("expected", 0))
    if expected > planned:
        lines.append(
            f"Incomplete evaluation: only {planned:,} of {expected:,} episodes are included, and they may not be "
            "representative."
        )
    if errors:
        lines.append(f"{plural(errors, 'episode')} of {done:,} ended in an error; errors are excluded.")
    settings = meta.get("settings") or {}
    if "certificates" in settings and settings["certificates"] is None:
        lines.append(
            "Uncertified: it was not checked whether the oracle can solve these scenes, so some may be unsolvable."
        )
    if "start" in settings:
        lines.append(
            f"One start: every episode of a task begins in initial state {settings['start']}, and the seeds vary only "
            "the policy's randomness. The results do not apply to other initial states."
        )
    return lines


def banners(report: RunReport) -> list[str]:
    """Return the warnings that are shown above all numbers."""
    profile = report.profile
    lines = []
    if report.refused_whole:
        conditions, counts = list(report.refused_whole), Counter[str]()
        for reasons in report.refused_whole.values():
            counts.update(reasons)
        more = len(conditions) - MAX_LISTED
        names = [*conditions[:MAX_LISTED], *([plural(more, "other condition")] if more > 0 else [])]
        result = f"no episode of {listed(names)} was run" if profile.planned else "this run is empty"
        listing = [f"{count:,} x {reason}" for reason, count in counts.most_common(MAX_LISTED)]
        listing += [plural(len(counts) - MAX_LISTED, "other reason")] if len(counts) > MAX_LISTED else []
        refused = f"{plural(counts.total(), 'episode')} could not be certified as solvable"
        lines.append(f"{refused}, so {result}: {'; '.join(listing)}.")
    if profile.planned or not lines:
        errors = sum(profile.errors.values())
        lines += circumstances(report.meta, profile.planned, profile.done, report.waiting, errors)
    if (pride := profile.get(PRIDE)) is not None and pride.unscored:
        total = pride.episodes + pride.unscored
        over = profile.get(OVERESTIMATION)
        rest = "" if over is None else f", of which {percent(over.success_rate)} succeed"
        why = (
            "their wording is not in the metadata" if report.meta.get("imported") else "they cannot be scored"
        )
        lines.append(
            f"{pride.unscored:,} of {total:,} paraphrased episodes have no distance because {why}; PRIDE and "
            f"overestimation cover the others{rest}."
        )
    if report.stopped:
        lines.append(
            f"Stopped early by a stopping rule: {plural(len(report.stopped), 'condition')}. "
            "Rates of such conditions are biased away from the tested value. Their intervals and the p values of "
            "differences from the control account for early stopping; intervals of differences and other tests do not."
        )
    rate = profile.get(SUCCESS_RATE)
    is_demonstrator = str(report.meta.get("policy")).partition("?")[0] == report.world.demonstrator
    if is_demonstrator and rate is not None and rate.successes < rate.count:
        lines.append(
            f"The demonstrator itself fails in {rate.count - rate.successes:,} of {plural(rate.count, 'episode')} in "
            "which success is expected, so these episodes may not be solvable within the time limit."
        )
    lines += report.problems
    if report.damage:
        lines.append(f"The file is damaged: {report.damage}")
    return lines


@dataclass(frozen=True, slots=True)
class Advice:
    """Recommendation for the next step."""

    text: str
    command: str = ""
    """Command line that follows the recommendation, if any."""


def advice(report: RunReport) -> list[Advice]:
    """Return recommendations for the next steps after a run, most important first."""
    steps = list(_advise_on_weak_tasks(report))
    wanted, is_search = report.conclusions.seeds, report.meta.get("experiment") == "search"
    has_command = any(step.command for step in steps)
    # An adaptive search chooses its episodes itself, so that seeds cannot be added.
    if wanted is not None and not (has_command or is_search) and report.profile.get(STARTS) is not None:
        text = f"{wanted.text}. {FIXED_SEEDS}"
        steps.append(Advice(text, command_for_more(report, seeds=wanted.needed)))
    if report.meta.get("imported"):  # not made by an Assay command
        return [Advice(f"{step.text.rstrip(':.')}.") for step in steps]
    return steps


def command_for_more(report: RunReport, *, seeds: int, tasks: Sequence[str] = ()) -> str:
    """Return the command that extends a run to ``seeds`` seeds in total, or runs some of its tasks in a new file.

    The new file has new seeds: those of this run selected the tasks, so their controls succeed too often.
    """
    meta = report.meta
    rows = report.profile[STARTS.name].rows
    settings = meta.get("settings") or {}
    pack, conditions, file = meta.get("pack", DEFAULT_ASSETS), all_conditions(meta), Path(report.file)
    existing = sorted(rows["seed"].unique())
    first, last = existing[0], existing[-1]
    option = str(seeds) if first == 0 else f"{first}-{first + seeds - 1}"
    if existing != list(range(first, last + 1)):
        option = ",".join(map(str, (*existing, *range(last + 1, last + 1 + seeds - len(existing)))))
    if tasks:
        option = f"{last + 1}-{last + seeds}"
    return run_command(
        str(meta.get("experiment")),
        str(meta.get("policy", "POLICY")),
        settings,
        tasks=",".join(tasks or sorted(rows["task"].unique(), key=natural)),
        seeds=option,
        assets=None if pack == DEFAULT_ASSETS else pack,
        conditions=None if conditions == [ALL] else ",".join(conditions),
        states=meta.get("states_folder", "FOLDER") if settings.get("initial") == "stored" else None,
        out=file.with_stem(f"{file.stem}-{plural(len(tasks), 'task').replace(' ', '-')}") if tasks else file,
    )


def _advise_on_weak_tasks(report: RunReport) -> Iterator[Advice]:
    """Recommend excluding tasks that the policy cannot solve, because no drop can be measured on them."""
    starts = report.profile.get(STARTS)
    is_perturbed = has_perturbed_episodes(report.profile)
    if starts is None or starts.count == starts.failures:
        if starts is not None and is_perturbed:
            yield Advice(
                f"No control succeeds ({starts.count:,} of {starts.count:,} fail), so robustness cannot be measured. "
                "Choose tasks that the policy can solve, or first find out why it fails."
            )
        return
    able = ability([starts])
    share = able.telling / able.starts
    is_unable = any(
        finding.flaw == Flaw.UNABLE and finding.verdict is not Verdict.NOT_FOUND
        for finding in report.diagnosis
    )
    if not is_perturbed or not (able.never or (is_unable and share < 0.5)):
        return
    which = f"; {tasks}" if (tasks := describe_ability(able)) else ""
    text = (
        f"A drop can only be measured at starts whose control succeeds: here {able.telling:,} "
        f"of {able.starts:,} starts{which}."
    )
    if share < LOW_CONTROL_RATE:
        text += (
            f" A success rate of {percent(share, 0)} can drop by at most {100 * share:.0f} percentage points."
        )
    solved = able.done_tasks if able.done_tasks and len(able.done_tasks) < len(able.tasks) else ()
    if solved:
        seeds = -(-able.starts // len(solved))  # as many starts as now
        command = command_for_more(report, tasks=solved, seeds=seeds)
        yield Advice(
            f"{text} To run the same number of episodes on the tasks that the policy can solve:", command
        )
    else:
        yield Advice(text)


def joint_diagnoses(reports: Sequence[RunReport]) -> dict[str, Diagnosis]:
    """Return a joint diagnosis for each policy with several runs, by title.

    Runs belong to the same policy if they agree in label, address, metadata, latency, and digests of source
    and files, so that episodes from before and after an edit are never pooled.
    """
    groups: dict[str, list[RunReport]] = {}
    for report in reports:
        meta = report.meta
        identity = (
            meta.get("label"),
            meta.get("policy"),
            meta.get("policy_metadata") or {},
            meta.get(IDENTITY) or {},
            lateness(meta),
        )
        groups.setdefault(json.dumps(identity, sort_keys=True), []).append(report)
    diagnoses = {}
    for runs in groups.values():
        if len(runs) > 1:
            name = ", ".join(filter(None, (runs[0].policy, lateness(runs[0].meta))))
            title = f"{name}, from {listed([run.name for run in runs])} together"
            diagnoses[title] = Diagnosis.of(diagnose(*(run.profile for run in runs), detect=runs[0].detect))
    return diagnoses
