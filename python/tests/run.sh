#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh virtual environment and tests it there: run.sh VENV PROFILE.
set -euo pipefail
venv=$1 profile=$2
here=$(cd "$(dirname "$0")" && pwd)
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$here/../build_wheel.sh" "$venv-build" "$profile" "$wheels"
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index --find-links "$wheels" boolshap
python=$(cd "$venv/bin" && pwd)/python
# From elsewhere, so that the installed package is tested and not the folder.
cd "$here"
"$python" -m mypy --config-file "$here/../pyproject.toml" --no-incremental -p boolshap
"$python" -m mypy.stubtest boolshap._native
"$python" -m pytest -q -rs -p no:cacheprovider .
"$python" -m pytest -q -p no:cacheprovider --doctest-modules --pyargs boolshap
