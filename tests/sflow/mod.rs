//! Samples of switches: datagrams of an encoder of our own, read by tshark and by railscope.

mod flood;
pub(crate) mod live;
mod queue;

use std::path::Path;

use serde_json::Value;

use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::random::Random;
use crate::support::roce::Roce;
use crate::support::sflow::{Counters, Drawn, counter_sample, datagram, flow_sample, frame};
use crate::support::{pcap, railscope, require, tshark};

const SECOND: u64 = 1_000_000_000;

/// A RoCE frame from host `from` to host `to`, with or without a CE mark.
fn roce(from: u8, to: u8, qpn: u32, is_marked: bool) -> Vec<u8> {
    let ip = Ipv4 {
        source: [10, 0, 0, from],
        destination: [10, 0, 0, to],
        tos: 0x68 | if is_marked { 3 } else { 2 },
        ..Ipv4::default()
    };
    let write = Roce { dest_qpn: qpn, ..Roce::new(0x07, 1024) };
    FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&write).finish().bytes
}

fn drawn(sequence: u32, header: &[u8], wire_len: usize) -> Drawn<'_> {
    Drawn {
        sequence,
        source: 7,
        rate: 1000,
        pool: sequence.wrapping_mul(1000),
        drops: 0,
        input: 3,
        output: 7,
        wire_len: wire_len as u32,
        header: &header[..header.len().min(128)],
    }
}

/// A capture of datagrams at these times.
fn capture(path: &Path, datagrams: &[(u64, Vec<u8>)]) {
    let mut file = pcap::header(1, 65_535);
    for (time_ns, datagram) in datagrams {
        let bytes = frame(datagram);
        pcap::record(&mut file, pcap::FIRST_NS + time_ns, &bytes, bytes.len());
    }
    std::fs::write(path, file).unwrap();
}

fn analyze(datagrams: &[(u64, Vec<u8>)]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sflow.pcap");
    capture(&path, datagrams);
    railscope::analyze(&[path])
}

