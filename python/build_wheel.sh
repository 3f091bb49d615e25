#!/usr/bin/env bash
# Builds the wheel with maturin: build_wheel.sh VENV PROFILE FOLDER. VENV holds maturin and is made if it is not there.
set -euo pipefail
venv=$1 profile=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -x "$venv/bin/maturin" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "maturin==1.16.0"
fi
rm -f "$folder"/boolshap-*.whl
"$venv/bin/maturin" build --quiet --manifest-path "$here/Cargo.toml" --profile "$profile" --out "$folder"
ls "$folder"/boolshap-*.whl
