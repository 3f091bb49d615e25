//! The main entry to the library: requests from text, refusals before any work, and scores that agree with the
//! definition.

use super::{ClassChoice, CompileRequest, Error, ErrorKind, Explainer, PlayersFrom, Request, RowsFrom, Scope, Source};
use super::{DistributionFrom, Menu, VerifyRequest, Via, compile, read_circuit, verify};
use crate::circuit::{Circuit, CircuitBuilder, NamedCircuit, NodeId};
use crate::data::Bits;
use crate::explain::{Definition, Distribution, Index, Labels, Players, Probabilities};
use crate::lit::{Digest, Remedy, Var, Watch};
use crate::model::{Gate, Model, Network, Output, Score};
use std::path::Path;
use std::sync::Arc;

const FEATURES: [&str; 4] = ["sea=near", "sea=far", "old", "large"];

fn names() -> Vec<String> {
    FEATURES.map(String::from).to_vec()
}

/// Three classes over four features, two of which are a one-hot column.
fn model() -> Model {
    let score = |weights: [i128; 4], bias| Score::new(weights.to_vec(), bias).unwrap();
    let output = Output::Argmax(vec![score([2, -1, 1, 0], 0), score([-1, 2, 0, 1], 0), score([0, 0, -1, 2], 1)]);
    let mut model = Model::new(Network::new(4, vec![], output).unwrap(), names()).unwrap();
    model.classes = Some(["cheap", "fair", "dear"].map(String::from).to_vec());
    model
}

fn request(settings: &[(&str, &str)]) -> Result<Request, Error> {
    let mut request = Request::default();
    settings.iter().try_for_each(|(setting, text)| request.set(setting, text))?;
    request.check()?;
    Ok(request)
}

/// Rows in which exactly one value of the column holds.
fn rows() -> Bits {
    let mut rows = Bits::new(4);
    for n in 0..8 {
        rows.push(&[n & 1 == 1, n & 1 == 0, n >> 1 & 1 == 1, n >> 2 == 1]);
    }
    rows
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| match request(settings).unwrap_err() {
        Error::Setting { setting, .. } => setting,
        other => panic!("{other}"),
    };
    assert_eq!(refused(&[("distribution", "normal")]), "distribution");
    assert_eq!(refused(&[("distribution", "background")]), "distribution");
    assert_eq!(refused(&[("distribution", "empirical:")]), "distribution");
    assert_eq!(refused(&[("players", "")]), "players");
    assert_eq!(refused(&[("index", "median")]), "index");
    assert_eq!(refused(&[("engine", "slow")]), "engine");
    assert_eq!(refused(&[("exact", "perhaps")]), "exact");
    assert_eq!(refused(&[("exact", "true"), ("engine", "fast")]), "exact");
    assert_eq!(refused(&[("smoothing", "1")]), "smoothing");
    assert_eq!(refused(&[("constraint", "f.cnf"), ("distribution", "background:b.csv")]), "constraint");
    assert_eq!(refused(&[("engine", "paper"), ("players", "columns")]), "engine");
    assert_eq!(refused(&[("engine", "paper"), ("index", "banzhaf")]), "engine");
    assert!(request(&[("nothing", "x")]).is_err());
    let about =
        request(&[("distribution", "product:/far/away/p.csv"), ("smoothing", "1")]).unwrap().about(Some("each"));
    let said = |key: &str| about[key].as_str();
    assert_eq!([said("distribution"), said("smoothing"), said("class")], ["product:p.csv", "1", "each"]);
}

