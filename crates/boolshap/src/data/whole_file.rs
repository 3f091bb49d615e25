//! Files that are written completely or not at all.
//!
//! While it is written, a regular file has no name if the system supports that, so nothing is left of it however the
//! program ends; elsewhere it has a temporary name in the same folder. It gets its name when it is complete and
//! flushed, so an error, a full disk or an interruption leaves the old file unchanged. A link keeps pointing to its
//! file, and that file is replaced. The new file keeps the permissions of the old one, and a read-only file is not
//! replaced. Anything that is not a regular file (a terminal, a pipe, `/dev/null`) is written directly, and so is
//! anything already open: standard output and standard error under any name, and the names of other open files
//! (`/dev/fd/3`).

use super::outputs::{FileId, open_already};
use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::{NamedTempFile, TempDir};

/// A file being written. Dropping it without [`WholeFile::finish`] leaves no trace.
pub struct WholeFile {
    writer: BufWriter<Target>,
}

enum Target {
    /// A file without a name, and the name it will get.
    Unnamed(File, PathBuf),
    /// A file with a temporary name, and its final name.
    Beside(NamedTempFile, PathBuf),
    Direct(File),
}

/// The temporary files and folders that currently exist.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes temporary files and folders. For a signal handler, because no destructors run when it ends the program. No
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
        // If the program is being ended, the handler keeps the lock and removes the folder itself.
        if let Ok(mut files) = UNFINISHED.try_lock() {
            files.remove(self.0.path());
        }
    }
}

