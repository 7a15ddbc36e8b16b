#!/bin/sh
# Install a system package with apt where that is allowed; print the command where it is not.
# Usage: ensure-system.sh BIN gl|chromium, with BIN the bin folder of the virtual environment.
set -u
case $2 in
gl)
  purpose="rendering images"
  packages=$("$1/python" -c 'from assay.sim.gl import PACKAGES; print(PACKAGES)') || exit 1
  works() { "$1/python" -c 'from assay.sim import gl; gl.backend()' >/dev/null 2>&1; }
  ;;
chromium)
  purpose="testing the web app in a browser"
  packages=chromium
  works() { command -v chromium >/dev/null 2>&1; }
  ;;
esac
works "$1" && exit 0
if [ "$(id -u)" = 0 ]; then sudo=""; else sudo="sudo -n"; fi
if command -v apt-get >/dev/null 2>&1 && $sudo true 2>/dev/null; then
  echo "Installing $packages for $purpose"
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get update -qq &&
    $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $packages >/dev/null &&
    works "$1" && exit 0
fi
echo "Not available here: $purpose. Install it with: sudo apt-get install $packages"
