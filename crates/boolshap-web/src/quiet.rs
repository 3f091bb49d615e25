//! Keeps panics of packages that read requests from being printed: the library catches them.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

struct Until;

impl Drop for Until {
    fn drop(&mut self) {
        EXPECTED.set(false);
    }
}

/// Runs `work`; panics that it catches on this thread are not printed.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                print(panic);
            }
        }));
    });
    EXPECTED.set(true);
    let _until = Until;
    work()
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    #[test]
    fn only_what_is_expected_is_quiet() {
        let caught = super::quietly(|| catch_unwind(|| [1, 2][std::hint::black_box(5)]));
        assert!(caught.is_err() && !super::EXPECTED.get());
        assert_eq!(super::quietly(|| 8), 8);
        assert!(catch_unwind(|| super::quietly(|| [1, 2][std::hint::black_box(5)])).is_err());
        assert!(!super::EXPECTED.get());
    }
}
