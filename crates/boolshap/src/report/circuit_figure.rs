//! The drawing of a small circuit, in the style of the paper's figures.

use super::{EdgeStyle, Graph, GraphKind, GraphNode, graph_figure};
use crate::circuit::{Circuit, Node};
use std::collections::HashMap;

/// The most nodes that are drawn.
pub const MAX_DRAWN_NODES: usize = 80;

/// Draws a circuit with the names of its features; `None` if it is too large.
pub fn circuit_figure(circuit: &Circuit, names: &[String]) -> Option<String> {
    let order = circuit.reachable();
    if order.len() > MAX_DRAWN_NODES {
        return None;
    }
    let place: HashMap<_, _> = order.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let plain = |children: &[_]| children.iter().map(|id| (place[id], EdgeStyle::Plain)).collect();
    let nodes = order.iter().map(|&id| match circuit.node(id) {
        Node::Constant(value) => {
            let text = if value { "\u{22a4}" } else { "\u{22a5}" };
            GraphNode { text: text.into(), kind: GraphKind::Constant, children: Vec::new() }
        }
        Node::Literal(lit) => {
            let sign = if lit.is_negative() { "\u{ac}" } else { "" };
            let text = format!("{sign}{}", names[lit.var().index()]);
            GraphNode { text, kind: GraphKind::Literal, children: Vec::new() }
        }
        Node::And(children) => GraphNode { text: "\u{2227}".into(), kind: GraphKind::And, children: plain(children) },
        Node::Or(children) => GraphNode { text: "\u{2228}".into(), kind: GraphKind::Or, children: plain(children) },
        Node::Decision { var, lo, hi } => GraphNode {
            text: names[var.index()].clone(),
            kind: GraphKind::Decision,
            children: vec![(place[&lo], EdgeStyle::Low), (place[&hi], EdgeStyle::High)],
        },
    });
    let nodes: Vec<GraphNode> = nodes.collect();
    Some(graph_figure(&Graph { root: nodes.len() - 1, nodes }))
}
