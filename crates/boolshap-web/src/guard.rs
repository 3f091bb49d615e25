//! Access control in front of every route.
//!
//! Without a token the server is for this machine alone, and a request must name it by a loopback address: a request
//! from the page of another site, whose name was made to point here, carries the name of that site. With a token every
//! request needs it, as `Authorization: Bearer TOKEN` or in the cookie that `/?token=TOKEN` sets for browsers. A page
//! of another origin may link here, but it cannot make the server work for it: the server trusts what browsers say
//! about the origin of a request, and content must have the exact type that such a page could send only after asking
//! for permission.

use crate::error::ApiError;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use subtle::ConstantTimeEq;

/// Everything comes from this server, nothing is evaluated, no site may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The type of Arrow streams.
pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";

/// Who may send requests.
#[derive(Clone)]
pub enum Access {
    /// Programs on this machine.
    Loopback,
    /// Anyone who has the token.
    Token(String),
}

impl Access {
    /// Lets a request pass, or returns the response to it.
    pub(crate) fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        let is_link = method.is_safe() && headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
        match self {
            _ if !is_link && is_from_elsewhere(uri, headers) => {
                let message = "a page of another origin sent this request";
                Some(ApiError::new(StatusCode::FORBIDDEN, message).into_response())
            }
            Access::Loopback if names_loopback(uri, headers) => None,
            Access::Loopback => {
                let message = "this server answers to loopback names only (localhost, 127.0.0.1, [::1])";
                Some(ApiError::new(StatusCode::FORBIDDEN, message).into_response())
            }
            Access::Token(token) => {
                if bearer(headers).or_else(|| cookie(uri, headers)).is_some_and(|given| is_same(given, token)) {
                    return None;
                }
                if uri.path() == "/" && query_token(uri).is_some_and(|given| is_same(given, token)) {
                    return Some(welcome(&cookie_name(uri, headers), token));
                }
                let message = "a token is needed: Authorization: Bearer TOKEN";
                Some(ApiError::new(StatusCode::UNAUTHORIZED, message).into_response())
            }
        }
    }
}

/// Compares in constant time: the time does not reveal how much was right.
fn is_same(given: &str, token: &str) -> bool {
    given.as_bytes().ct_eq(token.as_bytes()).into()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn cookie<'a>(uri: &Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let (name, cookies) = (cookie_name(uri, headers), headers.get(header::COOKIE)?.to_str().ok()?);
    cookies.split(';').find_map(|pair| pair.trim().strip_prefix(&name)?.strip_prefix('='))
}

/// Browsers send the cookies of all ports of a host, so each port has its own.
fn cookie_name(uri: &Uri, headers: &HeaderMap) -> String {
    let port = host(uri, headers).and_then(|host| host.rsplit_once(':')).and_then(|(_, port)| port.parse::<u16>().ok());
    format!("boolshap_token_{}", port.unwrap_or(80))
}

/// The host that the request names.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let stated = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    stated.or(uri.authority().map(|authority| authority.as_str()))
}

fn query_token(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Moves the token from the address into a cookie, so that people do not copy it with the address.
fn welcome(name: &str, token: &str) -> Response {
    // Not Strict: a link with the token is followed from another site, and no request changes anything.
    let cookie = format!("{name}={token}; HttpOnly; SameSite=Lax; Path=/");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, HeaderValue::from_static("/"))];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(_) => ApiError::new(StatusCode::UNAUTHORIZED, "this token cannot be a cookie").into_response(),
    }
}

fn names_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    // Browsers always send Host.
    let Some(stated) = host(uri, headers) else { return true };
    let host = match stated.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => stated.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a browser says that a page of another origin sent a request. Other programs say nothing.
fn is_from_elsewhere(uri: &Uri, headers: &HeaderMap) -> bool {
    let own = host(uri, headers).unwrap_or_default();
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| host.eq_ignore_ascii_case(own))
    };
    let is_near = |site: &HeaderValue| site == "same-origin" || site == "none";
    !headers.get_all(header::ORIGIN).iter().all(is_own) || !headers.get_all("sec-fetch-site").iter().all(is_near)
}

/// Whether the content of a request is an Arrow stream rather than JSON; anything else is an error.
pub(crate) fn sends_arrow(headers: &HeaderMap) -> Result<bool, ApiError> {
    let mut all = headers.get_all(header::CONTENT_TYPE).iter();
    let text = all.next().filter(|_| all.next().is_none()).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let is_json = kind.eq_ignore_ascii_case("application/json");
    if (is_json || kind.eq_ignore_ascii_case(ARROW)) && parts.all(|part| part.is_empty() || is_parameter(part)) {
        return Ok(!is_json);
    }
    let message = format!("Content-Type: application/json or {ARROW} is expected");
    let field = Some("Content-Type".into());
    Err(ApiError { field, ..ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message) })
}

/// Whether this is a parameter of a type, such as `charset=utf-8`, the only allowed charset.
fn is_parameter(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    is_token(name) && is_token(value) && (!name.eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8"))
}

/// The headers of every answer.
pub(crate) fn protect(response: &mut Response) {
    let headers: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(access: &Access, uri: &str, headers: &[(HeaderName, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let refused = access.admit(&Method::GET, &uri.parse().unwrap(), &map);
        refused.map(|response| response.status().as_u16())
    }

    #[test]
    fn only_loopback_names_are_answered() {
        let host = |host: &str| asks(&Access::Loopback, "/", &[(header::HOST, host)]);
        for good in ["localhost:8080", "LOCALHOST", "127.0.0.1:80", "[::1]:8080", "127.3.2.1"] {
            assert_eq!(host(good), None, "{good}");
        }
        for bad in ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "", "[::2]", "localhost.evil.example"] {
            assert_eq!(host(bad), Some(403), "{bad}");
        }
    }

    #[test]
    fn a_token_opens_by_header_cookie_or_address() {
        let access = Access::Token("secret-7".into());
        let with = |name: HeaderName, value: &str| asks(&access, "/api/model", &[(name, value)]);
        assert_eq!(with(header::AUTHORIZATION, "Bearer secret-7"), None);
        assert_eq!(with(header::COOKIE, "a=b; boolshap_token_80=secret-7"), None);
        assert_eq!(with(header::COOKIE, "boolshap_token_81=secret-7"), Some(401));
        for wrong in ["Bearer secret-8", "Bearer secret-7 ", "secret-7", "Bearer ", "Bearer secret-77"] {
            assert_eq!(with(header::AUTHORIZATION, wrong), Some(401), "{wrong}");
        }
        assert_eq!(asks(&access, "/?token=secret-7", &[]), Some(303));
        assert_eq!(asks(&access, "/?token=secret-8", &[]), Some(401));
        assert_eq!(asks(&access, "/api/model?token=secret-7", &[]), Some(401));
        assert_eq!(asks(&access, "/page.js", &[]), Some(401));
    }
}
