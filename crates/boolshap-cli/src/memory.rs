//! The memory limit: a thread polls how much memory the program holds, and work that takes a watch stops when that is
//! too much. Limits on nodes or states bound what is built; this limit covers everything else, with `ulimit -v` if it
//! is set, and ends the program with a message where the system would kill it without one.

use crate::allocator::share_one_arena;
use crate::terminal::note;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the program holds more than it may.
pub(crate) static IS_FULL: AtomicBool = AtomicBool::new(false);

/// The polling interval: at 2 GiB a second, memory grows by about 40 MiB in it.
const LOOK: Duration = Duration::from_millis(20);
/// How many polls in a row may fail: those of a minute.
const PATIENCE: u32 = 3000;
/// With less address space than this, what threads reserve for themselves is missed elsewhere.
const FEW_ADDRESSES: u64 = 4 << 30;
const GIB: f64 = (1u64 << 30) as f64;

/// A number of GiB on the command line, in bytes.
pub(crate) fn gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value * GIB < u64::MAX as f64 => Ok((value * GIB) as u64),
        _ => Err("is no number of GiB".into()),
    }
}

/// The memory limit: the one that was asked for, or seven eighths of the machine's memory.
pub(crate) fn limit(asked: Option<u64>) -> Option<u64> {
    asked.or_else(|| all().map(|all| all / 8 * 7))
}

/// Starts polling, if the system tells what a program holds.
pub(crate) fn watch(limit: Option<u64>) {
    let Some(limit) = limit.or_else(|| all().map(|all| all / 8 * 7)) else { return };
    // Open the file once: with too many open files, the program could not open it later.
    let Ok(status) = File::open("/proc/self/status") else { return };
    let limits = Limits { resident: limit, addresses: addresses() };
    if limits.addresses.is_some_and(|bytes| bytes < FEW_ADDRESSES) {
        share_one_arena();
    }
    if limits.are_passed(&status).is_none() {
        return;
    }
    std::thread::spawn(move || {
        if look(|| limits.are_passed(&status), || std::thread::sleep(LOOK)) {
            IS_FULL.store(true, Ordering::Relaxed);
        } else {
            note("what the program holds can no longer be read: the limit of memory is not watched any more");
        }
    });
}

/// Polls until the limit is passed (true), or until too many polls in a row have failed (false).
fn look(is_passed: impl Fn() -> Option<bool>, mut wait: impl FnMut()) -> bool {
    let mut failed = 0;
    while failed < PATIENCE {
        match is_passed() {
            Some(true) => return true,
            Some(false) => failed = 0,
            // A failed poll is no reason to stop the work.
            None => failed += 1,
        }
        wait();
    }
    false
}

/// The memory of the machine, or of the control group if that is less.
fn all() -> Option<u64> {
    let machine = kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some(group.map_or(machine, |group: u64| group.min(machine)))
}

/// The limits on resident memory and on address space; an allocation beyond `ulimit -v` fails.
struct Limits {
    resident: u64,
    addresses: Option<u64>,
}

impl Limits {
    /// Whether one of the limits is passed; nothing if that cannot be read.
    fn are_passed(&self, status: &File) -> Option<bool> {
        // Reading from the start gives current values; the needed lines are near it.
        let mut text = [0; 4096];
        let length = status.read_at(&mut text, 0).ok()?;
        let text = String::from_utf8_lossy(&text[..length]);
        let has = |name, limit| kibibytes(&text, name).map(|bytes| bytes > limit);
        // Address space that threads have only reserved does not count; if it runs out, the allocator ends the program.
        let used_up = |limit| Some(has("VmSize:", limit)? && has("VmRSS:", limit / 2)?);
        let addresses = self.addresses.map_or(Some(false), used_up);
        Some(has("VmRSS:", self.resident)? || addresses?)
    }
}

/// Fifteen sixteenths of `ulimit -v`, if it is set: the rest is for growth between two polls.
fn addresses() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|bytes| bytes / 16 * 15)
}

/// The value of a line such as `VmRSS:  1234 kB` of a system file, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// The result of polling these values in order, and the number of polls.
    fn looked(mut found: Vec<Option<bool>>) -> (bool, usize) {
        let (all, left) = (found.len(), {
            found.reverse();
            RefCell::new(found)
        });
        let is_full = look(|| left.borrow_mut().pop().flatten(), || {});
        (is_full, all - left.borrow().len())
    }

    #[test]
    fn a_failed_look_is_not_a_full_memory() {
        let no = Some(false);
        assert_eq!(looked(vec![no, None, no, None, None, Some(true), no]), (true, 6));
        assert_eq!(looked(vec![no; 50]), (false, 50));
    }

    #[test]
    fn memory_and_addresses_are_looked_at() {
        let own = File::open("/proc/self/status").unwrap();
        let passed = |resident, addresses| Limits { resident, addresses }.are_passed(&own);
        assert_eq!(passed(u64::MAX, None), Some(false));
        assert_eq!(passed(1 << 10, None), Some(true));
        assert_eq!(passed(u64::MAX, Some(1 << 10)), Some(true));
        assert_eq!(passed(u64::MAX, Some(u64::MAX)), Some(false));
    }

    #[test]
    fn a_line_of_the_system_is_read_in_bytes() {
        assert_eq!(kibibytes("VmPeak:\t  9 kB\nVmRSS:\t    12 kB\n", "VmRSS:"), Some(12 << 10));
        assert_eq!((kibibytes("VmRSS: many kB\n", "VmRSS:"), kibibytes("", "VmRSS:")), (None, None));
    }
}
