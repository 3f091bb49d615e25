//! Allocates memory from the system, and prints an error message when that fails: a limit such as `ulimit -v` refuses a
//! large request before the [memory limit](crate::memory) can notice, and Rust would abort the program without an
//! explanation.
//!
//! Ending the program here loses nothing: files get their names only when they are complete.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::IsTerminal;

/// The allocator of the program.
pub(crate) struct Allocator;

#[expect(unsafe_code, reason = "the trait is unsafe; every call goes on to the system's allocator as it came")]
// SAFETY: returns what the system's allocator returns; a null pointer ends the program instead.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same promises.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Keeps all threads in one arena. glibc reserves 64 MiB of addresses for each further one; where that is refused, it asks the
/// system for every small piece of memory, which can take ten times as long as the work itself.
pub(crate) fn share_one_arena() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "glibc's setting has no other interface")]
    // SAFETY: sets a number, and changes no memory that is in use.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

fn there(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        end(size);
    }
    pointer
}

/// Prints why the program ends and ends it, without allocating.
#[cold]
fn end(size: usize) -> ! {
    let mut digits = [b'0'; 20];
    let (mut rest, mut first) = (size.div_ceil(1 << 20), digits.len());
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let over_a_bar: &[u8] = if std::io::stderr().is_terminal() { b"\r\x1b[K" } else { b"" };
    let before = b"boolshap: the system gives no more memory (";
    let after = b" MiB more were asked for): a smaller network, fewer rows or a higher limit (ulimit -v) is needed\n";
    #[expect(unsafe_code, reason = "nothing may run any more that could ask for memory")]
    // SAFETY: each pointer comes with the length of its slice, and the last call does not return.
    unsafe {
        for text in [over_a_bar, before, &digits[first..], after] {
            // A message that cannot be written is lost; the exit code is not.
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        }
        libc::_exit(1)
    }
}
