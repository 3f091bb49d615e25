//! Which bytes of a CSV text are inside quotes, found block by block as the text is read.
//!
//! A quote where a cell begins opens it; anywhere else outside it is text. Inside, two quotes are one of the text, and a
//! single one closes the cell. The CSV crate lets a cell that is never closed end with the file, and adds what follows a
//! closing quote to the cell: either way a forgotten quote swallows rows in silence. Here a cell that is never closed is
//! an error, and so is one of several lines that is closed in front of more text.
//!
//! Cost: a search for quotes, and a few comparisons for each.

use memchr::memchr_iter;

/// Where the text is, between two blocks.
pub(super) struct Quotes {
    /// What can separate cells.
    delimiters: &'static [u8],
    place: Place,
    /// The last byte; a line end before the first one.
    last: u8,
    /// The line of the quote that opened the cell, counted from 1, if the text is in a cell.
    opened: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Outside,
    Inside,
    /// Behind a quote that closes the cell, unless another one follows.
    Closing,
}

/// A quote that opens a cell in this line, and is not closed where a cell can end.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("line {0}: a quote opens a cell here and is not closed in front of a {1} or a line end")]
pub(super) struct Unclosed(usize, &'static str);

impl Quotes {
    pub(super) fn new(delimiters: &'static [u8]) -> Self {
        Quotes { delimiters, place: Place::Outside, last: b'\n', opened: 0 }
    }

    fn ends_a_cell(&self, byte: u8) -> bool {
        matches!(byte, b'\n' | b'\r') || self.delimiters.contains(&byte)
    }

    fn unclosed(&self, line: usize) -> Unclosed {
        let name = match self.delimiters {
            [b';'] => "semicolon",
            [b'\t'] => "tab",
            _ => "comma",
        };
        Unclosed(line, name)
    }

    /// Takes the next block, which begins after `lines` line ends. Shows the parts of it that are outside quotes, each
    /// with the byte before it and its place in the block.
    pub(super) fn scan(
        &mut self,
        lines: usize,
        block: &[u8],
        mut outside: impl FnMut(u8, usize, &[u8]),
    ) -> Result<(), Unclosed> {
        let last = self.last;
        let before = |at: usize| if at == 0 { last } else { block[at - 1] };
        // Where the text outside begins, which quotes are dealt with, and where the cell was opened if in this block.
        let (mut from, mut done, mut opened) = (0, 0, None);
        match (self.place, block.first()) {
            (_, None) => return Ok(()),
            (Place::Closing, Some(b'"')) => (self.place, done) = (Place::Inside, 1),
            (Place::Closing, Some(next)) => self.close(*next, lines, block, 0, None)?,
            _ => {}
        }
        for at in memchr_iter(b'"', block) {
            if at < done {
                continue;
            }
            if self.place == Place::Outside {
                if self.ends_a_cell(before(at)) {
                    outside(before(from), from, &block[from..at]);
                    (self.place, opened) = (Place::Inside, Some(at));
                }
                continue;
            }
            match block.get(at + 1) {
                Some(b'"') => done = at + 2,
                Some(next) => {
                    self.close(*next, lines, block, at, opened)?;
                    from = at + 1;
                }
                None => self.place = Place::Closing,
            }
        }
        if self.place == Place::Outside {
            outside(before(from), from, &block[from..]);
        } else if let Some(at) = opened {
            self.opened = line_of(lines, block, at);
        }
        self.last = block[block.len() - 1];
        Ok(())
    }

    /// Closes a cell with the quote at this place, in front of the byte `next`.
    fn close(
        &mut self,
        next: u8,
        lines: usize,
        block: &[u8],
        at: usize,
        opened: Option<usize>,
    ) -> Result<(), Unclosed> {
        self.place = Place::Outside;
        let is_broken = || {
            let in_earlier_blocks = opened.is_none() && self.opened <= lines;
            in_earlier_blocks || block[opened.unwrap_or(0)..at].contains(&b'\n')
        };
        match self.ends_a_cell(next) || !is_broken() {
            true => Ok(()),
            false => Err(self.unclosed(opened.map_or(self.opened, |opened| line_of(lines, block, opened)))),
        }
    }

    /// Takes the end of the text.
    pub(super) fn end(&self) -> Result<(), Unclosed> {
        if self.place == Place::Inside { Err(self.unclosed(self.opened)) } else { Ok(()) }
    }
}

/// The number of line ends.
pub(super) fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// The line of a place in a block that begins after `lines` line ends.
fn line_of(lines: usize, block: &[u8], at: usize) -> usize {
    lines + line_ends(&block[..at]) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends_a_cell(byte: u8) -> bool {
        matches!(byte, b',' | b'\n' | b'\r')
    }

    /// The same byte by byte: which are outside, and the line of the cell that is not closed.
    fn simply(text: &[u8]) -> (Vec<bool>, Result<(), Unclosed>) {
        let (mut outside, mut opened, mut line, mut at) = (vec![true; text.len()], None, 1, 0);
        while at < text.len() {
            let begins = at == 0 || ends_a_cell(text[at - 1]);
            match (text[at], opened) {
                (b'"', None) if begins => (outside[at], opened) = (false, Some(line)),
                (b'"', Some(_)) if text.get(at + 1) == Some(&b'"') => {
                    (outside[at], outside[at + 1]) = (false, false);
                    at += 1;
                }
                (b'"', Some(first)) => {
                    (outside[at], opened) = (false, None);
                    if line > first && text.get(at + 1).is_some_and(|next| !ends_a_cell(*next)) {
                        return (outside, Err(Unclosed(first, "comma")));
                    }
                }
                (_, Some(_)) => outside[at] = false,
                _ => {}
            }
            line += usize::from(text[at] == b'\n');
            at += 1;
        }
        (outside, opened.map_or(Ok(()), |first| Err(Unclosed(first, "comma"))))
    }

    fn scanned(text: &[u8], step: usize) -> (Vec<bool>, Result<(), Unclosed>) {
        let (mut outside, mut quotes, mut start) = (vec![false; text.len()], Quotes::new(b","), 0);
        for block in text.chunks(step) {
            let seen = quotes.scan(line_ends(&text[..start]), block, |before, at, piece| {
                let at = start + at;
                assert_eq!(before, if at == 0 { b'\n' } else { text[at - 1] });
                assert_eq!(piece, &text[at..at + piece.len()]);
                outside[at..at + piece.len()].fill(true);
            });
            if seen.is_err() {
                return (outside, seen);
            }
            start += block.len();
        }
        (outside, quotes.end())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn blocks_of_every_size_agree_with_byte_by_byte(text in "[a,\"\"\n\r]{0,24}", step in 1..9usize) {
            let (outside, end) = simply(text.as_bytes());
            let (found, found_end) = scanned(text.as_bytes(), step);
            prop_assert_eq!(&found_end, &end);
            if end.is_ok() {
                prop_assert_eq!(found, outside);
            }
        }
    }

    #[test]
    fn a_quote_that_swallows_rows_is_named() {
        for (text, line) in [
            ("a,b\n1,\"x\n2,y\n", Some(2)),
            ("a,b\n1,x\n2,y\n3,\"", Some(4)),
            // The next quoted cell closes it, and more text follows.
            ("a,b\n1,\"x\n2,\"y\"\n", Some(2)),
            ("a,b\n1,\"x\n\ny\"\n2,\"a \"\"b\"\"\"\n", None),
            ("a,b\n1,x\"\n2,5\" pipe\n", None),
            ("a,b\n1,\"x\" y\n", None),
        ] {
            for step in 1..20 {
                assert_eq!(scanned(text.as_bytes(), step).1.err().map(|Unclosed(line, _)| line), line, "{text}");
            }
        }
    }
}
