//! A page with the library inside gives the answers of the server: one table of questions through both, word for word.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use boolshap::circuit::NamedCircuit;
use boolshap::data::{Binariser, Code, CodedColumn, Entities, Reading, Table};
use boolshap::lit::Watch;
use boolshap::report::{Rows, Subject};
use boolshap::workflow::{CompileRequest, compile};
use boolshap::{Model, NamedCircuit as Circuit};
use boolshap_wasm::{Engine, Reply};
use boolshap_web::{Access, ServerLimits, Site, app};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tower::ServiceExt;

const CSV: &str = "id,sea,income,wind\n1,FAR,2,0\n2,NEAR,4.5,1\n3,BAY,1,1\n4,FAR,9,1\n5,FAR,2,0\n6,NEAR,7,0\n";

/// Three bits of a category, one of a number, and one raw bit; the output is a step, or the largest of three sums.
fn model(classes: bool) -> Model {
    let column = |column: &str, code| CodedColumn::new(column, code);
    let sea = Code::Categories(vec!["BAY".into(), "FAR".into(), "NEAR".into()]);
    let columns = vec![column("sea", sea), column("income", Code::Above(3.5)), column("wind", Code::Boolean)];
    let schema = Binariser::new(columns).unwrap();
    let output = match classes {
        false => json!({"step": {"weights": "+-++-", "need": "2"}}),
        true => json!({"argmax": [
            {"weights": "+-++-", "bias": "0"}, {"weights": "-++-+", "bias": "0"}, {"weights": "--+++", "bias": "0"},
        ]}),
    };
    let names = classes.then(|| json!(["low", "middle", "high"]));
    let text = json!({"format": "boolshap model", "version": 1, "features": schema.features(), "classes": names,
        "schema": schema, "marginals": {"rows": 10, "ones": [3, 4, 3, 5, 6]}, "hidden": [], "output": output, "provenance": {}});
    Model::from_json(&text.to_string()).unwrap()
}

fn circuit(classes: bool) -> NamedCircuit {
    let request = CompileRequest { each_of_several: true, ..CompileRequest::default() };
    compile(&model(classes), &request).unwrap().circuit
}

fn rows_of(circuit: &Circuit) -> Rows {
    let table = Table::of_content(Path::new("rows.csv"), CSV.into()).unwrap();
    let entities = Entities::of_table(table, &circuit.features, circuit.binariser.as_ref(), Reading::Auto).unwrap();
    let subject = Subject::new(circuit, (!circuit.classes.is_empty()).then_some(0)).unwrap();
    Rows::read(entities, &subject, &[], 25_000, &Watch::unlimited()).unwrap()
}

fn site(circuit: &NamedCircuit, request: &boolshap::Request) -> Site {
    let (rows, limits) = (rows_of(circuit), ServerLimits::default());
    Site::new(Arc::new(circuit.clone()), rows, request, limits, &Watch::unlimited()).unwrap()
}

/// What a browser does: takes what the report carries, and adds the rows that its page shows.
fn carried(site: &Site) -> Vec<u8> {
    let standing = site.report().standing(&Watch::unlimited()).unwrap();
    let bytes = from_base64(standing["carried"].as_str().unwrap());
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let mut text: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    let page = &standing["page"];
    for (name, list) in [("bits", "kinds"), ("count", "kinds"), ("columns", "table"), ("kind", "table")] {
        text["rows"][name] = page[list][name].clone();
    }
    with_length(text.to_string().as_bytes(), &bytes[4 + length..])
}

fn from_base64(text: &str) -> Vec<u8> {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let places: Vec<u32> = text.chars().filter_map(|letter| Some(letters.find(letter)? as u32)).collect();
    let bytes = |four: &[u32]| {
        let word = four.iter().fold(0, |word, place| word << 6 | place) << (6 * (4 - four.len()));
        word.to_be_bytes()[1..four.len()].to_vec()
    };
    places.chunks(4).flat_map(bytes).collect()
}

fn with_length(first: &[u8], second: &[u8]) -> Vec<u8> {
    [&(first.len() as u32).to_le_bytes(), first, second].concat()
}

#[tokio::main(flavor = "current_thread")]
async fn served(site: Site, questions: &[(String, Option<String>)]) -> Vec<Reply> {
    let app = app(site, Access::Loopback);
    let mut replies = Vec::new();
    for (path, body) in questions {
        let request = match body {
            Some(_) => Request::post(format!("/{path}")).header("content-type", "application/json"),
            None => Request::get(format!("/{path}")),
        };
        let request = request.body(body.clone().map_or(Body::empty(), Body::from)).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let text = to_bytes(response.into_body(), 1 << 24).await.unwrap();
        replies.push(Reply { status, text: String::from_utf8(text.to_vec()).unwrap() });
    }
    replies
}

