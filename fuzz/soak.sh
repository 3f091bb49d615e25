#!/bin/sh
# Fuzzes every reader, or those named, for so many seconds each: soak.sh SECONDS [READER...]. What is found stays in
# target/fuzz-corpus; a crash ends the run and tells where its input is, which then belongs into fuzz/regressions/READER.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
seconds=$1
shift
command -v cargo-fuzz > /dev/null || [ -x "$root/target/tools/bin/cargo-fuzz" ] ||
    cargo install cargo-fuzz --locked --root "$root/target/tools"
PATH=$PATH:$root/target/tools/bin
export CARGO_TARGET_DIR="$root/target/fuzz"
# Temporary files of the readers: in memory where there is such a place.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
corpus=$root/target/fuzz-corpus
"$root/target/venv/bin/python" "$root/fuzz/seeds.py" "$root/target/fuzz-seeds"
cd "$root/fuzz"
cargo +nightly fuzz build --dev
for reader in ${*:-$(cargo fuzz list)}; do
    mkdir -p "$corpus/$reader" "regressions/$reader" "$root/target/fuzz-found/$reader"
    echo "fuzzing $reader for $seconds seconds"
    cargo +nightly fuzz run --dev "$reader" "$corpus/$reader" "$root/target/fuzz-seeds/$reader" "regressions/$reader" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="$root/target/fuzz-found/$reader/"
done
