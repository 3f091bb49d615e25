//! libsdd's `.vtree` files.
//!
//! After comments (`c ...`) and `vtree N` come N lines, children before parents and the root last: `L ID VARIABLE` or
//! `I ID LEFT RIGHT`, with ids 0 .. N and variables from 1. `.sdd` files refer to these ids, so reading keeps them as
//! [`VtreeId`]s. Writing uses in-order positions as ids, as libsdd does.

use super::error::DiagramError;
use super::vtree::{Vtree, VtreeId, VtreeNode};
use crate::lit::Var;
use std::fmt::Write;

/// The lines of a libsdd file except comments and empty lines, with their numbers from 1, split at white space.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let words = text.lines().enumerate().map(|(index, line)| (index + 1, line.split_whitespace().collect::<Vec<_>>()));
    words.filter(|(_, words)| words.first().is_some_and(|&word| word != "c"))
}

/// Parses a number; the error says what was expected.
pub(super) fn number<T: std::str::FromStr>(word: &str, what: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is not a {what}"))
}

impl Vtree {
    /// Reads the text of a `.vtree` file; a node's [`VtreeId`] is its id in the file.
    ///
    /// ```
    /// use boolshap::diagram::Vtree;
    /// let vtree = Vtree::parse("vtree 3\nL 0 2\nL 2 1\nI 1 0 2\n")?;
    /// assert_eq!(vtree.to_file_text()?.lines().last(), Some("I 1 0 2"));
    /// # Ok::<(), boolshap::diagram::DiagramError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DiagramError> {
        let mut reader = Reader { nodes: Vec::new(), has_parent: Vec::new(), variable_seen: Vec::new(), read: 0 };
        let (mut announced, mut last, mut last_line) = (None, None, 0);
        for (line, words) in lines(text) {
            last_line = line;
            let fail = |problem| DiagramError::VtreeFile { line, problem };
            if announced.is_none() {
                let [word, count] = words[..] else { return Err(fail("expected `vtree N`".into())) };
                if word != "vtree" {
                    return Err(fail(format!("expected `vtree N`, found `{word}`")));
                }
                let count: usize = number(count, "number of nodes").map_err(fail)?;
                // Bounds the memory: no valid file has more nodes than bytes.
                if count.is_multiple_of(2) || count > text.len() {
                    return Err(fail(format!("a vtree in a file of this length cannot have {count} nodes")));
                }
                reader.nodes = vec![None; count];
                reader.has_parent = vec![false; count];
                reader.variable_seen = vec![false; count.div_ceil(2)];
                announced = Some(count);
            } else {
                last = Some(reader.node(&words).map_err(fail)?);
            }
        }
        let whole = |problem: String| DiagramError::VtreeFile { line: last_line, problem };
        let announced = announced.ok_or_else(|| whole("the line `vtree N` is missing".into()))?;
        let nodes: Vec<VtreeNode> = reader.nodes.into_iter().flatten().collect();
        if nodes.len() != announced {
            return Err(whole(format!("the file ends after {} of {announced} nodes", nodes.len())));
        }
        // Children come first and have one parent each, so a single root means a single tree.
        let roots: Vec<usize> = (0..announced).filter(|&id| !reader.has_parent[id]).collect();
        if roots.len() != 1 || Some(roots[0]) != last {
            return Err(whole(format!("the last node is not the only root: nodes without a parent are {roots:?}")));
        }
        Ok(Vtree::from_nodes(nodes, Some(VtreeId(roots[0] as u32))))
    }

    /// The text of a `.vtree` file.
    pub fn to_file_text(&self) -> Result<String, DiagramError> {
        if self.root().is_none() {
            return Err(DiagramError::EmptyVtree);
        }
        let mut text =
            String::from("c ids of vtree nodes start at 0, ids of variables at 1; children before parents\n");
        let _ = writeln!(text, "vtree {}", self.node_count());
        for id in self.post_order() {
            let _ = match self.node(id) {
                VtreeNode::Leaf(var) => writeln!(text, "L {} {}", self.position(id), var.to_dimacs()),
                VtreeNode::Inner(left, right) => {
                    let [id, left, right] = [id, left, right].map(|id| self.position(id));
                    writeln!(text, "I {id} {left} {right}")
                }
            };
        }
        Ok(text)
    }
}

struct Reader {
    nodes: Vec<Option<VtreeNode>>,
    has_parent: Vec<bool>,
    variable_seen: Vec<bool>,
    read: usize,
}

