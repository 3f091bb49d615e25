//! The routes without a network: answers against the library's own, errors by their field.

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use boolshap::circuit::{CircuitBuilder, NamedCircuit, read_nnf};
use boolshap::data::Tally;
use boolshap::explain::{BruteForce, Labels, Probabilities};
use boolshap::lit::{Var, Watch};
use boolshap::report::Rows;
use boolshap_web::{Access, ServerLimits, Site, app};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower::ServiceExt;

/// x1 or (not x1 and x2), over three features.
const CIRCUIT: &str = "nnf 5 4 3\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n";

fn site(access: Access) -> Router {
    let circuit = read_nnf(CIRCUIT.as_bytes()).unwrap();
    let named = NamedCircuit::new(circuit, ["a", "b", "c"].map(String::from).to_vec()).unwrap();
    serve(named, "count", ServerLimits { rows: 10, body_bytes: 4000, numbers: 27, ..ServerLimits::default() }, access)
}

/// A circuit with two kinds of rows, 2 and 5 of them, counted in a column.
fn serve(named: NamedCircuit, column: &str, limits: ServerLimits, access: Access) -> Router {
    let features = named.features.len();
    let row = |first: bool| (0..features).map(|v| if v == 0 { first } else { v == 2 }).collect();
    let counted = [(row(true), vec![2]), (row(false), vec![5])];
    let rows = Rows::of_tally(&Tally::from_counts(features, counted.into_iter()), column);
    let uniform = boolshap::Request::default();
    app(Site::new(Arc::new(named), rows, &uniform, limits, &Watch::unlimited()).unwrap(), access)
}

