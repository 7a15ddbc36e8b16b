#!/bin/sh
# Make sure that pictures can be drawn: install software GL where we may, say how where we may not.
# Usage: ensure-gl.sh BIN, with BIN the virtual environment's bin folder.
set -u
packages=$("$1/python" -c 'from assay.sim.gl import PACKAGES; print(PACKAGES)') || exit 1

works() { "$1/python" -c 'from assay.sim import gl; gl.backend()' >/dev/null 2>&1; }

works "$1" && exit 0
if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then run=""; elif sudo -n true 2>/dev/null; then run="sudo -n"; else run="no"; fi
  if [ "$run" != no ]; then
    echo "No GL library that can draw: installing $packages"
    export DEBIAN_FRONTEND=noninteractive
    if $run apt-get update -qq && $run apt-get install -y -qq --no-install-recommends $packages >/dev/null; then
      works "$1" && exit 0
    fi
  fi
fi
echo "Pictures cannot be drawn here yet; everything else works. To mend it run:"
echo "  sudo apt-get install $packages"
