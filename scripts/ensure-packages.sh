#!/bin/sh
# Look, in a tenth of a second, whether what set-up installed is still there and can be found; where it is not, it is
# forgotten that set-up was done, and it is done anew.
# Usage: ensure-packages.sh BIN, with BIN the virtual environment's bin folder.
set -u
[ -e "$1/../.ready" ] || exit 0
"$1/python" - <<'END' >/dev/null 2>&1 && exit 0
import sys
from importlib.util import find_spec

needed = ("assay", "mujoco", "numpy", "polars", "pydantic", "rich", "typer", "pytest", "mypy", "ruff", "importlinter")
sys.exit(not all(map(find_spec, needed)))
END
echo "What set-up installed is not there any more, or cannot be started: setting up anew"
rm -f "$1/../.ready"
"$1/python" -c "" 2>/dev/null || rm -rf "$1"
