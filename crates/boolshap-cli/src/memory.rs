//! The limit of memory: a thread looks at what the program holds, and work that takes a watch stops when it is too much.
//! A limit of nodes or states says what may be built; this one is for everything else, and ends the program with a
//! sentence where the system would kill it without one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the program holds more than it may.
pub(crate) static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Between two looks: memory cannot grow by much more than this many thousandths of 2 GiB meanwhile.
const LOOK: Duration = Duration::from_millis(20);
const GIB: f64 = (1u64 << 30) as f64;

/// A number of GiB on the command line, in bytes.
pub(crate) fn gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value * GIB < u64::MAX as f64 => Ok((value * GIB) as u64),
        _ => Err("is no number of GiB".into()),
    }
}

/// What the program may hold: what was asked for, or seven eighths of what there is.
pub(crate) fn limit(asked: Option<u64>) -> Option<u64> {
    asked.or_else(|| all().map(|all| all / 8 * 7))
}

/// Starts to look, where the system tells what a program holds.
pub(crate) fn watch(limit: Option<u64>) {
    let Some(limit) = limit.or_else(|| all().map(|all| all / 8 * 7)) else { return };
    if held().is_none() {
        return;
    }
    std::thread::spawn(move || {
        while held().is_some_and(|held| held <= limit) {
            std::thread::sleep(LOOK);
        }
        IS_FULL.store(true, Ordering::Relaxed);
    });
}

/// The memory of the machine, or of the group of processes if that is less.
fn all() -> Option<u64> {
    let machine = kibibytes("/proc/meminfo", "MemTotal:")?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some(group.map_or(machine, |group: u64| group.min(machine)))
}

/// What this program holds now.
fn held() -> Option<u64> {
    kibibytes("/proc/self/status", "VmRSS:")
}

/// A line such as `VmRSS:  1234 kB` of a file of the system, in bytes.
fn kibibytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}
