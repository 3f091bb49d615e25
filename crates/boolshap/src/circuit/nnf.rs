//! c2d's NNF format, which d-DNNF compilers and reasoners exchange.
//!
//! `nnf NODES EDGES VARS`, then one node per line, children before parents and the root last: `L lit`, `A k id...`, `O
//! j k id...` where j is the variable that the or-gate decides on, or 0. `A 0` is true and `O 0 0` false. Lines that
//! start with `c` are comments. The number of edges in the header is ignored, as dsharp's is sometimes off by one. The
//! format has no decision nodes: they are written as gates.

use super::error::syntax;
use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId, expand_decisions};
use crate::lit::Lit;
use std::io::{BufRead, Write};

/// Reads a circuit. That its gates are deterministic and decomposable is not checked here, but by
/// [`check`](super::check).
///
/// ```
/// use boolshap::circuit::read_nnf;
/// let circuit = read_nnf("nnf 3 2 2\nL -1\nL 2\nA 2 0 1\n".as_bytes())?;
/// assert_eq!(circuit.truth_table()?, [0b0100]);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub fn read_nnf(mut input: impl BufRead) -> Result<Circuit, CircuitError> {
    let mut reader: Option<Reader> = None;
    let (mut text, mut line) = (String::new(), 0);
    loop {
        text.clear();
        if input.read_line(&mut text)? == 0 {
            break;
        }
        line += 1;
        let mut words = text.split_ascii_whitespace();
        let Some(kind) = words.next() else { continue };
        let numbers = words;
        match (&mut reader, kind) {
            (_, comment) if comment.starts_with('c') => {}
            (None, "nnf") => reader = Some(Reader::start(numbers, line)?),
            (None, _) => {
                return Err(syntax(line, format!("expected the header `nnf NODES EDGES VARS`, found `{kind}`")));
            }
            (Some(reader), _) => reader.node(kind, numbers, line)?,
        }
    }
    reader.ok_or_else(|| syntax(line + 1, "the file has no header `nnf NODES EDGES VARS`".into()))?.finish(line)
}

struct Reader {
    builder: CircuitBuilder,
    nodes: usize,
    variables: usize,
    children: Vec<NodeId>,
}

impl Reader {
    fn start<'t>(mut numbers: impl Iterator<Item = &'t str>, line: usize) -> Result<Self, CircuitError> {
        let nodes = number(numbers.next(), "the number of nodes", line)?;
        let _: usize = number(numbers.next(), "the number of edges", line)?;
        let variables = number(numbers.next(), "the number of variables", line)?;
        end(numbers, line)?;
        // No memory is reserved for the header's numbers, which may be wrong.
        let builder = CircuitBuilder::new(variables)?;
        Ok(Reader { builder, nodes, variables, children: Vec::new() })
    }

    fn node<'t>(
        &mut self,
        kind: &str,
        mut numbers: impl Iterator<Item = &'t str>,
        line: usize,
    ) -> Result<(), CircuitError> {
        match kind {
            "L" => {
                let code: i32 = number(numbers.next(), "a literal", line)?;
                let lit = Lit::from_dimacs(code).filter(|lit| lit.var().index() < self.variables);
                let lit = lit.ok_or_else(|| {
                    syntax(line, format!("literal {code} is out of range: there are {} variables", self.variables))
                })?;
                end(numbers, line)?;
                self.builder.push(Node::Literal(lit))?;
            }
            "A" => {
                self.read_children(numbers, line)?;
                self.builder.push(Node::And(&self.children))?;
            }
            "O" => {
                let decides: usize = number(numbers.next(), "a variable", line)?;
                if decides > self.variables {
                    return Err(syntax(
                        line,
                        format!("variable {decides} is out of range: there are {} variables", self.variables),
                    ));
                }
                self.read_children(numbers, line)?;
                self.builder.push(Node::Or(&self.children))?;
            }
            _ => return Err(syntax(line, format!("expected `L`, `A` or `O`, found `{kind}`"))),
        }
        Ok(())
    }

    fn read_children<'t>(
        &mut self,
        mut numbers: impl Iterator<Item = &'t str>,
        line: usize,
    ) -> Result<(), CircuitError> {
        let count: usize = number(numbers.next(), "the number of children", line)?;
        self.children.clear();
        for _ in 0..count {
            let child: usize = number(numbers.next(), "a child", line)?;
            if child >= self.builder.len() {
                let here = self.builder.len();
                return Err(syntax(line, format!("node {here} has the child {child}, which does not come before it")));
            }
            self.children.push(NodeId::new(child));
        }
        end(numbers, line)
    }

    fn finish(self, line: usize) -> Result<Circuit, CircuitError> {
        let (claimed, seen) = (self.nodes, self.builder.len());
        if claimed != seen {
            return Err(syntax(line, format!("the header announces {claimed} nodes, but the file has {seen}")));
        }
        let last = self.builder.len().checked_sub(1);
        let root = last.ok_or_else(|| syntax(line, "the file has no nodes, so it has no root".into()))?;
        self.builder.finish(NodeId::new(root))
    }
}

