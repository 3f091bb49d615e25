//! Thrift's compact protocol, in which Parquet tells of itself: as much of it as is needed to look at a file before the
//! package does. Nothing here takes more memory or time than the bytes it is given.

use std::io::{self, ErrorKind, Read};

/// How deep lists and structs may be nested; those of Parquet are less than ten deep.
const MAX_DEPTH: usize = 64;

/// What is being walked through.
enum Open {
    Struct,
    /// So many elements are left, which alternate between two kinds: keys and values. A list has the same kind twice.
    Elements {
        kinds: [u8; 2],
        left: u64,
    },
}

/// Walks through a struct to its end. Lists of truth values are refused: Parquet has none, and the package takes them
/// for elements without a byte, so that a few bytes could announce billions that it would go through.
pub(super) fn walk_struct(bytes: &mut impl Read) -> io::Result<()> {
    let mut open = vec![Open::Struct];
    while let Some(innermost) = open.last_mut() {
        let kind = match innermost {
            Open::Struct => {
                let byte = read_byte(bytes)?;
                // The number of a field is a step from the last one, or else follows.
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
            // A field's truth value is told by the kind alone.
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
            return Err(wrong("is damaged: it is nested too deep"));
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
    Err(wrong("is damaged: a number has no end"))
}

pub(super) fn skip(bytes: &mut impl Read, count: u64) -> io::Result<()> {
    match io::copy(&mut bytes.take(count), &mut io::sink())? == count {
        true => Ok(()),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// What is wrong with the thing that is being read.
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
            // A list of two numbers, one of a struct, an empty one, and one of kind 0, as some write an empty one.
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
