//! libsdd's `.sdd` files.
//!
//! After comments (`c ...`) and `sdd N` come N lines, children before parents and the root last: `F ID`, `T ID`, `L ID
//! VTREE LITERAL`, or `D ID VTREE K` followed by K pairs `PRIME SUB`. Ids are arbitrary; vtree ids are those of the
//! matching `.vtree` file.
//!
//! [`SddFile`] holds the nodes and elements in the file's order. Reading checks the form: ids, literals at their
//! leaves, primes left and subs right of their vtree node. Whether primes exclude each other and cover everything
//! depends on their functions; [`SddManager::load`] checks it.

use super::apply::Op;
use super::error::DiagramError;
use super::manager::{Element, Sdd, SddManager};
use super::view::SddNode;
use super::vtree::{Vtree, VtreeId, VtreeNode};
use super::vtree_file::{lines, number};
use crate::lit::{Lit, Watch};
use std::collections::HashMap;
use std::fmt::Write;

/// A node of an [`SddFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileNode {
    /// True or false.
    Constant(bool),
    /// A literal.
    Literal(Lit),
    /// The or, over all elements, of prime and sub.
    Decision {
        /// Its vtree node.
        vtree: VtreeId,
        /// (prime, sub) as indices of earlier nodes, in the file's order.
        elements: Vec<(usize, usize)>,
    },
}

/// The SDD in a file.
///
/// ```
/// use boolshap::diagram::{SddFile, Vtree};
/// let vtree = Vtree::parse("vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n")?;
/// let file = SddFile::parse("sdd 5\nL 1 0 1\nL 4 2 2\nL 2 0 -1\nF 7\nD 3 1 2 1 4 2 7\n", &vtree)?;
/// assert_eq!((file.size(), file.decision_nodes()), (2, 1));
/// # Ok::<(), boolshap::diagram::DiagramError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SddFile {
    nodes: Vec<FileNode>,
    /// The line of each node; 0 if it was not read from text.
    lines: Vec<usize>,
}

impl SddFile {
    /// Reads the text of a `.sdd` file for this vtree.
    pub fn parse(text: &str, vtree: &Vtree) -> Result<Self, DiagramError> {
        let mut file = SddFile { nodes: Vec::new(), lines: Vec::new() };
        let mut index_of = HashMap::new();
        let (mut announced, mut last_line) = (None, 0);
        for (line, words) in lines(text) {
            last_line = line;
            let fail = |problem| DiagramError::SddFile { line, problem };
            let Some(announced) = announced else {
                let ["sdd", count] = words[..] else { return Err(fail("expected `sdd N`".into())) };
                announced = Some(number::<usize>(count, "number of nodes").map_err(fail)?);
                continue;
            };
            if file.nodes.len() == announced {
                return Err(fail(format!("more nodes than the {announced} announced")));
            }
            let (id, node) = file.node(&words, vtree, &index_of).map_err(fail)?;
            if index_of.insert(id, file.nodes.len()).is_some() {
                return Err(fail(format!("node id {id} is repeated")));
            }
            file.nodes.push(node);
            file.lines.push(line);
        }
        let whole = |problem: String| DiagramError::SddFile { line: last_line, problem };
        let announced = announced.ok_or_else(|| whole("the line `sdd N` is missing".into()))?;
        if file.nodes.len() != announced || announced == 0 {
            return Err(whole(format!("the file ends after {} of {announced} nodes", file.nodes.len())));
        }
        Ok(file)
    }

