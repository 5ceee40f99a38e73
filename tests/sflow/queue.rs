//! Egress queues: their depth, and how long packets were in the switch.

use super::{SECOND, analyze, capture, drawn, roce};
use crate::support::sflow::{datagram, flow_sample_with, queue_records};
use crate::support::{require, tshark};

/// 200 packets: queue 3 holds 1,000 and 3,000 bytes in turn, queue 4 one packet with a delay beyond the field.
fn datagrams() -> Vec<(u64, Vec<u8>)> {
    let header = roce(1, 2, 0x11, true);
    let one = |at: u32| {
        let records = match at {
            7 => queue_records(4, 0, u32::MAX),
            _ => queue_records(3, 1000 + 2000 * (at % 2), 500),
        };
        let sample = flow_sample_with(&drawn(at, &header, header.len()), &records);
        (u64::from(at) * SECOND / 100, datagram(at, 10 * at, &[sample]))
    };
    (0..201).map(one).collect()
}

#[test]
fn queues_have_depth_and_delay_with_ranges() {
    let report = analyze(&datagrams());
    let switch = &report["sampled"][0];
    assert_eq!(switch["queues_seen"], 2);
    assert_eq!(report["health"]["sflow.unknown_records"].as_u64().unwrap_or(0), 0);
    let fullest = &switch["queues"][0];
    assert_eq!((&fullest["interface"], &fullest["queue"]), (&7.into(), &3.into()));
    assert_eq!(fullest["samples"], 200);
    let depth = &fullest["depth_bytes"];
    // 99 of 200 are odd; the standard error of their mean is 1,000 / sqrt(200).
    assert_eq!((&depth["value"], &depth["max"]), (&1990.into(), &3000.into()));
    assert_eq!((&depth["low"], &depth["high"]), (&1851.into(), &2129.into()));
    assert_eq!(fullest["delay_ns"]["value"], 500);
    let other = &switch["queues"][1];
    assert_eq!((&other["queue"], &other["delay_ns"]["max"]), (&4.into(), &u32::MAX.into()));
    assert!(other["depth_bytes"]["low"].is_null(), "of one sample");
    assert_eq!(switch["why_no_pause_frames"], "not_in_sflow");
}

/// tshark 4.0 does not know these records, and takes the data of an unknown one for the next record: each is
/// tried as the last one.
#[test]
fn tshark_finds_nothing_malformed() {
    if !require::has("tshark_finds_nothing_malformed", "tshark") {
        return;
    }
    let header = roce(1, 2, 0x11, true);
    let one = |(at, record): (u32, Vec<u8>)| {
        let sample = flow_sample_with(&drawn(at, &header, header.len()), &[record]);
        (u64::from(at), datagram(at, 10 * at, &[sample]))
    };
    let datagrams: Vec<_> = (0..).zip(queue_records(3, 5000, 700)).map(one).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sflow.pcap");
    capture(&path, &datagrams);
    let rows = tshark::fields(&path, &["_ws.malformed", "infiniband.bth.destqp"]);
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!((row[0].as_str(), tshark::number(&row[1])), ("", Some(0x11)), "{row:?}");
    }
}
