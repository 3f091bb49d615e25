//! The limit of memory: a thread looks at what the program holds, and work that takes a watch stops when it is too much.
//! A limit of nodes or states says what may be built; this one is for everything else, with `ulimit -v` if there is one, and
//! ends the program with a sentence where the system would kill it without one.

use crate::terminal::note;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the program holds more than it may.
pub(crate) static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Between two looks: memory cannot grow by much more than this many thousandths of 2 GiB meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// How many looks in a row may fail, a minute of them.
const PATIENCE: u32 = 3000;
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
    // Open from now on: a program that has too many open files could not look any more.
    let Ok(status) = File::open("/proc/self/status") else { return };
    let limits = Limits { resident: limit, addresses: addresses() };
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

/// Looks until more than the limit is held: whether it is, or looking has failed too often in a row.
fn look(is_passed: impl Fn() -> Option<bool>, mut wait: impl FnMut()) -> bool {
    let mut failed = 0;
    while failed < PATIENCE {
        match is_passed() {
            Some(true) => return true,
            Some(false) => failed = 0,
            // That nothing can be read is no reason to stop the work.
            None => failed += 1,
        }
        wait();
    }
    false
}

/// The memory of the machine, or of the group of processes if that is less.
fn all() -> Option<u64> {
    let machine = kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    Some(group.map_or(machine, |group: u64| group.min(machine)))
}

/// What the program may hold, and how many addresses it may have, of which an allocation beyond `ulimit -v` gets none.
struct Limits {
    resident: u64,
    addresses: Option<u64>,
}

impl Limits {
    /// Whether one of them is passed; nothing if that cannot be read.
    fn are_passed(&self, status: &File) -> Option<bool> {
        // Read from its start, the file is made anew; what counts is near it.
        let mut text = [0; 4096];
        let length = status.read_at(&mut text, 0).ok()?;
        let text = String::from_utf8_lossy(&text[..length]);
        let has = |name, limit| kibibytes(&text, name).map(|bytes| bytes > limit);
        // Addresses that threads have only put by are no reason to stop; if they are needed, the allocator ends the program.
        let used_up = |limit| Some(has("VmSize:", limit)? && has("VmRSS:", limit / 2)?);
        let addresses = self.addresses.map_or(Some(false), used_up);
        Some(has("VmRSS:", self.resident)? || addresses?)
    }
}

/// Fifteen sixteenths of `ulimit -v`, if there is one: what is left is for what grows between two looks.
fn addresses() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|bytes| bytes / 16 * 15)
}

/// A line such as `VmRSS:  1234 kB` of a file of the system, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// What is found, look by look, and after how many looks.
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
