//! Recognises the delimiter of a CSV text from its first lines: a comma, a semicolon or a tab.
//!
//! A candidate must occur in the header outside quotes, and equally often in each of the following lines. If several
//! fit, the comma is preferred, then the semicolon. If none fits, the comma is taken, and the reader reports what is
//! wrong.

/// The possible delimiters.
pub(super) const ANY: &[u8] = b",;\t";
/// How many lines are examined.
const LINES: usize = 50;

/// The delimiter of a text that begins like this; `is_whole` if nothing follows.
pub(super) fn delimiter_of(start: &[u8], is_whole: bool) -> u8 {
    let is_even = |delimiter: u8| {
        let counts = counts(start, delimiter, is_whole);
        counts.first().is_some_and(|first| *first > 0 && counts.iter().all(|count| count == first))
    };
    ANY.iter().copied().find(|delimiter| is_even(*delimiter)).unwrap_or(b',')
}

/// The number of delimiters outside quotes in each line that is not blank.
fn counts(text: &[u8], delimiter: u8, is_whole: bool) -> Vec<usize> {
    let (mut counts, mut count, mut length, mut quoted, mut begins) = (Vec::new(), 0, 0, false, true);
    for &byte in text {
        if counts.len() == LINES {
            return counts;
        }
        match byte {
            b'"' if quoted || begins => quoted = !quoted,
            b'\n' | b'\r' if !quoted => {
                if length > 0 {
                    counts.push(count);
                }
                (count, length) = (0, 0);
            }
            byte if byte == delimiter && !quoted => count += 1,
            _ => {}
        }
        length += usize::from(!matches!(byte, b'\n' | b'\r'));
        // A doubled quote inside a quoted cell closes the cell and opens it again.
        begins = byte == delimiter || matches!(byte, b'\n' | b'\r' | b'"');
    }
    if length > 0 && (is_whole || counts.is_empty()) {
        counts.push(count);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_tell_the_delimiter() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1;2\n", b';'),
            ("a\tb\n1\t2", b'\t'),
            ("a;b\n1,5;2,5\n", b';'),
            ("x\n1\n", b','),
            // Names may hold another delimiter.
            ("a;b;c,d\n1,2\n", b','),
            ("\"a,b\";c\n\"1,2\";3\n", b';'),
            ("a;b\n1;2\n3\n", b','),
            ("a;\"b\nc\"\n1;2", b';'),
            ("a;\"b\"\"c;\"\n1;2", b';'),
            ("\n\na;b\n\n1;2\n", b';'),
            ("", b','),
        ] {
            assert_eq!(delimiter_of(text.as_bytes(), true), expected, "{text:?}");
        }
        // A truncated last line does not count.
        assert_eq!(delimiter_of(b"a;b\n1;2\n3", false), b';');
    }
}
