//! Converts Latin-1 text (ISO 8859-1) to UTF-8, recognising it while reading.
//!
//! Up to its first non-ASCII byte, a text is valid in both encodings. If that byte begins a UTF-8 character, the text
//! is UTF-8, and anything invalid later is an error. Otherwise it is Latin-1 from there on: each byte is one character.
//! Two things are passed on unchanged: bytes from 80 to 9F, which are no letters in Latin-1, and what looks like UTF-8
//! all the same (C2 or C3 followed by a byte from 80 to BF). Such a text is neither encoding, and the reader reports
//! it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A reader that converts Latin-1 to UTF-8.
pub(super) struct Utf8Text<R> {
    inner: R,
    state: State,
    /// Set when the text turns out to be Latin-1.
    is_latin: Arc<AtomicBool>,
    /// Converted bytes; those before `taken` have been read.
    ready: Vec<u8>,
    taken: usize,
}

enum State {
    /// Only ASCII so far; the bytes may be the beginning of a character.
    Ascii(Vec<u8>),
    Utf8,
    /// Latin-1; the last byte is kept if it may begin a UTF-8 letter.
    Latin(u8),
    /// Neither encoding.
    Wrong,
}

impl<R: Read> Utf8Text<R> {
    pub(super) fn new(inner: R, is_latin: Arc<AtomicBool>) -> Self {
        Utf8Text { inner, state: State::Ascii(Vec::new()), is_latin, ready: Vec::new(), taken: 0 }
    }

    /// Converts the next bytes; an empty block means the end of the text.
    fn convert(&mut self, block: &[u8]) {
        if let State::Ascii(begun) = &mut self.state {
            let bytes = [&std::mem::take(begun)[..], block].concat();
            let letter = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(bytes.len());
            self.ready.extend_from_slice(&bytes[..letter]);
            let rest = &bytes[letter..];
            self.state = match std::str::from_utf8(rest) {
                Ok("") => State::Ascii(Vec::new()),
                Ok(_) => State::Utf8,
                Err(error) if error.valid_up_to() > 0 => State::Utf8,
                Err(error) if error.error_len().is_none() && !block.is_empty() => State::Ascii(rest.to_vec()),
                Err(_) => State::Latin(0),
            };
            if !matches!(self.state, State::Ascii(_)) {
                self.pass_on(rest);
            }
            return;
        }
        self.pass_on(block);
    }

    fn pass_on(&mut self, bytes: &[u8]) {
        for (place, &byte) in bytes.iter().enumerate() {
            let State::Latin(last) = self.state else { return self.ready.extend_from_slice(&bytes[place..]) };
            match byte {
                0x80..=0x9F => self.state = State::Wrong,
                0xA0..=0xBF if matches!(last, 0xC2 | 0xC3) => self.state = State::Wrong,
                _ => {}
            }
            if matches!(self.state, State::Wrong) {
                return self.ready.extend_from_slice(&bytes[place..]);
            }
            self.state = State::Latin(byte);
            self.is_latin.fetch_or(!byte.is_ascii(), Ordering::Relaxed);
            self.ready.extend(char::from(byte).encode_utf8(&mut [0; 2]).bytes());
        }
    }
}

impl<R: Read> Read for Utf8Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.taken < self.ready.len() {
                let count = (&self.ready[self.taken..]).read(buffer)?;
                self.taken += count;
                return Ok(count);
            }
            self.ready.clear();
            self.taken = 0;
            let count = self.inner.read(buffer)?;
            let has_begun = matches!(&self.state, State::Ascii(begun) if !begun.is_empty());
            // Nearly all texts pass without a copy.
            let passes = match &self.state {
                State::Utf8 | State::Wrong => true,
                State::Ascii(begun) => begun.is_empty() && buffer[..count].is_ascii(),
                State::Latin(_) => false,
            };
            if passes || count == 0 && !has_begun {
                return Ok(count);
            }
            self.convert(&buffer[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], step: usize) -> (Vec<u8>, bool) {
        struct Slowly<'a>(&'a [u8], usize);
        impl Read for Slowly<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = self.1.min(buffer.len());
                self.0.read(&mut buffer[..count])
            }
        }
        let (mut found, flag) = (Vec::new(), Arc::new(AtomicBool::new(false)));
        Utf8Text::new(Slowly(text, step), flag.clone()).read_to_end(&mut found).unwrap();
        (found, flag.load(Ordering::Relaxed))
    }

    #[test]
    fn latin_1_is_told_from_utf_8() {
        for step in 1..8 {
            for text in ["a,b\n1,2\n", "é,ü\n€,ß", "ab€"] {
                assert_eq!(read(text.as_bytes(), step), (text.as_bytes().to_vec(), false));
            }
            for text in ["caf\u{e9},b\n\u{fc}\u{a7},\u{ff}", "x\u{e9}", "\u{d0}\n1"] {
                let latin: Vec<u8> = text.chars().map(|letter| letter as u32 as u8).collect();
                assert_eq!(read(&latin, step), (text.as_bytes().to_vec(), true), "{text}");
            }
            // A text in neither encoding stays invalid UTF-8 for the reader.
            for text in [&b"a\xd0\n\x9e,1"[..], b"\x80", b"\xe9 \xc3\xa9", b"\xc3\xa9 \xe9", b"\xe2\x82"] {
                assert!(std::str::from_utf8(&read(text, step).0).is_err(), "{text:?} by {step}");
            }
        }
    }
}
