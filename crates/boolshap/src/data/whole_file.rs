//! Files that are there whole or not at all.
//!
//! A regular file is written beside its final name and moved there when complete and flushed, so that an error, a full
//! disk or an interruption leaves what was there before. A link keeps pointing to its file, which is replaced. What is
//! not a regular file (a terminal, a pipe, `/dev/null`) and the system's names for open files (`/dev/stdout`) are written
//! directly.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file being written. Dropping it without [`WholeFile::finish`] leaves no trace.
pub struct WholeFile {
    writer: BufWriter<Target>,
}

enum Target {
    /// The file so far, and the name it will get.
    Beside(NamedTempFile, PathBuf),
    Direct(File),
}

impl WholeFile {
    /// Starts a file; fails at once if its folder does not exist or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let is_open_file = path.starts_with("/dev") || path.starts_with("/proc");
        let target = match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")),
            Ok(meta) if is_open_file || !meta.is_file() => Target::Direct(OpenOptions::new().write(true).open(path)?),
            found => {
                let path = if found.is_ok() { std::fs::canonicalize(path)? } else { path.to_path_buf() };
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                if !folder.is_dir() {
                    let message = format!("the folder {} does not exist", folder.display());
                    return Err(io::Error::new(io::ErrorKind::NotFound, message));
                }
                Target::Beside(new_file(folder)?, path)
            }
        };
        Ok(WholeFile { writer: BufWriter::new(target) })
    }

    /// Writes all of a file.
    pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(content)?;
        file.finish()
    }

    /// Puts the complete file in its place.
    pub fn finish(self) -> io::Result<()> {
        match self.writer.into_inner().map_err(|error| error.into_error())? {
            Target::Direct(_) => Ok(()),
            Target::Beside(file, path) => {
                file.as_file().sync_all()?;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

/// A temporary file with the permissions that an ordinary new file has.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".boolshap-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

impl Write for WholeFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.writer.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Target {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Target::Beside(file, _) => file.write(buffer),
            Target::Direct(file) => file.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Beside(file, _) => file.flush(),
            Target::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        WholeFile::write(&path, b"old").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        WholeFile::write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_pointing_to_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.txt"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        WholeFile::write(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        WholeFile::write(Path::new("/dev/null"), b"gone").unwrap();
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = WholeFile::create(&folder.path().join("no/a.txt")).err().unwrap();
        assert!(error.to_string().ends_with("no does not exist"), "{error}");
    }
}
