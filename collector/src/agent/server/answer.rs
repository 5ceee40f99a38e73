//! The answer to a request: a page, for those who may read it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap,
    HeaderValue, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::task;

use super::body::Sent;
use super::host::Names;
use super::login::{Credentials, Outcome};
use super::pace::Pace;
use super::running::Site;
use super::web_config::WebConfig;
use super::{Page, Route};

const TEXT: &str = "text/plain; charset=utf-8";

/// Pages whose status needs no password: a kubelet's probe has none, and its pod would show it.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

pub(super) async fn respond(
    request: &Request<Incoming>,
    client: IpAddr,
    site: &Arc<Site>,
) -> Response<Sent> {
    let web = site.web.get();
    let page = answer(request, client, site, &web).await;
    let (body, is_gzip) = page.body.sent(takes_gzip(request.headers()));
    let length = body.left();
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_unknown = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    // For HEAD, too, whose body hyper leaves out.
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.extend(web.headers.iter().cloned());
    if is_unknown {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"railscope\""));
    }
    response
}

async fn answer(
    request: &Request<Incoming>,
    client: IpAddr,
    site: &Arc<Site>,
    web: &WebConfig,
) -> Page {
    if !matches!(request.method(), &Method::GET | &Method::HEAD) {
        return text_page(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served");
    }
    if site.names.as_ref().is_some_and(|names| !is_ours(request.headers(), names)) {
        let why = "this host has another name; prometheus.hosts allows more names";
        return text_page(StatusCode::MISDIRECTED_REQUEST, why);
    }
    // Scrapers may add a query; no page uses it.
    let path = request.uri().path();
    let given = Credentials::of(request.headers());
    match site.login.check(&web.users, given, client).await {
        // Whoever has no password takes no answer from those who have.
        Outcome::Right => page(path, site, &site.answers).await,
        Outcome::Wrong | Outcome::Busy if PROBES.contains(&path) => {
            let page = page(path, site, &site.probes).await;
            let said = if page.status == 200 { "ok" } else { "not ready" };
            Page { body: format!("{said}\n").into(), ..page }
        }
        Outcome::Wrong => text_page(StatusCode::UNAUTHORIZED, "a user and a password are needed"),
        Outcome::Busy => text_page(
            StatusCode::TOO_MANY_REQUESTS,
            "too many passwords to verify; try again in some seconds",
        ),
    }
}

async fn page(path: &str, site: &Arc<Site>, pace: &Mutex<Pace>) -> Page {
    if !pace.lock().unwrap_or_else(PoisonError::into_inner).admits() {
        return text_page(StatusCode::TOO_MANY_REQUESTS, "too many requests");
    }
    let (path, site) = (path.to_owned(), Arc::clone(site));
    let made = task::spawn_blocking(move || page_at(&path, &site.routes)).await;
    made.unwrap_or_else(|_| text_page(StatusCode::INTERNAL_SERVER_ERROR, "page failed"))
}

/// Whether a client takes gzip (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    said.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused =
            weight.trim().strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Whether every `Host` names this server. HTTP/1.0 needs none.
fn is_ours(headers: &HeaderMap, names: &Names) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    hosts.all(|host| host.to_str().is_ok_and(|host| names.allow(host)))
}

fn page_at(path: &str, routes: &[Route]) -> Page {
    if let Some((_, make)) = routes.iter().find(|(known, _)| *known == path) {
        return make();
    }
    let paths: Vec<&str> = routes.iter().map(|(path, _)| *path).collect();
    text_page(StatusCode::NOT_FOUND, &format!("there are: {}", paths.join(" ")))
}

fn text_page(status: StatusCode, text: &str) -> Page {
    Page { status: status.as_u16(), content_type: TEXT, body: format!("{text}\n").into() }
}
