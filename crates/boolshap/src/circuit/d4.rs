//! d4's d-DNNF format.
//!
//! Every line ends in `0`. `o ID 0`, `a ID 0`, `t ID 0` and `f ID 0` are an or-gate, an and-gate, true and false; `SRC
//! DST lit... 0` is an arc on which the literals hold. The root is node 1, lines come in any order, and the number of
//! variables is not in the file. Newer versions write a second list after the literals; it is accepted if it is empty
//! (`SRC DST lit... 0 0`) and otherwise rejected. The certified variant writes more numbers after a node's id; it is
//! rejected, because it describes more than a circuit.

use super::error::syntax;
use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};
use crate::lit::Lit;
use std::collections::HashMap;
use std::io::{BufRead, Write};

/// Reads a circuit over this many variables. Constants are simplified, and a gate with a single arc is replaced by it.
///
/// ```
/// use boolshap::circuit::read_d4;
/// // x1, or not x1 and x2
/// let circuit = read_d4("o 1 0\nt 2 0\n1 2 1 0\n1 2 -1 2 0\n".as_bytes(), 3)?;
/// assert_eq!(circuit.model_count(), 6u8.into());
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub fn read_d4(mut input: impl BufRead, variables: usize) -> Result<Circuit, CircuitError> {
    let mut file = File::default();
    let (mut text, mut line) = (String::new(), 0);
    loop {
        text.clear();
        if input.read_line(&mut text)? == 0 {
            break;
        }
        line += 1;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words[..] {
            [] => {}
            [first, ..] if first.starts_with('c') => {}
            [.., last] if last != "0" => return Err(syntax(line, format!("a line must end in `0`, found `{last}`"))),
            [kind @ ("o" | "a" | "t" | "f"), id, _] => file.add_node(kind, id, line)?,
            ["o" | "a" | "t" | "f", _, _, _, ..] => {
                return Err(syntax(line, "more numbers after a node's id: certified d-DNNF is not supported".into()));
            }
            [source, target, ref literals @ .., _] => file.add_arc(source, target, literals, variables, line)?,
            _ => return Err(syntax(line, format!("expected a node or an arc, found `{}`", text.trim()))),
        }
    }
    file.build(variables, line)
}

#[derive(Default)]
struct File {
    /// For each id, its index in the two lists below.
    places: HashMap<u64, usize>,
    kinds: Vec<Kind>,
    arcs: Vec<Vec<Arc>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Or,
    And,
    Constant(bool),
}

struct Arc {
    target: u64,
    literals: Vec<Lit>,
    line: usize,
}

impl File {
    fn add_node(&mut self, kind: &str, id: &str, line: usize) -> Result<(), CircuitError> {
        let id = number(id, "a node's id", line)?;
        let kind = match kind {
            "o" => Kind::Or,
            "a" => Kind::And,
            kind => Kind::Constant(kind == "t"),
        };
        if self.places.insert(id, self.kinds.len()).is_some() {
            return Err(syntax(line, format!("node {id} is defined twice")));
        }
        self.kinds.push(kind);
        self.arcs.push(Vec::new());
        Ok(())
    }

    fn add_arc(
        &mut self,
        source: &str,
        target: &str,
        literals: &[&str],
        variables: usize,
        line: usize,
    ) -> Result<(), CircuitError> {
        let source: u64 = number(source, "a node's id", line)?;
        let target = number(target, "a node's id", line)?;
        let literals = match literals {
            [first @ .., "0"] => first,
            all => all,
        };
        if literals.contains(&"0") {
            return Err(syntax(line, "numbers behind the literals of an arc are not supported".into()));
        }
        let literals = literals.iter().map(|word| {
            let code: i32 = number(word, "a literal", line)?;
            let lit = Lit::from_dimacs(code).filter(|lit| lit.var().index() < variables);
            lit.ok_or_else(|| syntax(line, format!("literal {code} is out of range: there are {variables} variables")))
        });
        let arc = Arc { target, literals: literals.collect::<Result<_, _>>()?, line };
        let place = *self.places.get(&source).ok_or_else(|| unknown(source, line))?;
        self.arcs[place].push(arc);
        Ok(())
    }

