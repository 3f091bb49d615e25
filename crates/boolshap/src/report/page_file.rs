//! The page as a document: one self-contained HTML file, or the same page filled by a server.
//!
//! `page/` holds its markup, style and script. All content comes as JSON, which the script inserts as text, so that
//! names from a file cannot inject markup. The content security policy of a page in a file forbids all connections, and
//! all scripts and styles but its own, identified by their hashes. Compressed data blocks hold its rows, the circuit,
//! and the library itself as WebAssembly (`boolshap-wasm`), which runs only in a worker of the page. A circuit that is
//! too large for this is left out, and the page says so.

use super::carried::{carried, fixed_note};
use super::figure_text::escape;
use super::page::Page;
use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use std::io::Write;

/// The library as gzipped WebAssembly, built by `make wasm`.
pub const ENGINE_MODULE: &[u8] = include_bytes!("page/engine.wasm.gz");
const MARKUP: &str = include_str!("page/page.html");
/// The style of the page.
pub const PAGE_STYLE: &str = include_str!("page/page.css");
/// The script of the page.
pub const PAGE_SCRIPT: &str = concat!(
    include_str!("page/page.js"),
    include_str!("page/words.js"),
    include_str!("page/ask.js"),
    include_str!("page/kept.js"),
    include_str!("page/engine.js"),
    include_str!("page/entity.js"),
    include_str!("page/waterfall.js"),
    include_str!("page/rows.js"),
    include_str!("page/figures.js"),
    include_str!("page/performance.js"),
    include_str!("page/questions.js"),
    include_str!("page/compare.js"),
    include_str!("page/pixels.js"),
    include_str!("page/playground.js"),
    include_str!("page/start.js"),
);

impl Page<'_> {
    /// The page as one self-contained file.
    pub fn html(&self) -> String {
        self.file(ENGINE_MODULE, false)
    }

    /// The same with a section to open other files, which this module can read.
    pub fn playground(&self, module: &[u8]) -> String {
        self.file(module, true)
    }

    fn file(&self, module: &[u8], is_playground: bool) -> String {
        let mut data = self.json();
        let carried = carried(self.explainer, self.rows);
        // Without its own circuit a page answers nothing, so a second one would be useless.
        let beside = self.beside.filter(|_| carried.is_ok()).map(|beside| beside.carried(self.rows)).transpose();
        if carried.is_err() {
            data["beside"] = Value::Null;
        }
        // A second model that cannot be carried is not offered.
        let beside = beside.unwrap_or_else(|reason| {
            data["notes"]["beside"] = format!("No second model beside it: {reason}.").into();
            data["beside"] = Value::Null;
            None
        });
        // Rows are most of a page: compressed they take a quarter.
        let rows = json!({"kinds": data["kinds"].take(), "table": data["table"].take()}).to_string();
        let mut blocks = block("page-rows", &packed(rows.as_bytes()));
        match &carried {
            Ok(bytes) => blocks += &(block("engine-module", module) + &block("engine-data", &packed(bytes))),
            Err(reason) => data["notes"]["fixed"] = fixed_note(reason).into(),
        }
        blocks += &beside.map_or_else(String::new, |bytes| block("engine-beside", &packed(&bytes)));
        data["playground"] = is_playground.into();
        let hash = |text: &str| BASE64_STANDARD.encode(hmac_sha256::Hash::hash(text.as_bytes()));
        // The policy treats WebAssembly as code, although the module can access only the numbers that it is given.
        let engine = if carried.is_ok() { " 'wasm-unsafe-eval'; worker-src blob:" } else { "" };
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'{engine}; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
            hash(PAGE_SCRIPT),
            hash(PAGE_STYLE)
        );
        fill(
            &self.subject.title,
            &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"),
            &format!("<style>{PAGE_STYLE}</style>"),
            &data.to_string(),
            &blocks,
            &format!("<script>{PAGE_SCRIPT}</script>"),
        )
    }
}

/// Bytes as a data block of a page.
fn block(id: &str, bytes: &[u8]) -> String {
    format!("<script type=\"text/plain\" id=\"{id}\">{}</script>", BASE64_STANDARD.encode(bytes))
}

