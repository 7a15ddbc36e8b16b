from __future__ import annotations

import subprocess
import sys
from types import ModuleType

from assay import tasks
from assay.tasks import bddl


def public(module: ModuleType) -> set[str]:
    """What a module offers: every name without underscore that is not one of its own submodules."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not (isinstance(value, ModuleType) and name != "bddl")
    }


def test_all_of_tasks_is_what_it_claims():
    assert sorted(tasks.__all__) == tasks.__all__
    assert set(tasks.__all__) == public(tasks)


def test_all_of_bddl_is_what_it_claims():
    assert sorted(bddl.__all__) == bddl.__all__
    assert set(bddl.__all__) == public(bddl)


def test_importing_opens_no_catalogue_file():
    code = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        "import assay.tasks\n"
        "assert not [name for name in opened if name.endswith('.yaml')], opened\n"
        "assay.tasks.load('libero_goal/0')\n"
        "assert len([name for name in opened if name.endswith('.yaml')]) == 1, opened\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
