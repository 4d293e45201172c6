#!/bin/sh
# Sets GOAT up with its development tools and runs the tests:  ./test.sh [--long] [arguments of pytest]
# --long adds the tests that take minutes. Paths are relative to the checkout.
set -eu
self=$(readlink -f -- "$0" 2>/dev/null || echo "$0")
root=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd)
. "$root/scripts/environment.sh"

marks='not long'
if [ "${1:-}" = --long ]; then
  marks=''
  shift
fi
prepare dev
cd -- "$root"
exec .venv/bin/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal -m "$marks" "$@"
