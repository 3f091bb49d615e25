//! Where the text of a CSV table comes from: a file, a pipe or a copy of one, packed by gzip or zstd or not at all, as UTF-8
//! or Latin-1. What comes out is UTF-8 without a byte order mark, from the header on.

use super::delimiter::{ANY, delimiter_of};
use super::encoding::Utf8Text;
use super::quotes::{Quotes, line_ends};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How much of a file is read at once.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Spreadsheets write it in front of UTF-8; it does not belong to the first name.
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

type Stream = Box<dyn Read + Send>;

/// The source of a table's text.
#[derive(Debug, Clone)]
pub(super) struct CsvSource {
    pub(super) delimiter: u8,
    input: Input,
    packing: Packing,
    /// Whether the text turned out to be Latin-1.
    pub(super) is_latin: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
#[cfg_attr(all(target_family = "wasm", target_os = "unknown"), expect(dead_code, reason = "files cannot be opened"))]
enum Input {
    /// A regular file, which is opened again for each reading.
    File,
    /// A copy of a pipe.
    Copy(Arc<File>),
    /// The content of a file, in memory.
    Content(Arc<[u8]>),
    /// A pipe with the text already read for the header; `None` once it is being read.
    Pipe(Arc<Mutex<Option<Pipe>>>),
}

struct Pipe {
    start: Vec<u8>,
    rest: Stream,
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipe")
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes of a file.
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1F, 0x8B, ..] => Packing::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Packing::Zstd,
            _ => Packing::None,
        }
    }
}

impl CsvSource {
    /// Reads the header of an open file whose first bytes these are. A pipe that is to be read several times is copied.
    /// Returns the text that was read so far.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub(super) fn open(mut file: File, start: Vec<u8>, is_pipe: bool, reread: bool) -> io::Result<(Self, Vec<u8>)> {
        let packing = Packing::of(&start);
        let is_latin = Arc::new(AtomicBool::new(false));
        let mut input = Input::File;
        let raw: Stream = if is_pipe && reread {
            let copy = Arc::new(copy_of_pipe(&mut file, &start)?);
            input = Input::Copy(copy.clone());
            Box::new(ReadAt { file: copy, place: 0 })
        } else {
            Box::new(io::Cursor::new(start).chain(file))
        };
        let mut text = unpacked(raw, packing, &is_latin)?;
        let mut start = Vec::new();
        let is_whole = read_header(&mut text, &mut start)?;
        let delimiter = delimiter_of(&start, is_whole);
        if is_pipe && !reread {
            input = Input::Pipe(Arc::new(Mutex::new(Some(Pipe { start: start.clone(), rest: text }))));
        }
        Ok((CsvSource { delimiter, input, packing, is_latin }, start))
    }

    /// The same of a file's content.
    pub(super) fn of_content(content: Vec<u8>) -> io::Result<(Self, Vec<u8>)> {
        let (packing, is_latin) = (Packing::of(&content), Arc::new(AtomicBool::new(false)));
        let content: Arc<[u8]> = content.into();
        let mut text = unpacked(Box::new(io::Cursor::new(content.clone())), packing, &is_latin)?;
        let mut start = Vec::new();
        let is_whole = read_header(&mut text, &mut start)?;
        let (delimiter, input) = (delimiter_of(&start, is_whole), Input::Content(content));
        Ok((CsvSource { delimiter, input, packing, is_latin }, start))
    }

    /// The size of the file, if it has one.
    pub(super) fn bytes(&self, path: &Path) -> Option<u64> {
        match &self.input {
            Input::File => std::fs::metadata(path).ok().map(|meta| meta.len()),
            Input::Copy(file) => file.metadata().ok().map(|meta| meta.len()),
            Input::Content(content) => Some(content.len() as u64),
            Input::Pipe(_) => None,
        }
    }

    /// The text from its beginning; `read` counts the bytes of the file.
    pub(super) fn text(&self, path: &Path, read: &Arc<AtomicU64>) -> io::Result<Stream> {
        let raw: Stream = match &self.input {
            Input::File => Box::new(File::open(path)?),
            Input::Copy(file) => Box::new(ReadAt { file: file.clone(), place: 0 }),
            Input::Content(content) => Box::new(io::Cursor::new(content.clone())),
            Input::Pipe(pipe) => {
                let taken = pipe.lock().ok().and_then(|mut pipe| pipe.take());
                let Pipe { start, rest } = taken.ok_or_else(|| io::Error::other("a pipe can be read only once"))?;
                return Ok(Box::new(io::Cursor::new(start).chain(rest)));
            }
        };
        unpacked(Box::new(Counted { file: raw, read: read.clone() }), self.packing, &self.is_latin)
    }

    /// Whether it can be read only once.
    pub(super) fn is_pipe(&self) -> bool {
        matches!(self.input, Input::Pipe(_))
    }

    /// The delimiter as the checks of the text take it.
    pub(super) fn delimiters(&self) -> &'static [u8] {
        let place = ANY.iter().position(|byte| *byte == self.delimiter).unwrap_or(0);
        &ANY[place..=place]
    }
}