    /// Builds what node 1 reaches, children first. A node on the stack is either new, or open while its children are
    /// built; an arc to an open node closes a cycle.
    fn build(&self, variables: usize, lines: usize) -> Result<Circuit, CircuitError> {
        let root = *self.places.get(&1).ok_or_else(|| syntax(lines, "the file has no node 1, its root".into()))?;
        let mut builder = CircuitBuilder::new(variables)?;
        let mut built: Vec<Option<NodeId>> = vec![None; self.kinds.len()];
        let mut open = vec![false; self.kinds.len()];
        let mut stack = vec![root];
        while let Some(&place) = stack.last() {
            if built[place].is_some() {
                stack.pop();
            } else if open[place] {
                built[place] = Some(self.build_node(place, &mut builder, &built)?);
                stack.pop();
            } else {
                open[place] = true;
                for arc in &self.arcs[place] {
                    let child = *self.places.get(&arc.target).ok_or_else(|| unknown(arc.target, arc.line))?;
                    match built[child] {
                        Some(_) => {}
                        None if open[child] => {
                            return Err(syntax(arc.line, format!("the arc to node {} closes a cycle", arc.target)));
                        }
                        None => stack.push(child),
                    }
                }
            }
        }
        let root = built[root].ok_or_else(|| syntax(lines, "the root was not built".into()))?;
        builder.finish(root)?.compacted()
    }

    fn build_node(
        &self,
        place: usize,
        builder: &mut CircuitBuilder,
        built: &[Option<NodeId>],
    ) -> Result<NodeId, CircuitError> {
        let mut children = Vec::new();
        for arc in &self.arcs[place] {
            let mut parts = Vec::with_capacity(arc.literals.len() + 1);
            for &lit in &arc.literals {
                parts.push(builder.literal(lit)?);
            }
            let child = self.places.get(&arc.target).and_then(|&child| built[child]);
            parts.push(child.ok_or_else(|| unknown(arc.target, arc.line))?);
            match self.kinds[place] {
                Kind::Or => children.push(builder.conjoin(&parts)?),
                Kind::And => children.append(&mut parts),
                Kind::Constant(_) => return Err(syntax(arc.line, "a constant must not have arcs".into())),
            }
        }
        match self.kinds[place] {
            Kind::Or => builder.disjoin(&children),
            Kind::And => builder.conjoin(&children),
            Kind::Constant(value) => builder.constant(value),
        }
    }
}

/// Writes the reachable nodes. A literal becomes an arc to true, a decision an or-gate with a literal on each arc.
pub fn write_d4(circuit: &Circuit, mut output: impl Write) -> Result<(), CircuitError> {
    let order = circuit.reachable();
    let mut numbers = vec![0usize; circuit.stored_nodes()];
    let mut count = 0;
    let mut next = || {
        count += 1;
        count
    };
    // In reverse, so that the root, the last node, gets the number 1.
    for &id in order.iter().rev() {
        let kind = match circuit.node(id) {
            Node::Literal(_) if id != circuit.root() => continue,
            Node::Constant(true) => "t",
            Node::Constant(false) => "f",
            Node::Literal(_) | Node::Or(_) | Node::Decision { .. } => "o",
            Node::And(_) => "a",
        };
        numbers[id.index()] = next();
        writeln!(output, "{kind} {} 0", numbers[id.index()])?;
    }
    let always = next();
    if order.iter().any(|&id| matches!(circuit.node(id), Node::Literal(_))) {
        writeln!(output, "t {always} 0")?;
    }
    for &id in order.iter().rev() {
        let source = numbers[id.index()];
        let mut arc = |decided: Option<Lit>, child: NodeId| -> std::io::Result<()> {
            write!(output, "{source} ")?;
            let literal = if let Node::Literal(lit) = circuit.node(child) { Some(lit) } else { None };
            write!(output, "{}", if literal.is_some() { always } else { numbers[child.index()] })?;
            for lit in decided.into_iter().chain(literal) {
                write!(output, " {}", lit.to_dimacs())?;
            }
            writeln!(output, " 0")
        };
        match circuit.node(id) {
            Node::Literal(_) if id == circuit.root() => arc(None, id)?,
            Node::Literal(_) | Node::Constant(_) => {}
            Node::Decision { var, lo, hi } => {
                arc(Some(var.positive()), hi)?;
                arc(Some(var.negative()), lo)?;
            }
            Node::And(children) | Node::Or(children) => children.iter().try_for_each(|&child| arc(None, child))?,
        }
    }
    Ok(output.flush()?)
}

