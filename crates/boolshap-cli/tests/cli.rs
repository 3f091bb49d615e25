//! The commands as a person types them: what they print, what they leave behind, and how they fail.

use crate::command::{boolshap, done, either, fails, listing};
use crate::shared_data::shared_data;
use boolshap::circuit::NamedCircuit;
use boolshap::data::Code;
use std::fs;
use std::path::Path;

/// Twelve rows in which `x` above its mean decides, with every kind of column, four times over.
fn table() -> String {
    let (header, rows) = TABLE.split_once('\n').unwrap();
    format!("{header}\n{}", rows.repeat(4))
}

const TABLE: &str = "x,flag,place,blank,price\n\
    1,0,north,,10\n9,1,south,,90\n2,0,east,,10\n8,0,north,,90\n1,1,south,,10\n9,1,east,,90\n\
    2,0,north,,10\n8,1,south,,90\n1,1,east,,10\n9,0,north,,90\n,0,south,,10\n8,1,east,,90\n";

fn train(folder: &Path, more: &[&str]) -> String {
    let arguments = [&["train", "t.csv", "--target", "price", "-o", "m.json", "--hidden", "3"], more].concat();
    done(folder, &arguments)
}

fn model(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(folder.join("m.json")).unwrap()).unwrap()
}

#[test]
fn train_learns_and_describes_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    let text = train(folder, &["--json"]);
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["test_accuracy"], 1.0);
    assert_eq!((&result["rows"], &result["train_rows"], &result["test_rows"]), (&48.into(), &24.into(), &24.into()));
    let names = ["x>5.27273", "flag=1", "place=east", "place=north", "place=south"];
    assert_eq!(model(folder)["features"], serde_json::json!(names));
    // The mean of eleven values of twelve: the missing one does not count, and it becomes 0.
    assert_eq!(model(folder)["schema"][0]["code"]["above"], 58.0 / 11.0);
    let said = done(folder, &["predict", "m.json", "t.csv", "-o", "p.csv"]);
    assert_eq!(said, "48 predictions (0 is '10', 1 is '90'): p.csv\n");
    let predictions = fs::read_to_string(folder.join("p.csv")).unwrap();
    assert_eq!(predictions, format!("prediction\n{}", "0\n1\n".repeat(24)));
}

#[test]
fn one_seed_gives_one_file_and_another_seed_another_split() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    train(folder, &[]);
    let first = fs::read(folder.join("m.json")).unwrap();
    train(folder, &["--threads", "2"]);
    assert_eq!(fs::read(folder.join("m.json")).unwrap(), first);
    train(folder, &["--seed", "8"]);
    assert_ne!(fs::read(folder.join("m.json")).unwrap(), first);
}

#[test]
fn columns_can_be_described() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    fs::write(folder.join("s.json"), r#"{"x": "numeric:median", "flag": "ignored"}"#).unwrap();
    train(folder, &["--schema", "s.json", "--column", "x=numeric:at=1.5,8", "--column", "place=ignored"]);
    assert_eq!(model(folder)["features"], serde_json::json!(["x=..1.5", "x=1.5..8", "x=8..", "x=(missing)"]));
    train(folder, &["--schema", "s.json"]);
    assert_eq!(model(folder)["schema"][0]["code"]["above"], 8.0);
    train(folder, &["--column", "x=numeric:bins=3", "--column", "price=numeric:at=5,50"]);
    assert_eq!(model(folder)["classes"], serde_json::json!(["..5", "5..50", "50.."]));
    assert_eq!(model(folder)["output"]["argmax"].as_array().unwrap().len(), 3);
    let message = fails(folder, 2, &["train", "t.csv", "--target", "price", "-o", "n.json", "--column", "x=number"]);
    assert!(message.starts_with("boolshap: --column 'x=number': 'number' is not one of numeric"), "{message}");
}