/// Good questions and bad ones.
fn questions(classes: bool) -> Vec<(String, Option<String>)> {
    let mut asked: Vec<(String, Option<String>)> = [
        "api/model",
        "api/page",
        "api/page?distribution=background&players=columns",
        "api/page?distribution=product",
        "api/page?distribution=empirical",
        "api/page?class=1",
        "api/page?players=nobody",
        "api/page?rows=1",
        "api/rows",
        "api/rows?limit=2&offset=1&sort=column%3Aincome&descending=true",
        "api/rows?search=near",
        "api/rows?sort=prediction",
        "api/rows?limit=0",
        "api/rows?sort=nothing",
        "api/rows?class=2",
        "api/nothing",
        "api/explain",
        "api/rows?offset=999999999999",
    ]
    .map(|path| (path.to_string(), None))
    .to_vec();
    let entities = json!([[1, 0, 0, 1, 1], [0, 1, 0, 0, 1]]);
    let class = |mut body: Value| {
        if classes && body.get("class").is_none() {
            body["class"] = json!(1);
        }
        body
    };
    for body in [
        class(json!({"entities": entities, "flips": true})),
        class(json!({"entities": entities, "distribution": "background", "players": "columns"})),
        class(json!({"entities": entities, "distribution": "empirical", "exact": true})),
        class(json!({"entities": entities, "index": "taylor:2"})),
        json!({"entities": entities, "class": "predicted"}),
        json!({"entities": entities, "class": "each"}),
        json!({"entities": [{"sea": "BAY", "income": 5, "wind": 1}], "input": "raw"}),
        json!({"entities": [[1, 0, 0, 1]]}),
        json!({"entities": 5, "colour": "red"}),
    ] {
        asked.push(("api/explain".into(), Some(body.to_string())));
    }
    for body in [
        json!({"question": "counterfactual", "entities": entities, "limit": 3}),
        json!({"question": "reason", "entities": entities}),
        json!({"question": "contrast", "entities": entities, "all": true}),
        json!({"question": "robustness", "entities": entities}),
        json!({"question": "bias", "protected": ["wind"]}),
        json!({"question": "properties"}),
        json!({"question": "sense"}),
        json!({"question": "reason"}),
    ] {
        asked.push(("api/ask".into(), Some(body.to_string())));
    }
    asked.push(("api/ask".into(), Some("{".into())));
    asked.push(("api/rows".into(), Some("{}".into())));
    asked
}

fn compare(site: Site, engine: &mut Engine) {
    let asked = questions(site.report().subjects().len() > 1);
    let expected = served(site, &asked);
    let good = expected.iter().filter(|reply| reply.status == 200).count();
    assert!(good >= 15 && good < asked.len(), "{good} of {} are answered", asked.len());
    for ((path, body), expected) in asked.iter().zip(expected) {
        let found = engine.ask(path, body.as_deref().unwrap_or_default().as_bytes());
        assert_eq!(found.status, expected.status, "{path} {body:?}");
        assert_eq!(read(&found.text), read(&expected.text), "{path} {body:?}");
    }
}

/// An answer without its cautions about reordering: a page carries the circuit already reordered.
fn read(text: &str) -> Value {
    let mut answer = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let cautions = answer.get_mut("cautions").and_then(Value::as_array_mut);
    if cautions.is_some_and(|all| {
        all.retain(|caution| !caution.as_str().unwrap().contains("was reordered"));
        all.is_empty()
    }) {
        answer.as_object_mut().unwrap().remove("cautions");
    }
    answer
}

#[test]
fn what_a_page_carries_answers_as_the_server_does() {
    for classes in [false, true] {
        let circuit = circuit(classes);
        for settings in [&[][..], &[("players", "columns"), ("distribution", "product"), ("smoothing", "1")]] {
            let mut request = boolshap::Request::default();
            settings.iter().for_each(|(name, text)| request.set(name, text).unwrap());
            let mut engine = Engine::default();
            let opened = engine.ask("open/carried", &carried(&site(&circuit, &request)));
            assert_eq!(opened.status, 200, "{}", opened.text);
            compare(site(&circuit, &request), &mut engine);
        }
    }
}

#[test]
fn files_that_are_dropped_answer_as_if_they_were_served() {
    for classes in [false, true] {
        let circuit = circuit(classes);
        let mut content = Vec::new();
        circuit.write(&mut content).unwrap();
        for source in [content, model(classes).to_json().into_bytes()] {
            let names = json!({"source": "a.file", "rows": "rows.csv"}).to_string();
            let files = with_length(names.as_bytes(), &with_length(&source, CSV.as_bytes()));
            let mut engine = Engine::default();
            let opened = engine.ask("open/files", &files);
            assert_eq!(opened.status, 200, "{}", opened.text);
            let (circuit, request) = (Arc::new(circuit.clone()), boolshap::Request::default());
            let (rows, watch) = (rows_of(&circuit), Watch::unlimited());
            let opening = request.clone().opening(&[], &circuit, [&rows.kinds, &rows.expanded()], &watch).unwrap();
            compare(site(&circuit, &request).opening_with(&opening).unwrap(), &mut engine);
        }
    }
}

#[test]
fn what_cannot_be_opened_is_an_error_that_names_the_file() {
    let mut engine = Engine::default();
    let names = json!({"source": "odd.json", "rows": "rows.csv"}).to_string();
    let open = |source: &[u8], rows: &[u8]| with_length(names.as_bytes(), &with_length(source, rows));
    let good = model(false).to_json();
    for (files, words) in [
        (open(b"{}", b""), "odd.json"),
        (open(&[0xff, 0xfe], b""), "odd.json"),
        (open(b"boolshap circuit\n\x02\0\0\0", b""), "odd.json"),
        (open(good.as_bytes(), b"a,b\n1\n"), "rows.csv"),
        (open(good.as_bytes(), b"PAR1"), "rows.csv"),
        (vec![9, 0, 0, 0], "cut off"),
        (vec![], "cut off"),
    ] {
        let reply = engine.ask("open/files", &files);
        assert!(reply.status != 200 && reply.text.contains(words), "{} {}", reply.status, reply.text);
    }
    assert_eq!(engine.ask("api/model", b"").status, 422);
    let circuit = circuit(false);
    let whole = carried(&site(&circuit, &boolshap::Request::default()));
    let mut refused = 0;
    for place in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[place] ^= 0x11;
        refused += u32::from(Engine::default().ask("open/carried", &changed).status != 200);
        assert_ne!(Engine::default().ask("open/carried", &whole[..place]).status, 200);
    }
    assert!(refused > 10);
}