#[test]
fn refusals_come_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    // An invalid file instead of a slow formula: settings must be refused before it is read.
    let path = folder.path().join("hard.cnf");
    std::fs::write(&path, "this is no formula").unwrap();
    let refused = |request: CompileRequest| compile(path.as_path(), &request).unwrap_err();
    let class = CompileRequest { class: Some(ClassChoice::Number(1)), ..CompileRequest::default() };
    for (request, setting) in [
        (class, "class"),
        (CompileRequest { verify: true, ..CompileRequest::default() }, "verify"),
        (CompileRequest { max_clauses: Some(9), ..CompileRequest::default() }, "max_clauses"),
        (CompileRequest { via: "apply".parse().unwrap(), ..CompileRequest::default() }, "via"),
    ] {
        let error = refused(request);
        assert!(matches!(error, Error::Setting { setting: found, .. } if found == setting), "{error}");
        assert_eq!(error.kind(), ErrorKind::Request);
    }
    let unknown = compile(folder.path().join("x.ddnnf").as_path(), &CompileRequest::default()).unwrap_err();
    assert_eq!(unknown.remedy(), Some(Remedy::Variables));
    let error = compile(&model(), &CompileRequest::default()).unwrap_err();
    assert_eq!((error.kind(), error.remedy()), (ErrorKind::Input, Some(Remedy::Class)));
    assert!("sideways".parse::<Via>().is_err());
}

#[test]
fn every_scope_agrees_with_the_definition() {
    let each = CompileRequest { class: Some(ClassChoice::Each), verify: true, ..CompileRequest::default() };
    let compiled = compile(&model(), &each).unwrap();
    assert_eq!(compiled.circuit.facts.verified.proof().map(|proof| proof.method.as_str()), Some("exhaustive"));
    let (rows, watch) = (rows(), Watch::unlimited());
    let list: Vec<Vec<bool>> = (0..8).map(|row| rows.row(row)).collect();
    let players = Players::columns(&names(), None);
    let judge = |class: usize| {
        let labels = Labels::of_circuit(&compiled.circuit.label(Some(class)).unwrap()).unwrap();
        let uniform = Distribution::Product(Probabilities::uniform(4));
        Definition::new(labels, players.clone(), uniform).unwrap().explain(&list, Index::Shapley, &watch).unwrap()
    };
    let expected: Vec<_> = (0..3).map(judge).collect();
    for (class, exact) in [("0", false), ("fair", true), ("2", true), ("each", true), ("predicted", true)] {
        let exact_text = exact.to_string();
        let request = request(&[("players", "columns"), ("class", class), ("exact", &exact_text)]).unwrap();
        let explainer = Explainer::new(&compiled.circuit, &request).unwrap();
        let scores = explainer.explain(&rows, &watch).unwrap();
        for row in 0..8 {
            let answer = model().network.classify(&list[row]);
            let classes = match explainer.ask().scope {
                Scope::Each => vec![0, 1, 2],
                Scope::Predicted => vec![answer],
                Scope::Class(class) => vec![class],
                Scope::Label | Scope::Difference(..) => panic!("there are classes"),
            };
            let numbers: Vec<String> = classes
                .iter()
                .flat_map(|&class| [vec![expected[class][row].base_value.clone()], expected[class][row].scores.clone()])
                .flatten()
                .map(|number| number.to_string())
                .collect();
            match scores.fractions(row) {
                Some(found) => assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), numbers),
                None => {
                    let stated = expected[classes[0]][row].to_floats();
                    assert!(scores.scores(row).iter().zip(&stated.scores).all(|(a, b)| (a - b).abs() < 1e-12));
                }
            }
            assert_eq!(scores.prediction(row) as usize, answer);
            let explained = explainer.ask().scope.explained(3);
            let values: Vec<u8> = explained.iter().map(|class| class.value(answer as u32)).collect();
            assert_eq!(values, classes.iter().map(|class| u8::from(*class == answer)).collect::<Vec<_>>());
        }
    }
    assert!(verify(&model(), &compiled.circuit, &VerifyRequest::default()).unwrap().difference.is_none());
}

