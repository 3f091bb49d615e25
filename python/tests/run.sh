#!/usr/bin/env bash
# Tests the package as users have it, in the virtual environment's own folder of packages: run.sh VENV LIBRARY. The native
# module is the library that cargo has built with everything else; a wheel would compile it all a second time. `make wheel`
# builds one and checks that it holds the same files.
set -euo pipefail
python=$(cd "$1/bin" && pwd)/python
library=$2
here=$(cd "$(dirname "$0")" && pwd)
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
rm -rf "$packages/boolshap"
cp -r "$here/../boolshap" "$packages/boolshap"
cp "$library" "$packages/boolshap/_native.abi3.so"
# From elsewhere, so that the installed package is tested and not the folder.
cd "$here"
"$python" -m mypy --config-file "$here/../pyproject.toml" --no-incremental -p boolshap
"$python" -m mypy.stubtest boolshap._native
"$python" -m pytest -q -rs -p no:cacheprovider -n 3 --dist loadfile --no-loadscope-reorder --pyargs . boolshap
