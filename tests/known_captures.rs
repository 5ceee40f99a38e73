//! What is known about the captures from the way they were made.

use serde_json::Value;

use crate::support::{fixture, railscope, tool};

/// The sum of a class of packets over a report's flows.
fn sum(report: &Value, class: &str) -> u64 {
    let flows = report["flows"].as_array().unwrap();
    flows.iter().map(|flow| flow["psn"][class].as_u64().unwrap_or(0)).sum()
}

fn analyze(names: &[&str]) -> Value {
    let files: Vec<_> =
        names.iter().map(|name| fixture::path(&format!("{name}.pcap.gz"))).collect();
    railscope::analyze(&files)
}

#[test]
fn reordering_is_distinguished_from_retransmission() {
    let report = analyze(&["reorder_write_bw_post"]);
    assert_eq!(sum(&report, "out_of_order_packets"), 130);
    assert_eq!(sum(&report, "retransmitted_packets"), 8308);
}

#[test]
fn a_hole_is_a_lower_bound_of_loss() {
    let report = analyze(&["loss1_send_bw_post"]);
    assert_eq!(sum(&report, "gap_packets"), 74);
    assert_eq!(sum(&report, "out_of_order_packets"), 0);
}

#[test]
fn clean_captures_show_nothing_wrong() {
    let clean = [
        "atomic_cmp_swp",
        "ecn_netem_write_bw_post",
        "ecn_netem_write_bw_pre",
        "ipv6_write_bw",
        "rc_pingpong",
        "rdmacm_rping",
        "send_bw_ud",
        "write_bw_rc_s128",
        "write_lat",
    ];
    for name in clean {
        assert_clean(&analyze(&[name]), name);
    }
}

#[test]
fn four_ports_of_one_fabric_are_four_taps_and_no_retransmission() {
    let ports =
        ["ring4_allreduce_pA", "ring4_allreduce_pB", "ring4_allreduce_pC", "ring4_allreduce_pD"];
    let report = analyze(&ports);
    assert_eq!(report["taps"].as_array().unwrap().len(), 4);
    assert_eq!(report["capture"]["frames"], 12_246 + 12_246 + 12_244 + 12_244);
    assert_clean(&report, "ring4");
}

fn assert_clean(report: &Value, name: &str) {
    for class in [
        "gap_packets",
        "out_of_order_packets",
        "retransmitted_packets",
        "ambiguous_packets",
        "uncaptured_packets",
        "unresolved_packets",
    ] {
        assert_eq!(sum(report, class), 0, "{name}: {class}");
    }
}

/// Recoveries that began with a NAK, and their packets.
fn nak_recoveries(report: &Value) -> (u64, u64) {
    let flows = report["flows"].as_array().unwrap();
    let episodes = flows.iter().flat_map(|flow| flow["episodes"].as_array().unwrap());
    let of_naks = episodes.filter(|episode| episode["trigger"] == "nak");
    of_naks.fold((0, 0), |(count, packets), episode| {
        let number = |key: &str| episode[key].as_u64().unwrap();
        (count + number("count"), packets + number("resent_packets"))
    })
}

#[test]
fn taps_before_and_behind_the_loss_see_the_same_recoveries() {
    let (before, _) = nak_recoveries(&analyze(&["loss1_send_bw_pre"]));
    let (behind, _) = nak_recoveries(&analyze(&["loss1_send_bw_post"]));
    assert_eq!((before, behind), (71, 71));
    let (before, _) = nak_recoveries(&analyze(&["reorder_write_bw_pre"]));
    let (behind, _) = nak_recoveries(&analyze(&["reorder_write_bw_post"]));
    assert!(before.abs_diff(behind) <= 1, "{before} before, {behind} behind");
}

#[test]
fn two_taps_in_one_interface_see_copies_and_no_resend() {
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged.pcap");
    let files = ["ring4_allreduce_pA", "ring4_allreduce_pB"]
        .map(|name| fixture::path(&format!("{name}.pcap.gz")));
    let [one, other] = files.each_ref().map(|file| file.to_str().unwrap());
    let test = "two_taps_in_one_interface_see_copies_and_no_resend";
    let arguments = ["-F", "nsecpcap", "-w", merged.to_str().unwrap(), one, other];
    if tool::output_of(test, "mergecap", &arguments).is_none() {
        return;
    }
    let report = railscope::analyze(&[merged]);
    assert_clean(&report, "merged");
    // Traffic between ranks 0 and 1 passes both ports: half of each port's traffic.
    let copies = report["taps"][0]["tap_duplicates"].as_u64().unwrap();
    let apart = analyze(&["ring4_allreduce_pA", "ring4_allreduce_pB"]);
    let both_ways = |flow: &&Value| {
        let ends = [flow["src"].as_str().unwrap(), flow["dst"].as_str().unwrap()];
        flow["tap"] == 0 && ends.contains(&"10.0.0.1") && ends.contains(&"10.0.0.2")
    };
    let flows = apart["flows"].as_array().unwrap();
    let shared = flows.iter().filter(both_ways).map(|flow| flow["frames"].as_u64().unwrap());
    assert_eq!(copies, shared.sum::<u64>());
}
