//! Circuits on the command line: what compiling reports and claims, what is proved of a file, and options without
//! effect.

use crate::command::{done, either, fails};
use boolshap::circuit::{Circuit, CircuitBuilder, NamedCircuit};
use boolshap::lit::Var;
use boolshap::model::Model;
use serde_json::json;
use std::collections::HashSet;
use std::fs;

/// Three classes of two features, with claims that only a circuit can make.
const CLASSES: &str = r#"{"format":"boolshap model","version":1,"features":["a","b"],"classes":["n","y","z"],"hidden":[],
    "output":{"argmax":[{"weights":"++","bias":"0"},{"weights":"+-","bias":"0"},{"weights":"-+","bias":"0"}]},
    "provenance":{"seed":7,"verified":"by hand","class":0,"smooth":true}}"#;

#[test]
fn compiling_all_classes_tells_of_each_and_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("m.json"), CLASSES).unwrap();
    let said = done(folder, &["compile", "m.json", "-o", "all.bsc", "--class", "all", "--verify", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let classes = said["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 3);
    for stage in ["diagram", "circuit", "verify"] {
        for fact in ["nodes", "orders", "seconds"] {
            let Some(total) = said["stages"][stage][fact].as_f64() else { continue };
            let sum: f64 = classes.iter().map(|class| class[stage][fact].as_f64().unwrap()).sum();
            assert!((total - sum).abs() < 1e-9, "{stage} {fact}: {said}");
        }
    }
    assert_eq!(said["stages"]["verify"]["method"], "exhaustive");
    // Sizes count the nodes reachable from each root, and from any root, with leaves counted once.
    let named = NamedCircuit::load(&folder.join("all.bsc")).unwrap();
    let (mut all, mut edges) = (HashSet::new(), 0);
    for (class, (name, root)) in named.classes.iter().enumerate() {
        let (mut stack, mut own, mut own_edges) = (vec![*root], HashSet::new(), 0);
        while let Some(id) = stack.pop() {
            let node = named.circuit.node(id);
            let is_leaf = node.children().next().is_none();
            if own.insert(if is_leaf { format!("{node:?}") } else { id.to_string() }) {
                own_edges += node.children().count();
                stack.extend(node.children());
            }
        }
        assert_eq!(classes[class]["name"], json!(name));
        assert_eq!(classes[class]["nodes"], json!(own.len()), "{said}");
        assert_eq!(classes[class]["edges"], json!(own_edges), "{said}");
        all.extend(own);
        edges += own_edges;
    }
    assert_eq!((&said["nodes"], &said["edges"]), (&json!(all.len()), &json!(edges)), "{said}");
    let info = done(folder, &["info", "all.bsc", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    for key in ["nodes", "edges"] {
        assert_eq!(info[key], said[key]);
        (0..3).for_each(|class| assert_eq!(info["classes"][class][key], classes[class][key]));
    }
    let text = done(folder, &["info", "all.bsc"]);
    let sizes = format!("circuits of 3 classes, together {} nodes and {edges} edges", all.len());
    assert!(text.starts_with(&sizes), "{text}");
    let text = done(folder, &["compile", "m.json", "-o", "all.bsc", "--class", "all"]);
    assert!(text.contains("class 0, diagram: ") && text.contains("class 2, circuit: "), "{text}");
    // With a single class there is no list of classes.
    let said = done(folder, &["compile", "m.json", "-o", "one.bsc", "--class", "1", "--json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&said).unwrap().get("classes").is_none());
}

#[test]
fn a_circuit_claims_nothing_that_was_not_done_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("m.json"), CLASSES).unwrap();
    let claims = |arguments: &[&str]| {
        done(folder, &[&["compile", "m.json", "-o", "c.bsc"], arguments].concat());
        let facts = NamedCircuit::load(&folder.join("c.bsc")).unwrap().facts;
        (facts.verified.standing(), facts.class, facts.smooth)
    };
    assert_eq!(claims(&["--class", "2"]), ("no", Some(2), false));
    assert_eq!(claims(&["--class", "all", "--smooth", "--verify"]), ("claimed", None, true));
    for more in [&["--verify"][..], &["--via", "apply"], &["--class", "all"]] {
        let line = [&["compile", "m.json", "-o", "d.sdd", "--class", "1"], more].concat();
        let line = if more[0] == "--class" { [&line[..4], more].concat() } else { line };
        fails(folder, 2, &line);
    }
    fs::write(folder.join("f.cnf"), "p cnf 2 1\n1 2 0\n").unwrap();
    fails(folder, 2, &["compile", "f.cnf", "-o", "d.sdd", "--class", "1"]);
    let said = done(folder, &["compile", "f.cnf", "-o", "d.sdd", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["nodes"], &said["edges"]), (&json!(1), &json!(2)));
}

#[test]
fn everything_that_came_from_the_model_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = r#"{"format":"boolshap model","version":1,"features":["a","b"],"hidden":[],
        "marginals":{"rows":8,"ones":[3,4]},"output":{"step":{"weights":"++","need":"2"}},
        "provenance":{"seed":7,"test_accuracy":0.5}}"#;
    fs::write(folder.join("m.json"), model).unwrap();
    done(folder, &["compile", "m.json", "-o", "c.bsc", "--class", "0"]);
    let text = done(folder, &["verify", "m.json", "c.bsc"]);
    assert!(text.starts_with("class 0: the circuit is sound and equal to the network (exhaustive"), "{text}");
    assert!(text.ends_with("as in the model: features, marginals, classes, provenance\n"), "{text}");
    let found = done(folder, &["verify", "m.json", "c.bsc", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["classes"], &found["class_names"]), (&json!([0]), &json!(["0"])));
    let named = || NamedCircuit::load(&folder.join("c.bsc")).unwrap();
    let said = |named: NamedCircuit| {
        named.save(&folder.join("d.bsc")).unwrap();
        fails(folder, 1, &["verify", "m.json", "d.bsc"])
    };
    let mut other = named();
    other.marginals.as_mut().unwrap().ones[0] = 8;
    assert!(said(other).contains("the marginals are not those of the model"));
    let mut other = named();
    other.provenance.insert("test_accuracy".into(), json!(0.9));
    assert!(said(other).contains("of its origin it says 'test_accuracy' 0.9, and the model 0.5"));
    let mut other = named();
    other.provenance.insert("rows".into(), json!(1000));
    assert!(said(other).contains("of its origin it says 'rows' 1000, and the model nothing"));
    let mut other = named();
    other.facts.class = Some(2);
    assert!(said(other).contains("there is no class 2"));
    // By default the circuit is that of the second class of two.
    let mut other = named();
    other.facts.class = None;
    assert!(said(other).contains("is not the network"));
    // Missing facts cannot mislead.
    let mut other = named();
    (other.marginals, other.provenance) = (None, Default::default());
    other.save(&folder.join("d.bsc")).unwrap();
    assert!(done(folder, &["verify", "m.json", "d.bsc"]).ends_with("as in the model: features, classes, provenance\n"));
}

#[test]
fn a_proof_is_of_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("m.json"), CLASSES).unwrap();
    done(folder, &["compile", "m.json", "-o", "c.bsc", "--class", "all"]);
    let text = done(folder, &["verify", "m.json", "c.bsc"]);
    assert!(text.starts_with("all 3 classes are sound and equal to the network (exhaustive"), "{text}");
    let model = Model::load(&folder.join("m.json")).unwrap();
    let named = NamedCircuit::load(&folder.join("c.bsc")).unwrap();
    let circuits: Vec<Circuit> = named.labels().unwrap().iter().map(|circuit| (**circuit).clone()).collect();
    let refused = |named: NamedCircuit| {
        named.save(&folder.join("c.bsc")).unwrap();
        fails(folder, 1, &["verify", "m.json", "c.bsc"])
    };
    let said = refused(NamedCircuit::of_classes(&circuits[..2], &model).unwrap());
    assert!(said.contains("there are circuits for 2 classes, but the model has 3"), "{said}");
    let names = ["n", "z", "y"].map(String::from).to_vec();
    let said = refused(NamedCircuit::join(&circuits, model.features.clone(), names).unwrap());
    assert!(said.contains("the classes are not those of the model"), "{said}");
    let turned = [circuits[1].clone(), circuits[0].clone(), circuits[2].clone()];
    let said = refused(NamedCircuit::of_classes(&turned, &model).unwrap());
    assert!(said.contains("answers class 1 (y), and the circuit says that it is class 0"), "{said}");
    assert!(said.contains("; the circuit has decided after "), "{said}");
    // The second class as an or-gate of unequal children: the same function, but not smooth.
    let mut builder = CircuitBuilder::new(2).unwrap();
    let (no, not_b) = (builder.constant(false).unwrap(), builder.literal(Var::new(1).negative()).unwrap());
    let root = builder.or(&[not_b, no]).unwrap();
    let uneven = [circuits[0].clone(), builder.finish(root).unwrap(), circuits[2].clone()];
    let mut claimed = NamedCircuit::of_classes(&uneven, &model).unwrap();
    claimed.save(&folder.join("c.bsc")).unwrap();
    done(folder, &["verify", "m.json", "c.bsc"]);
    claimed.facts.smooth = true;
    let said = refused(claimed);
    assert!(said.contains("is not smooth"), "{said}");
    // The first false child decides a false and-gate.
    let mut builder = CircuitBuilder::new(2).unwrap();
    let [a, b] = [0, 1].map(|v| builder.literal(Var::new(v).positive()).unwrap());
    let both = builder.and(&[a, b]).unwrap();
    let said = refused(NamedCircuit::new(builder.finish(both).unwrap(), model.features.clone()).unwrap());
    let expected = "for a=0, b=0 the network answers class 1 (y), and the circuit says that it is not class 1; \
                    the circuit has decided after a=0";
    assert!(said.contains(expected), "{said}");
    fails(folder, 2, &["verify", "m.json", "c.bsc", "--proof", "-"]);
}

