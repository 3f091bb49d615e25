//! A drawing of a circuit, as text for Graphviz.

use super::{Circuit, CircuitError, Node};
use std::io::Write;

/// Writes the reachable nodes as a Graphviz graph. Variables are labelled with these names, or x1, x2, ... if there are
/// fewer names than variables. A decision's branches are a dashed edge (false) and a solid one (true).
pub fn write_dot(circuit: &Circuit, names: &[String], mut output: impl Write) -> Result<(), CircuitError> {
    let name = |index: usize| names.get(index).cloned().unwrap_or_else(|| format!("x{}", index + 1));
    writeln!(output, "digraph circuit {{")?;
    writeln!(output, "  node [fontname=\"sans-serif\"];")?;
    for id in circuit.reachable() {
        let node = circuit.node(id);
        let (label, shape) = match node {
            Node::Constant(value) => (String::from(if value { "true" } else { "false" }), "box"),
            Node::Literal(lit) => {
                let sign = if lit.is_negative() { "¬" } else { "" };
                (format!("{sign}{}", name(lit.var().index())), "box")
            }
            Node::Decision { var, .. } => (format!("{}?", name(var.index())), "ellipse"),
            Node::And(_) => ("∧".into(), "circle"),
            Node::Or(_) => ("∨".into(), "circle"),
        };
        writeln!(output, "  n{id} [label=\"{}\", shape={shape}];", escaped(&label))?;
        if let Node::Decision { lo, hi, .. } = node {
            writeln!(output, "  n{id} -> n{lo} [style=dashed];")?;
            writeln!(output, "  n{id} -> n{hi};")?;
        } else {
            for child in node.children() {
                writeln!(output, "  n{id} -> n{child};")?;
            }
        }
    }
    writeln!(output, "}}")?;
    Ok(output.flush()?)
}

/// Escapes quotes, backslashes and line breaks for Graphviz strings.
fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::lit::Var;

    #[test]
    fn every_kind_of_node_is_drawn() {
        let mut builder = CircuitBuilder::new(3).unwrap();
        let x = builder.literal(Var::new(0).negative()).unwrap();
        let y = builder.literal(Var::new(1).positive()).unwrap();
        let no = builder.constant(false).unwrap();
        let both = builder.and(&[x, y]).unwrap();
        let either = builder.or(&[both]).unwrap();
        let root = builder.decision(Var::new(2), no, either).unwrap();
        let circuit = builder.finish(root).unwrap();
        let mut text = Vec::new();
        write_dot(&circuit, &["a \"b\"".into()], &mut text).unwrap();
        let expected = r#"digraph circuit {
  node [fontname="sans-serif"];
  n0 [label="¬a \"b\"", shape=box];
  n1 [label="x2", shape=box];
  n2 [label="false", shape=box];
  n3 [label="∧", shape=circle];
  n3 -> n0;
  n3 -> n1;
  n4 [label="∨", shape=circle];
  n4 -> n3;
  n5 [label="x3?", shape=ellipse];
  n5 -> n2 [style=dashed];
  n5 -> n4;
}
"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
