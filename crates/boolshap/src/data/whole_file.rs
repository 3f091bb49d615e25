//! Files that are written completely or not at all.
//!
//! A regular file is written under a temporary name in the same folder and renamed when it is complete and flushed, so
//! that an error, a full disk or an interruption leaves the old file unchanged. A link keeps pointing to its file,
//! which is replaced, and a replaced file keeps its permissions. Anything that is not a regular file (a terminal, a
//! pipe, `/dev/null`) and names of files that are already open (`/dev/stdout`) are written directly.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::{NamedTempFile, TempDir};

/// A file being written. Dropping it without [`WholeFile::finish`] leaves no trace.
pub struct WholeFile {
    writer: BufWriter<Target>,
}

enum Target {
    /// The temporary file, and its final name.
    Beside(NamedTempFile, PathBuf),
    Direct(File),
    StandardOutput(io::Stdout),
}

/// Temporary files and folders that exist now.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes temporary files and folders. For a signal handler, since nothing is dropped when it ends the program. No
/// file can be created or finished afterwards: threads that try wait until the program ends.
pub fn remove_unfinished_files() {
    if let Ok(files) = UNFINISHED.lock() {
        for path in files.iter() {
            // It may already be gone.
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        std::mem::forget(files);
    }
}

/// A temporary folder that is removed when it is dropped, or when the program is interrupted.
pub struct SpareFolder(TempDir);

impl SpareFolder {
    /// A new folder in the system's folder for temporary files.
    pub fn new() -> io::Result<Self> {
        let mut unfinished = UNFINISHED.lock();
        let folder = tempfile::Builder::new().prefix("boolshap-").tempdir()?;
        if let Ok(files) = &mut unfinished {
            files.insert(folder.path().to_path_buf());
        }
        Ok(SpareFolder(folder))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SpareFolder {
    fn drop(&mut self) {
        // If the program is being ended, the handler holds the lock for good and removes the folder itself.
        if let Ok(mut files) = UNFINISHED.try_lock() {
            files.remove(self.0.path());
        }
    }
}

impl WholeFile {
    /// Starts a file; fails if its folder does not exist or is not writable.
    pub fn create(path: &Path) -> io::Result<Self> {
        if path == Path::new("/dev/stdout") {
            return Ok(WholeFile { writer: BufWriter::new(Target::StandardOutput(io::stdout())) });
        }
        let is_open_already = ["/dev/stderr", "/dev/fd", "/proc"].iter().any(|name| path.starts_with(name));
        let target = match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")),
            Ok(meta) if is_open_already || !meta.is_file() => {
                Target::Direct(OpenOptions::new().append(true).open(path)?)
            }
            found => {
                let path = link_target(path);
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                if path.file_name().is_none() || !folder.is_dir() {
                    let message = format!("the folder {} does not exist", folder.display());
                    return Err(io::Error::new(io::ErrorKind::NotFound, message));
                }
                let mut unfinished = UNFINISHED.lock();
                let file = new_file(folder)?;
                if let Ok(meta) = found {
                    file.as_file().set_permissions(meta.permissions())?;
                }
                if let Ok(files) = &mut unfinished {
                    files.insert(file.path().to_path_buf());
                }
                Target::Beside(file, path)
            }
        };
        Ok(WholeFile { writer: BufWriter::new(target) })
    }

    /// Writes a complete file.
    pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(content)?;
        file.finish()
    }

    /// Moves the complete file to its final name.
    pub fn finish(self) -> io::Result<()> {
        match self.writer.into_inner().map_err(|error| error.into_error())? {
            Target::Direct(_) => Ok(()),
            Target::StandardOutput(mut out) => out.flush(),
            Target::Beside(file, path) => {
                file.as_file().sync_all()?;
                let mut unfinished = UNFINISHED.lock();
                if let Ok(files) = &mut unfinished {
                    files.remove(file.path());
                }
                file.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

/// Follows links to the end, even if the file does not exist yet.
fn link_target(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // The number of links that systems follow before they report a loop.
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

/// A temporary file with the permissions of an ordinary new file.
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
            // Not the temporary file's own writer: its errors would name the temporary file.
            Target::Beside(file, _) => file.as_file_mut().write(buffer),
            Target::Direct(file) => file.write(buffer),
            Target::StandardOutput(out) => out.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Beside(file, _) => file.as_file_mut().flush(),
            Target::Direct(file) => file.flush(),
            Target::StandardOutput(out) => out.flush(),
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
        // Also if the file does not exist yet, and with the permissions of the old file.
        std::fs::remove_file(&file).unwrap();
        WholeFile::write(&link, b"again").unwrap();
        assert!(link.is_symlink() && file.is_file());
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        WholeFile::write(&file, b"private").unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777, 0o600);
        WholeFile::write(Path::new("/dev/null"), b"gone").unwrap();
    }

    #[test]
    fn an_unfinished_file_is_registered_for_removal() {
        let folder = tempfile::tempdir().unwrap();
        let file = WholeFile::create(&folder.path().join("a.txt")).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let Target::Beside(temporary, _) = file.writer.get_ref() else { panic!("a regular file") };
        assert!(UNFINISHED.lock().unwrap().contains(temporary.path()));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = WholeFile::create(&folder.path().join("no/a.txt")).err().unwrap();
        assert!(error.to_string().ends_with("no does not exist"), "{error}");
    }
}
