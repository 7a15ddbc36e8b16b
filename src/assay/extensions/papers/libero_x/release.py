"""LIBERO-X: task files at four levels, and rewordings of the fourth level.

The tasks are those of level 1, which is the control. For a file at another level, its level-1 task is run with the
scene, goal and instruction of the file. Episodes cannot start if a file has no counterpart at level 1 (no
control), if the file of a rewording is missing (no scene), or if a file is unreadable. Such episodes are recorded
under the first task.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Literal

from assay.episodes import EpisodeSpec, Label
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.experiments.labels import families
from assay.experiments.reference_times import with_reference_times
from assay.extensions.papers.releases import FromFile, Variants, change_labels, release
from assay.perturb import Perturbation, Say
from assay.perturb.unavailable import Unavailable
from assay.tasks import Task
from assay.tasks.formats import ReleaseWording
from assay.tasks.formats import libero_x as x
from assay.tasks.labels import CONFOUNDING, UNSEEN

NO_CONTROL = "its file of level 1, the control, is not in the checkout"
NO_SCENE = "its file of level 4 is not in the checkout"
TRIALS_OF_A_FORM = 2
"""Number of consecutive trials that the release's client runs with the same form of rewording."""


def libero_x(
    folder: str = "",
    protocol: Literal["full", "release"] = "full",
    time: float | Literal["unlimited"] | None = None,
    times: str = "",
) -> Experiment:
    """Return an experiment with the task files and rewordings in a checkout, or in its folder ``libero_x``.

    ``protocol`` sets how level 5 is run: every rewording with every seed (``full``), or the ten trials of a file
    divided among its five rewordings, as in the release's client (``release``). ``times`` is a CSV file of human
    completion times; ``time`` (default 1.1) is the time limit as a multiple of these. Without the file, episodes
    have the default horizon.
    """
    if time is not None and not times:
        raise ExperimentError(
            f"libero-x: time={time} needs times=FILE.csv, because the release has no reference times"
        )
    checkout = x.read(Path(folder)) if folder else None
    level1 = () if checkout is None else checkout.files[1]
    design = release(
        "libero-x",
        "LIBERO-X as released: level 1 is the control; levels 2 to 5 are changed versions of its tasks.",
        folder,
        lambda _: {} if checkout is None else _variants(checkout),
        tasks=",".join(str(file.path) for file in level1) or "all",
        seeds=tuple(range(10)),
        own=f"files below {x.task_folder(Path(folder)) / 'LEVEL1'}" if folder else "",
        control=lambda task: Variant(labels=_labels(1, task)),
        keep=_in_turn if protocol == "release" else lambda spec: True,
    )
    return with_reference_times(design, 1.1 if time is None else time, times) if times else design


def _variants(checkout: x.Checkout) -> Variants:
    rewordings = defaultdict(list)
    for entry_wording in checkout.wordings:
        rewordings[entry_wording.task].append(entry_wording)
    variants: dict[str, list[Variant]] = {file.task.id: [] for file in checkout.files[1]}
    first, *_ = variants
    variants[first] += [_unreadable(entry_wording) for entry_wording in checkout.unreadable]
    for base, file in x.pairs(checkout.files):
        if file.level == 1:
            continue
        if file.problem is not None:
            variants[first].append(_unreadable(file.problem))
            continue
        scene = Unavailable(NO_CONTROL, file.path.name) if base is None else FromFile(file.task.id)
        here = variants[first if base is None else base.task.id]
        half = _half(file.variant) if file.level == 4 else None
        labels: dict[str, Label] = {"axis": "world", "plausible": True, **_labels(file.level, file.task)}
        if half is not None:
            labels["objects"] = half
        if base is not None:
            labels |= change_labels(base.task, file.task)
        name = f"libero-x/level{file.level}" + ("" if half is None else f"/{half}")
        here.append(Variant(name, (scene, Say(file.task.instruction.text)), labels))
        if half is not None:
            here += [
                _reword(entry_wording, half, scene, labels)
                for entry_wording in rewordings.pop(file.wording, ())
            ]
    for wording in (entry_wording for rest in rewordings.values() for entry_wording in rest):
        half = _half(wording.task.removeprefix("libero_x/").partition("/")[2])
        scene = Unavailable(NO_SCENE, wording.task)
        variants[first].append(_reword(wording, half, scene, {"plausible": True, "objects": half}))
    return variants


def _half(variant: str) -> str:
    return CONFOUNDING if variant else UNSEEN


def _labels(level: int, task: Task) -> dict[str, Label]:
    """Return the labels of a task: its level and its label families."""
    return {"level": level, **{f"label:{name}": value for name, value in families(task).items()}}


def _reword(wording: ReleaseWording, half: str, scene: Perturbation, labels: dict[str, Label]) -> Variant:
    form = str(wording.labels["form"])
    reworded: dict[str, Label] = labels | {"axis": "words+world", "change": None, "level": 5, "form": form}
    return Variant(f"libero-x/level5/{half}/{form}", (scene, Say(wording.text)), reworded)


def _unreadable(what: x.Unreadable) -> Variant:
    """Return a variant that stands for a file or line that cannot be run."""
    labels: dict[str, Label] = {"axis": "world", "plausible": True, "level": what.level}
    return Variant(f"libero-x/level{what.level}", (Unavailable(what.reason, what.what),), labels)


def _in_turn(spec: EpisodeSpec) -> bool:
    """Return whether an episode's form of rewording is scheduled for its trial.

    Trials 0 and 1 use the first form, trials 2 and 3 the second, and so on.
    """
    form = spec.labels.get("form")
    forms = tuple(x.FORMS.values())
    return form is None or form == forms[spec.seed // TRIALS_OF_A_FORM % len(forms)]