impl Reader {
    /// Reads one node line and returns its id.
    fn node(&mut self, words: &[&str]) -> Result<usize, String> {
        let count = self.nodes.len();
        if self.read == count {
            return Err(format!("more nodes than the {count} announced"));
        }
        self.read += 1;
        let id = match words {
            ["L", id, _] | ["I", id, _, _] => number::<usize>(id, "vtree id")?,
            _ => return Err("expected `L ID VARIABLE` or `I ID LEFT RIGHT`".into()),
        };
        if id >= count {
            return Err(format!("vtree id {id} is not below the number of nodes, {count}"));
        }
        if self.nodes[id].is_some() {
            return Err(format!("vtree id {id} is repeated"));
        }
        let node = match words {
            ["L", _, variable] => {
                let number: usize = number(variable, "variable")?;
                let variables = self.variable_seen.len();
                let seen = number.checked_sub(1).and_then(|index| self.variable_seen.get_mut(index));
                let seen = seen.ok_or_else(|| format!("variable {number} is not in 1 to {variables}"))?;
                if std::mem::replace(seen, true) {
                    return Err(format!("variable {number} is repeated"));
                }
                VtreeNode::Leaf(Var::new(number - 1))
            }
            [_, _, left, right] => VtreeNode::Inner(self.child(left)?, self.child(right)?),
            _ => return Err("expected `L ID VARIABLE` or `I ID LEFT RIGHT`".into()),
        };
        self.nodes[id] = Some(node);
        Ok(id)
    }

    fn child(&mut self, word: &str) -> Result<VtreeId, String> {
        let id: usize = number(word, "vtree id")?;
        if self.nodes.get(id).is_none_or(Option::is_none) {
            return Err(format!("child {id} is not defined before its use"));
        }
        if std::mem::replace(&mut self.has_parent[id], true) {
            return Err(format!("node {id} has two parents"));
        }
        Ok(VtreeId(id as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_read_back() {
        for vtree in [Vtree::balanced(1), Vtree::balanced(6), Vtree::left_linear(5), Vtree::random(20, 4)] {
            let text = vtree.to_file_text().unwrap();
            let again = Vtree::parse(&text).unwrap();
            assert_eq!(again.to_file_text().unwrap(), text);
            assert_eq!(again.variable_order(), vtree.variable_order());
        }
        assert_eq!(Vtree::balanced(0).to_file_text(), Err(DiagramError::EmptyVtree));
    }

    #[test]
    fn malformed_files_are_refused_with_their_line() {
        let cases = [
            ("", 0, "missing"),
            ("c only\n", 0, "missing"),
            ("L 0 1\n", 1, "expected `vtree N`"),
            ("vtree two\n", 1, "not a number of nodes"),
            ("vtree 2\nL 0 1\nL 1 2\n", 1, "2 nodes"),
            ("vtree 999999999\nL 0 1\n", 1, "999999999 nodes"),
            ("vtree 3\nL 0 1\nL 2 2\n", 3, "ends after 2 of 3"),
            ("vtree 1\nL 0 1\nL 0 1\n", 3, "more nodes than the 1"),
            ("vtree 3\nL 0 1\nL 0 2\nI 1 0 2\n", 3, "id 0 is repeated"),
            ("vtree 3\nL 0 1\nL 2 1\nI 1 0 2\n", 3, "variable 1 is repeated"),
            ("vtree 3\nL 0 1\nL 2 3\nI 1 0 2\n", 3, "variable 3 is not in"),
            ("vtree 3\nL 0 0\nL 2 1\nI 1 0 2\n", 2, "variable 0 is not in"),
            ("vtree 3\nL 0 1\nL 7 2\nI 1 0 2\n", 3, "not below"),
            ("vtree 3\nL 0 1\nI 1 0 2\nL 2 2\n", 3, "not defined before its use"),
            ("vtree 3\nL 0 1\nL 2 2\nI 1 0 0\n", 4, "two parents"),
            ("vtree 3\nL 0 1\nL 2 2\nI 1 0\n", 4, "expected `L ID"),
            ("vtree 3\nL 0 1\nL -2 2\nI 1 0 2\n", 3, "`-2` is not a vtree id"),
            ("vtree 5\nL 0 1\nL 1 2\nI 2 0 1\nL 3 3\nL 4 2\n", 6, "variable 2 is repeated"),
        ];
        for (text, at, part) in cases {
            match Vtree::parse(text) {
                Err(DiagramError::VtreeFile { line, problem }) => {
                    assert!(line == at && problem.contains(part), "{text:?}: line {line}: {problem}");
                }
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }
}
