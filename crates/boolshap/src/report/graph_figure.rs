//! A small circuit as a drawing: the root on top, children below their parents.

use super::figure_text::{counted, shown, width_of};
use super::graph_layout::{Layout, layout};
use super::svg::{Anchor, Class, Svg, WIDTH, sentence};

/// A directed graph without cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// The nodes; those that the root does not reach are not drawn.
    pub nodes: Vec<GraphNode>,
    /// The index of the root in `nodes`.
    pub root: usize,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphNode {
    /// The text inside it: a symbol, a literal or a variable.
    pub text: String,
    /// The kind of node.
    pub kind: GraphKind,
    /// Its children by index, with the style of the edge.
    pub children: Vec<(usize, EdgeStyle)>,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphKind {
    /// A conjunction.
    And,
    /// A disjunction.
    Or,
    /// A variable or its negation.
    Literal,
    /// Always true or always false.
    Constant,
    /// A choice by a variable.
    Decision,
}

/// How an edge is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeStyle {
    /// To an operand.
    Plain,
    /// To the branch where a decision's variable is 0: dashed.
    Low,
    /// To the branch where the variable is 1.
    High,
}

/// The most nodes and bends in a drawing.
const MOST: usize = 4000;
const HALF: f64 = 14.0;
const LONGEST_TEXT: f64 = 150.0;
const MARGIN: f64 = 24.0;

/// Draws the graph in layers, as wide as necessary.
///
/// ```
/// use boolshap::report::{EdgeStyle, Graph, GraphKind, GraphNode, graph_figure};
/// let leaf = |text: &str| GraphNode { text: text.into(), kind: GraphKind::Literal, children: vec![] };
/// let children = vec![(1, EdgeStyle::Plain), (2, EdgeStyle::Plain)];
/// let root = GraphNode { text: "\u{2227}".into(), kind: GraphKind::And, children };
/// let svg = graph_figure(&Graph { nodes: vec![root, leaf("x1"), leaf("\u{ac}x2")], root: 0 });
/// assert!(svg.contains(">\u{ac}x2<") && svg.contains("3 nodes"));
/// ```
pub fn graph_figure(graph: &Graph) -> String {
    let order = downwards(graph);
    if order.is_empty() {
        return sentence("There is no circuit to show.");
    }
    let mut place = vec![usize::MAX; graph.nodes.len()];
    for (index, &node) in order.iter().enumerate() {
        place[node] = index;
    }
    let nodes: Vec<&GraphNode> = order.iter().map(|&node| &graph.nodes[node]).collect();
    let mut edges = Vec::new();
    let mut styles = Vec::new();
    for (from, node) in nodes.iter().enumerate() {
        for &(child, style) in &node.children {
            // Edges back up, which circuits do not have, are left out.
            if let Some(&to) = place.get(child).filter(|&&to| to != usize::MAX && to > from) {
                edges.push((from, to));
                styles.push(style);
            }
        }
    }
    let widths: Vec<f64> = nodes.iter().map(|node| width(node)).collect();
    let size = format!(
        "{} and {}",
        counted(nodes.len() as u64, "node", "nodes"),
        counted(edges.len() as u64, "edge", "edges")
    );
    let Some(layout) = layout(&widths, &edges, MOST) else {
        return sentence(&format!("A circuit of {size} is too large to be drawn."));
    };
    draw(&nodes, &widths, &styles, &layout, &size)
}

