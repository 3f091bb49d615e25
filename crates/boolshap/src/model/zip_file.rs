//! Extracts a file from a zip archive, as used by Keras for models: located by the archive's central directory, stored
//! or deflated.

use std::io::Read;

/// The most unpacked bytes per byte of the archive.
const MAX_GROWTH: u64 = 1 << 10;

/// The content of a file in an archive; `None` if the archive does not contain it.
pub(super) fn unpacked(archive: &[u8], name: &str) -> Result<Option<Vec<u8>>, String> {
    let damaged = || "the archive is damaged or cut off".to_string();
    // The directory ends with a record of at least 22 bytes, which a comment may follow.
    let end = archive.windows(4).rposition(|four| four == b"PK\x05\x06").ok_or_else(damaged)?;
    let number = |at: usize, bytes: usize| -> Result<u64, String> {
        let bytes = archive.get(at..at.checked_add(bytes).ok_or_else(damaged)?).ok_or_else(damaged)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let (entries, mut at) = (number(end + 10, 2)?, number(end + 16, 4)? as usize);
    // The record ends with the length of the comment.
    number(end + 20, 2)?;
    for _ in 0..entries {
        if number(at, 4)? != 0x0201_4b50 {
            return Err(damaged());
        }
        let [name_length, extra, comment] = [number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?];
        let own = archive.get(at + 46..at + 46 + name_length as usize).ok_or_else(damaged)?;
        if own != name.as_bytes() {
            at += 46 + (name_length + extra + comment) as usize;
            continue;
        }
        let [method, packed, size] = [number(at + 10, 2)?, number(at + 20, 4)?, number(at + 24, 4)?];
        let local = number(at + 42, 4)? as usize;
        let begin = local + 30 + number(local + 26, 2)? as usize + number(local + 28, 2)? as usize;
        let content = archive.get(begin..begin + packed as usize).ok_or_else(damaged)?;
        if size > MAX_GROWTH.saturating_mul(archive.len() as u64) {
            return Err(format!("{name} is said to have {size} bytes, more than the archive can hold"));
        }
        let mut found = Vec::new();
        match method {
            0 => found.extend_from_slice(content),
            8 => {
                let mut reader = flate2::read::DeflateDecoder::new(content).take(size + 1);
                reader.read_to_end(&mut found).map_err(|_| damaged())?;
            }
            other => return Err(format!("{name} is packed by the method {other}, which is not read")),
        }
        return if found.len() as u64 == size { Ok(Some(found)) } else { Err(damaged()) };
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// An archive of one file.
    fn archive(name: &str, content: &[u8], deflated: bool) -> Vec<u8> {
        let mut packed = content.to_vec();
        if deflated {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).unwrap();
            packed = encoder.finish().unwrap();
        }
        let method = if deflated { 8u16 } else { 0 };
        let sizes = [&[0; 4][..], &(packed.len() as u32).to_le_bytes(), &(content.len() as u32).to_le_bytes()].concat();
        let length = (name.len() as u16).to_le_bytes();
        let local =
            [b"PK\x03\x04\x14\0\0\0", &method.to_le_bytes()[..], &[0; 4], &sizes, &length, &[0, 0], name.as_bytes()]
                .concat();
        let list = [
            b"PK\x01\x02\x14\0\x14\0\0\0",
            &method.to_le_bytes()[..],
            &[0; 4],
            &sizes,
            &length,
            &[0; 12],
            &[0; 4],
            name.as_bytes(),
        ]
        .concat();
        let at = (local.len() + packed.len()) as u32;
        let end =
            [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &(list.len() as u32).to_le_bytes()[..], &at.to_le_bytes(), &[0, 0]]
                .concat();
        [local, packed, list, end].concat()
    }

    #[test]
    fn files_are_found_stored_and_deflated_and_damage_is_an_error() {
        let content = b"some content, some content, some content".repeat(9);
        for deflated in [false, true] {
            let bytes = archive("config.json", &content, deflated);
            assert_eq!(unpacked(&bytes, "config.json").unwrap().unwrap(), content);
            assert_eq!(unpacked(&bytes, "other").unwrap(), None);
            for cut in 0..bytes.len() {
                assert_ne!(unpacked(&bytes[..cut], "config.json").ok().flatten().as_ref(), Some(&content), "{cut}");
                let mut flipped = bytes.clone();
                flipped[cut] ^= 0x55;
                let _ = unpacked(&flipped, "config.json");
            }
        }
    }
}
