//! The limit of memory: a thread looks at what the program holds, and work that takes a watch stops when it is too much.
//! A limit of nodes or states says what may be built; this one is for everything else, and ends the program with a
//! sentence where the system would kill it without one.

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
    if held(&status).is_none() {
        return;
    }
    std::thread::spawn(move || {
        if look(|| held(&status), limit, || std::thread::sleep(LOOK)) {
            IS_FULL.store(true, Ordering::Relaxed);
        } else {
            note("what the program holds can no longer be read: the limit of memory is not watched any more");
        }
    });
}

/// Looks until more than the limit is held: whether it is, or looking has failed too often in a row.
fn look(held: impl Fn() -> Option<u64>, limit: u64, mut wait: impl FnMut()) -> bool {
    let mut failed = 0;
    while failed < PATIENCE {
        match held() {
            Some(held) if held > limit => return true,
            Some(_) => failed = 0,
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

/// What this program holds now.
fn held(status: &File) -> Option<u64> {
    // Read from its start, the file is made anew; what counts is near it.
    let mut text = [0; 4096];
    let length = status.read_at(&mut text, 0).ok()?;
    kibibytes(&String::from_utf8_lossy(&text[..length]), "VmRSS:")
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
    fn looked(mut found: Vec<Option<u64>>) -> (bool, usize) {
        let (all, left) = (found.len(), {
            found.reverse();
            RefCell::new(found)
        });
        let is_full = look(|| left.borrow_mut().pop().flatten(), 100, || {});
        (is_full, all - left.borrow().len())
    }

    #[test]
    fn a_failed_look_is_not_a_full_memory() {
        assert_eq!(looked(vec![Some(1), None, Some(100), None, None, Some(101), Some(1)]), (true, 6));
        assert_eq!(looked(vec![Some(1); 50]), (false, 50));
        let own = File::open("/proc/self/status").unwrap();
        let first = held(&own).unwrap();
        let more = vec![1u8; 64 << 20];
        assert!(
            held(&own).unwrap() > first + (32 << 20),
            "{}",
            more.iter().map(|&one| usize::from(one)).sum::<usize>()
        );
    }

    #[test]
    fn a_line_of_the_system_is_read_in_bytes() {
        assert_eq!(kibibytes("VmPeak:\t  9 kB\nVmRSS:\t    12 kB\n", "VmRSS:"), Some(12 << 10));
        assert_eq!((kibibytes("VmRSS: many kB\n", "VmRSS:"), kibibytes("", "VmRSS:")), (None, None));
    }
}