fn draw(nodes: &[&GraphNode], widths: &[f64], styles: &[EdgeStyle], layout: &Layout, size: &str) -> String {
    let total = (layout.width + 2.0 * MARGIN).ceil().max(WIDTH);
    let left = (total - layout.width) / 2.0;
    // Wide drawings get taller layers, so that edges are not too flat.
    let pitch = (44.0 + layout.width / layout.layers as f64 / 8.0).clamp(60.0, 110.0);
    let x = |place: usize| left + layout.places[place].x;
    let y = |place: usize| MARGIN + HALF + layout.places[place].layer as f64 * pitch;
    let mut svg = Svg::default();
    for (index, (route, style)) in layout.routes.iter().zip(styles).enumerate() {
        // Edges between the same nodes are bent apart.
        let twins = layout.routes[..index].iter().filter(|other| (other[0], other.last()) == (route[0], route.last()));
        let last = route.len() - 1;
        let height = |index: usize| match index {
            0 => y(route[0]) + HALF,
            index if index == last => y(route[last]) - HALF,
            index => y(route[index]),
        };
        let points: Vec<(f64, f64)> = (0..=last).map(|index| (x(route[index]), height(index))).collect();
        svg.path(Class::Line, &curve(&points, 16.0 * twins.count() as f64), dashes(*style), None);
    }
    for (index, (node, width)) in nodes.iter().zip(widths).enumerate() {
        let (x, y) = (x(index), y(index));
        svg.path(Class::Line, &outline(node.kind, x, y, width / 2.0), " stroke-width=\"1.3\"", Some(&tip(node)));
        let font = if is_sign(node) { 17.0 } else { 13.0 };
        svg.name(Class::Ink, [x, y + font * 0.35, font], Anchor::Middle, LONGEST_TEXT, &node.text);
    }
    let mut foot = MARGIN + 2.0 * HALF + layout.layers.saturating_sub(1) as f64 * pitch + 30.0;
    let decides = styles.iter().any(|style| *style != EdgeStyle::Plain);
    let meaning = if decides { "; from a decision, dashed: its variable is 0, solid: 1" } else { "" };
    svg.text(Class::Muted, [total / 2.0, foot, 12.0], Anchor::Middle, &format!("{size}{meaning}"));
    foot += 16.0;
    svg.finish(total, foot, &format!("A circuit of {size}"))
}

fn dashes(style: EdgeStyle) -> &'static str {
    if style == EdgeStyle::Low { " stroke-dasharray=\"5 4\"" } else { "" }
}

/// A smooth curve down through all points, bent to the right by `bow`. At the points, where nodes are near, it is
/// steeper than a straight line.
fn curve(points: &[(f64, f64)], bow: f64) -> String {
    let slope = |from: usize, to: usize| (points[to].0 - points[from].0) / (points[to].1 - points[from].1).max(1.0);
    let lean = |index: usize| 0.6 * slope(index.saturating_sub(1), (index + 1).min(points.len() - 1));
    let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for (index, pair) in points.windows(2).enumerate() {
        let [(x1, y1), (x2, y2)] = [pair[0], pair[1]];
        let third = (y2 - y1) / 3.0;
        let (a, b) = (x1 + lean(index) * third + bow, x2 - lean(index + 1) * third + bow);
        path += &format!("C{a:.1} {:.1} {b:.1} {:.1} {x2:.1} {y2:.1}", y1 + third, y2 - third);
    }
    path
}

/// The nodes that the root reaches, each before its children.
fn downwards(graph: &Graph) -> Vec<usize> {
    if graph.root >= graph.nodes.len() {
        return Vec::new();
    }
    let mut seen = vec![false; graph.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(graph.root, 0)];
    seen[graph.root] = true;
    // Iterative, because circuits can be deep. Children are visited in reverse, since the order is reversed at the end.
    while let Some((node, next)) = stack.pop() {
        match graph.nodes[node].children.iter().rev().nth(next) {
            Some(&(child, _)) => {
                stack.push((node, next + 1));
                if seen.get(child) == Some(&false) {
                    seen[child] = true;
                    stack.push((child, 0));
                }
            }
            None => order.push(node),
        }
    }
    order.reverse();
    order
}

fn is_sign(node: &GraphNode) -> bool {
    matches!(node.kind, GraphKind::And | GraphKind::Or | GraphKind::Constant) && node.text.chars().count() <= 1
}

fn width(node: &GraphNode) -> f64 {
    match is_sign(node) {
        true => 2.0 * HALF,
        false => ((13.0 * width_of(shown(&node.text))).min(LONGEST_TEXT) + 20.0).max(2.0 * HALF + 6.0),
    }
}

fn tip(node: &GraphNode) -> String {
    let kind = match node.kind {
        GraphKind::And => "and",
        GraphKind::Or => "or",
        GraphKind::Literal => "literal",
        GraphKind::Constant => "constant",
        GraphKind::Decision => "decision by",
    };
    let children = counted(node.children.len() as u64, "child", "children");
    match node.kind {
        GraphKind::And | GraphKind::Or => format!("{kind}, {children}"),
        GraphKind::Literal | GraphKind::Constant | GraphKind::Decision => format!("{kind} {}", shown(&node.text)),
    }
}

