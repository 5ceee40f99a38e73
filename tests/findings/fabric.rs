//! Findings on the fabric: marks, pause, traffic classes.

use super::scene::{CE, CNP, NOT_ECT, Packet, Scene, WRITE_FIRST, bad, found, only};
use crate::support::frame::FrameBuilder;

fn pause(quanta: u16) -> crate::support::frame::Built {
    FrameBuilder::ethernet().pfc(0b1000, [0, 0, 0, quanta, 0, 0, 0, 0]).finish()
}

#[test]
fn marks_without_cnps() {
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 200);
    assert_eq!(bad(&scene.report()), [""; 0]);
    scene.messages(0, Packet { tos: CE, ..Packet::new(1, 2, WRITE_FIRST, 600) }, 10);
    let report = scene.report();
    let finding = only(&report, "congestion");
    assert_eq!((&finding["severity"], &finding["cause"]), (&"warning".into(), &"path".into()));
    assert_eq!(finding["evidence"][0]["frame"], 801);
    assert_eq!(only(&report, "ce_without_cnp")["flows"].as_array().unwrap().len(), 1);
    // One CNP is enough.
    scene.packet(0, Packet { qpn: 0x201, payload: 0, ..Packet::new(2, 1, CNP, 0) });
    let report = scene.report();
    assert!(found(&report, "ce_without_cnp").is_empty());
    assert!(only(&report, "congestion")["title"].as_str().unwrap().contains("1 CNP"));
}

#[test]
fn incast_is_distinguished_from_congestion() {
    let mut scene = Scene::default();
    for from in 1..=4 {
        let packet =
            Packet { qpn: 0x900 + u32::from(from), ..Packet::new(from, 9, WRITE_FIRST, 0) };
        scene.messages(0, packet, 20).messages(0, Packet { tos: CE, psn: 60, ..packet }, 5);
    }
    let report = scene.report();
    let finding = only(&report, "congestion");
    assert_eq!(finding["cause"], "incast");
    assert_eq!(finding["subject"]["port"], "10.0.0.9");
    assert!(finding["title"].as_str().unwrap().contains("4 senders"), "{finding}");
}

#[test]
fn flows_that_switches_cannot_mark() {
    let not_ect = Packet { tos: NOT_ECT, ..Packet::new(1, 2, WRITE_FIRST, 0) };
    let mut all = Scene::default();
    all.messages(0, not_ect, 8);
    let report = all.report();
    let finding = only(&report, "roce_not_ect");
    assert_eq!((&finding["severity"], &finding["cause"]), (&"info".into(), &"all_flows".into()));
    let mut some = Scene::default();
    some.messages(0, Packet::new(3, 4, WRITE_FIRST, 0), 8).messages(0, not_ect, 8);
    let report = some.report();
    let finding = only(&report, "roce_not_ect");
    assert_eq!(
        (&finding["severity"], &finding["cause"]),
        (&"warning".into(), &"some_flows".into())
    );
    // The sender decides.
    assert_eq!(finding["subject"]["port"], "10.0.0.1");
    // The same packets at two taps.
    let mut cleared = Scene::default();
    cleared.messages(0, Packet { tos: not_ect.tos | 0b10, ..not_ect }, 8).messages(1, not_ect, 8);
    assert_eq!(only(&cleared.report(), "roce_not_ect")["cause"], "cleared_on_path");
}