#[test]
fn fitting_on_the_training_rows_moves_the_thresholds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    train(folder, &[]);
    let all = model(folder)["schema"].clone();
    train(folder, &["--fit", "train"]);
    let part = model(folder)["schema"].clone();
    assert_ne!(part[0], all[0]);
    assert_eq!(part[2], all[2], "categories come from all rows");
}

#[test]
fn bad_tables_are_refused_with_the_place_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cases = [
        ("", "t.csv: is empty: a header line is expected"),
        ("x,price\n", "t.csv: column 'price' is the target, but has no value in any row"),
        ("x,x,price\n1,2,3\n", "t.csv: the header has the column 'x' twice"),
        ("x,y\n1,2\n", "t.csv: there is no column 'price' (there are: x, y)"),
        ("x,price\n1,2\n3,4\nfive,6\n", "t.csv, row 3, column 'x': 'five' is not a finite number"),
        ("x,price\n1,2\n3,4\ninf,6\n", "t.csv, row 3, column 'x': 'inf' is not a finite number"),
        ("x,price\n1,2\n3,\n", "t.csv, row 2, column 'price': '' is missing, but it is the target"),
        ("x,price\n1,5\n3,5\n", "t.csv: column 'price' has one class only, so there is nothing to learn"),
        ("x,price\n1,yes\n3,yes\n", "t.csv: column 'price' has one value only, so there is nothing to learn"),
        ("price\n1\n2\n", "t.csv: no column is left to learn from"),
    ];
    for (table, message) in cases {
        fs::write(folder.join("t.csv"), table).unwrap();
        let said = fails(folder, 1, &["train", "t.csv", "--target", "price", "-o", "m.json"]);
        assert!(said.starts_with(&format!("boolshap: {message}")), "{said}");
    }
    fs::write(folder.join("t.csv"), "x,price\n1,2\n3\n").unwrap();
    let said = fails(folder, 1, &["train", "t.csv", "--target", "price", "-o", "m.json"]);
    assert!(said.contains("t.csv: ") && said.contains("line 3"), "{said}");
    let many: String = (0..200).map(|i| format!("name{},{}\n", i / 2 * 2 + i % 50 / 49, i % 2)).collect();
    fs::write(folder.join("t.csv"), format!("who,price\n{many}")).unwrap();
    let said = fails(folder, 1, &["train", "t.csv", "--target", "price", "-o", "m.json"]);
    assert!(said.contains("column 'who' holds more than 100 different texts"), "{said}");
    assert!(said.contains("say --ignore who, or --column who=categorical:top=20"), "{said}");
}

#[test]
fn nan_counts_as_missing_and_missing_as_zero() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), "x,price\n1,0\nNaN,0\n,0\n5,1\n1,0\n5,1\n5,1\n5,1\n").unwrap();
    train(folder, &[]);
    // (1 + 5 + 1 + 5 + 5 + 5) / 6
    assert_eq!(model(folder)["schema"][0]["code"]["above"], 22.0 / 6.0);
    done(folder, &["predict", "m.json", "t.csv", "-o", "p.csv"]);
    assert_eq!(fs::read_to_string(folder.join("p.csv")).unwrap(), "prediction\n0\n0\n0\n1\n0\n1\n1\n1\n");
}

#[test]
fn a_value_at_a_threshold_is_not_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), format!("x,price\n{}", "5,0\n6,1\n4,0\n".repeat(4))).unwrap();
    // The mean is 5 itself.
    train(folder, &["--tally", "rows.csv", "--test-fraction", "0"]);
    let rows = fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows, "x>5,train:0,train:1,test:0,test:1\n0,8,0,0,0\n1,0,4,0,0\n");
    train(folder, &["--tally", "rows.csv", "--test-fraction", "0", "--column", "x=numeric:at=4,5"]);
    let rows = fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows, "x=..4,x=4..5,x=5..,train:0,train:1,test:0,test:1\n0,0,1,0,4,0,0\n0,1,0,4,0,0,0\n1,0,0,4,0,0,0\n");
}

