"""Official releases of other benchmarks, from a folder a user has downloaded, as suites.

    libero-pro?folder=DIR      LIBERO-PRO: every entry of its five tables
    libero-x?folder=DIR        LIBERO-X: its task files of levels 1 to 4, its rewordings of level 5
    libero-plus?folder=DIR     LIBERO-plus: every name of its classification, decoded

What a release changes becomes typed perturbations. What it needs and is not there, such as a texture, leaves
an episode that says so and cannot begin: nothing is run unperturbed in its place.
"""

from assay.experiments.releases.plus import libero_plus
from assay.experiments.releases.pro import libero_pro
from assay.experiments.releases.x import libero_x

__all__ = ["libero_plus", "libero_pro", "libero_x"]