#[test]
fn arrays_compile_like_networks() {
    let (model, features) = (model(), names());
    let table: Vec<u8> = (0..16u32)
        .map(|input| model.network.classify(&(0..4).map(|bit| input >> bit & 1 == 1).collect::<Vec<_>>()) as u8)
        .collect();
    let classes = model.class_names();
    for class in [ClassChoice::Each, ClassChoice::Name("dear".into())] {
        let request = CompileRequest { class: Some(class), ..CompileRequest::default() };
        let source = Source::Table { values: &table, features: &features, classes: &classes };
        let (one, other) = (compile(source, &request).unwrap(), compile(&model, &request).unwrap());
        let tables = |circuit: &super::Compilation| -> Vec<Vec<u64>> {
            circuit.circuit.labels().unwrap().iter().map(|label| label.truth_table().unwrap()).collect()
        };
        assert_eq!(tables(&one), tables(&other));
    }
    let gate = Gate::new(vec![1; 4], 2).unwrap();
    let two = Model::new(Network::new(4, vec![], Output::Step(gate)).unwrap(), features).unwrap();
    let small = CompileRequest { max_nodes: Some(2), ..CompileRequest::default() };
    assert_eq!(compile(&two, &small).unwrap_err().kind(), ErrorKind::Limit);
    assert!(compile(Path::new("nowhere.json"), &CompileRequest::default()).is_err());
}

