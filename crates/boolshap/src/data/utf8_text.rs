//! UTF-8 validation of a CSV file as it is read.
//!
//! The CSV crate validates the cells of several rows together, without their separators: half a character at the end of
//! one cell and the other half at the start of the next would pass, and both cells would be invalid text. In the file
//! the halves are separated, so the file itself is validated, at almost no cost.

use std::io::{self, Read};

/// A reader that fails if its input is not UTF-8.
pub(super) struct Utf8Text<R> {
    inner: R,
    /// The first bytes of a character that is not complete yet.
    begun: Vec<u8>,
    /// The number of line ends so far.
    lines: usize,
}

impl<R> Utf8Text<R> {
    pub(super) fn new(inner: R) -> Self {
        Utf8Text { inner, begun: Vec::new(), lines: 0 }
    }

    fn check(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let (false, Some((first, rest))) = (self.begun.is_empty(), bytes.split_first()) {
            self.begun.push(*first);
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(self.wrong(0)),
            }
            bytes = rest;
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            let (whole, rest) = bytes.split_at(error.valid_up_to());
            if error.error_len().is_some() {
                return Err(self.wrong(line_ends(whole)));
            }
            self.begun.extend(rest);
        }
        self.lines += line_ends(bytes);
        Ok(())
    }

    fn wrong(&self, lines: usize) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {} is not UTF-8", self.lines + lines + 1))
    }
}

fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

impl<R: Read> Read for Utf8Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && !self.begun.is_empty() {
            return Err(self.wrong(0));
        }
        self.check(&buffer[..count])?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns at most this many bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn pieces_of_every_size_agree_with_the_whole_text() {
        let good = "a,b\né,€\n😀,x\n".as_bytes().to_vec();
        let mut texts = vec![good.clone(), b"a,b\n\xd0\n\x9e,1\n".to_vec(), b"\xff".to_vec(), b"a\n\xe2\x82".to_vec()];
        texts.extend((0..good.len()).map(|cut| good[..cut].to_vec()));
        texts.extend((0..good.len()).map(|at| [&good[..at], b"\x80", &good[at..]].concat()));
        for text in texts {
            for step in 1..8 {
                let mut read = Vec::new();
                let found = Utf8Text::new(Slowly(&text, step)).read_to_end(&mut read);
                match std::str::from_utf8(&text) {
                    Ok(_) => assert_eq!(read, text),
                    Err(error) => {
                        let line = line_ends(&text[..error.valid_up_to()]) + 1;
                        assert_eq!(found.unwrap_err().to_string(), format!("line {line} is not UTF-8"));
                    }
                }
            }
        }
    }
}
