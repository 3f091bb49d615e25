# `make test` runs everything a change must pass; the other targets are its parts.

export BOOLSHAP_SKIPPED := $(CURDIR)/target/skipped.txt
VENV := target/venv
BINARY := $(CURDIR)/target/debug/boolshap

.PHONY: test prepare format lint core rust python fresh-list skipped

test: prepare fresh-list format lint core rust python skipped

# A C++ compiler, and the tests' own Python environment.
prepare:
	tests/python/prepare.sh $(VENV)

fresh-list:
	@mkdir -p target && : > $(BOOLSHAP_SKIPPED)

format:
	cargo fmt --all --check

lint:
	cargo clippy --quiet --workspace --all-targets -- -D warnings

# The library must build without its heavy parts.
core:
	cargo clippy --quiet -p boolshap --no-default-features -- -D warnings

# Unit, property, documentation and command-line tests.
rust:
	cargo test --workspace

# Checks from outside, against numpy, h5py, safetensors, pyarrow, scikit-learn and PySDD.
python:
	cargo build --workspace --bins --examples
	BOOLSHAP_BINARY=$(BINARY) SDD_FILES_BIN=$(CURDIR)/target/debug/examples/sdd_files $(VENV)/bin/python -m pytest -q tests/python

skipped:
	@if [ -s $(BOOLSHAP_SKIPPED) ]; then echo "skipped for want of data:"; sort -u $(BOOLSHAP_SKIPPED) | sed 's/^/  /'; fi
	@echo "$$(sed 's/: [^:]*$$//' $(BOOLSHAP_SKIPPED) | sort -u | wc -l) tests were skipped for want of data"
