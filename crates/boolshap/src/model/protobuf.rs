//! The wire format of protocol buffers: a message is a sequence of fields, each with a number and a value of one of
//! four types. The caller interprets the fields; a nested message is returned as bytes.
//!
//! The reader only returns slices of the input and checks every length against the bytes left, so a damaged file gives
//! [`Damage`], and no allocation depends on a length that the file claims. Groups, which no current writer uses, count
//! as damage.

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

/// Why bytes are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    /// The field's number, or 0 if the number itself is truncated.
    #[error("field {0} ends beyond the bytes that are there")]
    CutOff(u32),
    #[error("not a sequence of protobuf fields")]
    Invalid,
}

/// The fields of a message, up to the first damage.
pub(crate) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u32, Value<'a>), Damage> {
        let tag = varint(&mut self.rest, 0)?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let number = number.ok_or(Damage::Invalid)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut self.rest, number)?),
            1 => Value::Fixed64(self.fixed(number)?),
            2 => {
                let length = varint(&mut self.rest, number)?;
                let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
                let (bytes, rest) = split.ok_or(Damage::CutOff(number))?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(self.fixed(number)?),
            _ => return Err(Damage::Invalid),
        };
        Ok((number, value))
    }

    fn fixed<const N: usize>(&mut self, number: u32) -> Result<[u8; N], Damage> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(Damage::CutOff(number))?;
        self.rest = rest;
        Ok(*bytes)
    }
}

/// Seven bits per byte, lowest first; the high bit means that another byte follows.
fn varint(rest: &mut &[u8], number: u32) -> Result<u64, Damage> {
    let mut value = 0u64;
    for (index, &byte) in rest.iter().enumerate() {
        // Ten bytes hold 70 bits: only one bit of the last byte may be used.
        if index == 9 && byte > 1 {
            return Err(Damage::Invalid);
        }
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            *rest = &rest[index + 1..];
            return Ok(value);
        }
    }
    Err(Damage::CutOff(number))
}

/// Appends a repeated integer: a single one, or many packed into bytes.
pub(crate) fn push_varints(value: Value<'_>, into: &mut Vec<u64>) -> Result<(), Damage> {
    match value {
        Value::Varint(one) => into.push(one),
        Value::Bytes(mut packed) => {
            while !packed.is_empty() {
                into.push(varint(&mut packed, 0)?);
            }
        }
        _ => return Err(Damage::Invalid),
    }
    Ok(())
}

/// Appends a repeated float: a single one, or many packed into bytes.
pub(crate) fn push_floats(value: Value<'_>, into: &mut Vec<f64>) -> Result<(), Damage> {
    match value {
        Value::Fixed32(one) => push_packed(&one, |bytes| f32::from_le_bytes(bytes).into(), into),
        Value::Bytes(packed) => push_packed(packed, |bytes| f32::from_le_bytes(bytes).into(), into),
        _ => Err(Damage::Invalid),
    }
}

/// Appends a repeated double: a single one, or many packed into bytes.
pub(crate) fn push_doubles(value: Value<'_>, into: &mut Vec<f64>) -> Result<(), Damage> {
    match value {
        Value::Fixed64(one) => push_packed(&one, f64::from_le_bytes, into),
        Value::Bytes(packed) => push_packed(packed, f64::from_le_bytes, into),
        _ => Err(Damage::Invalid),
    }
}

/// Appends consecutive numbers of `N` bytes each.
pub(crate) fn push_packed<const N: usize, T>(
    packed: &[u8],
    number: impl Fn([u8; N]) -> T,
    into: &mut Vec<T>,
) -> Result<(), Damage> {
    let (chunks, rest) = packed.as_chunks::<N>();
    into.extend(chunks.iter().map(|&chunk| number(chunk)));
    if rest.is_empty() { Ok(()) } else { Err(Damage::Invalid) }
}

/// Writes fields, for tests of readers.
#[cfg(test)]
pub(crate) mod write {
    pub(crate) fn varint(number: u32, value: u64) -> Vec<u8> {
        [seven_bits(u64::from(number) << 3), seven_bits(value)].concat()
    }

    pub(crate) fn bytes(number: u32, content: &[u8]) -> Vec<u8> {
        [seven_bits(u64::from(number) << 3 | 2), seven_bits(content.len() as u64), content.to_vec()].concat()
    }

    pub(crate) fn seven_bits(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Damage> {
        fields(bytes).collect()
    }

    #[test]
    fn every_kind_of_value() {
        let bytes = b"\x08\x96\x01\x12\x02hi\x1d\0\0\x80\x3f\x21\0\0\0\0\0\0\xf0\x3f";
        let one = (1f32.to_le_bytes(), 1f64.to_le_bytes());
        let expected =
            [(1, Value::Varint(150)), (2, Value::Bytes(b"hi")), (3, Value::Fixed32(one.0)), (4, Value::Fixed64(one.1))];
        assert_eq!(all(bytes).unwrap(), expected);
        // Minus one takes all ten bytes.
        let minus_one = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(all(minus_one).unwrap(), [(1, Value::Varint(u64::MAX))]);
        assert_eq!(all(b""), Ok(vec![]));
    }

    #[test]
    fn damage_is_found_and_ends_the_walk() {
        let cases: [(&[u8], Damage); 9] = [
            (b"\x80", Damage::CutOff(0)),
            (b"\x08", Damage::CutOff(1)),
            (b"\x08\xff", Damage::CutOff(1)),
            (b"\x12\x03hi", Damage::CutOff(2)),
            (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Damage::CutOff(2)),
            (b"\x1d\0\0\0", Damage::CutOff(3)),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", Damage::Invalid),
            // Field 0, and the start of a group.
            (b"\x00\x01", Damage::Invalid),
            (b"\x0b\x0c", Damage::Invalid),
        ];
        for (bytes, damage) in cases {
            assert_eq!(fields(bytes).collect::<Vec<_>>(), [Err(damage)], "{bytes:?}");
        }
    }

    #[test]
    fn repeated_numbers_packed_or_not() {
        let mut whole = Vec::new();
        push_varints(Value::Varint(7), &mut whole).unwrap();
        push_varints(Value::Bytes(b"\x01\x96\x01"), &mut whole).unwrap();
        assert_eq!(whole, [7, 1, 150]);
        assert_eq!(push_varints(Value::Bytes(b"\x96"), &mut whole), Err(Damage::CutOff(0)));
        let mut floats = Vec::new();
        push_floats(Value::Bytes(b"\0\0\x80\x3f\0\0\0\xbf"), &mut floats).unwrap();
        push_doubles(Value::Fixed64(0.1f64.to_le_bytes()), &mut floats).unwrap();
        assert_eq!(floats, [1.0, -0.5, 0.1]);
        assert_eq!(push_floats(Value::Bytes(b"\0\0\x80"), &mut floats), Err(Damage::Invalid));
        assert_eq!(push_doubles(Value::Fixed32([0; 4]), &mut floats), Err(Damage::Invalid));
    }
}
