//! DIMACS CNF files, read line by line from any source and written to any sink.
//!
//! Lines that begin with `c` are comments and may appear anywhere; within a line, a separate word `c` makes the rest of
//! the line a comment. There is one header `p cnf VARIABLES CLAUSES` before the first clause; clauses are nonzero
//! integers ended by `0`, on one or several lines; a separate `%` ends the file early, as in the SATLIB collection.
//! Both counts of the header are checked. A clause that contains a variable with both signs is counted but not kept,
//! since it is always true; repeated literals count once. Extensions for model counters in comments (`c p show`,
//! `c p weight`) are ignored: they do not change the formula.

use std::io::{self, BufRead, Write};

use super::clause::Clause;
use super::cnf::Cnf;
use super::error::FormulaError;
use crate::lit::Lit;

/// Reads a formula; error messages call the source `name`.
///
/// ```
/// let cnf = boolshap::formula::read_dimacs(&b"c two clauses\np cnf 3 2\n1 -2 0 3\n0\n"[..], "two.cnf").unwrap();
/// assert_eq!((cnf.variables(), cnf.len()), (3, 2));
/// let error = boolshap::formula::read_dimacs(&b"p cnf 3 1\n1 x2 0\n"[..], "bad.cnf").unwrap_err();
/// assert_eq!(error.to_string(), "bad.cnf, line 2: `x2` is not a literal");
/// ```
pub fn read_dimacs(mut source: impl BufRead, name: &str) -> Result<Cnf, FormulaError> {
    let mut reader = Reader { header: None, cnf: Cnf::new(0), read: 0, open: Vec::new() };
    let mut bytes = Vec::new();
    let mut line = 0;
    loop {
        bytes.clear();
        let length = source
            .read_until(b'\n', &mut bytes)
            .map_err(|source| FormulaError::Read { name: name.to_owned(), source })?;
        line += usize::from(length > 0);
        let outcome = if length == 0 { Ok(Next::End) } else { reader.take(&String::from_utf8_lossy(&bytes)) };
        let problem = match outcome {
            Ok(Next::Line) => continue,
            Ok(Next::End) => match reader.end() {
                Ok(()) => return Ok(reader.cnf),
                Err(problem) => problem,
            },
            Err(problem) => problem,
        };
        return Err(FormulaError::Dimacs { name: name.to_owned(), line, problem });
    }
}

/// Writes a formula: the header, then one clause per line.
pub fn write_dimacs(cnf: &Cnf, mut sink: impl Write) -> io::Result<()> {
    writeln!(sink, "p cnf {} {}", cnf.variables(), cnf.len())?;
    for clause in cnf.clauses() {
        for lit in clause.lits() {
            write!(sink, "{} ", lit.to_dimacs())?;
        }
        writeln!(sink, "0")?;
    }
    sink.flush()
}

enum Next {
    Line,
    End,
}

struct Reader {
    /// The announced numbers of variables and clauses.
    header: Option<(usize, usize)>,
    cnf: Cnf,
    /// The number of clauses read, including those that are always true.
    read: usize,
    /// The literals of the unfinished clause.
    open: Vec<Lit>,
}

impl Reader {
    fn take(&mut self, line: &str) -> Result<Next, String> {
        if line.trim_start().starts_with('c') {
            return Ok(Next::Line);
        }
        let mut tokens = line.split_ascii_whitespace();
        while let Some(token) = tokens.next() {
            match token {
                "c" => return Ok(Next::Line),
                "%" => return Ok(Next::End),
                "p" => return self.take_header(tokens),
                _ => self.take_literal(token)?,
            }
        }
        Ok(Next::Line)
    }

