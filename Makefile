# `make quick` is for every change, `make test` runs all that a change must pass; the other targets are their parts.

MAKEFLAGS += --no-print-directory
export BOOLSHAP_SKIPPED := $(CURDIR)/target/skipped.txt
export BOOLSHAP_BINARY := $(CURDIR)/target/debug/boolshap
export SDD_FILES_BIN := $(CURDIR)/target/debug/examples/sdd_files
VENV := target/venv
PYTEST := $(VENV)/bin/python -m pytest -q

.PHONY: test quick prepare format supply stamp wasm site lint core build rust outside package frameworks wheel fresh-list skipped soak

# Packages are fetched while the compiler works. The kinds of tests follow each other: beside each other on two cores, their threads
# take more time from one another than they gain.
test: fresh-list format supply stamp
	tests/prepare.sh $(VENV) & prepared=$$!; $(MAKE) lint core build; built=$$?; wait $$prepared && exit $$built
	$(MAKE) rust outside package skipped

# Without browsers, Spark, the Python package and what takes long: Rust tests whose names begin with slow_, and tests from outside that
# are marked so.
quick: fresh-list format
	tests/prepare.sh $(VENV) & prepared=$$!; $(MAKE) lint build; built=$$?; wait $$prepared && exit $$built
	cargo test --workspace --tests -- --skip slow_
	$(PYTEST) -n 2 -m "not browser and not slow" tests/outside
	$(MAKE) skipped

# A C++ compiler, and the tests' own Python environment.
prepare:
	tests/prepare.sh $(VENV)

fresh-list:
	@mkdir -p target && : > $(BOOLSHAP_SKIPPED)

format:
	cargo fmt --all --check

# Licences, sources and versions of what the build depends on.
supply:
	python3 tests/supply/check.py

# The library as WebAssembly, which reports have inside, is that of the present sources.
stamp:
	python3 crates/boolshap-wasm/build.py --check

# Makes it anew; needs `rustup target add wasm32-unknown-unknown`.
wasm:
	python3 crates/boolshap-wasm/build.py

# The playground, in target/site: a page that opens from a file and reads circuits, models and tables.
site:
	mkdir -p target/site
	python3 crates/boolshap-wasm/build.py --site target/site/module.gz
	cargo run --quiet --release -p boolshap-bench --example site -- target/site/module.gz target/site/index.html
	rm target/site/module.gz

lint:
	cargo clippy --quiet --workspace --all-targets -- -D warnings

# The library must build without its heavy parts.
core:
	cargo clippy --quiet -p boolshap --no-default-features -- -D warnings

# All that the tests run, in one go and with one set of features, so that nothing is compiled twice. The examples are in the
# library's own tests.
build:
	cargo build --workspace --lib --bins --tests --example sdd_files

# Unit, property, documentation and command-line tests.
rust: build
	cargo test --workspace --tests
	cargo test --workspace --doc

# Three at a time, since browsers, servers and interrupts wait much. Checks from outside, against numpy, h5py, safetensors, pyarrow, scikit-learn, shap, PySDD, d4, dsharp and others, and in
# Chromium; its pictures of the pages are left in target/screenshots.
outside: prepare build
	$(PYTEST) -n 3 tests/outside

# The Python package, compiled as the tests are; `make wheel` optimises fully.
package: prepare build
	python/tests/run.sh $(VENV) target/debug/lib_native.so

# Models of the real PyTorch, Keras and Larq; downloads gigabytes.
frameworks: package
	python/tests/frameworks.sh $(VENV) target/frameworks

# The wheel for users, in target/wheels.
wheel:
	python/build_wheel.sh target/wheel-venv target/wheels

skipped:
	@if [ -s $(BOOLSHAP_SKIPPED) ]; then echo "skipped for want of data:"; sort -u $(BOOLSHAP_SKIPPED) | sed 's/^/  /'; fi
	@echo "$$(sed 's/: [^:]*$$//' $(BOOLSHAP_SKIPPED) | sort -u | wc -l) tests were skipped for want of data"

# Longer: the page's module built again, twenty thousand random cases and five thousand questions against the definitions, a hundred programs killed at
# random moments, ten thousand malformed requests, the server among ten thousand rude connections for a minute each, and every
# reader fuzzed for this many seconds.
FUZZ_SECONDS ?= 180
soak: prepare build
	python3 crates/boolshap-wasm/build.py --same
	BOOLSHAP_CASES=20000 $(PYTEST) -n 2 --dist load tests/outside/test_differential.py
	BOOLSHAP_QUESTIONS=5000 BOOLSHAP_MUTATED=500 $(PYTEST) -n 2 --dist load tests/outside/test_questions.py
	BOOLSHAP_KILLS=100 BOOLSHAP_SLACK=0.5 $(PYTEST) tests/outside/test_trust.py tests/outside/test_interrupt.py
	BOOLSHAP_MALFORMED=10000 $(PYTEST) tests/outside/test_serve_schema.py
	BOOLSHAP_CROWD=10000 BOOLSHAP_CROWD_SECONDS=60 $(PYTEST) -s tests/outside/test_serve_attacks.py
	fuzz/soak.sh $(FUZZ_SECONDS)