#[test]
fn rows_to_predict_are_matched_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    train(folder, &[]);
    let predict = |table: &str| {
        fs::write(folder.join("rows.csv"), table).unwrap();
        done(folder, &["predict", "m.json", "rows.csv", "-o", "-"])
    };
    assert_eq!(predict("place,extra,flag,x\nnorth,7,1,9\neast,7,0,1\n"), "prediction\n1\n0\n");
    let bits = "place=south,place=north,place=east,flag=1,x>5.27273\n0,1,0,1,1\n0,0,1,0,0\n";
    assert_eq!(predict(bits), "prediction\n1\n0\n");
    let refuse = |table: &str| {
        fs::write(folder.join("rows.csv"), table).unwrap();
        fails(folder, 1, &["predict", "m.json", "rows.csv", "-o", "q.csv"])
    };
    let said = refuse("place,flag,x\nnorth,1,9\nwest,0,1\n");
    assert_eq!(
        said,
        "boolshap: rows.csv, row 2, column 'place': 'west' is not one of the known categories (east, north, south)"
    );
    assert_eq!(refuse("place,x\nnorth,1\n"), "boolshap: rows.csv: there is no column 'flag' (there are: place, x)");
    let said = refuse("place=south,place=north,place=east,flag=1,x>5.27273\n0,1,0,1,2\n");
    assert_eq!(said, "boolshap: rows.csv, row 1, column 'x>5.27273': '2' is neither 0 nor 1");
}

#[test]
fn bad_models_and_outputs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    train(folder, &[]);
    let text = fs::read_to_string(folder.join("m.json")).unwrap();
    fs::write(folder.join("cut.json"), &text[..text.len() / 2]).unwrap();
    let said = fails(folder, 1, &["predict", "cut.json", "t.csv", "-o", "p.csv"]);
    assert!(said.starts_with("boolshap: cut.json: the model is cut off: "), "{said}");
    let said = fails(folder, 1, &["predict", "none.json", "t.csv", "-o", "p.csv"]);
    assert!(said.starts_with("boolshap: none.json: No such file"), "{said}");
    let said = fails(folder, 1, &["train", "t.csv", "--target", "price", "-o", "no/m.json"]);
    assert_eq!(said, "boolshap: no/m.json: the folder no does not exist");
    let said = fails(folder, 1, &["predict", "m.json", "t.csv", "-o", "no/p.csv"]);
    assert_eq!(said, "boolshap: no/p.csv: the folder no does not exist");
    if Path::new("/dev/full").exists() {
        let said = fails(folder, 1, &["predict", "m.json", "t.csv", "-o", "/dev/full"]);
        assert!(said.starts_with("boolshap: /dev/full: No space left on device"), "{said}");
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["train", "t.csv"][..],
        &["nonsense"],
        &[],
        &["train", "t.csv", "--target", "y", "-o", "m.json", "--test-fraction", "1"],
        &["train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "3,0"],
        &["train", "t.csv", "--target", "y", "-o", "m.json", "--weights", "integer:0"],
        &["import", "x", "-o", "m.json", "--bn-epsilon", "-1"],
        &["demo", "--threads", "0"],
    ] {
        fails(folder.path(), 2, arguments);
    }
}

#[test]
fn import_refuses_what_it_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text.h5"), "hello world").unwrap();
    let said = fails(folder, 1, &["import", "text.h5", "-o", "m.json"]);
    assert!(said.contains("text.h5: neither HDF5 weights, safetensors") && said.contains("\"hello world\""), "{said}");
    fs::write(folder.join("cut.h5"), b"\x89HDF\r\n\x1a\n\0\0\0\0").unwrap();
    let said = fails(folder, 1, &["import", "cut.h5", "-o", "m.json"]);
    assert!(said.contains("cut.h5: not readable as HDF5"), "{said}");
    fs::write(folder.join("cut.safetensors"), b"\x40\0\0\0\0\0\0\0{\"a.weight\":").unwrap();
    let said = fails(folder, 1, &["import", "cut.safetensors", "-o", "m.json"]);
    assert!(said.contains("cut.safetensors: not readable as safetensors"), "{said}");
    let said = fails(folder, 1, &["import", ".", "-o", "m.json"]);
    assert!(said.contains("holds no out_blk"), "{said}");
}

