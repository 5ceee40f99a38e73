//! Headers of every answer: those that the toolkit knows.

use hyper::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS, X_XSS_PROTECTION,
};
use serde_norway::{Mapping, Value};

const KNOWN: [HeaderName; 5] = [
    CONTENT_SECURITY_POLICY,
    STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
    X_XSS_PROTECTION,
];

pub(super) fn read(keys: Mapping) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    keys.iter().map(|(name, value)| header(name, value)).collect()
}

fn header(name: &Value, value: &Value) -> Result<(HeaderName, HeaderValue), String> {
    let given = name.as_str().unwrap_or_default();
    let known = KNOWN.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(given));
    let Some(known) = known else {
        let all = KNOWN.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(", ");
        return Err(format!("http_server_config.headers has no key `{given}`; allowed are {all}"));
    };
    let value = value.as_str().and_then(|text| HeaderValue::from_str(text).ok());
    let problem =
        || format!("http_server_config.headers: `{given}` needs a line of text in quotes");
    Ok((known, value.ok_or_else(problem)?))
}
