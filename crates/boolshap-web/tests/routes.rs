//! The routes without a network: answers against the library's own, errors by their field.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use boolshap::circuit::{NamedCircuit, read_nnf};
use boolshap::data::Tally;
use boolshap::explain::{BruteForce, Distribution, Labels, Players, Population};
use boolshap::lit::Watch;
use boolshap::report::Rows;
use boolshap_web::{Access, Limits, NamedPopulation, Site, app};
use serde_json::{Value, json};
use tower::ServiceExt;

/// x1 or (not x1 and x2), over three features.
const CIRCUIT: &str = "nnf 5 4 3\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n";

fn site(access: Access) -> Router {
    let circuit = read_nnf(CIRCUIT.as_bytes()).unwrap();
    let named = NamedCircuit::new(circuit, ["a", "b", "c"].map(String::from).to_vec()).unwrap();
    let counted = [(vec![true, false, true], vec![2]), (vec![false, false, true], vec![5])];
    let rows = Rows::of_tally(&Tally::from_counts(3, counted.into_iter()), "count");
    let uniform = NamedPopulation {
        name: "uniform".into(),
        words: "uniform".into(),
        population: Population::Product(Distribution::uniform(3)),
    };
    let players = vec![Players::features(&named.features)];
    let limits = Limits { rows: 10, body_bytes: 2000, ..Limits::default() };
    app(Site::new(named, rows, vec![uniform], players, limits, &Watch::unlimited()).unwrap(), access)
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
    let uniform = Distribution::uniform(3);
    let expected = BruteForce::new(&labels).explain(&rows, &uniform, &Watch::unlimited()).unwrap();
    let (status, answer) = post(&json!({"entities": rows, "flips": true}).to_string());
    assert_eq!(status, 200);
    for (row, (expected, told)) in expected.iter().zip(answer["explanations"].as_array().unwrap()).enumerate() {
        assert_eq!(told["prediction"], u8::from(expected.prediction));
        for (score, told) in expected.scores.iter().zip(told["scores"].as_array().unwrap()) {
            assert!((score - told.as_f64().unwrap()).abs() < 1e-12);
        }
        let changes = |bit: usize| expected.prediction != ((row ^ 1 << bit) & 3 != 0);
        assert_eq!(told["flips"], json!((0..3).filter(|&bit| changes(bit)).collect::<Vec<_>>()));
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
    assert_eq!(post(&" ".repeat(3000)).0, 413);
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
