#!/usr/bin/env bash
# Builds the wheel with maturin, installs and checks it: build_wheel.sh VENV FOLDER. VENV is made if it is not there; it is
# not that of the tests, because people who only want a wheel need nothing else.
set -euo pipefail
venv=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -x "$venv/bin/maturin" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "maturin==1.16.0" numpy
fi
rm -f "$folder"/boolshap-*.whl
"$venv/bin/maturin" build --quiet --manifest-path "$here/Cargo.toml" --profile release --out "$folder"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$folder"/boolshap-*.whl
"$venv/bin/python" -I "$here/check_wheel.py" "$folder"/boolshap-*.whl
