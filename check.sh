#!/bin/sh
# The gate beside the tests: form, lint, types, import contracts, dead code, generated documents, addresses.
# Every step runs, so that one call shows everything that is to be mended.
set -eu
self=$(readlink -f -- "$0" 2>/dev/null || echo "$0")
root=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd)
. "$root/scripts/environment.sh"

prepare dev
cd -- "$root"
bin=.venv/bin
failed=''
step() {
  name=$1
  shift
  printf '== %s\n' "$name"
  "$@" || failed="$failed, $name"
}
step 'format' $bin/ruff format --check --quiet .
step 'lint' $bin/ruff check --quiet .
step 'types' $bin/mypy
step 'imports' $bin/lint-imports --no-logo
step 'dead code' $bin/vulture
step 'generated documents' $bin/python scripts/make_docs.py --check
step 'addresses and paths' $bin/python scripts/check_tree.py
if [ -n "$failed" ]; then
  printf 'to be mended: %s\n' "${failed#, }" >&2
  exit 1
fi
echo 'all clean'
