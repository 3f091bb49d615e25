#!/usr/bin/env bash
# Converts models of the real PyTorch, Keras and Larq, each in an environment of its own below the folder given; for Larq
# that is 1.8 GB. run.sh must have been there before: frameworks.sh VENV FOLDER.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$(cd "$1/bin" && pwd)/python
mkdir -p "$2"
folder=$(cd "$2" && pwd)
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-torch python3-venv
fi
[ -x "$folder/torch/bin/pytest" ] || {
  /usr/bin/python3 -m venv --system-site-packages "$folder/torch"
  "$folder/torch/bin/pip" install --quiet --disable-pip-version-check pytest
}
[ -x "$folder/keras/bin/pytest" ] || {
  python3 -m venv "$folder/keras"
  "$folder/keras/bin/pip" install --quiet --disable-pip-version-check keras numpy scipy jax pytest
}
[ -x "$folder/larq/bin/pytest" ] || {
  python3 -m venv "$folder/larq"
  "$folder/larq/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.12.1 larq==0.13.3 pytest
}
cd "$here"
BOOLSHAP_TORCH_PYTHON=$folder/torch/bin/python BOOLSHAP_KERAS_PYTHON=$folder/keras/bin/python \
  BOOLSHAP_LARQ_PYTHON=$folder/larq/bin/python "$python" -m pytest -q -p no:cacheprovider -rs test_sources.py
