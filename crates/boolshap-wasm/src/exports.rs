//! The interface to JavaScript: four functions on whole numbers, without a binding package.
//!
//! The page asks for `room` for the path and the body of a request, writes them there, calls `ask` with the length of
//! the path and reads `reply_length` bytes at `reply_address`. Addresses are only handed out here, never dereferenced;
//! the only unsafe part is the attribute, which asserts that no other functions have these four names.

use crate::engine::Engine;
use std::cell::RefCell;

thread_local! {
    static DOOR: RefCell<Door> = RefCell::default();
}

#[derive(Default)]
struct Door {
    engine: Engine,
    asked: Vec<u8>,
    reply: String,
}

/// Makes room for a path and a body of `bytes` bytes together, and says where it is.
#[expect(unsafe_code, reason = "no other function has this name")]
#[unsafe(no_mangle)]
pub extern "C" fn boolshap_room(bytes: usize) -> usize {
    DOOR.with_borrow_mut(|door| {
        door.asked.clear();
        door.asked.resize(bytes, 0);
        door.asked.as_mut_ptr().expose_provenance()
    })
}

/// Answers what was written: a path of the given length, followed by the body. Returns the status.
#[expect(unsafe_code, reason = "no other function has this name")]
#[unsafe(no_mangle)]
pub extern "C" fn boolshap_ask(path: usize) -> u32 {
    DOOR.with_borrow_mut(|door| {
        let asked = std::mem::take(&mut door.asked);
        let (path, body) = asked.split_at(path.min(asked.len()));
        let reply = door.engine.ask(&String::from_utf8_lossy(path), body);
        door.reply = reply.text;
        reply.status.into()
    })
}

/// The address of the answer.
#[expect(unsafe_code, reason = "no other function has this name")]
#[unsafe(no_mangle)]
pub extern "C" fn boolshap_reply_address() -> usize {
    DOOR.with_borrow(|door| door.reply.as_ptr().expose_provenance())
}

/// The length of the answer in bytes.
#[expect(unsafe_code, reason = "no other function has this name")]
#[unsafe(no_mangle)]
pub extern "C" fn boolshap_reply_length() -> usize {
    DOOR.with_borrow(|door| door.reply.len())
}
