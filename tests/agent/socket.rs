//! Pages at a Unix socket, and those that TCP has not.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::process::Command;

use railscope_testbed::clock::eventually;

use crate::support::railscope::PROGRAM;
use crate::support::require;
use crate::support::service::{Service, curl};

#[test]
fn the_socket_has_all_pages_and_tcp_those_that_are_set() {
    let test = "the_socket_has_all_pages_and_tcp_those_that_are_set";
    if !require::has(test, "curl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("pages.sock");
    // A stale one, without a listener.
    drop(UnixListener::bind(&socket).unwrap());
    let web = folder.path().join("web.yml");
    let user =
        "basic_auth_users:\n  a: $2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
    fs::write(&web, user).unwrap();
    let mut service = Service::start(
        folder,
        &format!("socket = {socket:?}\npages = [\"/metrics\"]\nweb-config = {web:?}\n"),
    );
    let file = fs::metadata(&socket).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.mode() & 0o777, 0o660);
    assert_eq!(file.uid(), fs::metadata(service.folder.path()).unwrap().uid());
    // Any name, and no password.
    let path = socket.to_str().unwrap().to_owned();
    let at_socket =
        |page: &str| curl(&["--unix-socket", &path], &format!("http://any.example{page}"));
    eventually("there is a report", || at_socket("/report.json").0 == "200");
    assert_eq!(at_socket("/metrics").0, "200");
    assert_ne!(at_socket("/queue_pairs.json").0, "404");
    let at_tcp =
        |page: &str| curl(&["--user", "a:secret"], &format!("http://{}{page}", service.address));
    assert_eq!(at_tcp("/metrics").0, "200");
    for page in ["/report.json", "/queue_pairs.json"] {
        let expected = "there are: /metrics /healthz /readyz\n".to_owned();
        assert_eq!(at_tcp(page), ("404".to_owned(), expected));
    }
    assert_eq!(curl(&[], &format!("http://{}/metrics", service.address)).0, "401");
    let log = service.stop();
    assert!(log.contains(&format!("metrics: all pages at the socket {path}")), "{log}");
    assert!(!socket.exists());
}

#[test]
fn what_is_at_its_place_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages.sock");
    let refused = || {
        let mut agent = Command::new(PROGRAM);
        agent.args(["agent", "--set", "prometheus.listen=\"127.0.0.1:0\""]);
        agent.args(["--set", &format!("prometheus.socket={path:?}")]);
        for source in ["packets", "counters", "calls", "processes"] {
            agent.args(["--set", &format!("sources.{source}=false")]);
        }
        let output = agent.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    fs::write(&path, "mine").unwrap();
    let said = refused();
    assert!(said.contains("pages.sock (prometheus.socket): a file is there"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let said = refused();
    assert!(said.contains("another process listens there"), "{said}");
    drop(listener);
}