#[tokio::main(flavor = "current_thread")]
async fn ask(app: Router, request: Request<Body>) -> (StatusCode, Value) {
    let response = app.oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

fn post(body: &str) -> (StatusCode, Value) {
    let request = Request::post("/api/explain").header("content-type", "application/json");
    ask(site(Access::Loopback), request.body(body.to_string().into()).unwrap())
}

fn get(path: &str) -> (StatusCode, Value) {
    ask(site(Access::Loopback), Request::get(path).body(Body::empty()).unwrap())
}

#[test]
fn scores_are_those_of_the_definition() {
    let labels = Labels::of_circuit(&read_nnf(CIRCUIT.as_bytes()).unwrap()).unwrap();
    let rows: Vec<Vec<bool>> = (0..8).map(|number| (0..3).map(|bit| number >> bit & 1 == 1).collect()).collect();
    let uniform = Probabilities::uniform(3);
    let expected = BruteForce::new(&labels).explain(&rows, &uniform, &Watch::unlimited()).unwrap();
    let (status, answer) = post(&json!({"entities": rows, "flips": true}).to_string());
    assert_eq!(status, 200);
    for (row, (expected, stated)) in expected.iter().zip(answer["explanations"].as_array().unwrap()).enumerate() {
        assert_eq!(stated["prediction"], u8::from(expected.prediction));
        for (score, stated) in expected.scores.iter().zip(stated["scores"].as_array().unwrap()) {
            assert!((score - stated.as_f64().unwrap()).abs() < 1e-12);
        }
        let changes = |bit: usize| expected.prediction != ((row ^ 1 << bit) & 3 != 0);
        assert_eq!(stated["flips"], json!((0..3).filter(|&bit| changes(bit)).collect::<Vec<_>>()));
    }
    let (_, exact) = post(r#"{"entities": [{"a": 1, "b": false, "c": 0}], "exact": true}"#);
    assert_eq!(exact["base_value"], "3/4");
    assert_eq!(exact["explanations"][0]["scores"], json!(["3/8", "-1/8", "0"]));
}

#[test]
fn errors_name_their_field() {
    for (body, field) in [
        (r#"{"entities": [[0, 1, 0], [0, 1]]}"#, "entities[1]"),
        (r#"{"entities": [[0, 1, 2]]}"#, "entities[0][2]"),
        (r#"{"entities": [[0, 1, 0]], "players": "columns"}"#, "players"),
        (r#"{"entities": [[0, 1, 0]], "class": 1}"#, "class"),
        (r#"{"entities": [[0, 1, 0]], "exact": 1}"#, "exact"),
        (r#"{"entities": [{"a": 0, "b": 3, "c": 0}]}"#, "entities[0].b"),
        (r#"{"entity": []}"#, "entity"),
        (r#"{"entities": []}"#, "entities"),
    ] {
        let (status, answer) = post(body);
        assert_eq!((status.as_u16(), answer["error"]["field"].as_str()), (400, Some(field)), "{body}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(field), "{body}");
    }
    let many = format!("{{\"entities\": [{}]}}", ["[0,0,0]"; 11].join(","));
    assert_eq!(post(&many).0, 413);
    assert_eq!(post(&" ".repeat(5000)).0, 413);
    // Too many entities are refused before the rest is parsed, but a bracket in a text opens nothing.
    assert_eq!(post(&format!("{{\"entities\": [{} and no more", ["[0"; 11].join(","))).0, 413);
    let text = r#"{"entities": [{"a": 1, "b": 0, "c": "[[[[[[[[[[\"[[[[[[[["}]}"#;
    assert_eq!(post(text).1["error"]["field"], "entities[0].c");
    // Nine entities have 27 scores, which is the limit here.
    let entities = |count: usize| json!({"entities": vec![[0, 0, 0]; count]}).to_string();
    assert_eq!(post(&entities(9)).0, 200);
    let (status, answer) = post(&entities(10));
    assert_eq!((status.as_u16(), &answer["error"]["field"]), (413, &json!("entities")));
    assert!(answer["error"]["message"].as_str().unwrap().contains("10 with 3 numbers each"), "{answer}");
    assert_eq!(post("{").0, 400);
    assert_eq!(get("/api/rows?sort=nothing").1["error"]["field"], "sort");
    assert_eq!(get("/nowhere").0, 404);
    assert_eq!(get("/api/explain").0, 405);
}

#[test]
fn rows_and_pages_tell_what_is_there() {
    let (_, rows) = get("/api/rows?sort=count&descending=true&limit=1");
    assert_eq!(
        (&rows["total"], &rows["rows"][0]["bits"], &rows["rows"][0]["cells"]),
        (&json!(2), &json!("001"), &json!([5.0]))
    );
    let (_, page) = get("/api/page?distribution=uniform");
    assert_eq!((&page["live"], &page["rows"], &page["players"]), (&json!(true), &json!(7), &json!(["a", "b", "c"])));
    assert_eq!(get("/api/openapi.json").1["openapi"], "3.1.0");
}

#[test]
fn damaged_arrow_streams_are_refused() {
    for body in
        [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x10\0\0\0abcdefghijklmnop", b"ARROW1\0\0"]
    {
        let request = Request::post("/api/explain").header("content-type", "application/vnd.apache.arrow.stream");
        let (status, answer) = ask(site(Access::Loopback), request.body(body.to_vec().into()).unwrap());
        assert_eq!(status, 400, "{answer}");
    }
}

/// Nine rows of an Arrow stream, each of whose features is the same text, stored once.
fn repeated(text: &str) -> (StatusCode, Value) {
    let keys = Int8Array::from(vec![0; 9]);
    let column = || -> ArrayRef {
        let values = Arc::new(StringArray::from(vec![text]));
        Arc::new(DictionaryArray::<Int8Type>::new(keys.clone(), values))
    };
    let batch = RecordBatch::try_from_iter(["a", "b", "c"].map(|name| (name, column()))).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let request = Request::post("/api/explain").header("content-type", "application/vnd.apache.arrow.stream");
    ask(site(Access::Loopback), request.body(writer.into_inner().unwrap().into()).unwrap())
}

#[test]
fn a_text_told_once_may_not_unpack_to_more_than_a_body() {
    let (status, answer) = repeated("1");
    assert_eq!((status.as_u16(), answer["explanations"].as_array().map(Vec::len)), (200, Some(9)), "{answer}");
    let (status, answer) = repeated(&"1".repeat(450));
    assert_eq!((status.as_u16(), &answer["error"]["field"]), (400, &json!("a")), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("4050 bytes, more than 4000"), "{answer}");
}

#[test]
fn a_column_of_the_data_may_be_called_row() {
    let circuit = read_nnf(CIRCUIT.as_bytes()).unwrap();
    let named = NamedCircuit::new(circuit, ["a", "b", "c"].map(String::from).to_vec()).unwrap();
    let app = serve(named, "row", ServerLimits::default(), Access::Loopback);
    let counts = |sort: &str| -> Vec<Value> {
        let request = Request::get(format!("/api/rows?sort={sort}&descending=true")).body(Body::empty()).unwrap();
        let (_, found) = ask(app.clone(), request);
        found["rows"].as_array().unwrap().iter().map(|row| json!([row["row"], row["cells"][0]])).collect()
    };
    // The more frequent kind is row 1.
    assert_eq!(counts("column:row"), [json!([1, 5.0]), json!([2, 2.0])]);
    assert_eq!(counts("row"), [json!([2, 2.0]), json!([1, 5.0])]);
    let (_, document) = ask(app.clone(), Request::get("/api/openapi.json").body(Body::empty()).unwrap());
    let parameters = document["paths"]["/api/rows"]["get"]["parameters"].as_array().unwrap();
    let sort = parameters.iter().find(|one| one["name"] == "sort").unwrap();
    assert_eq!(sort["schema"]["enum"], json!(["row", "prediction", "label", "column:row"]));
}

/// Work whose client has gone ends long before its own limit.
#[tokio::test]
async fn work_ends_when_its_client_goes_away() {
    let features = 100;
    let mut builder = CircuitBuilder::new(features).unwrap();
    let [mut even, mut odd] = [false, true].map(|value| builder.constant(value).unwrap());
    for v in (0..features).rev() {
        [even, odd] = [(even, odd), (odd, even)].map(|(lo, hi)| builder.decision(Var::new(v), lo, hi).unwrap());
    }
    let names = (0..features).map(|v| format!("x{v}")).collect();
    let named = NamedCircuit::new(builder.finish(even).unwrap(), names).unwrap();
    let app = serve(
        named,
        "count",
        ServerLimits { time: Duration::from_secs(3600), ..ServerLimits::default() },
        Access::Loopback,
    );
    let computing = async |app: Router| -> bool {
        let response = app.oneshot(Request::get("/metrics").body(Body::empty()).unwrap()).await.unwrap();
        let text = String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap();
        let line = text.lines().find(|line| line.starts_with("boolshap_computing ")).unwrap();
        line != "boolshap_computing 0"
    };
    let becomes = async |wanted: bool| {
        let begin = Instant::now();
        while computing(app.clone()).await != wanted {
            assert!(begin.elapsed() < Duration::from_secs(600), "computing is still not {wanted}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // A hundred entities with all interactions in fractions take minutes.
    let question = json!({"entities": vec![vec![0; features]; 100], "exact": true, "index": "interaction"});
    let request = Request::post("/api/explain").header("content-type", "application/json");
    let request = request.body(Body::from(question.to_string())).unwrap();
    let asking = tokio::spawn(app.clone().oneshot(request));
    becomes(true).await;
    asking.abort();
    becomes(false).await;
}

/// The status of a request with these headers.
fn status(method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let request = Request::builder().method(method).uri(path).header("host", "localhost:8080");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    ask(site(Access::Loopback), request.body(r#"{"entities": [[0, 0, 0]]}"#.into()).unwrap()).0.as_u16()
}

#[test]
fn pages_of_other_origins_are_refused() {
    let post = |headers: &[(&str, &str)]| {
        status("POST", "/api/explain", &[headers, &[("content-type", "application/json")]].concat())
    };
    let get = |headers: &[(&str, &str)]| status("GET", "/api/rows", headers);
    for own in ["http://localhost:8080", "http://LocalHost:8080", "https://localhost:8080"] {
        assert_eq!(post(&[("origin", own), ("sec-fetch-site", "same-origin")]), 200, "{own}");
    }
    assert_eq!((post(&[]), post(&[("sec-fetch-site", "none")]), get(&[("sec-fetch-site", "none")])), (200, 200, 200));
    for other in ["http://evil.example", "null", "", "http://localhost:8081", "http://localhost", "localhost:8080"] {
        assert_eq!((post(&[("origin", other)]), get(&[("origin", other)])), (403, 403), "{other}");
    }
    for site in ["cross-site", "same-site", "", "same-origin, none"] {
        let mode = |mode| [("sec-fetch-site", site), ("sec-fetch-mode", mode)];
        assert_eq!((post(&mode("cors")[..1]), post(&mode("cors")), post(&mode("navigate"))), (403, 403, 403), "{site}");
        assert_eq!((get(&mode("no-cors")), get(&mode("navigate"))), (403, 200), "a link may lead here: {site}");
    }
    assert_eq!(post(&[("origin", "http://localhost:8080"), ("origin", "http://evil.example")]), 403);
}

#[test]
fn content_has_exactly_one_known_type() {
    let post = |kind: &str| status("POST", "/api/explain", &[("content-type", kind)]);
    let json = ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=\"UTF-8\"; v=1;"];
    json.iter().for_each(|kind| assert_eq!(post(kind), 200, "{kind}"));
    // Read as an Arrow stream, the body is damaged.
    assert_eq!(post("application/vnd.apache.arrow.stream"), 400);
    for wrong in [
        "text/plain; application/json",
        "text/plain, application/json",
        "application/json, text/plain",
        "application/json; text/plain",
        "application/json; charset",
        "application/json; charset=",
        "application/json; charset=latin1",
        "application/json; charset=\"utf-8",
        "application/json charset=utf-8",
        "text/plain;x=application/json",
        "",
    ] {
        assert_eq!(post(wrong), 415, "{wrong}");
    }
    let two = [("content-type", "text/plain"), ("content-type", "application/json")];
    assert_eq!((status("POST", "/api/explain", &two), status("POST", "/api/explain", &[])), (415, 415));
}

#[test]
fn what_is_there_twice_is_refused() {
    for (body, field) in [
        (r#"{"entities": [[0, 1, 0]], "entities": [[1, 1, 1]]}"#, "entities"),
        (r#"{"entities": [[0, 1, 0]], "exact": true, "exact": false}"#, "exact"),
        (r#"{"entities": [{"a": 1, "b": 0, "a": 0, "c": 0}]}"#, "entities[0].a"),
    ] {
        let (status, answer) = post(body);
        assert_eq!((status.as_u16(), answer["error"]["field"].as_str()), (400, Some(field)), "{body}");
    }
    assert_eq!(get("/api/rows?limit=1&limit=2").1["error"]["field"], "limit");
}

#[test]
fn a_token_is_asked_for() {
    let request = |token: &str| {
        Request::get("/api/health").header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap()
    };
    let access = || Access::Token("good".into());
    assert_eq!(ask(site(access()), request("good")).0, 200);
    assert_eq!(ask(site(access()), request("bad")).0, 401);
    let none = Request::get("/").body(Body::empty()).unwrap();
    assert_eq!(ask(site(access()), none).0, 401);
}

fn question(body: Value) -> (StatusCode, Value) {
    let request = Request::post("/api/ask").header("content-type", "application/json");
    ask(site(Access::Loopback), request.body(body.to_string().into()).unwrap())
}

#[test]
fn questions_are_answered() {
    let entities = json!([[1, 1, 0], [0, 0, 1]]);
    let (status, answer) = question(json!({"question": "reason", "entities": entities, "all": true}));
    assert_eq!(status, 200, "{answer}");
    // x1 or x2: each of them suffices where both are 1, and both are needed where both are 0.
    let row = |row: u8, prediction: u8, reasons: Value| {
        let count = reasons.as_array().unwrap().len();
        json!({"row": row, "prediction": prediction, "reasons": reasons, "count": count, "complete": true})
    };
    let rows = json!([row(1, 1, json!([["a"], ["b"]])), row(2, 0, json!([["a", "b"]]))]);
    assert_eq!(answer, json!({"question": "reason", "rows": rows}));
    let (_, answer) = question(json!({"question": "robustness", "entities": entities}));
    assert_eq!((&answer["rows"][0]["radius"], &answer["mean_radius"]), (&json!(2), &json!(1.5)));
    let (_, answer) =
        question(json!({"question": "counterfactual", "entities": entities, "costs": {"a": 3, "b": 0.5}}));
    assert_eq!((&answer["rows"][0]["distance"], &answer["rows"][1]["distance"]), (&json!(3.5), &json!(0.5)));
    let (_, answer) = question(json!({"question": "bias", "protected": ["a"]}));
    assert_eq!(
        (&answer["classifier_biased"], &answer["inputs"], &answer["rows"]),
        (&json!(true), &json!(4), &json!([]))
    );
    let both = json!({"format": "boolshap model", "version": 1, "features": ["a", "b", "c"], "classes": null, "schema": null,
        "marginals": null, "hidden": [], "output": {"step": {"weights": "1 1 0", "need": "2"}}, "provenance": {}});
    let (status, answer) =
        question(json!({"question": "difference", "other": both, "entities": [[1, 1, 1], [1, 0, 1]]}));
    assert_eq!((status.as_u16(), &answer["share"], &answer["rows"]), (200, &json!("1/2"), &json!([2])), "{answer}");
}

#[test]
fn wrong_questions_name_their_field() {
    let entities = || json!([[0, 1, 0]]);
    for (body, status, field) in [
        (json!({"entities": entities()}), 400, "question"),
        (json!({"question": "why", "entities": entities()}), 400, "question"),
        (json!({"question": 1, "entities": entities()}), 400, "question"),
        (json!({"question": "reason"}), 400, "entities"),
        (json!({"question": "reason", "entities": [[0, 2, 0]]}), 400, "entities[0][1]"),
        (json!({"question": "reason", "entities": entities(), "row": 1}), 400, "row"),
        (json!({"question": "reason", "entities": entities(), "radius": 1}), 400, "radius"),
        (json!({"question": "reason", "entities": entities(), "limit": 1.5}), 400, "limit"),
        (json!({"question": "reason", "entities": entities(), "all": 1}), 400, "all"),
        (json!({"question": "reason", "entities": entities(), "exclude": [1]}), 400, "exclude"),
        (json!({"question": "reason", "entities": entities(), "players": {"a": 1}}), 400, "players"),
        (json!({"question": "reason", "entities": entities(), "constraint": [["d"]]}), 400, "constraint"),
        (json!({"question": "reason", "entities": entities(), "other": {}}), 400, "other"),
        (json!({"question": "difference"}), 400, "other"),
        (json!({"question": "difference", "other": {}}), 422, "other"),
        (json!({"question": "counterfactual", "entities": entities(), "to": 2}), 400, "to"),
        (json!({"question": "codes", "entities": entities(), "codes": [], "against": [[0, 1]]}), 400, "against"),
    ] {
        let (found, answer) = question(body.clone());
        let found = (found.as_u16(), answer["error"]["field"].as_str());
        assert_eq!(found, (status, Some(field)), "{body} {answer}");
    }
    assert_eq!(question(json!(["reason"])).0, 400);
    let request = Request::post("/api/ask").header("content-type", "application/vnd.apache.arrow.stream");
    assert_eq!(ask(site(Access::Loopback), request.body(Body::empty()).unwrap()).0, 415);
}

/// Takes a readable file, given wherever a command would accept one: none of its content is returned.
#[test]
fn questions_read_no_files() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (name, setting) in [
        ("counterfactual", "costs"),
        ("codes", "codes"),
        ("judge", "claims"),
        ("reason", "players"),
        ("reason", "constraint"),
        ("codes", "against"),
    ] {
        let mut body = json!({"question": name, "entities": [[0, 1, 0]]});
        if setting == "against" {
            body["codes"] = json!([]);
        }
        body[setting] = json!(file);
        let (status, answer) = question(body);
        assert!([400, 422].contains(&status.as_u16()), "{setting}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(!message.contains("package") && !message.contains("No such file"), "{message}");
    }
}

#[test]
fn answers_to_questions_have_limits() {
    // 27 numbers, 3 for each set or input.
    let entities = |count: usize| vec![[1, 1, 0]; count];
    let all = |count: usize| question(json!({"question": "reason", "entities": entities(count), "all": true}));
    assert_eq!(all(4).0, 200);
    let (status, answer) = all(5);
    assert_eq!(status, 413);
    assert!(answer["error"]["message"].as_str().unwrap().contains("row 1 has more to list"), "{answer}");
    // Each row has two reasons, but one is asked for.
    assert_eq!(question(json!({"question": "reason", "entities": entities(9), "limit": 1})).0, 200);
    let (status, answer) = question(json!({"question": "attribution", "entities": entities(2)}));
    assert_eq!((status.as_u16(), &answer["error"]["field"]), (413, &json!("entities")), "{answer}");
    assert_eq!(all(11).0, 413);
    let many = json!({"question": "codes", "codes": [], "entities": entities(1), "against": entities(11)});
    let (status, answer) = question(many);
    assert_eq!((status.as_u16(), &answer["error"]["field"]), (413, &json!("against")), "{answer}");
}