    fn node(&self, words: &[&str], vtree: &Vtree, known: &HashMap<u64, usize>) -> Result<(u64, FileNode), String> {
        let vtree_id = |word: &str| -> Result<VtreeId, String> {
            let id: u32 = number(word, "vtree id")?;
            let count = vtree.node_count();
            if (id as usize) < count {
                Ok(VtreeId(id))
            } else {
                Err(format!("the vtree of {count} nodes has no node {id}"))
            }
        };
        let node = match words {
            ["F", _] => FileNode::Constant(false),
            ["T", _] => FileNode::Constant(true),
            ["L", _, leaf, literal] => {
                let value: i32 = number(literal, "literal")?;
                let literal = Lit::from_dimacs(value).ok_or_else(|| format!("`{value}` is not a literal"))?;
                let leaf = vtree_id(leaf)?;
                if vtree.node(leaf) != VtreeNode::Leaf(literal.var()) {
                    return Err(format!("vtree node {} is not the leaf of literal {value}", leaf.0));
                }
                FileNode::Literal(literal)
            }
            ["D", _, at, count, rest @ ..] => {
                let at = vtree_id(at)?;
                let count: usize = number(count, "number of elements")?;
                let Some((left, right)) = vtree.children(at) else {
                    return Err(format!("vtree node {} is a leaf and has no decisions", at.0));
                };
                if count == 0 || count.checked_mul(2) != Some(rest.len()) {
                    return Err(format!("{count} elements announced, {} ids found", rest.len()));
                }
                let child = |word: &str, side: VtreeId, what: &str| -> Result<usize, String> {
                    let id: u64 = number(word, "node id")?;
                    let index = *known.get(&id).ok_or_else(|| format!("{what} {id} is not defined before its use"))?;
                    match self.vtree_of(index, vtree) {
                        Some(own) if !vtree.is_below(own, side) => {
                            Err(format!("{what} {id} is not below vtree node {}", side.0))
                        }
                        _ if what == "prime" && self.nodes[index] == FileNode::Constant(false) => {
                            Err(format!("prime {id} is false"))
                        }
                        _ => Ok(index),
                    }
                };
                let pairs = rest.chunks_exact(2);
                let elements = pairs.map(|pair| Ok((child(pair[0], left, "prime")?, child(pair[1], right, "sub")?)));
                FileNode::Decision { vtree: at, elements: elements.collect::<Result<_, String>>()? }
            }
            _ => return Err("expected `F ID`, `T ID`, `L ID VTREE LITERAL` or `D ID VTREE K PRIME SUB ...`".into()),
        };
        Ok((number(words[1], "node id")?, node))
    }

    /// The vtree node of a node; `None` for constants.
    fn vtree_of(&self, index: usize, vtree: &Vtree) -> Option<VtreeId> {
        match self.nodes[index] {
            FileNode::Constant(_) => None,
            FileNode::Literal(literal) => Some(vtree.leaf(literal.var())),
            FileNode::Decision { vtree, .. } => Some(vtree),
        }
    }

    /// The nodes, children before parents.
    pub fn nodes(&self) -> &[FileNode] {
        &self.nodes
    }

    /// The index of the root: it is the last node.
    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The number of elements in all decisions.
    pub fn size(&self) -> usize {
        let length = |node: &FileNode| if let FileNode::Decision { elements, .. } = node { elements.len() } else { 0 };
        self.nodes.iter().map(length).sum()
    }

    /// The number of decisions.
    pub fn decision_nodes(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, FileNode::Decision { .. })).count()
    }

    /// The text of a `.sdd` file that matches [`Vtree::to_file_text`] of the same vtree.
    pub fn to_file_text(&self, vtree: &Vtree) -> String {
        let mut text = String::from("c children before parents, the last node is the root; D ID VTREE K {PRIME SUB}\n");
        let _ = writeln!(text, "sdd {}", self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let _ = match node {
                FileNode::Constant(value) => write!(text, "{} {index}", if *value { 'T' } else { 'F' }),
                FileNode::Literal(literal) => {
                    let leaf = vtree.position(vtree.leaf(literal.var()));
                    write!(text, "L {index} {leaf} {}", literal.to_dimacs())
                }
                FileNode::Decision { vtree: at, elements } => {
                    let _ = write!(text, "D {index} {} {}", vtree.position(*at), elements.len());
                    elements.iter().try_for_each(|(prime, sub)| write!(text, " {prime} {sub}"))
                }
            };
            text.push('\n');
        }
        text
    }
}

impl SddManager {
    /// The SDD as a file.
    pub fn to_file(&self, root: Sdd) -> SddFile {
        let order = self.topological_order(&[root]);
        let index_of: HashMap<Sdd, usize> = order.iter().enumerate().map(|(index, &sdd)| (sdd, index)).collect();
        let node = |&sdd: &Sdd| match self.node(sdd) {
            SddNode::Constant(value) => FileNode::Constant(value),
            SddNode::Literal(literal) => FileNode::Literal(literal),
            SddNode::Decision { vtree, elements } => {
                let elements = elements.iter().map(|e| (index_of[&e.prime], index_of[&e.sub])).collect();
                FileNode::Decision { vtree, elements }
            }
        };
        SddFile { lines: vec![0; order.len()], nodes: order.iter().map(node).collect() }
    }

