"""Readers for the instructions in other people's releases, from a folder a user has downloaded.

    para.read_table(folder), para.read_tasks(folder)     LIBERO-Para
    pro.read(folder)                                     LIBERO-PRO
    x.read(folder)                                       LIBERO-X, level 5
    plus.read(folder), plus.classified(folder)           LIBERO-plus

Each yields `Wording`s: the task, the text, labels. A folder without the release is refused in one line.
"""

from assay.perturb.words.releases import para, plus, pro, x
from assay.perturb.words.releases.base import ReleaseError, Wording

__all__ = ["ReleaseError", "Wording", "para", "plus", "pro", "x"]
