#!/bin/sh
# Writes requirements.lock and requirements-dev.lock from pyproject.toml, by name, version and hash only, for every
# supported platform and Python:  scripts/lock.sh [--upgrade | --upgrade-package NAME]
# Needs uv:  .venv/bin/pip install uv
set -eu
cd -- "$(dirname -- "$0")/.."
uv=$(command -v uv || echo .venv/bin/uv)

compile() {
  group=$1
  file=$2
  shift 2
  "$uv" pip compile pyproject.toml --group "$group" --universal --python-version 3.11 --generate-hashes \
    --no-header --no-annotate --quiet --output-file "$file" "$@"
}
compile build requirements.lock "$@"
compile dev requirements-dev.lock --constraints requirements.lock "$@"