/// Operators are circles, decisions are ovals, leaves are boxes.
fn outline(kind: GraphKind, x: f64, y: f64, half: f64) -> String {
    let corner = match kind {
        GraphKind::Literal | GraphKind::Constant => 3.0,
        GraphKind::And | GraphKind::Or | GraphKind::Decision => HALF,
    };
    let (across, down) = (2.0 * (half - corner), 2.0 * (HALF - corner));
    let arc = |dx: f64, dy: f64| format!("a{corner:.1} {corner:.1} 0 0 1 {:.1} {:.1}", dx * corner, dy * corner);
    format!(
        "M{:.1} {:.1}h{across:.1}{}v{down:.1}{}h{:.1}{}v{:.1}{}Z",
        x - half + corner,
        y - HALF,
        arc(1.0, 1.0),
        arc(-1.0, 1.0),
        -across,
        arc(-1.0, -1.0),
        -down,
        arc(1.0, -1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn node(text: &str, kind: GraphKind, children: &[(usize, EdgeStyle)]) -> GraphNode {
        GraphNode { text: text.into(), kind, children: children.to_vec() }
    }

    fn height(svg: &str, text: &str) -> f64 {
        let document = parsed(svg);
        let mut texts = document.descendants().filter(|node| node.attribute("data-tip") == Some(text));
        texts.next_back().unwrap().attribute("y").unwrap().parse().unwrap()
    }

    #[test]
    fn children_are_below_and_low_edges_are_dashed() {
        let decision =
            |text: &str, low, high| node(text, GraphKind::Decision, &[(low, EdgeStyle::Low), (high, EdgeStyle::High)]);
        let leaf = |text: &str| node(text, GraphKind::Constant, &[]);
        let nodes =
            vec![leaf("\u{22a5}"), leaf("\u{22a4}"), decision("x2", 0, 1), decision("x1", 2, 1), leaf("unused")];
        let svg = graph_figure(&Graph { nodes, root: 3 });
        assert!(height(&svg, "x1") < height(&svg, "x2") && height(&svg, "x2") < height(&svg, "\u{22a4}"));
        assert_eq!(svg.matches("stroke-dasharray").count(), 2);
        assert!(!svg.contains("unused") && svg.contains("4 nodes and 4 edges"));
        assert_eq!(tips(&svg), ["decision by x1", "decision by x2", "constant \u{22a5}", "constant \u{22a4}"]);
    }

    #[test]
    fn wide_circuits_widen_the_figure() {
        let mut nodes: Vec<GraphNode> = (0..60).map(|i| node(&format!("x{i}"), GraphKind::Literal, &[])).collect();
        nodes.push(node(
            "\u{2228}",
            GraphKind::Or,
            &(0..60).map(|child| (child, EdgeStyle::Plain)).collect::<Vec<_>>(),
        ));
        let svg = graph_figure(&Graph { nodes, root: 60 });
        let width: f64 = parsed(&svg).root_element().attribute("width").unwrap().parse().unwrap();
        assert!(width > 60.0 * 40.0);
        assert!(
            graph_figure(&Graph { nodes: vec![node("\u{22a4}", GraphKind::Constant, &[])], root: 0 })
                .contains("width=\"720\"")
        );
    }

    #[test]
    fn odd_graphs_are_drawn() {
        let kinds = [GraphKind::And, GraphKind::Or, GraphKind::Literal, GraphKind::Constant, GraphKind::Decision];
        // Cycles, loops, repeated edges and children that do not exist.
        let children = [
            (0, EdgeStyle::Plain),
            (1, EdgeStyle::Low),
            (2, EdgeStyle::High),
            (2, EdgeStyle::High),
            (99, EdgeStyle::Low),
        ];
        let nodes =
            hostile_names().into_iter().zip(kinds.iter().cycle()).map(|(name, &kind)| node(&name, kind, &children));
        let graph = Graph { nodes: nodes.collect(), root: 1 };
        parsed(&graph_figure(&graph));
        assert_eq!(graph_figure(&graph), graph_figure(&graph));
        assert!(graph_figure(&Graph { nodes: vec![], root: 0 }).contains("no circuit"));
        let chain = |i: usize| node("\u{2227}", GraphKind::And, &[(i + 1, EdgeStyle::Plain), (3000, EdgeStyle::Plain)]);
        let nodes = (0..3000).map(chain).chain([node("x", GraphKind::Literal, &[])]).collect();
        assert!(graph_figure(&Graph { nodes, root: 0 }).contains("too large to be drawn"));
    }
}
