#!/bin/sh
# Sets GOAT up where that is needed, then starts it:  ./run.sh [arguments of the goat command]
set -eu
self=$(readlink -f -- "$0" 2>/dev/null || echo "$0")
root=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd)
. "$root/scripts/environment.sh"

prepare run
exec "$root/.venv/bin/goat" "$@"
