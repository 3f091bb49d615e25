# `make test` runs everything a change must pass; the other targets are its parts.

export BOOLSHAP_SKIPPED := $(CURDIR)/target/skipped.txt
VENV := target/venv
BINARY := $(CURDIR)/target/debug/boolshap

.PHONY: test prepare format supply lint core rust python package frameworks wheel fresh-list skipped soak

test: prepare fresh-list format supply lint core rust python package skipped

# A C++ compiler, and the tests' own Python environment.
prepare:
	tests/python/prepare.sh $(VENV)

fresh-list:
	@mkdir -p target && : > $(BOOLSHAP_SKIPPED)

format:
	cargo fmt --all --check

# Licences, sources and versions of what the build depends on.
supply:
	python3 tests/supply/check.py

lint:
	cargo clippy --quiet --workspace --all-targets -- -D warnings

# The library must build without its heavy parts.
core:
	cargo clippy --quiet -p boolshap --no-default-features -- -D warnings

# Unit, property, documentation and command-line tests.
rust:
	cargo test --workspace

# Checks from outside, against numpy, h5py, safetensors, pyarrow, scikit-learn, shap, PySDD, d4, dsharp and others, and in
# Chromium; its pictures of the pages are left in target/screenshots.
python:
	cargo build --workspace --bins --examples
	BOOLSHAP_BINARY=$(BINARY) SDD_FILES_BIN=$(CURDIR)/target/debug/examples/sdd_files $(VENV)/bin/python -m pytest -q tests/python

# The Python package: its wheel in a fresh virtual environment. Compiled as the tests are; `make wheel` optimises fully.
package:
	python/tests/run.sh target/package-venv dev

# Models of the real PyTorch, Keras and Larq; downloads gigabytes.
frameworks: package
	python/tests/frameworks.sh target/package-venv target/frameworks

# The wheel for users, in target/wheels.
wheel:
	python/build_wheel.sh target/wheel-venv release target/wheels

skipped:
	@if [ -s $(BOOLSHAP_SKIPPED) ]; then echo "skipped for want of data:"; sort -u $(BOOLSHAP_SKIPPED) | sed 's/^/  /'; fi
	@echo "$$(sed 's/: [^:]*$$//' $(BOOLSHAP_SKIPPED) | sort -u | wc -l) tests were skipped for want of data"

# Longer: a hundred programs killed at random moments, ten thousand malformed requests, and every reader fuzzed for so many
# seconds.
FUZZ_SECONDS ?= 180
soak: prepare
	cargo build --workspace --bins
	BOOLSHAP_KILLS=100 BOOLSHAP_SLACK=0.5 BOOLSHAP_BINARY=$(BINARY) \
		$(VENV)/bin/python -m pytest -q tests/python/test_trust.py tests/python/test_interrupt.py
	BOOLSHAP_MALFORMED=10000 BOOLSHAP_BINARY=$(BINARY) $(VENV)/bin/python -m pytest -q tests/python/test_serve_schema.py
	BOOLSHAP_BINARY=$(BINARY) fuzz/soak.sh $(FUZZ_SECONDS)
