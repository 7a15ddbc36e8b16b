"""LIBERO-X: task files on four levels, and rewordings of the fourth.

The tasks are those of level 1, which are the control. The other levels' files are that task with the scene,
the goal and the words of the file. A file that nothing on level 1 goes with has no control, and a rewording
without its file no scene: neither can begin. They are counted with the first task.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from assay.episodes.spec import Label
from assay.experiments.base import Experiment, Variant
from assay.experiments.labels import families
from assay.experiments.releases.base import Variants, compared, release
from assay.formats import libero_x as x
from assay.formats.release import Wording
from assay.perturb import Perturbation, Say
from assay.perturb.releases.values import FromFile, Unavailable

NO_CONTROL = "its file of level 1, the control, is not in the checkout"
NO_SCENE = "its file of level 4 is not in the checkout"


def libero_x(folder: str = "") -> Experiment:
    """The task files and rewordings in a checkout, or in its folder ``libero_x``."""
    return release(
        "libero-x",
        "LIBERO-X as released: level 1 is the control, levels 2 to 5 change it.",
        folder,
        _read,
        tasks=",".join(str(file.path) for file in x.task_files(Path(folder))[1]) if folder else "all",
        seeds=tuple(range(10)),
        own=f"files below {x.task_folder(Path(folder)) / 'LEVEL1'}" if folder else "",
    )


def _read(folder: Path) -> Variants:
    rewordings = defaultdict(list)
    for each in x.wordings(folder):
        rewordings[each.task].append(each)
    files = x.task_files(folder)
    variants: dict[str, list[Variant]] = {file.task.id: [] for file in files[1]}
    first, *_ = variants
    for base, file in x.pairs(files):
        if file.level == 1:
            continue
        task = file.task
        scene = Unavailable(NO_CONTROL, file.path.name) if base is None else FromFile(task.id)
        here = variants[first if base is None else base.task.id]
        labels: dict[str, Label] = {"axis": "world", "plausible": True, "level": file.level}
        labels |= {f"label:{name}": value for name, value in families(task).items()}
        if base is not None:
            labels |= compared(base.task, task)
        here.append(Variant(f"libero-x/level{file.level}", (scene, Say(task.instruction.text)), labels))
        for wording in rewordings.pop(file.wording, ()) if file.level == 4 else ():
            here.append(_reworded(wording, scene, labels))
    for wording in (each for rest in rewordings.values() for each in rest):
        variants[first].append(_reworded(wording, Unavailable(NO_SCENE, wording.task), {"plausible": True}))
    return variants


def _reworded(wording: Wording, scene: Perturbation, labels: dict[str, Label]) -> Variant:
    form = str(wording.labels["form"])
    reworded: dict[str, Label] = labels | {"axis": "words+world", "change": None, "level": 5, "form": form}
    return Variant(f"libero-x/level5/{form}", (scene, Say(wording.text)), reworded)
