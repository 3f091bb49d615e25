//! Tests circuit files: read back, changed by hand, of the previous version, and of circuits that are not sound.

use super::samples::from_table;
use super::{CircuitBuilder, Facts, NamedCircuit, ProofOf, Verified};
use crate::lit::{Digest, Lit, Var};
use crate::model::{Gate, Marginals, Model, Network, Output};
use serde_json::{Value, json};

fn sample() -> NamedCircuit {
    let mut builder = CircuitBuilder::new(4).unwrap();
    let literal = |builder: &mut CircuitBuilder, number| builder.literal(Lit::from_dimacs(number).unwrap()).unwrap();
    let (a, b, c) = (literal(&mut builder, 1), literal(&mut builder, -1), literal(&mut builder, 2));
    let yes = builder.constant(true).unwrap();
    let decision = builder.decision(Var::new(2), c, yes).unwrap();
    let left = builder.and(&[a, decision]).unwrap();
    let right = builder.and(&[b, c]).unwrap();
    let root = builder.or(&[left, right]).unwrap();
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let mut named = NamedCircuit::new(builder.finish(root).unwrap(), names).unwrap();
    named.marginals = Some(Marginals { rows: 9, ones: vec![1, 2, 3, 4] });
    named.provenance.insert("share".into(), 0.1.into());
    named.facts = Facts { class: Some(3), route: Some("apply".into()), ..Facts::default() };
    named
}

fn proved() -> NamedCircuit {
    let mut named = sample();
    named.set_proved("walk", ProofOf::Model, Digest::of(b"the model"));
    named
}

fn bytes(named: &NamedCircuit) -> Vec<u8> {
    let mut bytes = Vec::new();
    named.write(&mut bytes).unwrap();
    bytes
}

/// The same file with a changed header and a matching checksum.
fn with_header(content: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(content[21..29].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&content[29..29 + length]).unwrap();
    change(&mut header);
    let header = header.to_string();
    let mut changed = content[..21].to_vec();
    changed.extend((header.len() as u64).to_le_bytes());
    changed.extend(header.bytes());
    changed.extend(&content[29 + length..content.len() - 4]);
    changed.extend(crc32fast::hash(&changed).to_le_bytes());
    changed
}

#[test]
fn a_file_reads_back_as_the_same_circuit() {
    for named in [sample(), proved()] {
        let back = NamedCircuit::read(bytes(&named).as_slice()).unwrap();
        assert_eq!(bytes(&back), bytes(&named));
        assert_eq!(back.circuit.truth_table().unwrap(), named.circuit.truth_table().unwrap());
        assert_eq!((&back.features, &back.marginals), (&named.features, &named.marginals));
        assert_eq!((&back.facts.class, &back.facts.route), (&named.facts.class, &named.facts.route));
        assert_eq!(back.facts.verified.proof(), named.facts.verified.proof());
    }
}

#[test]
fn several_classes_keep_a_circuit_each() {
    let circuits = [(*sample().circuit).clone(), from_table(4, &[0b0110_1001])];
    let network = Network::new(4, vec![], Output::Step(Gate::new(vec![1, 1, 1, 1], 2).unwrap()));
    let model = Model::new(network.unwrap(), ["a", "b", "c", "d"].map(String::from).to_vec()).unwrap();
    let named = NamedCircuit::of_classes(&circuits, &model).unwrap();
    let back = NamedCircuit::read(bytes(&named).as_slice()).unwrap();
    assert_eq!(back.classes, named.classes);
    for (class, circuit) in circuits.iter().enumerate() {
        let kept = back.label(Some(class)).unwrap();
        assert_eq!(kept.truth_table().unwrap(), circuit.truth_table().unwrap());
        assert_eq!(kept.counts().nodes, circuit.counts().nodes);
    }
    assert_eq!(back.label(Some(2)).unwrap_err().to_string(), "there is no class 2: the file holds classes 0 to 1");
    // Literals and constants that both classes use count once, so together they have fewer nodes than the sum of both.
    let [first, second] = [0, 1].map(|class| back.label(Some(class)).unwrap().graph_size());
    assert!(back.graph_size().0 < first.0 + second.0 && back.graph_size().0 > first.0.max(second.0));
    assert_eq!(back.graph_size().1, first.1 + second.1);
}

#[test]
fn every_cut_and_every_changed_byte_is_refused() {
    for good in [bytes(&sample()), bytes(&proved())] {
        for length in 0..good.len() {
            assert!(NamedCircuit::read(&good[..length]).is_err(), "cut to {length} bytes");
        }
        for index in 0..good.len() {
            let mut bad = good.clone();
            bad[index] ^= 1;
            assert!(NamedCircuit::read(bad.as_slice()).is_err(), "byte {index} changed");
        }
        assert!(NamedCircuit::read([good.as_slice(), b"x"].concat().as_slice()).is_err());
    }
}

