//! Panics of packages that read requests: they end the request, not the server, and are not printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, or nothing if it panics.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let told = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                told(panic);
            }
        }));
    });
    EXPECTED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(false);
    result.ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_nothing() {
        assert_eq!(super::quietly(|| 7), Some(7));
        assert_eq!(super::quietly(|| [1, 2][std::hint::black_box(5)]), None);
        assert_eq!(super::quietly(|| 8), Some(8));
    }
}
