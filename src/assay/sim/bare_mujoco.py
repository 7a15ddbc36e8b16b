"""Import MuJoCo without loading a GL library.

On import, the package ``mujoco`` loads the library that ``MUJOCO_GL`` names, and fails if that is not possible. Physics
must run without GL, which `assay.sim.gl` loads when an image is rendered. Code outside `assay.sim` imports MuJoCo from
here.
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

MUJOCO_VERSION = str(mujoco.mj_versionString())