#[test]
fn a_proof_is_of_what_was_proved() {
    let read = |content: &[u8]| NamedCircuit::read(content).unwrap().facts;
    let facts = read(&bytes(&proved()));
    assert_eq!((facts.verified.standing(), facts.notes().len()), ("claimed", 0));
    // After any change, by hand or in memory, the claim does not match any more.
    let changed = with_header(&bytes(&proved()), |header| header["marginals"]["ones"][0] = 2.into());
    assert_eq!((read(&changed).verified.standing(), read(&changed).notes().len()), ("refuted", 1));
    let mut named = proved();
    named.features[3] = "e".into();
    assert_eq!(read(&bytes(&named)).verified, Verified::Refuted("walk".into()));
    // A claim that was dropped is not written again.
    let again = NamedCircuit::read(bytes(&named).as_slice()).unwrap();
    assert_eq!(read(&bytes(&again)).verified, Verified::No);
    // Only a proof made in this run counts as "proved".
    assert!(proved().facts.verified.words().starts_with("yes: proved equal to the model "));
    assert!(facts.verified.words().starts_with("claimed by its file: "));
}

#[test]
fn files_of_version_1_are_read_and_their_claims_are_called_claims() {
    let mut old = with_header(&bytes(&sample()), |header| header["provenance"]["verified"] = "sat".into());
    old[17] = 1;
    let end = old.len() - 4;
    let sum = crc32fast::hash(&old[..end]);
    old[end..].copy_from_slice(&sum.to_le_bytes());
    let named = NamedCircuit::read(old.as_slice()).unwrap();
    assert_eq!(named.facts.verified, Verified::Unbacked("sat".into()));
    assert!(named.facts.verified.words().starts_with("claimed by its file, without saying of what"));
    // It stays a claim when it is written in the new version.
    let again = NamedCircuit::read(bytes(&named).as_slice()).unwrap();
    assert_eq!(again.facts, named.facts);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let content = bytes(&sample());
    let with = |key: &'static str, value: Value| with_header(&content, move |header| header[key] = value.clone());
    let fact = |key: &'static str, value: Value| {
        with_header(&content, move |header| header["provenance"][key] = value.clone())
    };
    let schema = |code: &str| serde_json::from_str::<Value>(&format!(r#"[{{"column":"a","code":{code}}}]"#)).unwrap();
    let digest = Digest::of(b"").to_string();
    let cases = [
        (with("features", json!(["a", "b", "c", "a"])), "the feature 'a' is there twice"),
        (with("marginals", json!({"rows": 3, "ones": [0, 1, 2, 4]})), "marginals do not fit"),
        (with("schema", schema(r#"{"categories":["z","b","c","d"]}"#)), "not in alphabetical order"),
        (with("schema", schema("\"boolean\"")), "the schema makes other features"),
        (with("root", 8.into()), "the root is node 8"),
        (with("classes", json!([["n", 7], ["n", 5]])), "the class 'n' is there twice"),
        (with("classes", json!([["n", 5], ["y", 7]])), "the root is not that of the first class"),
        (with("classes", json!([["n", 7], ["y", 8]])), "the root of a class is unknown"),
        (with("classes", json!([["n", 7], ["y", 5]])), "said to be one class, but holds several"),
        (with("proof", json!({"method": "oath", "of": "model", "digest": digest})), "the circuit is cut off"),
        (fact("class", (-1).into()), "its fact 'class' cannot be -1"),
        (fact("class", 5_000_000_000u64.into()), "its fact 'class' cannot be 5000000000"),
        (fact("smooth", "yes".into()), "its fact 'smooth' cannot be \"yes\""),
        (fact("smooth", true.into()), "the circuit is not sound: node 4 is not smooth"),
        (fact("verified", "oath".into()), "verified by 'oath', which is not one of exhaustive, walk, sat"),
    ];
    for (content, expected) in cases {
        let said = NamedCircuit::read(content.as_slice()).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}, not {expected}");
    }
    let twice = with_header(&bytes(&proved()), |header| header["provenance"]["verified"] = "sat".into());
    let said = NamedCircuit::read(twice.as_slice()).unwrap_err().to_string();
    assert_eq!(said, "it is said in two ways how it was verified");
}

#[test]
fn circuits_that_are_not_sound_are_refused_everywhere() {
    let mut builder = CircuitBuilder::new(2).unwrap();
    let [x, y] = [0, 1].map(|v| builder.literal(Var::new(v).positive()).unwrap());
    let or = builder.or(&[x, y]).unwrap();
    let names = || ["a", "b"].map(String::from).to_vec();
    let overlapping = builder.finish(or).unwrap();
    let expected = "the circuit is not sound: or-gate 2 is not deterministic: its children 0 and 1 are true together";
    assert_eq!(NamedCircuit::new(&overlapping, names()).unwrap_err().to_string(), expected);
    let both = [overlapping.clone(), overlapping.clone()];
    assert!(NamedCircuit::join(&both, names(), names()).unwrap_err().to_string().contains("not deterministic"));
    let written = bytes(&NamedCircuit::unchecked(overlapping, names()).unwrap());
    assert_eq!(NamedCircuit::read(written.as_slice()).unwrap_err().to_string(), expected);
}