#[test]
fn a_menu_offers_what_the_circuit_and_its_rows_do() {
    let each = CompileRequest { class: Some(ClassChoice::Each), ..CompileRequest::default() };
    let circuit = Arc::new(compile(&model(), &each).unwrap().circuit);
    let menu = Menu::new(circuit.clone(), &Request::default(), Some(&rows()), &Watch::unlimited()).unwrap();
    let names: Vec<&str> = menu.distributions().iter().map(|offer| offer.name.as_str()).collect();
    assert_eq!(names, ["uniform", "background", "empirical"]);
    assert_eq!(menu.players().iter().map(Players::kind).collect::<Vec<_>>(), ["features", "columns"]);
    assert!(menu.choose(Some("product"), None).is_err() && menu.class(Some(&ClassChoice::Number(3))).is_err());
    let choice = menu.choose(Some("background"), Some("columns")).unwrap();
    let found = menu.explainer(choice).unwrap().explain(&rows(), &Watch::unlimited()).unwrap();
    let distribution = DistributionFrom::Background(RowsFrom::Bits(rows()));
    let own = Request { distribution, players: PlayersFrom::Columns, ..Request::default() };
    let expected = Explainer::new(&circuit, &own).unwrap().explain(&rows(), &Watch::unlimited()).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn a_reference_engine_answers_only_what_it_was_made_for() {
    let each = CompileRequest { class: Some(ClassChoice::Each), ..CompileRequest::default() };
    let circuit = compile(&model(), &each).unwrap().circuit;
    let brute_force = request(&[("engine", "brute-force"), ("class", "0")]).unwrap();
    let explainer = Explainer::new(&circuit, &brute_force).unwrap();
    let watch = Watch::unlimited();
    assert!(explainer.explain(&rows(), &watch).is_ok());
    for (index, exact) in [(Index::Banzhaf, false), (Index::Shapley, true)] {
        let other = super::Ask { index, exact, ..explainer.ask() };
        assert_eq!(explainer.explain_as(&rows(), other, &watch).unwrap_err().kind(), ErrorKind::Request);
    }
}

#[test]
fn probabilities_of_a_column_add_up_to_one() {
    let each = CompileRequest { class: Some(ClassChoice::Each), ..CompileRequest::default() };
    let circuit = compile(&model(), &each).unwrap().circuit;
    let explainer = |floats: [f64; 4], players| {
        let given = floats.map(|p| dashu_ratio::RBig::try_from(p).unwrap()).to_vec();
        let distribution = DistributionFrom::Probabilities(given);
        Explainer::new(&circuit, &Request { distribution, players, ..Request::default() })
    };
    // 0.1 + 0.9 is 1 up to the rounding of floats.
    assert!(explainer([0.1, 0.9, 0.5, 0.5], PlayersFrom::Columns).is_ok());
    let error = explainer([0.3, 0.9, 0.5, 0.5], PlayersFrom::Columns).err().unwrap();
    assert!(error.to_string().starts_with("the probabilities of the values of 'sea' add up to "), "{error}");
    assert!(explainer([0.3, 0.9, 0.5, 0.5], PlayersFrom::Features).is_ok());
    let marginals = Explainer::new(&circuit, &request(&[("distribution", "product")]).unwrap()).err().unwrap();
    assert_eq!(marginals.remedy(), Some(Remedy::Probabilities));
}

/// AND(x1..x13) OR AND(x14..x26): too many variables for a table, and both parts are true if all variables are 1.
fn wide_overlap() -> Circuit {
    let mut builder = CircuitBuilder::new(26).unwrap();
    let gates = [0..13, 13..26].map(|variables| {
        let literals: Vec<NodeId> = variables.map(|v| builder.literal(Var::new(v).positive()).unwrap()).collect();
        builder.and(&literals).unwrap()
    });
    let root = builder.or(&gates).unwrap();
    builder.finish(root).unwrap()
}

#[test]
fn what_is_not_decided_is_announced_with_every_result() {
    // Without a solver, as in a library built without it.
    let circuit = NamedCircuit::new(wide_overlap(), Model::default_features(26)).unwrap();
    assert_eq!(circuit.facts.undecided, [circuit.circuit.root()]);
    let explainer = Explainer::new(&circuit, &Request::default()).unwrap();
    let about = explainer.columns(Vec::new()).unwrap().about;
    assert!(about["caution"].starts_with("it is not known whether 1 or-gate is deterministic"), "{about:?}");
    let mut file = Vec::new();
    circuit.write(&mut file).unwrap();
    assert_eq!(NamedCircuit::read(&file[..]).unwrap().facts.undecided, circuit.facts.undecided);
}

#[cfg(feature = "sat")]
#[test]
fn reading_a_circuit_decides_with_the_solver() {
    let circuit = NamedCircuit::new(wide_overlap(), Model::default_features(26)).unwrap();
    let mut file = Vec::new();
    circuit.write(&mut file).unwrap();
    let said = read_circuit(&file[..]).unwrap_err().to_string();
    let ones = "1".repeat(26);
    assert!(said.contains(&format!("or-gate 28 has two children that are true together on {ones}")), "{said}");
}

#[test]
fn what_was_proved_is_kept_with_its_digests() {
    let model = Model::from_json(
        r#"{"format": "boolshap model", "version": 1, "features": ["a", "b"], "hidden": [],
            "output": {"step": {"weights": "++", "need": "2"}}, "provenance": {}}"#,
    )
    .unwrap();
    let request = CompileRequest { verify: true, ..CompileRequest::default() };
    let compiled = compile(&model, &request).unwrap().circuit;
    let proof = compiled.facts.verified.proof().unwrap().clone();
    assert_eq!((proof.method.as_str(), proof.source), ("exhaustive", Digest::of(model.to_json().as_bytes())));
    let mut file = Vec::new();
    compiled.write(&mut file).unwrap();
    // The digest is that of everything before it, and comes before the checksum.
    let (content, end) = file.split_at(file.len() - 36);
    assert_eq!(Digest::of(content).0, end[..32]);
    // A proof that is read again is a claim, until it is proved again.
    let mut read = read_circuit(&file[..]).unwrap();
    assert_eq!((read.facts.verified.standing(), read.facts.verified.proof()), ("claimed", Some(&proof)));
    let found = verify(&model, &read, &VerifyRequest::default()).unwrap();
    assert_eq!((found.classes.as_slice(), found.class_names.as_slice()), (&[1][..], &["1".to_string()][..]));
    found.record(&model, &mut read);
    assert_eq!(read.facts.verified, compiled.facts.verified);
    // Another model with the same answers is another model.
    let mut other = model.clone();
    other.provenance.insert("seed".into(), 7.into());
    let found = verify(&other, &read, &VerifyRequest::default()).unwrap();
    let digest = model.digest().short();
    assert_eq!(
        found.notes,
        [
            format!("the proof that the file claims is of another model, {digest}"),
            format!("the file says that it was compiled from another model, {digest}"),
        ]
    );
}
