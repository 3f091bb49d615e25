//! The command line of boolshap.

fn main() {}