#[test]
fn tshark_reads_what_the_encoder_writes() {
    if !require::has("tshark_reads_what_the_encoder_writes", "tshark") {
        return;
    }
    let header = roce(1, 2, 0x11, true);
    let counters = Counters {
        sequence: 4,
        index: 7,
        speed_bps: 400_000_000_000,
        in_octets: 5_000_000_000,
        in_discards: 6,
        symbol_errors: 8,
        ..Counters::default()
    };
    let all: Vec<(u64, Vec<u8>)> = [false, true]
        .into_iter()
        .zip(1..)
        .map(|(is_expanded, at)| {
            let samples = [
                flow_sample(&drawn(at, &header, header.len()), is_expanded),
                counter_sample(&counters, is_expanded),
            ];
            (u64::from(at), datagram(40 + at, 60_000, &samples))
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sflow.pcap");
    capture(&path, &all);
    let names = [
        "_ws.malformed",
        "sflow_245.sequence_number",
        "sflow_245.numsamples",
        "sflow.flow_sample.sampling_rate",
        "sflow.flow_sample.sample_pool",
        "sflow_245.header.frame_length",
        "sflow_245.ifspeed",
        "sflow_245.ifinoct",
        "sflow_245.ifindisc",
        "infiniband.bth.destqp",
    ];
    for (row, at) in tshark::fields(&path, &names).iter().zip(1_u64..) {
        assert_eq!(row[0], "", "{row:?}");
        let numbers: Vec<Option<u64>> = row[1..].iter().map(|text| tshark::number(text)).collect();
        let expected = [
            40 + at,
            2,
            1000,
            1000 * at,
            header.len() as u64 + 4,
            400_000_000_000,
            5_000_000_000,
            6,
            0x11,
        ];
        assert_eq!(numbers, expected.map(Some), "{row:?}");
    }
}

/// Half a second of a job: every second datagram is lost, half of the packets are marked.
#[test]
fn totals_count_what_was_lost() {
    let frames = [roce(1, 2, 0x11, true), roce(1, 2, 0x12, false), roce(3, 2, 0x13, false)];
    let mut sequence = 0;
    let mut datagrams = Vec::new();
    for number in 0..100 {
        let samples: Vec<Vec<u8>> = (0..8)
            .map(|at| {
                let header = &frames[if at % 2 == 0 { 0 } else { 1 + at / 2 % 2 }];
                sequence += 1;
                flow_sample(&drawn(sequence, header, header.len()), number % 3 == 0)
            })
            .collect();
        if number % 2 == 0 {
            datagrams.push((u64::from(number) * 5_000_000, datagram(number, 1, &samples)));
        }
    }
    let report = analyze(&datagrams);
    let switch = &report["sampled"][0];
    assert_eq!((&switch["agent"], &switch["side"]), (&"10.255.0.1".into(), &"egress".into()));
    assert_eq!((&switch["samples"], &switch["lost_datagrams"]), (&400.into(), &49.into()));
    assert_eq!(report["health"]["sflow.lost_datagrams"], 49);
    assert_eq!(report["health"]["sflow.unknown_records"], 400, "VLANs");
    let frames = &switch["roce_frames"];
    assert_eq!(frames["samples"], 400);
    // 792 samples were numbered between the first and the last one that came.
    assert_eq!(frames["value"], 792_000);
    assert!(
        frames["low"].as_u64().unwrap() < 720_000 && frames["high"].as_u64().unwrap() > 860_000
    );
    let ce = &switch["ce_share"];
    assert_eq!((&ce["value"], &ce["hits"]), (&0.5.into(), &200.into()));
    assert_eq!(switch["pairs"][0]["src"], "10.0.0.1");
    assert_eq!((&switch["pairs_seen"], &switch["queue_pairs_seen"]), (&2.into(), &3.into()));
    assert_eq!(switch["pause_frames"], Value::Null);
    // Nothing of it is a packet of this tap.
    assert_eq!(
        (&report["capture"]["roce_frames"], &report["flows"]),
        (&0.into(), &Value::Array(vec![]))
    );
}

#[test]
fn counters_tell_load_and_discards() {
    let at = |second: u32| {
        let counters = Counters {
            sequence: second,
            index: 7,
            speed_bps: 100_000_000_000,
            in_octets: u64::from(second) * 1_250_000_000,
            in_discards: 4 * second,
            symbol_errors: second,
            ..Counters::default()
        };
        let sample = counter_sample(&counters, second.is_multiple_of(2));
        (u64::from(second) * SECOND, datagram(second, 1000 * second, &[sample]))
    };
    let report = analyze(&[at(0), at(20), at(40)]);
    let interface = &report["sampled"][0]["interfaces"][0];
    assert_eq!(interface["in_bps"], 10_000_000_000_u64);
    assert_eq!(
        (&interface["out_bps"], &interface["peak_in_bps"]),
        (&0.into(), &10_000_000_000_u64.into())
    );
    assert_eq!((&interface["in_discards"], &interface["symbol_errors"]), (&160.into(), &40.into()));
    assert_eq!(interface["in_errors"], 0);
}

#[test]
fn copies_restarts_and_damage_are_counted() {
    let header = roce(1, 2, 0x11, false);
    let one = |number: u32| {
        datagram(number, 1, &[flow_sample(&drawn(number, &header, header.len()), false)])
    };
    let mut truncated = one(11);
    truncated.truncate(100);
    let mut unrated = drawn(12, &header, header.len());
    unrated.rate = 0;
    let datagrams = [
        (0, one(10)),
        (1, one(10)),
        (2, truncated),
        (3, datagram(12, 1, &[flow_sample(&unrated, false)])),
        (4, vec![0, 0, 0, 4, 1, 2, 3, 4]),
    ];
    let report = analyze(&datagrams);
    let health = &report["health"];
    for (name, count) in [
        ("duplicate_datagrams", 1),
        ("truncated_datagrams", 1),
        ("unrated_samples", 1),
        ("other_versions", 1),
    ] {
        assert_eq!(health[["sflow.", name].concat()], count, "{health}");
    }
    assert_eq!(report["sampled"][0]["samples"], 1);
}

#[test]
fn text_and_page_show_ranges() {
    let header = roce(1, 2, 0x11, true);
    let datagrams: Vec<(u64, Vec<u8>)> = (0..50)
        .map(|at| {
            let sample = flow_sample(&drawn(at, &header, header.len()), false);
            (u64::from(at) * 1_000_000, datagram(at, 1, &[sample]))
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sflow.pcap");
    capture(&path, &datagrams);
    let text = railscope::text(&[path]);
    for part in [
        "No RoCEv2 packet was captured, but switches sampled some traffic.",
        "sFlow of 10.255.0.1\n  50 packets drawn, 1 in 1,000, where they went out",
        "RoCE: 50,000 (37,",
        "CE marks 100 %",
        "too few samples to say",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

/// A reduced `cargo xtask sampled`: 400 draws of one packet in 100 hold the truth in 93 to 97 % of all.
#[test]
fn intervals_hold_the_truth() {
    let frames = [roce(1, 2, 0x11, true), roce(1, 2, 0x11, false), roce(3, 2, 0x13, false)];
    let mut random = Random::new(5);
    let (mut held, mut of) = (0, 0);
    for _ in 0..100 {
        let mut totals = [0_u64; 3];
        let (mut samples, mut sequence) = (Vec::new(), 0);
        for _ in 0..20_000 {
            let kind = [0, 1, 1, 2, 2, 2, 2, 2][random.below(8) as usize];
            totals[kind] += 1;
            if random.below(100) == 0 {
                sequence += 1;
                let header = &frames[kind];
                let drawn = Drawn { rate: 100, pool: 0, ..drawn(sequence, header, header.len()) };
                samples.push(flow_sample(&drawn, false));
            }
        }
        let datagrams: Vec<(u64, Vec<u8>)> = samples
            .chunks(8)
            .zip(0..)
            .map(|(chunk, at)| (u64::from(at) * 1_000_000, datagram(at, 1, chunk)))
            .collect();
        let report = analyze(&datagrams);
        let switch = &report["sampled"][0];
        let all: u64 = totals.iter().sum();
        let mut check = |range: &Value, truth: f64| {
            of += 1;
            let ends = [&range["low"], &range["high"]].map(|end| end.as_f64().unwrap());
            held += usize::from(ends[0] <= truth && truth <= ends[1]);
        };
        check(&switch["roce_frames"], all as f64);
        check(&switch["ce_share"], totals[0] as f64 / all as f64);
        for pair in switch["pairs"].as_array().unwrap() {
            let count = if pair["src"] == "10.0.0.1" { totals[0] + totals[1] } else { totals[2] };
            check(&pair["frames"], count as f64);
        }
    }
    assert_eq!(of, 400);
    // Four standard deviations of the share of 400 are 4 points.
    assert!((0.91..=0.99).contains(&(f64::from(held as u32) / 400.0)), "{held} of {of}");
}
