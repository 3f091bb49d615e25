#![no_main]

#[path = "../../crates/boolshap/tests/parsers/mod.rs"]
#[allow(dead_code)]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::layers(bytes));
