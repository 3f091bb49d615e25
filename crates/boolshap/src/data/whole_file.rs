//! Files that are there whole or not at all.
//!
//! A regular file is written beside its final name and moved there when complete and flushed, so that an error, a full
//! disk or an interruption leaves what was there before. What is not a regular file (a terminal, a pipe, `/dev/null`) is
//! written directly.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file being written. Dropping it without [`WholeFile::finish`] leaves no trace.
pub struct WholeFile {
    writer: BufWriter<Target>,
    path: PathBuf,
}

enum Target {
    Beside(NamedTempFile),
    Direct(File),
}

impl WholeFile {
    /// Starts a file; fails at once if its folder does not exist or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")),
            Ok(meta) if !meta.is_file() => Target::Direct(OpenOptions::new().write(true).open(path)?),
            _ => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                if !folder.is_dir() {
                    let message = format!("the folder {} does not exist", folder.display());
                    return Err(io::Error::new(io::ErrorKind::NotFound, message));
                }
                Target::Beside(new_file(folder)?)
            }
        };
        Ok(WholeFile { writer: BufWriter::new(target), path: path.into() })
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
            Target::Beside(file) => {
                file.as_file().sync_all()?;
                file.persist(&self.path).map(drop).map_err(|error| error.error)
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
            Target::Beside(file) => file.write(buffer),
            Target::Direct(file) => file.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Beside(file) => file.flush(),
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

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = WholeFile::create(&folder.path().join("no/a.txt")).err().unwrap();
        assert!(error.to_string().ends_with("no does not exist"), "{error}");
    }
}
