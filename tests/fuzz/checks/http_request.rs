//! What a client sends to the agent's pages, and the names that it calls the host by: any bytes.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use railscope::agent::server::host::Names;
use railscope::agent::server::web_config::{Files, LiveWebConfig, WebConfig};
use railscope::agent::server::{Page, Route, exchange};

/// Of "secret".
const USERS: &str =
    "basic_auth_users:\n  operator: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";

/// How base64 of "operator:" and a password begins.
const CREDENTIALS: &str = "b3BlcmF0b3I6";

const OWN: &str = "node17";
const METRICS: &str = "up 1\n";
const READY: &str = "all sources run\n";

static PROTECTED: LazyLock<Arc<LiveWebConfig>> = LazyLock::new(|| {
    let path = Path::new("web.yml");
    let read = WebConfig::parse(USERS.into(), path, &mut Files::default());
    assert!(read.as_ref().is_ok_and(|config| !config.is_open()));
    Arc::new(read.map_or_else(|_| LiveWebConfig::default(), LiveWebConfig::new))
});

/// Panics if an invariant does not hold.
pub fn check(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_name(text);
    }
    let open = answer(bytes, Arc::default());
    let protected = answer(bytes, Arc::clone(&PROTECTED));
    assert_eq!(open.is_empty(), protected.is_empty());
    for answer in [&open, &protected] {
        check_form(bytes, answer);
    }
    let has = |answer: &str, page: &str| answer.ends_with(&format!("\r\n\r\n{page}"));
    let request = String::from_utf8_lossy(bytes);
    if has(&open, METRICS) {
        assert!(calls_by_name(&request), "for a host of another name");
    }
    if has(&protected, METRICS) || has(&protected, READY) {
        assert!(has(&open, METRICS) || has(&open, READY), "a password opens more");
        let names_basic = request.to_ascii_lowercase().contains("basic");
        assert!(names_basic && request.contains(CREDENTIALS), "without a password");
    }
}

/// Whether all of its `Host` headers are what this server may be called.
fn calls_by_name(request: &str) -> bool {
    let lines = request.split('\n').map(|line| line.trim_end_matches('\r'));
    let head = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    let pairs = head.filter_map(|line| line.split_once(':'));
    let mut hosts = pairs.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    hosts.all(|(_, host)| names().allow(host.trim()))
}

fn names() -> Names {
    Names { own: OWN.to_owned(), is_local: true, others: Vec::new() }
}

fn answer(request: &[u8], web: Arc<LiveWebConfig>) -> String {
    let page = |path, body: &'static str| -> Route {
        let make = move || Page { status: 200, content_type: "text/plain", body: body.into() };
        (path, Box::new(make))
    };
    let routes = vec![page("/metrics", METRICS), page("/readyz", READY)];
    let answer = exchange(request, names(), routes, web);
    assert!(answer.is_ok(), "{answer:?}");
    let answer = String::from_utf8(answer.unwrap_or_default());
    assert!(answer.is_ok(), "pages are text");
    answer.unwrap_or_default()
}

/// One whole answer, or none.
fn check_form(request: &[u8], answer: &str) {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return assert!(answer.is_empty(), "{answer:?}");
    };
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let known = ["200", "400", "401", "404", "405", "414", "421", "429", "431", "505"];
    assert!(status.is_some_and(|status| known.contains(&status)), "{answer:?}");
    let value = |wanted: &str| {
        let mut values = head.split("\r\n").filter_map(|line| line.split_once(": "));
        values.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    assert_eq!(value("connection"), Some("close"), "{answer:?}");
    let length = value("content-length").and_then(|text| text.parse().ok());
    let is_head = request.trim_ascii_start().starts_with(b"HEAD");
    let is_whole = length == Some(body.len()) || (is_head && body.is_empty());
    assert!(is_whole, "{answer:?}");
    assert_eq!(value("www-authenticate").is_some(), status == Some("401"), "{answer:?}");
}

fn check_name(header: &str) {
    let names = names();
    let is_allowed = names.allow(header);
    for same in [header.to_ascii_uppercase(), header.to_ascii_lowercase()] {
        assert_eq!(names.allow(&same), is_allowed, "{header:?}");
    }
    let ported = format!("{header}:9474");
    let has_colon = header.contains(':') && !header.ends_with(']');
    assert!(has_colon || names.allow(&ported) == is_allowed, "{header:?}");
    if is_allowed {
        let name = header.rsplit_once(':').map_or(header, |(name, _)| name);
        let is_address = [header, name, name.trim_matches(['[', ']'])]
            .iter()
            .any(|text| text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok());
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        assert!(is_address || [OWN, "localhost"].contains(&name.as_str()), "{header:?}");
    }
}