/// Compresses with gzip, reproducibly.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packing = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packing.write_all(bytes).and_then(|()| packing.finish()).expect("a list takes everything")
}

/// The page that a server fills with JSON, its style and script at `page.css` and `page.js`.
pub(super) fn served_html(title: &str, data: &str) -> String {
    let style = "<link rel=\"stylesheet\" href=\"page.css\">";
    fill(title, "", style, data, "", "<script src=\"page.js\"></script>")
}

fn fill(title: &str, policy: &str, style: &str, data: &str, blocks: &str, script: &str) -> String {
    // Inside a script element only `<` can end it or open a comment.
    let data = data.replace('<', "\\u003c");
    let data = format!("<script type=\"application/json\" id=\"page-data\">{data}</script>{blocks}");
    let parts = [
        ("<!--POLICY-->", policy.into()),
        ("<!--TITLE-->", escape(title)),
        ("<!--STYLE-->", style.into()),
        ("<!--DATA-->", data),
        ("<!--SCRIPT-->", script.into()),
    ];
    let mut page = String::new();
    let mut rest = MARKUP;
    // From left to right, so that inserted text is never searched for markers.
    for (marker, text) in parts {
        let (before, after) = rest.split_once(marker).expect("page.html has every marker, in this order");
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::page_of;
    use super::*;
    use flate2::read::GzDecoder;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)><!--";

    /// The JSON of a page, as a browser would find it, with its rows.
    fn data_of(html: &str) -> Value {
        let text = |id: &str| {
            let (_, rest) = html.split_once(&format!(" id=\"{id}\">")).unwrap();
            rest.split_once("</script>").unwrap().0
        };
        let mut data: Value = serde_json::from_str(text("page-data")).unwrap();
        let bytes = BASE64_STANDARD.decode(text("page-rows")).unwrap();
        let mut rows: Value = serde_json::from_reader(GzDecoder::new(&bytes[..])).unwrap();
        for name in ["kinds", "table"] {
            data[name] = rows[name].take();
        }
        data
    }

    #[test]
    fn names_cannot_leave_the_data() {
        page_of(HOSTILE, |page| {
            let html = page.html();
            assert!(!html.contains("<img"));
            assert_eq!(data_of(&html)["features"][0]["name"], HOSTILE);
            let figures = page.json()["figures"].clone();
            for (name, figure) in figures.as_object().unwrap() {
                assert!(!figure.as_str().unwrap_or_default().contains("<img"), "{name}");
            }
            assert!(!served_html(HOSTILE, &page.json().to_string()).contains("<img"));
        });
    }

    #[test]
    fn the_policy_names_the_script_and_style_that_are_there() {
        page_of("x", |page| {
            let html = page.html();
            for (tag, kind) in [("script", "script-src"), ("style", "style-src")] {
                let content =
                    html.split(&format!("<{tag}>")).nth(1).unwrap().split(&format!("</{tag}>")).next().unwrap();
                let hash = BASE64_STANDARD.encode(hmac_sha256::Hash::hash(content.as_bytes()));
                assert!(html.contains(&format!("{kind} 'sha256-{hash}'")), "{tag}");
            }
            assert!(!html.contains("http-equiv=\"refresh\"") && html.matches("<script").count() == 5);
        });
    }

    #[test]
    fn scores_and_counts_arrive_as_they_are() {
        page_of("x", |page| {
            let data = data_of(&page.html());
            let bytes = BASE64_STANDARD.decode(data["kinds"]["scores"].as_str().unwrap()).unwrap();
            let scores: Vec<f64> = bytes.chunks(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect();
            assert_eq!(scores, [0.5, 0.0, -0.5, 0.0]);
            assert_eq!(data["kinds"]["bits"], json!(["10", "00"]));
            assert_eq!((data["importance"].clone(), data["rows"].clone()), (json!([0.5, 0.0]), json!(5)));
            let accuracy = data["facts"].as_array().unwrap().iter().find(|fact| fact[0] == "Accuracy").unwrap();
            assert_eq!(accuracy[1], "80.0 % of 5 rows with a known class");
            assert_eq!(data["figures"]["timing"], Value::Null);
            assert!(data["figures"]["circuit"].is_string());
        });
    }
}
