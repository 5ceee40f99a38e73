//! `railscope drive --pause`: PFC frames on the wire, and a port that keeps what they ask for.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::job::{captures, recorded, truth};
use crate::support::require;

/// Between the clock of the rank and that of the capture lies a thread of the kernel.
const APART_NS: u64 = 300_000;

/// Time and bytes of each frame of a capture with nanoseconds, as the driver writes it.
fn frames(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_3c4d);
    let (mut at, mut frames) = (24, Vec::new());
    while at < bytes.len() {
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        let end = at + 16 + word(at + 8) as usize;
        frames.push((time, bytes[at + 16..end].to_vec()));
        at = end;
    }
    frames
}

fn is_pause(frame: &[u8]) -> bool {
    frame[12..16] == [0x88, 0x08, 0x01, 0x01]
}

/// Whether a frame carries RoCE of class 0 from this host.
fn is_of_class(frame: &[u8], host: u8) -> bool {
    let (ip, udp) = (&frame[14..], &frame[34..]);
    frame[12..14] == [8, 0]
        && ip[9] == 17
        && ip[12..16] == [10, 0, 0, host]
        && udp[2..4] == 4791_u16.to_be_bytes()
        && ip[1] >> 5 == 0
}

#[test]
fn a_paused_port_sends_nothing_until_the_quanta_run_out() {
    let test = "a_paused_port_sends_nothing_until_the_quanta_run_out";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let lasting = tempfile::tempdir().unwrap();
    let folder = lasting.path().join("job");
    let options = "--iterations 6 --buckets 2MiB --compute 20ms --pause edge=0-1,share=60%";
    recorded(&folder, &[env!("CARGO_BIN_EXE_railscope")], options);

    let fault = truth(&folder, "fault").remove(0);
    assert_eq!(
        (&fault["kind"], &fault["from"], &fault["to"]),
        (&"pause".into(), &0.into(), &1.into())
    );
    let pauses = truth(&folder, "pause");
    let of = |rank: u64, is_asked: bool| -> Vec<(u64, u64)> {
        let own = pauses.iter().filter(|one| one["rank"] == rank && one["is_asked"] == is_asked);
        own.map(|one| (one["start_ns"].as_u64().unwrap(), one["end_ns"].as_u64().unwrap()))
            .collect()
    };
    let (asked, kept) = (of(1, true), of(0, false));
    assert!(kept.len() >= 10 && asked.len() >= kept.len(), "{} of {}", kept.len(), asked.len());
    assert_eq!(asked.len() + kept.len(), pauses.len(), "nobody else");

    // Every frame that was sent is on the link of its port, and the switch's on the other one.
    let [sender, receiver] = ["rank0.pcap", "rank1.pcap"].map(|name| frames(&folder.join(name)));
    let own = |frame: &[u8]| frame[6..12] == [2, 0, 0, 0, 0, 2];
    let of_port = receiver.iter().filter(|(_, frame)| is_pause(frame));
    assert!(of_port.clone().all(|(_, frame)| own(frame) && frame[..6] == [1, 0x80, 0xc2, 0, 0, 1]));
    assert_eq!(of_port.count(), asked.len());
    let of_switch: Vec<_> = sender.iter().filter(|(_, frame)| is_pause(frame)).collect();
    assert_eq!(of_switch.len(), asked.len());
    // 60 % of 3 ms at 10 Gbit/s, of class 0 alone.
    let quanta = 35_156_u16.to_be_bytes();
    assert!(of_switch.iter().all(|(_, frame)| !own(frame)
        && frame[16..20] == [0, 1, quanta[0], quanta[1]]
        && frame[20..34] == [0; 14]));

    // Nothing of the class leaves in that time, and something does between.
    let data: Vec<u64> =
        sender.iter().filter_map(|(time, frame)| is_of_class(frame, 1).then_some(*time)).collect();
    assert!(data.len() > 1000, "{}", data.len());
    for (start, end) in &kept {
        let within =
            data.iter().filter(|time| (start + APART_NS..end - APART_NS).contains(*time)).count();
        assert_eq!(within, 0, "{start} to {end}");
    }

    let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["analyze", "--format", "json", "--line-rate", "10G"])
        .args(captures(&folder))
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut verdicts = report["verdicts"].as_array().unwrap().iter();
    let named = verdicts.find(|one| one["id"] == "pause").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(
        (&named["subject"]["port"], &named["grade"]),
        (&"10.0.0.2".into(), &"proven".into())
    );
}