/// Writes a folder of layers: (block, file, content).
fn blocks(folder: &Path, files: &[(&str, &str, &str)]) {
    for (block, file, content) in files {
        fs::create_dir_all(folder.join("net").join(block)).unwrap();
        fs::write(folder.join("net").join(block).join(file), content).unwrap();
    }
}

#[test]
fn folders_of_layers_are_imported_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Example 1 of the paper, with its step output.
    blocks(
        folder,
        &[
            ("blk1", "lin_weight.csv", "-1,-1,1\n-1.0,-1.0,-1.0\n1,1,1\n"),
            ("blk1", "lin_bias.csv", "0.16,0.4,-0.2\n"),
            ("out_blk", "lin_weight.csv", "1,1,-1\n"),
            ("out_blk", "lin_bias.csv", "-0.01\n"),
        ],
    );
    fs::write(folder.join("names.csv"), "income,age,rooms\n1,0,1\n").unwrap();
    let text = done(folder, &["import", "net", "-o", "m.json", "--features", "names.csv"]);
    assert!(text.contains("network 3-3-1") && text.contains("features: income, age, rooms"), "{text}");
    assert_eq!(model(folder)["hidden"][0][0], serde_json::json!({"weights": "--+", "need": "2"}));
    let refused = |files: &[(&str, &str, &str)]| {
        blocks(folder, files);
        fails(folder, 1, &["import", "net", "-o", "n.json"])
    };
    let said = refused(&[("out_blk", "lin_weight.csv", "1,1\n")]);
    assert!(said.ends_with("out_blk has weights for 2 inputs where 3 arrive"), "{said}");
    let said = refused(&[("out_blk", "lin_weight.csv", "1,0,-1\n")]);
    assert!(said.contains("out_blk: the weight of neuron 1 for input 2 is 0, whose sign is ambiguous"), "{said}");
    let said = refused(&[("out_blk", "lin_weight.csv", "1,nan,-1\n")]);
    assert!(said.contains("lin_weight.csv: line 1, value 2: 'nan' is not a finite number"), "{said}");
    let said = refused(&[("out_blk", "lin_weight.csv", "1,1,-1\n"), ("out_blk", "lin_bias.csv", "0,1\n")]);
    assert!(said.ends_with("out_blk: bias has 2 values where 1 are expected"), "{said}");
    let said = refused(&[("out_blk", "lin_bias.csv", "0\n"), ("blk3", "lin_weight.csv", "1\n")]);
    assert!(said.ends_with("blk2 is missing"), "{said}");
}

#[test]
fn a_neuron_is_imported_with_real_weights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("n.neuron"), "name: n\nsize: 3\nweights: 2.5 -1 0.5\nthreshold: 1.5\n").unwrap();
    let text = done(folder, &["import", "n.neuron", "-o", "m.json"]);
    // 2.5 x1 - x2 + 0.5 x3 >= 1.5 holds exactly when x1 does.
    assert!(text.contains("class 1: 4"), "{text}");
    let info: serde_json::Value = serde_json::from_str(&done(folder, &["info", "m.json", "--json"])).unwrap();
    assert_eq!(info["class_counts"], serde_json::json!([4, 4]));
    assert_eq!(info["features"], serde_json::json!(["x1", "x2", "x3"]));
}

