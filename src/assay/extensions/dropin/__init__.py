"""A stand-in for the package `libero`: scripts that were written for LIBERO run, unmodified, on Assay's engine.

`assay libero -- python main.py` puts the folder `path` first on the script's path. The `libero` in it consists of thin
modules with LIBERO's names; what they name is here. A `libero` that is installed is shadowed inside that command only.

session        what the script's process is told: assets, folders, the plan of an experiment
missing        what is lacking is said when it is used, by name
task_files     task files and initial states on disk, where scripts look for them
bddl_utils     task files as LIBERO's dictionaries
benchmark      suites and tasks
transforms     LIBERO's single-precision poses
observations   a dict whose images are rendered when they are touched
simulator      env.sim: MuJoCo's model and data by LIBERO's names
robot          env.robots[0] and its controller
things         env.objects_dict and its like
clock          the substep in which LIBERO's sensors are read
domain         env.env: one task that is reset and stepped
env_wrapper    OffScreenRenderEnv and its kin
venv           several of them, in this process or in others
planned        the episodes of an experiment as a suite of LIBERO's
recorder       an episode of the plan, from its beginning to its end
executor       the command's side: starts the script, takes its episodes
"""

from assay.support.plugins import provide

provide("command", {"Policies/libero": "assay.extensions.dropin.command:libero"})
