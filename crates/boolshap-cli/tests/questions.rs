//! `boolshap ask` as a person types it: every question on a function that is easy to check by hand, and bad input.

use crate::command::{done, either, fails};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// x1 or x2, among three features.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    either(folder.path(), 3);
    fs::write(folder.path().join("rows.csv"), "x1,x2,x3\n1,0,1\n1,1,0\n0,0,0\n").unwrap();
    folder
}

fn ask(folder: &Path, arguments: &[&str]) -> Value {
    let text = done(folder, &[&["ask"], arguments, &["--json"]].concat());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn reasons_and_contrasts() {
    let folder = prepared();
    let folder = folder.path();
    let all = ask(folder, &["reason", "c.bsc", "rows.csv", "--all"]);
    let sets = |answer: &Value, row: usize| answer["rows"][row]["reasons"].clone();
    assert_eq!(sets(&all, 0), json!([["x1"]]));
    assert_eq!(sets(&all, 1), json!([["x1"], ["x2"]]));
    assert_eq!(sets(&all, 2), json!([["x1", "x2"]]));
    assert_eq!((&all["rows"][1]["count"], &all["rows"][1]["complete"]), (&json!(2), &json!(true)));
    assert_eq!((&all["rows"][2]["row"], &all["rows"][2]["prediction"]), (&json!(3), &json!(0)));
    let preferred = ask(folder, &["reason", "c.bsc", "rows.csv", "--row", "2", "--prefer", "x2"]);
    assert_eq!(preferred["rows"].as_array().unwrap().len(), 1);
    assert_eq!(sets(&preferred, 0), json!([["x2"]]));
    let without = ask(folder, &["reason", "c.bsc", "rows.csv", "--row", "1,3", "--exclude", "x1", "--minimum"]);
    assert_eq!((sets(&without, 0), sets(&without, 1)), (json!([]), json!([])));
    // Three quarters of all inputs have the label, so the empty reason suffices.
    let probable = ask(folder, &["reason", "c.bsc", "rows.csv", "--row", "1", "--share", "0.75"]);
    assert_eq!(sets(&probable, 0), json!([[]]));
    let contrast = ask(folder, &["contrast", "c.bsc", "rows.csv", "--all"]);
    assert_eq!((sets(&contrast, 1), sets(&contrast, 2)), (json!([["x1", "x2"]]), json!([["x1"], ["x2"]])));
    let parts = ask(folder, &["attribution", "c.bsc", "rows.csv", "--row", "2"]);
    let part = &parts["rows"][0]["players"][0];
    assert_eq!((&part["necessary"], &part["share"], &part["shapley"]), (&json!(false), &json!("1/2"), &json!("1/2")));
}

#[test]
fn changes_and_radii() {
    let folder = prepared();
    let folder = folder.path();
    fs::write(folder.join("costs.csv"), "player,cost\nx1,0.5\n").unwrap();
    let near = ask(folder, &["counterfactual", "c.bsc", "rows.csv"]);
    assert_eq!(near["rows"][0]["counterfactuals"], json!([[{"player": "x1", "from": 1, "to": 0}]]));
    assert_eq!((&near["rows"][1]["distance"], &near["rows"][2]["count"]), (&json!(2), &json!(2)));
    let cheap = ask(folder, &["counterfactual", "c.bsc", "rows.csv", "--row", "3", "--costs", "costs.csv"]);
    assert_eq!((&cheap["rows"][0]["distance"], &cheap["rows"][0]["count"]), (&json!(0.5), &json!(1)));
    let frozen = ask(folder, &["counterfactual", "c.bsc", "rows.csv", "--freeze", "x1", "--only-up", "x2"]);
    assert_eq!((&frozen["rows"][0]["distance"], &frozen["rows"][2]["distance"]), (&json!(null), &json!(1)));
    let own = ask(folder, &["counterfactual", "c.bsc", "rows.csv", "--row", "1", "--to", "1"]);
    assert_eq!((&own["rows"][0]["distance"], &own["rows"][0]["counterfactuals"]), (&json!(0), &json!([[]])));
    let radii = ask(folder, &["robustness", "c.bsc", "rows.csv", "--radius", "1"]);
    assert_eq!(radii["rows"][1], json!({"row": 2, "prediction": 1, "radius": 2, "others": 0, "others_at": [0, 0]}));
    assert_eq!((&radii["rows"][2]["others"], &radii["histogram"]), (&json!(2), &json!({"1": 2, "2": 1})));
    assert_eq!(radii["mean_radius_of_inputs"], json!("5/4"));
}

#[test]
fn classifiers_as_a_whole() {
    let folder = prepared();
    let folder = folder.path();
    let bias = ask(folder, &["bias", "c.bsc", "rows.csv", "--protected", "x1"]);
    let biased: Vec<&Value> = bias["rows"].as_array().unwrap().iter().map(|row| &row["biased"]).collect();
    assert_eq!(biased, [&json!(true), &json!(false), &json!(true)]);
    assert_eq!((&bias["classifier_biased"], &bias["inputs"]), (&json!(true), &json!(4)));
    let properties = ask(folder, &["properties", "c.bsc"]);
    let expected = json!({"name": "x1", "used": true, "monotone": "up", "influence": "1/2", "mandatory": [{"class": 0, "value": 0}]});
    assert_eq!(properties["features"][0], expected);
    assert_eq!(properties["features"][2]["monotone"], "constant");
    fs::write(folder.join("g.cnf"), "p cnf 3 1\n1 3 0\n").unwrap();
    done(folder, &["compile", "g.cnf", "-o", "g.bsc"]);
    let differ = ask(folder, &["difference", "c.bsc", "g.bsc", "rows.csv"]);
    assert_eq!((&differ["inputs"], &differ["share"], &differ["rows"]), (&json!(2), &json!("1/4"), &json!([])));
    fs::write(folder.join("k.cnf"), "p cnf 3 1\n1 0\n").unwrap();
    let same = ask(folder, &["difference", "c.bsc", "g.bsc", "--constraint", "k.cnf"]);
    assert_eq!((&same["inputs"], &same["example"]), (&json!(0), &json!(null)));
}

#[test]
fn claims_and_letters() {
    let folder = prepared();
    let folder = folder.path();
    let claims = json!([{"row": 1, "reason": ["x1", "x3"]}, {"row": 1, "reason": ["x3"]}, {"row": 3, "counterfactual": {"x1": 1, "x3": 1}}]);
    fs::write(folder.join("claims.json"), claims.to_string()).unwrap();
    let judged = ask(folder, &["judge", "c.bsc", "rows.csv", "--claims", "claims.json"]);
    let first = &judged["rows"][0]["claims"];
    assert_eq!(
        (&first[0]["valid"], &first[0]["minimal"], &first[0]["repaired"]),
        (&json!(true), &json!(false), &json!(["x1"]))
    );
    assert_eq!((&first[1]["valid"], &first[1]["example"]), (&json!(false), &json!("001")));
    let third = &judged["rows"][2]["claims"][0];
    assert_eq!((&third["valid"], &third["nearest"], &third["distance"]), (&json!(true), &json!(false), &json!(2)));
    fs::write(folder.join("codes.csv"), "player,code,text\nx1,R1,no rain\nx2,R2,no wind\n").unwrap();
    fs::write(folder.join("good.csv"), "x1,x2,x3\n1,0,1\n").unwrap();
    let arguments =
        ["ask", "codes", "c.bsc", "rows.csv", "--codes", "codes.csv", "--against", "good.csv", "--actionable", "x2"];
    let letters: Value = serde_json::from_str(&done(folder, &[&arguments[..], &["--json"]].concat())).unwrap();
    let third = &letters["rows"][2];
    assert_eq!(third["codes"], json!([{"player": "x1", "code": "R1", "text": "no rain", "value": "0", "score": "-1"}]));
    assert_eq!(third["change"], json!([{"player": "x2", "from": 0, "to": 1}]));
    assert_eq!(letters["rows"][0]["codes"], json!([]));
    let bytes = [0, 1].map(|_| {
        done(folder, &[&arguments[..], &["-o", "letters.csv"]].concat());
        fs::read(folder.join("letters.csv")).unwrap()
    });
    assert_eq!(bytes[0], bytes[1]);
    assert!(String::from_utf8_lossy(&bytes[0]).contains("3,0,1,x1,R1,no rain,0,-1,x2 1 instead of 0"));
}

#[test]
fn bad_input_gets_a_sentence() {
    let folder = prepared();
    let folder = folder.path();
    fs::write(folder.join("k.cnf"), "p cnf 3 1\n1 2 0\n").unwrap();
    fs::write(folder.join("costs.csv"), "player,cost\nx1,-1\n").unwrap();
    let fails = |code, arguments: &[&str]| fails(folder, code, &[&["ask"], arguments].concat());
    let outside = fails(1, &["reason", "c.bsc", "rows.csv", "--constraint", "k.cnf", "--json"]);
    assert!(outside.contains("row 3 does not satisfy the constraint: clause 1 2 is violated"), "{outside}");
    let unknown = fails(1, &["counterfactual", "c.bsc", "rows.csv", "--to", "2"]);
    assert!(unknown.contains("there is no class 2"), "{unknown}");
    let missing = fails(1, &["bias", "c.bsc", "rows.csv", "--protected", "age"]);
    assert!(missing.contains("protected names 'age', which is not a feature"), "{missing}");
    let negative = fails(1, &["counterfactual", "c.bsc", "rows.csv", "--costs", "costs.csv"]);
    assert!(negative.contains("costs.csv, row 1: the cost '-1' of 'x1' is negative"), "{negative}");
    assert!(fails(2, &["bias", "c.bsc", "rows.csv"]).contains("--protected must be given"));
    assert!(fails(2, &["wisdom", "c.bsc", "rows.csv"]).contains("it is not one of reason"));
    assert!(fails(2, &["reason", "c.bsc", "rows.csv", "--radius", "1"]).contains("--radius is not a setting"));
    assert!(fails(2, &["reason", "c.bsc"]).contains("reason is asked of rows"));
    assert!(fails(1, &["reason", "c.bsc", "rows.csv", "--row", "4"]).contains("row 4 is not there"));
    assert!(
        fails(2, &["reason", "c.bsc", "rows.csv", "--share", "1.5"]).contains("'1.5' is not above 0 and at most 1")
    );
}
