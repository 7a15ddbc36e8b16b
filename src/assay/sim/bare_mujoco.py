"""Import MuJoCo without its choice of a GL library.

MuJoCo's package tries to load the library that ``MUJOCO_GL`` names as soon as it is imported, and cannot be
imported at all where that fails. Pictures are the business of `assay.sim.gl`; physics must run without. Outside of
`assay.sim`, whose import comes here first, MuJoCo is imported from here.
"""

import logging
import os

_chosen = os.environ.get("MUJOCO_GL")
os.environ["MUJOCO_GL"] = "disable"
try:
    import mujoco as mujoco
finally:
    del os.environ["MUJOCO_GL"]
    if _chosen is not None:
        os.environ["MUJOCO_GL"] = _chosen

# By default MuJoCo prints its warnings and appends them to a file in the current folder.
mujoco.set_mju_user_warning(logging.getLogger("assay.sim").info)


def mujoco_version() -> str:
    """The version of MuJoCo that runs."""
    return str(mujoco.mj_versionString())
