//! Checks the footer and the page headers of a Parquet file before the `parquet` crate reads them.
//!
//! The crate allocates the memory that a header announces before it reads the page, so a few damaged bytes could demand
//! gigabytes. A header's sizes are therefore rejected if the page's bytes in the file could not expand to them.

use super::DataError;
use super::thrift::{read_byte, read_varint, skip, walk_struct, wrong};
use parquet::arrow::ProjectionMask;
use parquet::basic::{Compression, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// A dictionary of up to this many bytes is accepted; writers rarely produce more than a few megabytes.
const DICTIONARY_BYTES: u64 = 64 << 20;
/// A data page of up to this many bytes is accepted. Most have one megabyte; some writers put a whole column into one.
const PAGE_BYTES: u64 = 256 << 20;
/// A larger page is accepted if its compression ratio is at most this.
const BYTES_A_BYTE: u64 = 1000;
/// How much is read at once: most headers have less than a hundred bytes, but statistics may hold long texts.
const READ_BYTES: usize = 1 << 10;
/// The most nesting levels of a header; today's have three.
const MAX_DEPTH: usize = 8;

/// The sizes in a page header.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Option<u64>,
    /// The page's size after decompression, and in the file.
    unpacked: u64,
    stored: u64,
    /// The number of values in a dictionary.
    values: u64,
}

/// Rejects a file whose footer announces lists that it does not hold. A missing footer is left to the crate.
pub(super) fn check_footer(path: &Path) -> Result<(), DataError> {
    let io = |source| DataError::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut end = [0; 8];
    if length < 8 {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length - 8)).and_then(|_| file.read_exact(&mut end)).map_err(io)?;
    let size = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    if end[4..] != *b"PAR1" || size > length - 8 {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length - 8 - size)).map_err(io)?;
    walk_struct(&mut BufReader::new(file).take(size)).map_err(|error| {
        let problem = match error.kind() {
            ErrorKind::InvalidData => error.to_string(),
            ErrorKind::UnexpectedEof => "is cut off".into(),
            _ => return io(error),
        };
        DataError::Format { path: path.into(), message: format!("the footer {problem}") }
    })
}

/// Rejects a file if a page header in the requested columns announces more than its page can hold.
pub(super) fn check_pages(path: &Path, metadata: &ParquetMetaData, wanted: &ProjectionMask) -> Result<(), DataError> {
    let io = |source| DataError::Io { path: path.into(), source };
    let mut file = BufReader::with_capacity(READ_BYTES, File::open(path).map_err(io)?);
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        for (_, chunk) in row_group.columns().iter().enumerate().filter(|(leaf, _)| wanted.leaf_included(*leaf)) {
            check_chunk(&mut file, chunk).map_err(|(at, error)| {
                let problem = match error.kind() {
                    ErrorKind::InvalidData => error.to_string(),
                    ErrorKind::UnexpectedEof => "is cut off".into(),
                    _ => return io(error),
                };
                let (column, group) = (chunk.column_path().string(), group + 1);
                let message = format!("column '{column}', row group {group}: the page at byte {at} {problem}");
                DataError::Format { path: path.into(), message }
            })?;
        }
    }
    Ok(())
}

/// Checks the pages of a column chunk; an error comes with the position of its page.
fn check_chunk(file: &mut BufReader<File>, chunk: &ColumnChunkMetaData) -> Result<(), (u64, io::Error)> {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let numbers = (u64::try_from(start), u64::try_from(chunk.compressed_size()));
    let (Ok(mut at), Ok(mut left)) = numbers else { return Err((0, wrong("has a negative place or size"))) };
    file.seek(SeekFrom::Start(at)).map_err(|error| (at, error))?;
    while left > 0 {
        let mut bytes = file.by_ref().take(left);
        let header = read_header(&mut bytes).map_err(|error| (at, error))?;
        let behind_header = bytes.limit();
        check_header(&header, chunk, behind_header).map_err(|error| (at, error))?;
        file.seek_relative(header.stored as i64).map_err(|error| (at, error))?;
        at += left - behind_header + header.stored;
        left = behind_header - header.stored;
    }
    Ok(())
}

fn check_header(header: &Header, chunk: &ColumnChunkMetaData, left: u64) -> io::Result<()> {
    let &Header { kind, unpacked, stored, values } = header;
    if stored > left {
        return Err(wrong(format!("has {stored} bytes, but its column has only {left} left")));
    }
    let (most, is_dictionary) = match kind {
        Some(0 | 3) => (PAGE_BYTES, false),
        Some(2) => (DICTIONARY_BYTES, true),
        _ => return Err(wrong("is neither a data page nor a dictionary")),
    };
    let size = if chunk.compression() == Compression::UNCOMPRESSED { stored } else { unpacked };
    if size > most.max(stored.saturating_mul(BYTES_A_BYTE)) {
        return Err(wrong(format!("announces {size} bytes, too many for {stored} bytes in the file")));
    }
    // A number takes at least four bytes, and so does a text, because of its length field.
    let narrowest = match chunk.column_type() {
        Type::BOOLEAN | Type::FIXED_LEN_BYTE_ARRAY => 1,
        _ => 4,
    };
    if is_dictionary && values > size / narrowest {
        return Err(wrong(format!("announces a dictionary of {values} values in {size} bytes")));
    }
    Ok(())
}