#[test]
fn slow_the_demo_needs_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = done(folder, &["demo"]);
    assert!(text.contains("20,640 blocks of houses on 13 binary features"), "{text}");
    assert_eq!(listing(folder), ["boolshap-demo"]);
    assert_eq!(
        listing(&folder.join("boolshap-demo")),
        ["circuit.bsc", "entities.csv", "housing.csv", "model.json", "report.html", "scores.csv", "timing.svg"]
    );
    assert!(text.contains("boolshap serve boolshap-demo/circuit.bsc boolshap-demo/entities.csv"), "{text}");
    let report = fs::read_to_string(folder.join("boolshap-demo/report.html")).unwrap();
    assert!(report.contains("\"rows\":20640") && report.contains("entities explained"));
    let info = done(folder, &["info", "boolshap-demo/model.json", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["shape"], "13-13-1");
    let accuracy = info["provenance"]["test_accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.785, "{accuracy}");
    // A second run over its own results changes nothing.
    let model = fs::read(folder.join("boolshap-demo/model.json")).unwrap();
    done(folder, &["demo"]);
    assert_eq!(fs::read(folder.join("boolshap-demo/model.json")).unwrap(), model);
}

#[test]
fn slow_the_demo_carries_what_the_raw_file_gives() {
    let Some(data) = shared_data("housing/housing.csv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let arguments =
        ["--target", "median_house_value", "--hidden", "13", "-o", "m.json", "--tally", "rows.csv", "--json"];
    let text = done(folder, &[&["train", data.to_str().unwrap()], &arguments[..]].concat());
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&result["rows"], &result["distinct_rows"]), (&20640.into(), &454.into()));
    let embedded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../boolshap-bench/assets/rows.csv");
    assert!(fs::read(folder.join("rows.csv")).unwrap() == fs::read(embedded).unwrap(), "other rows are embedded");
    // The demo's own training, from the embedded rows, is the training from the raw file.
    done(folder, &["demo", "--retrain", "--out", "demo"]);
    let network = |path: &str| {
        let model: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.join(path)).unwrap()).unwrap();
        (model["hidden"].clone(), model["output"].clone(), model["schema"].clone(), model["marginals"].clone())
    };
    assert_eq!(network("demo/model.json"), network("m.json"));
}

#[test]
fn scores_come_in_order_with_kept_columns_in_front() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    either(folder, 2);
    let mut rows = String::from("x2,who,x1\n");
    let mut expected = String::from("who,prediction,base_value,x1,x2\n");
    for number in 0..20_000 {
        let (x1, x2) = (number / 3 % 2, number / 7 % 2);
        rows += &format!("{x2},\"a \"\"{number}\"\", b\",{x1}\n");
        // Of a or b, by hand: 3/8 for a feature that holds against one that does not, -3/8 each if none holds.
        let scores = [["-0.375", "-0.375"], ["-0.125", "0.375"], ["0.375", "-0.125"], ["0.125", "0.125"]][2 * x1 + x2];
        expected += &format!("\"a \"\"{number}\"\", b\",{},0.75,{}\n", u8::from(x1 + x2 > 0), scores.join(","));
    }
    fs::write(folder.join("e.csv"), rows).unwrap();
    let text = done(folder, &["explain", "c.bsc", "e.csv", "-o", "s.csv", "--keep", "who", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&result["rows"], &result["distinct_rows"]), (&20_000.into(), &4.into()));
    assert!(fs::read_to_string(folder.join("s.csv")).unwrap() == expected, "other scores");
    // The same to standard output, which then carries only the file.
    let out = boolshap(folder, &["explain", "c.bsc", "e.csv", "-o", "-", "--keep", "who"]);
    assert!(out.stdout == expected.as_bytes() && out.stderr.ends_with(b": -\n"), "standard output");
    let text = done(folder, &["explain", "c.bsc", "e.csv", "--keep", "who"]);
    assert!(text.contains("\nwho           a \"0\", b    a \"1\", b"), "{text}");
    assert!(
        text.contains("\n... and 19,995 more rows: write them all with -o\nrow 1: It is decided 0. Mainly because "),
        "{text}"
    );
    assert!(text.contains("instead of 0. (Another is as small.)\n(distribution uniform, "), "{text}");
}