    /// Loads an SDD from a file into this manager, whose vtree must still be the one the file was read with. Rejects
    /// decisions whose primes overlap or do not cover everything; compresses and trims the others if necessary.
    pub fn load(&mut self, file: &SddFile, watch: &Watch<'_>) -> Result<Sdd, DiagramError> {
        let mut loaded: Vec<Sdd> = Vec::with_capacity(file.nodes.len());
        for (node, &line) in file.nodes.iter().zip(&file.lines) {
            let sdd = match node {
                FileNode::Constant(value) => self.constant(*value),
                FileNode::Literal(literal) => self.literal(*literal)?,
                FileNode::Decision { vtree, elements } => {
                    let fail = |problem: &str| Err(DiagramError::SddFile { line, problem: problem.into() });
                    let mut covered = Sdd::FALSE;
                    let mut pairs = Vec::with_capacity(elements.len());
                    for &(prime, sub) in elements {
                        let (prime, sub) = (loaded[prime], loaded[sub]);
                        if prime == Sdd::FALSE {
                            return fail("a prime is false");
                        }
                        if self.apply(Op::And, covered, prime, watch)? != Sdd::FALSE {
                            return fail("two primes can be true together");
                        }
                        covered = self.apply(Op::Or, covered, prime, watch)?;
                        pairs.push(Element { prime, sub });
                    }
                    if covered != Sdd::TRUE {
                        return fail("the primes do not cover every case");
                    }
                    self.decision(*vtree, &mut pairs, watch)?
                }
            };
            loaded.push(sdd);
        }
        Ok(loaded[file.root()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VTREE: &str = "vtree 5\nL 0 1\nL 2 2\nI 1 0 2\nL 4 3\nI 3 1 4\n";

    #[test]
    fn malformed_files_are_refused_with_their_line() {
        let cases = [
            ("", 0, "missing"),
            ("sdd\n", 1, "expected `sdd N`"),
            ("sdd 0\n", 1, "0 of 0"),
            ("sdd 2\nT 0\n", 2, "ends after 1 of 2"),
            ("sdd 1\nT 0\nF 1\n", 3, "more nodes than the 1"),
            ("sdd 2\nT 0\nF 0\n", 3, "id 0 is repeated"),
            ("sdd 1\nT x\n", 2, "`x` is not a node id"),
            ("sdd 1\nX 0\n", 2, "expected `F ID`"),
            ("sdd 1\nL 0 0 0\n", 2, "`0` is not a literal"),
            ("sdd 1\nL 0 2 1\n", 2, "not the leaf of literal 1"),
            ("sdd 1\nL 0 0 9\n", 2, "not the leaf of literal 9"),
            ("sdd 1\nL 0 9 1\n", 2, "has no node 9"),
            ("c x\nsdd 3\nL 0 0 1\nL 1 2 2\nD 2 1 2 0 1\n", 5, "2 elements announced, 2 ids"),
            ("sdd 3\nL 0 0 1\nL 1 2 2\nD 2 1 1 0 7\n", 4, "sub 7 is not defined"),
            ("sdd 3\nL 0 0 1\nL 1 2 2\nD 2 1 1 1 0\n", 4, "prime 1 is not below vtree node 0"),
            ("sdd 3\nL 0 0 1\nL 1 2 2\nD 2 0 1 0 1\n", 4, "is a leaf"),
            ("sdd 3\nF 0\nL 1 2 2\nD 2 1 1 0 1\n", 4, "prime 0 is false"),
            ("sdd 1\nD 2 1 0\n", 2, "0 elements"),
            ("sdd 1\nD 2 1 18446744073709551615 0\n", 2, "elements announced"),
        ];
        let vtree = Vtree::parse(VTREE).unwrap();
        for (text, at, part) in cases {
            match SddFile::parse(text, &vtree) {
                Err(DiagramError::SddFile { line, problem }) => {
                    assert!(line == at && problem.contains(part), "{text:?}: line {line}: {problem}");
                }
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn primes_that_do_not_form_a_partition_are_refused() {
        let vtree = Vtree::parse(VTREE).unwrap();
        let cases = [
            ("sdd 3\nL 0 0 1\nL 1 2 2\nD 2 1 1 0 1\n", "do not cover"),
            ("sdd 4\nL 0 0 1\nL 1 2 2\nT 3\nD 2 1 2 0 1 3 1\n", "true together"),
        ];
        for (text, part) in cases {
            let file = SddFile::parse(text, &vtree).unwrap();
            let error = SddManager::new(vtree.clone()).load(&file, &Watch::unlimited()).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert!(matches!(error, DiagramError::SddFile { line: 4 | 5, .. }), "{error}");
        }
    }

    #[test]
    fn untrimmed_and_uncompressed_files_are_loaded_as_canonical_nodes() {
        let vtree = Vtree::parse(VTREE).unwrap();
        let text = "sdd 4\nL 0 0 1\nL 1 0 -1\nL 2 2 2\nD 3 1 2 0 2 1 2\n";
        let file = SddFile::parse(text, &vtree).unwrap();
        assert_eq!((file.size(), file.decision_nodes(), file.root()), (2, 1, 3));
        let mut sdds = SddManager::new(vtree);
        let root = sdds.load(&file, &Watch::unlimited()).unwrap();
        assert_eq!(sdds.node(root), SddNode::Literal(Lit::from_dimacs(2).unwrap()));
    }
}
