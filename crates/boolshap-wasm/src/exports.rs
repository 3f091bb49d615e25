//! The door to JavaScript: four functions on whole numbers, and no package between them and the page.
//!
//! The page takes `room` for the path and the body of a question, writes them there, calls `ask` with the lengths of both
//! and reads as many bytes as `reply_length` says at `reply_address`. Addresses are handed out and never followed here, so
//! that nothing is unsafe but that the four names must be free, which the attribute asks to be said.

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

/// Where the answer is.
#[expect(unsafe_code, reason = "no other function has this name")]
#[unsafe(no_mangle)]
pub extern "C" fn boolshap_reply_address() -> usize {
    DOOR.with_borrow(|door| door.reply.as_ptr().expose_provenance())
}

/// How many bytes it has.
#[expect(unsafe_code, reason = "no other function has this name")]
#[unsafe(no_mangle)]
pub extern "C" fn boolshap_reply_length() -> usize {
    DOOR.with_borrow(|door| door.reply.len())
}
