//! Thrift's compact protocol, in which Parquet stores its metadata: just enough to check a file before the `parquet`
//! crate reads it. Time and memory are bounded by the number of input bytes.

use std::io::{self, ErrorKind, Read};

/// The most nesting levels of lists and structs; Parquet has fewer than ten.
const MAX_DEPTH: usize = 64;

/// An unfinished struct, list or map.
enum Open {
    Struct,
    /// The number of elements left, alternating between two types: keys and values. A list has the same type twice.
    Elements {
        kinds: [u8; 2],
        left: u64,
    },
}

/// Skips a struct. Lists of truth values are rejected: Parquet has none, and the crate treats their elements as taking
/// no bytes, so a few bytes could announce billions of elements.
pub(super) fn walk_struct(bytes: &mut impl Read) -> io::Result<()> {
    let mut open = vec![Open::Struct];
    while let Some(innermost) = open.last_mut() {
        let kind = match innermost {
            Open::Struct => {
                let byte = read_byte(bytes)?;
                // The field number is a difference from the last one or, if that is 0, follows.
                if byte & 15 != 0 && byte >> 4 == 0 {
                    read_varint(bytes)?;
                }
                byte & 15
            }
            Open::Elements { left: 0, .. } => 0,
            Open::Elements { kinds, left } => {
                *left -= 1;
                kinds[(*left % 2) as usize]
            }
        };
        match kind {
            0 => drop(open.pop()),
            // A truth value is encoded in its type.
            1 | 2 => {}
            3 => skip(bytes, 1)?,
            4..=6 => drop(read_varint(bytes)?),
            7 => skip(bytes, 8)?,
            8 => {
                let length = read_varint(bytes)?;
                skip(bytes, length)?;
            }
            9..=11 => open.push(read_elements(bytes, kind == 11)?),
            12 => open.push(Open::Struct),
            13 => skip(bytes, 16)?,
            _ => return Err(wrong("is damaged")),
        }
        if open.len() > MAX_DEPTH {
            return Err(wrong("is damaged: it is nested too deeply"));
        }
    }
    Ok(())
}

fn read_elements(bytes: &mut impl Read, is_map: bool) -> io::Result<Open> {
    let (kinds, left) = if is_map {
        match read_varint(bytes)? {
            0 => ([3; 2], 0),
            count => {
                let byte = read_byte(bytes)?;
                ([byte & 15, byte >> 4], count.saturating_mul(2))
            }
        }
    } else {
        let byte = read_byte(bytes)?;
        let count = if byte >> 4 == 15 { read_varint(bytes)? } else { u64::from(byte >> 4) };
        ([byte & 15; 2], count)
    };
    match left > 0 && kinds.iter().any(|kind| *kind < 3) {
        true => Err(wrong("is damaged: it lists truth values, which the format does not have")),
        false => Ok(Open::Elements { kinds, left }),
    }
}

pub(super) fn read_byte(bytes: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    bytes.read_exact(&mut byte)?;
    Ok(byte[0])
}

pub(super) fn read_varint(bytes: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = read_byte(bytes)?;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(number);
        }
    }
    Err(wrong("is damaged: a number is not terminated"))
}

pub(super) fn skip(bytes: &mut impl Read, count: u64) -> io::Result<()> {
    match io::copy(&mut bytes.take(count), &mut io::sink())? == count {
        true => Ok(()),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// An error that says what is wrong with the input.
pub(super) fn wrong(problem: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_walked_to_its_end() {
        let whole: [&[u8]; 6] = [
            &[0],
            // Fields: true, a byte, a number, a double, a text, a field whose number follows.
            &[0x11, 0x13, 7, 0x16, 0x80, 1, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x18, 2, b'a', b'b', 0x05, 40, 3, 0],
            // A list of two numbers, one of a struct, an empty one, and an empty one of type 0, which some writers use.
            &[0x19, 0x25, 1, 2, 0x19, 0x1c, 0x11, 0, 0x19, 0x05, 0x19, 0, 0],
            // A map of a number to a text, and an empty one.
            &[0x1b, 1, 0x58, 6, 1, b'a', 0x1b, 0, 0],
            // A list of lists; a long list.
            &[0x19, 0x29, 0x13, 7, 0x03, 0],
            &[0x19, 0xf3, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0],
        ];
        for bytes in whole {
            let mut rest = [bytes, b"rest"].concat();
            let mut reader = &rest[..];
            assert!(walk_struct(&mut reader).is_ok() && reader == b"rest", "{bytes:x?}");
            rest.truncate(bytes.len() - 1);
            assert!(walk_struct(&mut &rest[..]).is_err(), "{bytes:x?}, cut off");
        }
    }

    #[test]
    fn truth_values_in_lists_and_deep_nests_are_refused() {
        for bytes in [
            &[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0][..],
            &[0x1a, 0x22, 1, 1, 0],
            &[0x1b, 1, 0x13, 1, 1, 0],
            &[0x19, 0xf3, 0xff, 0xff, 0xff, 0xff, 7, 0],
            &[0x1e, 0],
            &[0x1c; 1000],
        ] {
            assert!(walk_struct(&mut &bytes[..]).is_err(), "{bytes:x?}");
        }
    }
}
