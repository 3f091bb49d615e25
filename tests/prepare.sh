#!/usr/bin/env bash
# Installs what the tests need beside Rust: a C++ compiler, Chromium, Firefox, python3 with venv, npm, and the packages of
# requirements.txt in a virtual environment in the folder given, for the checks from outside and the tests of the Python
# package alike; beside them axe-core, which looks at pages for what keeps people out. Does nothing when all of it is there.
set -euo pipefail
venv=$1
here=$(cd "$(dirname "$0")" && pwd)

packages=()
command -v c++ >/dev/null || packages+=(g++)
command -v make >/dev/null || packages+=(make)
command -v npm >/dev/null || packages+=(npm)
command -v chromium >/dev/null || packages+=(chromium)
command -v firefox-esr >/dev/null || packages+=(firefox-esr)
if ! command -v python3 >/dev/null; then
  packages+=(python3 python3-venv)
elif ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  packages+=(python3-venv)
fi
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${packages[@]}"
  else
    echo "The tests need some Debian packages first: sudo apt-get install -y ${packages[*]}" >&2
    exit 1
  fi
fi

stamp=$venv/requirements.installed
wanted=$(cat "$here/requirements.txt" "$here/requirements-no-deps.txt")
if [ "$wanted" != "$(cat "$stamp" 2>/dev/null)" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile -r "$here/requirements.txt"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps -r "$here/requirements-no-deps.txt"
  echo "$wanted" > "$stamp"
fi

axe=axe-core@4.10.3
if [ "$axe" != "$(cat "$venv/axe/version" 2>/dev/null)" ]; then
  rm -rf "$venv/axe"
  mkdir -p "$venv/axe"
  (cd "$venv/axe" && npm pack --silent "$axe" >/dev/null && tar -xzf axe-core-*.tgz package/axe.min.js)
  echo "$axe" > "$venv/axe/version"
fi
