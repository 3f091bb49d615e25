//! The paper's running example, compiled and checked with the documentation.
//!
//! Bertossi and León, "Efficient Computation of Shap Explanation Scores for Neural Network Classifiers via Knowledge
//! Compilation", follow one small network through all steps (Examples 1 to 7). This page does the same in code.
//!
//! # The network as a black box
//! Three inputs, three hidden neurons, one output; each of them is true when at least d = 2 of its inputs have the sign
//! of their weight (Examples 1 and 2):
//!
//! ```
//! use boolshap::explain::Labels;
//!
//! let two_of = |inputs: [bool; 3]| inputs.into_iter().filter(|&input| input).count() >= 2;
//! let network = |x: &[bool]| {
//!     let h1 = two_of([!x[0], !x[1], x[2]]);
//!     let h2 = two_of([!x[0], !x[1], !x[2]]);
//!     let h3 = two_of([x[0], x[1], x[2]]);
//!     two_of([h1, h2, !h3])
//! };
//! let labels = Labels::from_fn(3, network)?;
//!
//! // The network is true exactly when no two inputs are: the CNF of Example 2.
//! let cnf = |x: &[bool]| (!x[0] || !x[1]) && (!x[0] || !x[2]) && (!x[1] || !x[2]);
//! assert_eq!(labels, Labels::from_fn(3, cnf)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The network as a formula
//! The same network with its weights and biases, folded exactly: equation (4) gives d = 2 for every gate. Step (a)
//! builds the matrices of all gates and simplifies; the result is the three clauses of equation (8):
//!
//! ```
//! use boolshap::formula::{GateSpec, encode, encode_network};
//! use boolshap::lit::Watch;
//! use boolshap::model::{DenseLayer, Output, fold_network, parse_decimal};
//!
//! let numbers = |text: &str| text.split(' ').map(|word| parse_decimal(word).unwrap()).collect::<Vec<_>>();
//! let layer = |name: &str, rows: &[&str], bias| DenseLayer {
//!     name: name.into(),
//!     weights: rows.iter().map(|row| numbers(row)).collect(),
//!     bias: numbers(bias),
//!     norm: None,
//! };
//! // h1 is the gate of Example 2; the other biases are from the figure, and similar ones give the same gates.
//! let hidden = layer("hidden", &["-1 -1 1", "-1 -1 -1", "1 1 1"], "0.16 -0.3 0.2");
//! let network = fold_network(&[hidden, layer("output", &["1 1 -1"], "-0.01")])?;
//! assert!(network.hidden()[0].iter().all(|gate| gate.need() == 2));
//! assert!(matches!(network.output(), Output::Step(gate) if gate.need() == 2));
//!
//! let dimacs = |cnf: &boolshap::formula::Cnf| {
//!     let mut clauses: Vec<Vec<i32>> =
//!         cnf.clauses().map(|clause| clause.lits().map(|lit| lit.to_dimacs()).collect()).collect();
//!     clauses.iter_mut().for_each(|clause| clause.sort_by_key(|lit| lit.abs()));
//!     clauses.sort();
//!     clauses
//! };
//! // Example 3: the last cell of the matrix of h1.
//! let h1 = GateSpec { signs: vec![false, false, true], need: 2 };
//! let cell = encode(3, &[vec![h1]], 100, &Watch::unlimited())?;
//! assert_eq!(dimacs(&cell), [[-2, 3], [-1, -2], [-1, 3]].map(Vec::from));
//! let cnf = encode_network(&network, 1, 100, &Watch::unlimited())?;
//! assert_eq!(dimacs(&cnf), [[-2, -3], [-1, -3], [-1, -2]].map(Vec::from));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The formula as an SDD
//! Step (b), on the vtree of the figure: x1 against the rest, then x2 against x3 (Examples 4 and 5). The root decides
//! on x1; if x1 is false, x2 and x3 must not both be true, and if it is true, both must be false:
//!
//! ```
//! use boolshap::diagram::{CompileOptions, SddNode, StartVtree, Vtree, compile_clauses};
//! use boolshap::lit::{Lit, Watch};
//!
//! let vtree = Vtree::parse("vtree 5\nL 0 1\nL 2 2\nL 4 3\nI 3 2 4\nI 1 0 3\n")?;
//! let clauses = [[-1, -2], [-1, -3], [-2, -3]].map(|clause| clause.map(|n| Lit::from_dimacs(n).unwrap()));
//! let options = CompileOptions { vtree: StartVtree::Given(vtree), minimise: false, ..CompileOptions::default() };
//! let compiled =
//!     compile_clauses(3, clauses.iter().map(|clause| clause.as_slice()), &options, &Watch::unlimited())?;
//! let (manager, root) = (&compiled.manager, compiled.root);
//! assert_eq!(manager.model_count(root), 4u8.into());
//! let SddNode::Decision { elements, .. } = manager.node(root) else { panic!("the root decides") };
//! assert_eq!(elements.len(), 2);
//! assert!(elements.iter().all(|element| matches!(manager.node(element.prime), SddNode::Literal(_))));
//! assert_eq!((manager.decision_nodes(root), manager.size(root)), (3, 6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From the SDD to a circuit
//! Example 5 reads the SDD of the figure as a formula: decisions are disjunctions, elements conjunctions,
//!
//! ```text
//! [x1 and ((-x2 and -x3) or (x2 and false))] or [-x1 and ((x2 and -x3) or (-x2 and true))]
//! ```
//!
//! [`lower`](crate::circuit::lower) converts any diagram that lists children before their parents:
//!
//! ```
//! use boolshap::circuit::{Lowering, SddItem, check, lower, paper_form};
//! use boolshap::lit::{Var, Watch};
//!
//! let [x1, x2, x3] = [0, 1, 2].map(Var::new);
//! let sdd = [
//!     SddItem::Literal(x1.positive()),            // 0
//!     SddItem::Literal(x1.negative()),            // 1
//!     SddItem::Literal(x2.positive()),            // 2
//!     SddItem::Literal(x2.negative()),            // 3
//!     SddItem::Literal(x3.negative()),            // 4
//!     SddItem::Constant(false),                   // 5
//!     SddItem::Constant(true),                    // 6
//!     SddItem::Elements(vec![(3, 4), (2, 5)]),    // 7: below x1
//!     SddItem::Elements(vec![(2, 4), (3, 6)]),    // 8: below not x1
//!     SddItem::Elements(vec![(0, 7), (1, 8)]),    // 9: the root
//! ];
//! let circuit = lower(3, sdd, Lowering::Gates)?;
//! assert_eq!(circuit.truth_table()?, [0b0001_0111]);
//! assert_eq!(circuit.model_count(), 4u8.into());
//!
//! // Deterministic, decomposable and of fan-in 2, but not smooth: x3 is missing beside not x2 (Example 7).
//! let determinism = check::determinism(&circuit, check::Effort::default(), &Watch::unlimited())?;
//! assert_eq!(determinism, check::Determinism::Holds);
//! assert_eq!(check::decomposability(&circuit), Ok(()));
//! assert_eq!(check::fan_in(&circuit, 2), Ok(()));
//! let violation = check::smoothness(&circuit).unwrap_err();
//! assert!(matches!(violation, check::Violation::MissingVariable { variable, .. } if variable == x3));
//!
//! // Algorithm 1 gives the dDBCSFi(2) of the first figure: `not x2` has become `not x2 and (x3 or not x3)`.
//! let smooth = paper_form(&circuit)?;
//! assert_eq!(check::smoothness(&smooth), Ok(()));
//! assert_eq!(smooth.truth_table()?, circuit.truth_table()?);
//! assert_eq!(circuit.counts().tree_nodes, 13u8.into());
//! assert_eq!(smooth.counts().tree_nodes, 17u8.into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # SHAP scores
//! The open-box algorithm on that circuit gives the scores as fractions, here for the entity (1, 0, 0). The network
//! answers 1, as it does for half of all entities; the two features that are 0 push towards this answer, the one that
//! is 1 pushes against it:
//!
//! ```
//! use boolshap::circuit::{paper_form, read_nnf};
//! use boolshap::explain::{BruteForce, Probabilities, Labels, OpenBox};
//! use boolshap::lit::Watch;
//!
//! let file = "nnf 10 11 3\nL 1\nL -1\nL 2\nL -2\nL -3\nA 3 0 3 4\nA 2 2 4\nO 2 2 6 3\nA 2 1 7\nO 1 2 5 8\n";
//! let smooth = paper_form(&read_nnf(file.as_bytes())?)?;
//! let uniform = Probabilities::uniform(3);
//! let open_box = OpenBox::new(&smooth)?;
//! let rows = open_box.explain_exact(&[[true, false, false]], &uniform, &Watch::unlimited())?;
//! assert!(rows[0].prediction);
//! assert_eq!(rows[0].base_value.to_string(), "1/2");
//! let scores: Vec<String> = rows[0].scores.iter().map(ToString::to_string).collect();
//! assert_eq!(scores, ["-1/6", "1/3", "1/3"]);
//!
//! // The black box agrees, on every entity.
//! let entities: Vec<Vec<bool>> = (0..8).map(|i| (0..3).map(|v| i >> v & 1 == 1).collect()).collect();
//! let labels = Labels::of_circuit(&smooth)?;
//! assert_eq!(
//!     open_box.explain_exact(&entities, &uniform, &Watch::unlimited())?,
//!     BruteForce::new(&labels).explain_exact(&entities, &uniform, &Watch::unlimited())?,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Questions about a decision
//! Scores say how much each feature matters; the answers to other questions are sets, inputs, or yes and no. For the
//! same entity: what suffices for its answer, what would change it, how far away is another answer, and does the answer
//! depend on x1?
//!
//! ```
//! use boolshap::workflow::{AskRequest, Asker, Question};
//! use boolshap::{CompileRequest, Model, compile};
//! use serde_json::json;
//!
//! let model = Model::from_json(r#"{"format": "boolshap model", "version": 1, "features": ["x1", "x2", "x3"],
//!     "classes": null, "schema": null, "marginals": null,
//!     "hidden": [[{"weights": "--+", "need": "2"}, {"weights": "---", "need": "2"}, {"weights": "+++", "need": "2"}]],
//!     "output": {"step": {"weights": "++-", "need": "2"}}, "provenance": {}}"#)?;
//! let circuit = compile(&model, &CompileRequest::default())?.circuit;
//! let ask = |question: Question, settings: &[(&str, &str)]| {
//!     let mut request = AskRequest::new(question);
//!     settings.iter().try_for_each(|(setting, text)| request.set(setting, text))?;
//!     let asker = Asker::new(&circuit, &request)?;
//!     Ok::<_, boolshap::Error>(asker.json(&asker.answer(1, &[true, false, false])?))
//! };
//! // Two features that are 0 suffice for the answer 1, whatever x1 is, and each of them is needed.
//! assert_eq!(ask(Question::Reason, &[("all", "true")])?["reasons"], json!([["x2", "x3"]]));
//! assert_eq!(ask(Question::Contrast, &[("all", "true")])?["reasons"], json!([["x2"], ["x3"]]));
//! let nearest = ask(Question::Counterfactual, &[])?;
//! assert_eq!((&nearest["distance"], &nearest["count"]), (&json!(1), &json!(2)));
//! assert_eq!(ask(Question::Robustness, &[])?["radius"], 1);
//! assert_eq!(ask(Question::Bias, &[("protected", "x1")])?["biased"], false);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! None of this has to be taken on trust. A certificate holds a claim about the network and the evidence for it: inputs
//! on which to evaluate the network, and sets of features for which all values of the other features can be tried or a
//! proof is given. Checking it needs the model but no circuit:
//!
//! ```
//! use boolshap::Model;
//! use boolshap::lit::Watch;
//! use boolshap::query::{Certificate, Claim, Extent, SetsClaim, Witness, certify, check_certificate};
//!
//! # let model = Model::from_json(r#"{"format": "boolshap model", "version": 1, "features": ["x1", "x2", "x3"],
//! #     "classes": null, "schema": null, "marginals": null,
//! #     "hidden": [[{"weights": "--+", "need": "2"}, {"weights": "---", "need": "2"}, {"weights": "+++", "need": "2"}]],
//! #     "output": {"step": {"weights": "++-", "need": "2"}}, "provenance": {}}"#)?;
//! let claim = |reason: &[&str]| {
//!     let sets = vec![reason.iter().map(ToString::to_string).collect()];
//!     Claim::Reasons(SetsClaim { entity: "100".into(), label: 1, sets, among: None, extent: Extent::All })
//! };
//! let mut certificate = Certificate::new(model.digest(), None, claim(&["x2", "x3"]));
//! certify(&mut certificate, &Witness::Model(&model), &Watch::unlimited())?;
//! assert_eq!(certificate.evidence.inputs, ["110", "101"]);
//! let checked = check_certificate(&certificate.to_json(), &model, &Watch::unlimited())?;
//! assert!(checked.claim.starts_with("{x2, x3} suffices for the decision 1 of 100, and no part of it"));
//!
//! // What is not true has no certificate, and the same evidence does not show it.
//! certificate.claim = claim(&["x1", "x3"]);
//! assert!(check_certificate(&certificate.to_json(), &model, &Watch::unlimited()).is_err());
//! assert!(certify(&mut certificate, &Witness::Model(&model), &Watch::unlimited()).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
