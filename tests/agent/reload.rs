//! SIGHUP: settings that are read again.

use std::fs;

use nix::sys::signal::Signal;
use railscope_testbed::clock::eventually;
use railscope_testbed::http;
use serde_json::Value;

use crate::support::fabric;
use crate::support::service::{QUIET, Service};

fn page(service: &Service, path: &str) -> Option<String> {
    http::get(service.address, path)
}

/// Whether a kind of finding is looked for.
fn looks_for(service: &Service, kind: &str) -> Option<bool> {
    let report: Value = serde_json::from_str(&page(service, "/report.json")?).unwrap();
    Some(report["findings_not_checked"].to_string().contains(&format!("\"{kind}\"")))
}

#[test]
fn bad_settings_are_refused_as_a_whole() {
    let mut service = Service::start(tempfile::tempdir().unwrap(), "");
    eventually("loss is looked for", || looks_for(&service, "loss") == Some(true));
    let wrong = "[findings]\nsuppress = [\"loss\"]\npause_share = 2\n[labels]\nrnak = true\n";
    service.reload(&format!("{QUIET}{wrong}"), "");
    eventually("they are refused", || service.log().contains("refused, nothing has changed"));
    let log = service.log();
    for said in [
        "line 11: pause_share: 2 is not valid",
        "line 13: [labels] has no key `rnak`",
        "collector.toml",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
    // So is a mistake in the web configuration.
    let web = service.file("web.yml");
    fs::write(&web, "basic_auth_users:\n  a: b\n").unwrap();
    service.reload(
        &format!("{QUIET}[findings]\nsuppress = [\"loss\"]\n"),
        &format!("web-config = {web:?}\n"),
    );
    eventually("it is refused", || service.log().contains("basic_auth_users.a: not a bcrypt hash"));
    fs::remove_file(service.file("collector.toml")).unwrap();
    service.signal(Signal::SIGHUP);
    eventually("there is no file", || service.log().contains("collector.toml: No such file"));
    assert_eq!(looks_for(&service, "loss"), Some(true));
    let log = service.stop();
    assert_eq!(log.matches("settings: refused").count(), 3, "{log}");
}

#[test]
fn good_settings_take_effect_or_are_said_to_need_a_restart() {
    let mut service = Service::start(tempfile::tempdir().unwrap(), "");
    eventually("loss is looked for", || looks_for(&service, "loss") == Some(true));
    let web = service.file("web.yml");
    let findings =
        "[findings]\nsuppress = [\"loss\"]\n[labels]\nrank = true\n[window]\nlength = \"1m\"\n";
    service.reload(&format!("{QUIET}{findings}"), "");
    eventually("loss is not looked for", || looks_for(&service, "loss") == Some(false));
    let log = service.log();
    assert!(log.contains("settings: read again; changed: findings\n"), "{log}");
    assert!(
        log.contains("settings: restart the agent for changes of labels.rank, window.length\n"),
        "{log}"
    );
    // Passwords begin, and what needs a restart is said again.
    fs::write(
        &web,
        "basic_auth_users:\n  a: $2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
    )
    .unwrap();
    service.reload(
        &format!("{QUIET}[expect]\nmtu = 4096\n{findings}"),
        &format!("web-config = {web:?}\n"),
    );
    eventually("a password is needed", || page(&service, "/metrics").is_none());
    service.reload(QUIET, "");
    eventually("it is as before", || looks_for(&service, "loss") == Some(true));
    let log = service.stop();
    assert!(log.contains("changed: expect, prometheus.web-config\n"), "{log}");
    assert_eq!(log.matches("settings: restart").count(), 2, "{log}");
}

#[test]
fn interfaces_are_followed_and_let_go() {
    fabric::run("interfaces_are_followed_and_let_go", 2, |_| {
        let sections = |interfaces: &str| {
            let packets = QUIET.replace("packets = false", "packets = true");
            format!("{packets}[taps]\ninterfaces = [{interfaces}]\n")
        };
        let folder = tempfile::tempdir().unwrap();
        let mut service = Service::start_with(folder, &sections("\"port0\""), "", &[]);
        let sees = |name: &str| {
            let metrics = page(&service, "/metrics").unwrap_or_default();
            let mut lines =
                metrics.lines().filter(|line| line.starts_with("railscope_source_visible"));
            lines.any(|line| line.contains(&format!("\"{name}\"")) && line.ends_with(" 1"))
        };
        eventually("port0 is seen", || sees("port0"));
        service.reload(&sections("\"port1\", \"nosuch0\""), "");
        eventually("port1 is seen", || sees("port1") && !sees("port0"));
        service.reload(&sections("\"port0\", \"port1\""), "");
        eventually("both are seen", || sees("port1") && sees("port0"));
        let log = service.stop();
        for said in [
            "packets: the interface port0 is followed no more",
            "packets: no interface matches `nosuch0`",
            "packets: the interface port0 is followed again",
        ] {
            assert!(log.contains(said), "{said}: {log}");
        }
    });
}
