//! All integration tests in one program, so that it is linked only once.

mod apply;
mod bad_input;
mod every_step;
mod examples;
mod formula;
mod networks;
#[cfg(all(feature = "hdf5", feature = "parquet"))]
mod parsers;
mod progress;
mod running_example;
mod shared_data;
mod stages;

#[test]
fn no_file_beside_this_one_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "all") else { continue };
        assert!(include_str!("all.rs").contains(&format!("\nmod {module};\n")), "{name} is not run");
    }
}