#[test]
fn rows_of_a_distribution_are_read_as_the_rows_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // In models of the last version, features are named like their raw columns: a file of bits also fits as raw values.
    let rows: String = (0..40).map(|row| format!("{},{},{}\n", row * 10, row % 7, u8::from(row >= 20))).collect();
    fs::write(folder.join("t.csv"), format!("p,q,y\n{rows}")).unwrap();
    done(folder, &["train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "3"]);
    let model = fs::read_to_string(folder.join("m.json")).unwrap();
    let mut model: serde_json::Value = serde_json::from_str(&model).unwrap();
    model["features"] = serde_json::json!(["p", "q"]);
    for column in model["schema"].as_array_mut().unwrap() {
        column.as_object_mut().unwrap().remove("missing");
    }
    fs::write(folder.join("m.json"), model.to_string()).unwrap();
    done(folder, &["compile", "m.json", "-o", "c.bsc"]);
    fs::write(folder.join("b.csv"), "p,q\n1,1\n0,1\n1,0\n1,0\n").unwrap();
    done(folder, &["predict", "c.bsc", "b.csv", "-o", "predicted.csv", "--input", "bits"]);
    let predicted = fs::read_to_string(folder.join("predicted.csv")).unwrap();
    assert_eq!(predicted.matches("\n1").count(), 3, "{predicted}");
    for distribution in ["background:b.csv", "empirical:b.csv"] {
        let line = ["explain", "c.bsc", "b.csv", "-o", "s.csv", "--input", "bits", "--distribution", distribution];
        done(folder, &line);
        let text = fs::read_to_string(folder.join("s.csv")).unwrap();
        assert!(text.lines().skip(1).all(|line| line.split(',').nth(1) == Some("0.75")), "{distribution}: {text}");
    }
}

#[test]
fn options_without_an_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    either(folder, 2);
    fs::write(folder.join("e.csv"), "x1,x2\n0,1\n").unwrap();
    fs::write(folder.join("m.json"), CLASSES).unwrap();
    for line in [
        "explain c.bsc e.csv --smoothing 1",
        "explain c.bsc e.csv --distribution background:e.csv --smoothing 1",
        "explain c.bsc e.csv --distribution background:",
        "report c.bsc e.csv -o r.html --figure beeswarm",
        "report c.bsc e.csv -o r.html --scale 3",
        "report c.bsc e.csv -o r.svg --row 1",
        "report c.bsc e.csv -o r.svg --timings t.json",
        "predict c.bsc e.csv -o p.parquet",
        "compile m.json -o d.bsc --class 1 --max-clauses 5",
        "compile m.json -o d.bsc --class 1 --variables 3",
        "train e.csv --target x2 -o n.json --column x1=boolean --column x1=numeric",
        "train e.csv --target x2 -o n.json --column x2=ignored",
        "serve c.bsc --listen nonsense",
    ] {
        fails(folder, 2, &line.split(' ').collect::<Vec<_>>());
    }
    // The file's ending selects the figure's format.
    done(folder, &["report", "c.bsc", "e.csv", "-o", "r.svg"]);
    assert!(fs::read_to_string(folder.join("r.svg")).unwrap().starts_with("<svg"));
}

#[test]
fn of_two_classes_the_second_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = r#"{"format":"boolshap model","version":1,"features":["a","b"],"hidden":[],
        "output":{"argmax":[{"weights":"+-","bias":"0"},{"weights":"-+","bias":"1"}]},"provenance":{}}"#;
    fs::write(folder.join("m.json"), model).unwrap();
    done(folder, &["compile", "m.json", "-o", "c.bsc"]);
    done(folder, &["compile", "m.json", "-o", "one.bsc", "--class", "1"]);
    let circuit = |file: &str| NamedCircuit::load(&folder.join(file)).unwrap().circuit.truth_table().unwrap();
    assert_eq!(circuit("c.bsc"), circuit("one.bsc"));
    done(folder, &["verify", "m.json", "c.bsc"]);
    fs::write(folder.join("three.json"), CLASSES).unwrap();
    let said = fails(folder, 1, &["compile", "three.json", "-o", "d.bsc"]);
    assert!(said.contains("the network has 3 classes: say which one with --class"), "{said}");
    // A formula encodes a single class.
    let said = fails(folder, 2, &["encode", "three.json", "-o", "d.cnf", "--class", "all"]);
    assert!(said.contains("--class must name one class here: the network has 3"), "{said}");
}
