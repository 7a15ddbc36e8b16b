#!/bin/sh
# Build the wheel, install it into a clean environment of each given Python, and use it as a new user does.
# Usage: check-wheel.sh BIN [PYTHON...]; by default every 3.12 and 3.13 that starts, of the path or of pyenv.
set -eu
bin=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/python" -m build --wheel --outdir "$work" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
wheel=$(ls "$work"/*.whl)
lock=$PWD/requirements.lock

starts() { "$1" -c '' >/dev/null 2>&1; }

if [ $# = 0 ]; then
  for version in 3.12 3.13; do
    for python in "python$version" "$(pyenv root 2>/dev/null)/versions/$version".*/bin/python; do
      if starts "$python"; then set -- "$@" "$python"; break; fi
    done
  done
fi

# A script of its own: the shell ignores `set -e` inside a function that is the condition of an `if`.
cat >"$work/journey.sh" <<'SH'
set -eu
python=$1 folder=$2 lock=$3 wheel=$4
mkdir "$folder" && cd "$folder"
"$python" -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --constraint "$lock" "$wheel[video]"
venv/bin/assay --version
venv/bin/assay try --policy oracle --tasks libero_goal/7 --seeds 1
venv/bin/assay run libero --policy oracle --tasks libero_goal/7 --seeds 1 --workers 1 --video all --out run.assay
ls run.videos/*.mp4
venv/bin/assay report run.assay --out report
test -s report/index.html
venv/bin/assay collect --tasks libero_goal/7 --episodes 1 --size 64 --out data
venv/bin/python - <<'END'
from pathlib import Path

from assay.support.video import stills

(path, *_) = Path("data").rglob("*.mp4")
((number, frame),) = stills(path, [3], start=0.0, fps=20)
assert (number, frame.width) == (3, 64), (number, frame)
END
SH

[ $# -gt 0 ] || echo "the wheel was built but not used: no Python 3.12 or 3.13 on this machine"
status=0
for python in "$@"; do
  name=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if sh "$work/journey.sh" "$python" "$work/$name" "$lock" "$wheel" >"$work/$name.log" 2>&1; then
    echo "wheel works with Python $name ($(du -sm "$work/$name/venv" | cut -f1) MB)"
  else
    cat "$work/$name.log"
    echo "wheel fails with Python $name"
    status=1
  fi
done
exit $status
