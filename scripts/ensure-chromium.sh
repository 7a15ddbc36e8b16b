#!/bin/sh
# Make sure that there is a browser for the tests of the web app: install Debian's chromium where we may, say how
# where we may not.
set -u
works() { command -v chromium >/dev/null 2>&1; }

works && exit 0
if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then run=""; elif sudo -n true 2>/dev/null; then run="sudo -n"; else run="no"; fi
  if [ "$run" != no ]; then
    echo "No chromium: installing Debian's"
    export DEBIAN_FRONTEND=noninteractive
    if $run apt-get update -qq && $run apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends chromium >/dev/null; then
      works && exit 0
    fi
  fi
fi
echo "No chromium, so the tests of the web app in a browser are skipped. To mend it: sudo apt-get install chromium"
