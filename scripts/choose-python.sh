#!/bin/sh
# Print the Python that set-up makes its environment with: 3.11, the distribution's own before others. A distribution
# compiles it with profiles of real programs; pyenv does not unless it is told to, and is then a quarter slower.
for python in /usr/bin/python3.11 "$(command -v python3.11)" "$(command -v python3)"; do
  # Without ensurepip it cannot make an environment: Debian has that in a package of its own.
  [ -n "$python" ] && "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 && echo "$python" && exit 0
done
command -v python3  # set-up says what is wrong with it