/// Writes the reachable nodes, decision nodes as gates.
pub fn write_nnf(circuit: &Circuit, mut output: impl Write) -> Result<(), CircuitError> {
    // Compact, so that the root is the last node and ids are line numbers.
    let circuit = expand_decisions(circuit)?;
    let edges: usize = circuit.nodes().map(|(_, node)| node.children().count()).sum();
    writeln!(output, "nnf {} {edges} {}", circuit.stored_nodes(), circuit.variables())?;
    for (_, node) in circuit.nodes() {
        match node {
            Node::Constant(true) => write!(output, "A 0")?,
            Node::Constant(false) => write!(output, "O 0 0")?,
            Node::Literal(lit) => write!(output, "L {}", lit.to_dimacs())?,
            Node::And(children) => write!(output, "A {}", children.len())?,
            Node::Or(children) => write!(output, "O {} {}", decided(&circuit, children), children.len())?,
            Node::Decision { .. } => unreachable!("decisions have been expanded"),
        }
        for child in node.children() {
            write!(output, " {child}")?;
        }
        writeln!(output)?;
    }
    Ok(output.flush()?)
}

/// The variable on which two children disagree at their top, as a DIMACS number; 0 if they do not.
fn decided(circuit: &Circuit, children: &[NodeId]) -> i32 {
    let &[one, other] = children else { return 0 };
    let top = |id: NodeId| -> Vec<Lit> {
        let literal = |id: NodeId| if let Node::Literal(lit) = circuit.node(id) { Some(lit) } else { None };
        match circuit.node(id) {
            Node::And(children) => children.iter().filter_map(|&child| literal(child)).collect(),
            _ => literal(id).into_iter().collect(),
        }
    };
    let other = top(other);
    top(one).into_iter().find(|&lit| other.contains(&!lit)).map_or(0, |lit| lit.var().to_dimacs())
}

fn number<T: std::str::FromStr>(word: Option<&str>, what: &str, line: usize) -> Result<T, CircuitError> {
    let word = word.ok_or_else(|| syntax(line, format!("{what} is missing")))?;
    word.parse().map_err(|_| syntax(line, format!("expected {what}, found `{word}`")))
}

fn end<'t>(mut numbers: impl Iterator<Item = &'t str>, line: usize) -> Result<(), CircuitError> {
    numbers.next().map_or(Ok(()), |word| Err(syntax(line, format!("expected the end of the line, found `{word}`"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::{from_table, random_circuit};
    use proptest::prelude::*;

    fn through_a_file(circuit: &Circuit) -> Circuit {
        let mut file = Vec::new();
        write_nnf(circuit, &mut file).unwrap();
        read_nnf(&file[..]).unwrap()
    }

    proptest! {
        #[test]
        fn a_written_circuit_is_read_back_unchanged((circuit, table) in random_circuit(7)) {
            let again = through_a_file(&circuit);
            prop_assert!(again == expand_decisions(&circuit).unwrap());
            prop_assert_eq!(again.model_count(), circuit.model_count());
            prop_assert_eq!(again.truth_table().unwrap(), table);
        }
    }

    #[test]
    fn constants_and_unused_variables_survive() {
        for (table, count) in [(0u64, 0u8), (0xFFFF, 16), (0xAAAA, 8)] {
            let again = through_a_file(&from_table(4, &[table]));
            assert_eq!((again.variables(), again.model_count()), (4, count.into()));
        }
    }

    #[test]
    fn an_or_gate_names_the_variable_it_decides_on() {
        let mut file = Vec::new();
        write_nnf(&from_table(2, &[0b1011]), &mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert!(text.lines().any(|line| line.starts_with("O 2 2 ")), "{text}");
    }

    #[test]
    fn errors_name_the_line() {
        for (file, expected) in [
            ("", "line 1: the file has no header `nnf NODES EDGES VARS`"),
            ("L 1\n", "line 1: expected the header `nnf NODES EDGES VARS`, found `L`"),
            ("nnf 1 0\n", "line 1: the number of variables is missing"),
            ("nnf 1 0 1\nL 2\n", "line 2: literal 2 is out of range: there are 1 variables"),
            ("nnf 1 0 1\nL 0\n", "line 2: literal 0 is out of range: there are 1 variables"),
            ("c hi\nnnf 1 0 1\nL x\n", "line 3: expected a literal, found `x`"),
            ("nnf 2 1 1\nL 1\nA 1 1\n", "line 3: node 1 has the child 1, which does not come before it"),
            ("nnf 2 1 1\nL 1\nA 2 0\n", "line 3: a child is missing"),
            ("nnf 2 1 1\nL 1\nA 1 0 0\n", "line 3: expected the end of the line, found `0`"),
            ("nnf 2 1 1\nL 1\nO 2 1 0\n", "line 3: variable 2 is out of range: there are 1 variables"),
            ("nnf 3 1 1\nL 1\nA 1 0\n", "line 3: the header announces 3 nodes, but the file has 2"),
            ("nnf 0 0 1\n", "line 1: the file has no nodes, so it has no root"),
            ("nnf 1 0 1\nD 1 2\n", "line 2: expected `L`, `A` or `O`, found `D`"),
        ] {
            assert_eq!(read_nnf(file.as_bytes()).unwrap_err().to_string(), expected, "{file:?}");
        }
    }
}
