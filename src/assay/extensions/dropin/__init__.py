"""A stand-in for the package `libero`: scripts written for LIBERO run unmodified on Assay's engine.

`assay libero -- python main.py` puts the folder `path` first on the script's path. The `libero` in it consists of thin
modules with LIBERO's names, which import from here. An installed `libero` is shadowed inside that command only.

session        settings from the command: assets, folders, the plan of an experiment; task files and initial states
missing        errors for attributes that the stand-in lacks
benchmark      suites and tasks
observations   a dict whose images are rendered on access
simulator      env.sim, env.robots[0], env.objects_dict: MuJoCo's model and data under robosuite's names
domain         env.env: one task that is reset and stepped; task files as LIBERO's dictionaries
env_wrapper    OffScreenRenderEnv and related classes
venv           vectorised environments, in this process or in others
planned        the episodes of an experiment as a LIBERO suite
recorder       one episode of the plan, from its start to its end
executor       the command's side: starts the script and collects its episodes
"""

from assay.support.plugins import provide

provide("command", {"Policies/libero": "assay.extensions.dropin.command:libero"})
