//! Identifies files whatever their path: outputs that are already open, and outputs that are also inputs.
//!
//! A path is not enough: `/dev/stdout`, `/dev/fd/1` and the file that standard output was redirected to are one file,
//! and links give a file further names. The system numbers its files, so these numbers are compared.

use super::{DataError, matching_files};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::Path;

/// The system's number for a file; not available on every platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(Option<(u64, u64)>);

impl FileId {
    pub(super) fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            FileId(Some((meta.dev(), meta.ino())))
        }
        #[cfg(not(unix))]
        {
            let _ = meta;
            FileId(None)
        }
    }
}

/// Standard output or standard error, if it is this file. Writing must continue where the last output ended; opening
/// the file again would start at its beginning.
pub(super) fn open_already(wanted: FileId) -> Option<File> {
    // Anything already printed comes first.
    let _ = io::stdout().flush();
    standard_files().into_iter().flatten().find(|file| is_file(file, wanted))
}

/// Whether a path refers to standard output, in any spelling.
pub fn is_standard_output(path: &Path) -> bool {
    let [output, _] = standard_files();
    let found = std::fs::metadata(path).ok();
    found.is_some_and(|meta| output.is_some_and(|file| is_file(&file, FileId::of(&meta))))
}

fn is_file(file: &File, wanted: FileId) -> bool {
    wanted.0.is_some() && file.metadata().is_ok_and(|meta| FileId::of(&meta) == wanted)
}

#[cfg(unix)]
fn standard_files() -> [Option<File>; 2] {
    use std::os::fd::AsFd;
    let (output, errors) = (io::stdout(), io::stderr());
    [output.as_fd(), errors.as_fd()].map(|open| open.try_clone_to_owned().ok().map(File::from))
}

#[cfg(not(unix))]
fn standard_files() -> [Option<File>; 2] {
    [None, None]
}

/// Refuses an output that is also an input or another output: what is read must not be replaced, least of all while it
/// is read. Only regular files can be lost, so a terminal or `/dev/null` may be both.
pub fn check_outputs(outputs: &[&Path], inputs: &[&Path]) -> Result<(), DataError> {
    // A pattern means all files it matches; its reader reports a pattern without matches.
    let files = |path: &&Path| matching_files(path).unwrap_or_else(|_| vec![path.to_path_buf()]);
    let files: Vec<_> = inputs.iter().flat_map(files).collect();
    let inputs: Vec<&Path> = files.iter().map(|path| path.as_path()).collect();
    for (index, output) in outputs.iter().enumerate() {
        let is_same = |other: &&&Path| is_same_file(output, other);
        // Its reader reports an input that does not exist.
        if let Some(input) = inputs.iter().filter(|input| input.exists()).find(is_same) {
            return Err(DataError::OverInput { path: output.into(), input: input.to_path_buf() });
        }
        if outputs[..index].iter().find(is_same).is_some() {
            return Err(DataError::SameOutput { path: output.into() });
        }
    }
    Ok(())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| std::fs::metadata(path).ok();
    match (found(one), found(other)) {
        (Some(a), Some(b)) if FileId::of(&a).0.is_some() => a.is_file() && FileId::of(&a) == FileId::of(&b),
        // If neither exists yet, compare folders and names.
        (None, None) | (Some(_), Some(_)) => {
            let place = |path: &Path| {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                Some((folder.canonicalize().ok()?, path.file_name()?.to_owned()))
            };
            place(one).is_some_and(|found| place(other) == Some(found))
        }
        _ => false,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn an_output_that_is_an_input_is_refused_under_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("rows.csv"), "x").unwrap();
        std::fs::write(at("other.csv"), "x").unwrap();
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::hard_link(at("rows.csv"), at("hard")).unwrap();
        std::os::unix::fs::symlink("rows.csv", at("soft")).unwrap();
        std::os::unix::fs::symlink(at("sub"), at("sub-link")).unwrap();
        let check = |outputs: &[PathBuf], inputs: &[PathBuf]| {
            check_outputs(
                &outputs.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
                &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
            )
        };
        for name in ["rows.csv", "hard", "soft", "sub/../rows.csv", "sub-link/../rows.csv", "./rows.csv"] {
            let error = check(&[at(name)], &[at("other.csv"), at("rows.csv")]).unwrap_err();
            assert!(
                matches!(&error, DataError::OverInput { input, .. } if *input == at("rows.csv")),
                "{name}: {error}"
            );
        }
        assert!(check(&[at("other.csv")], &[at("rows.csv"), at("missing.csv")]).is_ok());
        assert!(
            check(&[at("missing.csv")], &[at("rows.csv"), at("missing.csv")]).is_ok(),
            "the reader says that it is missing"
        );
        // Two results in one file, whether it exists or not.
        for pair in [["rows.csv", "hard"], ["new", "new"], ["new", "sub/../new"], ["sub/new", "sub-link/new"]] {
            let error = check(&pair.map(at), &[]).unwrap_err();
            assert!(matches!(error, DataError::SameOutput { .. }), "{pair:?}: {error}");
        }
        assert!(check(&["new", "sub/new"].map(at), &[]).is_ok());
        // `/dev/null` keeps nothing, so nothing can be lost.
        let null = PathBuf::from("/dev/null");
        assert!(check(&[null.clone(), null.clone()], &[null]).is_ok());
    }
}