/// The rest of a pipe behind what was read of it, in a file that has no name.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(super) fn copy_of_pipe(pipe: &mut File, start: &[u8]) -> io::Result<File> {
    use std::io::Write;
    let mut copy = tempfile::tempfile()?;
    copy.write_all(start)?;
    io::copy(pipe, &mut copy)?;
    Ok(copy)
}

/// The text in a packed stream, without a byte order mark.
fn unpacked(raw: Stream, packing: Packing, is_latin: &Arc<AtomicBool>) -> io::Result<Stream> {
    let unpacked: Stream = match packing {
        Packing::None => raw,
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::with_capacity(READ_BYTES, raw))),
        Packing::Zstd => unpack_zstd(raw)?,
    };
    let mut text = Utf8Text::new(unpacked, is_latin.clone());
    let mut start = Vec::new();
    text.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start)?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    Ok(Box::new(io::Cursor::new(start).chain(text)))
}

#[cfg(feature = "parquet")]
fn unpack_zstd(raw: Stream) -> io::Result<Stream> {
    Ok(Box::new(zstd::stream::read::Decoder::new(raw)?))
}

#[cfg(not(feature = "parquet"))]
fn unpack_zstd(_: Stream) -> io::Result<Stream> {
    Err(io::Error::other("packed by zstd, which this build cannot read (cargo feature `parquet` is off)"))
}

/// A file that counts the bytes read.
struct Counted {
    file: Stream,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A file without a name that is read from a place of its own, whoever else reads it.
struct ReadAt {
    file: Arc<File>,
    place: u64,
}

impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.place)?;
        #[cfg(not(unix))]
        let count = {
            let mut file = &*self.file;
            io::Seek::seek(&mut file, io::SeekFrom::Start(self.place))?;
            file.read(buffer)?
        };
        self.place += count as u64;
        Ok(count)
    }
}

/// Reads until there is a complete header line: a line end outside quotes, after some name. Whether that is all there is.
fn read_header(text: &mut Stream, start: &mut Vec<u8>) -> io::Result<bool> {
    let (mut quotes, mut scanned, mut lines, mut named, mut complete) = (Quotes::new(ANY), 0, 0, false, false);
    loop {
        if text.by_ref().take(READ_BYTES as u64).read_to_end(start)? == 0 {
            quotes.end().map_err(io::Error::other)?;
            return Ok(true);
        }
        let block = &start[scanned..];
        let seen = quotes.scan(lines, block, |before, _, piece| {
            for (&byte, before) in piece.iter().zip(std::iter::once(before).chain(piece.iter().copied())) {
                let is_end = matches!(byte, b'\n' | b'\r');
                // Of a name in quotes, only the closing one is in front of what is outside.
                named |= !is_end || before == b'"';
                complete |= byte == b'\n' && named;
            }
        });
        if complete {
            // Less than was asked for is all there is.
            return Ok(!start.len().is_multiple_of(READ_BYTES));
        }
        seen.map_err(io::Error::other)?;
        (lines, scanned) = (lines + line_ends(block), start.len());
    }
}