impl WholeFile {
    /// Starts a file; fails if its folder does not exist or is not writable, or if the file exists and is read-only.
    pub fn create(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path).ok();
        let open = found.as_ref().and_then(|meta| open_already(FileId::of(meta)));
        let is_open_file = ["/dev/fd", "/proc"].iter().any(|name| path.starts_with(name));
        let target = match (&found, open) {
            (Some(meta), _) if meta.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder")),
            (_, Some(open)) => Target::Direct(open),
            (Some(meta), None) if is_open_file || !meta.is_file() => {
                Target::Direct(OpenOptions::new().append(true).open(path)?)
            }
            _ => Target::beside(link_target(path), found)?,
        };
        Ok(WholeFile { writer: BufWriter::new(target) })
    }

    /// Writes a complete file.
    pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(content)?;
        file.finish()
    }

    /// Gives the complete file its name.
    pub fn finish(self) -> io::Result<()> {
        match self.writer.into_inner().map_err(|error| error.into_error())? {
            Target::Direct(_) => Ok(()),
            Target::Unnamed(file, path) => {
                file.sync_all()?;
                // A handler that ends the program waits for this lock; if the handler has it, this waits until the
                // program ends.
                let _unfinished = UNFINISHED.lock();
                give_name(file, &path)
            }
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

impl Target {
    /// A new file in the folder of `path`, to replace the old file found there.
    fn beside(path: PathBuf, old: Option<Metadata>) -> io::Result<Self> {
        let folder = folder_of(&path);
        if path.file_name().is_none() || !folder.is_dir() {
            let message = format!("the folder {} does not exist", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        if let Some(old) = &old {
            check_writable(&path, old)?;
        }
        let target = match unnamed_file(folder) {
            Some(file) => Target::Unnamed(file, path),
            None => Self::with_temporary_name(path)?,
        };
        if let Some(old) = old {
            target.file().set_permissions(old.permissions())?;
        }
        Ok(target)
    }

    fn with_temporary_name(path: PathBuf) -> io::Result<Self> {
        let mut unfinished = UNFINISHED.lock();
        let file = temporary_file(folder_of(&path))?;
        if let Ok(files) = &mut unfinished {
            files.insert(file.path().to_path_buf());
        }
        Ok(Target::Beside(file, path))
    }

    fn file(&self) -> &File {
        match self {
            Target::Unnamed(file, _) | Target::Direct(file) => file,
            Target::Beside(file, _) => file.as_file(),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The system lets anyone who can write to the folder replace a file, but a read-only file is meant to be kept.
fn check_writable(path: &Path, old: &Metadata) -> io::Result<()> {
    // The permission bits count even for users who may write anything.
    let is_read_only = old.permissions().readonly();
    #[cfg(unix)]
    let is_read_only = is_read_only || rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err();
    #[cfg(not(unix))]
    let _ = path;
    match is_read_only {
        true => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only")),
        false => Ok(()),
    }
}

/// A new file without a name in this folder, if the system has such files and can name them later.
#[cfg(target_os = "linux")]
fn unnamed_file(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::TMPFILE.bits() as i32;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(folder).ok()?;
    let same = FileId::of(&std::fs::metadata(open_name(&file)).ok()?) == FileId::of(&file.metadata().ok()?);
    same.then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file(_: &Path) -> Option<File> {
    None
}

/// The system's path for an open file.
#[cfg(target_os = "linux")]
fn open_name(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives an open file another name.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, open_name(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives an unnamed file its name, replacing an old file. The system only gives out free names, so the file gets a
/// temporary name first and is then renamed.
fn give_name(file: File, path: &Path) -> io::Result<()> {
    match link(&file, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let named = temporary_name().make_in(folder_of(path), |name| link(&file, name))?;
            named.persist(path).map_err(|error| error.error)
        }
        Err(_) => copy_to(file, path),
    }
}

/// The same for file systems that support unnamed files but cannot name them: copies the file.
fn copy_to(mut file: File, path: &Path) -> io::Result<()> {
    let mut copy = temporary_file(folder_of(path))?;
    file.rewind()?;
    io::copy(&mut file, copy.as_file_mut())?;
    copy.as_file().set_permissions(file.metadata()?.permissions())?;
    copy.as_file().sync_all()?;
    copy.persist(path).map(drop).map_err(|error| error.error)
}

/// Follows links to the end, even if the final file does not exist yet.
fn link_target(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // The number of links that systems follow before they report a loop.
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

fn temporary_name() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".boolshap-");
    builder
}

/// A temporary file with the permissions of an ordinary new file.
fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        temporary_name().permissions(std::fs::Permissions::from_mode(0o666)).tempfile_in(folder)
    }
    #[cfg(not(unix))]
    temporary_name().tempfile_in(folder)
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
        // Bypasses the temporary file's own writer, whose errors would name the temporary file.
        self.file().write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
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
        // This also works if the file does not exist yet, and it keeps the permissions of the old file.
        std::fs::remove_file(&file).unwrap();
        WholeFile::write(&link, b"again").unwrap();
        assert!(link.is_symlink() && file.is_file());
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        WholeFile::write(&file, b"private").unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777, 0o600);
        WholeFile::write(Path::new("/dev/null"), b"gone").unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_has_no_name_until_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let path = folder.path().join("a.txt");
        for content in ["new", "in place of the old one"] {
            let before = count();
            let mut file = WholeFile::create(&path).unwrap();
            file.write_all(content.as_bytes()).unwrap();
            file.flush().unwrap();
            assert_eq!(count(), before);
            file.finish().unwrap();
            assert_eq!((std::fs::read_to_string(&path).unwrap(), count()), (content.into(), 1));
        }
    }

    #[test]
    fn where_files_need_a_name_they_are_registered_for_removal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        for content in ["new", "in place of the old one"] {
            let target = Target::with_temporary_name(path.clone()).unwrap();
            let Target::Beside(temporary, _) = &target else { panic!("a file with a name") };
            assert!(UNFINISHED.lock().unwrap().contains(temporary.path()));
            let mut file = WholeFile { writer: BufWriter::new(target) };
            file.write_all(content.as_bytes()).unwrap();
            file.finish().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"copied").unwrap();
        copy_to(file, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"copied");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_read_only_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "old").unwrap();
        let mut permissions = path.metadata().unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        let error = WholeFile::write(&path, b"new").unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::PermissionDenied, "the file is read-only")
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = WholeFile::create(&folder.path().join("no/a.txt")).err().unwrap();
        assert!(error.to_string().ends_with("no does not exist"), "{error}");
    }
}