#[test]
fn an_error_far_down_names_its_row_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    either(folder, 3);
    fs::write(folder.join("e.csv"), format!("x1,x2,x3\n{}1,0,no\n1,1,1\n", "1,0,0\n".repeat(9_999))).unwrap();
    for output in ["s.csv", "s.parquet"] {
        let said = fails(folder, 1, &["explain", "c.bsc", "e.csv", "-o", output]);
        assert_eq!(said, "boolshap: e.csv, row 10000, column 'x3': 'no' is neither 0 nor 1");
    }
    let said = fails(folder, 1, &["explain", "c.bsc", "e.csv", "-o", "no/s.parquet"]);
    assert_eq!(said, "boolshap: no/s.parquet: the folder no does not exist");
    fs::write(folder.join("e.csv"), "x1,x2,x3,y\n1,0,0,5\n").unwrap();
    let said = fails(folder, 1, &["explain", "c.bsc", "e.csv", "-o", "s.csv", "--keep", "z"]);
    assert_eq!(said, "boolshap: e.csv: there is no column 'z' (there are: x1, x2, x3, y)");
    let said = fails(folder, 1, &["explain", "c.bsc", "e.csv", "-o", "s.csv", "--keep", "y,x2"]);
    assert_eq!(said, "boolshap: --keep: the result has a column 'x2' of its own");
    if Path::new("/dev/full").exists() {
        let said = fails(folder, 1, &["explain", "c.bsc", "e.csv", "-o", "/dev/full"]);
        assert!(said.starts_with("boolshap: /dev/full: No space left on device"), "{said}");
    }
}

#[test]
fn a_table_without_rows_gives_a_table_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    either(folder, 2);
    fs::write(folder.join("e.csv"), "x1,x2\n").unwrap();
    let text = done(folder, &["explain", "c.bsc", "e.csv", "-o", "s.csv"]);
    assert!(text.starts_with("0 rows (0 distinct) explained"), "{text}");
    assert_eq!(fs::read_to_string(folder.join("s.csv")).unwrap(), "prediction,base_value,x1,x2\n");
    done(folder, &["explain", "c.bsc", "e.csv", "-o", "s.parquet"]);
    fs::rename(folder.join("s.parquet"), folder.join("e.parquet")).unwrap();
    let text = done(folder, &["explain", "c.bsc", "e.parquet", "-o", "t.csv"]);
    assert!(text.starts_with("0 rows (0 distinct) explained"), "{text}");
}

#[test]
fn the_stream_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let text = done(folder.path(), &["bench", "stream", "--rows", "20000", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["rows"], 20_000);
    let seconds = |name: &str| result[name].as_f64().unwrap();
    let ratio = seconds("explain_seconds") / (seconds("read_seconds") + seconds("write_seconds"));
    assert!((seconds("ratio") - ratio).abs() < 1e-9 && ratio > 0.0, "{text}");
    assert!(listing(folder.path()).is_empty());
    fails(folder.path(), 2, &["bench", "paper", "--rows", "5"]);
    fails(folder.path(), 2, &["bench", "stream", "--figure", "f.svg"]);
}

#[test]
fn a_circuit_with_other_thresholds_is_not_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), table()).unwrap();
    train(folder, &[]);
    done(folder, &["compile", "m.json", "-o", "c.bsc", "--verify"]);
    done(folder, &["verify", "m.json", "c.bsc"]);
    let mut named = NamedCircuit::load(&folder.join("c.bsc")).unwrap();
    let mut text = model(folder).to_string();
    let threshold = named.binariser.as_ref().unwrap().columns()[0].code.clone();
    let Code::Above(threshold) = threshold else { panic!("{threshold:?}") };
    // The name of the bit stays the same, because it has fewer digits.
    text = text.replace(&threshold.to_string(), "5.27273");
    fs::write(folder.join("other.json"), text).unwrap();
    let said = fails(folder, 1, &["verify", "other.json", "c.bsc"]);
    assert!(said.contains("raw values become features in another way than the model's"), "{said}");
    // Without its own binarisation the circuit is about bits only.
    named.binariser = None;
    named.save(&folder.join("c.bsc")).unwrap();
    done(folder, &["verify", "other.json", "c.bsc"]);
}
