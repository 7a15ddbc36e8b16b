#!/bin/sh
# Make sure that the language models are here. What set-up found is written down in BIN/../.models; that each of those
# files is still there, is not empty and has not been written since is looked up every time, which takes milliseconds.
# Whatever is not so is checked against its SHA-256, and fetched anew.
# Usage: ensure-models.sh BIN, with BIN the virtual environment's bin folder.
set -u
record="$1/../.models"

here() {
  [ -s "$record" ] || return 1
  while IFS= read -r path; do
    [ -s "$path" ] && ! [ "$path" -nt "$record" ] || return 1
  done < "$record"
}

here || "$1/assay" words setup --record "$record"
