#![no_main]

#[path = "../../crates/boolshap/tests/parsers/mod.rs"]
#[allow(dead_code)]
mod parsers;

// Panics that the library catches must not end the run; libFuzzer itself catches the others.
libfuzzer_sys::fuzz_target!(init: std::panic::set_hook(Box::new(|_| {})), |bytes: &[u8]| parsers::table_parquet(bytes));
