//! All tests of the command line in one program, so that it is linked once.

mod circuits;
mod cli;
mod command;
mod questions;
#[path = "../../boolshap/tests/shared_data/mod.rs"]
mod shared_data;

#[test]
fn no_file_beside_this_one_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "all") else { continue };
        assert!(include_str!("all.rs").contains(&format!("\nmod {module};\n")), "{name} is not run");
    }
}
