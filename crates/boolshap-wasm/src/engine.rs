//! One circuit with its rows, and answers about it.

use boolshap::lit::Watch;
use boolshap::report::{Beside, Carried, split_carried};
use boolshap::workflow::read_circuit;
use boolshap::{Error, NamedCircuit};
use boolshap_web::{ApiError, Site, answer};
use serde_json::json;
use std::sync::Arc;

/// The server inside a page, without a network.
#[derive(Default)]
pub struct Engine {
    site: Option<Site>,
}

/// An answer, or an error, as the HTTP API gives them.
#[derive(Debug, PartialEq)]
pub struct Reply {
    /// 200, or the status of an error.
    pub status: u16,
    /// JSON.
    pub text: String,
}

impl Engine {
    /// Answers a request: `open/carried`, `open/beside` and `open/files` open the content of the body,
    /// `report/standing` returns what a report of it shows and carries, and any other path is one of the HTTP API.
    pub fn ask(&mut self, path: &str, body: &[u8]) -> Reply {
        let text = || std::str::from_utf8(body).map_err(|_| Error::input("the body is not UTF-8"));
        let replied = match path {
            "open/carried" => self.open_carried(body).map_err(ApiError::from),
            "open/beside" => self.open_beside(body).map_err(ApiError::from),
            #[cfg(feature = "playground")]
            "open/files" => self.open_files(body).map_err(ApiError::from),
            path => text().map_err(ApiError::from).and_then(|text| self.answer(path, text)),
        };
        match replied {
            Ok(text) => Reply { status: 200, text },
            Err(error) => Reply { status: error.status.as_u16(), text: error.json().to_string() },
        }
    }

    fn answer(&self, path: &str, body: &str) -> Result<String, ApiError> {
        let site = self.site.as_ref().ok_or_else(|| Error::input("nothing is open yet"))?;
        let (body, watch) = ((!body.is_empty()).then_some(body), Watch::unlimited());
        match path {
            "report/standing" => Ok(site.report().standing(&watch)?.to_string()),
            path => answer(site, path, body, &watch),
        }
    }

    /// Opens the data that a page carries, with the rows that it shows; returns what can be chosen.
    pub fn open_carried(&mut self, bytes: &[u8]) -> Result<String, Error> {
        let (circuit, carried) = read_carried(bytes)?;
        Ok(self.opened(Site::of_carried(circuit, carried)?))
    }

    /// The same, with a second model appended.
    pub fn open_beside(&mut self, bytes: &[u8]) -> Result<String, Error> {
        let (own, beside) = split_carried(bytes)?;
        let ((own, carried), (other, second)) = (read_carried(own)?, read_carried(beside)?);
        let site = Site::of_carried(own.clone(), carried)?;
        let beside = Beside::of_carried(&own, other, second, site.report().rows())?;
        Ok(self.opened(site.beside(Some(beside))))
    }

    pub(crate) fn opened(&mut self, site: Site) -> String {
        let said = json!({"choices": site.report().choices(), "rows": site.report().rows().total()});
        self.site = Some(site);
        said.to_string()
    }
}

/// The circuit and the request that a page carries.
fn read_carried(bytes: &[u8]) -> Result<(Arc<NamedCircuit>, Carried), Error> {
    let (text, circuit) = split_carried(bytes)?;
    let wrong = |error: serde_json::Error| Error::input(format!("what the page carries: {error}"));
    Ok((Arc::new(read_circuit(circuit)?), serde_json::from_slice(text).map_err(wrong)?))
}
