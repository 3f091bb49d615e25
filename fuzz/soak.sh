#!/bin/bash
# Fuzzes all readers, or the given ones, for SECONDS each, one per core (or SOAK_JOBS at once), with at most 2 GB each:
# soak.sh SECONDS [READER...]. The corpus is in target/fuzz-corpus, the logs in target/fuzz-logs. A crash, a hang or
# excessive memory makes the run fail at its end and prints the path of the input, which then belongs into
# fuzz/regressions/READER.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
export root seconds=$1
shift
command -v cargo-fuzz > /dev/null || [ -x "$root/target/tools/bin/cargo-fuzz" ] ||
    cargo install cargo-fuzz --locked --root "$root/target/tools"
export PATH=$PATH:$root/target/tools/bin
export CARGO_TARGET_DIR="$root/target/fuzz"
# Temporary files of the readers: in memory, if possible.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
"$root/target/venv/bin/python" "$root/fuzz/seeds.py" "$root/target/fuzz-seeds"
cd "$root/fuzz"
cargo +nightly fuzz build --dev

# Fuzzes one reader; the last line shows the processor time used, which is less than the seconds on a shared machine.
soak() {
    local reader=$1 log=$root/target/fuzz-logs/$1.log result=clean TIMEFORMAT='%U %S'
    mkdir -p "$root/target/fuzz-corpus/$reader" "regressions/$reader" "$root/target/fuzz-found/$reader" "$root/target/fuzz-logs"
    { time cargo +nightly fuzz run --dev "$reader" \
        "$root/target/fuzz-corpus/$reader" "$root/target/fuzz-seeds/$reader" "regressions/$reader" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="$root/target/fuzz-found/$reader/" > "$log" 2>&1 || result=FAILED
    } 2> "$log.time"
    echo "$reader: $result after $(awk '{ print int($1 + $2) }' "$log.time") s of processor time," \
        "$(awk '/number_of_executed_units/ { print $2 }' "$log") inputs, at most" \
        "$(awk '/peak_rss_mb/ { print $2 }' "$log") MB"
    rm "$log.time"
    if [ $result = FAILED ]; then
        grep -E 'SUMMARY|Test unit written' "$log" || tail -n 5 "$log"
        return 1
    fi
}
export -f soak
readers=${*:-$(cargo fuzz list)}
echo "fuzzing for $seconds seconds each:" $readers
printf '%s\n' $readers | xargs -P "${SOAK_JOBS:-$(nproc)}" -I READER bash -c 'soak READER'