/// Reads a page header: a struct in Thrift's compact protocol. Known fields must have their known types.
fn read_header(bytes: &mut impl Read) -> io::Result<Header> {
    let mut header = Header { kind: None, unpacked: 0, stored: 0, values: 0 };
    // The numbers of the enclosing fields.
    let mut outer: Vec<u16> = Vec::new();
    let mut field = 0u16;
    loop {
        let byte = read_byte(bytes)?;
        let (step, kind) = (u16::from(byte >> 4), byte & 15);
        if kind == 0 {
            match outer.pop() {
                Some(around) => field = around,
                None => return Ok(header),
            }
            continue;
        }
        field = match step {
            0 => u16::try_from(read_natural(bytes)?).map_err(|_| wrong("has a damaged header"))?,
            _ => field.checked_add(step).ok_or_else(|| wrong("has a damaged header"))?,
        };
        let known = match (outer.as_slice(), field) {
            ([], 1..=4) | ([5], 1..=4) | ([7], 1..=2) | ([8], 1..=6) => 5,
            ([], 5..=8) => 12,
            _ => kind,
        };
        match kind {
            _ if kind != known => return Err(wrong("has a damaged header")),
            // A truth value is encoded in its type.
            1 | 2 => {}
            3 => skip(bytes, 1)?,
            4..=6 => match (outer.as_slice(), field) {
                ([], 1) => header.kind = Some(read_natural(bytes)?),
                ([], 2) => header.unpacked = read_natural(bytes)?,
                ([], 3) => header.stored = read_natural(bytes)?,
                ([7], 1) => header.values = read_natural(bytes)?,
                _ => drop(read_varint(bytes)?),
            },
            7 => skip(bytes, 8)?,
            8 => {
                let length = read_varint(bytes)?;
                skip(bytes, length)?;
            }
            12 if outer.len() < MAX_DEPTH => {
                outer.push(field);
                field = 0;
            }
            // There are no lists or maps in a page header.
            _ => return Err(wrong("has a damaged header")),
        }
    }
}

/// A signed number that must not be negative or need more than 32 bits.
fn read_natural(bytes: &mut impl Read) -> io::Result<u64> {
    // The lowest bit is the sign.
    match read_varint(bytes)? {
        number if number & 1 == 0 && number >> 1 <= i32::MAX as u64 => Ok(number >> 1),
        _ => Err(wrong("has a damaged header")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Table;
    use arrow_array::{ArrayRef, Int32Array, RecordBatch};
    use std::sync::Arc;

    fn header(bytes: &[u8]) -> Result<Header, String> {
        read_header(&mut &bytes[..]).map_err(|error| error.to_string())
    }

    #[test]
    fn a_header_contains_its_sizes() {
        // A dictionary of 3 values, 12 bytes compressed to 10, with a negative checksum; sorted.
        let dictionary = [0x15, 4, 0x15, 24, 0x15, 20, 0x15, 7, 0x3c, 0x15, 6, 0x15, 0, 0x11, 0, 0];
        assert_eq!(header(&dictionary), Ok(Header { kind: Some(2), unpacked: 12, stored: 10, values: 3 }));
        // A data page, with a text and a 64-bit number in its statistics.
        let statistics = [0x18, 2, b'a', b'b', 0x26, 9, 0];
        let data = [&[0x15, 0, 0x15, 0x80, 1, 0x15, 2, 0x2c][..], &[0x15, 8, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c]].concat();
        let data = [&data[..], &statistics, &[0, 0]].concat();
        assert_eq!(header(&data), Ok(Header { kind: Some(0), unpacked: 64, stored: 1, values: 0 }));
    }

    #[test]
    fn a_damaged_header_is_refused() {
        for bytes in [
            // Truncated; a negative size; a size of more than 32 bits; an unterminated number.
            &[0x15, 4, 0x15][..],
            &[0x15, 4, 0x15, 1, 0],
            &[0x15, 4, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x7f, 0],
            &[0x25, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            // A text as a size; a list; unterminated structs.
            &[0x28, 1, b'a', 0],
            &[0x99, 0x15, 2, 0],
            &[0x9c; 100],
        ] {
            assert!(header(bytes).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn a_dictionary_must_fit_its_page() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..1000).map(|row| row % 100)));
        let batch = RecordBatch::try_from_iter([("a", numbers)]).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let mut bytes = writer.into_inner().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let rows = |bytes: &[u8]| -> Result<usize, String> {
            std::fs::write(file.path(), bytes).unwrap();
            let table = Table::open(file.path()).unwrap();
            let chunks = table.chunks(&[0]).map_err(|error| error.to_string())?;
            Ok(chunks.map(|chunk| chunk.unwrap().rows).sum())
        };
        assert_eq!(rows(&bytes), Ok(1000));
        // The dictionary's header comes first; 100 values become 8191.
        let at = bytes.windows(4).position(|four| four == [0x4c, 0x15, 0xc8, 1]).unwrap();
        assert!(at < 20);
        bytes[at + 2..at + 4].copy_from_slice(&[0xfe, 0x7f]);
        let message = rows(&bytes).unwrap_err();
        let problem = "column 'a', row group 1: the page at byte 4 announces a dictionary of 8191 values in 400 bytes";
        assert!(message.ends_with(problem), "{message}");
    }
}