    fn take_header<'a>(&mut self, mut tokens: impl Iterator<Item = &'a str>) -> Result<Next, String> {
        if self.header.is_some() {
            return Err("there is a second header `p`".to_owned());
        }
        match tokens.next() {
            Some("cnf") => {}
            Some(other) => return Err(format!("`{other}` instead of `cnf` in the header")),
            None => return Err("`p` without `cnf VARIABLES CLAUSES`".to_owned()),
        }
        let variables = count(tokens.next(), "variables")?;
        if variables > i32::MAX as usize {
            return Err(format!("`{variables}` variables are more than the limit of {}", i32::MAX));
        }
        let clauses = count(tokens.next(), "clauses")?;
        match tokens.next() {
            None | Some("c") => {}
            Some(extra) => return Err(format!("`{extra}` after the header")),
        }
        self.header = Some((variables, clauses));
        self.cnf = Cnf::new(variables);
        Ok(Next::Line)
    }

    fn take_literal(&mut self, token: &str) -> Result<(), String> {
        let number: i32 = token.parse().map_err(|_| format!("`{token}` is not a literal"))?;
        let Some((variables, clauses)) = self.header else {
            return Err(format!("`{token}` before the header `p cnf VARIABLES CLAUSES`"));
        };
        if self.read == clauses {
            return Err(format!("`{token}` after the last of {clauses} announced clauses"));
        }
        match Lit::from_dimacs(number) {
            Some(lit) if lit.var().index() < variables => self.open.push(lit),
            Some(_) => return Err(format!("literal `{token}`, but the header announced {variables} variables")),
            None if number != 0 => return Err(format!("`{token}` is not a literal")),
            None => {
                self.read += 1;
                if let Some(clause) = Clause::new(self.open.drain(..)) {
                    self.cnf.push(clause);
                }
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        let Some((_, clauses)) = self.header else {
            return Err("the header `p cnf VARIABLES CLAUSES` is missing".to_owned());
        };
        if let Some(last) = self.open.last() {
            return Err(format!("the file ends after `{}`, before the clause's closing `0`", last.to_dimacs()));
        }
        if self.read != clauses {
            return Err(format!("the file ends after {} clauses, but the header announced {clauses}", self.read));
        }
        Ok(())
    }
}

fn count(token: Option<&str>, what: &str) -> Result<usize, String> {
    let token = token.ok_or_else(|| format!("the number of {what} is missing in the header"))?;
    token.parse().map_err(|_| format!("`{token}` is not a number of {what}"))
}

#[cfg(test)]
mod tests {
    use super::super::cnf::tests::formulas;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_files_are_read() {
        let cases: [(&str, usize, &[&[i32]]); 7] = [
            ("p cnf 0 0\n", 0, &[]),
            ("c one\np cnf 3 2\nc two\n1 -3\nc three\n0 2 0\nc four\n", 3, &[&[1, -3], &[2]]),
            ("p cnf 2 1 c header\n\n  \t-2 1 0 c comment\n", 2, &[&[1, -2]]),
            ("p  cnf\t4 1\r\n4 0\r\n%\r\n0\r\n\r\n", 4, &[&[4]]),
            ("p cnf 5 1\n0\n", 5, &[&[]]),
            ("p cnf 2 2\n1 -1 2 0\n2 2 0", 2, &[&[2]]),
            ("p cnf 2147483647 1\n-2147483647 0", 2147483647, &[&[-2147483647]]),
        ];
        for (text, variables, clauses) in cases {
            let cnf = read_dimacs(text.as_bytes(), "t").unwrap();
            assert_eq!(cnf.variables(), variables, "{text}");
            let expected: Vec<Clause> = clauses.iter().map(|clause| Clause::from_dimacs(clause).unwrap()).collect();
            assert_eq!(cnf.clauses().cloned().collect::<Vec<_>>(), expected, "{text}");
        }
        assert!(read_dimacs(&b"c \xff\xfe\np cnf 1 1\n1 0\n"[..], "t").is_ok(), "comments need not be UTF-8");
    }

    #[test]
    fn errors_name_the_line_and_the_token() {
        let cases = [
            ("", 0, "CLAUSES` is missing"),
            ("c only\n", 1, "CLAUSES` is missing"),
            ("1 0\n", 1, "`1` before the header"),
            ("p\n", 1, "`p` without"),
            ("p dnf 1 1\n", 1, "`dnf`"),
            ("p cnf\n", 1, "number of variables is missing"),
            ("p cnf 1\n", 1, "number of clauses is missing"),
            ("p cnf -1 1\n", 1, "`-1`"),
            ("p cnf 1 x\n", 1, "`x`"),
            ("p cnf 1 1 1\n", 1, "`1` after the header"),
            ("p cnf 2147483648 1\n", 1, "`2147483648`"),
            ("p cnf 1 1\np cnf 1 1\n", 2, "second header"),
            ("p cnf 1 1\n1.0 0\n", 2, "`1.0`"),
            ("p cnf 1 1\n-2147483648 0\n", 2, "`-2147483648`"),
            ("p cnf 1 1\n99999999999 0\n", 2, "`99999999999`"),
            ("p cnf 3 1\n1\n-4 0\n", 3, "`-4`, but the header announced 3"),
            ("p cnf 3 1\n1 0\n2 0\n", 3, "`2` after the last of 1"),
            ("p cnf 3 2\n1 0\n", 2, "after 1 clauses, but the header announced 2"),
            ("p cnf 3 1\n1\n-2\n", 3, "after `-2`"),
            ("p cnf 3 1\n1 % 0\n", 2, "after `1`"),
        ];
        for (text, line, problem) in cases {
            let error = read_dimacs(text.as_bytes(), "t.cnf").unwrap_err().to_string();
            assert!(error.starts_with(&format!("t.cnf, line {line}: ")) && error.contains(problem), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn written_files_are_read_back(cnf in formulas(6, 12, 17)) {
            let mut file = Vec::new();
            write_dimacs(&cnf, &mut file).unwrap();
            prop_assert_eq!(read_dimacs(&file[..], "t").unwrap(), cnf);
        }
    }
}