fn number<T: std::str::FromStr>(word: &str, what: &str, line: usize) -> Result<T, CircuitError> {
    word.parse().map_err(|_| syntax(line, format!("expected {what}, found `{word}`")))
}

fn unknown(id: u64, line: usize) -> CircuitError {
    syntax(line, format!("there is no node {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::check;
    use crate::circuit::samples::{from_table, random_circuit};
    use proptest::prelude::*;

    fn through_a_file(circuit: &Circuit) -> Circuit {
        let mut file = Vec::new();
        write_d4(circuit, &mut file).unwrap();
        read_d4(&file[..], circuit.variables()).unwrap()
    }

    proptest! {
        #[test]
        fn a_written_circuit_reads_back_with_the_same_function((circuit, table) in random_circuit(7)) {
            let again = through_a_file(&circuit);
            prop_assert_eq!(again.model_count(), circuit.model_count());
            prop_assert_eq!(again.truth_table().unwrap(), table);
            prop_assert_eq!(check::decomposability(&again), Ok(()));
        }
    }

    #[test]
    fn constants_and_literals_survive() {
        for (table, nodes) in [(0u64, 1), (0xFF, 1), (0xAA, 1), (0x55, 1), (0x88, 3)] {
            let again = through_a_file(&from_table(3, &[table]));
            assert_eq!((again.truth_table().unwrap(), again.counts().nodes), (vec![table], nodes));
        }
    }

    #[test]
    fn a_file_as_d4_writes_it() {
        // A decision on x1 whose branches share the and of two or-gates, one with a single arc; nodes used before they
        // are defined.
        let file = "o 1 0\na 2 0\no 3 0\no 4 0\nt 5 0\nf 6 0\n3 5 2 0\n4 5 3 0\n4 5 -3 4 0\n2 3 0\n2 4 0\n\
                    1 2 1 0\n1 5 -1 -2 0\n1 6 0\n";
        let circuit = read_d4(file.as_bytes(), 4).unwrap();
        let holds = |x: [bool; 4]| if x[0] { x[1] && (x[2] || x[3]) } else { !x[1] };
        for index in 0..16 {
            let x = [0, 1, 2, 3].map(|v| index >> v & 1 == 1);
            assert_eq!(circuit.evaluate(&x).unwrap(), holds(x));
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (file, expected) in [
            ("", "line 0: the file has no node 1, its root"),
            ("o 2 0\n", "line 1: the file has no node 1, its root"),
            ("o 1\n", "line 1: a line must end in `0`, found `1`"),
            ("o 1 7 0\n", "line 1: more numbers after a node's id: certified d-DNNF is not supported"),
            ("o 1 0\no 1 0\n", "line 2: node 1 is defined twice"),
            ("o 1 0\n1 2 0\n", "line 2: there is no node 2"),
            ("o 1 0\n2 1 0\n", "line 2: there is no node 2"),
            ("o 1 0\nt 2 0\n1 2 3 0\n", "line 3: literal 3 is out of range: there are 2 variables"),
            ("o 1 0\nt 2 0\n1 2 x 0\n", "line 3: expected a literal, found `x`"),
            ("o 1 0\na 2 0\n1 2 1 0\n2 1 0\n", "line 4: the arc to node 1 closes a cycle"),
            ("o 1 0\n1 1 0\n", "line 2: the arc to node 1 closes a cycle"),
            ("t 1 0\nt 2 0\n1 2 0\n", "line 3: a constant must not have arcs"),
            ("o 1 0\n0\n", "line 2: expected a node or an arc, found `0`"),
        ] {
            assert_eq!(read_d4(file.as_bytes(), 2).unwrap_err().to_string(), expected, "{file:?}");
        }
    }

    #[test]
    fn a_deep_file_does_not_overflow_the_stack() {
        let depth = 200_000;
        let mut file = String::new();
        for id in 1..depth {
            file += &format!("o {id} 0\n");
        }
        file += &format!("t {depth} 0\n");
        for id in 1..depth {
            file += &format!("{id} {} 0\n", id + 1);
        }
        assert_eq!(read_d4(file.as_bytes(), 1).unwrap().model_count(), 2u8.into());
    }
}
