//! A CSV file, checked as it is read: what the CSV crate would accept in silence is an error here.
//!
//! - UTF-8. The crate validates the cells of several rows together, without their separators: half a character at the end
//!   of one cell and the other half at the start of the next would pass, and both cells would be invalid text.
//! - Quotes that are not closed, which would swallow rows ([`Quotes`]).
//! - Blank lines in a file of one column. The crate skips blank lines. With several columns they cannot be rows, but with
//!   one they could be missing values, and everything after them would belong to another row. A missing value of an only
//!   column is written `""`.

use super::quotes::{Quotes, line_ends};
use std::io::{self, Read};

/// A reader that fails if its input is not a proper CSV text.
pub(super) struct CsvText<R> {
    inner: R,
    /// The first bytes of a character that is not complete yet.
    begun: Vec<u8>,
    /// The number of line ends so far.
    lines: usize,
    quotes: Quotes,
    /// For a file of one column: whether its name has been read.
    only_column: Option<bool>,
}

impl<R> CsvText<R> {
    pub(super) fn new(inner: R, columns: usize, delimiter: &'static [u8]) -> Self {
        let only_column = (columns == 1).then_some(false);
        CsvText { inner, begun: Vec::new(), lines: 0, quotes: Quotes::new(delimiter), only_column }
    }

    fn check(&mut self, block: &[u8]) -> io::Result<()> {
        self.check_characters(block)?;
        let mut blank = None;
        let named = &mut self.only_column;
        let scanned = self.quotes.scan(self.lines, block, |before, at, piece| {
            if let Some(named) = named
                && blank.is_none()
            {
                blank = blank_line(before, piece, named).map(|place| at + place);
            }
        });
        scanned.map_err(io::Error::other)?;
        if let Some(at) = blank {
            let line = self.lines + line_ends(&block[..at]) + 1;
            let hint = "in a table of one column a missing value is written \"\"";
            return Err(wrong(format!("line {line} is blank: {hint}")));
        }
        self.lines += line_ends(block);
        Ok(())
    }

    fn check_characters(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let (false, Some((first, rest))) = (self.begun.is_empty(), bytes.split_first()) {
            self.begun.push(*first);
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(self.no_text(0)),
            }
            bytes = rest;
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            let (whole, rest) = bytes.split_at(error.valid_up_to());
            if error.error_len().is_some() {
                return Err(self.no_text(line_ends(whole)));
            }
            self.begun.extend(rest);
        }
        Ok(())
    }

    fn no_text(&self, lines: usize) -> io::Error {
        wrong(format!("line {} is not UTF-8", self.lines + lines + 1))
    }
}

fn wrong(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The end of the first blank line in a text outside quotes, behind the column's name.
fn blank_line(mut before: u8, text: &[u8], named: &mut bool) -> Option<usize> {
    let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    for (place, &byte) in text.iter().enumerate() {
        let is_pair = before == b'\r' && byte == b'\n';
        if *named && is_end(byte) && is_end(before) && !is_pair {
            return Some(place);
        }
        // Of a name in quotes, only the closing one is in front of what is outside.
        *named |= !is_end(byte) || before == b'"';
        before = byte;
    }
    None
}

impl<R: Read> Read for CsvText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            if !self.begun.is_empty() {
                return Err(self.no_text(0));
            }
            self.quotes.end().map_err(io::Error::other)?;
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
                let found = CsvText::new(Slowly(&text, step), 2, b",").read_to_end(&mut read);
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

    #[test]
    fn a_blank_line_could_be_a_row_of_one_column_only() {
        for (text, blank) in [
            ("x\n1\n", None),
            ("x\n1\n\n2\n", Some(3)),
            ("x\r\n1\r\n\r\n2", Some(3)),
            ("\"x\"\n\n1\n", Some(2)),
            ("x\n1\n\n", Some(3)),
            ("\n\r\nx\n1", None),
            ("x\n\"1\n\n2\"\n", None),
            ("x\n\"1\n2\"\n\n", Some(4)),
            ("x\n\"\"\n \n2\n", None),
        ] {
            for step in 1..9 {
                let mut read = String::new();
                let found = CsvText::new(Slowly(text.as_bytes(), step), 1, b",").read_to_string(&mut read);
                let expected = blank.map(|line| {
                    format!("line {line} is blank: in a table of one column a missing value is written \"\"")
                });
                assert_eq!(found.err().map(|error| error.to_string()), expected, "{text:?} by {step}");
                assert!(CsvText::new(Slowly(text.as_bytes(), step), 2, b",").read_to_string(&mut read).is_ok());
            }
        }
    }
}
