//! SHA-256 digests, which identify the exact content that a statement is about.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

/// The SHA-256 of some content, written as 64 hexadecimal digits.
///
/// ```
/// use boolshap::lit::Digest;
/// let digest = Digest::of(b"abc");
/// assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// assert_eq!(digest.short(), "ba7816bf8f01");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// The digest of this content.
    pub fn of(content: &[u8]) -> Self {
        Digest(hmac_sha256::Hash::hash(content))
    }

    /// Its first twelve digits, for display.
    pub fn short(&self) -> String {
        self.to_string()[..12].into()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a SHA-256 digest of 64 small hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..][..2], 16).map_err(|_| wrong())?;
        }
        Ok(Digest(bytes))
    }
}

/// A writer that computes the digest of everything written to it.
#[derive(Default)]
pub(crate) struct Digester(hmac_sha256::Hash);

impl Digester {
    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize())
    }
}

impl Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let mut pieces = Digester::default();
        b"boolshap".chunks(3).for_each(|piece| pieces.write_all(piece).unwrap());
        assert_eq!(pieces.finish(), Digest::of(b"boolshap"));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let good = Digest::of(b"").to_string();
        for bad in [&good[1..], &good.to_uppercase(), &format!("{good}0"), &format!("+{}", &good[1..]), "\u{e9}"] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