#[test]
fn ranks_in_another_traffic_class() {
    let mut scene = Scene::default();
    for from in 1..=3 {
        scene.messages(0, Packet::new(from, from + 1, WRITE_FIRST, 0), 8);
    }
    assert!(found(&scene.report(), "dscp_differs").is_empty());
    scene.messages(0, Packet { tos: 0b10, ..Packet::new(4, 1, WRITE_FIRST, 0) }, 8);
    let report = scene.report();
    let finding = only(&report, "dscp_differs");
    // Which one is right, only an expectation says.
    assert_eq!((&finding["severity"], &finding["cause"]), (&"info".into(), &"ranks_differ".into()));
    let title = "traffic classes differ: DSCP 26 from 3 ports, DSCP 0 from 10.0.0.4";
    assert_eq!(
        (&finding["title"], &finding["subject"]["port"]),
        (&title.into(), &"10.0.0.4".into())
    );
    let verdict = &report["verdicts"][0];
    assert_eq!((&verdict["id"], &verdict["severity"]), (&"dscp_differs".into(), &"info".into()));
    scene.beside("--config", "expected.toml", "[expect]\ndscp = 26\n");
    let report = scene.report();
    let finding = only(&report, "dscp_differs");
    assert_eq!(
        (&finding["severity"], &finding["cause"]),
        (&"warning".into(), &"unexpected".into())
    );
    assert!(finding["title"].as_str().unwrap().contains("expected: 26"), "{finding}");
    let mut rewritten = Scene::default();
    let packet = Packet::new(1, 2, WRITE_FIRST, 0);
    rewritten.messages(0, packet, 8).messages(1, Packet { tos: 0b10, ..packet }, 8);
    assert_eq!(only(&rewritten.report(), "dscp_differs")["cause"], "rewritten_on_path");
}

#[test]
fn a_station_that_pauses_continuously() {
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 8);
    for _ in 0..400 {
        scene.frame(0, pause(0xffff)).wait(300_000);
    }
    let report = scene.report_with(&["--line-rate", "100G"]);
    let finding = only(&report, "pfc_storm");
    assert_eq!(finding["severity"], "critical");
    assert_eq!(finding["evidence"][0]["frame"], 33);
    assert!(found(&report, "pause").is_empty());
    // Without a line rate the duration is unknown.
    let unknown = scene.report();
    assert_eq!(only(&unknown, "pause")["severity"], "info");
}

#[test]
fn pause_without_a_drop() {
    let mut scene = Scene::default();
    for at in 0..100 {
        scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 3 * at), 1);
        scene.frame(0, pause(0xffff)).wait(1_000_000);
    }
    let report = scene.report_with(&["--line-rate", "100G"]);
    let finding = only(&report, "pause");
    assert_eq!(finding["severity"], "warning");
    assert!(finding["title"].as_str().unwrap().contains("no packet lost"), "{finding}");
    assert_eq!(bad(&report).len(), 1 + found(&report, "path_mtu").len(), "{:?}", bad(&report));
}

#[test]
fn both_ends_of_a_link_see_one_storm() {
    let mut scene = Scene::default();
    for _ in 0..400 {
        scene.frame(0, pause(0xffff)).frame(1, pause(0xffff)).wait(300_000);
    }
    only(&scene.report_with(&["--line-rate", "100G"]), "pfc_storm");
}

#[test]
fn a_sender_that_ignores_cnps() {
    // A packet of 1,086 bytes per microsecond, one CNP per millisecond.
    let report_with = |pause_ns: u64| {
        let mut scene = Scene::default();
        for at in 0..15 {
            scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 900 * at), 300);
            scene.packet(0, Packet { qpn: 0x201, payload: 0, ..Packet::new(2, 1, CNP, 0) });
            scene.wait(pause_ns);
        }
        scene.report_with(&["--line-rate", "7G"])
    };
    let report = report_with(0);
    let finding = only(&report, "cnp_without_reaction");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["evidence"][0]["kind"], "frame");
    assert_eq!(finding["evidence"][0]["frame"], 1_201, "{finding}");
    // Half a millisecond of silence after each CNP.
    assert!(found(&report_with(500_000), "cnp_without_reaction").is_empty());
}

#[test]
fn one_rail_that_carries_nearly_all_load() {
    let report_with = |messages: u32| {
        let mut scene = Scene::default();
        scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 90);
        scene.messages(0, Packet::new(3, 4, WRITE_FIRST, 0), messages);
        let map = "[rails]\n0 = [\"10.0.0.1\", \"10.0.0.2\"]\n1 = [\"10.0.0.3\", \"10.0.0.4\"]\n";
        scene.beside("--rails", "rails.toml", map).report()
    };
    let report = report_with(5);
    let finding = only(&report, "uneven_paths");
    assert_eq!((&finding["severity"], &finding["cause"]), (&"warning".into(), &"rails".into()));
    assert!(finding["title"].as_str().unwrap().contains("rail 0 carries 94.7 %"), "{finding}");
    assert!(found(&report_with(80), "uneven_paths").is_empty());
}
