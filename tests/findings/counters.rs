//! NIC counters with captures, and alone.

use serde_json::{Value, json};

use super::scene::{CE, Packet, Scene, WRITE_FIRST, bad, found, only};
use crate::support::pcap::FIRST_NS;

/// Lines of one NIC, 10 ms apart: the counter `name` with these values.
fn lines(nic: &str, name: &str, values: impl IntoIterator<Item = u64>) -> String {
    let line = |(at, value): (u64, u64)| {
        let time = FIRST_NS + at * 10_000_000;
        format!("{{\"time_ns\":{time},{nic},\"counters\":{{\"{name}\":{value}}}}}\n")
    };
    (0..).zip(values).map(line).collect()
}

fn alone(text: &str) -> Value {
    Scene::default().beside("--counters", "nics.jsonl", text).report()
}

const NIC: &str = r#""host":"host3","device":"mlx5_0","address":"10.0.0.2""#;

#[test]
fn counters_are_reported_with_resets_and_unread_lines() {
    let text = lines(NIC, "np_cnp_sent", [5, 15, 3, 4]) + "not a line\n";
    let report = alone(&text);
    let nic = &report["counters"][0];
    assert_eq!((&nic["host"], &nic["addresses"]), (&"host3".into(), &json!(["10.0.0.2"])));
    let counter = &nic["counters"]["np_cnp_sent"];
    assert_eq!(counter["measure"], "cnp_sent");
    assert_eq!((&counter["delta"], &counter["resets"]), (&11.into(), &1.into()));
    assert_eq!(nic["samples"], 4);
    assert_eq!(report["health"]["counter.resets"], 1);
    assert_eq!(report["health"]["counter.unread_lines"], 1);
}

#[test]
fn csv_says_the_same_as_json() {
    let json = alone(&lines(NIC, "np_cnp_sent", [5, 15]));
    let time = |at: u64| FIRST_NS + at * 10_000_000;
    let wide = format!(
        "time_ns,host,device,address,np_cnp_sent\n{},host3,mlx5_0,10.0.0.2,5\n{},host3,mlx5_0,10.0.0.2,15\n",
        time(0),
        time(1)
    );
    let long = format!(
        "time_ns,host,device,address,name,value\n{},host3,mlx5_0,10.0.0.2,np_cnp_sent,5\n{},host3,mlx5_0,10.0.0.2,np_cnp_sent,15\n",
        time(0),
        time(1)
    );
    for text in [wide, long] {
        assert_eq!(alone(&text)["counters"], json["counters"], "{text}");
    }
}

#[test]
fn a_storm_that_no_capture_shows() {
    // Paused 10 ms in each 10 ms.
    let report = alone(&lines(NIC, "tx_prio3_pause_duration", (0..30).map(|at| at * 10_000)));
    let finding = only(&report, "pfc_storm");
    assert!(finding["title"].as_str().unwrap().contains("mlx5_0 of host3 paused its switch"));
    assert_eq!(finding["subject"]["port"], "10.0.0.2");
    assert_eq!(report["pfc"][0]["source"], "counters");
    assert_eq!(report["pfc"][0]["paused_ns"], 290_000_000);
    // A fifth of the time is a warning, not a storm.
    let report = alone(&lines(NIC, "rx_prio3_pause_duration", (0..30).map(|at| at * 2_000)));
    assert!(found(&report, "pfc_storm").is_empty());
    assert_eq!(only(&report, "pause")["severity"], "warning");
    let report = alone(&lines(NIC, "tx_pause_storm_error_events", [0, 1]));
    only(&report, "pfc_storm");
}

#[test]
fn findings_from_transport_counters() {
    for (name, id) in [
        ("packet_seq_err", "loss"),
        ("local_ack_timeout_err", "timeouts"),
        ("rnr_nak_retry_err", "receiver_not_ready"),
        ("rp_cnp_ignored", "cnp_without_reaction"),
    ] {
        let report = alone(&lines(NIC, name, [7, 7, 9]));
        let finding = only(&report, id);
        assert_eq!(finding["evidence"][0]["kind"], "counter");
        assert_eq!(finding["evidence"][0]["line"], 3, "{finding}");
        assert_eq!(bad(&alone(&lines(NIC, name, [7, 7, 7]))), [""; 0]);
    }
}

#[test]
fn a_link_that_went_down() {
    let link = |downs: [u64; 6]| lines(NIC, "link_down_events_phy", downs);
    let bytes = |sent: [u64; 6]| lines(NIC, "tx_vport_rdma_unicast_bytes", sent);
    let verdict = |text: &str| {
        let report = alone(text);
        let title = only(&report, "link_down")["title"].as_str().unwrap().to_owned();
        (report["verdicts"][0]["id"].as_str().unwrap().to_owned(), title)
    };
    let (went, sends) = ([3, 3, 4, 4, 4, 4], [10, 20, 30, 40, 50, 60]);
    for (text, class, end) in [
        (link(went), "link_down", "went down"),
        (link([0, 1, 1, 2, 2, 2]) + &bytes(sends), "link_down", "went down 2 times"),
        (link(went) + &bytes([10, 20, 30, 30, 30, 30]), "port_down", "went down, and is down"),
    ] {
        let (id, title) = verdict(&text);
        assert_eq!(id, class, "{title}");
        assert!(title.ends_with(end), "{title}");
    }
    assert_eq!(bad(&alone(&(link([7; 6]) + &bytes(sends)))), [""; 0]);
}

#[test]
fn cnps_that_only_counters_show() {
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 20);
    scene.messages(0, Packet { tos: CE, ..Packet::new(1, 2, WRITE_FIRST, 60) }, 10);
    only(&scene.report(), "ce_without_cnp");
    scene.beside("--counters", "nics.jsonl", &lines(NIC, "np_cnp_sent", [5, 15]));
    assert!(found(&scene.report(), "ce_without_cnp").is_empty());
}

#[test]
fn rails_come_from_a_map() {
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 20);
    let rail = |report: &Value, at: usize| report["ports"][at]["rail"].clone();
    assert_eq!(rail(&scene.report(), 0), Value::Null);
    let map = "[rails]\n0 = [\"10.0.0.1\"]\n1 = [\"10.0.0.0/24\"]\n";
    scene.beside("--rails", "rails.toml", map);
    let report = scene.report();
    assert_eq!((rail(&report, 0), rail(&report, 1)), (0.into(), 1.into()));
}
