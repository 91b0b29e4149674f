//! Decides whether a request is answered, by its headers alone.
//!
//! Any web page can send requests to a port of this machine, and a development server that an agent
//! started is on the same host. There is no cookie, because cookies do not depend on the port. Data
//! needs the token as `Authorization`, which only this page's script sends; the page itself contains no
//! data.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode};

use crate::http::Secret;

/// The headers of every response.
const HEADERS: [(&str, &str); 9] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types recto",
    ),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Checks requests.
pub struct Gate {
    /// The port of this server.
    pub port: u16,
    /// The token that data needs.
    pub token: Secret,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The page or a part of it, which is the same for every caller.
    Page,
    /// Data, or a change.
    Data,
}

impl Gate {
    /// Returns what a request asks for, or why it is rejected.
    pub fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Wanted, (StatusCode, &'static str)> {
        let forbidden = |why| Err((StatusCode::FORBIDDEN, why));
        let is_own = |address: &str| {
            let own = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
            own.iter().any(|own| own == address)
        };
        if !one(headers, &HOST).is_some_and(is_own) {
            return Err((StatusCode::MISDIRECTED_REQUEST, "The host is not this server\n"));
        }
        let origin = one(headers, &ORIGIN);
        let is_own_origin = origin.is_some_and(|it| it.strip_prefix("http://").is_some_and(is_own));
        if headers.contains_key(ORIGIN) && !is_own_origin {
            return forbidden("The origin is not this page\n");
        }
        let site = header(headers, "sec-fetch-site");
        let destination = header(headers, "sec-fetch-dest");
        if ["iframe", "frame", "embed", "object"].iter().any(|it| destination == Some(it)) {
            return forbidden("This page cannot be embedded\n");
        }
        if !path.starts_with("/api/") {
            // A file or another page may open the page itself, which contains no data.
            let is_opened = destination == Some("document") && path == "/";
            let is_same = matches!(site, None | Some("none" | "same-origin"));
            return match *method == Method::GET && (is_opened || is_same) {
                true => Ok(Wanted::Page),
                false => forbidden("Only this page may load this\n"),
            };
        }
        if !matches!(site, None | Some("same-origin")) {
            return forbidden("Only this page may ask for data\n");
        }
        if !matches!(*method, Method::GET | Method::POST) {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "Only GET and POST are supported\n"));
        }
        if *method == Method::POST && !is_own_origin {
            return forbidden("The origin is missing\n");
        }
        let sent = one(headers, &AUTHORIZATION).and_then(|it| it.strip_prefix("Bearer "));
        match sent.is_some_and(|sent| self.token.matches(sent.as_bytes())) {
            true => Ok(Wanted::Data),
            false => Err((StatusCode::UNAUTHORIZED, "The token is missing or not valid\n")),
        }
    }

    /// Adds the headers of every response.
    pub fn add_headers(headers: &mut HeaderMap) {
        for (name, value) in HEADERS {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
}

/// Returns the value of a header that is sent once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}

fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("invalid"))
}
