from __future__ import annotations

import subprocess
import sys


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
