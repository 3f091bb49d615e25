//! The paper's running example, starting from its SDD: Examples 4, 5 and 7, and the scores of all eight entities.

use boolshap::circuit::{Circuit, Lowering, Node, NodeId, SddItem, check, lower, paper_form};
use boolshap::explain::{BruteForce, Labels, OpenBox, Probabilities};
use boolshap::lit::{Var, Watch};

/// The SDD of the figure, children first.
fn sdd() -> Vec<SddItem> {
    let [x1, x2, x3] = [0, 1, 2].map(Var::new);
    vec![
        SddItem::Literal(x1.positive()),
        SddItem::Literal(x1.negative()),
        SddItem::Literal(x2.positive()),
        SddItem::Literal(x2.negative()),
        SddItem::Literal(x3.negative()),
        SddItem::Constant(false),
        SddItem::Constant(true),
        SddItem::Elements(vec![(3, 4), (2, 5)]),
        SddItem::Elements(vec![(2, 4), (3, 6)]),
        SddItem::Elements(vec![(0, 7), (1, 8)]),
    ]
}

/// The circuit as a formula, with shared nodes written out at each use.
fn formula(circuit: &Circuit, id: NodeId) -> String {
    let join = |children: &[NodeId], sign: &str| {
        let parts: Vec<String> = children.iter().map(|&child| formula(circuit, child)).collect();
        format!("({})", parts.join(sign))
    };
    match circuit.node(id) {
        Node::Constant(value) => value.to_string(),
        Node::Literal(lit) => lit.to_string(),
        Node::And(children) => join(children, " & "),
        Node::Or(children) => join(children, " | "),
        Node::Decision { .. } => panic!("there are no decision nodes"),
    }
}

#[test]
fn the_circuit_and_its_smooth_form() {
    let circuit = lower(3, sdd(), Lowering::Gates).unwrap();
    assert_eq!(formula(&circuit, circuit.root()), "((x1 & (-x2 & -x3)) | (-x1 & ((x2 & -x3) | -x2)))");
    // Example 4: the SDD is false at (0, 1, 1).
    assert!(!circuit.evaluate(&[false, true, true]).unwrap());
    let smooth = paper_form(&circuit).unwrap();
    assert_eq!(formula(&smooth, smooth.root()), "((x1 & (-x2 & -x3)) | (-x1 & ((x2 & -x3) | (-x2 & (x3 | -x3)))))");
    assert!(check::smoothness(&circuit).is_err());
    assert_eq!(check::smoothness(&smooth), Ok(()));
    assert_eq!(check::fan_in(&smooth, 2), Ok(()));
}

#[test]
fn the_scores_of_all_eight_entities() {
    // Derived by hand: a single feature that differs from the others has the score 1/6 towards the other label, each of
    // the two equal features 1/3 towards their own, and three equal ones share 1/2.
    let expected = [
        ([0, 0, 0], 1, ["1/6", "1/6", "1/6"]),
        ([1, 0, 0], 1, ["-1/6", "1/3", "1/3"]),
        ([0, 1, 0], 1, ["1/3", "-1/6", "1/3"]),
        ([1, 1, 0], 0, ["-1/3", "-1/3", "1/6"]),
        ([0, 0, 1], 1, ["1/3", "1/3", "-1/6"]),
        ([1, 0, 1], 0, ["-1/3", "1/6", "-1/3"]),
        ([0, 1, 1], 0, ["1/6", "-1/3", "-1/3"]),
        ([1, 1, 1], 0, ["-1/6", "-1/6", "-1/6"]),
    ];
    let smooth = paper_form(&lower(3, sdd(), Lowering::Gates).unwrap()).unwrap();
    let two_of = |inputs: [bool; 3]| inputs.into_iter().filter(|&input| input).count() >= 2;
    let network = Labels::from_fn(3, |x| {
        let (h1, h2) = (two_of([!x[0], !x[1], x[2]]), two_of([!x[0], !x[1], !x[2]]));
        two_of([h1, h2, !two_of([x[0], x[1], x[2]])])
    })
    .unwrap();
    assert_eq!(Labels::of_circuit(&smooth).unwrap(), network);

    let entities: Vec<[bool; 3]> = expected.iter().map(|(entity, ..)| entity.map(|bit| bit == 1)).collect();
    let (uniform, watch) = (Probabilities::uniform(3), Watch::unlimited());
    let open_box = OpenBox::new(&smooth).unwrap();
    let black_box = BruteForce::new(&network);
    for rows in [
        open_box.explain_exact(&entities, &uniform, &watch).unwrap(),
        black_box.explain_exact(&entities, &uniform, &watch).unwrap(),
    ] {
        for (row, (entity, label, scores)) in rows.iter().zip(&expected) {
            assert_eq!((row.base_value.to_string(), u8::from(row.prediction)), ("1/2".into(), *label), "{entity:?}");
            let found: Vec<String> = row.scores.iter().map(ToString::to_string).collect();
            assert_eq!(found, scores, "{entity:?}");
        }
    }
}
